//! Handler images: an image that is written as a file is read as the same image, and whatever a damaged file becomes is
//! an image that the card can run, or an error.

use crate::elf;
use spindle::image::{UserHeader, ENTRY_SYMBOLS, LONGEST_USER_HEADER};
use spindle::Image;
use spindle_contract::memory_map::{base, CODE};
use spindle_contract::params::MAX_TAILROOM;
use spindle_fuzz::Source;

const NAMES: [&str; 9] =
    ["main", "header_handler", "payload_handler", "completion_handler", "$x", ".L1", "ping", "spin_", "_"];

/// Any image; its entry points are the card's business.
fn image(source: &mut Source) -> Image {
    let code = source.bytes(64);
    let address = |source: &mut Source, most: usize| base(CODE) + 4 * source.below(most / 4 + 2) as u32;
    let mut entries = [None; ENTRY_SYMBOLS.len()];
    for entry in &mut entries {
        *entry = source.chance(2).then(|| address(source, code.len()));
    }
    let count = source.below(5);
    let mut symbols: Vec<_> =
        (0..count).map(|_| (address(source, code.len() + 16), source.pick(&NAMES).to_string())).collect();
    symbols.sort();
    let user_header = source.chance(3).then(|| UserHeader {
        name: source.pick(&NAMES).to_string(),
        bytes: source.below(usize::from(LONGEST_USER_HEADER) + 3) as u8,
    });
    let tailroom = if source.chance(3) { source.below(MAX_TAILROOM + 3) as u16 } else { 0 };
    Image { code, state: source.bytes(64), entries, symbols, user_header, tailroom }
}

/// The rules of images that the hardware relies on.
fn can_run(image: &Image) -> bool {
    let inside =
        |address: u32| address.is_multiple_of(4) && (address.wrapping_sub(base(CODE)) as usize) < image.code.len();
    let sizes = image.user_header.as_ref().is_none_or(|header| (1..=LONGEST_USER_HEADER).contains(&header.bytes));
    let fits = usize::from(image.tailroom) <= MAX_TAILROOM;
    sizes
        && fits
        && image.entries.iter().flatten().all(|entry| inside(*entry))
        && image.entries.iter().any(Option::is_some)
}

#[test]
fn fuzz_image() {
    spindle_fuzz::run("image", 3000, |source| {
        let wanted = image(source);
        let file = elf::file(&wanted);
        match Image::parse(&file) {
            Ok(image) => {
                assert_eq!(image, wanted);
                assert!(can_run(&image), "{image:?}");
            }
            Err(error) => assert!(!can_run(&wanted) && !error.to_string().is_empty(), "{error}: {wanted:?}"),
        }
        let damaged = source.mutated(&file);
        let Ok(image) = Image::parse(&damaged) else { return false };
        assert!(can_run(&image), "{image:?}");
        for address in [0, u32::MAX, base(CODE), base(CODE) + source.word() % 128, source.word()] {
            if let Some((name, offset)) = image.symbol(address) {
                let start = address - offset;
                assert!(image.symbols.iter().any(|known| (known.0, known.1.as_str()) == (start, name)));
            }
        }
        // Whatever it has been read as can be written, and is the same image again.
        assert_eq!(Image::parse(&elf::file(&image)), Ok(image));
        true
    });
}

#[test]
fn entry_points_are_words_of_the_code() {
    for entry in 0..12 {
        let entries = [None, Some(base(CODE) + entry), None, None];
        let code = vec![0x13, 0, 0, 0, 0x67, 0x80, 0, 0];
        let image = Image { code, state: vec![], entries, symbols: vec![], ..Image::default() };
        let read = Image::parse(&elf::file(&image));
        assert_eq!(read.is_ok(), [0, 4].contains(&entry), "an entry point at {entry} of 8 bytes of code: {read:?}");
    }
}
