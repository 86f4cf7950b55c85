//! The traffic and state of each rail, for readers and for tools that observe running jobs.

use super::Rdma;
use lapis_core::transport::RailReport;

impl Rdma {
    /// One rail.
    pub(super) fn report(&self, rail: usize) -> RailReport {
        let r = &self.rails[rail];
        let peers = (0..self.peers.len() as u32).filter_map(|peer| self.peers.get(peer));
        let paths: Vec<bool> = peers
            .filter(|p| !p.down)
            .filter_map(|p| p.paths.iter().find(|path| path.rail == rail).map(|path| path.up))
            .collect();
        RailReport {
            number: rail as u32,
            up: u32::from(!r.closed && self.links.is_up(rail)),
            peers: paths.len() as u32,
            left: paths.iter().filter(|up| !**up).count() as u32,
            messages_sent: r.sender.sent.messages,
            messages_received: r.received.messages,
            bytes_sent: r.sender.sent.bytes + r.transfers.put.bytes,
            bytes_received: r.received.bytes + r.transfers.got.bytes,
            transfers: r.transfers.put.messages + r.transfers.got.messages,
            renewals: r.life.into(),
        }
    }

    /// All of them in a text, once one has carried anything.
    pub(super) fn rail_summary(&self) -> String {
        let reports: Vec<RailReport> = (0..self.rails.len()).map(|rail| self.report(rail)).collect();
        if reports.iter().all(|report| report.messages_sent + report.messages_received == 0) {
            return String::new();
        }
        reports.iter().map(text).collect()
    }
}

fn text(r: &RailReport) -> String {
    format!(
        "; rail {} {}: {} of {} peers, {} messages and {} bytes sent, {} and {} received, {} transfers, opened anew \
         {} times",
        r.number,
        if r.up == 1 { "up" } else { "down" },
        r.peers - r.left,
        r.peers,
        r.messages_sent,
        r.bytes_sent,
        r.messages_received,
        r.bytes_received,
        r.transfers,
        r.renewals
    )
}
