//! A model of the rounds of all members: who is able to go on does, in random orders.

use super::places::{LEAST_AREAS, MOST_AREAS};
use super::{Order, Plan, Put, Readers, Round, Spot, Take};
use crate::call::Call;
use lapis_schedules::trial::{JUNK, Map, noise, then, value};
use lapis_schedules::{Buffer, Side, Span};

pub(super) struct Member<'a> {
    plan: Plan<'a>,
    buffers: [Vec<Map>; 3],
    in_place: bool,
    /// Round that was shown last, from 1 on, and the one that is under way or was the last.
    pub(super) begun: usize,
    present: usize,
    /// How many of its takes were made.
    taken: usize,
    /// Meetings up to that round, and whether the last one is not open yet for all that it knows.
    meetings: usize,
    waits: bool,
    /// Rounds that others need, as they have told.
    heard: usize,
    round: Round,
}

/// Memory that all map.
struct Shared {
    /// By member and slot.
    areas: Vec<Vec<Area>>,
    /// Who has come, to all meetings together; the round of the one that was opened last.
    come: usize,
    open: usize,
    /// Two rows, used in turns: elements, and of which round they are.
    rows: [Vec<(usize, Map)>; 2],
}

/// Where a member's data of a round lies, of which round it is, and what is told in it.
type Area = (usize, Vec<Map>, Vec<u64>);

impl<'a> Member<'a> {
    fn new(plan: Plan<'a>, buffers: [Vec<Map>; 3], in_place: bool) -> Self {
        Member {
            plan,
            buffers,
            in_place,
            begun: 0,
            present: 0,
            taken: 0,
            meetings: 0,
            waits: false,
            heard: 0,
            round: Round::default(),
        }
    }

    fn buffer(&mut self, which: Buffer) -> &mut Vec<Map> {
        let which = if self.in_place && which == Buffer::Input { Buffer::Output } else { which };
        &mut self.buffers[which as usize]
    }

    fn read(&mut self, span: Span) -> Vec<Map> {
        self.buffer(span.buffer)[span.start..][..span.len].to_vec()
    }

    fn write(&mut self, span: Span, data: &[Map]) {
        assert_ne!(span.buffer, Buffer::Input);
        self.buffer(span.buffer)[span.start..][..span.len].copy_from_slice(data);
    }

    pub(super) fn rounds(&self) -> usize {
        self.plan.rounds(self.heard)
    }

    pub(super) fn ended_round(&self) -> bool {
        !self.waits && self.taken == self.round.takes.len() && self.begun == self.present
    }

    /// Makes a take of the round that was begun last.
    fn take(&mut self, take: &Take, shared: &Shared) {
        let n = shared.areas.len();
        let mut data = if let Spot::Row(share) = self.plan.spot(0) {
            let row = &shared.rows[self.meetings % 2][take.member * share + take.at..][..take.into.len];
            assert!(row.iter().all(|(round, _)| *round == self.begun), "a row was used again too early");
            row.iter().map(|(_, data)| *data).collect()
        } else {
            let areas = &shared.areas[take.member];
            let (round, data, told) = &areas[self.present % areas.len()];
            assert_eq!(*round, self.present, "an area was used again too early");
            if let Some(expected) = take.told {
                assert_eq!(told[self.plan.me], expected, "what {} has", take.member);
                self.heard = self.heard.max(told[n] as usize);
            }
            data[take.at..][..take.into.len].to_vec()
        };
        let here = self.read(take.into);
        for (new, old) in data.iter_mut().zip(&here) {
            *new = match take.fold {
                None => *new,
                Some(Side::Before) => then(new, old),
                Some(Side::After) => then(old, new),
            };
        }
        self.write(take.into, &data);
    }

    /// Puts data of the round that was begun last, as `member`'s.
    fn put(&mut self, puts: &[Put], member: usize, shared: &mut Shared) {
        let (begun, width) = (self.present, self.plan.width());
        for put in puts {
            assert!(put.at + put.from.len <= width, "{put:?} beyond {width}");
            let data = self.read(put.from);
            if let Spot::Row(share) = self.plan.spot(0) {
                let row = &mut shared.rows[self.meetings % 2];
                row.resize(row.len().max((shared.areas.len() + 1) * share), (0, JUNK));
                let into = &mut row[member * share + put.at..][..data.len()];
                into.iter_mut().zip(data).for_each(|(into, data)| *into = (begun, data));
            } else {
                let areas = &mut shared.areas[member];
                let slot = begun % areas.len();
                areas[slot].1[put.at..][..data.len()].copy_from_slice(&data);
            }
        }
    }

    /// Comes to the meeting of the round that was begun last.
    fn come(&mut self, shared: &mut Shared) {
        self.meetings += 1;
        // What is put stands in the row of this meeting.
        let (puts, n) = (self.round.puts.clone(), shared.areas.len());
        self.put(&puts, self.plan.me, shared);
        shared.come += 1;
        self.waits = shared.come < n * self.meetings;
        if self.waits {
            return;
        }
        let mut round = std::mem::take(&mut self.round);
        if self.plan.last(self.begun - 1, &mut round) {
            round.takes.iter().flat_map(|take| take.each()).for_each(|take| self.take(&take, shared));
            self.put(&round.puts, n, shared);
            round.takes.clear();
        }
        self.round = round;
        shared.open = self.begun;
    }
}

/// How long data goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Areas,
    /// The same, and members compare their calls.
    Compared,
    /// Members show their inputs.
    Shown,
    /// Rounds are wide.
    Wide,
    /// Members that meet take twice the room at once.
    Shares,
}

/// The buffers of one case: as many elements of input and output as a member needs.
pub(super) struct Case<'a> {
    pub(super) call: Call<'a>,
    /// Where each member has lists of its own.
    pub(super) calls: Option<&'a dyn Fn(usize) -> Call<'static>>,
    pub(super) n: usize,
    pub(super) room: usize,
    pub(super) in_place: bool,
    pub(super) way: Way,
    pub(super) inputs: &'a dyn Fn(usize) -> usize,
    pub(super) outputs: &'a dyn Fn(usize) -> usize,
    pub(super) expected: &'a dyn Fn(usize, usize) -> Map,
}

impl Case<'_> {
    /// How many areas members use in turns.
    pub(super) fn slots(&self) -> usize {
        match self.way {
            Way::Wide => 2,
            _ if self.room > 3 * self.n => MOST_AREAS,
            _ => LEAST_AREAS,
        }
    }

    /// Everybody goes on as long as that is possible, but a member that never begins.
    pub(super) fn run(&self, absent: Option<usize>) -> Vec<Member<'_>> {
        self.run_members((0..self.n).map(|me| self.member(me)).collect(), absent)
    }

    fn run_members<'m>(&self, mut members: Vec<Member<'m>>, absent: Option<usize>) -> Vec<Member<'m>> {
        let n = self.n;
        let areas = vec![vec![(0, vec![JUNK; self.room], Vec::new()); self.slots()]; n];
        let mut shared = Shared { areas, come: 0, open: 0, rows: [Vec::new(), Vec::new()] };
        let mut random = (n * 31 + self.room) as u64;
        loop {
            random = noise(random);
            let from = random as usize % n;
            let mut order = (from..n).chain(0..from).filter(|me| Some(*me) != absent);
            let Some(me) = order.find(|me| self.is_able(&members, &shared, *me)) else { break };
            // Some go on for long, some stop after each step.
            for _ in 0..1 + random % 5 {
                if self.is_able(&members, &shared, me) {
                    step(&mut members, &mut shared, me);
                }
            }
        }
        members
    }

    pub(super) fn check(&self) {
        self.check_once();
        let (call, areas) = (self.calls.map_or(self.call, |calls| calls(0)), self.way == Way::Areas);
        let plan = Plan::new(&call, 0, self.n, self.room, 1).filter(|_| areas);
        if plan.is_some_and(|plan| plan.order() == Order::OneWay) {
            Case { way: Way::Compared, ..*self }.check_once();
        }
    }

    fn check_once(&self) {
        let n = self.n;
        let members = self.run(None);
        let rounds = members[0].rounds();
        for (me, member) in members.iter().enumerate() {
            assert!(member.begun == rounds && member.ended_round(), "{:?} of {n}: {me} waits", self.call);
            assert_eq!(member.rounds(), rounds, "{:?} of {n}", self.call);
            assert_eq!(member.plan.width(), members[0].plan.width());
            for i in 0..(self.outputs)(me) {
                let got = member.buffers[1][i];
                assert_eq!(got, (self.expected)(me, i), "{:?} of {n}: member {me} element {i}", self.call);
            }
        }
    }

    fn member(&self, me: usize) -> Member<'_> {
        let call = self.calls.map_or(self.call, |calls| calls(me));
        let plan = Plan::new(&call, me, self.n, self.room, 1).unwrap();
        let plan = match self.way {
            Way::Areas => plan,
            Way::Compared => plan.comparing(),
            Way::Shown => plan.shown(),
            Way::Wide => plan.wide(self.room),
            Way::Shares => plan.in_windows_of(2 * self.room, usize::MAX),
        };
        let broadcasts = matches!(
            self.call,
            Call::Broadcast { root, .. } | Call::Multicast { root, .. } if root == me
        );
        let input: Vec<Map> = (0..(self.inputs)(me)).map(|i| value(me, i)).collect();
        let mut output = vec![JUNK; (self.outputs)(me)];
        if broadcasts {
            output = (0..output.len()).map(|i| value(me, i)).collect();
        }
        if self.in_place {
            output.resize(output.len().max(input.len()), JUNK);
            output[..input.len()].copy_from_slice(&input);
        }
        let scratch = vec![JUNK; plan.scratch()];
        Member::new(plan, [input, output, scratch], self.in_place)
    }

    fn is_able(&self, members: &[Member<'_>], shared: &Shared, me: usize) -> bool {
        let member = &members[me];
        if member.waits {
            return shared.open == member.begun;
        }
        if let Some(take) = member.round.takes.get(member.taken) {
            return member.plan.meets()
                || shared.areas[take.member][member.present % self.slots()].0 >= member.present;
        }
        let next = member.begun + 1;
        let takes_first = member.plan.passes_on() && member.present < next;
        let has_ended = |other: &Member<'_>| other.begun + self.slots() > next;
        let has_room = || match member.plan.readers() {
            Readers::All => members.iter().all(has_ended),
            Readers::One(reader) => has_ended(&members[reader]),
            Readers::Nobody => true,
        };
        next <= member.rounds() && (takes_first || has_room())
    }
}

/// What is in the buffers of all members after their calls on what is there before, with areas of
/// `room` elements.
pub(crate) fn run_on(calls: &[Call<'_>], room: usize, buffers: Vec<[Vec<Map>; 3]>) -> Vec<[Vec<Map>; 3]> {
    let n = buffers.len();
    let none = |_: usize| 0;
    let case = Case {
        call: calls[0],
        calls: None,
        n,
        room,
        in_place: false,
        way: Way::Areas,
        inputs: &none,
        outputs: &none,
        expected: &|_, _| JUNK,
    };
    let member = |(me, mut buffers): (usize, [Vec<Map>; 3])| {
        let plan = Plan::new(&calls[me], me, n, room, 1).unwrap();
        let scratch = &mut buffers[Buffer::Scratch as usize];
        scratch.resize(scratch.len().max(plan.scratch()), JUNK);
        Member::new(plan, buffers, false)
    };
    let members = case.run_members(buffers.into_iter().enumerate().map(member).collect(), None);
    for (me, member) in members.iter().enumerate() {
        assert!(
            member.begun == member.rounds() && member.ended_round(),
            "{:?} of {n}: {me} waits",
            calls[me]
        );
    }
    members.into_iter().map(|member| member.buffers).collect()
}

fn step(members: &mut [Member<'_>], shared: &mut Shared, me: usize) {
    let member = &mut members[me];
    if std::mem::take(&mut member.waits) {
        return;
    }
    if let Some(take) = member.round.takes.get(member.taken).copied() {
        member.taken += 1;
        if member.plan.shows() {
            return read_input(members, me, &take);
        }
        take.each().for_each(|one| member.take(&one, shared));
        return;
    }
    if member.present == member.begun {
        let mut round = std::mem::take(&mut member.round);
        member.plan.round(member.present, &mut round);
        (member.round, member.present, member.taken) = (round, member.present + 1, 0);
        if member.plan.passes_on() {
            return copy(member);
        }
    }
    member.begun = member.present;
    let slot = member.begun % shared.areas[me].len();
    shared.areas[me][slot].2.clone_from(&member.round.tells);
    if member.plan.meets() {
        member.come(shared);
    } else {
        let puts = member.round.puts.clone();
        member.put(&puts, me, shared);
    }
    shared.areas[me][slot].0 = member.begun;
    if !member.plan.passes_on() {
        copy(member);
    }
}

/// Member `me` reads from another one's input, which must be in its call still.
fn read_input(members: &mut [Member<'_>], me: usize, take: &Take) {
    let other = &mut members[take.member];
    let has_left = take.member != me && other.begun == other.rounds() && other.ended_round();
    assert!(take.into.len == 0 || !has_left, "{me} reads the input of {}, which has left", take.member);
    let data = other.read(Span::input(take.at, take.into.len));
    members[me].write(take.into, &data);
}

fn copy(member: &mut Member<'_>) {
    for (from, into) in std::mem::take(&mut member.round.copies) {
        let data = member.read(from);
        member.write(into, &data);
    }
}
