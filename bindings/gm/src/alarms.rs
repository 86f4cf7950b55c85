//! The alarms of a port.

use crate::alarm::{Alarm, FREE, GmAlarm, SET};
use crate::events::Pending;
use crate::port::Port;
use lapis_core::reliable::Nanos;
use std::ffi::c_void;
use std::time::Duration;

impl Port {
    /// Sets an alarm, or sets it anew.
    ///
    /// # Safety
    /// The alarm's memory is initialized, and stays until the alarm has run or is cancelled.
    pub(crate) unsafe fn set_alarm(&mut self, alarm: Alarm, handle: *mut c_void, after: Duration) {
        let nanos = Nanos::try_from(after.as_nanos()).unwrap_or(Nanos::MAX);
        let deadline = self.net.now().saturating_add(nanos);
        self.alarms.retain(|other| other.memory != alarm.memory);
        // SAFETY: the alarm's memory stays until it has run or is cancelled, as gm_set_alarm asks
        // for.
        unsafe {
            (*alarm.memory).state = SET;
            (*alarm.memory).port = handle;
        }
        self.alarms.push(Alarm { deadline, ..alarm });
    }

    /// Takes an alarm back.
    ///
    /// # Safety
    /// As for [`set_alarm`](Self::set_alarm).
    pub(crate) unsafe fn cancel_alarm(&mut self, alarm: *mut GmAlarm) {
        self.alarms.retain(|other| other.memory != alarm);
        // SAFETY: the alarm's memory stays until it has run or is cancelled, as gm_set_alarm asks
        // for.
        unsafe { (*alarm).state = FREE };
    }

    /// Says that alarms are due, once.
    pub(crate) fn ring_alarms(&mut self, now: Nanos) {
        let due = self.alarms.iter().any(|alarm| alarm.deadline <= now);
        if due && !self.events.iter().any(|event| matches!(event, Pending::Alarm)) {
            self.events.push_back(Pending::Alarm);
        }
    }

    /// Takes the earliest alarm that is due at `now`. One at a time: what an alarm runs may cancel
    /// another one.
    pub(crate) fn due_alarm(&mut self, now: Nanos) -> Option<Alarm> {
        let due = self.alarms.iter().enumerate().filter(|(_, alarm)| alarm.deadline <= now);
        let (at, _) = due.min_by_key(|(_, alarm)| alarm.deadline)?;
        let alarm = self.alarms.remove(at);
        // SAFETY: the program keeps the memory until the alarm has run.
        unsafe { (*alarm.memory).state = FREE };
        Some(alarm)
    }

    /// Microseconds until the next alarm is due; 0 if it is, or if there is none.
    pub(crate) fn usecs_to_alarm(&self) -> u32 {
        let left = self.next_alarm().map_or(0, |at| at.saturating_sub(self.net.now()));
        u32::try_from(left.div_ceil(1000)).unwrap_or(u32::MAX)
    }

    /// When the next alarm is due.
    pub(crate) fn next_alarm(&self) -> Option<Nanos> {
        self.alarms.iter().map(|alarm| alarm.deadline).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rubbish_tests::open;
    use std::ptr::null_mut;

    /// Longer than calls that follow each other closely take.
    const PAUSE: Duration = Duration::from_millis(2);

    fn alarm() -> GmAlarm {
        let mut memory = std::mem::MaybeUninit::uninit();
        // SAFETY: it can be written, and is then.
        unsafe {
            GmAlarm::initialize(memory.as_mut_ptr());
            memory.assume_init()
        }
    }

    #[test]
    fn the_next_call_of_a_program_that_seldom_calls_tells_of_an_alarm() {
        let (mut port, _daemon) = open("seldom");
        let mut memory = alarm();
        for round in 0..40 {
            let new = Alarm { memory: &raw mut memory, deadline: 0, callback: None, context: null_mut() };
            // SAFETY: the memory is initialized, and outlives the alarm.
            unsafe { port.set_alarm(new, null_mut(), PAUSE / 2) };
            // Calls that find no event, and calls of a program that has some.
            for _ in 0..round % 3 {
                port.events.push_back(Pending::FlushedAlarm);
            }
            std::thread::sleep(PAUSE);
            port.look();
            let rings = port.events.drain(..).any(|event| matches!(event, Pending::Alarm));
            // How often it calls the port learns first.
            assert!(rings || round < 32, "round {round}");
            let now = port.net.now();
            assert_eq!(port.due_alarm(now).map(|due| due.memory), Some(&raw mut memory));
        }
    }
}
