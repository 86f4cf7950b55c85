use super::*;
use lapis_core::transport::host_table;

/// A task of a job of two.
fn open(task: PeerId) -> Udp {
    let secret = [7; 32];
    let params = OpenParams {
        task,
        tasks: 2,
        context: 0,
        incarnation: 0,
        job: "j",
        secret: &secret,
        interrupts: false,
    };
    // SAFETY: the table is static.
    let host = unsafe { Host::from_raw(host_table(), "udp") };
    Udp::open(host, &params).expect("there is a network").0
}

#[test]
fn a_rail_that_comes_back_carries_what_its_path_does_now() {
    let (mut near, far) = (open(0), open(1));
    near.connect(1, &far.address()).expect("one machine");
    let widest = near.ways[1].as_ref().expect("connected")[0].room;
    let rail = near.ways[1].as_ref().expect("connected")[0].rail;
    // The path has been narrower since.
    near.ways[1].as_mut().expect("connected")[0].room = NARROWEST;
    near.news.clear();
    near.rail_changed(rail, false);
    near.rail_changed(rail, true);
    let news: Vec<_> = near.news.iter().map(|event| (event.status, event.len as usize)).collect();
    assert_eq!(news, [(0, NARROWEST), (1, widest)]);
}

#[test]
fn paths_to_a_task_that_comes_back_with_fewer_are_gone() {
    let (mut near, far) = (open(0), open(1));
    near.connect(1, &far.address()).expect("one machine");
    let there = near.ways[1].as_ref().expect("connected").len();
    // It had two more before.
    near.told[1] += 2;
    near.disconnect(1);
    near.connect(1, &far.address()).expect("one machine");
    let gone: Vec<_> = near.news.iter().filter(|event| event.len == 0).map(|event| event.token).collect();
    assert_eq!(gone, [there as u64, there as u64 + 1]);
    assert_eq!(near.news.iter().filter(|event| event.len > 0).count(), there);
}
