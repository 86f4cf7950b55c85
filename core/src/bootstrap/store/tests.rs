use super::*;

const NOW_MS: u32 = 1000;

fn store(tasks: u32) -> (Store, Vec<Member>, Instant) {
    let mut store = Store::new(tasks, Duration::from_millis(100));
    let members = (0..tasks).map(|task| store.open(task, 0, 100 + task).unwrap()).collect();
    (store, members, Instant::now())
}

fn fence(store: &mut Store, member: Member, epoch: u32, now: Instant) -> Vec<(ConnId, Message)> {
    let request = Message::Fence { id: 7, timeout_ms: NOW_MS, epoch };
    store.request(u64::from(member.task), member, request, now);
    store.take_answers()
}

fn failure(answers: &[(ConnId, Message)]) -> &Failure {
    match answers {
        [(_, Message::Failed { failure, .. }), ..] => failure,
        other => panic!("no failure in {other:?}"),
    }
}

#[test]
fn a_fence_answers_all_when_the_last_comes() {
    let (mut store, m, now) = store(3);
    assert!(fence(&mut store, m[0], 0, now).is_empty());
    assert!(fence(&mut store, m[2], 0, now).is_empty());
    assert_eq!(fence(&mut store, m[1], 0, now).len(), 3);
    assert!(store.next_deadline().is_none());
}

#[test]
fn an_exchange_orders_values_by_task() {
    let (mut store, m, now) = store(2);
    for task in [1u32, 0] {
        let request = Message::Exchange {
            id: task,
            timeout_ms: NOW_MS,
            epoch: 0,
            key: "k".into(),
            value: vec![task as u8],
        };
        store.request(u64::from(task), m[task as usize], request, now);
    }
    let expected = Message::Values { id: 1, values: Packed::new([&[0][..], &[1]].into_iter()) };
    assert_eq!(store.take_answers()[0], (1, expected));
}

#[test]
fn the_answers_to_an_exchange_share_the_values() {
    let tasks = 2000;
    let (mut store, m, now) = store(tasks);
    for task in 0..tasks {
        let (key, value) = ("card".into(), vec![task as u8; 300]);
        let request = Message::Exchange { id: task, timeout_ms: NOW_MS, epoch: 0, key, value };
        store.request(u64::from(task), m[task as usize], request, now);
    }
    let answers = store.take_answers();
    assert_eq!(answers.len(), tasks as usize);
    let shared = answers[0].1.shared().unwrap();
    assert_eq!(shared.len(), 4 + tasks as usize * 304);
    assert!(answers.iter().all(|(_, answer)| std::sync::Arc::ptr_eq(answer.shared().unwrap(), shared)));
}

#[test]
fn contexts_and_generations_do_not_mix() {
    let (mut store, m, now) = store(2);
    assert!(fence(&mut store, m[0], 0, now).is_empty());
    let other = store.open(1, 1, 101).unwrap();
    assert!(fence(&mut store, other, 0, now).is_empty(), "another context");
    // Task 1 leaves the context and opens it again while task 0 is still in the first one.
    store.request(1, m[1], Message::Finalize { id: 1 }, now);
    let again = store.open(1, 0, 101).unwrap();
    assert_eq!(again.space, (0, 1));
    let answers = store.take_answers();
    assert!(answers.iter().any(|(conn, a)| *conn == 0 && matches!(a, Message::Failed { .. })), "{answers:?}");
    assert!(fence(&mut store, again, 0, now).is_empty());
}

#[test]
fn the_same_task_twice_is_refused_with_both_processes() {
    let (mut store, _, _) = store(2);
    let reason = store.open(1, 0, 555).unwrap_err();
    assert!(reason.contains("task 1") && reason.contains("101") && reason.contains("555"), "{reason}");
}

#[test]
fn a_task_that_ends_before_all_have_met_can_not_be_started_anew() {
    let (mut store, m, now) = store(2);
    fence(&mut store, m[0], 0, now);
    store.disconnect(1, m[1], now);
    let reason = store.open(1, 0, 555).unwrap_err();
    assert!(reason.contains("process 101") && reason.contains("start the whole job again"), "{reason}");
}

#[test]
fn a_task_that_is_started_anew_joins_those_who_are_there() {
    let (mut store, m, now) = store(2);
    fence(&mut store, m[0], 0, now);
    fence(&mut store, m[1], 0, now);
    store.request(0, m[0], Message::Put { id: 1, key: "k".into(), value: vec![7] }, now);
    store.disconnect(1, m[1], now);
    let again = store.open(1, 0, 555).unwrap();
    assert_eq!((again.space, again.rounds), (m[0].space, 1));
    store.take_answers();
    store.request(9, again, Message::Get { id: 2, timeout_ms: 0, key: "k".into() }, now);
    assert_eq!(store.take_answers(), [(9, Message::Value { id: 2, value: vec![7] })]);
    // The next round is everybody's again.
    assert!(fence(&mut store, m[0], 1, now).is_empty());
    assert_eq!(fence(&mut store, again, again.rounds, now).len(), 2);
}

#[test]
fn a_task_that_is_about_to_be_started_anew_is_not_lost_unless_that_fails() {
    let (mut store, m, now) = store(2);
    fence(&mut store, m[0], 0, now);
    fence(&mut store, m[1], 0, now);
    store.request(0, m[0], Message::Get { id: 1, timeout_ms: 300_000, key: "k".into() }, now);
    store.take_answers();
    store.disconnect(1, m[1], now);
    store.restarts(1, now);
    let later = now + Duration::from_secs(10);
    store.settle(later);
    assert_eq!(store.take_answers(), []);
    store.exited(1, "cannot be restarted".into(), later);
    assert!(matches!(failure(&store.take_answers()), Failure::TaskLost { task: 1, .. }));
}

#[test]
fn a_task_whose_process_has_ended_for_good_does_not_come_back() {
    let (mut store, m, now) = store(2);
    fence(&mut store, m[0], 0, now);
    fence(&mut store, m[1], 0, now);
    store.exited(1, "was killed".into(), now);
    store.disconnect(1, m[1], now);
    assert!(store.open(1, 0, 555).unwrap_err().contains("was killed"));
}

#[test]
fn a_broken_connection_waits_for_the_news_of_the_exit() {
    let (mut store, m, now) = store(2);
    assert!(fence(&mut store, m[0], 0, now).is_empty());
    store.disconnect(1, m[1], now);
    assert!(store.take_answers().is_empty(), "not before the linger time");
    store.exited(1, "was killed by signal 9".into(), now);
    let answers = store.take_answers();
    let Failure::TaskLost { task: 1, how } = failure(&answers) else { panic!("{answers:?}") };
    assert!(how.contains("signal 9") && how.contains("101"), "{how}");
}

#[test]
fn a_broken_connection_without_news_is_told_after_the_linger_time() {
    let (mut store, m, now) = store(2);
    assert!(fence(&mut store, m[0], 0, now).is_empty());
    store.disconnect(1, m[1], now);
    let later = store.next_deadline().unwrap();
    assert_eq!(later, now + Duration::from_millis(100));
    store.settle(later);
    assert!(matches!(failure(&store.take_answers()), Failure::TaskLost { task: 1, .. }));
    // Who comes later hears the same.
    let (mut other, m, now) = self::store(3);
    assert!(fence(&mut other, m[0], 0, now).is_empty());
    other.disconnect(1, m[1], now);
    other.settle(now + Duration::from_secs(1));
    other.take_answers();
    assert!(matches!(failure(&fence(&mut other, m[2], 0, now)), Failure::TaskLost { task: 1, .. }));
}

#[test]
fn an_exit_without_initialisation_fails_the_others() {
    let mut store = Store::new(2, Duration::ZERO);
    let now = Instant::now();
    let m = store.open(0, 0, 100).unwrap();
    assert!(fence(&mut store, m, 0, now).is_empty());
    store.exited(1, "exited with status 0".into(), now);
    let answers = store.take_answers();
    let Failure::TaskLost { task: 1, how } = failure(&answers) else { panic!("{answers:?}") };
    assert_eq!(how, "exited with status 0 without initialising Lapis");
    assert!(store.open(1, 0, 1).is_err());
}

#[test]
fn a_finished_task_fails_only_fences_it_did_not_reach() {
    let (mut store, m, now) = store(2);
    assert!(fence(&mut store, m[1], 0, now).is_empty());
    store.request(1, m[1], Message::Finalize { id: 1 }, now);
    store.take_answers();
    assert_eq!(fence(&mut store, m[0], 0, now).len(), 2, "it had arrived");
    assert!(matches!(failure(&fence(&mut store, m[0], 1, now)), Failure::TaskLost { task: 1, .. }));
}

#[test]
fn a_fence_that_times_out_names_the_missing() {
    let (mut store, m, now) = store(3);
    assert!(fence(&mut store, m[0], 0, now).is_empty());
    let at = store.next_deadline().unwrap();
    store.settle(at);
    let answers = store.take_answers();
    let Failure::Timeout { detail } = failure(&answers) else { panic!("{answers:?}") };
    assert!(detail.contains("1 of 3") && detail.contains("task 1 (process 101"), "{detail}");
}

#[test]
fn different_operations_in_one_round_are_a_mismatch() {
    let (mut store, m, now) = store(2);
    assert!(fence(&mut store, m[0], 0, now).is_empty());
    let request =
        Message::Exchange { id: 1, timeout_ms: NOW_MS, epoch: 0, key: "cards".into(), value: Vec::new() };
    store.request(1, m[1], request, now);
    let answers = store.take_answers();
    assert_eq!(answers.len(), 2);
    let Failure::Mismatch { detail } = failure(&answers) else { panic!("{answers:?}") };
    assert!(detail.contains("task 0 called a fence") && detail.contains("\"cards\""), "{detail}");
}

#[test]
fn a_get_waits_for_the_put_and_ends_when_nobody_is_left() {
    let (mut store, m, now) = store(2);
    store.request(0, m[0], Message::Get { id: 1, timeout_ms: NOW_MS, key: "a".into() }, now);
    assert!(store.take_answers().is_empty());
    store.request(1, m[1], Message::Put { id: 1, key: "a".into(), value: vec![5] }, now);
    let answers = store.take_answers();
    assert!(answers.contains(&(0, Message::Value { id: 1, value: vec![5] })), "{answers:?}");
    store.request(1, m[1], Message::Finalize { id: 2 }, now);
    store.take_answers();
    store.request(0, m[0], Message::Get { id: 2, timeout_ms: NOW_MS, key: "a".into() }, now);
    assert!(matches!(store.take_answers()[..], [(0, Message::Value { .. })]), "it stays readable");
    store.request(0, m[0], Message::Get { id: 3, timeout_ms: NOW_MS, key: "b".into() }, now);
    assert!(matches!(failure(&store.take_answers()), Failure::TaskLost { task: 1, .. }));
}

#[test]
fn an_abort_reaches_everyone_who_waits() {
    let (mut store, m, now) = store(3);
    assert!(fence(&mut store, m[0], 0, now).is_empty());
    store.request(2, m[2], Message::Abort { id: 1, code: 3, message: "enough".into() }, now);
    let answers = store.take_answers();
    assert!(answers.iter().any(|(conn, a)| *conn == 0
        && matches!(a, Message::Failed { failure: Failure::Aborted { task: 2, code: 3, .. }, .. })));
}

#[test]
fn memory_returns_when_the_last_member_leaves() {
    let (mut store, m, now) = store(2);
    store.request(0, m[0], Message::Put { id: 1, key: "a".into(), value: vec![0; 100] }, now);
    assert_eq!(store.stored, 101);
    store.request(0, m[0], Message::Put { id: 2, key: "a".into(), value: vec![0; 50] }, now);
    assert_eq!(store.stored, 51);
    store.disconnect(0, m[0], now);
    store.disconnect(1, m[1], now);
    assert_eq!((store.stored, store.spaces.len()), (0, 0));
}
