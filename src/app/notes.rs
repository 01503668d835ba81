//! The text of the status bar beside the counts: lasting notes, notes about running work, and replies to commands.

/// Seconds for which a reply is shown: long enough to read two sentences.
const REPLY_S: f64 = 10.0;

/// The notes of a tab.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The notes in the order in which they were added.
    parts: Vec<(NoteKind, String)>,
    joined: String,
    reply: Option<Reply>,
}

/// How long a note is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoteKind {
    /// Until something else opens or is written.
    Lasting,
    /// Until the work it reports on ends, such as symbol resolution.
    Passing,
    /// Until the restored scope is cleared.
    RestoredScope,
    /// Until the files are moved again.
    RestoredOffsets,
}

/// A reply to a command, such as that something was copied. It hides the other notes for a while.
#[derive(Debug)]
struct Reply {
    text: String,
    /// Whether it says why a command did nothing, and ends with the next action.
    is_refusal: bool,
    /// The end of its display, in seconds of the window's clock; `None` until a frame shows it.
    until_s: Option<f64>,
}

impl Notes {
    /// Returns the text to show.
    pub(crate) fn text(&self) -> &str {
        self.reply_text().unwrap_or(&self.joined)
    }

    /// Returns the reply to a command, while it is shown.
    pub(crate) fn reply_text(&self) -> Option<&str> {
        self.reply.as_ref().map(|reply| &*reply.text)
    }

    pub(crate) fn set(&mut self, note: String) {
        self.parts.clear();
        self.add(note);
        self.reply = None;
    }

    pub(crate) fn clear(&mut self) {
        self.set(String::new());
    }

    /// Appends a lasting note, which takes the place of a reply.
    pub(crate) fn add(&mut self, note: String) {
        if !note.is_empty() {
            self.parts.push((NoteKind::Lasting, note));
            self.reply = None;
        }
        self.join();
    }

    /// Replaces the notes of a kind. A reply stays as long as without the note.
    pub(crate) fn replace(&mut self, kind: NoteKind, note: String) {
        self.parts.retain(|(other, _)| *other != kind);
        self.parts.push((kind, note));
        self.join();
    }

    /// Removes the notes of a kind.
    pub(crate) fn remove(&mut self, kind: NoteKind) {
        self.parts.retain(|(other, _)| *other != kind);
        self.join();
    }

    fn join(&mut self) {
        self.joined.clear();
        for (_, note) in &self.parts {
            if !self.joined.is_empty() {
                self.joined.push_str(if self.joined.ends_with('.') { " " } else { ". " });
            }
            self.joined.push_str(note);
        }
    }

    /// Shows a reply to a command for some seconds.
    pub(crate) fn reply(&mut self, text: String) {
        self.reply = Some(Reply { text, is_refusal: false, until_s: None });
    }

    /// Shows why a command did nothing, for some seconds or until the next action.
    pub(crate) fn refuse(&mut self, reason: String) {
        self.reply = Some(Reply { text: reason, is_refusal: true, until_s: None });
    }

    /// Removes the reason why a command did nothing, if a frame has shown it.
    pub(crate) fn end_refusal(&mut self) {
        self.reply.take_if(|reply| reply.is_refusal && reply.until_s.is_some());
    }

    /// Removes a reply that was shown long enough. Returns the seconds until this must be called again, if ever.
    pub(crate) fn expire(&mut self, now_s: f64) -> Option<f64> {
        let reply = self.reply.as_mut()?;
        let until_s = *reply.until_s.get_or_insert(now_s + REPLY_S);
        if now_s >= until_s {
            self.reply = None;
            return None;
        }
        Some(until_s - now_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_ends_with_the_next_action_after_it_was_shown_and_another_reply_does_not() {
        let mut notes = Notes::default();
        notes.refuse("Undo: Nothing was changed.".to_owned());
        notes.end_refusal();
        assert_eq!(notes.text(), "Undo: Nothing was changed.", "no frame has shown it");
        notes.expire(0.0);
        notes.end_refusal();
        assert_eq!(notes.text(), "");
        notes.reply("The table is copied.".to_owned());
        notes.expire(0.0);
        notes.end_refusal();
        assert_eq!(notes.text(), "The table is copied.");
    }

    #[test]
    fn a_passing_note_is_cleared_and_leaves_others() {
        let mut notes = Notes::default();
        notes.replace(NoteKind::Passing, "4 of 8 addresses have names".to_owned());
        notes.remove(NoteKind::Passing);
        assert_eq!(notes.text(), "");
        notes.replace(NoteKind::Passing, "4 of 8 addresses have names".to_owned());
        notes.add("A file was written".to_owned());
        notes.remove(NoteKind::Passing);
        assert_eq!(notes.text(), "A file was written");
        notes.add("4 of 8 addresses have names".to_owned());
        notes.replace(NoteKind::Passing, "4 of 8 addresses have names".to_owned());
        notes.remove(NoteKind::Passing);
        assert_eq!(notes.text(), "A file was written. 4 of 8 addresses have names", "a lasting note of the same text");
        notes.replace(NoteKind::Passing, "The trace is sorted again".to_owned());
        notes.set("Stopped.".to_owned());
        notes.remove(NoteKind::Passing);
        assert_eq!(notes.text(), "Stopped.");
    }

    #[test]
    fn a_passing_note_leaves_the_lasting_ones_before_it() {
        let mut notes = Notes::default();
        notes.add("The scope was restored".to_owned());
        for count in [4, 6] {
            notes.replace(NoteKind::Passing, format!("{count} of 8 addresses have names"));
            assert_eq!(notes.text(), format!("The scope was restored. {count} of 8 addresses have names"));
        }
        notes.remove(NoteKind::Passing);
        assert_eq!(notes.text(), "The scope was restored");
        // A reply stays as long as without the note.
        notes.reply("The command is copied.".to_owned());
        notes.replace(NoteKind::Passing, "8 of 8 addresses have names".to_owned());
        assert_eq!(notes.text(), "The command is copied.");
    }

    #[test]
    fn a_reply_hides_the_lasting_note_for_ten_seconds_of_frames() {
        let mut notes = Notes::default();
        notes.replace(NoteKind::Passing, "4 of 8 addresses have names".to_owned());
        assert_eq!(notes.expire(5.0), None);
        notes.reply("The command is copied.".to_owned());
        // The window may be idle between the command and the next frame.
        assert_eq!(notes.expire(100.0), Some(10.0));
        assert_eq!((notes.expire(107.5), notes.text()), (Some(2.5), "The command is copied."));
        // The next reply has its own time.
        notes.reply("The table is copied.".to_owned());
        assert_eq!((notes.expire(108.0), notes.text()), (Some(10.0), "The table is copied."));
        assert_eq!((notes.expire(118.0), notes.text()), (None, "4 of 8 addresses have names"));
        // Later notes are shown at once.
        notes.reply("The table is copied.".to_owned());
        notes.set("3 spans written".to_owned());
        assert_eq!(notes.text(), "3 spans written");
        notes.reply("The table is copied.".to_owned());
        notes.add("The trace is damaged".to_owned());
        assert_eq!(notes.text(), "3 spans written. The trace is damaged");
        notes.reply("The table is copied.".to_owned());
        notes.clear();
        assert_eq!(notes.text(), "");
    }
}
