//! The program as a whole: every subcommand, from files and from the standard input, and what it
//! says of nonsense.

use std::io::Write;
use std::process::{Command, Output, Stdio};

const BLOCK: &str = "; two rows of 4 bytes
.depth 2
.size 8
.extent 32
.rext 20
main:
    gosub row reps=2 stride=16
    iterate main
row:
    copy 4@0
    iterate row
";

/// Runs the tool with a program on its standard input.
fn tool(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lapis-dgsp"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cannot start lapis-dgsp");
    // A tool that refuses its arguments doesn't read; that is no failure of the test.
    let _ = child.stdin.take().map(|mut pipe| pipe.write_all(input.as_bytes()));
    child.wait_with_output().expect("lapis-dgsp ends")
}

fn said(arguments: &[&str], input: &str) -> String {
    let output = tool(arguments, input);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn refused(arguments: &[&str], input: &str) -> String {
    let output = tool(arguments, input);
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn assemble_and_disassemble_are_inverses() {
    let json = said(&["assemble", "-"], BLOCK);
    let document: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        (&document["depth"], &document["size"], &document["rext"]),
        (&2.into(), &8.into(), &20.into())
    );
    let code = document["code"].as_array().expect("a code array");
    assert!(code.len() > 10 && code.iter().all(serde_json::Value::is_i64));
    let text = said(&["disassemble", "-"], &json);
    assert!(text.contains("gosub") && text.contains("copy 4@0"), "{text}");
    assert_eq!(said(&["assemble", "-"], &text), json);
    assert_eq!(said(&["disassemble", "-"], &text), text, "both forms are read");
}

#[test]
fn verify_tells_sound_programs_from_broken_ones() {
    let file = std::env::temp_dir().join(format!("lapis-dgsp-verify-{}.dgsp", std::process::id()));
    std::fs::write(&file, BLOCK).expect("space");
    let path = file.to_string_lossy();
    let text = said(&["verify", &path], "");
    assert!(
        text.starts_with("sound: ") && text.ends_with("2 frames, 8 bytes in 0..20, extent 32\n"),
        "{text}"
    );
    std::fs::remove_file(&file).expect("our file");
    assert!(refused(&["verify", &path], "").contains("can't read"), "the file is gone");

    let shallow = refused(&["verify", "-"], &BLOCK.replace(".depth 2", ".depth 1"));
    assert!(shallow.contains("DGSP error 473 (Stack) at code[0]"), "{shallow}");
    let lying = refused(&["verify", "-"], &BLOCK.replace(".size 8", ".size 9"));
    assert!(lying.contains("DGSP error 480 (Other)"), "{lying}");
    let control =
        said(&["verify", "-"], ".size 4\n.rext 4\n.extent 4\nm:\ncontrol operation=1\ncopy 4@0\niterate m\n");
    assert!(control.contains("with CONTROL: scatter side only"), "{control}");
}

#[test]
fn draw_makes_text_and_svg() {
    let text = said(&["draw", "--width", "16", "-"], BLOCK);
    assert_eq!(text, "       0 aaaa............\n      16 bbbb............\n2 blocks, 8 bytes\n");
    let twice = said(&["draw", "--width", "16", "--reps", "2", "-"], BLOCK);
    assert!(twice.contains("      32 cccc") && twice.ends_with("4 blocks, 16 bytes\n"), "{twice}");
    let svg = said(&["draw", "--svg", "--reps", "2", "-"], BLOCK);
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    assert_eq!((svg.matches("<title>").count(), svg.matches("<line").count()), (4, 2));
    let broken = refused(&["draw", "-"], &BLOCK.replace("iterate row", ".word 99"));
    assert!(broken.contains("DGSP error 471 (Opc)"), "{broken}");
    for (option, value) in [("--width", "0"), ("--width", "100000000000"), ("--reps", "100000000000")] {
        let bounds = refused(&["draw", option, value, "-"], BLOCK);
        assert!(bounds.contains(option) && bounds.contains(value), "{bounds}");
    }
    let large = refused(&["draw", "--reps", "100000", "-"], BLOCK);
    assert!(large.contains("800000 bytes") && large.contains("65536"), "{large}");
}

#[test]
fn time_prints_a_table_and_records() {
    let quick = ["time", "--rounds", "1", "--micros", "1", "--shapes", "column,int_char"];
    let table = said(&quick, "");
    for what in
        ["column          pack", "column          unpack", "int_char        copy", "hand ×", "memcpy ×"]
    {
        assert!(table.contains(what), "{what} is not in\n{table}");
    }
    assert!(table.contains("geometric mean, hand / lapis: "), "{table}");
    let text = said(&[&quick[..], &["--json", "--peer", "echo=sed -u s/.*/12.5/"]].concat(), "");
    let records: Vec<serde_json::Value> =
        text.lines().map(|l| serde_json::from_str(l).expect("a record a line")).collect();
    let of = |peer: &str| records.iter().filter(|r| r["peer"] == peer).collect::<Vec<_>>();
    // Two shapes; peers don't copy.
    assert_eq!(["lapis", "hand", "floor", "echo"].map(|p| of(p).len()), [6, 6, 6, 4]);
    assert!(of("echo").iter().all(|r| r["value"] == 12.5 && r["unit"] == "ns"));
    assert!(of("lapis").iter().all(|r| r["value"].as_f64() > Some(0.0) && r["transport"] == "memory"));
    assert!(records.iter().any(|r| r["shape"] == "int_char" && r["bench"] == "dgsp_copy"));
}

#[test]
fn nonsense_is_refused_with_a_reason() {
    for (arguments, input, reason) in [
        (&["assemble", "-"][..], "m:\nleap 4\n", "line 2: can't read `leap 4`"),
        (&["disassemble", "-"], "{\"code\": 7}", "JSON: "),
        (&["assemble", "/no/such/file"], "", "can't read /no/such/file"),
        (&["time", "--shapes", "sphere"], "", "no shape is named sphere; there are: wrf_x, "),
        (&["time", "--peer", "nobody"], "", "peer `nobody`: not NAME=COMMAND"),
        (&["paint"], "", "unrecognized subcommand"),
    ] {
        let error = refused(arguments, input);
        assert!(error.contains(reason), "{arguments:?}: {error}");
    }
}
