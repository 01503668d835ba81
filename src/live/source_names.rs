//! The names of the sources of a session. They distinguish processes of one id, as for several files.

use std::borrow::Cow;

use super::session::LiveSession;
use crate::model::{Id, Sources};

/// The name of each source, in order.
#[derive(Debug, Default)]
pub(crate) struct SourceNames(pub(crate) Vec<Box<str>>);

impl SourceNames {
    /// Adds new sources. Must be called before each step of the session, which may add some.
    pub(crate) fn update(&mut self, session: &LiveSession) {
        // The names of the first sources are as short as possible; the names of later sources are distinct.
        let first = if self.0.is_empty() { Sources::unmoved(session.names().cloned()).names() } else { Vec::new() };
        self.0.extend(first.iter().map(|name| Box::from(&**name)));
        let later = session.names().skip(self.0.len());
        self.0.extend(later.map(|path| Box::from(&*path.to_string_lossy())));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the id of a process of a source. The ids of later sources include the name of the source.
    pub(crate) fn process_id<'a>(&self, source: usize, pid: &'a Id) -> Cow<'a, Id> {
        match (self.0.get(source).filter(|_| source > 0), pid) {
            (None, pid) => Cow::Borrowed(pid),
            (Some(name), Id::None) => Cow::Owned(Id::Text((&**name).into())),
            (Some(name), pid) => Cow::Owned(Id::Text(format!("{pid} in {name}").into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_one_id_differ_by_the_name_of_the_later_source() {
        let names = SourceNames(vec!["a.json".into(), "b.json".into()]);
        let id = |source, pid: &Id| names.process_id(source, pid).to_string();
        assert_eq!([id(0, &Id::Number(1)), id(1, &Id::Number(1)), id(1, &Id::None)], ["1", "1 in b.json", "b.json"]);
    }
}
