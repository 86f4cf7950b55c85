//! What changes while a job runs: the state of adapters, next hops, and whether a daemon is there.
//! Core is told of the ways concerned, the user of what matters to them.

use super::Hps;
use super::reach::UNSEEN;
use crate::services::News;
use crate::way::{Link, Way};
use crate::windows::Rails;
use lapis_core::transport::{Event, EventKind, FailoverTrouble, PeerId};

impl Hps {
    /// What core is told of a way: whether it is up, and how long a datagram may be there.
    pub(super) fn path_event(peer: PeerId, path: usize, way: &Way) -> Event {
        Event {
            kind: EventKind::Path as u32,
            peer,
            token: path as u64,
            status: i32::from(way.up),
            len: way.room() as u32,
            ..Event::EMPTY
        }
    }

    /// Tells core of ways that went up or down, after the matrix has changed.
    #[cold]
    pub(super) fn look_at_matrix(&mut self) {
        self.look_at_hops();
        let mut rails = self.rails.work();
        for rail in rails.iter_mut() {
            let up = self.services.is_up(rail.entry.index as usize);
            if std::mem::replace(&mut rail.up, up) != up {
                let state = if up { "up again" } else { "down" };
                self.host.info(format_args!("{}: the adapter is {state}", rail.entry.place));
            }
        }
        for (peer, ways) in (0..).zip(&mut self.ways) {
            for (path, way) in ways.iter_mut().flat_map(|ways| ways.iter_mut()).enumerate() {
                let rail = &rails[way.rail];
                let up = Self::is_up(&self.services, way, rail);
                let mut changed = std::mem::replace(&mut way.up, up) != up;
                if let Link::Wire(wire) = &mut way.link {
                    let room =
                        wire.theirs.min(rail.room()).min(self.services.room(rail.entry.index as usize));
                    changed |= std::mem::replace(&mut wire.room, room) != room;
                }
                if changed {
                    self.news.push_back(Self::path_event(peer, path, way));
                }
            }
        }
        drop(rails);
        let lost = |ways: &[Way]| !ways.is_empty() && ways.iter().all(|way| !way.up);
        let cut_off = self.ways.iter().flatten().any(|ways| lost(ways));
        if cut_off && !std::mem::replace(&mut self.cut_off, cut_off) {
            self.trouble(
                FailoverTrouble::Halted,
                "No adapter is left to some tasks: all are down. What is to be sent waits until one is up again, unless another transport stands by."
                    .to_owned(),
            );
        }
        self.cut_off = cut_off;
    }

    /// Tells the user of failover, if there is anything to fail over to.
    pub(super) fn trouble(&mut self, trouble: FailoverTrouble, text: String) {
        if self.hops.len() > 1 {
            self.troubles.push(trouble, text);
        }
    }

    /// Looks whether the daemon is there.
    #[cold]
    pub(super) fn look_at_daemon(&mut self) {
        let before = self.shows_after();
        let news = match &mut self.rails {
            Rails::Own(rails) => self.services.look(rails),
            // Who has opened them shows them; this context's connection is one beside.
            Rails::Shared(share) => match share.all.look_at_daemon(&mut share.losses) {
                Some(why) => Some(News::Lost(why)),
                None => self.services.look(&[]),
            },
        };
        match news {
            None => {}
            Some(News::Gone) => {
                self.stir();
                self.host.info(format_args!(
                    "the services daemon at `{}` has gone: windows stay, and an adapter that goes down is noticed by its \
                     silence",
                    self.services.address
                ));
                let text = "The services daemon has gone. Paths that fail are left when they are silent.";
                self.trouble(FailoverTrouble::Unwatched, text.to_owned());
            }
            Some(News::Back) => {
                self.host.info(format_args!("a services daemon is back at `{}`", self.services.address));
                self.begin_with_daemon();
            }
            Some(News::Lost(why)) => {
                self.host.warn(format_args!(
                    "the new services daemon at `{}` does not take this task's windows over: {why}",
                    self.services.address
                ));
                self.begin_with_daemon();
            }
            Some(News::Shown) => {
                self.host.info(format_args!(
                    "the services daemon at `{}` has taken this task's windows over by now",
                    self.services.address
                ));
                if let Some(held) = &self.held {
                    held.hold_again(&self.services);
                }
            }
        }
        if self.shows_after() != before {
            self.stir();
        }
        if self.services.is_to_be_asked() {
            self.look_at_matrix();
        }
    }

    /// Has a new daemon tell what the one before it told.
    fn begin_with_daemon(&mut self) {
        self.pace();
        // It tells of changes to hops that it was asked for.
        self.hops.fill(UNSEEN);
        if let Some(held) = &self.held {
            held.hold_again(&self.services);
        }
        self.watch_daemon();
    }

    /// Has the end of the daemon end sleeps.
    pub(super) fn watch_daemon(&self) {
        if let Err(e) = self.notifier.watch_to_look(&self.services.daemon) {
            self.host.debug(format_args!("a task that sleeps does not hear of the daemon: epoll: {e}"));
        }
    }
}
