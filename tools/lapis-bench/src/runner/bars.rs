//! The goals ("bars") of Lapis against floors and peers, and whether a run met them.

mod sisters;

use super::rounds::Figure as Measured;
use crate::peers::{ASK, C_CALL, SERVE};
use lapis_bench::record::Record;
use lapis_bench::table::{Table, figure};

/// One bar.
pub(crate) struct Bar {
    pub(crate) what: &'static str,
    pub(crate) wanted: String,
    pub(crate) value: f64,
    pub(crate) met: bool,
}

/// What bars are computed from: a figure of a run, or one that a report has.
pub(super) struct Figure<'a> {
    pub(super) bench: &'a str,
    pub(super) record: &'a Record,
    pub(super) to_peer: Option<f64>,
}

impl<'a> From<&'a Measured> for Figure<'a> {
    fn from(measured: &'a Measured) -> Self {
        let Measured { bench, record, to_peer, .. } = measured;
        Self { bench, record, to_peer: *to_peer }
    }
}

/// The bars of a transport for which there are figures.
pub(super) fn of<'a>(transport: &str, figures: impl IntoIterator<Item = impl Into<Figure<'a>>>) -> Vec<Bar> {
    let all = Figures(figures.into_iter().map(Into::into).collect());
    let mut bars = match transport {
        "udp" => over_udp(&all),
        "hps" => over_windows(&all),
        "rdma" => over_rdma(&all),
        _ => over_shm(&all),
    };
    bars.extend(sisters::of_qnix(&all));
    bars.extend(sisters::of_acp(transport, &all));
    bars.extend(sisters::of_gm(&all));
    bars
}

fn over_shm(all: &Figures<'_>) -> Vec<Bar> {
    const MIB: u64 = 1 << 20;
    let mut bars = Vec::new();
    let mut most = |what, value, bound, unit: &str| bars.extend(at_most(what, value, bound, unit));
    let value = |figure: &Figure<'_>| figure.record.value;
    let one_way = all.lapis("am_lat", 8).map(value);
    let line = all.floor("am_lat", "line_lat", 8);
    most(
        "8 B active message, one way, to a cache line's ping-pong",
        ratio(one_way, line),
        if line.is_some_and(|ns| ns < FAR_LINE) { 1.25 } else { 1.6 },
        "",
    );
    let from_c = |bench| ratio(all.by(bench, "lapis-c", 8).map(value), all.lapis(bench, 8).map(value));
    most("8 B active message from C, to Rust's", from_c("am_lat"), 1.1, "");
    for (what, bench, memory, bound) in TO_PEERS {
        most(what, all.slowest(bench, memory), bound, "");
    }
    most("8 B put into Lapis memory, at the origin, ns", all.in_memory("put_lat", "lapis", 8), 8.0, " ns");
    most("fetch-and-add in Lapis memory, ns", all.in_memory("fadd", "lapis", 8), 12.0, " ns");
    most("request, completion handler, reply, 8 B, ns", served(all).map(value), 3000.0, " ns");
    most("request of 64 KiB, completion handler, reply, ns", asked(all).map(value), 3000.0, " ns");
    most(
        "processor time of a wait that sleeps, % of a core",
        all.any("blocked").next().map(value),
        1.0,
        " %",
    );
    most(
        "8 B put, rmw64 or amsend through C, the dearest, above Rust, ns",
        all.any(C_CALL).map(value).reduce(f64::max),
        15.0,
        " ns",
    );
    let starts = ["init_first", "init"].into_iter().flat_map(|bench| all.any(bench)).map(value);
    most("start and end of two tasks, us", starts.reduce(f64::max), 20_000.0, " us");
    let mut least = |what, value, bound, unit: &str| bars.extend(at_least(what, value, bound, unit));
    let rate = all.lapis("am_rate", 8).map(value);
    least("stream of 8 B active messages, M/s", rate, 25.0, " M/s");
    least("the same, to a ring of cache lines", ratio(rate, all.floor("am_rate", "ring_rate", 8)), 0.6, "");
    least("stream of 8 B active messages from C, to Rust's", from_c("am_rate"), 0.85, "");
    least(
        "1 MiB put into any memory, to process_vm_readv",
        ratio(all.in_memory("put_bw", "heap", MIB), all.floor("put_bw", "cma_read_bw", MIB)),
        0.95,
        "",
    );
    least(
        "1 MiB put into Lapis memory, to memcpy",
        ratio(all.in_memory("put_bw", "lapis", MIB), all.floor("put_bw", "copy_own", MIB)),
        0.95,
        "",
    );
    bars
}

/// A cache line takes longer than this between far cores, in ns one way.
const FAR_LINE: f64 = 50.0;

/// Figures of shared memory that must be at least as fast as those of the fastest peer, at every
/// size; with the memory where there are several.
const TO_PEERS: [(&str, &str, Option<&str>, f64); 10] = [
    ("active messages of any size, the slowest, to the best peer", "am_lat", None, 1.0),
    ("messages copied out, of any size, the slowest, to the best peer", "am_copy_lat", None, 1.0),
    ("streams of messages of any size, the slowest, to the best peer", "am_bw", None, 1.0),
    ("streams copied out, of any size, the slowest, to the best peer", "am_copy_bw", None, 1.0),
    ("stream of 8 B messages, to the best peer", "am_rate", None, 1.0),
    ("puts of any size into Lapis memory, the slowest, to the best peer", "put_bw", Some("lapis"), 1.0),
    ("puts of any size into any memory, the slowest, to the best peer", "put_bw", Some("heap"), 1.0),
    ("gets of any size from Lapis memory, the slowest, to the best peer", "get_bw", Some("lapis"), 1.0),
    ("gets of any size from any memory, the slowest, to the best peer", "get_bw", Some("heap"), 1.0),
    ("global fence, to the best peer's barrier", "gfence", None, 0.8),
];

/// Windows of soft adapters, beside shared memory in the same run, and windows of interfaces beside
/// UDP sockets.
fn over_windows(all: &Figures<'_>) -> Vec<Bar> {
    const MIB: u64 = 1 << 20;
    let value = |figure: &Figure<'_>| figure.record.value;
    let stream = |peer| all.by("am_bw", peer, MIB).map(value);
    let wire = |how| all.trial("wire", how);
    let bars = [
        at_least("stream of 8 B active messages, M/s", all.lapis("am_rate", 8).map(value), 20.0, " M/s"),
        at_least("stream of 1 MiB messages, to shm's", ratio(stream("lapis"), stream("lapis-shm")), 0.9, ""),
        at_most(
            "processor time of a wait that sleeps, % of a core",
            all.any("blocked").next().map(value),
            1.0,
            " %",
        ),
        at_most(
            "8 B round trip over veth, to udp's",
            ratio(wire("rtt_p50: hps, 1 rail"), wire("rtt_p50: udp, 1 rail")),
            0.75,
            "",
        ),
        at_most(
            "8 B round trip over veth, to bare AF_XDP's",
            ratio(wire("rtt_p50: hps, 1 rail"), wire("xdp_rtt: floor")),
            1.15,
            "",
        ),
        at_least(
            "stream of 1 MiB messages over veth, to bare AF_XDP's",
            ratio(wire("am_bw: hps, 1 rail"), wire("xdp_stream: floor")),
            0.9,
            "",
        ),
        at_least(
            "8 B message rate over veth, to udp's",
            ratio(wire("am_rate: hps, 1 rail"), wire("am_rate: udp, 1 rail")),
            1.5,
            "",
        ),
        at_least(
            "stream over two veths, to one",
            ratio(wire("am_bw: hps, 2 rails"), wire("am_bw: hps, 1 rail")),
            1.8,
            "",
        ),
    ];
    bars.into_iter().flatten().collect()
}

/// Beside the same provider of libfabric, driven bare in the same run.
fn over_rdma(all: &Figures<'_>) -> Vec<Bar> {
    const MIB: u64 = 1 << 20;
    let value = |figure: &Figure<'_>| figure.record.value;
    let bare = |bench, size| all.by_family(bench, "libfabric", size).map(value);
    let to_bare = |bench, size| ratio(all.lapis(bench, size).map(value), bare(bench, size));
    let bars = [
        at_most("8 B one way, to bare libfabric's", to_bare("am_lat", 8), 1.1, ""),
        at_most("8 B put, done, to bare libfabric's", to_bare("put_lat", 8), 1.1, ""),
        at_most("8 B put, seen by the target, to bare libfabric's", to_bare("put_seen", 8), 1.1, ""),
        at_least("rate of 8 B messages, to bare libfabric's", to_bare("am_rate", 8), 0.9, ""),
        at_most("1 MiB put, done, to bare libfabric's", to_bare("put_lat", MIB), 1.1, ""),
        at_most("8 B get, to bare libfabric's", to_bare("get_lat", 8), 1.1, ""),
        at_most("1 MiB get, to bare libfabric's", to_bare("get_lat", MIB), 1.1, ""),
        at_least(
            "stream of 1 MiB messages, to bare libfabric's writes",
            ratio(all.lapis("am_bw", MIB).map(value), bare("put_bw", MIB)),
            0.95,
            "",
        ),
        at_least("stream of 1 MiB puts, to bare libfabric's", to_bare("put_bw", MIB), 0.95, ""),
        at_least("stream of 1 MiB gets, to bare libfabric's", to_bare("get_bw", MIB), 0.95, ""),
    ];
    bars.into_iter().flatten().chain(of_fabric(all)).collect()
}

/// What two of its rails carry, also if one is pulled in the middle.
fn of_fabric(all: &Figures<'_>) -> impl Iterator<Item = Bar> {
    const TWO: &str = "2 rails of 2 Gbit/s";
    let of = |bench: &str, how: &str| all.trial("fabric", &format!("{bench}: {how}"));
    let pulled = |bench| of(bench, &format!("{TWO}, one pulled"));
    let both = ratio(of("put_bw", TWO), of("put_bw", "1 rail of 2 Gbit/s"));
    let goodput = ratio(pulled("put_goodput"), of("put_goodput", TWO));
    let bars = [
        at_least("stream of 1 MiB puts over two rails, to one", both, 1.6, ""),
        // Both rails for one half of the time and one for the other are 0.75.
        at_least("puts over two rails, one pulled at half-time, to those over two", goodput, 0.7, ""),
        at_most("pause when a rail is pulled, us", pulled("am_pause"), 20_000.0, " us"),
    ];
    bars.into_iter().flatten()
}

/// Programs in C alone have this figure.
fn served<'a>(all: &'a Figures<'a>) -> Option<&'a Figure<'a>> {
    all.any(SERVE).find(|figure| figure.record.size == 8)
}

/// As [`served`], for requests of 64 KiB that are answered with 8 bytes.
fn asked<'a>(all: &'a Figures<'a>) -> Option<&'a Figure<'a>> {
    all.any(ASK).find(|figure| figure.record.size == 64 << 10)
}

fn at_most(what: &'static str, value: Option<f64>, bound: f64, unit: &str) -> Option<Bar> {
    let wanted = format!("at most {}{unit}", figure(bound));
    value.map(|value| Bar { what, wanted, value, met: value <= bound })
}

fn at_least(what: &'static str, value: Option<f64>, bound: f64, unit: &str) -> Option<Bar> {
    let wanted = format!("at least {}{unit}", figure(bound));
    value.map(|value| Bar { what, wanted, value, met: value >= bound })
}

fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? / b?)
}

fn over_udp(all: &Figures<'_>) -> Vec<Bar> {
    let mut bars = Vec::new();
    let mut most = |what, value, bound, unit: &str| bars.extend(at_most(what, value, bound, unit));
    let round_trip = all.lapis("am_lat", 8);
    most(
        "8 B active message, round trip, to raw UDP ping-pong",
        round_trip.and_then(|f| Some(f.record.value / all.floor("am_lat", "udp_lat", 8)?)),
        1.2,
        "",
    );
    most("8 B active message, to the best peer", round_trip.and_then(|f| f.to_peer), 1.0, "");
    let served = served(all).map(|figure| figure.record.value);
    most("request, completion handler, reply, 8 B, ns", served, 15_000.0, " ns");
    let asked = asked(all).map(|figure| figure.record.value);
    most("request of 64 KiB, completion handler, reply, ns", asked, 15_000.0, " ns");
    let trip = all.trial("loss", "rtt_p50: udp, veth");
    most(
        "1 KiB round trip at 1 % loss, p99.9, us",
        all.trial("loss", "rtt_p999: udp, veth, 1 % lost"),
        trip.map_or(0.0, |trip| 4.0 * trip + 500.0),
        " us (4 round trips and 500 us)",
    );
    most(
        "pause when a rail is pulled, us",
        all.trial("stall", "am_pause: udp, 2 rails, one pulled"),
        20_000.0,
        " us",
    );
    let mut least = |what, value, bound, unit: &str| bars.extend(at_least(what, value, bound, unit));
    least("stream of 8 B active messages, M/s", all.lapis("am_rate", 8).map(|f| f.record.value), 2.0, " M/s");
    least(
        "stream of 1 MiB messages, to the raw GSO/GRO stream",
        ratio(all.lapis("am_bw", 1 << 20).map(|f| f.record.value), all.floor("am_bw", "udp_stream", 1 << 20)),
        0.85,
        "",
    );
    let stream = |how| all.trial("loss", how);
    least(
        "goodput at 1 % loss, to that without",
        ratio(stream("am_bw: udp, veth, 1 % lost"), stream("am_bw: udp, veth")),
        0.9,
        "",
    );
    let rails = |how| all.trial("rails", how);
    least(
        "two rails to one, where the rails are the limit",
        ratio(rails("am_bw: udp, 2 rails of 2 Gbit/s"), rails("am_bw: udp, 1 rail of 2 Gbit/s")),
        1.6,
        "",
    );
    least(
        "two rails to one, where the processor is the limit",
        ratio(rails("am_bw: udp, 2 rails"), rails("am_bw: udp, 1 rail")),
        0.9,
        "",
    );
    bars
}

/// As a table.
pub(super) fn table(bars: &[Bar]) -> Table {
    let mut table = Table::new(["bar", "wanted", "measured", "met"]);
    for bar in bars {
        let met = if bar.met { "yes" } else { "no" };
        table.row([bar.what.to_owned(), bar.wanted.clone(), figure(bar.value), met.to_owned()]);
    }
    table
}

struct Figures<'a>(Vec<Figure<'a>>);

impl<'a> Figures<'a> {
    fn any(&self, bench: &str) -> impl Iterator<Item = &Figure<'a>> {
        self.0.iter().filter(move |f| f.bench == bench && f.record.peer == "lapis")
    }

    fn in_memory(&self, bench: &str, memory: &str, size: u64) -> Option<f64> {
        let found = |f: &&Figure<'_>| f.record.memory.as_deref() == Some(memory) && f.record.size == size;
        self.any(bench).find(found).map(|f| f.record.value)
    }

    /// How many times slower than the best peer this is at the size where it is slowest.
    fn slowest(&self, bench: &str, memory: Option<&str>) -> Option<f64> {
        let counts = |figure: &&Figure<'_>| memory.is_none() || figure.record.memory.as_deref() == memory;
        self.any(bench).filter(counts).filter_map(|figure| figure.to_peer).reduce(f64::max)
    }

    fn lapis(&self, bench: &str, size: u64) -> Option<&Figure<'a>> {
        self.by(bench, "lapis", size)
    }

    fn by(&self, bench: &str, party: &str, size: u64) -> Option<&Figure<'a>> {
        self.0.iter().find(|f| f.bench == bench && f.record.peer == party && f.record.size == size)
    }

    /// By the first party whose name, a version behind it, begins so.
    fn by_family(&self, bench: &str, family: &str, size: u64) -> Option<&Figure<'a>> {
        let has = |f: &&Figure<'_>| f.record.peer.starts_with(family) && f.record.size == size;
        self.0.iter().filter(|f| f.bench == bench).find(has)
    }

    fn floor(&self, bench: &str, floor: &str, size: u64) -> Option<f64> {
        let ours = |f: &&Figure<'_>| {
            f.bench == bench && f.record.peer == "floor" && f.record.bench == floor && f.record.size == size
        };
        self.0.iter().find(ours).map(|f| f.record.value)
    }

    fn trial(&self, trial: &str, how: &str) -> Option<f64> {
        self.0.iter().find(|f| f.bench == trial && f.record.transport == how).map(|f| f.record.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_bench::stats::Summary;

    pub(super) fn all(figures: &[Measured]) -> Figures<'_> {
        Figures(figures.iter().map(Figure::from).collect())
    }

    pub(super) fn figure(bench: &'static str, record: Record, peer: &str) -> Measured {
        Measured { bench, what: "", record: record.of(peer, "udp"), to_floor: None, to_peer: Some(0.9) }
    }

    #[test]
    fn shared_memory_is_judged_by_the_memory_that_a_bar_names() {
        let latency = |name, ns: f64| Record::latency(name, 8, Summary::of(&[ns]));
        let figures = [
            figure("am_lat", latency("line_lat_paused", 30.0), "floor"),
            figure("am_lat", latency("line_lat", 40.0), "floor"),
            figure("am_lat", latency("am_lat", 50.0), "lapis"),
            figure("put_lat", latency("put_lat", 200.0).in_memory("heap"), "lapis"),
            figure("put_lat", latency("put_lat", 9.0).in_memory("lapis"), "lapis"),
            figure("fadd", latency("fadd", 3.0).in_memory("lapis"), "lapis"),
            figure("init", latency("init", 1500.0), "lapis"),
            figure("init_first", latency("init_first", 21_000.0), "lapis"),
        ];
        let bars = of("shm", &figures);
        let seen: Vec<(f64, bool)> = bars.iter().map(|b| (b.value, b.met)).collect();
        // To the line, and latencies and starts beside peers.
        assert_eq!(seen, [(1.25, true), (0.9, true), (9.0, false), (3.0, true), (21_000.0, false)]);
    }

    #[test]
    fn windows_are_judged_beside_shared_memory() {
        let stream = |ns: f64| Record::bandwidth("am_bw", 1 << 20, Summary::of(&[ns]));
        let figures =
            [figure("am_bw", stream(2048.0), "lapis"), figure("am_bw", stream(1024.0), "lapis-shm")];
        let seen: Vec<(f64, bool)> = of("hps", &figures).iter().map(|b| (b.value, b.met)).collect();
        assert_eq!(seen, [(0.5, false)]);
    }

    #[test]
    fn only_what_was_measured_is_judged_and_by_its_own_floor() {
        let latency = |name, ns: f64| Record::latency(name, 8, Summary::of(&[ns]));
        let figures = [
            figure("am_lat", latency("tcp_lat", 5000.0), "floor"),
            figure("am_lat", latency("udp_lat", 3000.0), "floor"),
            figure("am_lat", latency("am_lat", 3900.0), "lapis"),
        ];
        let bars = of("udp", &figures);
        let seen: Vec<(f64, bool)> = bars.iter().map(|b| (b.value, b.met)).collect();
        assert_eq!(seen, [(1.3, false), (0.9, true)]);
        let over_shm: Vec<f64> = of("shm", &figures).iter().map(|b| b.value).collect();
        assert_eq!(over_shm, [0.9], "sockets are no floor of shared memory");
        let calls = [9.0, 16.0, -1.0].map(|ns| figure(C_CALL, latency(C_CALL, ns), "lapis"));
        let seen: Vec<(f64, bool)> = of("shm", &calls).iter().map(|b| (b.value, b.met)).collect();
        assert_eq!(seen, [(16.0, false)], "the dearest call decides");
    }
}
