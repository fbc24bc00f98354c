//! Mutations of an example.

use crate::Source;

/// Most bytes that a mutation adds to.
const LONGEST: usize = 1 << 16;

/// Changes something.
pub fn apply(bytes: &mut Vec<u8>, source: &mut Source) {
    let at = source.below(bytes.len());
    // A part of up to 16 bytes, seldom of any length.
    let reach = if source.chance(8) { bytes.len() } else { 16 };
    let end = (at + source.below(reach + 1)).min(bytes.len());
    match source.below(12) {
        0 => flip(bytes, at, 1 << source.below(8)),
        1 => flip(bytes, at, source.byte()),
        2 => set(bytes, at, &[*source.pick(&[0, 1, 0x7F, 0x80, 0xFF, b' ', b'\n', b'0'])]),
        3 => set(bytes, at, &(source.number() as u16).to_le_bytes()),
        4 => set(bytes, at, &(source.number() as u16).to_be_bytes()),
        5 => set(bytes, at & !3, &source.word().to_le_bytes()),
        6 => set(bytes, at & !3, &source.word().to_be_bytes()),
        7 => set(bytes, at & !7, &source.number().to_le_bytes()),
        8 => bytes.truncate(at),
        9 => drop(bytes.drain(at..end)),
        10 if bytes.len() < LONGEST => {
            let part = bytes[at..end].to_vec();
            let to = source.below(bytes.len() + 1);
            bytes.splice(to..to, part);
        }
        _ if bytes.len() < LONGEST => {
            let part = source.bytes(16);
            bytes.splice(at..at, part);
        }
        _ => {}
    }
}

fn flip(bytes: &mut [u8], at: usize, mask: u8) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= mask;
    }
}

/// Writes what fits.
fn set(bytes: &mut [u8], at: usize, value: &[u8]) {
    for (byte, value) in bytes.iter_mut().skip(at).zip(value) {
        *byte = *value;
    }
}

/// Inserts a word, or replaces one of the text's with it.
pub fn put_word(text: &mut String, word: &str, source: &mut Source) {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let at = (0..=source.below(text.len() + 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (before, after) = text.split_at(at);
    let (from, to) = if source.chance(2) {
        (at, at)
    } else {
        let before = before.len() - before.chars().rev().take_while(|c| inside(*c)).count();
        (before, at + after.chars().take_while(|c| inside(*c)).count())
    };
    text.replace_range(from..to, word);
}

#[cfg(test)]
mod tests {
    use crate::run_total;

    #[test]
    fn mutations_change_lengths_and_bytes_and_stay_bounded() {
        let example: Vec<u8> = (0..100).collect();
        let (mut same, mut shorter, mut longer, mut changed) = (0, 0, 0, 0);
        run_total("mutations", 2000, |source| {
            let bytes = source.mutated(&example);
            assert!(bytes.len() <= 100 + 4 * 1600);
            match bytes.len().cmp(&100) {
                std::cmp::Ordering::Less => shorter += 1,
                std::cmp::Ordering::Greater => longer += 1,
                std::cmp::Ordering::Equal if bytes == example => same += 1,
                std::cmp::Ordering::Equal => changed += 1,
            }
        });
        for (what, count) in [("same", same), ("shorter", shorter), ("longer", longer), ("changed", changed)] {
            assert!(count > 200, "{what}: {count} of 2000");
        }
    }

    #[test]
    fn words_come_into_texts() {
        let (mut inserted, mut replaced) = (0, 0);
        run_total("words", 2000, |source| {
            let text = source.mutated_text("udp.dport == 9 && é", &["icmp"]);
            inserted += u32::from(text.contains("icmp") && text.contains("udp.dport"));
            replaced += u32::from(text.contains("icmp") && !text.contains("udp.dport"));
        });
        assert!(inserted > 100 && replaced > 100, "{inserted} {replaced}");
    }
}
