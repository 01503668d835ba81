//! Predicts the bytes that lead from one value of a record to the next: its comma, key, colon and white space.
//!
//! Tracers repeat the same keys in the same order, so a lead is usually followed by the same lead as last time. A
//! prediction is checked with one comparison of 16 bytes. All other leads are read byte by byte, and learned. A
//! predicted lead gives the same result as reading it, so predictions affect only the time.

use super::fields::RecordField;
use crate::formats::json::scan::{Broken, JsonValue, Quirks, Scanner, Shape};

/// Maximum length of a predicted lead.
const LEAD_BYTES_MAX: usize = 16;

/// Maximum number of leads; most tracers write ten to twenty.
const LEADS_MAX: usize = 64;

/// Maximum number of predictions after a lead, for members that only some records have.
const NEXT_MAX: usize = 4;

/// Limit on learning, so that records without a pattern do not cost a search for each member.
const LEARNED_MAX: u32 = 1000;

/// Index in [`Leads`] of the last lead, which determines the position in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeadIdx(u8);

/// The leads learned so far, with predictions of the next leads.
#[derive(Debug)]
pub(super) struct Leads {
    rows: Box<[Lead; LEADS_MAX]>,
    len: usize,
    learned: u32,
    /// Number of leads that were read byte by byte.
    #[cfg(test)]
    pub(super) read_bytewise: u64,
}

/// The kind of the value after a lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeadsTo {
    /// The text of a string: the quote is part of the lead.
    Text,
    /// A number or a bare word.
    Scalar,
    /// An object or an array.
    Nested,
    /// The record ends with its closing brace.
    End,
}

/// The bytes between two values. The alignment makes indexing a shift.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Lead {
    /// Its bytes, little endian.
    text: u128,
    /// A bit for each bit of `text` that counts: a lead may have fewer than 16 bytes.
    mask: u128,
    pub(super) to: LeadsTo,
    pub(super) field: RecordField,
    pub(super) len: u8,
    key_at: u8,
    key_len: u8,
    next: [LeadIdx; NEXT_MAX],
}

/// The result of reading a lead byte by byte.
pub(super) struct ReadLead<'a> {
    pub(super) row: LeadIdx,
    /// The member whose value follows; `None` after the closing brace.
    pub(super) field: Option<RecordField>,
    pub(super) key: JsonValue<'a>,
}

impl Lead {
    /// A lead that matches no bytes: its text has a bit outside its mask.
    const NONE: Self = Self {
        text: 1,
        mask: 0,
        to: LeadsTo::End,
        field: RecordField::Ignored,
        len: 0,
        key_at: 0,
        key_len: 0,
        next: [LeadIdx::START; NEXT_MAX],
    };

    #[inline]
    fn is_in(&self, word: u128) -> bool {
        word & self.mask == self.text
    }

    /// Returns the key within the bytes of this lead.
    pub(super) fn key<'a>(&self, bytes: &'a [u8]) -> JsonValue<'a> {
        let (start, len) = (usize::from(self.key_at), usize::from(self.key_len));
        JsonValue { text: &bytes[start..start + len], shape: Shape::String, quirks: Quirks::default() }
    }
}

impl LeadIdx {
    /// The position before the opening brace of a record. As the next lead, it means that there is none.
    pub(super) const START: Self = Self(0);
    /// The position after a lead that is not in the table.
    const UNKNOWN: Self = Self(1);

    #[inline]
    fn index(self) -> usize {
        usize::from(self.0) % LEADS_MAX
    }
}

impl Default for Leads {
    fn default() -> Self {
        Self {
            rows: Box::new([Lead::NONE; LEADS_MAX]),
            len: 2,
            learned: 0,
            #[cfg(test)]
            read_bytewise: 0,
        }
    }
}

impl Leads {
    /// Creates a table that learns nothing, so that every lead is read byte by byte.
    #[cfg(test)]
    pub(super) fn unpredictable() -> Self {
        Self { learned: LEARNED_MAX, ..Self::default() }
    }

    /// Returns the predicted lead that `bytes` start with, if any.
    #[inline]
    pub(super) fn predicted(&mut self, before: LeadIdx, bytes: &[u8]) -> Option<(LeadIdx, &Lead)> {
        let word = u128::from_le_bytes(*bytes.first_chunk()?);
        let first = self.rows[before.index()].next[0];
        if self.rows[first.index()].is_in(word) {
            return Some((first, &self.rows[first.index()]));
        }
        self.predicted_later(before, word)
    }

    /// Checks the other predictions. A match moves to the front, since the next record probably has it too.
    fn predicted_later(&mut self, before: LeadIdx, word: u128) -> Option<(LeadIdx, &Lead)> {
        let next = self.rows[before.index()].next;
        let slot = (1..NEXT_MAX).find(|&slot| self.rows[next[slot].index()].is_in(word))?;
        self.rows[before.index()].next.swap(0, slot);
        Some((next[slot], &self.rows[next[slot].index()]))
    }

    /// Reads the lead at the position of the scanner, up to the first byte of the value.
    #[inline(never)]
    pub(super) fn read<'a>(&mut self, before: LeadIdx, scanner: &mut Scanner<'a>) -> Result<ReadLead<'a>, Broken> {
        #[cfg(test)]
        {
            self.read_bytewise += 1;
        }
        let start = scanner.pos;
        let mut end = ReadLead { row: LeadIdx::UNKNOWN, field: None, key: JsonValue::default() };
        if before == LeadIdx::START {
            scanner.expect(b'{')?;
            if scanner.peek()? == b'}' {
                scanner.pos += 1;
                return Ok(end);
            }
        } else {
            match scanner.peek()? {
                b',' => {
                    scanner.pos += 1;
                    // A trailing comma is accepted.
                    if scanner.peek()? == b'}' {
                        scanner.pos += 1;
                        return Ok(end);
                    }
                }
                b'}' => {
                    scanner.pos += 1;
                    end.row = self.learn(
                        before,
                        &scanner.bytes[start..scanner.pos],
                        0..0,
                        LeadsTo::End,
                        RecordField::Ignored,
                    );
                    return Ok(end);
                }
                _ => return Err(Broken::Malformed(scanner.pos)),
            }
        }
        scanner.peek()?;
        let key_at = scanner.pos + 1 - start;
        let key = scanner.key()?;
        let field = RecordField::from_key(key.text);
        let (to, is_text) = match scanner.peek()? {
            b'"' => (LeadsTo::Text, true),
            b'{' | b'[' => (LeadsTo::Nested, false),
            _ => (LeadsTo::Scalar, false),
        };
        let lead = &scanner.bytes[start..scanner.pos + usize::from(is_text)];
        let row = if key.quirks == Quirks::default() {
            self.learn(before, lead, key_at..key_at + key.text.len(), to, field)
        } else {
            LeadIdx::UNKNOWN
        };
        Ok(ReadLead { row, field: Some(field), key })
    }

    /// Learns that a lead follows another, and returns its row.
    fn learn(
        &mut self,
        before: LeadIdx,
        bytes: &[u8],
        key: std::ops::Range<usize>,
        to: LeadsTo,
        field: RecordField,
    ) -> LeadIdx {
        if bytes.len() > LEAD_BYTES_MAX || self.learned >= LEARNED_MAX {
            return LeadIdx::UNKNOWN;
        }
        self.learned += 1;
        let mut text = [0; LEAD_BYTES_MAX];
        text[..bytes.len()].copy_from_slice(bytes);
        let text = u128::from_le_bytes(text);
        let mask = u128::MAX >> (8 * (LEAD_BYTES_MAX - bytes.len()));
        let existing_row =
            self.rows[..self.len].iter().position(|lead| (lead.text, lead.mask, lead.to) == (text, mask, to));
        let row = match existing_row {
            Some(row) => row,
            None if self.len < LEADS_MAX => {
                let (key_at, key_len) = (key.start as u8, key.len() as u8);
                self.rows[self.len] =
                    Lead { text, mask, to, field, len: bytes.len() as u8, key_at, key_len, ..Lead::NONE };
                self.len += 1;
                self.len - 1
            }
            None => return LeadIdx::UNKNOWN,
        };
        let row = LeadIdx(row as u8);
        let next = &mut self.rows[before.index()].next;
        if !next.contains(&row) {
            // Replaces the last prediction if all are in use.
            let free = next.iter().position(|&next| next == LeadIdx::START).unwrap_or(NEXT_MAX - 1);
            next[free] = row;
        }
        row
    }
}
