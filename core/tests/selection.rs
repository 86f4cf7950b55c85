//! Which of the plugins that are found are used, in which order, and what is said of the others.

mod zoo;

use lapis_core::transport::{
    Declaration, Known, Origin, Plugin, Policy, Reach, Registry, Request, Selection, TransportError,
    Unusable, Usage, Verdict,
};
use zoo::{Dir, packs, says};

/// Nobody named a transport, and any may be used.
const SUITING: Selection = Selection::Suiting(Policy { host: true, network: true, user_space: false });

#[test]
fn whom_nobody_names_come_in_the_order_of_what_they_cost() {
    let dir = Dir::new("cost");
    for (name, cost) in [("dear", "-DCOST=900"), ("cheap", "-DCOST=100"), ("middling", "-DCOST=500")] {
        dir.build(name, &["-DDECLARES", cost]);
    }
    dir.build("stranger", &["-DDECLARES", "-DCOST=1"]);
    dir.build("older", &["-DOLDER_MINOR"]);
    let mut registry = Registry::new();
    // The plugin's own word counts; that of a known name, where it has none.
    registry.know(&[known("dear", 1), known("cheap", 2), known("middling", 3), known("older", 600)]);
    let request = Request { selection: SUITING, dirs: vec![dir.0.clone()], ..Request::default() };
    registry.discover(&request).expect("nobody is named");
    let order = |registry: &Registry| -> Vec<_> { registry.transports().iter().map(Plugin::name).collect() };
    assert_eq!(order(&registry), ["cheap", "middling", "older", "dear"]);
    // Nobody gave or named it, so that its code does not run.
    assert!(registry.candidates().iter().any(|c| c.name == "stranger" && c.verdict == Verdict::NotNamed));
    assert_eq!(registry.unread(), ["stranger"]);
    // What the program gives is judged by what it declares.
    let given = Request { selection: SUITING, explicit: vec![dir.0.clone()], ..Request::default() };
    let mut registry = Registry::new();
    registry.discover(&given).expect("nobody is named");
    assert_eq!(order(&registry), ["stranger", "cheap", "middling", "dear"]);
}

#[test]
fn what_only_names_that_are_wished_leads_to_is_loaded_and_nothing_must_be_there() {
    let dir = Dir::new("wish");
    dir.build("one", &[]);
    dir.build("two", &[]);
    let mut registry = Registry::new();
    registry.know(&[known("none", 1), known("two", 2)]);
    let dirs = vec![dir.0.clone()];
    registry.discover(&Request { selection: SUITING, dirs, ..Request::default() }).expect("a wish");
    let found: Vec<_> = registry.transports().iter().map(Plugin::name).collect();
    assert_eq!(found, ["two"]);
    assert!(registry.candidates().iter().any(|c| c.name == "one" && c.verdict == Verdict::NotNamed));
}

#[test]
fn a_plugin_file_itself_may_stand_among_the_places() {
    let dir = Dir::new("place");
    let file = dir.build("good", &[]);
    let mut registry = Registry::new();
    registry.discover(&Request { dirs: vec![file.clone()], ..Request::default() }).expect("nothing named");
    assert_eq!(registry.get("good").map(Plugin::origin), Some(&Origin::File(file)));
}

#[test]
fn unnamed_candidates_are_passed_over_with_their_reasons() {
    let dir = Dir::new("unnamed");
    dir.build("good", &[]);
    dir.build("bad", &["-DBUG_MAGIC"]);
    std::fs::write(dir.0.join("liblapis_text.so"), "text").expect("writing");
    std::fs::write(dir.0.join("README"), "not even looked at").expect("writing");
    let mut registry = Registry::new();
    registry.register(packs::table());
    let request = Request { dirs: vec![dir.0.clone(), dir.0.join("nowhere")], ..Request::default() };
    registry.discover(&request).expect("nothing was named, so nothing is missing");
    let found: Vec<_> = registry.transports().iter().map(Plugin::name).collect();
    assert_eq!(found, ["packs", "good"]);
    let seen: Vec<_> =
        registry.candidates().iter().map(|c| (c.name.as_str(), c.verdict.to_string())).collect();
    assert_eq!(seen.len(), 4, "{seen:?}");
    assert_eq!(registry.candidates()[0].origin, Origin::Linked);
    assert!(seen[1].0 == "bad" && seen[1].1.contains("refused: bad magic"), "{seen:?}");
    assert!(seen[3].0 == "text" && seen[3].1.contains("not loadable"), "{seen:?}");
    // Opening failed later: it shows with the others.
    registry.refuse("good", Unusable::Open(TransportError::Io("no device".to_owned())));
    assert!(registry.get("good").is_none());
    says(&registry.candidates()[2].verdict, &["refused: open failed: no device"]);
}

#[test]
fn the_first_of_a_name_wins_and_explicit_files_come_first() {
    let (a, b) = (Dir::new("first-a"), Dir::new("first-b"));
    let (in_a, in_b) = (a.build("good", &[]), b.build("good", &[]));
    let mut registry = Registry::new();
    let dirs = vec![a.0.clone(), b.0.clone()];
    registry.discover(&Request { dirs: dirs.clone(), ..Request::default() }).expect("nothing named");
    assert_eq!(registry.get("good").map(Plugin::origin), Some(&Origin::File(in_a)));
    assert_eq!(registry.candidates()[1].verdict, Verdict::Shadowed);
    let request = Request { dirs, explicit: vec![in_b.clone()], ..Request::default() };
    registry.discover(&request).expect("nothing named");
    assert_eq!(registry.get("good").map(Plugin::origin), Some(&Origin::File(in_b)));
}

#[test]
fn a_refused_candidate_gives_way_to_the_next_of_its_name() {
    let (a, b) = (Dir::new("way-a"), Dir::new("way-b"));
    a.build("good", &["-DBUG_HASH"]);
    let in_b = b.build("good", &[]);
    let mut registry = Registry::new();
    let request =
        Request { selection: names(&["good"]), dirs: vec![a.0.clone(), b.0.clone()], ..Request::default() };
    registry.discover(&request).expect("the second one is good");
    assert_eq!(registry.get("good").map(Plugin::origin), Some(&Origin::File(in_b)));
}

#[test]
fn names_are_a_closed_set_in_the_users_order() {
    let dir = Dir::new("closed");
    dir.build("one", &[]);
    dir.build("two", &[]);
    let mut registry = Registry::new();
    registry.register(packs::table());
    let request =
        Request { selection: names(&["two", "packs"]), dirs: vec![dir.0.clone()], ..Request::default() };
    registry.discover(&request).expect("both are there");
    let found: Vec<_> = registry.transports().iter().map(Plugin::name).collect();
    assert_eq!(found, ["two", "packs"], "and nothing else");
    assert!(registry.candidates().iter().any(|c| c.name == "one" && c.verdict == Verdict::NotNamed));
}

#[test]
fn a_named_transport_that_is_missing_is_an_error_with_places_and_a_suggestion() {
    let dir = Dir::new("missing");
    dir.build("shm", &[]);
    let mut registry = Registry::new();
    let request = Request { selection: names(&["smh"]), dirs: vec![dir.0.clone()], ..Request::default() };
    let error = registry.discover(&request).unwrap_err();
    let place = dir.0.display().to_string();
    says(&error, &["\"smh\" was asked for", "no liblapis_smh.so in", &place, "did you mean \"shm\"?"]);
}

#[test]
fn a_named_transport_that_is_refused_is_an_error_with_the_reason() {
    let dir = Dir::new("namedbad");
    dir.build("bad", &["-DBUG_SHORT"]);
    let mut registry = Registry::new();
    let request = Request { selection: names(&["bad"]), dirs: vec![dir.0.clone()], ..Request::default() };
    let error = registry.discover(&request).unwrap_err();
    says(&error, &["\"bad\" was asked for", "liblapis_bad.so: short table: 128 bytes"]);
    let gone = dir.0.join("liblapis_gone.so");
    let request = Request { selection: names(&["gone"]), explicit: vec![gone], ..Request::default() };
    says(&registry.discover(&request).unwrap_err(), &["liblapis_gone.so: no such file"]);
}

fn names(list: &[&str]) -> Selection {
    Selection::Named(list.iter().map(|n| (*n).to_owned()).collect())
}

fn known(name: &'static str, cost_ns: u32) -> Known {
    let declaration = Declaration { cost_ns, usage: Usage::Always, variables: &[] };
    Known { name, reach: Reach::Network, declaration }
}
