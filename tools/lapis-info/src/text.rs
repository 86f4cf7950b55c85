//! The readable listing.

use crate::facts::{Boot, Candidate, Declared, Facts, Opened, Transports, Variable};
use std::fmt::Write;

/// Columns of text lines are wrapped to.
const WIDTH: usize = 100;

/// Everything that was gathered; with `help`, what each variable means.
pub(crate) fn write(facts: &Facts, help: bool) -> String {
    let mut out = format!("Lapis {}, transport ABI {}\n", facts.version, facts.transport_abi);
    if let Some(found) = &facts.bootstrap {
        bootstrap(&mut out, found);
    }
    if let Some(found) = &facts.transports {
        transports(&mut out, found);
    }
    if let Some(variables) = &facts.configuration {
        configuration(&mut out, variables, help);
    }
    if let Some(found) = &facts.collectives {
        found.write(&mut out);
    }
    if let Some(found) = &facts.windows {
        found.write(&mut out);
    }
    if let Some(found) = &facts.copies {
        found.write(&mut out);
    }
    out
}

fn bootstrap(out: &mut String, found: &Boot) {
    out.push_str("\nBootstrap\n");
    let number = |n: Option<u32>| n.map_or("?".to_owned(), |n| n.to_string());
    let what = match found.source {
        "alone" => "alone: the environment announces no job".to_owned(),
        by => format!("by {by}: task {} of {}", number(found.task), number(found.tasks)),
    };
    let _ = writeln!(out, "  {what}");
    let _ = writeln!(out, "  Looked for in this order: {}.", found.order.join(", "));
}

fn transports(out: &mut String, found: &Transports) {
    out.push_str("\nTransports\n");
    for candidate in &found.candidates {
        one(out, candidate);
    }
    let why = match found.named {
        true => "LAPIS_TRANSPORT names them: no others, and each must be usable",
        false => "by LAPI_USE_SHM, which lapirun sets to yes, and MP_EUILIB; LAPIS_TRANSPORT names others",
    };
    let order = match found.order.join(", ") {
        none if none.is_empty() => "none to other tasks".to_owned(),
        some => some,
    };
    let _ = writeln!(out, "\nOrder of use: {order} ({why}).");
    out.push_str("A task talks to itself over loopback.\n\nPlaces searched for liblapis_<name>.so\n");
    for place in &found.places {
        let what = match (place.exists, place.plugins) {
            (false, _) => "not there".to_owned(),
            (true, 1) => "1 plugin".to_owned(),
            (true, n) => format!("{n} plugins"),
        };
        let _ = writeln!(out, "  {:<10} {}", what, place.path.display());
    }
}

fn one(out: &mut String, candidate: &Candidate) {
    let Candidate { name, origin, reason, opened, .. } = candidate;
    let verdict = reason.as_deref().unwrap_or("usable");
    let _ = writeln!(out, "  {name:<9} {verdict}");
    field(out, "from", origin);
    let Some(Opened { version, abi, declared, capabilities, missing, undecided, limits, note }) = opened
    else {
        return;
    };
    field(out, "version", &format!("{version}, for ABI {abi}"));
    match declared {
        Some(Declared { cost_ns: u32::MAX, usage }) => field(out, "used", usage),
        Some(Declared { cost_ns, usage }) => {
            field(out, "used", &format!("{usage}; a short message costs about {cost_ns} ns"));
        }
        None => {}
    }
    field(out, "can", &capabilities.join(" "));
    if !missing.is_empty() {
        field(out, "cannot", &format!("{} (it could on other machines)", missing.join(" ")));
    }
    if !undecided.is_empty() {
        field(out, "perhaps", &format!("{} (known after connecting)", undecided.join(" ")));
    }
    let (known, unknown): (Vec<_>, Vec<_>) = limits.iter().partition(|(_, value)| value.is_some());
    let mut texts: Vec<String> = known
        .iter()
        .map(|(name, value)| format!("{name} {}", amount(name, value.unwrap_or_default())))
        .collect();
    if !unknown.is_empty() {
        let names: Vec<_> = unknown.iter().map(|(name, _)| *name).collect();
        texts.push(format!("{} known after connecting", names.join(", ")));
    }
    field(out, "limits", &texts.join(", "));
    // A line for each statement.
    for (at, part) in note.split("; ").filter(|part| !part.is_empty()).enumerate() {
        field(out, if at == 0 { "note" } else { "" }, part);
    }
}

/// `name` and a text that is wrapped beside it.
fn field(out: &mut String, name: &str, text: &str) {
    const INDENT: usize = 22;
    let mut line = format!("            {name:<9} ");
    let mut fresh = true;
    for word in text.split_whitespace() {
        if !fresh && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(line.trim_end());
            out.push('\n');
            line = " ".repeat(INDENT);
            fresh = true;
        }
        if !fresh {
            line.push(' ');
        }
        line.push_str(word);
        fresh = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

fn amount(name: &str, value: u64) -> String {
    const K: u64 = 1 << 10;
    match value {
        u64::MAX => "unlimited".to_owned(),
        v if name == "paths" || name == "max_peers" => v.to_string(),
        v if v >= K * K && v.is_multiple_of(K * K) => format!("{} MiB", v / (K * K)),
        v if v >= K && v.is_multiple_of(K) => format!("{} KiB", v / K),
        v => format!("{v} B"),
    }
}

fn configuration(out: &mut String, variables: &[Variable], help: bool) {
    out.push_str("\nConfiguration (value, where it came from)\n");
    let mut group = "";
    for variable in variables {
        if variable.group != group {
            group = &variable.group;
            let _ = writeln!(out, "\n  {group}");
        }
        let value = variable.value.as_deref().unwrap_or("-");
        let _ = writeln!(out, "    {:<26} {value:<22} {}", variable.name, variable.origin);
        if help {
            let _ =
                writeln!(out, "        {}. Takes {}. [{}]", variable.help, variable.takes, variable.source);
        }
    }
    if !help {
        out.push_str("\n`lapis-info --config` says what each means.\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_wrapped_beside_their_name() {
        let mut out = String::new();
        field(&mut out, "can", &"WORD ".repeat(40));
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines.len() > 1 && lines.iter().all(|l| l.len() <= WIDTH), "{out}");
        assert!(lines[1].starts_with(&format!("{}WORD", " ".repeat(22))), "{out}");
        assert_eq!(out.matches("WORD").count(), 40);
    }

    #[test]
    fn amounts_have_the_largest_whole_unit() {
        assert_eq!(amount("max_zcopy", u64::MAX), "unlimited");
        assert_eq!(amount("max_short", 8192), "8 KiB");
        assert_eq!(amount("max_short", 8191), "8191 B");
        assert_eq!(amount("max_peers", 2048), "2048");
    }
}
