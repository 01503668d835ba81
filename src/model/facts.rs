//! Facts about the recording, its processes and its threads that are not events: the system, command lines, start
//! times. Their keys are the names of Perfetto's columns and metadata.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::id::Id;

/// Limit for facts, some 30 MiB; a phone has a thousand processes with four facts each.
const FACTS_MAX: usize = 1 << 16;

/// Limit for the length of a text, which is cut beyond it.
const FACT_BYTES_MAX: usize = 512;

/// The time at which a process or a thread began, in nanoseconds.
pub(crate) const START_TS: &str = "start_ts";
/// The time at which a thread ended, in nanoseconds.
pub(crate) const END_TS: &str = "end_ts";

/// The thing that a fact is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Subject {
    /// The recording and the system that it was made on.
    Recording,
    /// A process, by its id.
    Process(Id),
    /// A thread, by the ids of its process and its own.
    Thread(Id, Id),
}

/// The value of a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FactValue {
    Text(Box<str>),
    Number(i64),
}

/// A fact, by its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceFact {
    /// The thing that it is about.
    pub subject: Subject,
    /// Name of the fact, such as `cmdline`.
    pub key: Box<str>,
    /// Its value.
    pub value: FactValue,
}

impl TraceFact {
    pub(crate) fn text(subject: Subject, key: &str, text: &str) -> Self {
        Self { subject, key: key.into(), value: FactValue::Text(text.into()) }
    }

    pub(crate) fn number(subject: Subject, key: &str, number: i64) -> Self {
        Self { subject, key: key.into(), value: FactValue::Number(number) }
    }

    /// Returns the length of its texts.
    pub(crate) fn bytes(&self) -> usize {
        self.key.len() + if let FactValue::Text(text) = &self.value { text.len() } else { 0 }
    }
}

/// The facts of a trace. The last one of a subject and a key wins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts(BTreeMap<(Subject, Box<str>), FactValue>);

impl Facts {
    /// Adds a fact. Returns false if there are too many.
    pub(crate) fn insert(&mut self, fact: &TraceFact) -> bool {
        let key = (fact.subject.clone(), fact.key.clone());
        if self.0.len() >= FACTS_MAX && !self.0.contains_key(&key) {
            return false;
        }
        let value = match &fact.value {
            FactValue::Text(text) => FactValue::Text(text[..text.floor_char_boundary(FACT_BYTES_MAX)].into()),
            FactValue::Number(number) => FactValue::Number(*number),
        };
        self.0.insert(key, value);
        true
    }

    /// Iterates over the facts about a subject, by key.
    pub(crate) fn about<'a>(&'a self, subject: &'a Subject) -> impl Iterator<Item = (&'a str, &'a FactValue)> {
        let rows = self.0.range((subject.clone(), Box::default())..);
        rows.take_while(move |((other, _), _)| other == subject).map(|((_, key), value)| (&**key, value))
    }

    /// Iterates over all facts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = TraceFact> {
        let rows = self.0.iter();
        rows.map(|((subject, key), value)| TraceFact {
            subject: subject.clone(),
            key: key.clone(),
            value: value.clone(),
        })
    }

    /// Iterates over the facts that `older` lacks, or has with another value.
    pub(crate) fn since<'a>(&'a self, older: &'a Self) -> impl Iterator<Item = TraceFact> + 'a {
        let is_new = |fact: &TraceFact| older.0.get(&(fact.subject.clone(), fact.key.clone())) != Some(&fact.value);
        self.iter().filter(is_new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_fact_of_a_subject_and_a_key_wins_and_facts_are_bounded() {
        let (process, thread) = (Subject::Process(Id::Number(1)), Subject::Thread(Id::Number(1), Id::Number(1)));
        let mut facts = Facts::default();
        assert!(facts.insert(&TraceFact::text(process.clone(), "cmdline", "old")));
        let older = facts.clone();
        assert!(facts.insert(&TraceFact::text(process.clone(), "cmdline", &"é".repeat(FACT_BYTES_MAX))));
        assert!(facts.insert(&TraceFact::number(thread.clone(), START_TS, 5)));
        let about: Vec<_> = facts.about(&process).collect();
        assert_eq!(about, [("cmdline", &FactValue::Text("é".repeat(FACT_BYTES_MAX / 2).into()))]);
        assert_eq!(facts.about(&thread).collect::<Vec<_>>(), [(START_TS, &FactValue::Number(5))]);
        assert_eq!(facts.about(&Subject::Recording).count(), 0);
        assert_eq!((facts.since(&older).count(), facts.since(&facts).count()), (2, 0));
        let results = (0..FACTS_MAX as i64)
            .map(|tid| facts.insert(&TraceFact::number(Subject::Thread(Id::None, Id::Number(tid)), START_TS, tid)));
        assert_eq!(results.filter(|is_added| !is_added).count(), 2);
        assert!(facts.insert(&TraceFact::number(thread, START_TS, 6)), "a fact that has a row");
    }
}
