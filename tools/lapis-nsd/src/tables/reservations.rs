//! Windows reserved for a user, by hand or while a task lives.

use super::{Answer, Entry, Tables};
use crate::caller::Caller;
use lapis_adapters::key::Key;
use lapis_adapters::protocol::{Place, Reply, Why};

impl Tables {
    /// Keeps a window for a user: until it is released, or while the caller is connected if it is
    /// `held`. Reservations come after the windows that tasks have already; but a task may hold
    /// windows again that it had held before, as many as it has shown.
    pub(super) fn reserve(
        &mut self,
        caller: Caller,
        adapter: &str,
        window: Option<u32>,
        held: bool,
    ) -> Answer {
        let is_again = held && window.is_some() && self.has_shown_more_than_it_holds(caller);
        let (share, grown_up) = (self.share_of(caller), self.grown_up());
        let card = self.card_for(caller, adapter)?;
        if !is_again {
            grown_up?;
        }
        let number = match window {
            Some(number) => {
                card.exists(number)?;
                if let Some(entry) = card.windows.get_mut(&number) {
                    if held && entry.is_open_in(caller) {
                        // Another context of the holder's process has shown it first.
                        (entry.reserved, entry.holder) = (true, Some(caller.client));
                        return Ok((Reply::Reserved { window: number }, Vec::new()));
                    }
                    return Err((Why::Taken, format!("window {number} of {adapter} is taken: {entry}")));
                }
                number
            }
            None => card.free(adapter)?,
        };
        card.within(caller, share, adapter)?;
        let holder = held.then_some(caller.client);
        let entry = Entry { user: caller.user, reserved: true, holder, loaded: None, open: None };
        card.windows.insert(number, entry);
        Ok((Reply::Reserved { window: number }, Vec::new()))
    }

    /// Whether more windows are open over a connection than are held over it.
    fn has_shown_more_than_it_holds(&self, caller: Caller) -> bool {
        let entries = || self.cards.iter().flat_map(|card| card.windows.values());
        let is_open = |entry: &&Entry| entry.open.as_ref().is_some_and(|open| open.client == caller.client);
        let is_held = |entry: &&Entry| entry.holder == Some(caller.client);
        entries().filter(is_open).count() > entries().filter(is_held).count()
    }

    /// The entry of a window that this caller has reserved.
    fn reserved(&mut self, caller: Caller, place: &Place) -> Result<&mut Entry, (Why, String)> {
        let card = self.card(&place.adapter)?;
        match card.windows.get_mut(&place.window) {
            Some(entry) if entry.reserved && (entry.user == caller.user || caller.user == 0) => Ok(entry),
            Some(entry) => Err((Why::NotAllowed, format!("{place} is not your reservation: {entry}"))),
            None => Err((Why::NoWindow, format!("{place} is not reserved"))),
        }
    }

    pub(super) fn release(&mut self, caller: Caller, place: &Place) -> Answer {
        let entry = self.reserved(caller, place)?;
        if entry.open.is_some() {
            return Err((Why::Taken, format!("{place} is in use: {entry}")));
        }
        self.card(&place.adapter)?.windows.remove(&place.window);
        Ok((Reply::Done, Vec::new()))
    }

    pub(super) fn load(&mut self, caller: Caller, place: &Place, key: Option<Key>) -> Answer {
        let entry = self.reserved(caller, place)?;
        if entry.open.is_some() {
            return Err((Why::Taken, format!("{place} is in use: {entry}")));
        }
        if let (Some(_), Some(_)) = (key, entry.loaded) {
            return Err((Why::Taken, format!("{place} is loaded for a job: unload it first")));
        }
        entry.loaded = key;
        Ok((Reply::Done, Vec::new()))
    }
}
