use super::*;
use crate::error::Error;
use crate::transport::{Declaration, Known, Reach, Usage};
use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

fn parse(pairs: &[(&str, &str)]) -> Result<(Config, Vec<Warning>), ConfigError> {
    Config::from_env(&Environment::from_pairs(pairs.iter().copied()))
}

fn refused(name: &str, value: &str) -> ConfigError {
    parse(&[(name, value)]).expect_err(&format!("{name}={value} is outside the range"))
}

#[test]
fn the_guides_defaults() {
    let config = Config::default();
    assert_eq!(*config.msg_api, None);
    assert_eq!(*config.bulk_min_msg_size, 150 * 1024);
    assert!(!*config.use_bulk_xfer);
    assert_eq!(*config.ack_thresh, 30);
    assert_eq!(*config.polling_interval, Duration::from_millis(400));
    assert_eq!(*config.retransmit_interval, 1_000_000);
    assert_eq!(*config.rexmit_buf_cnt, 128);
    assert_eq!(*config.rexmit_buf_size, 16384);
    assert_eq!(*config.euilib, EuiLib::Ip);
    assert_eq!(*config.use_shm, UseShm::No);
    assert_eq!(*config.timeout, Duration::from_secs(900));
    assert!(*config.interrupt);
    assert!(!*config.error_chk);
    assert_eq!(config.ack_thresh.origin(), Origin::Default);
}

#[test]
fn an_empty_environment_is_the_default() {
    assert_eq!(parse(&[]).unwrap(), (Config::default(), vec![]));
}

#[test]
fn empty_values_count_as_not_set() {
    assert_eq!(parse(&[("MP_ACK_THRESH", ""), ("MP_CHILD", " ")]).unwrap(), (Config::default(), vec![]));
}

#[test]
fn edges_of_the_ranges() {
    for (name, good, bad) in [
        ("MP_ACK_THRESH", ["1", "31"], ["0", "32"]),
        ("MP_RETRANSMIT_INTERVAL", ["1000", "2147483647"], ["999", "2147483648"]),
        ("MP_POLLING_INTERVAL", ["10001", "2147483647"], ["10000", "2147483648"]),
        ("MP_REXMIT_BUF_CNT", ["1", "2147483647"], ["0", "2147483648"]),
        ("MP_LAPI_TRACE_LEVEL", ["0", "5"], ["-1", "6"]),
        ("LAPIS_TIMEOUT", ["10", "86400"], ["9", "86401"]),
        ("MP_PROCS", ["1", "16384"], ["0", "16385"]),
        ("LAPIS_HANDLER_THREADS", ["1", "64"], ["0", "65"]),
    ] {
        for value in good {
            parse(&[(name, value)]).unwrap_or_else(|error| panic!("{error}"));
        }
        for value in bad {
            assert_eq!(refused(name, value).variable, name);
        }
    }
}

#[test]
fn an_error_names_variable_value_and_range() {
    let error = refused("MP_ACK_THRESH", "99");
    assert_eq!(
        error.to_string(),
        "MP_ACK_THRESH=`99`: the value is too large; it takes a number from 1 to 31"
    );
    assert_eq!(error.code(), LapiCode::ERR_SET_VAL);
    let error = refused("MP_INFOLEVEL", "-1");
    assert_eq!(error.to_string(), "MP_INFOLEVEL=`-1`: the value is negative; it takes a number from 0 to 6");
    assert_eq!(Error::from(refused("MP_MSG_API", "tcp")).code(), LapiCode::ERR_MSG_API);
}

#[test]
fn nonsense_in_every_variable_is_refused_or_text() {
    for variable in VARIABLES {
        let free = matches!(variable.kind, Kind::Text | Kind::Flag | Kind::Paths);
        let outcome = parse(&[(variable.name, ",,?!")]);
        assert_eq!(outcome.is_ok(), free, "{}", variable.name);
    }
}

#[test]
fn byte_suffixes() {
    for (text, bytes) in [("65536", 65536), ("64k", 65536), ("64K", 65536), ("3M", 3 << 20), ("1G", 1 << 30)]
    {
        assert_eq!(*parse(&[("LAPIS_EAGER_MAX", text)]).unwrap().0.eager_max, Some(bytes), "{text}");
    }
    for bad in ["K", "1T", "1.5K", "+1", "0x10", "99999999999999999999", "99999999999999999G"] {
        refused("LAPIS_EAGER_MAX", bad);
    }
    refused("MP_ACK_THRESH", "1K");
}

#[test]
fn the_bulk_minimum_is_raised_with_a_warning() {
    let (config, warnings) = parse(&[("MP_BULK_MIN_MSG_SIZE", "100")]).unwrap();
    assert_eq!(*config.bulk_min_msg_size, 4096);
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].to_string(), "MP_BULK_MIN_MSG_SIZE=100 is raised to the minimum, 4K");
}

#[test]
fn any_text_but_no_turns_a_flag_on() {
    for (text, on) in [("yes", true), ("1", true), ("whatever", true), ("no", false), ("NO", false)] {
        assert_eq!(*parse(&[("MP_DEBUG_NOTIMEOUT", text)]).unwrap().0.notimeout, on, "{text}");
    }
}

#[test]
fn case_matters_where_the_guide_says_so() {
    assert_eq!(*parse(&[("LAPI_USE_SHM", "ONLY")]).unwrap().0.use_shm, UseShm::Only);
    assert_eq!(*parse(&[("MP_EUILIB", "us")]).unwrap().0.euilib, EuiLib::Us);
    refused("MP_EUILIB", "US");
}

#[test]
fn transports_are_a_list() {
    let (config, _) = parse(&[("LAPIS_TRANSPORT", "shm, udp")]).unwrap();
    assert_eq!(config.transport.as_deref(), Some(&["shm".to_owned(), "udp".to_owned()][..]));
    refused("LAPIS_TRANSPORT", "shm,,udp");
    refused("LAPIS_TRANSPORT", "shm,shm");
}

#[test]
fn standalone_variables() {
    let (config, _) = parse(&[
        ("MP_COMMON_TASKS", "3:0:2:3"),
        ("MP_LAPI_INET_ADDR", "@2:192.161.0.1,sn0:192.161.1.1,sn1"),
        ("MP_LAPI_NETWORK", "@1:164,sn0"),
        ("MP_INSTANCES", "MAX"),
    ])
    .unwrap();
    assert_eq!(config.common_tasks.as_ref().unwrap().0, [0, 2, 3]);
    assert_eq!(
        config.inet_addr.as_ref().unwrap().0[1],
        (IpAddr::V4(Ipv4Addr::new(192, 161, 1, 1)), "sn1".to_owned())
    );
    assert_eq!(config.network.as_ref().unwrap().0, [(164, "sn0".to_owned())]);
    assert_eq!(*config.instances, Some(Instances::Max));
    // The guide: what is more than there are counts as all there are.
    let (config, _) = parse(&[("MP_INSTANCES", "99999999999")]).unwrap();
    assert_eq!(*config.instances, Some(Instances::Max));
}

#[test]
fn addresses_of_ipv6_stand_in_brackets_or_bare() {
    let of = |text: &str| parse(&[("MP_LAPI_INET_ADDR", text)]).unwrap().0.inet_addr.get().clone().unwrap();
    let mixed = of("@3:[fd17:1::5],en0:fd17:2::5,en1:10.0.0.1,en2");
    let list: Vec<String> = mixed.0.iter().map(|(ip, name)| format!("{ip} {name}")).collect();
    assert_eq!(list, ["fd17:1::5 en0", "fd17:2::5 en1", "10.0.0.1 en2"]);
    assert_eq!(mixed.to_string(), "@3:[fd17:1::5],en0:[fd17:2::5],en1:10.0.0.1,en2");
    assert_eq!(of(&mixed.to_string()), mixed);
    assert_eq!(of("@1>[::1],lo").0.len(), 1);
}

#[test]
fn malformed_standalone_variables() {
    for bad in ["2:0", "x", "1:a", "2:1:1", "-1"] {
        refused("MP_COMMON_TASKS", bad);
    }
    for bad in ["1:10.0.0.1,a", "@2:10.0.0.1,a", "@1:10.0.0,a", "@1:10.0.0.1", "@1:10.0.0.1,", "@1", "@"] {
        refused("MP_LAPI_INET_ADDR", bad);
    }
    for bad in [
        "@1:[10.0.0.1],a",
        "@1:[fd00::1,a",
        "@1:fd00::1],a",
        "@1:fd00::1",
        "@1:[fd00::1]:a",
        "@1:fe80::1%a,a",
    ] {
        refused("MP_LAPI_INET_ADDR", bad);
    }
    for bad in ["@1:10.0.0.1,a:", "@2:10.0.0.1:10.0.0.2,a", "@2:10.0.0.1,:10.0.0.2,a"] {
        refused("MP_LAPI_INET_ADDR", bad);
    }
    refused("MP_LAPI_NETWORK", "@1:sn0,164");
}

#[test]
fn a_task_number_is_below_the_number_of_tasks() {
    parse(&[("MP_CHILD", "3"), ("MP_PROCS", "4")]).unwrap();
    let error = parse(&[("MP_CHILD", "4"), ("MP_PROCS", "4")]).unwrap_err();
    assert_eq!(error.to_string(), "MP_CHILD=`4`: MP_PROCS is 4; it takes a number from 0 to 3");
}

#[test]
fn misspelt_names_are_reported_with_the_nearest() {
    let environment = Environment::from_pairs([
        ("LAPIS_TRANPORT", "shm"),
        ("LAPI_USE_SHN", "yes"),
        ("MP_LAPI_INETADDR", "x"),
        ("LAPIS_QWERTYUIOP", "x"),
        ("LAPIS_JOB_ID", "set by the launcher"),
        ("LAPIS_KVS", "set by the launcher"),
        ("LAPIS_TASK", "set by the launcher"),
        ("LAPIS_TASKS", "set by the launcher"),
        ("LAPIS_REMOTE", "read by the launcher"),
        ("LAPIS_TEST_KILLS", "read by tests"),
        ("MP_SOMETHING_OF_MPI", "x"),
        ("PATH", "/bin"),
        ("LAPIS_ZOO_SIZE", "4K"),
        ("LAPIS_ZOO_SIZ", "4K"),
        ("LAPIS_OTHER_SIZE", "of a plugin that was not loaded"),
    ]);
    let (mut config, warnings) = Config::from_env(&environment).unwrap();
    assert!(warnings.is_empty());
    config.declare("zoo", &[SIZE], &environment).unwrap();
    let warnings = config.unknown_names(&environment, &["other"]);
    let nearest_of = |wanted: &str| {
        warnings.iter().find_map(|warning| match warning {
            Warning::UnknownName { name, nearest } if name == wanted => Some(*nearest),
            _ => None,
        })
    };
    assert_eq!(nearest_of("LAPIS_TRANPORT"), Some(Some("LAPIS_TRANSPORT")));
    assert_eq!(nearest_of("LAPI_USE_SHN"), Some(Some("LAPI_USE_SHM")));
    assert_eq!(nearest_of("MP_LAPI_INETADDR"), Some(Some("MP_LAPI_INET_ADDR")));
    assert_eq!(nearest_of("LAPIS_QWERTYUIOP"), Some(None));
    assert_eq!(nearest_of("LAPIS_ZOO_SIZ"), Some(Some("LAPIS_ZOO_SIZE")));
    assert_eq!(warnings.len(), 5);
}

const SIZE: Variable = Variable {
    name: "LAPIS_ZOO_SIZE",
    group: Group::Transport("zoo"),
    kind: Kind::Number { unit: Unit::Bytes, min: 1024, max: 65536, raise: false },
    default: Some("2K"),
    help: "Size of a cage",
    more: "",
    source: "Lapis",
    code: LapiCode::ERR_UDP_PKT_SZ,
};

#[test]
fn what_a_transport_declares_is_checked_and_listed_like_what_core_has() {
    let mut config = Config::default();
    let listed = |config: &Config| {
        let of = |l: Listed| (l.variable.group == SIZE.group).then(|| (l.value.unwrap(), l.origin));
        config.listing().into_iter().find_map(of)
    };
    config.declare("zoo", &[SIZE], &Environment::default()).unwrap();
    assert_eq!(listed(&config), Some(("2K".to_owned(), Origin::Default)));
    // What is declared again takes the place of what was.
    config.declare("zoo", &[SIZE], &Environment::from_pairs([(SIZE.name, "4096")])).unwrap();
    assert_eq!(listed(&config), Some(("4K".to_owned(), Origin::Environment)));
    config.set(SIZE.name, "64K", Origin::Builder).unwrap();
    assert_eq!(listed(&config), Some(("64K".to_owned(), Origin::Builder)));
    assert!(matches!(config.set(SIZE.name, "65K", Origin::Builder), Err(SetError::Value(_))));
    let error = config.declare("zoo", &[SIZE], &Environment::from_pairs([(SIZE.name, "7")])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "LAPIS_ZOO_SIZE=`7`: the value is too small; it takes bytes (suffix K, M or G) from 1K to 64K"
    );
    assert_eq!(Error::from(error).code(), LapiCode::ERR_UDP_PKT_SZ);
    config.declare("zoo", &[], &Environment::default()).unwrap();
    assert_eq!(listed(&config), None);
}

#[test]
fn words_have_any_case_and_are_written_as_declared() {
    let kind = Kind::Words("auto|never");
    assert_eq!(kind.parse("NEVER").unwrap().value, Value::Word("never"));
    assert_eq!(kind.parse("both").map(|_| ()), Err("the value is not known".to_owned()));
    assert_eq!(kind.range(), "one of auto | never");
}

#[test]
fn deprecated_names_are_reported() {
    let (_, warnings) = parse(&[("MP_COPY_SEND_BUF_SIZE", "1")]).unwrap();
    assert!(matches!(warnings[..], [Warning::Deprecated { name: "MP_COPY_SEND_BUF_SIZE", .. }]));
}

#[test]
fn the_builder_sets_by_name_with_the_same_checks() {
    let mut config = Config::default();
    assert_eq!(config.set("LAPIS_SPIN_US", "7", Origin::Builder), Ok(None));
    assert_eq!((*config.spin, config.spin.origin()), (Duration::from_micros(7), Origin::Builder));
    assert!(matches!(config.set("LAPIS_SPIN_US", "x", Origin::Builder), Err(SetError::Value(_))));
    let error = config.set("LAPIS_SPIN_U", "7", Origin::Builder).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`LAPIS_SPIN_U` is not a variable of the configuration: is LAPIS_SPIN_US meant?"
    );
}

#[test]
fn listed_values_can_be_fed_back() {
    let (config, _) = parse(&[
        ("MP_LAPI_INET_ADDR", "@1:10.0.0.1,eth0"),
        ("LAPIS_TRANSPORT", "shm,udp"),
        ("LAPIS_TRANSPORT_PATH", "/a:/b"),
        ("MP_INSTANCES", "2"),
    ])
    .unwrap();
    let listing = config.listing();
    assert_eq!(listing.len(), VARIABLES.len());
    let pairs: Vec<(String, String)> = listing
        .iter()
        .filter_map(|listed| Some((listed.variable.name.to_owned(), listed.value.clone()?)))
        .collect();
    let (again, warnings) = Config::from_env(&Environment::from_pairs(pairs)).unwrap();
    assert!(warnings.is_empty());
    for (before, after) in listing.iter().zip(again.listing()) {
        assert_eq!(before.value, after.value, "{}", before.variable.name);
    }
}

#[test]
fn the_table_is_sound() {
    let names: HashSet<_> = VARIABLES.iter().map(|variable| variable.name).collect();
    assert_eq!(names.len(), VARIABLES.len(), "a name stands twice");
    for variable in VARIABLES {
        assert!(!variable.help.is_empty() && !variable.help.ends_with('.'), "{}", variable.name);
        assert!(
            variable.source == "Lapis" || variable.source.starts_with("LAPI Guide, "),
            "{}",
            variable.name
        );
        assert_eq!(variable.source == "Lapis", variable.name.starts_with("LAPIS_"), "{}", variable.name);
    }
}

#[test]
fn the_manual_page_has_every_variable() {
    let declaration = Declaration { cost_ns: 1, usage: Usage::Named, variables: &[SIZE] };
    let zoo = Known { name: "zoo", reach: Reach::Host, declaration };
    let page = environment_page(&[zoo]);
    assert!(page.contains(".SH TRANSPORT ZOO\n"));
    for variable in VARIABLES.iter().chain([&SIZE]) {
        assert!(page.contains(&format!(".B {}\n", variable.name)), "{}", variable.name);
    }
}

#[test]
fn faults_are_understood_or_refused_by_name() {
    let (config, _) = parse(&[("LAPIS_CHAOS", "drop=1%,seed=7")]).expect("good");
    assert_eq!(config.faults().expect("good").map(|c| (c.faults.drop, c.seed)), Some((0.01, 7)));
    let (config, _) = parse(&[("LAPIS_CHAOS", "dorp=1%")]).expect("text");
    let text = config.faults().expect_err("a misspelling").to_string();
    assert!(text.contains("LAPIS_CHAOS=`dorp=1%`: \"dorp\" is not a fault"), "{text}");
}
