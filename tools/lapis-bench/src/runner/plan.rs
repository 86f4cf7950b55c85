//! Which benches there are, at which sizes, and which floors each is held against.

use crate::peers::{ACP_ONLY, ASK, C_CALL, GM_ONLY, QNIX_ONLY, SERVE};

/// One bench.
pub(crate) struct Bench {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    /// Empty when the bench has one size of its own.
    pub(crate) sizes: Vec<u64>,
    /// The floors' names, in the order in which a figure of the same size is looked for.
    pub(crate) floors: &'static [&'static str],
    /// The names of those floors' records with this bench's unit.
    pub(crate) floor_records: &'static [&'static str],
}

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;

type Names = &'static [&'static str];
const NONE: Names = &[];
/// Benches of one small size.
const FEW: &[u64] = &[8];

/// Floors, with the names of their records.
type Floors = (Names, Names);

/// What benches over a transport are held against.
struct Against {
    latency: Floors,
    rate: Names,
    stream: Floors,
    copies: Floors,
    atomic: Names,
    fence: Floors,
}

/// Tasks that share memory.
const SHARED_MEMORY: Against = Against {
    latency: (
        &["line_lat", "mailbox_lat", "cma_read"],
        &["line_lat", "line_lat_paused", "mailbox_lat", "cma_read_lat"],
    ),
    rate: &["ring_rate"],
    stream: (&["cma_read", "copy_shared"], &["cma_read_bw", "copy_shared"]),
    copies: (&["copy_own", "copy_shared", "cma_read"], &["copy_own", "copy_shared", "cma_read_bw"]),
    atomic: &["atomic_add"],
    fence: (&["line_lat"], &["line_lat", "line_lat_paused"]),
};

/// Tasks that send through sockets.
const SOCKETS: Against = Against {
    latency: (LATENCIES, LATENCIES),
    rate: NONE,
    stream: (STREAMS, STREAMS),
    copies: (STREAMS, STREAMS),
    atomic: LATENCIES,
    fence: (LATENCIES, LATENCIES),
};
const LATENCIES: Names = &["udp_lat", "tcp_lat"];
const STREAMS: Names = &["udp_stream", "tcp_stream"];

fn bench(name: &'static str, what: &'static str, sizes: &[u64], (floors, floor_records): Floors) -> Bench {
    Bench { name, what, sizes: sizes.to_vec(), floors, floor_records }
}

/// Whether a transport carries bytes through memory, so that memory is its floor.
pub(crate) fn on_one_host(transport: &str) -> bool {
    matches!(transport, "shm" | "hps")
}

/// The benches over a transport.
pub(crate) fn plan(transport: &str, quick: bool) -> Vec<Bench> {
    let shm = transport == "shm";
    let against = if on_one_host(transport) { SHARED_MEMORY } else { SOCKETS };
    let mut plan = messages(&against, quick);
    plan.extend(one_sided(&against, quick));
    if transport == "rdma" {
        // One long transfer at a time, too: a provider that is driven bare does it by one call.
        plan.iter_mut()
            .filter(|bench| ["put_lat", "get_lat"].contains(&bench.name))
            .for_each(|bench| bench.sizes.push(M));
    }
    plan.extend([
        bench("gfence", "global fence (or barrier)", &[], against.fence),
        bench("init_first", "start and end of the first context of two tasks", &[], (NONE, NONE)),
        bench("init", "start and end of a context of two tasks", &[], (NONE, NONE)),
        bench("blocked", "processor time of a wait that sleeps, of one core", &[], (NONE, NONE)),
    ]);
    if shm {
        let what = "what a call through C costs above the Rust call, on the task itself";
        plan.push(bench(C_CALL, what, &[], (NONE, NONE)));
    }
    plan
}

/// What QNIX is measured by: a barrier beside the team's, messages up to its longest, and what
/// short ones cost their sender.
pub(crate) fn for_qnix(plan: &mut Vec<Bench>, transport: &str) {
    let against = if on_one_host(transport) { SHARED_MEMORY } else { SOCKETS };
    for bench in plan.iter_mut().filter(|bench| ["am_bw", "put_bw"].contains(&bench.name)) {
        bench.sizes = vec![4 * K, 64 * K, 2 * M];
    }
    let [to_one, to_all] = QNIX_ONLY;
    plan.extend([
        bench("barrier", "barrier of all tasks (a team's, or a group's)", &[], against.fence),
        bench(to_one, "short message, at its sender", FEW, (NONE, NONE)),
        bench(to_all, "short message to seven others, at its sender", FEW, (NONE, NONE)),
    ]);
}

/// The benches that only programs of ACP have.
pub(crate) fn acp(transport: &str) -> Vec<Bench> {
    let against = if on_one_host(transport) { SHARED_MEMORY } else { SOCKETS };
    let [seen, chain, third, malloc, find] = ACP_ONLY;
    vec![
        bench(seen, "copy of 8 bytes until the target sees it, one way", &[], against.latency),
        bench(chain, "16 copies of 8 bytes, each after the one before", &[], (NONE, NONE)),
        bench(third, "copies of 1 MiB by who has neither end", &[M], against.copies),
        bench("barrier", "barrier of all tasks (a team's, or acp_sync)", &[], against.fence),
        bench(malloc, "memory of another process taken and given back", &[], (NONE, NONE)),
        bench(find, "look-up of a key that another process has", &[], against.latency),
    ]
}

/// The bench that only programs of GM have.
pub(crate) fn gm() -> Bench {
    bench(GM_ONLY, "opening of a port", &[], (NONE, NONE))
}

fn bandwidths(quick: bool) -> &'static [u64] {
    if quick { &[4 * K, 64 * K, M] } else { &[K, 4 * K, 16 * K, 64 * K, 256 * K, M, 4 * M] }
}

fn messages(against: &Against, quick: bool) -> Vec<Bench> {
    let latency: &[u64] =
        if quick { &[8, K, 64 * K, M] } else { &[8, 64, 256, K, 4 * K, 16 * K, 64 * K, 256 * K, M] };
    let copied: &[u64] = if quick { &[4 * K] } else { &[K, 4 * K, 16 * K, 64 * K] };
    let serving: &[u64] = if quick { &[K] } else { &[8, K, 16 * K, 64 * K] };
    vec![
        bench("am_lat", "active message (or send and receive), one way", latency, against.latency),
        bench("am_rate", "stream of small messages", FEW, (against.rate, against.rate)),
        bench(SERVE, "request, completion handler, reply", serving, (NONE, NONE)),
        bench(ASK, "request, completion handler, reply of 8 B", serving, (NONE, NONE)),
        bench("am_bw", "stream of messages", bandwidths(quick), against.stream),
        bench("am_copy_lat", "message until its data is in the receiver's memory", copied, against.latency),
        bench("am_copy_bw", "stream of messages to the receiver's memory", copied, against.stream),
    ]
}

fn one_sided(against: &Against, quick: bool) -> Vec<Bench> {
    let atomic = (against.atomic, against.atomic);
    vec![
        bench("put_lat", "put until the origin knows that it is done", FEW, (NONE, NONE)),
        bench("put_seen", "put of 8 bytes until the target sees it, one way", FEW, against.latency),
        bench("put_rate", "stream of small puts", FEW, (NONE, NONE)),
        bench("put_bw", "stream of puts", bandwidths(quick), against.copies),
        bench("get_lat", "get", FEW, (NONE, NONE)),
        bench("get_bw", "stream of gets", bandwidths(quick), against.copies),
        bench("fadd", "fetch and add of 8 bytes", &[], atomic),
        bench("cas", "compare and swap of 8 bytes", &[], atomic),
    ]
}
