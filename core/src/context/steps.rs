//! The steps of a task in a barrier of all tasks, and in an exchange: the choice among schedules.

use super::card::cores_of;
use crate::state::Levels;
use crate::transport::PeerId;
use lapis_schedules::levels::Hosts;
use lapis_schedules::{self as schedules, Place, Script, doubling};

/// On machines of more cores, tasks go in rounds even where they outnumber them: one that talks to
/// all takes longer than some switches of tasks.
const CORES_OF_A_ROOT: usize = 32;

/// Radix of the trees on machines with a core for each task.
const RADIX: usize = 4;

/// How tasks go on two levels: within each host first, then between the first tasks of hosts, then
/// within each host again. `None`: all take part in one schedule, by themselves. All tasks choose
/// by the cards of all, and so choose the same.
///
/// A schedule in rounds needs as many switches in each round as there are tasks on a core. Where
/// all tasks of a machine meet at the first of them, each has the core once.
pub(super) fn levels(me: PeerId, cards: &[Vec<u8>], hosts: &[u32]) -> Option<Levels> {
    let (here, meet) = here(me, cards, hosts);
    let hosts = Hosts::of(hosts.iter().map(|host| u64::from(*host)));
    let by_themselves = hosts.len() == cards.len() || hosts.len() == 1 && !meet;
    (!by_themselves).then_some(Levels { hosts, radix: if meet { here } else { RADIX } })
}

/// The steps of a task in a barrier of `n`.
pub(super) fn barrier_steps(me: PeerId, n: usize, levels: Option<&Levels>) -> Script {
    let at = Place::all(me as usize, n);
    let mut script = Script::default();
    match levels {
        None => doubling::barrier(&mut script, at, 2),
        Some(Levels { hosts, radix }) => schedules::levels::barrier(&mut script, at, hosts, *radix),
    }
    script
}

/// How many tasks share this one's machine, and whether they meet at the first of them.
fn here(me: PeerId, cards: &[Vec<u8>], hosts: &[u32]) -> (usize, bool) {
    let here: Vec<&Vec<u8>> = cards
        .iter()
        .zip(hosts)
        .filter(|(_, host)| **host == hosts[me as usize])
        .map(|(card, _)| card)
        .collect();
    let cores = cores_of(&here);
    (here.len(), (1..=CORES_OF_A_ROOT).contains(&cores) && here.len() > cores)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Act, Barrier};

    /// A card of a task that may run on these cores.
    fn card(cores: &[u8]) -> Vec<u8> {
        let field = |name: &[u8]| [&(name.len() as u16).to_le_bytes(), name].concat();
        [&b"cores"[..], cores].map(field).concat()
    }

    fn of_barrier(me: u32, cards: &[Vec<u8>], hosts: &[u32]) -> Barrier {
        Barrier::new(&barrier_steps(me, cards.len(), levels(me, cards, hosts).as_ref()))
    }

    /// The acts of all tasks on machines of so many cores and tasks.
    fn acts(machines: &[(usize, u32)]) -> Vec<Vec<Act>> {
        let mut cards = Vec::new();
        let mut hosts = Vec::new();
        for (cores, tasks) in machines {
            let mask: Vec<u8> =
                (0..cores.div_ceil(8)).map(|at| (0xff_u16 >> (8 - (cores - 8 * at).min(8))) as u8).collect();
            let first = hosts.len() as u32;
            for _ in 0..*tasks {
                cards.push(card(&mask));
                hosts.push(first);
            }
        }
        let of = |me: u32| of_barrier(me, &cards, &hosts).acts.to_vec();
        (0..cards.len() as u32).map(of).collect()
    }

    fn machines() -> impl Iterator<Item = Vec<(usize, u32)>> {
        let alone = (1..=40).flat_map(|tasks| [vec![(2, tasks)], vec![(64, tasks)]]);
        let several = (1..=6).flat_map(|tasks| {
            [vec![(2, tasks), (64, 5)], vec![(2, 7), (2, tasks), (4, 1)], vec![(1, 1); tasks as usize]]
        });
        alone.chain(several)
    }

    #[test]
    fn what_each_task_awaits_is_sent_once() {
        for machines in machines() {
            let all = acts(&machines);
            for (me, acts) in (0..).zip(&all) {
                for act in acts {
                    let (other, found) = match act {
                        Act::Send { to, step } => (
                            to,
                            all[*to as usize]
                                .iter()
                                .filter(|a| matches!(a, Act::Await { from, step: s, .. } if (*from, s) == (me, step)))
                                .count(),
                        ),
                        Act::Await { from, step, .. } => {
                            let sent = Act::Send { to: me, step: *step };
                            (from, all[*from as usize].iter().filter(|a| **a == sent).count())
                        }
                    };
                    assert_eq!(found, 1, "{machines:?}: {act:?} of task {me}, at task {other}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_awaited_between_sends_that_share_a_line() {
        for machines in machines() {
            for acts in acts(&machines) {
                let mut shown = Vec::new();
                for pair in acts.windows(2) {
                    if let [Act::Send { step, .. }, next] = pair
                        && !matches!(next, Act::Send { step: s, .. } if s == step)
                    {
                        shown.push(*step);
                    }
                }
                let all = shown.len();
                shown.sort_unstable();
                shown.dedup();
                assert_eq!(shown.len(), all, "{machines:?}: {acts:?}");
            }
        }
    }

    #[test]
    fn tasks_that_outnumber_their_cores_meet_at_one_and_others_go_in_rounds() {
        let longest = |machines: &[(usize, u32)]| acts(machines).iter().map(Vec::len).max();
        assert_eq!(longest(&[(2, 64)]), Some(2 * 63), "all meet at the first");
        assert_eq!(longest(&[(64, 64)]), Some(2 * 6), "a core for each");
        assert_eq!(longest(&[(40, 64)]), Some(2 * 6), "many cores");
        assert_eq!(longest(&[(2, 8), (2, 8)]), Some(2 * 7 + 2), "one of each machine talks to the other one");
        assert_eq!(longest(&[(1, 1), (1, 1), (1, 1), (1, 1)]), Some(4), "a task on each machine");
        assert_eq!(longest(&[(1, 1)]), Some(0));
        let silent = of_barrier(0, &vec![Vec::new(); 8], &[0; 8]);
        assert_eq!(silent.acts.len(), 2 * 3, "nothing is known of the cores");
        let bound = [0b1, 0b10, 0b100, 0b1000].map(|mask| card(&[mask])).to_vec();
        assert_eq!(of_barrier(0, &bound, &[0; 4]).acts.len(), 2 * 2, "each bound to its own core");
    }
}
