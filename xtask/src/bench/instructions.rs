//! `cargo xtask bench instructions`: how many instructions each operation takes, by callgrind, held
//! against the committed table.
//!
//! The example `instructions` of lapis-lapi does each operation many times within one function, in
//! several parts; callgrind writes a file for each part. A part in which something happened by the
//! clock (a statistic published, a timer looked at) counts more than the others: the median of the
//! parts is what two runs of one build agree about.

use crate::{sh, workspace};
use anyhow::{Context as _, Result, bail, ensure};
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

/// The committed table.
const TABLE: &str = "docs/bench/instructions.md";

/// What known processors have.
const COPIES: &str = "far=100,near-past=never,far-past=1024,attach=16384";
/// The function within which everything is counted, and those that begin and end a row.
const COUNTED: &str = "lapis_counted";
const BEGIN: &str = "lapis_begin";
const END: &str = "lapis_end";
/// Parts of an operation, each with a file of its own.
const PARTS: usize = 5;
/// What counts as a change, in percent, and in instructions where a percent is less than one.
const PERCENT: f64 = 3.0;
const LEAST: f64 = 2.0;
/// Rows of a job that writes traces, and what they may cost beside the same rows of one that does
/// not.
const TRACED: &str = "traced ";
const TRACING: f64 = 1.1;

const HEAD: &str = "\
# Instructions of each operation

Written by `cargo xtask bench instructions --write`; `cargo xtask ci` compares: a count that differs
by more than 3 % fails, for better or worse. *Without copies* leaves out what `memcpy` and Lapis'
own copy loops take.

Two contexts in one thread talk over shared memory (`bindings/lapi/examples/instructions`).
Nothing is counted while somebody waits, so that two runs of one build count the same. The rows of
messages:

* **send**: `Context::send`, from the call to its return.
* **receive**: what one message takes of the calls of `Context::progress` (LAPI_Probe) that handle
  16 of them, which wait: the call, the lock, looking at the lane, the packet, the handlers' table,
  the program's header handler (6 instructions), and giving slots back.
* **one way**: both, 16 sent and then received. The goal, without copies, is 150 for 8 bytes and 300
  for 200 B to 16 KiB. 32 KiB go in two packets, to a buffer that the header handler names.
* **to and fro, waiting**: one way of a ping-pong, each message awaited by `Context::wait_until`,
  which ends when the program's own condition holds. Beside the message this has what belongs to a
  call that waits: its lock and announcing that the thread polls. The rest before the first look is
  left out, because its length is chosen by time.

Rows that begin with *C* are calls of the C interface with everything that the program does for
them: a call of ten arguments takes 24 instructions before it begins. Those to another task talk to
a context in Rust, so that each row counts one end in C:

* **C: message: send**: `LAPI_Amsend`; **receive**: `LAPI_Probe`, as above, with a header handler in
  C that `LAPI_Addr_set` has registered, or whose address the message names.
* **C: LAPI_Msgpoll, one message**: the call that waits for it and finds it at its first look.

The rows of datagrams are messages over UDP sockets that travel alone, each after the one before has
come: the packet engine's way for questions and answers. The kernel's part is not counted. Valgrind
knows no AVX-512, so that the authenticator takes its way for older processors, some 350
instructions for each message and end. **receive** includes what the acknowledgement that comes
along takes.

The rows of collectives are of a team of both tasks. One calls in the form that blocks; the other
one has begun its call before, so that the first one need not wait.

Callgrind slows the clock down, so that the tasks' cores count as distant ones: the bytes of long
messages go past the caches.

| operation | bytes | instructions | without copies |
|---|---:|---:|---:|
";

#[derive(Debug, Clone, PartialEq)]
struct Row {
    operation: String,
    bytes: u64,
    all: f64,
    without_copies: f64,
}

/// Compares, or writes the table.
pub(crate) fn run(write: bool) -> Result<()> {
    if sh::which("valgrind").is_none() {
        eprintln!("SKIPPED: valgrind is missing (`cargo xtask setup ci` installs it)");
        return Ok(());
    }
    let (traced, now): (Vec<Row>, Vec<Row>) =
        count()?.into_iter().partition(|r| r.operation.starts_with(TRACED));
    let file = workspace::root().join(TABLE);
    print!("{}{}", table(&now), table(&traced));
    let costly = tracing_costs(&now, &traced);
    ensure!(costly.is_empty(), "{}", costly.join("\n"));
    if write {
        std::fs::write(&file, format!("{HEAD}{}", table(&now)))?;
        println!("wrote {}", file.display());
        return Ok(());
    }
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let changes = changes(&parse(&text)?, &now);
    ensure!(
        changes.is_empty(),
        "{}\nis it meant? `cargo xtask bench instructions --write`, and commit {}",
        changes.join("\n"),
        file.display()
    );
    Ok(())
}

fn count() -> Result<Vec<Row>> {
    let arguments =
        ["build", "--release", "--quiet", "-p", "lapis-lapi", "-p", "lapis-shm", "-p", "lapis-udp"];
    sh::run(sh::cargo(arguments).args(["--lib", "--example", "instructions"]))?;
    let folder = workspace::target_dir().join("instructions");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let release = workspace::target_dir().join("release");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--quiet"]);
    valgrind.arg(format!("--toggle-collect={COUNTED}"));
    valgrind.arg(format!("--zero-before={BEGIN}")).arg(format!("--dump-after={END}"));
    valgrind.arg(format!("--callgrind-out-file={}", folder.join("counts").display()));
    valgrind.arg(release.join("examples/instructions")).env("LAPIS_TRANSPORT_PATH", &release);
    // Valgrind shows programs a processor of its own, whose copies would be measured at first.
    valgrind.env("LAPIS_SHM_COPIES", COPIES);
    let output = valgrind.output().context("valgrind")?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "valgrind: {}", String::from_utf8_lossy(&output.stderr));
    let mut rows = Vec::new();
    for (index, line) in said.lines().enumerate() {
        let mut words = line.split('\t');
        let (Some(operation), Some(bytes), Some(times)) = (words.next(), words.next(), words.next()) else {
            bail!("the example said {line:?}");
        };
        let files = (0..PARTS).map(|part| folder.join(format!("counts.{}", index * PARTS + part + 1)));
        let parts = files.map(|file| of_file(&file)).collect::<Result<Vec<_>>>()?;
        let (all, copies) = median(parts);
        let hops = if operation.contains("to and fro") { 2.0 } else { 1.0 };
        let times: f64 = times.parse::<f64>()? * hops / PARTS as f64;
        let (all, without_copies) = (all as f64 / times, (all - copies) as f64 / times);
        rows.push((
            Row { operation: operation.to_owned(), bytes: bytes.parse()?, all, without_copies },
            hops,
        ));
    }
    ensure!(rows.len() > 1, "the example counted nothing");
    // The loop itself.
    let (nothing, _) = rows.remove(0);
    let less = |(row, hops): (Row, f64)| Row {
        all: row.all - nothing.all / hops,
        without_copies: row.without_copies - nothing.all / hops,
        ..row
    };
    Ok(rows.into_iter().map(less).collect())
}

/// The part that takes neither most nor least.
fn median(mut parts: Vec<(u64, u64)>) -> (u64, u64) {
    parts.sort_unstable();
    parts[parts.len() / 2]
}

/// What callgrind counted without rests, and how much of it were copies.
fn of_file(file: &Path) -> Result<(u64, u64)> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    of_text(&text).with_context(|| file.display().to_string())
}

fn of_text(text: &str) -> Result<(u64, u64)> {
    let total = text.lines().find_map(|l| l.strip_prefix("totals: ").or(l.strip_prefix("summary: ")));
    let total: u64 = total.and_then(|n| n.trim().parse().ok()).context("no total")?;
    let mut names: HashMap<&str, &str> = HashMap::new();
    let (mut copies, mut rests, mut function, mut called) = (0, 0, "", false);
    for line in text.lines() {
        if let Some((key, name)) = line.split_once("fn=(").filter(|(key, _)| ["", "c"].contains(key)) {
            let (id, name) = name.split_once(')').context("a name without its end")?;
            let known = if name.is_empty() { names.get(id).copied() } else { Some(name) };
            names.insert(id, known.context("a function without a name")?);
            if key.is_empty() {
                function = names[id].trim();
            }
        } else if line.starts_with("calls=") {
            // The next line is what the callee took.
            called = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            let cost: u64 = line.split(' ').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
            match std::mem::take(&mut called) {
                true => {}
                false if is_copy(function) => copies += cost,
                false if is_rest(function) => rests += cost,
                false => {}
            }
        }
    }
    Ok((total - rests, copies))
}

fn is_copy(function: &str) -> bool {
    ["memcpy", "memmove", "transport::copy::"].iter().any(|part| function.contains(part))
}

fn is_rest(function: &str) -> bool {
    function.contains("answer_rest::AnswerRest") && function.contains("::rest")
}

fn table(rows: &[Row]) -> String {
    let line = |row: &Row| {
        format!("| {} | {} | {:.0} | {:.0} |\n", row.operation, row.bytes, row.all, row.without_copies)
    };
    rows.iter().map(line).collect()
}

fn parse(text: &str) -> Result<Vec<Row>> {
    let lines = text.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    lines
        .filter(|line| line.starts_with('|'))
        .map(|line| {
            let words: Vec<&str> = line.split('|').map(str::trim).collect();
            let &[_, operation, bytes, all, without_copies, _] = &words[..] else {
                bail!("not a row: {line}");
            };
            Ok(Row {
                operation: operation.to_owned(),
                bytes: bytes.parse()?,
                all: all.parse()?,
                without_copies: without_copies.parse()?,
            })
        })
        .collect()
}

/// Traced rows that cost more than they may.
fn tracing_costs(plain: &[Row], traced: &[Row]) -> Vec<String> {
    let counterpart = |row: &Row| {
        let name = row.operation.strip_prefix(TRACED)?;
        plain.iter().find(|p| (p.operation.as_str(), p.bytes) == (name, row.bytes))
    };
    let dear = |row: &Row| match counterpart(row) {
        None => Some(format!("{}, {} bytes: no row to compare it with", row.operation, row.bytes)),
        Some(p) if row.all <= p.all * TRACING => None,
        Some(p) => {
            let (name, bytes, all, without) = (&row.operation, row.bytes, row.all, p.all);
            Some(format!("{name}, {bytes} bytes: {all:.0} instructions, {without:.0} without LAPIS_TRACE"))
        }
    };
    traced.iter().filter_map(dear).collect()
}

/// What is not as it was. Copies are the C library's, and differ between machines.
fn changes(before: &[Row], now: &[Row]) -> Vec<String> {
    let find = |rows: &[Row], row: &Row| {
        rows.iter().find(|r| (&r.operation, r.bytes) == (&row.operation, row.bytes)).cloned()
    };
    let mut changes = Vec::new();
    for row in now {
        let name = format!("{}, {} bytes", row.operation, row.bytes);
        let Some(old) = find(before, row) else {
            changes.push(format!("{name}: not in the table"));
            continue;
        };
        let change = row.without_copies - old.without_copies;
        if change.abs() > (old.without_copies * PERCENT / 100.0).max(LEAST) {
            changes.push(format!(
                "{name}: {:.0} instructions without copies, {:.0} before ({:+.1} %)",
                row.without_copies,
                old.without_copies,
                change / old.without_copies * 100.0
            ));
        }
    }
    let gone = before.iter().filter(|row| find(now, row).is_none());
    changes.extend(gone.map(|row| format!("{}, {} bytes: no longer counted", row.operation, row.bytes)));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_told_apart_and_rests_left_out() {
        let text = "events: Ir\n\nfn=(1) lapis_counted\n+3 10\ncfn=(2) memcpy\ncalls=5 +1\n* 70\n\n\
                    fn=(2)\n5 60\n+1 10\nfn=(3) lapis_core::transport::copy::copy_long\n7 5\n\n\
                    fn=(4) lapis_core::state::answer_rest::AnswerRest::rest\n9 40\n\ntotals: 125\n";
        assert_eq!(of_text(text).unwrap(), (85, 75));
        assert!(of_text("fn=(1) x\n").is_err());
    }

    #[test]
    fn one_disturbed_part_changes_nothing() {
        assert_eq!(median(vec![(100, 7), (100, 7), (180, 7), (100, 7), (101, 7)]), (100, 7));
    }

    #[test]
    fn the_table_is_read_as_it_is_written_and_small_changes_are_none() {
        let row = |all: f64| Row { operation: "put".into(), bytes: 8, all, without_copies: all - 10.0 };
        let rows = parse(&format!("{HEAD}{}", table(&[row(210.0)]))).unwrap();
        assert_eq!(rows, [row(210.0)]);
        assert!(changes(&rows, &[row(215.0)]).is_empty());
        for other in [row(217.0), row(203.0)] {
            assert_eq!(changes(&rows, std::slice::from_ref(&other)).len(), 1, "{other:?}");
        }
        assert_eq!(changes(&rows, &[]).len(), 1);
        assert_eq!(changes(&[], &rows).len(), 1);
    }

    #[test]
    fn tracing_may_cost_a_tenth() {
        let row = |name: &str, all| Row { operation: name.into(), bytes: 8, all, without_copies: all };
        let plain = [row("message: send", 100.0)];
        assert!(tracing_costs(&plain, &[row("traced message: send", 109.0)]).is_empty());
        assert_eq!(tracing_costs(&plain, &[row("traced message: send", 111.0)]).len(), 1);
        assert_eq!(tracing_costs(&plain, &[row("traced message: other", 1.0)]).len(), 1);
    }

    #[test]
    fn the_committed_table_can_be_read() {
        let text = std::fs::read_to_string(workspace::root().join(TABLE)).unwrap();
        assert!(!parse(&text).unwrap().is_empty());
    }
}
