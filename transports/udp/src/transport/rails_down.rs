//! Rails whose links go down and come back.

use super::{Udp, Way};
use lapis_core::transport::{FailoverTrouble, PeerId};

impl Udp {
    /// Begins to watch the links under the rails, unless that was tried before.
    pub(super) fn watch_links(&mut self) {
        match self.links.watch(&self.rails) {
            Ok(None) => {}
            Ok(Some(news)) => {
                if let Err(e) = self.notifier.watch(news) {
                    self.notifier.unwatch(news);
                    self.trouble_with_failover(FailoverTrouble::SetUp, || {
                        format!("A task that sleeps does not hear of the network links (epoll: {e}).")
                    });
                }
            }
            Err(e) => {
                self.host.info(format_args!(
                    "no news of the network links ({e}): a rail that goes down is noticed by its silence"
                ));
                self.trouble_with_failover(FailoverTrouble::Unwatched, || {
                    format!(
                        "The kernel does not tell of its network links (netlink: {e}). Paths that fail are left when they are \
                         silent."
                    )
                });
            }
        }
    }

    /// The links say that rails went down or came back.
    #[cold]
    pub(super) fn link_news(&mut self) {
        let descriptor = self.links.fd();
        let changes = match self.links.changes(&self.rails, &self.host) {
            Ok(changes) if changes.is_empty() => return,
            Ok(changes) => changes,
            Err(e) => {
                descriptor.into_iter().for_each(|descriptor| self.notifier.unwatch(descriptor));
                return self.trouble_with_failover(FailoverTrouble::Halted, || {
                    format!("The kernel's news of the network links have ended ({e}). Paths that fail are left when they are silent.")
                });
            }
        };
        for &(rail, up) in &changes {
            self.rail_changed(rail, up);
        }
        if changes.iter().any(|(_, up)| *up) {
            self.cut_off = false;
        }
        self.note_cut_off();
    }

    /// A rail went down or came back; its paths may carry more than before.
    pub(super) fn rail_changed(&mut self, rail: usize, up: bool) {
        for peer in 0..self.ways.len() {
            let Some(mut ways) = self.ways[peer].take() else { continue };
            for (path, way) in ways.iter_mut().enumerate().filter(|(_, way)| way.rail == rail) {
                way.down = !up;
                if up && let Ok(room) = self.room(&self.rails[rail], way.addr) {
                    way.room = room;
                }
                self.news.push_back(Self::path_event(peer as PeerId, path, way));
            }
            self.ways[peer] = Some(ways);
        }
    }

    /// Tells if no path is left to tasks to which there are several.
    fn note_cut_off(&mut self) {
        if self.cut_off {
            return;
        }
        let links = &self.links;
        let lost = |ways: &[Way]| ways.len() > 1 && ways.iter().all(|way| !links.is_up(way.rail));
        let tasks: Vec<usize> =
            (0..self.ways.len()).filter(|peer| self.ways[*peer].as_deref().is_some_and(lost)).collect();
        let Some(first) = tasks.first() else { return };
        self.cut_off = true;
        let names: Vec<String> =
            self.ways[*first].iter().flatten().map(|w| self.rails[w.rail].entry.to_string()).collect();
        let others = match tasks.len() - 1 {
            0 => String::new(),
            n => format!(" and {n} others"),
        };
        let text = format!(
            "No path to task {first}{others} is left: the links of {} are down. What is to be sent waits until one is up again, unless another transport stands by.",
            names.join(", ")
        );
        self.trouble_with_failover(FailoverTrouble::Halted, || text);
    }
}
