//! Iterates over the records, and keeps the tables of each provider. Skips damage up to the next known header.

use rustc_hash::FxHashMap;

use super::events::{FxtEventBuilder, FxtRecord};
use super::fields::{
    large_record, metadata, metadata_type, provider_event, provider_event_id, provider_info, record, record_type,
    string, thread,
};
use super::names::{Provider, ThreadId};
use super::wire::{MAGIC, WORD_BYTES, Words};
use crate::formats::format::{ArrivalKey, DataKind, Format, Opener};
use crate::formats::input::byte_reader::ByteReader;
use crate::formats::input::source::Source;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Loss, LossValue, SourcePos};

/// Number of records between checks for cancellation.
const RECORDS_PER_CHECK: u64 = 4096;

/// Limit for providers; a trace has a few dozen.
const PROVIDERS_MAX: usize = 1 << 16;

/// Limit for a large record, 1 GiB. A larger record counts as damage, since a wrong size of 32 bits could skip 32 GiB.
const LARGE_WORDS_MAX: u64 = 1 << 27;

pub(crate) const FORMAT: Format = Format {
    name: "Fuchsia trace",
    record: "A record is words of 64 bits, the first with its type and its length.",
    sniff: looks_like_fxt,
    is_event: None,
    live: Some(ArrivalKey::Start),
    shows: &[
        DataKind::Spans,
        DataKind::Instants,
        DataKind::Counters,
        DataKind::Flows,
        DataKind::Arguments,
        DataKind::Scheduling,
    ],
    opener: Opener::Trace(|source, _| Ok(open(source))),
};

/// Returns whether a trace begins with the magic record.
fn looks_like_fxt(head: &[u8]) -> bool {
    head.starts_with(&MAGIC.to_le_bytes())
}

fn open(source: Source) -> Reader {
    Reader::stream(Fxt { source })
}

struct Fxt {
    source: Source,
}

/// Limit for the bytes of the texts of all providers. A provider has a few hundred short ones, and could have 1 GiB.
const TEXT_BYTES_MAX: usize = 32 << 20;

/// State that persists between records.
struct FxtParser {
    batch: BatchBuilder,
    events: FxtEventBuilder,
    providers: FxHashMap<u32, Provider>,
    /// Id of the current provider.
    provider: u32,
    /// Bytes of the texts of all providers.
    text_bytes: usize,
    /// Stands in for providers without tables, and for providers beyond the limit.
    nowhere: Provider,
    /// Whether the last word was damaged.
    in_damage: bool,
}

impl StreamReader for Fxt {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let mut input = ByteReader::new(self.source);
        let mut parser = FxtParser {
            batch: BatchBuilder::new(context.chunk_limits),
            events: FxtEventBuilder::default(),
            providers: FxHashMap::default(),
            provider: 0,
            text_bytes: 0,
            nowhere: Provider::default(),
            in_damage: false,
        };
        let mut count = 0u64;
        loop {
            count += 1;
            if count.is_multiple_of(RECORDS_PER_CHECK) {
                context.cancel.check()?;
            }
            if !parser.next_record(&mut input, sink, context)? {
                break;
            }
        }
        parser.batch.lose_cut(input.source().cut_at());
        parser.events.finish(&mut parser.batch);
        parser.batch.flush(sink)
    }
}

impl FxtParser {
    /// Handles the next record, or steps over damage. Returns whether the input goes on.
    #[inline]
    fn next_record(
        &mut self,
        input: &mut ByteReader,
        sink: &mut dyn BatchSink,
        context: &ReadContext,
    ) -> Result<bool, ReadError> {
        if input.would_wait(WORD_BYTES) {
            self.batch.flush_if_any(sink)?;
        }
        let pos = SourcePos::Offset(input.offset());
        let header = match input.peek(WORD_BYTES)? {
            [] => return Ok(false),
            word => word.first_chunk().map(|word| u64::from_le_bytes(*word)),
        };
        let Some(header) = header else {
            self.batch.lose(Loss::Truncated, pos);
            return Ok(false);
        };
        // In a damaged region, only a known record type ends the damage: any word could be a header of unknown type.
        let words = size(header).filter(|_| !self.in_damage || is_known(record::RECORD_TYPE.get(header)));
        let Some(words) = words else {
            // The length is damaged: the reader searches word by word, but counts only one loss.
            if !self.in_damage {
                self.batch.lose(Loss::BadRecord, pos);
            }
            self.in_damage = true;
            input.skip(WORD_BYTES as u64)?;
            return Ok(true);
        };
        self.in_damage = false;
        if record::RECORD_TYPE.get(header) == record_type::LARGE {
            let value = LossValue::Number("record type", record_type::LARGE);
            self.batch.lose_value(Loss::IgnoredPacket, value, pos);
            if !input.skip(words * WORD_BYTES as u64)? {
                self.batch.lose(Loss::Truncated, pos);
            }
            return Ok(true);
        }
        let len = words as usize * WORD_BYTES;
        if input.would_wait(len) {
            self.batch.flush_if_any(sink)?;
        }
        let record = input.peek(len)?;
        if record.len() < len {
            self.batch.lose(Loss::Truncated, pos);
            return Ok(false);
        }
        self.record(header, &record[WORD_BYTES..], pos);
        input.skip(len as u64)?;
        self.batch.flush_if_full(sink, context)?;
        Ok(true)
    }
}

/// Returns the size of a record in words, including its header. `None` for a word that is not a header.
fn size(header: u64) -> Option<u64> {
    match record::RECORD_TYPE.get(header) {
        record_type::LARGE => {
            Some(large_record::RECORD_SIZE.get(header)).filter(|words| (1..=LARGE_WORDS_MAX).contains(words))
        }
        // Unknown types have the common header too.
        _ => Some(record::RECORD_SIZE.get(header)).filter(|&words| words > 0),
    }
}

/// Returns whether the format defines a record type.
fn is_known(kind: u64) -> bool {
    matches!(kind, record_type::METADATA..=record_type::PROFILER | record_type::LARGE)
}

impl FxtParser {
    /// Sets a text of the current provider. Beyond the limit, removes it, so that no event gets the earlier text.
    fn set_text(&mut self, number: u16, text: &[u8], pos: SourcePos) {
        let is_over = self.text_bytes + text.len() > TEXT_BYTES_MAX;
        if is_over {
            self.batch.lose(Loss::OverLimit, pos);
            self.text_bytes -= self.provider().remove_text(number);
        } else {
            self.text_bytes = self.text_bytes + text.len() - self.provider().set_text(number, text);
        }
    }

    /// Reads a record from its header and the words after it.
    fn record(&mut self, header: u64, bytes: &[u8], pos: SourcePos) {
        let kind = record::RECORD_TYPE.get(header);
        if kind == record_type::PROFILER || !is_known(kind) {
            let value = LossValue::Number("record type", kind);
            return self.batch.lose_value(Loss::IgnoredPacket, value, pos);
        }
        let mut words = Words::new(bytes);
        let taken = match kind {
            record_type::METADATA => self.metadata(header, &mut words, pos),
            record_type::INITIALIZATION => words.word().map(|ticks| self.provider().ticks_per_second = ticks),
            record_type::STRING => {
                let number = string::STRING_INDEX.get(header) as u16;
                let len = string::STRING_LENGTH.get(header) as usize;
                words.text(len).map(|text| {
                    if number != 0 {
                        self.set_text(number, text, pos);
                    }
                })
            }
            record_type::THREAD => words.word().zip(words.word()).map(|(process, thread)| {
                self.provider().threads.insert(thread::THREAD_INDEX.get(header) as u8, ThreadId { process, thread });
            }),
            kind => {
                let provider = self.providers.get(&self.provider).unwrap_or(&self.nowhere);
                let mut record = FxtRecord { provider, header, words, pos, batch: &mut self.batch };
                let taken = match kind {
                    record_type::EVENT => self.events.event(&mut record),
                    record_type::KERNEL_OBJECT => self.events.kernel_object(&mut record),
                    record_type::SCHEDULING => self.events.scheduling(&mut record),
                    record_type::LOG => FxtEventBuilder::log(&mut record),
                    // Blobs, and objects of programs.
                    _ => {
                        record.lose_value(Loss::IgnoredPacket, LossValue::Number("record type", kind));
                        return;
                    }
                };
                words = record.words;
                taken
            }
        };
        // More words than fields are as invalid as fewer.
        if taken.is_none() || !words.is_empty() {
            self.batch.lose(Loss::BadRecord, pos);
        }
    }

    fn metadata(&mut self, header: u64, words: &mut Words<'_>, pos: SourcePos) -> Option<()> {
        let provider = metadata::PROVIDER_ID.get(header) as u32;
        let event_id = provider_event::EVENT_ID.get(header);
        match metadata::METADATA_TYPE.get(header) {
            metadata_type::PROVIDER_INFO => {
                self.select(provider, pos);
                // The name of a provider does not name a process.
                words.text(provider_info::NAME_LENGTH.get(header) as usize)?;
            }
            metadata_type::PROVIDER_SECTION => self.select(provider, pos),
            metadata_type::PROVIDER_EVENT if event_id == provider_event_id::BUFFER_FILLED_UP => {
                self.batch.lose(Loss::RecorderLost, pos);
            }
            // The magic record.
            metadata_type::TRACE_INFO => {}
            _ => {
                let value = LossValue::Number("metadata type", metadata::METADATA_TYPE.get(header));
                self.batch.lose_value(Loss::IgnoredMetadata, value, pos);
                *words = Words::new(&[]);
            }
        }
        Some(())
    }

    /// Selects the current provider.
    fn select(&mut self, provider: u32, pos: SourcePos) {
        if self.providers.len() >= PROVIDERS_MAX && !self.providers.contains_key(&provider) {
            self.batch.lose(Loss::OverLimit, pos);
        }
        self.provider = provider;
    }

    /// Returns the current provider. All providers beyond [`PROVIDERS_MAX`] share one.
    fn provider(&mut self) -> &mut Provider {
        if self.providers.len() >= PROVIDERS_MAX && !self.providers.contains_key(&self.provider) {
            return &mut self.nowhere;
        }
        self.providers.entry(self.provider).or_default()
    }
}
