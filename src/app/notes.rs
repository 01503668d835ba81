//! The text of the status bar beside the counts: lasting notes, notes about running work, and replies to commands.

/// Seconds for which a reply is shown: long enough to read two sentences.
const REPLY_S: f64 = 10.0;

/// The notes of a tab.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Shown until something else opens or is written.
    lasting: String,
    /// The part of `lasting` about missing names or running work, which is cleared once it is no longer true.
    passing: String,
    reply: Option<Reply>,
}

/// A reply to a command, such as that something was copied. It hides the other notes for a while.
#[derive(Debug)]
struct Reply {
    text: String,
    /// The end of its display, in seconds of the window's clock; `None` until a frame shows it.
    until_s: Option<f64>,
}

impl Notes {
    /// Returns the text to show.
    pub(crate) fn text(&self) -> &str {
        self.reply_text().unwrap_or(&self.lasting)
    }

    /// Returns the reply to a command, while it is shown.
    pub(crate) fn reply_text(&self) -> Option<&str> {
        self.reply.as_ref().map(|reply| &*reply.text)
    }

    /// Replaces all notes.
    pub(crate) fn set(&mut self, note: String) {
        self.lasting = note;
        self.reply = None;
    }

    pub(crate) fn clear(&mut self) {
        self.set(String::new());
    }

    /// Appends to the lasting note.
    pub(crate) fn add(&mut self, note: &str) {
        if note.is_empty() {
            return;
        }
        if !self.lasting.is_empty() {
            self.lasting.push_str(if self.lasting.ends_with('.') { " " } else { ". " });
        }
        self.lasting.push_str(note);
        self.reply = None;
    }

    /// Shows a reply to a command for some seconds.
    pub(crate) fn reply(&mut self, text: String) {
        self.reply = Some(Reply { text, until_s: None });
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

    /// Appends a note that is removed once it is no longer true. It replaces the last such note.
    pub(crate) fn set_passing(&mut self, note: String) {
        let reply = self.reply.take();
        self.clear_passing();
        self.add(&note);
        (self.passing, self.reply) = (note, reply);
    }

    /// Clears the last passing note, and leaves other text.
    pub(crate) fn clear_passing(&mut self) {
        let passing = std::mem::take(&mut self.passing);
        self.remove(&passing);
    }

    /// Removes a part of the lasting note, if it is still there.
    pub(crate) fn remove(&mut self, part: &str) {
        if !part.is_empty() && self.lasting.contains(part) {
            // With the full stop that joins it to another note.
            let joined = [format!(". {part}"), format!("{part}. ")];
            let removed = joined.iter().find(|joined| self.lasting.contains(*joined)).map_or(part, String::as_str);
            let rest = self.lasting.replacen(removed, "", 1);
            rest.trim().clone_into(&mut self.lasting);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passing_note_is_cleared_and_leaves_others() {
        let mut notes = Notes::default();
        notes.set_passing("4 of 8 addresses have names".to_owned());
        notes.clear_passing();
        assert_eq!(notes.text(), "");
        notes.set_passing("4 of 8 addresses have names".to_owned());
        notes.add("A file was written");
        notes.clear_passing();
        assert_eq!(notes.text(), "A file was written");
        notes.passing = "4 of 8 addresses have names".to_owned();
        notes.add("4 of 8 addresses have names");
        assert_eq!(notes.text(), "A file was written. 4 of 8 addresses have names");
        notes.clear_passing();
        assert_eq!(notes.text(), "A file was written");
        notes.set_passing("The trace is sorted again".to_owned());
        notes.set("Stopped.".to_owned());
        notes.clear_passing();
        assert_eq!(notes.text(), "Stopped.");
    }

    #[test]
    fn a_passing_note_leaves_the_lasting_ones_before_it() {
        let mut notes = Notes::default();
        notes.add("The scope was restored");
        for count in [4, 6] {
            notes.set_passing(format!("{count} of 8 addresses have names"));
            assert_eq!(notes.text(), format!("The scope was restored. {count} of 8 addresses have names"));
        }
        notes.clear_passing();
        assert_eq!(notes.text(), "The scope was restored");
        // A reply stays as long as without the note.
        notes.reply("The command is copied.".to_owned());
        notes.set_passing("8 of 8 addresses have names".to_owned());
        assert_eq!(notes.text(), "The command is copied.");
    }

    #[test]
    fn a_reply_hides_the_lasting_note_for_ten_seconds_of_frames() {
        let mut notes = Notes::default();
        notes.set_passing("4 of 8 addresses have names".to_owned());
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
        notes.add("The trace is damaged");
        assert_eq!(notes.text(), "3 spans written. The trace is damaged");
        notes.reply("The table is copied.".to_owned());
        notes.clear();
        assert_eq!(notes.text(), "");
    }
}
