//! Constraints: words are read as they were quoted, and what Tcl would read as something else is refused.

use spindle_boards::write::xdc::{commands, Command, Word};
use spindle_fuzz::Source;

const WORDS: [&str; 30] = [
    "set_property",
    "get_ports",
    "get_pins",
    "-dict",
    "PACKAGE_PIN",
    "led",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "$x",
    "\\",
    ";",
    "#",
    "[[[[",
    "{a}b",
    "\"a\"b",
    "[a]b",
    "\n",
    "\r",
    "a/b*",
    "{led[0]}",
    "[get_ports {led[0]}]",
    "{}",
    "\"\"",
    "é",
    "3.5",
    "# \\\n",
    "{\\}",
];

fn word(source: &mut Source, line: usize, depth: usize) -> Word {
    if depth < 4 && source.chance(3) {
        let count = source.below(4);
        return Word::Query(Command { line, words: (0..count).map(|_| word(source, line, depth + 1)).collect() });
    }
    let texts =
        ["set_property", "-dict", "PACKAGE_PIN A1", "led[3]", "{x} y", "a{b", "", "#note", "é \"", "$clk;", "}"];
    Word::Text((*source.pick(&texts)).into())
}

/// Where a word stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// At the begin of a line, where `#` begins a comment.
    First,
    Later,
    /// In brackets.
    Inner,
}

/// One of the forms in which Tcl takes the text as it stands; none if it has no such form.
fn quoted(text: &str, place: Place, source: Option<&mut Source>) -> Option<String> {
    let plain = !text.contains(['$', '\\', ';', '[', ']']);
    let bare = plain
        && !text.is_empty()
        && !text.contains(char::is_whitespace)
        && !text.starts_with(['{', '"'])
        && (place != Place::First || !text.starts_with('#'))
        && !(place == Place::Inner && text.contains(']'));
    let mut depth = 0i32;
    let closes = text.chars().all(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth >= 0
    });
    let forms = [
        (plain && !text.contains('"')).then(|| format!("\"{text}\"")),
        (closes && depth == 0 && !text.contains(['\\', '\n'])).then(|| format!("{{{text}}}")),
        bare.then(|| text.to_owned()),
    ];
    let forms: Vec<String> = forms.into_iter().flatten().collect();
    match source {
        Some(source) if !forms.is_empty() => Some(source.pick(&forms).clone()),
        _ => forms.into_iter().next(),
    }
}

/// A command as text; none if a word has no form.
fn line(words: &[Word], inner: bool, source: &mut Option<&mut Source>) -> Option<String> {
    let words = words.iter().enumerate().map(|(at, word)| match word {
        Word::Text(text) => {
            let place = if at == 0 { Place::First } else { Place::Later };
            quoted(text, if inner { Place::Inner } else { place }, source.as_deref_mut())
        }
        Word::Query(query) => Some(format!("[{}]", line(&query.words, true, source)?)),
    });
    Some(words.collect::<Option<Vec<_>>>()?.join(" "))
}

#[test]
fn fuzz_constraints() {
    spindle_fuzz::run("constraints", 5000, |source| {
        let mut wanted = Vec::new();
        let mut text = String::new();
        for number in 1..=1 + source.below(4) {
            let words: Vec<Word> = (0..=source.below(4)).map(|_| word(source, number, 0)).collect();
            text += &line(&words, false, &mut Some(&mut *source)).expect("each word has a form");
            text += source.pick::<&str>(&["\n", "  \n", "\t\r\n"]);
            wanted.push(Command { line: number, words });
        }
        assert_eq!(commands(&text), Ok(wanted), "{text}");
        let damaged = if source.chance(3) { source.text(&WORDS) } else { source.mutated_text(&text, &WORDS) };
        match commands(&damaged) {
            Ok(read) => {
                // Each word has a form that is read as this word.
                let mut again = String::new();
                for command in &read {
                    let missing = command.line - 1 - again.matches('\n').count();
                    again += &"\n".repeat(missing);
                    again += &line(&command.words, false, &mut None).unwrap_or_else(|| panic!("{command:?}"));
                    again += "\n";
                }
                assert_eq!(commands(&again), Ok(read), "{damaged:?}");
                true
            }
            Err(error) => {
                let number = error.strip_prefix("line ").and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
                assert!(number.is_some_and(|number| number <= damaged.lines().count()), "{error}");
                false
            }
        }
    });
}
