//! Addresses of cards: what has none of the forms is refused with the forms.

use spindle::transport::open;
use spindle::transport::pci::is_address;
use spindle::Error;

const WORDS: [&str; 16] =
    ["0000:65:00.0", "sysfs:", "unix:", "sim:", ":", ".", "0", "f", "F", "g", "/", "é", " ", "-", "+1", "00000065"];

/// Four to eight hexadecimal digits, two, two and one, as sysfs has them.
fn plain(text: &str) -> bool {
    let separators: String = text.chars().filter(|c| !c.is_ascii_hexdigit()).collect();
    let parts: Vec<usize> = text.split([':', '.']).map(str::len).collect();
    separators == "::." && matches!(parts[..], [4..=8, 2, 2, 1])
}

#[test]
fn fuzz_address() {
    spindle_fuzz::run("address", 4000, |source| {
        let word = source.word();
        let digits = 4 + source.below(5);
        let domain = format!("{:0digits$x}", u64::from(word) & ((1 << (4 * digits)) - 1));
        let text = format!("{domain}:{:02x}:{:02X}.{:x}", source.byte(), source.byte(), source.below(16));
        assert!(is_address(&text), "{text}");
        let damaged = if source.chance(3) { source.text(&WORDS) } else { source.mutated_text(&text, &WORDS) };
        assert_eq!(is_address(&damaged), plain(&damaged), "{damaged:?}");
        let (kind, rest) = damaged.split_once(':').unwrap_or(("", ""));
        // Those would look for a socket or a function of this machine.
        if kind == "unix" || plain(&damaged) || (kind == "sysfs" && plain(rest)) {
            return true;
        }
        match open(&damaged).map(drop) {
            Err(Error::Argument(sentence)) => {
                assert!(sentence.contains("give") || sentence.contains("serve"), "{sentence}")
            }
            other => panic!("{damaged:?}: {other:?}"),
        }
        false
    });
}
