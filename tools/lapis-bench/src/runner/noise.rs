//! Whether the machine is quiet enough to measure: a probe before and after each sample, and a
//! check for other running processes.

use crate::floor;
use anyhow::Result;
use lapis_bench::stats;
use std::time::Instant;

/// A probe this many times off the median says that the two cores are badly placed now.
const OFF: f64 = 1.4;
/// This share of a core used by others spoils a sample.
const FOREIGN: f64 = 0.15;
/// Probes that make the first median.
const FIRST: usize = 9;

/// The probes so far, and what came of them.
pub(crate) struct Noise {
    pub(crate) probes: Vec<f64>,
    /// Samples that were thrown away.
    pub(crate) retaken: usize,
    /// Samples kept although they were noisy, since none better came.
    pub(crate) kept: usize,
    /// How many of those came one after the other until now.
    pub(crate) in_a_row: usize,
}

/// A look at the processor times, before a sample.
pub(crate) struct Before {
    time: Instant,
    busy: f64,
    own: f64,
    steal: f64,
    probe: f64,
}

impl Noise {
    pub(crate) fn new() -> Result<Self> {
        let probes = (0..FIRST).map(|_| floor::probe()).collect::<Result<_>>()?;
        Ok(Self { probes, retaken: 0, kept: 0, in_a_row: 0 })
    }

    /// The usual time of a cache line, one way.
    pub(crate) fn median(&self) -> f64 {
        stats::median(&self.probes)
    }

    pub(crate) fn before(&mut self) -> Result<Before> {
        let probe = self.probe()?;
        let (busy, steal) = processor_times();
        Ok(Before { time: Instant::now(), busy, own: own_time(), steal, probe })
    }

    /// What spoiled the sample, if anything did.
    pub(crate) fn after(&mut self, before: &Before) -> Result<Option<String>> {
        let seconds = before.time.elapsed().as_secs_f64();
        let (busy, steal) = processor_times();
        let foreign = ((busy - before.busy) - (own_time() - before.own)).max(0.0) / seconds;
        let stolen = (steal - before.steal) / seconds;
        let probe = self.probe()?;
        let usual = self.median();
        for ns in [before.probe, probe] {
            if ns > usual * OFF || ns < usual / OFF {
                return Ok(Some(format!("the probe says {ns:.0} ns, usual are {usual:.0}")));
            }
        }
        // Times come in hundredths of a second: a short sample tells little, and two ticks are no
        // load.
        if foreign * seconds > 0.03 && foreign > FOREIGN {
            return Ok(Some(format!("other processes took {:.0} % of a core", foreign * 100.0)));
        }
        if stolen * seconds > 0.03 && stolen > FOREIGN {
            return Ok(Some(format!("the hypervisor took {:.0} % of a core", stolen * 100.0)));
        }
        Ok(None)
    }

    fn probe(&mut self) -> Result<f64> {
        let ns = floor::probe()?;
        self.probes.push(ns);
        Ok(ns)
    }
}

/// Seconds that all processes together have run, and seconds that the hypervisor gave to others.
fn processor_times() -> (f64, f64) {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: Vec<f64> = text
        .lines()
        .next()
        .map(|l| l.split_whitespace().skip(1).filter_map(|w| w.parse().ok()).collect())
        .unwrap_or_default();
    let tick = |i: usize| ticks.get(i).copied().unwrap_or(0.0) / 100.0;
    // user, nice, system; steal is the eighth.
    (tick(0) + tick(1) + tick(2), tick(7))
}

/// Seconds that we and our ended children have run.
fn own_time() -> f64 {
    [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN].into_iter().map(usage).sum()
}

fn usage(who: libc::c_int) -> f64 {
    // SAFETY: rusage is plain numbers, for which all zeroes is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: usage is valid for writes.
    unsafe { libc::getrusage(who, &mut usage) };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
