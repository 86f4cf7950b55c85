//! For tests: what goes on between two looks of a task that prepares to sleep.

use std::cell::RefCell;

thread_local! {
    pub(super) static BETWEEN: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
}

/// Has it go on.
pub(super) fn between_looks() {
    BETWEEN.with_borrow_mut(|act| act.as_mut().map(|act| act()));
}
