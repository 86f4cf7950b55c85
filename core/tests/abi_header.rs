//! The C header says the same as the Rust types: every size, offset and number is printed by a C
//! program and compared.

use lapis_core::transport::abi::*;
use lapis_core::transport::lane::{
    Class, DataIn, DataOut, Mailbox, ReceiveLane, ReceiveLanes, RingLayout, SendLane,
};
use lapis_core::transport::{
    Caps, DatagramBatch, Event, EventKind, FailoverTrouble, Limits, MAX_ADDRESS, PeerAccess, RailReport,
    RawSlice, RegionInfo, RemoteAddr, Status, Usage, Window,
};
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

/// Expressions of C and the numbers Rust has for them.
fn table() -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = Vec::new();
    macro_rules! layout {
        ($rust:ident = $c:literal { $($field:ident),* $(,)? }) => {
            all.push((format!("sizeof({})", $c), size_of::<$rust>() as u64));
            all.push((format!("_Alignof({})", $c), align_of::<$rust>() as u64));
            $(all.push((format!("offsetof({}, {})", $c, stringify!($field)), offset_of!($rust, $field) as u64));)*
        };
    }
    layout!(ErrorText = "lapis_error_text" { buf, capacity, len });
    layout!(RawSlice = "lapis_slice" { ptr, len });
    layout!(RemoteAddr = "lapis_remote_addr" { addr, key });
    layout!(RegionInfo = "lapis_region_info" { addr, len, id, key });
    layout!(Window = "lapis_window" { remote_base, len, local_base });
    layout!(DatagramBatch = "lapis_datagram_batch" { peer, path, slices, count, segment });
    layout!(Event = "lapis_event" { kind, peer, data, len, status, token });
    layout!(Limits = "lapis_limits" {
        max_short, max_packed, max_head, receive_buffer, max_zcopy, zcopy_from, paths, max_peers,
    });
    layout!(RawAttributes = "lapis_attributes" { caps, limits });
    layout!(RawOpenParams = "lapis_open_params" {
        struct_size, task, tasks, context, incarnation, interrupts, job, job_len, secret,
    });
    layout!(HostTable = "lapis_host_table" { struct_size, abi_major, log, log_enabled, option });
    layout!(TableHead = "lapis_table_head" {
        magic, abi_major, abi_minor, struct_size, reserved, layout_hash, name, version,
    });
    layout!(TransportOps = "lapis_transport_ops" {
        head, caps, open, close, attributes, address, connect, progress_connect, disconnect, mem_register, mem_alloc,
        mem_release, window, am_short, am_packed, was_am_zcopy, was_put_short, was_get_short, put_zcopy, get_zcopy, was_rmw,
        send_datagrams, poll, flush, arm, disarm, set_interrupts, wait, wake, wait_fd, send_lane, receive_lanes, attend,
        declaration, rails, prefer_rail, put_short, mem_lend,
    });
    layout!(RailReport = "lapis_rail_report" {
        number, up, peers, left, messages_sent, messages_received, bytes_sent, bytes_received, transfers, renewals,
    });
    layout!(RawText = "lapis_text" { ptr, len });
    layout!(RawVariable = "lapis_variable" {
        name, default_value, help, more, source, words, min, max, kind, unit, code, reserved,
    });
    layout!(RawDeclaration = "lapis_declaration" {
        struct_size, variable_size, cost_ns, usage, variables, count, reserved,
    });
    layout!(Class = "lapis_ring_class" { below, part });
    layout!(RingLayout = "lapis_ring_layout" { size, small, medium, kept });
    layout!(DataOut = "lapis_data_out" { area, next, limit, layout, longest, far, straight });
    layout!(DataIn = "lapis_data_in" { area, next, released, tail, layout, longest, straight });
    layout!(SendLane = "lapis_send_lane" { slots, mask, position, limit, attention, mailbox, tail, data });
    layout!(ReceiveLane = "lapis_receive_lane" { slots, mask, position, due, told, peer, mailbox, tail, data });
    layout!(Mailbox = "lapis_mailbox" { line, number, ours });
    layout!(ReceiveLanes = "lapis_receive_lanes" { lanes, count });
    for (name, bit) in Caps::all().iter_names() {
        all.push((format!("LAPIS_CAP_{name}"), bit.bits()));
    }
    let numbers: &[(&str, i64)] = &[
        ("LAPIS_TRANSPORT_MAGIC", MAGIC as i64),
        ("LAPIS_ABI_MAJOR", ABI_MAJOR.into()),
        ("LAPIS_ABI_MINOR", ABI_MINOR.into()),
        ("LAPIS_LAYOUT_HASH", LAYOUT_HASH as i64),
        ("LAPIS_MAX_ADDRESS", MAX_ADDRESS as i64),
        ("LAPIS_BATCH_LENT", DatagramBatch::LENT.into()),
        ("LAPIS_LENT_FROM", DatagramBatch::LENT_FROM as i64),
        ("LAPIS_DONE", Status::Done as i64),
        ("LAPIS_DONE", status::OK.into()),
        ("LAPIS_IN_PROGRESS", Status::InProgress as i64),
        ("LAPIS_AGAIN", Status::Again as i64),
        ("LAPIS_AGAIN", status::AGAIN.into()),
        ("LAPIS_UNSUPPORTED", Status::Unsupported as i64),
        ("LAPIS_UNSUPPORTED", status::UNSUPPORTED.into()),
        ("LAPIS_INVALID", Status::Invalid as i64),
        ("LAPIS_INVALID", status::INVALID.into()),
        ("LAPIS_UNREACHABLE", status::UNREACHABLE.into()),
        ("LAPIS_PEER_DOWN", Status::PeerDown as i64),
        ("LAPIS_EXHAUSTED", status::EXHAUSTED.into()),
        ("LAPIS_IO", Status::Io as i64),
        ("LAPIS_IO", status::IO.into()),
        ("LAPIS_PANICKED", Status::Panicked as i64),
        ("LAPIS_PANICKED", status::PANICKED.into()),
        ("LAPIS_EVENT_MESSAGE", EventKind::Message as i64),
        ("LAPIS_EVENT_COMPLETE", EventKind::Complete as i64),
        ("LAPIS_EVENT_PEER_DOWN", EventKind::PeerDown as i64),
        ("LAPIS_EVENT_DATAGRAM", EventKind::Datagram as i64),
        ("LAPIS_EVENT_PATH", EventKind::Path as i64),
        ("LAPIS_EVENT_OVERFLOW", EventKind::Overflow as i64),
        ("LAPIS_EVENT_FAILOVER", EventKind::Failover as i64),
        ("LAPIS_ACCESS_READ", PeerAccess::Read as i64),
        ("LAPIS_ACCESS_WRITE", PeerAccess::Write as i64),
        ("LAPIS_FAILOVER_SET_UP", FailoverTrouble::SetUp as i64),
        ("LAPIS_FAILOVER_UNWATCHED", FailoverTrouble::Unwatched as i64),
        ("LAPIS_FAILOVER_HALTED", FailoverTrouble::Halted as i64),
        ("LAPIS_USE_ALWAYS", Usage::Always as i64),
        ("LAPIS_USE_IP", Usage::Ip as i64),
        ("LAPIS_USE_USER_SPACE", Usage::UserSpace as i64),
        ("LAPIS_USE_NAMED", Usage::Named as i64),
        ("LAPIS_KIND_NUMBER", declared::NUMBER.into()),
        ("LAPIS_KIND_YES_NO", declared::YES_NO.into()),
        ("LAPIS_KIND_WORDS", declared::WORDS.into()),
        ("LAPIS_KIND_TEXT", declared::TEXT.into()),
        ("LAPIS_UNIT_BYTES", declared::BYTES.into()),
        ("LAPIS_UNIT_COUNT", declared::COUNT.into()),
        ("LAPIS_UNIT_SECONDS", declared::SECONDS.into()),
        ("LAPIS_UNIT_MICROSECONDS", declared::MICROSECONDS.into()),
    ];
    all.extend(numbers.iter().map(|(name, number)| ((*name).to_owned(), *number as u64)));
    all
}

#[test]
#[cfg(target_pointer_width = "64")]
fn the_header_agrees_with_the_rust_types() {
    let table = table();
    let dir = lapis_testing::scratch("header");
    std::fs::create_dir_all(&dir).expect("a directory");
    let (source, program) = (dir.join("print.c"), dir.join("print"));
    let mut text = "#include <stdio.h>\n#include \"lapis_transport.h\"\nint main(void) {\n".to_owned();
    for (expression, _) in &table {
        text += &format!("    printf(\"%llu\\n\", (unsigned long long)({expression}));\n");
    }
    text += "    return 0;\n}\n";
    std::fs::write(&source, text).expect("writing");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let cc = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"])
        .arg(include)
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .output()
        .expect("cc runs");
    assert!(cc.status.success(), "{}", String::from_utf8_lossy(&cc.stderr));
    let output = Command::new(&program).output().expect("the program runs").stdout;
    let lines: Vec<u64> =
        String::from_utf8_lossy(&output).lines().map(|l| l.parse().expect("a number")).collect();
    assert_eq!(lines.len(), table.len());
    for ((expression, rust), c) in table.iter().zip(lines) {
        assert_eq!(*rust, c, "{expression}: Rust (left) and the header (right) differ");
    }
    let _ = std::fs::remove_dir_all(&dir);
}

/// All entries and capabilities are in the header: counted, so that one can't be forgotten above
/// and there.
#[test]
fn the_header_has_every_capability() {
    let header = include_str!("../include/lapis_transport.h");
    assert_eq!(header.matches("#define LAPIS_CAP_").count(), Caps::all().iter_names().count());
}
