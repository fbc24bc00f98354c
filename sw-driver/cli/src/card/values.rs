//! Values on the command line.

/// A number: decimal, or hexadecimal with 0x; underscores between digits.
pub fn number(text: &str) -> Result<u64, String> {
    let (digits, radix) = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    digits_of(digits, radix).ok_or_else(|| format!("`{text}` is no number; give one such as 4096 or 0x1000"))
}

/// A number of digits and underscores; the library's own parsers take a sign too.
pub(crate) fn digits_of(text: &str, radix: u32) -> Option<u64> {
    let digits = text.replace('_', "");
    let plain = digits.chars().all(|digit| digit.is_digit(radix));
    plain.then(|| u64::from_str_radix(&digits, radix).ok()).flatten()
}

/// A number of 32 bits.
pub fn word(text: &str) -> Result<u32, String> {
    u32::try_from(number(text)?).map_err(|_| format!("{text} is too large; at most {}", u32::MAX))
}

/// A number of bytes, also as 64K, 2M or 1G.
pub fn bytes(text: &str) -> Result<u32, String> {
    let shift = [('K', 10), ('M', 20), ('G', 30)];
    let unit = shift.iter().find(|(letter, _)| text.ends_with([*letter, letter.to_ascii_lowercase()]));
    let (digits, shift) = match unit {
        Some((_, shift)) if !text.starts_with("0x") => (&text[..text.len() - 1], *shift),
        _ => (text, 0),
    };
    let count = number(digits).map_err(|_| format!("`{text}` is no number of bytes; give one such as 4096 or 64K"))?;
    let bytes = count.checked_mul(1 << shift).and_then(|bytes| u32::try_from(bytes).ok());
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| format!("{text} is out of range; give 1 to {} bytes", u32::MAX))
}

/// A number of seconds, more than 0.
pub fn seconds(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is no time; give seconds, such as 1 or 0.5");
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    if seconds > 0.0 && seconds <= 1e9 {
        Ok(seconds)
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(number("0x1_000"), Ok(4096));
        assert_eq!(number("1_000"), Ok(1000));
        assert_eq!(word("0xffffffff"), Ok(u32::MAX));
        for wrong in ["", "x", "0x", "-1", "1.5", "0x1_0000_0000_0000_0000"] {
            assert!(number(wrong).unwrap_err().contains("is no number"), "{wrong}");
        }
        assert!(word("0x1_0000_0000").unwrap_err().contains("too large"));
    }

    #[test]
    fn sizes() {
        assert_eq!((bytes("64K"), bytes("2m"), bytes("0x40")), (Ok(65536), Ok(2 << 20), Ok(64)));
        for wrong in ["0", "4G", "K", "", "12Q", "99999999999999999999G"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(seconds("0.5"), Ok(0.5));
        for wrong in ["0", "-1", "inf", "NaN", "1e10", "soon", ""] {
            assert!(seconds(wrong).unwrap_err().contains("give seconds"), "{wrong}");
        }
    }
}
