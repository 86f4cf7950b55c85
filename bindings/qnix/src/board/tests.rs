use super::*;
use crate::segments::Segment;

/// Boards of a host in the memory of this process, as each of its tasks sees them.
pub(crate) fn host(tasks: usize) -> Vec<(Arc<Boards>, Writer)> {
    let places = Places::of(tasks);
    let base = |_| {
        let memory = vec![[0u64; 16]; places.len.div_ceil(LINE) + 1].leak().as_mut_ptr().cast::<u8>();
        memory.wrapping_add(memory.align_offset(LINE))
    };
    let bases: Vec<*mut u8> = (0..tasks).map(base).collect();
    let all = (0..tasks as u32).map(|task| task * 2).collect::<Vec<_>>();
    let boards = |me| Boards {
        places,
        tasks: all.clone(),
        me,
        bases: bases.clone(),
        fences: true,
        awaited: AtomicUsize::new(0),
        looks: AtomicU32::new(0),
    };
    (0..tasks).map(|me| pair(boards(me))).collect()
}

fn segment(bytes: &[u8]) -> [Segment; 1] {
    [Segment { address: bytes.as_ptr().expose_provenance(), len: bytes.len() }]
}

/// Shows a message to some; gives those that have to be asked to look.
pub(crate) fn show(writer: &mut Writer, tag: i32, readers: &[usize], bytes: &[u8]) -> Option<Vec<u32>> {
    let content = Content::Message { root: 6, tag };
    let readers = readers.iter().map(|place| (*place, *place as u32 + 100));
    Some(writer.show(content, readers, &segment(bytes))?.collect())
}

/// What a task finds next: tag, number, data.
fn take(boards: &Boards) -> Option<(i32, u32, Vec<u8>)> {
    let record = boards.take()?;
    let Content::Message { root: 6, tag } = record.content else { panic!("{:?}", record.content) };
    let found = (tag, record.number, record.data.to_vec());
    boards.done(record.from());
    Some(found)
}

/// A wait that begins to watch looks at once, and other waits of who watches seldom.
#[test]
fn looks_that_expect_nothing_are_rare() {
    let host = host(2);
    let (boards, _) = &host[0];
    boards.begin_watching();
    let due: Vec<bool> = (0..2 * SELDOM).map(|_| boards.is_look_due()).collect();
    let places: Vec<usize> = due.iter().enumerate().filter(|(_, due)| **due).map(|(at, _)| at).collect();
    assert_eq!(places, [0, SELDOM as usize]);
}

#[test]
fn nothing_on_a_board_overlaps() {
    for tasks in 2..=MOST {
        let places = Places::of(tasks);
        assert!(LINE + tasks * 8 <= places.words && places.words.is_multiple_of(LINE));
        assert!(places.words + words::BYTES <= places.slots);
        assert!(places.data + 64 <= places.slot && places.slot.is_multiple_of(LINE));
        assert!(places.slots + SLOTS as usize * places.slot <= places.bytes);
        assert_eq!(places.bytes + BYTES, places.len);
    }
}

#[test]
fn a_word_for_seven_others_takes_one_line_of_a_cache() {
    let places = Places::of(8);
    assert!(places.data + size_of::<u64>() <= 64, "{places:?}");
    assert!((places.slots | places.slot).is_multiple_of(64), "{places:?}");
}

#[test]
fn a_record_reaches_those_it_is_for_and_wakes_those_who_do_not_look() {
    let mut host = host(4);
    host[2].0.begin_watching();
    assert_eq!(show(&mut host[0].1, 7, &[1, 2], b"short"), Some(vec![2]));
    host[2].0.end_watching();
    let long = vec![3; 100_000];
    assert_eq!(show(&mut host[0].1, 8, &[2, 3], &long), Some(vec![4, 6]));
    assert_eq!(show(&mut host[0].1, 9, &[3], b"asked already"), Some(vec![]));
    host[3].0.answer();
    assert_eq!(show(&mut host[0].1, 9, &[3], b"once more"), Some(vec![6]));
    assert!(host[1].0.has_news() && !host[0].0.has_news());
    assert_eq!(take(&host[1].0), Some((7, 101, b"short".to_vec())));
    assert_eq!(take(&host[1].0), None);
    assert!(!host[1].0.has_news(), "what was for others is no news once it was seen");
    assert_eq!(take(&host[2].0), Some((7, 102, b"short".to_vec())));
    assert_eq!(take(&host[2].0), Some((8, 102, long.clone())));
    assert_eq!(take(&host[3].0), Some((8, 103, long)));
}

#[test]
fn a_full_board_has_room_again_once_its_readers_have_read_or_are_gone() {
    let mut host = host(3);
    for tag in 0..SLOTS as i32 {
        assert!(show(&mut host[0].1, tag, &[1, 2], b"x").is_some());
    }
    assert!(show(&mut host[0].1, 0, &[1], b"x").is_none());
    for tag in 0..5 {
        assert_eq!(take(&host[1].0).map(|found| found.0), Some(tag));
    }
    assert!(show(&mut host[0].1, 0, &[1], b"x").is_none(), "one of two has read");
    host[0].1.left(4);
    for tag in 100..105 {
        assert!(show(&mut host[0].1, tag, &[1], b"y").is_some());
    }
    assert!(show(&mut host[0].1, 0, &[1], b"x").is_none());
    for tag in (5..SLOTS as i32).chain(100..105) {
        assert_eq!(take(&host[1].0).map(|found| found.0), Some(tag));
    }
}

#[test]
fn one_who_is_never_meant_finds_its_first_record_after_many_rounds_of_the_ring() {
    let mut host = host(3);
    for tag in 0..200 {
        assert!(show(&mut host[0].1, tag, &[1], b"for the other").is_some());
        assert_eq!(take(&host[1].0).map(|found| found.0), Some(tag));
    }
    assert!(show(&mut host[0].1, 500, &[2], b"at last").is_some());
    assert_eq!(take(&host[2].0), Some((500, 102, b"at last".to_vec())));
    assert_eq!(take(&host[1].0), None);
}

#[test]
fn a_record_that_is_being_written_over_hides_none_behind_it() {
    let mut host = host(3);
    for tag in 0..SLOTS as i32 {
        let reader = if tag == 1 { 2 } else { 1 };
        assert!(show(&mut host[0].1, tag, &[reader], b"x").is_some());
    }
    assert_eq!(take(&host[1].0).map(|found| found.0), Some(0));
    // The first round's first record, and then one of a later round.
    host[0].0.head(0, SLOTS).begin();
    assert!(host[2].0.has_news());
    assert_eq!(take(&host[2].0).map(|found| found.0), Some(1));
    host[0].0.head(0, SLOTS).show(3 * SLOTS, 1 << 1);
    host[0].0.head(0, SLOTS).begin();
    assert_eq!(host[0].0.head(0, 0).find(0, 2), Found::Later(3 * SLOTS));
    assert_eq!(host[0].0.head(0, 0).find(4 * SLOTS, 2), Found::Nothing);
    assert!(!host[0].0.head(0, 0).has_news(4 * SLOTS));
}

#[test]
fn long_data_goes_round_the_ring_in_one_piece_each() {
    let mut host = host(2);
    let lens = [700_001, 2 << 20, 1, 1_500_000, 900_000, 300, 65, 2 << 20, 2 << 20, 1_000_000];
    for (tag, len) in lens.into_iter().cycle().take(60).enumerate() {
        let data: Vec<u8> = (0..len).map(|at| (at * 7 + tag) as u8).collect();
        assert!(show(&mut host[1].1, tag as i32, &[0], &data).is_some(), "{tag}");
        assert_eq!(take(&host[0].0), Some((tag as i32, 100, data)));
    }
    let most = vec![1; 2 << 20];
    let room = (0..4).take_while(|tag| show(&mut host[1].1, *tag, &[0], &most).is_some()).count();
    assert!((1..=2).contains(&room), "{room}");
}

#[test]
fn a_word_tells_how_many_barriers_its_task_has_entered_and_wakes_those_who_do_not_look() {
    let mut host = host(3);
    assert_eq!(host[1].0.word_of(0, 5), None);
    let words: Vec<_> = [9, 5].iter().map(|group| host[0].1.claim(*group)).collect();
    assert_eq!(words, [Some(0), Some(1)]);
    assert_eq!((host[1].0.word_of(0, 5), host[1].0.word_of(0, 6)), (Some(1), None));
    let entered = |boards: &Boards, word, barriers| boards.has_entered(0, word, barriers);
    assert!(!entered(&host[1].0, 1, 1));
    host[2].0.begin_watching();
    let asked: Vec<u32> = host[0].1.enter(1, 4, 0b110).collect();
    assert_eq!(asked, [2], "the task at place 2 looks by itself");
    assert!(entered(&host[1].0, 1, 2) && entered(&host[1].0, 1, 4));
    assert!(!entered(&host[1].0, 1, 5) && !entered(&host[1].0, 1, 6) && !entered(&host[1].0, 0, 2));
    host[0].1.expect(1, 4);
    host[0].1.enter(1, 5, 0).for_each(drop);
    assert!(entered(&host[1].0, 1, 4) && entered(&host[1].0, 1, 5) && !entered(&host[1].0, 1, 6));
}

#[test]
fn groups_beyond_the_last_word_have_none() {
    let mut host = host(2);
    assert!((0..words::WORDS as i32).all(|group| host[0].1.claim(group).is_some()));
    assert_eq!(host[0].1.claim(-1), None);
    assert_eq!(host[1].0.word_of(0, -1), None);
}

#[test]
fn fences_are_left_out_only_where_all_tasks_can_do_without() {
    let mut boards = host(2).into_iter().map(|(boards, _)| boards);
    let mut next = || boards.next().and_then(Arc::into_inner).unwrap_or_else(|| panic!("held by its writer"));
    let (mut one, mut other) = (next(), next());
    let agreed = |boards: &mut Boards| {
        boards.agree();
        !boards.fences
    };
    one.be_orderly();
    assert!(!agreed(&mut one) && !agreed(&mut other));
    other.be_orderly();
    assert_eq!(agreed(&mut one), membarrier::register());
    assert_eq!(agreed(&mut other), membarrier::register());
}
