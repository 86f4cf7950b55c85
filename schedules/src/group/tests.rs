use super::*;
use proptest::prelude::*;

fn distinct() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::hash_set(0u32..200, 0..60).prop_map(|set| set.into_iter().collect())
}

proptest! {
    #[test]
    fn ranks_and_tasks_translate_into_each_other(list in distinct()) {
        let group = Group::from_list(&list).unwrap();
        prop_assert_eq!(group.len(), list.len());
        for (rank, task) in list.iter().enumerate() {
            prop_assert_eq!(group.task(rank), Some(*task));
            prop_assert_eq!(group.rank(*task), Some(rank));
        }
        prop_assert_eq!(group.task(list.len()), None);
        for task in (0..200).filter(|task| !list.contains(task)) {
            prop_assert_eq!(group.rank(task), None);
        }
    }

    #[test]
    fn set_operations_are_those_of_lists(a in distinct(), b in distinct()) {
        let (x, y) = (Group::from_list(&a).unwrap(), Group::from_list(&b).unwrap());
        let only = |from: &[u32], there: &[u32], inside: bool| -> Vec<u32> {
            from.iter().copied().filter(|t| there.contains(t) == inside).collect()
        };
        let both = [a.clone(), only(&b, &a, false)].concat();
        prop_assert_eq!(x.union(&y).iter().collect::<Vec<_>>(), both);
        prop_assert_eq!(x.intersection(&y).iter().collect::<Vec<_>>(), only(&a, &b, true));
        prop_assert_eq!(x.difference(&y).iter().collect::<Vec<_>>(), only(&a, &b, false));
    }

    #[test]
    fn a_split_orders_by_key_then_rank(
        list in distinct(),
        said in proptest::collection::vec((proptest::option::of(0u32..3), -2i64..3), 60),
    ) {
        let group = Group::from_list(&list).unwrap();
        let told: Vec<Split> =
            said.iter().take(list.len()).map(|(colour, key)| Split { colour: *colour, key: *key }).collect();
        for rank in 0..list.len() {
            let made = group.split(&told, rank).unwrap();
            prop_assert_eq!(made.is_some(), told[rank].colour.is_some());
            if let Some(made) = made {
                let mut want: Vec<usize> =
                    (0..list.len()).filter(|r| told[*r].colour == told[rank].colour).collect();
                want.sort_by_key(|r| (told[*r].key, *r));
                let want: Vec<u32> = want.into_iter().map(|r| list[r]).collect();
                prop_assert_eq!(made.iter().collect::<Vec<_>>(), want);
            }
        }
    }

    #[test]
    fn a_range_names_what_its_numbers_name(list in distinct(), a in 0usize..60, b in 0usize..60, by in 1i64..9) {
        let group = Group::from_list(&list).unwrap();
        prop_assume!(a < list.len() && b < list.len());
        let stride = if b < a { -by } else { by };
        let ranks: Vec<usize> = (0..).map(|i| a as i64 + i * stride)
            .take_while(|r| if stride > 0 { *r <= b as i64 } else { *r >= b as i64 })
            .map(|r| r as usize).collect();
        let want: Vec<u32> = ranks.iter().map(|r| list[*r]).collect();
        prop_assert_eq!(group.range(a, b, stride).unwrap().iter().collect::<Vec<_>>(), want);
        let rest: Vec<u32> = (0..list.len()).filter(|r| !ranks.contains(r)).map(|r| list[r]).collect();
        prop_assert_eq!(group.exclude(&ranks).unwrap().iter().collect::<Vec<_>>(), rest);
    }
}

#[test]
fn regular_groups_stay_small_however_many_their_members() {
    let all = Group::all(1_000_000);
    let made = [
        all.clone(),
        all.range(3, 999_999, 8).unwrap(),
        all.range(999_999, 0, -1).unwrap(),
        all.exclude(&[17, 500_000]).unwrap(),
        all.range(0, 499_999, 1).unwrap().union(&all.range(600_000, 999_999, 1).unwrap()),
    ];
    for group in made {
        assert!(group.memory() < 256, "{} bytes for {} members", group.memory(), group.len());
        assert_eq!(group.rank(group.task(group.len() - 1).unwrap()), Some(group.len() - 1));
    }
}

#[test]
fn how_a_group_was_made_does_not_show() {
    let all = Group::all(40);
    let ways = [
        all.range(4, 20, 4).unwrap(),
        Group::from_list(&[4, 8, 12, 16, 20]).unwrap(),
        Group::strided(4, 4, 5).unwrap(),
        all.include(&[4, 8, 12, 16, 20]).unwrap(),
        Group::strided(4, 4, 2).unwrap().union(&Group::strided(12, 4, 3).unwrap()),
    ];
    for way in &ways {
        assert_eq!(way, &ways[0]);
        assert_eq!(way.fingerprint(), ways[0].fingerprint());
    }
    assert_ne!(Group::from_list(&[4, 8, 12, 20, 16]).unwrap().fingerprint(), ways[0].fingerprint());
}

#[test]
fn bad_groups_are_refused_with_the_numbers() {
    let all = Group::all(10);
    assert_eq!(Group::from_list(&[3, 1, 3]), Err(GroupError::Twice { task: 3, first: 0, second: 2 }));
    assert_eq!(all.include(&[2, 10]), Err(GroupError::Rank { rank: 10, members: 10 }));
    assert_eq!(all.exclude(&[11]), Err(GroupError::Rank { rank: 11, members: 10 }));
    assert_eq!(all.range(1, 5, 0), Err(GroupError::Stride { first: 1 }));
    assert_eq!(all.check(9), Err(GroupError::Foreign { task: 9, rank: 9, tasks: 9 }));
    assert_eq!(Group::empty().check(9), Err(GroupError::Empty));
    assert!(Group::strided(5, -2, 4).is_err());
    assert!(all.split(&[], 0).is_err());
}

#[test]
fn a_stride_that_a_single_member_does_not_need_may_be_of_any_length() {
    for stride in [i64::MAX, i64::MIN] {
        assert_eq!(Group::strided(7, stride, 1), Group::from_list(&[7]));
        assert!(Group::strided(7, stride, 2).is_err());
        let last = if stride > 0 { 3 } else { 0 };
        let some = Group::strided(1, 2, 4).unwrap().range(2, last, stride);
        assert_eq!(some, Group::from_list(&[5]));
    }
}
