//! The list says the same as the tables of the transports.

use lapis_core::config::{Kind, VARIABLES};
use lapis_core::transport::abi::TransportOps;
use lapis_core::transport::{Plugin, Policy, Registry, Selection};
use lapis_standard::TRANSPORTS;
use std::collections::HashSet;

fn tables() -> [&'static TransportOps; 5] {
    [lapis_loopback::table(), lapis_shm::table(), lapis_udp::table(), lapis_rdma::table(), lapis_hps::table()]
}

#[test]
fn the_list_says_what_the_tables_say() {
    for table in tables() {
        let plugin = Plugin::from_table(table).expect("a good table");
        let known = TRANSPORTS.iter().find(|k| k.name == plugin.name()).expect("it is listed");
        assert_eq!(plugin.reach(), known.reach, "{}", known.name);
        let declared = (known.declaration.cost_ns, known.declaration.usage);
        assert_eq!(plugin.cost_and_usage(), Some(declared), "{}", known.name);
        assert_eq!(plugin.variables(), Some(known.declaration.variables), "{}", known.name);
    }
}

#[test]
fn what_the_guides_variables_lead_to_comes_in_the_order_of_cost() {
    let mut registry = Registry::new();
    registry.know(TRANSPORTS);
    let sought = |host, network, user_space| {
        registry.sought(&Selection::Suiting(Policy { host, network, user_space })).join(",")
    };
    assert_eq!(sought(true, true, false), "shm,udp");
    assert_eq!(sought(false, true, false), "udp");
    assert_eq!(sought(true, true, true), "shm,rdma,hps");
    assert_eq!(sought(true, false, false), "shm");
}

#[test]
fn the_variables_are_sound() {
    let mut names: HashSet<_> = VARIABLES.iter().map(|variable| variable.name).collect();
    for variable in TRANSPORTS.iter().flat_map(|known| known.declaration.variables) {
        let name = variable.name;
        assert!(names.insert(name), "{name} stands twice");
        assert!(!variable.help.is_empty() && !variable.help.ends_with('.'), "{name}");
        assert_eq!(variable.source == "Lapis", name.starts_with("LAPIS_"), "{name}");
        assert!(matches!(variable.kind, Kind::Number { .. } | Kind::Bool | Kind::Words(_) | Kind::Text));
    }
}
