//! The zoo of bad plugins: each is refused, or fails, with its own clear words and no harm to the
//! process.

mod zoo;

use lapis_core::config::Group;
use lapis_core::transport::{Caps, Event, Link, Plugin, Status, TransportError, Unusable, Usage, load_file};
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use zoo::{Dir, packs, params, says};

fn panics_plugin() -> Plugin {
    // Examples stand beside the directory of the tests.
    let exe = std::env::current_exe().expect("the test has a file");
    let dir = exe.parent().and_then(Path::parent).expect("two directories up");
    load_file(&dir.join("examples/liblapis_panics.so")).expect("the zoo's Rust plugin loads")
}

#[test]
fn a_good_plugin_loads_opens_and_works() {
    let dir = Dir::new("good");
    let plugin = load_file(&dir.build("good", &[])).expect("nothing is wrong with it");
    assert_eq!((plugin.name(), plugin.version()), ("good", "0.0.1"));
    assert_eq!(plugin.caps(), Caps::AM_SHORT | Caps::RELIABLE);
    let mut link = plugin.open(&params("j")).expect("opens");
    assert_eq!(link.am_short(0, b"a", b"b"), Status::Done);
    // Absent operations are stubs.
    assert_eq!(link.am_packed(0, 8, |_| ()), Status::Unsupported);
    assert_eq!(link.arm(), Status::Unsupported);
    assert_eq!(link.mem_alloc(1).unwrap_err(), TransportError::Unsupported);
    assert_eq!(link.poll(&mut [Event::EMPTY; 2]), Ok(0));
}

#[test]
fn a_plugin_of_a_newer_minor_is_accepted() {
    let dir = Dir::new("newer");
    let plugin = load_file(&dir.build("newer", &["-DNEWER_MINOR"])).expect("only its tail is new");
    assert_eq!(plugin.abi_minor(), 7);
    assert_eq!(plugin.caps(), Caps::AM_SHORT | Caps::RELIABLE, "a bit of the future is left out");
}

#[test]
fn a_plugin_of_the_minor_before_declarations_is_accepted_and_declares_nothing() {
    let dir = Dir::new("older");
    let plugin =
        load_file(&dir.build("older", &["-DOLDER_MINOR", "-DDECLARES"])).expect("only its tail is short");
    assert_eq!((plugin.abi_minor(), plugin.cost_and_usage(), plugin.variables()), (3, None, None));
    let mut link = plugin.open(&params("j")).expect("opens");
    assert_eq!(link.am_short(0, b"a", b"b"), Status::Done);
}

#[test]
fn a_plugin_tells_its_cost_its_usage_and_its_variables() {
    let dir = Dir::new("declares");
    let plugin = load_file(&dir.build("declares", &["-DDECLARES"])).expect("nothing is wrong with it");
    assert_eq!(plugin.cost_and_usage(), Some((700, Usage::Always)));
    let [cages] = plugin.variables().expect("declared") else { panic!("one variable") };
    assert_eq!((cages.name, cages.group), ("LAPIS_ZOO_CAGES", Group::Transport("declares")));
    assert_eq!((cages.default, cages.help), (Some("3"), "How many cages the zoo has"));
    assert_eq!(cages.kind.range(), "a number from 1 to 9");
    let why = dir.refused("spoilt", &["-DDECLARES", "-DBUG_DECLARATION"]);
    says(&why, &["bad declaration: variable 1: LAPIS_ZOO_CAGES: its default `3`: the value is too large"]);
}

#[test]
fn no_symbol() {
    let dir = Dir::new("nosymbol");
    let why = dir.refused("nosymbol", &["-DBUG_NO_SYMBOL"]);
    says(&why, &["no symbol lapis_transport_nosymbol_v1"]);
    assert!(matches!(why, Unusable::NoSymbol { present, .. } if present.is_empty()));
}

#[test]
fn the_symbol_of_another_major() {
    let dir = Dir::new("major");
    let why = dir.refused("nextmajor", &["-DMAJOR=2"]);
    says(
        &why,
        &["no symbol lapis_transport_nextmajor_v1", "built for ABI major 2", "speaks major 1", "rebuild"],
    );
}

#[test]
fn the_symbol_of_another_transport() {
    let dir = Dir::new("renamed");
    let file = dir.build("before", &[]);
    let renamed = dir.0.join("liblapis_after.so");
    std::fs::rename(file, &renamed).expect("renaming");
    says(&load_file(&renamed).unwrap_err(), &["no symbol lapis_transport_after_v1"]);
}

#[test]
fn entry_function_refuses() {
    let dir = Dir::new("entry");
    says(&dir.refused("entry", &["-DBUG_ENTRY"]), &["entry function refused", "status -1", "unsupported"]);
}

#[test]
fn null_and_misaligned_tables() {
    let dir = Dir::new("null");
    says(&dir.refused("nulltable", &["-DBUG_NULL_TABLE"]), &["null table"]);
    says(&dir.refused("misaligned", &["-DBUG_MISALIGNED"]), &["not aligned to 8"]);
}

#[test]
fn bad_magic() {
    let dir = Dir::new("magic");
    says(&dir.refused("magic", &["-DBUG_MAGIC"]), &["bad magic 0x00000000deadbeef", "0x017254736970614c"]);
}

#[test]
fn another_major_in_the_table() {
    let dir = Dir::new("tablemajor");
    says(&dir.refused("tablemajor", &["-DBUG_MAJOR"]), &["ABI major 9", "speaks major 1"]);
}

#[test]
fn short_table() {
    let dir = Dir::new("short");
    says(&dir.refused("shorttable", &["-DBUG_SHORT"]), &["short table: 128 bytes", "needs 280"]);
}

#[test]
fn wrong_layout_hash() {
    let dir = Dir::new("hash");
    says(&dir.refused("hash", &["-DBUG_HASH"]), &["layout hash 0x0000000000000001", "word size", "rebuild"]);
}

#[test]
fn another_name_in_the_table() {
    let dir = Dir::new("name");
    let why = dir.refused("name", &["-DTABLE_NAME=\"shm\""]);
    says(&why, &["table is of transport \"shm\"", "expected \"name\""]);
}

#[test]
fn capability_without_entry_and_entry_without_capability() {
    let dir = Dir::new("bits");
    says(
        &dir.refused("extrabit", &["-DBUG_EXTRA_BIT"]),
        &["capability PUT_ZCOPY is set", "put_zcopy is null"],
    );
    says(
        &dir.refused("extraentry", &["-DBUG_EXTRA_ENTRY"]),
        &["entry window is wired", "capability WINDOW is not set"],
    );
}

#[test]
fn mandatory_entry_missing() {
    let dir = Dir::new("mandatory");
    says(&dir.refused("mandatory", &["-DBUG_MANDATORY"]), &["mandatory entry disarm is null"]);
}

#[test]
fn files_that_are_no_plugins() {
    let dir = Dir::new("files");
    let text = dir.0.join("liblapis_text.so");
    std::fs::write(&text, "this is not an ELF file").expect("writing");
    says(&load_file(&text).unwrap_err(), &["not loadable", "liblapis_text.so", "too short"]);
    std::fs::write(&text, "this is not an ELF file, either".repeat(100)).expect("writing");
    says(&load_file(&text).unwrap_err(), &["not loadable", "invalid ELF header"]);
    let empty = dir.0.join("liblapis_empty.so");
    std::fs::write(&empty, "").expect("writing");
    says(&load_file(&empty).unwrap_err(), &["not loadable"]);
    says(&load_file(&dir.0.join("liblapis_none.so")).unwrap_err(), &["no such file", "liblapis_none.so"]);
    says(&load_file(&dir.0.join("libother.so")).unwrap_err(), &["not named liblapis_<name>.so"]);
    std::fs::create_dir(dir.0.join("liblapis_dir.so")).expect("a directory");
    says(&load_file(&dir.0.join("liblapis_dir.so")).unwrap_err(), &["no such file"]);
}

/// What a copy that was cut short leaves behind would end the process by SIGBUS when it is touched.
#[test]
fn a_truncated_plugin_is_refused() {
    let dir = Dir::new("truncated");
    let file = dir.build("cut", &[]);
    let whole = std::fs::read(&file).expect("it was just built");
    // The end of the section headers, the end of the code and data, the middle, a little of the
    // headers.
    for len in [whole.len() - 1, whole.len() * 3 / 4, whole.len() / 2, 8192, 4096, 100] {
        std::fs::write(&file, &whole[..len]).expect("writing");
        says(&load_file(&file).unwrap_err(), &[&format!("truncated: {len} bytes"), "copy it again"]);
    }
}

#[test]
fn a_plugin_that_others_could_have_changed_is_refused_before_its_code_runs() {
    let dir = Dir::new("trust");
    // An unresolved symbol would be the reason if it were loaded.
    let file = dir.build("open", &["-DBUG_UNRESOLVED"]);
    let mode = |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    mode(&file, 0o757);
    says(&load_file(&file).unwrap_err(), &["not trusted", "liblapis_open.so has mode 0757", "chmod go-w"]);
    mode(&file, 0o755);
    for bad in [0o777, 0o1777] {
        mode(&dir.0, bad);
        let place = dir.0.display().to_string();
        says(&load_file(&file).unwrap_err(), &["not trusted", &format!("{place} has mode {bad:04o}")]);
    }
    mode(&dir.0, 0o755);
    // By way of a link in a good folder, too.
    let inner = dir.0.join("inner");
    std::fs::create_dir(&inner).unwrap();
    mode(&inner, 0o777);
    std::fs::rename(&file, inner.join("liblapis_open.so")).unwrap();
    std::os::unix::fs::symlink(inner.join("liblapis_open.so"), &file).unwrap();
    says(&load_file(&file).unwrap_err(), &["not trusted", "inner has mode 0777"]);
    // A sticky folder further above, as /tmp is, changes nothing: it is what all tests of this file
    // use.
    mode(&inner, 0o755);
    says(&load_file(&file).unwrap_err(), &["not loadable"]);
}

#[test]
fn another_users_plugin_is_refused() {
    let dir = Dir::new("foreign");
    let file = dir.build("foreign", &[]);
    if std::os::unix::fs::chown(&file, Some(12345), None).is_err() {
        eprintln!("SKIPPED: only root can give files away");
        return;
    }
    says(&load_file(&file).unwrap_err(), &["not trusted", "belongs to user 12345"]);
    std::os::unix::fs::chown(&file, Some(0), None).unwrap();
    std::os::unix::fs::chown(&dir.0, Some(12345), None).unwrap();
    says(&load_file(&file).unwrap_err(), &["not trusted", "belongs to user 12345"]);
}

#[test]
fn unresolved_symbols_are_found_at_loading() {
    let dir = Dir::new("unresolved");
    let why = dir.refused("unresolved", &["-DBUG_UNRESOLVED"]);
    says(&why, &["not loadable", "a_function_that_no_library_has"]);
}

#[test]
fn open_fails_with_the_plugins_own_words() {
    let dir = Dir::new("open");
    let plugin = load_file(&dir.build("noopen", &["-DBUG_OPEN"])).expect("it loads");
    let why = plugin.open(&params("j")).unwrap_err();
    says(&why, &["open failed: device /dev/zoo0 is missing: load the zoo module"]);
}

#[test]
fn an_instance_that_claims_too_much() {
    let dir = Dir::new("grew");
    let plugin = load_file(&dir.build("grew", &["-DBUG_CAPS_GREW"])).expect("it loads");
    says(&plugin.open(&params("j")).unwrap_err(), &["capabilities that its table lacks: WINDOW"]);
}

#[test]
fn nonsense_answers_do_no_harm() {
    let dir = Dir::new("nonsense");
    let open = |name: &str, bug: &str| -> Link {
        load_file(&dir.build(name, &[bug])).expect("it loads").open(&params("j")).expect("it opens")
    };
    assert_eq!(open("status", "-DBUG_STATUS").am_short(0, b"", b""), Status::Io, "an unknown status");
    assert_eq!(open("polls", "-DBUG_POLL").poll(&mut [Event::EMPTY; 3]), Ok(3), "more events than fit");
    says(&open("address", "-DBUG_ADDRESS").address().unwrap_err(), &["address of 513 bytes", "limit is 512"]);
}

#[test]
fn a_panic_in_an_operation_poisons_the_instance_and_no_other() {
    let plugin = panics_plugin();
    let mut bad = plugin.open(&params("am_short")).expect("opens");
    let mut good = plugin.open(&params("none")).expect("opens");
    assert_eq!(bad.poll(&mut [Event::EMPTY]), Ok(0), "fine before");
    assert_eq!(bad.am_short(0, b"x", b""), Status::Panicked);
    assert_eq!(bad.poll(&mut [Event::EMPTY]), Err(Status::Panicked), "and ever after");
    assert!(matches!(bad.mem_alloc(1), Err(TransportError::Panicked(_))));
    assert_eq!(good.am_short(0, b"x", b""), Status::Done, "another instance");
    drop(bad);
}

#[test]
fn a_panic_in_set_up_says_its_words() {
    let plugin = panics_plugin();
    let why = plugin.open(&params("open")).unwrap_err();
    assert_eq!(why.to_string(), "open failed: the transport panicked: the zoo's panic in open");
    let mut link = plugin.open(&params("mem_alloc")).expect("opens");
    says(&link.mem_alloc(8).unwrap_err(), &["the transport panicked: the zoo's panic in mem_alloc"]);
    assert_eq!(link.am_short(0, b"x", b""), Status::Panicked, "poisoned");
    // A panic while closing is swallowed: there is nobody to tell.
    drop(plugin.open(&params("close")).expect("opens"));
}

#[test]
fn what_a_plugin_says_by_tracing_reaches_the_host() {
    let (lines, plugin) = (Lines::default(), panics_plugin());
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .without_time()
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || drop(plugin.open(&params("speaks")).expect("opens")));
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).expect("text");
    says(&text, &["WARN lapis::transport: the zoo speaks words=3", "transport=panics"]);
}

/// What was written, kept.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_panic_of_the_callers_packing_passes_through_the_plugin() {
    // Through `am_packed` of a transport that has it: the panic is the caller's and continues in
    // the caller.
    let plugin = Plugin::from_table(packs::table()).expect("a good table");
    let mut link = plugin.open(&params("j")).expect("opens");
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        link.am_packed(0, 8, |_| panic!("the caller's"));
    }));
    assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"the caller's"));
    assert_eq!(link.am_packed(0, 8, |into| into.fill(1)), Status::Done, "the instance is not poisoned");
}
