//! Which benches there are, at which sizes, and which floors each is held against.

use crate::peers::{C_CALL, SERVE};

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

/// The benches over a transport.
pub(crate) fn plan(transport: &str, quick: bool) -> Vec<Bench> {
    let latency: &[u64] =
        if quick { &[8, K, 64 * K, M] } else { &[8, 64, 256, K, 4 * K, 16 * K, 64 * K, 256 * K, M] };
    let bandwidth: &[u64] =
        if quick { &[4 * K, 64 * K, M] } else { &[K, 4 * K, 16 * K, 64 * K, 256 * K, M, 4 * M] };
    let few: &[u64] = &[8];
    let serving: &[u64] = if quick { &[K] } else { &[8, K, 16 * K, 64 * K] };
    type Names = &'static [&'static str];
    let none: Names = &[];
    let shm = transport == "shm";
    let pick = |shared: Names, sockets: Names| if shm { shared } else { sockets };
    let bench = |name, what, sizes: &[u64], floors: Names, floor_records: Names| Bench {
        name,
        what,
        sizes: sizes.to_vec(),
        floors,
        floor_records,
    };
    let message_floors: Names = &["line_lat", "mailbox_lat", "cma_read"];
    let message_records: Names = &["line_lat", "line_lat_paused", "mailbox_lat", "cma_read_lat"];
    let copies: Names = &["copy_own", "copy_shared", "cma_read"];
    let copy_records: Names = &["copy_own", "copy_shared", "cma_read_bw"];
    let streams: Names = &["udp_stream", "tcp_stream"];
    let stream = pick(&["cma_read", "copy_shared"], streams);
    let stream_records = pick(&["cma_read_bw", "copy_shared"], streams);
    let socket_lat: Names = &["udp_lat", "tcp_lat"];
    let lat_floors = pick(message_floors, socket_lat);
    let lat_records = pick(message_records, socket_lat);
    let atomic = pick(&["atomic_add"], socket_lat);
    let mut plan = vec![
        bench("am_lat", "active message (or send and receive), one way", latency, lat_floors, lat_records),
        bench(
            "am_rate",
            "stream of small messages",
            few,
            pick(&["ring_rate"], none),
            pick(&["ring_rate"], none),
        ),
        bench(SERVE, "request, completion handler, reply", serving, none, none),
        bench("am_bw", "stream of messages", bandwidth, stream, stream_records),
        bench("put_lat", "put until the origin knows that it is done", few, none, none),
        bench("put_rate", "stream of small puts", few, none, none),
        bench("put_bw", "stream of puts", bandwidth, pick(copies, streams), pick(copy_records, streams)),
        bench("get_lat", "get", few, none, none),
        bench("get_bw", "stream of gets", bandwidth, pick(copies, streams), pick(copy_records, streams)),
        bench("fadd", "fetch and add of 8 bytes", &[], atomic, atomic),
        bench("cas", "compare and swap of 8 bytes", &[], atomic, atomic),
        bench(
            "gfence",
            "global fence (or barrier)",
            &[],
            pick(&["line_lat"], socket_lat),
            pick(&["line_lat", "line_lat_paused"], socket_lat),
        ),
        bench("init_first", "start and end of the first context of two tasks", &[], none, none),
        bench("init", "start and end of a context of two tasks", &[], none, none),
        bench("blocked", "processor time of a wait that sleeps, of one core", &[], none, none),
    ];
    if shm {
        let what = "what a call through C costs above the Rust call, on the task itself";
        plan.push(bench(C_CALL, what, &[], none, none));
    }
    plan
}
