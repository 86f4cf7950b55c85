//! Adapters with their windows and the windows' owners.

use super::FIRST_PORT;
use crate::adapters::{AdapterSpec, FROM_ADDRESS};
use crate::caller::Caller;
use crate::eth::interface::{Interface, State};
use crate::eth::netlink::Heard;
use crate::process::Process;
use lapis_adapters::key::Key;
use lapis_adapters::protocol::{Adapter, Why};
use lapis_adapters::soft::Parts;
use std::collections::BTreeMap;

/// A window that is not free.
pub(super) struct Entry {
    pub(super) user: u32,
    /// Kept by hand or held by a client, so that it isn't free when a task closes it.
    pub(super) reserved: bool,
    /// The client with whose connection the reservation ends.
    pub(super) holder: Option<u64>,
    /// Loaded by hand: the only job that may open it.
    pub(super) loaded: Option<Key>,
    pub(super) open: Option<Opened>,
}

pub(super) struct Opened {
    pub(super) client: u64,
    pub(super) process: u32,
    pub(super) key: Key,
    pub(super) parts: Parts,
}

pub(super) struct Card {
    pub(super) spec: AdapterSpec,
    /// Not taken down by hand.
    pub(super) wanted: bool,
    /// What the interface is at present, if it is one.
    pub(super) interface: Option<(Interface, State)>,
    pub(super) windows: BTreeMap<u32, Entry>,
}

/// What a user may have of an adapter's windows.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// How many; none: half of them.
    pub(super) most: Option<u32>,
    /// No more of any adapter.
    pub(super) is_short: bool,
}

impl Card {
    pub(super) fn new(mut spec: AdapterSpec) -> Result<Self, String> {
        let interface = match &spec.interface {
            Some(name) => Some(Interface::take(name, spec.windows, FIRST_PORT, (spec.busy_poll, spec.mode))?),
            None => None,
        };
        let interface = interface.map(|mut interface| {
            if spec.network == FROM_ADDRESS {
                spec.network = interface.network();
            }
            let state = interface.look(Heard::ALL);
            (interface, state)
        });
        Ok(Self { spec, wanted: true, interface, windows: BTreeMap::new() })
    }

    pub(super) fn is_up(&self) -> bool {
        self.wanted && self.interface.as_ref().is_none_or(|(_, state)| state.up)
    }

    /// Forgets the next hops that tasks knew when none has a window open any more. Windows that a
    /// daemon before this one has made count, too.
    pub(super) fn forget_hops(&mut self) {
        let is_open = self.windows.values().any(|entry| entry.open.is_some());
        if let Some((interface, _)) = self.interface.as_mut().filter(|_| !is_open) {
            interface.forget_hops();
        }
    }

    /// Why a caller may have no windows of it.
    pub(super) fn denied(&self, caller: Caller, may_send: bool) -> Option<String> {
        let (user, name) = (caller.user, &self.spec.name);
        (self.interface.is_some() && !may_send).then(|| {
            format!(
                "user {user} may not have windows of {name}: `lapis-nsd --eth-user {user}` lets a user send frames there"
            )
        })
    }

    /// What it is. If the one who asks may use it, an interface that was refused is tried again.
    pub(super) fn tell(&mut self, index: u32, may_send: bool) -> Adapter {
        if let Some((interface, _)) = self.interface.as_mut().filter(|_| may_send) {
            interface.retry();
        }
        let interface = self.interface.as_ref();
        let longest = self.spec.geometry.longest() as u32;
        Adapter {
            name: self.spec.name.clone(),
            kind: if interface.is_some() { "eth" } else { "soft" }.to_owned(),
            interface: interface.map(|(interface, _)| interface.name().to_owned()),
            mode: interface.and_then(|(interface, _)| interface.mode()),
            refused: interface.and_then(|(interface, _)| interface.refused()).map(str::to_owned),
            soon: interface.is_some_and(|(interface, _)| interface.is_refused_for_now()),
            network: self.spec.network,
            index,
            up: self.is_up(),
            windows: self.spec.windows,
            taken: self.windows.len() as u32,
            longest: interface.map_or(longest, |(_, state)| state.room),
        }
    }

    pub(super) fn exists(&self, number: u32) -> Result<(), (Why, String)> {
        let (name, windows) = (&self.spec.name, self.spec.windows);
        let text = || format!("{name} has no window {number}: its windows are 0 to {}", windows - 1);
        if number < windows { Ok(()) } else { Err((Why::NoWindow, text())) }
    }

    /// The process that may still use a window which nobody has open.
    pub(super) fn still_used_by(&self, number: u32) -> Option<&Process> {
        self.interface.as_ref()?.0.still_used_by(number)
    }

    /// The lowest free window.
    pub(super) fn free(&self, name: &str) -> Result<u32, (Why, String)> {
        let is_free = |n: &u32| !self.windows.contains_key(n) && self.still_used_by(*n).is_none();
        (0..self.spec.windows).find(is_free).ok_or_else(|| {
            let text = format!(
                "all {} windows of {name} are taken: `lapis-windows status` tells by whom",
                self.spec.windows
            );
            (Why::Full, text)
        })
    }

    /// Refuses a user who has his share.
    pub(super) fn within(&self, caller: Caller, share: Share, name: &str) -> Result<(), (Why, String)> {
        if share.is_short {
            let text = "users have as many windows as the daemon's limit of descriptors leaves them: raise it \
                        (`ulimit -n`, or LimitNOFILE of its unit)";
            return Err((Why::Full, text.to_owned()));
        }
        let share = share.most.unwrap_or_else(|| self.spec.windows.div_ceil(2));
        let has = self.windows.values().filter(|entry| entry.user == caller.user).count();
        if caller.user == 0 || has < share as usize {
            return Ok(());
        }
        let text = format!("user {} has {has} windows of {name}, as many as one user may have", caller.user);
        Err((Why::Full, text))
    }

    pub(super) fn may_open(&self, caller: Caller, number: u32, key: Key) -> Result<(), (Why, String)> {
        self.exists(number)?;
        let Some(entry) = self.windows.get(&number) else { return Ok(()) };
        let name = &self.spec.name;
        if entry.user != caller.user || entry.open.is_some() {
            return Err((Why::Taken, format!("window {number} of {name} is taken: {entry}")));
        }
        match entry.loaded {
            Some(loaded) if loaded != key => {
                let text = format!(
                    "window {number} of {name} is loaded for job {}, and this is job {}",
                    loaded.fingerprint(),
                    key.fingerprint()
                );
                Err((Why::WrongKey, text))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn put(&mut self, number: u32, caller: Caller, key: Key, parts: Parts) {
        let opened = Opened { client: caller.client, process: caller.process, key, parts };
        let free = Entry { user: caller.user, reserved: false, holder: None, loaded: None, open: None };
        self.windows.entry(number).or_insert(free).open = Some(opened);
    }
}

impl Entry {
    /// Whether the caller's process has it open, and nobody holds it.
    pub(super) fn is_open_in(&self, caller: Caller) -> bool {
        // 0: in a PID name space that the daemon can't see. Two of them may be different ones.
        let is_theirs = |open: &Opened| open.process == caller.process && caller.process != 0;
        !self.reserved && self.user == caller.user && self.open.as_ref().is_some_and(is_theirs)
    }

    pub(super) fn state(&self) -> &'static str {
        match self {
            Self { open: Some(_), .. } => "open",
            Self { loaded: Some(_), .. } => "loaded",
            _ => "reserved",
        }
    }
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.open {
            Some(open) => write!(f, "process {} of user {} has it open", open.process, self.user),
            None => write!(f, "user {} has it {}", self.user, self.state()),
        }
    }
}
