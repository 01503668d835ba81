//! Names that many members share, such as the names of track groups. A name is stored once, and a member has its
//! number.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The names of members, in order of members.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(bound(deserialize = "M: Deserialize<'de> + Ord"))]
pub(crate) struct GroupNames<M> {
    names: Vec<Arc<str>>,
    /// Members with the numbers of their names.
    members: BTreeMap<M, u32>,
    /// The numbers of names that were added. Names that were read from a file are added again as needed.
    #[serde(skip)]
    numbers: FxHashMap<Arc<str>, u32>,
}

/// Numbers depend on the order in which names were added, which does not count.
impl<M: Copy + Ord> PartialEq for GroupNames<M> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<M: Copy + Ord> Eq for GroupNames<M> {}

impl<M: Copy + Ord> GroupNames<M> {
    /// Sets the name of a member. Members may come in any order.
    pub(crate) fn insert(&mut self, member: M, name: Arc<str>) {
        let names = &mut self.names;
        let number = *self.numbers.entry(name).or_insert_with_key(|name| {
            names.push(Arc::clone(name));
            names.len() as u32 - 1 // names are no more than tracks
        });
        self.members.insert(member, number);
    }

    /// Removes the members from `end` on.
    pub(crate) fn truncate(&mut self, end: M) {
        self.members.split_off(&end);
    }

    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the name of a member.
    #[must_use]
    pub(crate) fn get(&self, member: M) -> Option<&Arc<str>> {
        self.names.get(*self.members.get(&member)? as usize)
    }

    /// Returns the named members with their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (M, &Arc<str>)> {
        self.members.iter().filter_map(|(&member, &number)| Some((member, self.names.get(number as usize)?)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn names_are_those_of_a_map_also_when_read_back(
            rows in prop::collection::vec((0u32..30, 0u8..4), 0..60),
            end in 0u32..31,
        ) {
            let (mut names, mut map) = (GroupNames::default(), BTreeMap::new());
            for (member, name) in rows {
                let name: Arc<str> = format!("group {name}").into();
                names.insert(member, Arc::clone(&name));
                map.insert(member, name);
            }
            names.truncate(end);
            map.retain(|&member, _| member < end);
            let bytes = postcard::to_stdvec(&names).unwrap();
            let mut back: GroupNames<u32> = postcard::from_bytes(&bytes).unwrap();
            prop_assert_eq!(&back, &names);
            for names in [&names, &back] {
                prop_assert!(names.iter().eq(map.iter().map(|(&member, name)| (member, name))));
                prop_assert!((0..31).all(|member| names.get(member) == map.get(&member)));
                prop_assert_eq!(names.is_empty(), map.is_empty());
            }
            // A name that was read is added again.
            back.insert(40, "group 1".into());
            prop_assert_eq!(back.get(40).map(|name| &**name), Some("group 1"));
        }
    }
}
