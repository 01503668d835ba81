//! Numbers services, and names them as processes. Services with the same name in several namespaces show their
//! namespace, and services with the same name and namespace show their instance.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

use crate::model::key_texts::abbreviated;

/// The identity of a service. Namespace and instance are empty where requests do not name them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServiceKey<'a> {
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) instance: &'a str,
}

impl ServiceKey<'_> {
    /// Returns a hash that differs between services, or between namespaces of a name if `instance` is empty.
    fn hash(self) -> u64 {
        let lengths = [self.name.len(), self.namespace.len()].map(|len| (len as u64).to_le_bytes());
        let texts = [self.name, self.namespace, self.instance].map(str::as_bytes);
        xxh3_64(&[&lengths.concat()[..], &texts.concat()].concat())
    }
}

/// The services of a trace. There may be a million, so the tables have hashes of 64 bits and not texts. Two of a
/// million are taken for one with a chance of 1 in 37 million; hashes of 128 bits would exceed the memory of a process.
#[derive(Debug, Default)]
pub(super) struct ServiceNames {
    services: Vec<NamedService>,
    indices: FxHashMap<u64, u32>,
    /// The last service of each name, and the first of each name and namespace.
    last_of_name: FxHashMap<u64, u32>,
    first_of_namespace: FxHashMap<u64, u32>,
}

#[derive(Debug)]
struct NamedService {
    name: Box<str>,
    namespace: Box<str>,
    instance: Box<str>,
    shows_namespace: bool,
    shows_instance: bool,
    /// The previous service of the same name.
    previous_of_name: Option<u32>,
}

impl NamedService {
    fn title(&self) -> String {
        let mut title = String::new();
        if self.shows_namespace && !self.namespace.is_empty() {
            title.push_str(&self.namespace);
            title.push('/');
        }
        title.push_str(&self.name);
        if self.shows_instance && !self.instance.is_empty() {
            title.extend([" (", &self.instance, ")"]);
        }
        title
    }
}

impl ServiceNames {
    /// Returns the index of a service. Passes on the titles of a new service, and of services whose titles became
    /// ambiguous.
    pub(super) fn index(&mut self, key: ServiceKey<'_>, mut name: impl FnMut(u32, String)) -> u32 {
        let index = self.services.len() as u32;
        match self.indices.entry(key.hash()) {
            Entry::Occupied(entry) => return *entry.get(),
            Entry::Vacant(entry) => _ = entry.insert(index),
        }
        let in_namespace = ServiceKey { instance: "", ..key };
        let first = *self.first_of_namespace.entry(in_namespace.hash()).or_insert(index);
        let shows_instance = first != index;
        if shows_instance && !self.services[first as usize].shows_instance {
            self.services[first as usize].shows_instance = true;
            name(first, self.services[first as usize].title());
        }
        let of_name = ServiceKey { namespace: "", ..in_namespace };
        let previous_of_name = self.last_of_name.insert(of_name.hash(), index);
        let [own_name, namespace, instance] =
            [key.name, key.namespace, key.instance].map(|text| Box::from(&*abbreviated(text)));
        let previous = previous_of_name.map(|previous| &self.services[previous as usize]);
        let shows_namespace =
            previous.is_some_and(|previous| previous.shows_namespace || previous.namespace != namespace);
        // Services of the name are searched only when their first namespaces become ambiguous.
        let mut next = previous_of_name.filter(|_| shows_namespace);
        while let Some(other) = next
            && !self.services[other as usize].shows_namespace
        {
            let service = &mut self.services[other as usize];
            service.shows_namespace = true;
            name(other, service.title());
            next = service.previous_of_name;
        }
        let service =
            NamedService { name: own_name, namespace, instance, shows_namespace, shows_instance, previous_of_name };
        name(index, service.title());
        self.services.push(service);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_of_one_name_are_told_apart_by_what_differs() {
        let mut names = ServiceNames::default();
        let mut titles: Vec<String> = Vec::new();
        let mut index = |name, namespace, instance| {
            let key = ServiceKey { name, namespace, instance };
            let index = names.index(key, |index, title| {
                titles.resize(titles.len().max(index as usize + 1), String::new());
                titles[index as usize] = title;
            });
            (index, titles.clone())
        };
        assert_eq!(index("web", "prod", "1"), (0, vec!["web".into()]));
        assert_eq!(index("web", "prod", "1").0, 0);
        assert_eq!(index("db", "prod", "1"), (1, vec!["web".into(), "db".into()]));
        assert_eq!(index("web", "test", "1").1, ["prod/web", "db", "test/web"]);
        assert_eq!(index("web", "test", "2").1, ["prod/web", "db", "test/web (1)", "test/web (2)"]);
        assert_eq!(index("web", "", "").1[4], "web");
        assert_eq!(index("db", "prod", "2").1, ["prod/web", "db (1)", "test/web (1)", "test/web (2)", "web", "db (2)"]);
        assert_eq!(index("db", "prod", "3").0, 6);
        assert_eq!(index("web", "test", "2").0, 3);
        assert_eq!(index("a", "b", "c").0, 7);
        assert_eq!(index("a", "", "bc").0, 8, "the same text in other parts");
    }

    #[test]
    fn long_names_are_abbreviated_and_distinct_ones_stay_distinct() {
        let (mut names, mut titles) = (ServiceNames::default(), Vec::new());
        for last in ["a", "b", "a"] {
            let name = "x".repeat(10_000) + last;
            names.index(ServiceKey { name: &name, ..ServiceKey::default() }, |_, title| titles.push(title));
        }
        assert!(titles.len() == 2 && titles[0] != titles[1] && titles.iter().all(|title| title.len() <= 128));
    }
}
