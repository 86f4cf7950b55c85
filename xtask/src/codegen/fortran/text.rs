//! Lines that fixed and free form read alike.

use std::fmt::Write;

/// The last column that fixed form reads.
const LAST: usize = 72;

/// A statement from column 7 on, continued where it is longer. Free form wants an ampersand at the
/// end of a line that goes on: it stands in column 73, where fixed form reads nothing. Fixed form
/// wants one in column 6 of the next line: free form takes it for the continuation's start.
pub(super) fn statement(out: &mut String, text: &str) {
    let room = LAST - 6;
    let mut rest = text;
    let mut first = true;
    while !rest.is_empty() {
        let start = if first { "      " } else { "     &" };
        if rest.len() <= room {
            writeln!(out, "{start}{rest}").expect("a String takes all");
            return;
        }
        let at = rest[..room].rfind([' ', ',']).map_or(room, |at| at + 1);
        writeln!(out, "{:<LAST$}&", format!("{start}{}", &rest[..at])).expect("a String takes all");
        rest = &rest[at..];
        first = false;
    }
}

/// A comment, broken before column 73.
pub(super) fn comment(out: &mut String, text: &str) {
    let mut line = String::from("!");
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > LAST {
            writeln!(out, "{line}").expect("a String takes all");
            line = String::from("!");
        }
        line.push(' ');
        line.push_str(word);
    }
    writeln!(out, "{line}").expect("a String takes all");
}

#[cfg(test)]
mod tests {
    use super::{comment, statement};

    #[test]
    fn long_statements_are_continued_for_both_forms() {
        let mut out = String::new();
        let names = (0..20).map(|n| format!("NAME{n}")).collect::<Vec<_>>().join(", ");
        statement(&mut out, &format!("INTEGER {names}"));
        let lines: Vec<_> = out.lines().collect();
        assert!(lines.len() > 1);
        for line in &lines[..lines.len() - 1] {
            assert_eq!((line.len(), line.as_bytes()[72]), (73, b'&'));
        }
        for line in &lines[1..] {
            assert!(line.starts_with("     &") && line.len() <= 73);
        }
    }

    #[test]
    fn comments_stay_within_fixed_form() {
        let mut out = String::new();
        comment(&mut out, &"word ".repeat(40));
        assert!(
            out.lines().count() > 1 && out.lines().all(|line| line.starts_with("! ") && line.len() <= 72)
        );
    }
}
