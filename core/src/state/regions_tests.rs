//! Tests of `regions.rs`.

use super::*;

const PEER: PeerId = 3;
const LINK: usize = 1;

fn registration(id: u64) -> Registration {
    Registration { link: LINK, id, key: id + 10 }
}

/// Regions of 8 bytes, registered with the link, of which a peer wants to hear.
fn regions(count: u64, link: Option<usize>) -> Regions {
    let mut regions = Regions::default();
    (0..count).for_each(|id| regions.add(8 * id, 8, vec![registration(id)]));
    regions.listen(PEER, link);
    regions
}

/// What the peer is told until it has to answer: numbers, and whether they have come.
fn told(regions: &mut Regions) -> Vec<(u64, bool)> {
    std::iter::from_fn(|| regions.next_news(PEER)).map(|news| (news.number, news.come)).collect()
}

#[test]
fn a_range_finds_the_key_of_the_region_that_holds_all_of_it() {
    let mut regions = PeerRegions::default();
    let mut note = |(base, len, key), come| regions.note(News { number: key + 7, base, len, key, come });
    note((100, 50, 1), true);
    note((120, 10, 2), true);
    note((u64::MAX - 9, 9, 3), true);
    assert_eq!(regions.key(100, 50), Some(1));
    assert_eq!(regions.key(120, 5), Some(2), "the nearest one");
    assert_eq!(regions.key(120, 20), Some(1), "beyond the nearest one");
    assert_eq!(regions.key(149, 2), None);
    assert_eq!(regions.key(99, 1), None);
    assert_eq!(regions.key(u64::MAX - 5, 5), Some(3));
    assert_eq!(regions.key(u64::MAX - 5, u64::MAX), None);
    regions.note(News { number: 8, base: 100, len: 50, key: 1, come: false });
    assert_eq!(regions.key(100, 1), None);
}

#[test]
fn a_region_that_comes_again_with_the_same_key_is_another_one() {
    let mut regions = PeerRegions::default();
    let news = |number, come| News { number, base: 8, len: 8, key: 0, come };
    regions.note(news(2, true));
    regions.note(news(1, false));
    assert_eq!(regions.key(8, 8), Some(0), "the first one went, though that came later");
}

#[test]
fn of_equal_regions_one_goes_at_a_time() {
    let mut regions = Regions::default();
    regions.add(8, 8, vec![registration(1)]);
    regions.add(8, 8, vec![registration(2)]);
    assert_eq!(regions.registration(LINK, 8, 8), Some(registration(1)));
    assert_eq!(regions.registration(0, 8, 8), None, "another link");
    let first = regions.take(8, 8).expect("there are two");
    assert_eq!(regions.of_leaving(first), [registration(1)]);
    assert!(regions.hold(9, 7) && !regions.hold(9, 8));
    assert_eq!(regions.registration(LINK, 8, 8), Some(registration(2)));
    assert!(regions.take(8, 8).is_some() && regions.take(8, 8).is_none());
}

#[test]
fn a_region_is_known_until_each_listener_has_dropped_it() {
    let mut regions = regions(1, Some(LINK));
    assert_eq!(told(&mut regions), [(0, true)]);
    assert_eq!(regions.take(0, 8), Some(0));
    assert_eq!(told(&mut regions), [], "it does not know that there is such a region");
    regions.answered(PEER, 0, true);
    assert_eq!(told(&mut regions), [(0, false)]);
    assert!(regions.is_known(0) && regions.has(&registration(0)));
    regions.answered(PEER, 0, true);
    assert!(regions.is_known(0), "that was no answer to this");
    regions.answered(PEER, 0, false);
    assert!(!regions.is_known(0) && regions.has(&registration(0)));
    assert_eq!(regions.release(0), [registration(0)]);
    assert!(!regions.has(&registration(0)) && regions.leaving.is_empty());
    assert_eq!(regions.release(0), [], "once");
}

#[test]
fn what_nobody_was_told_of_nobody_has_to_drop() {
    let mut regions = regions(1, Some(LINK));
    regions.take(0, 8);
    assert_eq!(told(&mut regions), []);
    assert!(!regions.is_known(0));
    regions.release(0);
    assert!(regions.leaving.is_empty());
    regions.add(8, 8, Vec::new());
    assert_eq!(told(&mut regions), [], "the link reaches none that it has not registered");
}

#[test]
fn whoever_copies_by_address_is_told_and_not_waited_for() {
    let mut regions = regions(1, None);
    assert_eq!(regions.next_news(PEER).map(|news| news.key), Some(0));
    regions.answered(PEER, 0, true);
    regions.take(0, 8);
    assert_eq!(told(&mut regions), [(0, false)]);
    assert!(!regions.is_known(0));
    regions.release(0);
    assert_eq!(regions.leaving.len(), 1, "its answer is outstanding");
    regions.answered(PEER, 0, false);
    assert!(regions.leaving.is_empty());
}

#[test]
fn regions_that_come_and_go_unheard_take_no_memory() {
    let mut regions = regions(0, Some(LINK));
    for id in 0..10_000 {
        regions.add(8, 8, vec![registration(id)]);
        told(&mut regions);
        let number = regions.take(8, 8).expect("it is there");
        told(&mut regions);
        // As if nobody could wait.
        regions.release(number);
    }
    assert_eq!(regions.leaving.len(), UNANSWERED);
    assert_eq!(regions.listeners[0].told.len(), UNANSWERED);
    (0..UNANSWERED as u64).for_each(|number| regions.answered(PEER, number, true));
    assert!(told(&mut regions).iter().all(|(_, come)| !come));
    (0..UNANSWERED as u64).for_each(|number| regions.answered(PEER, number, false));
    assert!(regions.leaving.is_empty() && regions.listeners[0].told.is_empty());
}

#[test]
fn what_a_peer_is_not_told_at_once_it_is_told_when_it_answers() {
    let count = UNANSWERED as u64 + 1;
    let mut regions = regions(count, Some(LINK));
    assert_eq!(told(&mut regions).len(), UNANSWERED);
    regions.answered(PEER, 5, true);
    assert_eq!(told(&mut regions), [(count - 1, true)]);
}

#[test]
fn whoever_asks_anew_is_told_of_all_and_has_to_drop_what_is_gone() {
    let mut regions = regions(2, Some(LINK));
    told(&mut regions);
    (0..2).for_each(|number| regions.answered(PEER, number, true));
    regions.take(0, 8);
    assert_eq!(told(&mut regions), [(0, false)]);
    regions.listen(PEER, Some(LINK));
    assert_eq!(told(&mut regions), [(0, false), (1, true)]);
    regions.forget(PEER);
    assert!(!regions.is_known(0) && regions.listeners().is_empty());
}

#[test]
fn whoever_asks_anew_has_to_drop_what_it_is_not_told_again_of_yet() {
    let count = UNANSWERED as u64 + 1;
    let mut regions = regions(count, Some(LINK));
    told(&mut regions);
    (0..UNANSWERED as u64).for_each(|number| regions.answered(PEER, number, true));
    assert_eq!(told(&mut regions), [(count - 1, true)]);
    regions.answered(PEER, count - 1, true);
    regions.listen(PEER, Some(LINK));
    assert_eq!(told(&mut regions).len(), UNANSWERED, "the last one has to wait");
    let last = regions.take(8 * (count - 1), 8).expect("it is there");
    assert!(regions.is_known(last));
}

#[test]
fn whoever_begins_anew_has_to_drop_what_goes_and_is_told_of_nothing_until_it_asks() {
    let mut regions = regions(3, Some(LINK));
    assert_eq!(told(&mut regions).len(), 3);
    (0..2).for_each(|number| regions.answered(PEER, number, true));
    regions.take(0, 8);
    assert_eq!(told(&mut regions), [(0, false)]);
    regions.begin_anew(PEER);
    assert_eq!(told(&mut regions), [(0, false)], "said again, as what was said before is lost");
    regions.add(100, 8, vec![registration(50)]);
    assert_eq!(told(&mut regions), []);
    regions.take(16, 8);
    assert_eq!(told(&mut regions), [(2, false)], "it may have heard that the region is there");
    regions.answered(PEER, 0, false);
    assert!(!regions.is_known(0) && regions.is_known(2));
    regions.listen(PEER, Some(LINK));
    assert_eq!(told(&mut regions), [(2, false), (1, true), (3, true)]);
}
