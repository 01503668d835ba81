//! System fonts for letters missing from the window's fonts: other scripts, symbols, emoji. The first frame with such a
//! letter starts a search for a font in the background; once it ends, the letters are drawn again. The library that
//! finds the fonts memory-maps them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use egui::FontFamily;
use egui::epaint::text::{FallbackRequest, FontInsert, FontProvider};
use egui_system_font_provider::SystemFontProvider;

use crate::app::background::{guarded, spawn};
use crate::app::event::{TaskEvent, Wake};

/// A letter and its font family.
type Letter = (FontFamily, char);

/// The fonts of letters: `None` during the search, and `Some(None)` if no font has the letter.
type LetterFonts = BTreeMap<Letter, Option<Option<FontInsert>>>;

/// Finds a font that has a letter.
type Finder = Box<dyn Fn(&FontFamily, char) -> Option<FontInsert> + Send>;

/// The system fonts of letters that the window's fonts lack; each letter is searched once.
#[derive(Clone)]
pub(super) struct Fonts {
    cache: Arc<Mutex<FontCache>>,
    /// Receives an event for each finished search. With `None`, [`Fonts`] searches synchronously.
    wake: Option<Wake>,
}

#[derive(Default)]
struct FontCache {
    fonts: LetterFonts,
    /// Created for the first letter, because listing the system fonts takes up to a second.
    finder: Option<Finder>,
    is_looking: bool,
}

impl Fonts {
    /// Creates fonts that are searched in the background; `wake` then receives [`TaskEvent::FoundFonts`].
    #[must_use]
    pub(super) fn in_background(wake: &Wake) -> Self {
        Self { cache: Arc::default(), wake: Some(Arc::clone(wake)) }
    }

    /// Creates fonts that are searched synchronously, for pictures.
    #[must_use]
    pub(super) fn at_once() -> Self {
        Self { cache: Arc::default(), wake: None }
    }

    fn cache(&self) -> MutexGuard<'_, FontCache> {
        // A finder that panicked leaves the fonts of earlier searches.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Searches fonts for all letters that have no result yet.
    fn search_fonts(&self) {
        let mut finder = self.cache().finder.take().unwrap_or_else(system_finder);
        loop {
            let mut cache = self.cache();
            let next = cache.fonts.iter().find(|(_, font)| font.is_none()).map(|(letter, _)| letter.clone());
            let Some((family, letter)) = next else {
                // Under the lock of the check for more letters: a later letter starts another search.
                (cache.finder, cache.is_looking) = (Some(finder), false);
                return;
            };
            drop(cache);
            let font = guarded(|| Ok(finder(&family, letter))).unwrap_or_else(|_| {
                finder = Box::new(|_, _| None);
                None
            });
            self.cache().fonts.insert((family, letter), Some(font));
        }
    }
}

fn system_finder() -> Finder {
    let system = SystemFontProvider::new();
    Box::new(move |family, letter| {
        let mut buffer = [0; 4];
        system.font_for(&FallbackRequest { cluster: letter.encode_utf8(&mut buffer), family })
    })
}

impl FontProvider for Fonts {
    fn font_for(&self, request: &FallbackRequest<'_>) -> Option<FontInsert> {
        let letter = request.cluster.chars().next()?;
        let wanted = (request.family.clone(), letter);
        let mut cache = self.cache();
        if let Some(found) = cache.fonts.get(&wanted) {
            return found.clone().flatten();
        }
        cache.fonts.insert(wanted.clone(), None);
        let Some(wake) = &self.wake else {
            drop(cache);
            self.search_fonts();
            return self.cache().fonts.get(&wanted).cloned().flatten().flatten();
        };
        if !std::mem::replace(&mut cache.is_looking, true) {
            let (fonts, wake) = (self.clone(), Arc::clone(wake));
            let work = move || {
                fonts.search_fonts();
                wake(TaskEvent::FoundFonts);
            };
            // Without a thread the letters stay empty boxes.
            cache.is_looking = spawn("fonts", work).is_ok();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use egui::epaint::text::FontData;

    use super::*;

    /// Returns a font with a name and no data.
    fn font(name: &str) -> FontInsert {
        FontInsert { name: name.to_owned(), data: FontData::from_static(&[]), families: Vec::new() }
    }

    /// Returns a finder whose fonts cover two ranges of letters.
    fn finder() -> Finder {
        Box::new(|family, letter| match letter {
            'a'..='z' => Some(font("latin")),
            '一'..='龥' => Some(font(if *family == FontFamily::Monospace { "han mono" } else { "han" })),
            '!' => panic!("a font that is broken"),
            _ => None,
        })
    }

    fn ask(fonts: &Fonts, family: &FontFamily, letter: &str) -> Option<String> {
        fonts.font_for(&FallbackRequest { cluster: letter, family }).map(|font| font.name)
    }

    #[test]
    fn a_letter_is_searched_once_in_the_background_and_then_has_its_font() {
        let (sender, told) = channel();
        let sender = Mutex::new(sender);
        let wake: Wake = Arc::new(move |event| sender.lock().unwrap().send(event).unwrap());
        let fonts = Fonts::in_background(&wake);
        fonts.cache().finder = Some(finder());
        for (letter, expected) in [("漢", Some("han")), ("\u{1f600}", None)] {
            assert_eq!(ask(&fonts, &FontFamily::Proportional, letter), None, "nobody waits for it");
            let event = told.recv_timeout(Duration::from_secs(30)).unwrap();
            assert!(matches!(event, TaskEvent::FoundFonts));
            assert_eq!(ask(&fonts, &FontFamily::Proportional, letter).as_deref(), expected);
            // A letter that no font has is not searched again.
            assert!(told.recv_timeout(Duration::from_millis(50)).is_err());
        }
    }

    #[test]
    fn a_picture_waits_for_its_fonts_which_differ_by_family() {
        let fonts = Fonts::at_once();
        fonts.cache().finder = Some(finder());
        assert_eq!(ask(&fonts, &FontFamily::Proportional, "字").as_deref(), Some("han"));
        assert_eq!(ask(&fonts, &FontFamily::Monospace, "字").as_deref(), Some("han mono"));
        assert_eq!(ask(&fonts, &FontFamily::Monospace, "?"), None);
    }

    #[test]
    fn a_finder_that_panics_finds_no_more_fonts_and_keeps_those_found() {
        let fonts = Fonts::at_once();
        fonts.cache().finder = Some(finder());
        assert_eq!(ask(&fonts, &FontFamily::Proportional, "a").as_deref(), Some("latin"));
        assert_eq!(ask(&fonts, &FontFamily::Proportional, "!"), None);
        assert_eq!(ask(&fonts, &FontFamily::Proportional, "b"), None);
        assert_eq!(ask(&fonts, &FontFamily::Proportional, "a").as_deref(), Some("latin"));
    }
}
