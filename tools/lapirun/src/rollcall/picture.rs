//! The report of a roll call: what each task does, which tasks wait for which, and the conclusions.

use std::collections::{BTreeMap, BTreeSet};

use super::diagnosis::{Diagnosis, time};
use super::report::{Report, Seen, Waits};

/// Up to so many tasks have a line each; more are put together by what they do.
const LINES: usize = 32;
/// Numbers that a list shows.
const SHOWN: usize = 8;

/// One task: how it stands, and what was seen of it.
pub(crate) struct Member {
    pub(crate) report: Report,
    /// How it ended, if it has.
    pub(crate) ended: Option<String>,
}

struct Line<'a> {
    diagnosis: Diagnosis,
    seen: Option<&'a Seen>,
    report: &'a Report,
    needs: Vec<u32>,
}

/// The longest time for which a task has been held up, in milliseconds.
pub(crate) fn longest(members: &BTreeMap<u32, Member>) -> Option<u64> {
    members.values().filter(|m| m.ended.is_none()).filter_map(|m| Diagnosis::of(&m.report).0.ms()).max()
}

/// The picture, line by line.
pub(crate) fn draw(members: &BTreeMap<u32, Member>) -> Vec<String> {
    let lines: BTreeMap<u32, Line<'_>> =
        members.iter().map(|(task, member)| (*task, Line::of(member))).collect();
    let mut text = Vec::new();
    if lines.len() <= LINES {
        text.extend(lines.iter().map(|(task, line)| {
            format!("task {task} (process {}): {}", line.report.process, line.in_full())
        }));
    } else {
        let mut groups: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        lines.iter().for_each(|(task, line)| groups.entry(line.in_short()).or_default().push(*task));
        let mut groups: Vec<_> = groups.into_iter().collect();
        // What few do is what is looked for.
        groups.sort_by_key(|(_, tasks)| tasks.len());
        text.extend(groups.into_iter().map(|(what, tasks)| format!("{}: {what}", listed(&tasks))));
    }
    text.extend(conclusions(&lines));
    text
}

impl<'a> Line<'a> {
    fn of(member: &'a Member) -> Self {
        let (diagnosis, seen) = match &member.ended {
            Some(how) => (Diagnosis::Gone(how.clone()), None),
            None => Diagnosis::of(&member.report),
        };
        let needs = diagnosis.needs(seen);
        Self { diagnosis, seen, report: &member.report, needs }
    }

    /// What the task does, without what differs between tasks that do the same.
    fn in_short(&self) -> String {
        match &self.diagnosis {
            Diagnosis::Gone(how) => format!("has gone: {how}"),
            Diagnosis::Unknown => "its process can't be looked at".into(),
            Diagnosis::Stopped => "is stopped (SIGSTOP, or a debugger)".into(),
            Diagnosis::NoContext => {
                format!("has no context: it is before LAPI_Init or after LAPI_Term, and {}", self.of_kernel())
            }
            Diagnosis::InHandler(_) => {
                "a handler of the program, or a thread with the lock, keeps the library from going on".into()
            }
            Diagnosis::Waits(waits) => {
                let all: BTreeSet<String> = waits.iter().map(kind).collect();
                format!("waits {}", all.into_iter().collect::<Vec<_>>().join(" and "))
            }
            Diagnosis::NoRoom(..) => "has something to send and no room for it".into(),
            Diagnosis::Spins(..) => "tries again and again to change a variable (a lock?)".into(),
            Diagnosis::Works => "is at work".into(),
            Diagnosis::Polls => "polls, and nothing comes".into(),
            Diagnosis::Outside => format!("is in no call of Lapis: it {}", self.of_kernel()),
        }
    }

    fn of_kernel(&self) -> String {
        match (self.report.ran, self.report.place.as_str()) {
            _ if self.report.starved => "computes, when it gets a processor".into(),
            (true, _) => "computes".into(),
            (false, "") => "sleeps".into(),
            (false, place) => format!("sleeps ({place})"),
        }
    }

    fn in_full(&self) -> String {
        let mut text = match &self.diagnosis {
            Diagnosis::Waits(waits) => {
                let each: Vec<String> = waits.iter().map(|wait| self.wait(wait)).collect();
                each.join("; ")
            }
            Diagnosis::NoRoom(peer, ms) => {
                format!("has had no room for {} for what it sends to task {peer}", time(*ms))
            }
            Diagnosis::Spins(peer, address, times) => format!(
                "tries again and again to change the variable at {address:#x} of task {peer} ({times} \
                 compare-and-swaps failed just now: a lock?)"
            ),
            Diagnosis::InHandler(ms) => format!("{} for {}", self.in_short(), time(*ms)),
            _ => self.in_short(),
        };
        let Some(seen) = self.seen.filter(|_| !matches!(self.diagnosis, Diagnosis::Works)) else {
            return text;
        };
        if seen.open > 0 {
            let some: Vec<String> =
                seen.opened.iter().take(4).map(|(peer, what)| format!("{what}, task {peer}")).collect();
            text += &format!("; {} of its operations have no answer ({})", seen.open, some.join("; "));
        }
        for (rail, peer, timeouts) in &seen.rails {
            text += &format!("; on rail {rail} task {peer} does not acknowledge ({timeouts} times asked)");
        }
        if let Some((peer, ms)) = seen.heard {
            text += &format!("; last heard of task {peer}, {} ago", time(ms));
        } else if seen.packets[1] == 0 {
            text += "; nothing has come since the start";
        }
        text
    }

    fn wait(&self, wait: &Waits) -> String {
        let mut text = format!("waits {} for {}", kind(wait), time(wait.ms));
        if let Some((address, value, wanted)) = wait.counter {
            text += &format!(" ({value} of {wanted}, at {address:#x})");
        }
        if let Some(peer) = wait.peer {
            text += &format!(", for task {peer}");
        } else if wait.kind == "fence" && !self.needs.is_empty() {
            text += &format!(", for {}", listed(&self.needs));
        }
        text
    }
}

fn kind(wait: &Waits) -> String {
    let what = match wait.kind.as_str() {
        "counter" => "for a counter",
        "condition" => "for a condition",
        "fence" => "in a fence",
        "barrier" => "in a barrier",
        "exchange" => "in an exchange",
        "end" => "for what is under way to end",
        other => other,
    };
    let who = if wait.handler { ", in a completion handler," } else { "" };
    format!("{what}{who}")
}

/// "task 3" or "tasks 1, 2, 3 and 9 more".
pub(crate) fn listed(tasks: &[u32]) -> String {
    let shown: Vec<String> = tasks.iter().take(SHOWN).map(u32::to_string).collect();
    let word = if tasks.len() == 1 { "task" } else { "tasks" };
    match tasks.len().saturating_sub(SHOWN) {
        0 => format!("{word} {}", shown.join(", ")),
        more => format!("{word} {} and {more} more", shown.join(", ")),
    }
}

fn have(tasks: &[u32]) -> String {
    format!("{} {}", listed(tasks), if tasks.len() == 1 { "has" } else { "have" })
}

/// What follows from all of it.
fn conclusions(lines: &BTreeMap<u32, Line<'_>>) -> Vec<String> {
    let mut text = Vec::new();
    let waiting: Vec<u32> =
        lines.iter().filter(|(_, l)| matches!(l.diagnosis, Diagnosis::Waits(_))).map(|(t, _)| *t).collect();
    let held = |l: &Line<'_>| {
        !l.diagnosis.is_free() && !matches!(l.diagnosis, Diagnosis::Gone(_) | Diagnosis::Unknown)
    };
    for (task, line) in lines {
        let waiters: Vec<u32> =
            lines.iter().filter(|(_, l)| l.needs.contains(task)).map(|(t, _)| *t).collect();
        if matches!(line.diagnosis, Diagnosis::Gone(_)) && !waiters.is_empty() {
            let wait = if waiters.len() == 1 { "waits" } else { "wait" };
            text.push(format!("=> {} {wait} for task {task}, which has gone", listed(&waiters)));
        }
    }
    for cycle in cycles(lines) {
        let ring: Vec<String> = cycle.iter().chain(cycle.first()).map(u32::to_string).collect();
        let locks = cycle.iter().all(|t| matches!(lines[t].diagnosis, Diagnosis::Spins(..)));
        let what = if locks { "crossed locks" } else { "cycle" };
        text.push(format!("=> {what}: each waits for the next: {}", ring.join(" -> ")));
    }
    text.extend(rails(lines));
    text.extend(laggards(lines));
    text.extend(counters(lines, &waiting));
    let all_held = lines.values().all(|l| held(l) || matches!(l.diagnosis, Diagnosis::Gone(_)));
    let failed: Vec<u32> =
        lines.iter().filter(|(_, l)| matches!(l.diagnosis, Diagnosis::Gone(_))).map(|(t, _)| *t).collect();
    if !failed.is_empty() && lines.values().any(held) {
        text.push(format!("=> {} gone: what others wait for may have been theirs to send", have(&failed)));
    }
    let moves = lines.values().any(|l| l.seen.is_some_and(|s| s.moved != [0, 0]));
    if all_held && !moves && lines.values().any(held) {
        text.push("=> deadlock: every task is held up, and nothing is under way between them".into());
    }
    text
}

/// Rails on which somebody does not acknowledge.
fn rails(lines: &BTreeMap<u32, Line<'_>>) -> Vec<String> {
    let mut lost: BTreeMap<&str, BTreeSet<(u32, u32)>> = BTreeMap::new();
    for (task, line) in lines {
        for (rail, peer, _) in line.seen.map_or(&[][..], |s| &s.rails) {
            lost.entry(rail).or_default().insert((*task, *peer));
        }
    }
    let pair = |(a, b): &(u32, u32)| format!("{a} -> {b}");
    let line = |(rail, pairs): (&str, BTreeSet<(u32, u32)>)| {
        let shown: Vec<String> = pairs.iter().take(SHOWN).map(pair).collect();
        format!("=> lost rail {rail}: no acknowledgement on {}", shown.join(", "))
    };
    lost.into_iter().map(line).collect()
}

/// Tasks that others wait for, and that wait for nobody.
fn laggards(lines: &BTreeMap<u32, Line<'_>>) -> Vec<String> {
    let in_barrier = |l: &Line<'_>| match &l.diagnosis {
        Diagnosis::Waits(waits) => waits.iter().any(|w| matches!(w.kind.as_str(), "barrier" | "exchange")),
        _ => false,
    };
    let gathered: Vec<u32> = lines.iter().filter(|(_, l)| in_barrier(l)).map(|(t, _)| *t).collect();
    let mut text = Vec::new();
    for (task, line) in lines {
        let gone = matches!(line.diagnosis, Diagnosis::Gone(_));
        let mut waiters: Vec<u32> =
            lines.iter().filter(|(_, l)| l.needs.contains(task)).map(|(t, _)| *t).collect();
        let absent = !gathered.is_empty() && !in_barrier(line);
        if absent {
            waiters.extend(&gathered);
            waiters.sort_unstable();
            waiters.dedup();
        }
        // Who waits for somebody else is in a chain; its end is what is to be named.
        if waiters.is_empty() || gone || !(line.diagnosis.is_free() || absent && line.needs.is_empty()) {
            continue;
        }
        let call = if absent { " has not come to the barrier" } else { "" };
        text.push(format!(
            "=> laggard: task {task}{call}{} {}; {} for it",
            if absent { ": it" } else { "" },
            line.in_short(),
            format_args!("{} wait{}", listed(&waiters), if waiters.len() == 1 { "s" } else { "" })
        ));
    }
    if text.len() > SHOWN {
        let more = text.len() - SHOWN;
        text.truncate(SHOWN);
        text.push(format!("=> and {more} more laggards"));
    }
    text
}

/// Waits for counters for which nothing of the task's own is under way: somebody else must count.
fn counters(lines: &BTreeMap<u32, Line<'_>>, waiting: &[u32]) -> Vec<String> {
    let mut text = Vec::new();
    for task in waiting {
        let line = &lines[task];
        let (Diagnosis::Waits(waits), Some(seen)) = (&line.diagnosis, line.seen) else { continue };
        for wait in waits.iter().filter(|w| w.kind == "counter" && seen.open == 0) {
            let Some((_, value, wanted)) = wait.counter else { continue };
            let came = seen.message.filter(|(_, ms)| *ms < wait.ms);
            text.push(match (came, value) {
                (Some((peer, _)), 0) => format!(
                    "=> task {task}: something came from task {peer} while it waited and did not count: \
                     another counter?"
                ),
                (None, 0) => format!(
                    "=> task {task}: nobody has sent what its counter waits for: a message or put with it is missing"
                ),
                (_, value) => format!(
                    "=> task {task}: {value} of {wanted} came and nothing else is under way: is the value right?"
                ),
            });
        }
    }
    text.truncate(SHOWN);
    text
}

/// Rings of tasks each of which needs the next one.
fn cycles(lines: &BTreeMap<u32, Line<'_>>) -> Vec<Vec<u32>> {
    let mut found = Vec::new();
    let mut done = BTreeSet::new();
    for start in lines.keys() {
        let mut path: Vec<u32> = Vec::new();
        let mut at = *start;
        // Along the first need of each: who needs several tasks needs each of them.
        while !done.contains(&at) && !path.contains(&at) {
            path.push(at);
            match lines.get(&at).and_then(|l| l.needs.first()) {
                Some(next) => at = *next,
                None => break,
            }
        }
        if let Some(begin) = path.iter().position(|t| *t == at).filter(|_| !done.contains(&at))
            && lines.get(&at).is_some_and(|l| !l.needs.is_empty())
            && path.len() - begin > 1
        {
            let mut ring = path[begin..].to_vec();
            let least = (0..ring.len()).min_by_key(|n| ring[*n]).unwrap_or(0);
            ring.rotate_left(least);
            found.push(ring);
        }
        done.extend(path);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(kind: &str, peer: Option<u32>) -> Waits {
        Waits { kind: kind.into(), ms: 5000, peer, counter: None, handler: false }
    }

    fn member(seen: Seen) -> Member {
        Member {
            report: Report { state: 'S', process: 9, contexts: vec![seen], ..Report::default() },
            ended: None,
        }
    }

    fn picture(members: Vec<Member>) -> String {
        draw(&(0..).zip(members).collect()).join("\n")
    }

    fn waiting(kind: &str, peer: Option<u32>) -> Seen {
        Seen { polling: 1, fresh: true, waits: vec![waits(kind, peer)], ..Seen::default() }
    }

    #[test]
    fn rings_are_named_once() {
        let text = picture(vec![
            member(waiting("condition", Some(1))),
            member(waiting("condition", Some(2))),
            member(waiting("condition", Some(1))),
        ]);
        assert!(text.contains("=> cycle: each waits for the next: 1 -> 2 -> 1"), "{text}");
        assert_eq!(text.matches("cycle").count(), 1, "{text}");
        assert!(text.contains("=> deadlock"), "{text}");
    }

    #[test]
    fn nothing_is_said_of_tasks_that_nobody_has_seen() {
        let unseen = || Member { report: Report { state: 'Z', ..Report::default() }, ended: None };
        let text = picture(vec![unseen(), unseen()]);
        assert!(text.contains("task 1 (process 0): its process can't be looked at"), "{text}");
        assert!(!text.contains("=>"), "{text}");
        let text = picture(vec![member(waiting("condition", Some(1))), unseen()]);
        assert!(!text.contains("deadlock"), "{text}");
    }

    #[test]
    fn who_has_not_come_to_a_barrier_is_named() {
        let absent = Seen { fresh: false, ..Seen::default() };
        let text = picture(vec![member(waiting("barrier", Some(1))), member(absent)]);
        assert!(text.contains("=> laggard: task 1 has not come to the barrier"), "{text}");
        assert!(!text.contains("deadlock"), "{text}");
    }

    #[test]
    fn many_tasks_are_put_together_and_the_few_come_first() {
        let mut members: Vec<Member> = (0..99).map(|_| member(waiting("barrier", Some(99)))).collect();
        members.push(member(Seen::default()));
        let text = picture(members);
        assert!(text.starts_with("task 99: is in no call"), "{text}");
        assert!(text.contains("tasks 0, 1, 2, 3, 4, 5, 6, 7 and 91 more: waits in a barrier"), "{text}");
    }

    #[test]
    fn a_task_that_has_gone_is_named_with_its_cause() {
        let gone = Member { ended: Some("was killed by signal 9".into()), ..member(Seen::default()) };
        let text = picture(vec![member(waiting("condition", Some(1))), gone]);
        assert!(text.contains("task 1 (process 9): has gone: was killed by signal 9"), "{text}");
        assert!(text.contains("=> task 0 waits for task 1, which has gone"), "{text}");
    }
}
