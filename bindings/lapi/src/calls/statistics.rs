//! The statistics of LAPI_Qenv.

use crate::abi::*;
use lapis_core::Context;
use lapis_core::stats::{Path, PathStatistics};
use std::ffi::CString;

/// What has gone over the kind of path that a query names.
//= LAPI Guide, Collecting statistics, one structure for each path
pub(super) fn of(context: &Context, query: lapi_query_t) -> lapi_statistics_t {
    let path = match query {
        QUERY_SHM_STATISTICS => Path::SharedMemory,
        QUERY_LOCAL_SEND_STATISTICS => Path::Local,
        _ => Path::Network,
    };
    table(context.statistics().path(path), path)
}

fn table(counts: &PathStatistics, path: Path) -> lapi_statistics_t {
    //= LAPI Guide, Querying local send statistics, the packet count is always 0
    let packets = |count: u64| if path == Path::Local { 0 } else { count };
    lapi_statistics_t {
        Tot_dup_pkt_cnt: packets(counts.duplicates),
        Tot_retrans_pkt_cnt: packets(counts.retransmissions),
        Tot_gho_pkt_cnt: 0,
        Tot_pkt_sent_cnt: packets(counts.packets_sent),
        Tot_pkt_rcv_cnt: packets(counts.packets_received),
        Tot_data_sent: counts.data_sent,
        Tot_data_rcv: counts.data_received,
    }
}

/// Prints all of them on standard output, through C's buffer, so that they come in order with what
/// the program prints.
//= LAPI Guide, Printing data transfer statistics
pub(super) fn print(context: &Context) {
    let statistics = context.statistics();
    let mut text = format!("LAPI statistics of task {}:", context.task());
    for (name, path) in
        [("network", Path::Network), ("shared memory", Path::SharedMemory), ("local", Path::Local)]
    {
        let t = table(statistics.path(path), path);
        text.push_str(&format!(
            "\n  {name:<14} packets sent {} received {}, bytes sent {} received {}, duplicates {}, sent again {}, ghosts {}",
            t.Tot_pkt_sent_cnt,
            t.Tot_pkt_rcv_cnt,
            t.Tot_data_sent,
            t.Tot_data_rcv,
            t.Tot_dup_pkt_cnt,
            t.Tot_retrans_pkt_cnt,
            t.Tot_gho_pkt_cnt
        ));
    }
    let bulk = statistics.bulk();
    text.push_str(&format!(
        "\n  bulk transfers {} of {} bytes, direct copies refused {}",
        bulk.transfers, bulk.bytes, bulk.refused
    ));
    // Transports with windows or rails tell what has passed through each.
    for (name, note) in context.transport_notes().into_iter().filter(|(_, note)| !note.is_empty()) {
        text.push_str(&format!("\n  transport {name}: {note}"));
    }
    if let Ok(text) = CString::new(text) {
        // SAFETY: a NUL-terminated string.
        unsafe { libc::puts(text.as_ptr()) };
    }
}
