//! Bars of the sister interfaces: beside what each of them stands on, in the same run.

use super::{Bar, Figure, Figures, at_least, at_most, ratio};

/// ACP beside floors and what it stands on, in the same run.
pub(super) fn of_acp(transport: &str, all: &Figures<'_>) -> Vec<Bar> {
    const MIB: u64 = 1 << 20;
    let value = |figure: &Figure<'_>| figure.record.value;
    let of = |bench, size| all.by(bench, "lapis-acp", size).map(value);
    let message = all.lapis("am_lat", 8).map(value);
    let find = at_most(
        "key of another process through ACP, to a round trip",
        ratio(of("acp_find", 8), message.map(|m| 2.0 * m)),
        2.0,
        "",
    );
    if transport != "shm" {
        return find.into_iter().collect();
    }
    let copy = of("put_lat", 8);
    let line = |bench| all.floor(bench, "line_lat", 8);
    let atomic = of("fadd", 8).into_iter().chain(of("cas", 8)).reduce(f64::max);
    let barrier = ratio(of("barrier", 0), all.lapis("barrier", 0).map(value));
    let third = ratio(of("acp_third", MIB), all.floor("acp_third", "copy_own", MIB));
    let bars = [
        at_most("acp_copy of 8 B into mapped memory, at the origin, ns", copy, 10.0, " ns"),
        at_most(
            "acp_copy of 8 B until seen, to a cache line's ping-pong",
            ratio(of("acp_seen", 8), line("acp_seen")),
            1.3,
            "",
        ),
        at_most("acp_add8 and acp_cas8, the dearer, ns", atomic, 12.0, " ns"),
        at_most("16 ordered acp_copy, to one", ratio(of("acp_chain", 8), copy), 16.0, ""),
        at_least("1 MiB by acp_copy of a third party, to memcpy", third, 0.9, ""),
        at_most(
            "8 B through a channel, one way, to a cache line's ping-pong",
            ratio(of("am_lat", 8), line("am_lat")),
            1.4,
            "",
        ),
        at_most("acp_sync, to a team's barrier", barrier, 1.1, ""),
        at_most(
            "acp_malloc and acp_free of another process's memory, ns",
            of("acp_malloc", 64),
            3000.0,
            " ns",
        ),
    ];
    bars.into_iter().chain([find]).flatten().collect()
}

/// GM beside the transport that has the same windows, in the same run.
pub(super) fn of_gm(all: &Figures<'_>) -> Vec<Bar> {
    const GM: &str = "lapis-gm";
    const MIB: u64 = 1 << 20;
    let value = |figure: &Figure<'_>| figure.record.value;
    let own = |bench, size| all.by(bench, GM, size).map(value);
    let beside = |bench, size| ratio(own(bench, size), all.lapis(bench, size).map(value));
    let bars = [
        at_most("8 B through GM, one way, to an active message", beside("am_lat", 8), 1.15, ""),
        at_least("stream of 8 B messages through GM, M/s", own("am_rate", 8), 10.0, " M/s"),
        at_least("stream of 1 MiB messages through GM, to active messages", beside("am_bw", MIB), 0.9, ""),
        at_most("processor time of gm_blocking_receive, % of a core", own("blocked", 0), 1.0, " %"),
        at_most("gm_open, ns", own("gm_open", 0), 5e6, " ns"),
    ];
    bars.into_iter().flatten().collect()
}

/// QNIX beside what it stands on, in the same run.
pub(super) fn of_qnix(all: &Figures<'_>) -> Vec<Bar> {
    const LONGEST: u64 = 2 << 20;
    let value = |figure: &Figure<'_>| figure.record.value;
    let beside =
        |bench, size| ratio(all.by(bench, "lapis-qnix", size).map(value), all.lapis(bench, size).map(value));
    let puts = all.in_memory("put_bw", "heap", LONGEST).or(all.in_memory("put_bw", "lapis", LONGEST));
    let in_crowd = |bench| all.by(bench, "lapis-qnix-8", 8).map(value);
    let bars = [
        at_most("8 B through QNIX, one way, to an active message", beside("am_lat", 8), 1.3, ""),
        at_least(
            "stream of 2 MiB messages through QNIX, to puts",
            ratio(all.by("am_bw", "lapis-qnix", LONGEST).map(value), puts),
            0.9,
            "",
        ),
        at_most("barrier through QNIX, to a team's", beside("barrier", 0), 1.1, ""),
        at_most(
            "8 B to seven through QNIX, at the sender, to one",
            ratio(in_crowd("broadcast_short"), in_crowd("send_short")),
            2.0,
            "",
        ),
    ];
    bars.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{all, figure};
    use super::*;
    use lapis_bench::record::Record;
    use lapis_bench::stats::Summary;

    #[test]
    fn qnix_is_judged_beside_what_it_stands_on() {
        let latency = |name, size, ns: f64| Record::latency(name, size, Summary::of(&[ns]));
        let stream = |name, ns: f64| Record::bandwidth(name, 2 << 20, Summary::of(&[ns]));
        let figures = [
            figure("am_lat", latency("am_lat", 8, 50.0), "lapis"),
            figure("am_lat", latency("am_lat", 8, 100.0), "lapis-qnix"),
            figure("put_bw", stream("put_bw", 1000.0).in_memory("heap"), "lapis"),
            figure("am_bw", stream("am_bw", 1000.0), "lapis-qnix"),
            figure("barrier", latency("barrier", 0, 200.0), "lapis"),
            figure("barrier", latency("barrier", 0, 210.0), "lapis-qnix"),
            figure("send_short", latency("send_short", 8, 100.0), "lapis-qnix-8"),
            figure("broadcast_short", latency("broadcast_short", 8, 150.0), "lapis-qnix-8"),
        ];
        let bars = of_qnix(&all(&figures));
        let seen: Vec<(f64, bool)> = bars.iter().map(|b| (b.value, b.met)).collect();
        assert_eq!(seen, [(2.0, false), (1.0, true), (1.05, true), (1.5, true)]);
    }

    #[test]
    fn acp_is_judged_beside_what_it_stands_on() {
        let latency = |name, size, ns: f64| Record::latency(name, size, Summary::of(&[ns]));
        let figures = [
            figure("am_lat", latency("line_lat", 8, 50.0), "floor"),
            figure("am_lat", latency("am_lat", 8, 60.0), "lapis"),
            figure("am_lat", latency("am_lat", 8, 100.0), "lapis-acp"),
            figure("put_lat", latency("put_lat", 8, 9.0), "lapis-acp"),
            figure("fadd", latency("fadd", 8, 11.0), "lapis-acp"),
            figure("cas", latency("cas", 8, 13.0), "lapis-acp"),
            figure("barrier", latency("barrier", 0, 200.0), "lapis"),
            figure("barrier", latency("barrier", 0, 210.0), "lapis-acp"),
            figure("acp_find", latency("acp_find", 8, 300.0), "lapis-acp"),
        ];
        let bars = of_acp("shm", &all(&figures));
        let seen: Vec<(f64, bool)> = bars.iter().map(|b| (b.value, b.met)).collect();
        assert_eq!(seen, [(9.0, true), (13.0, false), (2.0, false), (1.05, true), (2.5, false)]);
        assert_eq!(of_acp("udp", &all(&figures)).len(), 1, "other networks reach no memory");
    }

    #[test]
    fn gm_is_judged_beside_the_windows_it_stands_on() {
        let once = |ns: f64| Summary::of(&[ns]);
        let figures = [
            figure("am_lat", Record::latency("am_lat", 8, once(200.0)), "lapis"),
            figure("am_lat", Record::latency("am_lat", 8, once(240.0)), "lapis-gm"),
            figure("am_rate", Record::rate("am_rate", 8, once(50.0)), "lapis-gm"),
            figure("am_bw", Record::bandwidth("am_bw", 1 << 20, once(100.0)), "lapis"),
            figure("am_bw", Record::bandwidth("am_bw", 1 << 20, once(100.0)), "lapis-gm"),
            figure("gm_open", Record::latency("gm_open", 0, once(6e6)), "lapis-gm"),
        ];
        let seen: Vec<(f64, bool)> = of_gm(&all(&figures)).iter().map(|b| (b.value, b.met)).collect();
        assert_eq!(seen, [(1.2, false), (20.0, true), (1.0, true), (6e6, false)]);
    }
}
