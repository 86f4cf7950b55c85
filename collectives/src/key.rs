//! The key of a call, by which the plan made for it is found for the next call like it.

use crate::call::Call;
use crate::combine::By;
use crate::element::{Operator, Type};

/// What tells calls apart, but their buffers: those that are described by a root and a count alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    call: u8,
    by: Option<Operator>,
    of: Type,
    reproducible: bool,
    root: usize,
    count: u64,
}

impl Key {
    /// `None`: the call has lists, or a function of the program's.
    #[inline(always)]
    pub(crate) fn of(call: &Call<'_>, of: Type, by: &By<'_>, reproducible: bool) -> Option<Self> {
        let by = match by {
            By::Nothing => None,
            By::Operator(operator) => Some(*operator),
            By::User { .. } => return None,
        };
        let call = call.plain()?;
        let (code, root) = (call.code() as u8, call.root().unwrap_or(0));
        Some(Self { call: code, by, of, reproducible, root, count: call.count() })
    }

    /// One of so many places, which differs for calls that are likely to take turns.
    #[inline(always)]
    pub(crate) fn place(&self, of: usize) -> usize {
        (usize::from(self.call) * 5).wrapping_add(self.root).wrapping_add(self.count as usize) % of
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::combine::By;
    use lapis_schedules::tree::Parts;

    fn key(call: Call<'_>, of: Type, by: Option<Operator>) -> Option<Key> {
        Key::of(&call, of, &by.map_or(By::Nothing, By::Operator), false)
    }

    #[test]
    fn calls_that_need_other_steps_have_other_keys() {
        let calls = [
            (Call::Barrier, Type::U8, None),
            (Call::Broadcast { root: 0, count: 1 }, Type::U64, None),
            (Call::Broadcast { root: 1, count: 1 }, Type::U64, None),
            (Call::Broadcast { root: 1, count: 2 }, Type::U64, None),
            (Call::Broadcast { root: 1, count: 1 }, Type::U8, None),
            (Call::Broadcast { root: 1, count: 1 }, Type::Bytes(8), None),
            (Call::Broadcast { root: 1, count: 1 }, Type::Bytes(16), None),
            (Call::AllReduce { count: 1 }, Type::U64, Some(Operator::Sum)),
            (Call::AllReduce { count: 1 }, Type::U64, Some(Operator::Max)),
            (Call::AllReduce { count: 1 }, Type::I64, Some(Operator::Max)),
            (Call::AllReduce { count: 1 << 33 | 1 }, Type::U64, Some(Operator::Sum)),
            (Call::Scan { count: 1 }, Type::U64, Some(Operator::Sum)),
        ];
        let keys = calls.map(|(call, of, by)| key(call, of, by).unwrap());
        for (at, one) in keys.iter().enumerate() {
            assert!(!keys[at + 1..].contains(one), "{one:?}");
        }
        let reproducible = Key::of(&calls[7].0, Type::U64, &By::Operator(Operator::Sum), true);
        assert_ne!(reproducible, Some(keys[7]));
    }

    #[test]
    fn calls_with_lists_or_functions_have_none() {
        let parts = Parts { counts: &[1], starts: &[0] };
        assert_eq!(key(Call::AllGatherV { parts }, Type::U8, None), None);
        let by = By::User { fold: Box::new(|_, _, _| {}), commutes: true };
        assert_eq!(Key::of(&Call::AllReduce { count: 1 }, Type::U8, &by, false), None);
    }
}
