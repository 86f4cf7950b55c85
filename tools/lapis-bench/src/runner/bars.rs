//! What the figures are held against: the bars that Lapis sets itself, and whether a run met them.

use super::rounds::Figure;
use crate::peers::C_CALL;
use lapis_bench::table::{Table, figure};

/// One bar.
pub(crate) struct Bar {
    pub(crate) what: &'static str,
    pub(crate) wanted: String,
    pub(crate) value: f64,
    pub(crate) met: bool,
}

/// The bars of a transport for which this run has figures.
pub(super) fn of(transport: &str, figures: &[Figure]) -> Vec<Bar> {
    let all = Figures(figures);
    if transport == "udp" { over_udp(&all) } else { through_c(&all) }
}

/// Nanoseconds that a call through C may cost above the Rust call.
const C_ABOVE_RUST: f64 = 15.0;

fn through_c(all: &Figures<'_>) -> Vec<Bar> {
    let calls = all.0.iter().filter(|f| f.bench == C_CALL).map(|f| f.record.value);
    let wanted = format!("at most {} ns", figure(C_ABOVE_RUST));
    let what = "8 B put, rmw64 or amsend through C, the dearest, above Rust, ns";
    let most = calls.reduce(f64::max);
    most.map(|value| Bar { what, wanted, value, met: value <= C_ABOVE_RUST }).into_iter().collect()
}

fn over_udp(all: &Figures<'_>) -> Vec<Bar> {
    let mut bars = Vec::new();
    let mut most = |what, value: Option<f64>, bound: f64, unit: &str| {
        let wanted = format!("at most {}{unit}", figure(bound));
        bars.extend(value.map(|value| Bar { what, wanted, value, met: value <= bound }));
    };
    let round_trip = all.lapis("am_lat", 8);
    most(
        "8 B active message, round trip, to raw UDP ping-pong",
        round_trip.and_then(|f| Some(f.record.value / all.floor("am_lat", "udp_lat", 8)?)),
        1.2,
        "",
    );
    most("8 B active message, to the best peer", round_trip.and_then(|f| f.to_peer), 1.0, "");
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
    let mut least = |what, value: Option<f64>, bound: f64, unit: &str| {
        let wanted = format!("at least {}{unit}", figure(bound));
        bars.extend(value.map(|value| Bar { what, wanted, value, met: value >= bound }));
    };
    let ratio = |a: Option<f64>, b: Option<f64>| Some(a? / b?);
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

struct Figures<'a>(&'a [Figure]);

impl Figures<'_> {
    fn lapis(&self, bench: &str, size: u64) -> Option<&Figure> {
        self.0.iter().find(|f| f.bench == bench && f.record.peer == "lapis" && f.record.size == size)
    }

    fn floor(&self, bench: &str, floor: &str, size: u64) -> Option<f64> {
        let ours = |f: &&Figure| {
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
    use lapis_bench::record::Record;
    use lapis_bench::stats::Summary;

    fn figure(bench: &'static str, record: Record, peer: &str) -> Figure {
        Figure { bench, what: "", record: record.of(peer, "udp"), to_floor: None, to_peer: Some(0.9) }
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
        assert!(of("shm", &figures).is_empty());
        let calls = [9.0, 16.0, -1.0].map(|ns| figure(C_CALL, latency(C_CALL, ns), "lapis"));
        let seen: Vec<(f64, bool)> = of("shm", &calls).iter().map(|b| (b.value, b.met)).collect();
        assert_eq!(seen, [(16.0, false)], "the dearest call decides");
    }
}
