//! Calls of all kinds, and of all ways to be told of their end.

use crate::sheets::{Sheet, Sheets};
use crate::support::sleep_on;
use lapis_collectives::{Call, CollectiveError, Combine, Edge, Group, Operator, Part, Parts, Request, Team};
use lapis_core::{Counter, Error, LapiCode};
use std::ptr::NonNull;
use std::sync::Mutex;

pub(crate) type Ended = Result<(), CollectiveError>;

/// A call that all members make.
pub(crate) type Called = fn(&Team) -> Ended;

/// Each with its name.
pub(crate) const CALLS: &[(&str, Called)] = &[
    ("barrier", Team::barrier),
    ("broadcast", |team| team.broadcast(&mut [0u64], 1)),
    ("long broadcast", |team| team.broadcast(&mut vec![0u64; 100_000], 0)),
    ("multicast", |team| team.multicast(&mut [0u64], 1, &Group::all(team.len() as u32))),
    ("reduce", |team| team.reduce(&[1u64], &mut [0], Operator::Sum, 0)),
    ("allreduce", |team| team.all_reduce(&mut [1u64], Operator::Sum)),
    ("long allreduce", |team| team.all_reduce(&mut vec![1u64; 300_000], Operator::Sum)),
    ("ordered", |team| team.all_reduce(&mut [1u64; 40], Combine::ordered(|a: u64, _| a))),
    ("reduce_scatter", |team| {
        let n = team.len();
        team.reduce_scatter_block(&vec![1u64; 3 * n], &mut [0; 3], Operator::Sum)
    }),
    ("allgather", |team| team.all_gather(&[1u64], &mut vec![0; team.len()])),
    ("long allgather", |team| team.all_gather(&[1u64; 3000], &mut vec![0; 3000 * team.len()])),
    ("allgatherv", all_gather_v),
    ("alltoall", |team| team.all_to_all(&vec![1u64; team.len()], &mut vec![0; team.len()], 1)),
    ("long alltoall", |team| {
        let len = 3000 * team.len();
        team.all_to_all(&vec![1u64; len], &mut vec![0; len], 3000)
    }),
    ("alltoallv", all_to_all_v),
    ("gather", |team| team.gather(&[1u64], &mut vec![0; team.len()], 0)),
    ("gatherv", gather_v),
    ("scatterv", scatter_v),
    ("scatter", |team| team.scatter(&vec![1u64; team.len()], &mut [0], 1)),
    ("scan", |team| team.scan(&mut [1u64], Operator::Sum)),
    ("exscan", |team| team.exscan(&mut [1u64; 700], Operator::Sum)),
    ("neighbours", neighbours),
    ("started", |team| {
        let requests: Vec<_> = (0..3).map(|_| start(team, 30_000)).collect();
        requests.into_iter().try_for_each(|request| request.wait().map(|_| ()))
    }),
    ("tested", |team| {
        let mut requests: Vec<_> = [3, 30_000].map(|count| start(team, count)).into();
        while let Some(request) = requests.last_mut() {
            if request.test()? {
                requests.pop();
            }
        }
        Ok(())
    }),
    ("then", then),
    ("counted", counted),
    ("awaited", |team| sleep_on(start(team, 30_000)).map(|_| ())),
    ("kept", kept),
    ("layouts", layouts),
    ("cast in layouts", cast_in_layouts),
    ("gathered in layouts", gathered_in_layouts),
];

fn all_gather_v(team: &Team) -> Ended {
    let counts: Vec<usize> = (0..team.len()).map(|rank| rank % 3).collect();
    let starts: Vec<usize> = (0..team.len()).map(|rank| 3 * rank).collect();
    let mine = vec![1u64; counts[team.rank()]];
    team.all_gather_v(&mine, &mut vec![0; 3 * team.len()], Parts { counts: &counts, starts: &starts })
}

fn unequal(team: &Team) -> (Vec<usize>, Vec<usize>) {
    (0..team.len()).map(|rank| (rank % 3 * 500, 1000 * rank)).unzip()
}

fn gather_v(team: &Team) -> Ended {
    let (counts, starts) = unequal(team);
    let (me, parts) = (team.rank(), Parts { counts: &counts, starts: &starts });
    team.gather_v(&vec![1u64; counts[me]], &mut vec![0; 1000 * team.len()], 1, (me == 1).then_some(parts))
}

fn scatter_v(team: &Team) -> Ended {
    let (counts, starts) = unequal(team);
    let (me, parts) = (team.rank(), Parts { counts: &counts, starts: &starts });
    team.scatter_v(&vec![1u64; 1000 * team.len()], &mut vec![0; counts[me]], 0, (me == 0).then_some(parts))
}

fn all_to_all_v(team: &Team) -> Ended {
    let (me, n) = (team.rank(), team.len());
    let counts: Vec<usize> = (0..n).map(|rank| (rank + me) % 4).collect();
    let starts: Vec<usize> = (0..n).map(|rank| 4 * rank).collect();
    let parts = || Parts { counts: &counts, starts: &starts };
    team.all_to_all_v(&vec![1u64; 4 * n], parts(), &mut vec![0; 4 * n], parts())
}

fn neighbours(team: &Team) -> Ended {
    let (me, n) = (team.rank(), team.len());
    let edge = |member: usize| Edge { member: member % n, start: 0, len: 9 };
    team.neighbours(&[1u64; 9], &[edge(me + 1)], &mut [0; 9], &[edge(me + n - 1)])
}

/// An allreduce of ones.
pub(crate) fn start(team: &Team, count: usize) -> Request<(Vec<u64>, Vec<u64>)> {
    let sum = Combine::from(Operator::Sum);
    team.start(&Call::AllReduce { count }, sum, vec![1; count], vec![0; count]).unwrap()
}

fn then(team: &Team) -> Ended {
    let (tell, told) = std::sync::mpsc::channel();
    start(team, 30_000).then(move |_, ended| tell.send(ended.map(|_| ())).unwrap());
    let mut ended = None;
    let look = || {
        ended = ended.take().or_else(|| told.try_recv().ok());
        ended.is_some()
    };
    team.context().wait_quietly(look, None).unwrap();
    ended.unwrap()
}

/// What was raised because nobody waited for a collective, and the member that it concerns.
static RAISED: Mutex<Option<(LapiCode, u32)>> = Mutex::new(None);

/// What the context reports.
pub(crate) fn raised(error: &Error, peer: u32) -> bool {
    if let Error::Invalid { code, .. } = error {
        *RAISED.lock().unwrap() = Some((*code, peer));
    }
    // Waits fail as without a handler.
    false
}

/// Waits until a counter counts an operation's end, or its failure is raised.
fn counted(team: &Team) -> Ended {
    let counter = Counter::default();
    // SAFETY: the counter is waited for; what has failed does not count.
    unsafe { start(team, 30_000).count_in(NonNull::from(&counter)) };
    let mut raised = None;
    let look = || {
        raised = RAISED.lock().unwrap().take();
        raised.is_some() || counter.value() > 0
    };
    team.context().wait_quietly(look, None).unwrap();
    match raised {
        None => Ok(()),
        Some((code, task)) => {
            assert_eq!(code, LapiCode::OWN_TEAM_OVER);
            Err(CollectiveError::Gone { task })
        }
    }
}

fn kept(team: &Team) -> Ended {
    let sum = Combine::from(Operator::Sum);
    let mut kept = team.persistent(&Call::AllReduce { count: 50 }, sum, vec![1u64; 50], vec![0; 50])?;
    for _ in 0..3 {
        kept.start()?;
        kept.wait()?;
    }
    Ok(())
}

/// Two exchanges of layouts under way at once, one of them set up before.
fn layouts(team: &Team) -> Ended {
    let [mut first, mut second] = [1, 2].map(|round| Sheets::new(team, round));
    first.fill(0);
    second.fill(0);
    let mut kept = first.persistent();
    kept.start()?;
    let begun = second.start();
    kept.wait()?;
    first.check(0);
    begun.wait()?;
    second.check(0);
    Ok(())
}

fn cast_in_layouts(team: &Team) -> Ended {
    let mut sheet = Sheet::new(70_000, team.rank());
    let laid = team.broadcast_w(Part { layout: sheet.layout(), len: 70_000 }, 1)?;
    // SAFETY: the sheet is kept until the request is over.
    unsafe { laid.start() }?.wait()
}

fn gathered_in_layouts(team: &Team) -> Ended {
    let mut given = Sheet::new(100, team.rank());
    let mut got: Vec<Sheet> = (0..team.len()).map(|rank| Sheet::new(100, rank)).collect();
    let mut give = || Part { layout: given.layout(), len: 100 };
    let mut get = || got.iter_mut().map(|sheet| Part { layout: sheet.layout(), len: 100 }).collect();
    // SAFETY: the sheets live, and nobody else uses them.
    unsafe {
        team.all_gather_w(give(), get())?.call()?;
        team.gather_w(give(), get(), 2)?.call()
    }
}
