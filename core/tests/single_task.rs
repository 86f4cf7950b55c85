//! A job of one task: everything that a task can do with itself.

use lapis_core::{
    CompletionHandler, Context, Counter, Delivery, Destination, Error, HandlerId, MemoryRegion, Notify,
    RemoteMemory, Run, Source,
};
use std::ptr::NonNull;
use std::sync::mpsc;

fn alone(interrupts: bool) -> Context {
    Context::builder()
        .environment(lapis_core::config::Environment::default())
        .bootstrap(lapis_core::bootstrap::singleton(0).unwrap())
        .transport(lapis_loopback::table())
        .interrupts(interrupts)
        .init()
        .unwrap()
}

/// A transport that declares a variable, linked.
mod zoo {
    use lapis_core::config::{Group, Kind, Unit, Variable};
    use lapis_core::error::LapiCode;
    use lapis_core::transport::*;

    const CAGES: Variable = Variable {
        name: "LAPIS_ZOO_CAGES",
        group: Group::Transport("zoo"),
        kind: Kind::Number { unit: Unit::Count, min: 1, max: 9, raise: false },
        default: Some("3"),
        help: "How many cages the zoo has",
        more: "",
        source: "Lapis",
        code: LapiCode::ERR_SET_VAL,
    };

    /// Opens with as many cages as its note says.
    pub(super) struct Zoo(u64);

    impl Transport for Zoo {
        const NAME: &'static str = "zoo";
        const VERSION: &'static str = "0";
        const CAPS: Caps = Caps::AM_SHORT.union(Caps::RELIABLE);
        const DECLARATION: Declaration =
            Declaration { cost_ns: 1, usage: Usage::Always, variables: &[CAGES] };
        type Waiter = NoWaiter;

        fn open(host: Host, _: &OpenParams<'_>) -> Result<(Self, NoWaiter), TransportError> {
            Ok((Self(host.number(&CAGES)?.unwrap()), NoWaiter))
        }
        fn attributes(&self) -> Attributes {
            Attributes { caps: Self::CAPS, limits: Limits::default(), note: format!("{} cages", self.0) }
        }
        fn address(&self) -> Vec<u8> {
            Vec::new()
        }
        fn connect(&mut self, _: PeerId, _: &[u8]) -> Result<(), TransportError> {
            Ok(())
        }
        fn poll(&mut self, _: &mut [Event]) -> usize {
            0
        }
    }

    lapis_core::export_transport!(Zoo, "zoo", "0");
}

#[test]
fn what_a_transport_declares_is_checked_before_the_job_is_joined() {
    let with = |environment: &[(&str, &str)], setting: Option<&str>| {
        let environment = lapis_core::config::Environment::from_pairs(environment.iter().copied());
        let builder = Context::builder()
            .environment(environment)
            .bootstrap(lapis_core::bootstrap::singleton(0).unwrap())
            .transport(lapis_loopback::table())
            .transport(zoo::table());
        setting.into_iter().fold(builder, |b, value| b.set("LAPIS_ZOO_CAGES", value)).init()
    };
    let cages = |context: &Context| {
        let listed = context.config().listing().into_iter().find(|l| l.variable.name == "LAPIS_ZOO_CAGES");
        listed.map(|l| (l.value.unwrap(), l.origin.to_string())).unwrap()
    };
    let seen = |value: &str, origin: &str| (value.to_owned(), origin.to_owned());
    assert_eq!(cages(&with(&[], None).unwrap()), seen("3", "default"));
    let five = [("LAPIS_ZOO_CAGES", "5")];
    assert_eq!(cages(&with(&five, None).unwrap()), seen("5", "environment"));
    assert_eq!(cages(&with(&five, Some("7")).unwrap()), seen("7", "builder"));
    let range = "the value is too large; it takes a number from 1 to 9";
    for (environment, setting) in [(&[("LAPIS_ZOO_CAGES", "10")][..], None), (&[], Some("10"))] {
        let error = with(environment, setting).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), format!("LAPIS_ZOO_CAGES=`10`: {range}"));
    }
    let builder = Context::builder().transport(lapis_loopback::table()).set("LAPIS_ZOO_CAGES", "5");
    let error = builder.init().map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("`LAPIS_ZOO_CAGES` is not a variable of the configuration"), "{error}");
}

#[test]
fn a_message_to_oneself_runs_its_header_handler_on_the_packets_bytes() {
    let context = alone(false);
    let (tell, told) = mpsc::channel();
    context
        .set_handler(HandlerId(1), move |_, m| {
            tell.send((m.source, m.user_header.to_vec(), m.len, m.data().map(<[u8]>::to_vec))).unwrap();
            Delivery::bury()
        })
        .unwrap();
    context.send(0, HandlerId(1), &[1, 2, 3, 4], b"hello").unwrap();
    let got = loop {
        context.progress().unwrap();
        if let Ok(got) = told.try_recv() {
            break got;
        }
    };
    assert_eq!(got, (0, vec![1, 2, 3, 4], 5, Some(b"hello".to_vec())));
}

#[test]
fn messages_of_every_size_arrive_whole_and_complete_once() {
    let context = alone(false);
    let buffer = Box::leak(vec![0u8; 1 << 20].into_boxed_slice());
    let base = buffer.as_mut_ptr().expose_provenance();
    let (tell, told) = mpsc::channel();
    context
        .set_handler(HandlerId(2), move |_, m| {
            let tell = tell.clone();
            let len = m.len as usize;
            Delivery {
                into: Destination::Contiguous(
                    NonNull::new(std::ptr::with_exposed_provenance_mut(base)).unwrap(),
                ),
                ..Delivery::bury()
            }
            .then(move |_| tell.send(len).unwrap())
        })
        .unwrap();
    for len in [0, 1, 7, 8, 55, 56, 57, 1000, 4096, 8192, 16384, 100_000, 1 << 20] {
        let data: Vec<u8> = (0..len).map(|i| (i * 7 + len) as u8).collect();
        let back = context.send_and_confirm(0, HandlerId(2), &[], data).unwrap().wait().unwrap();
        assert_eq!(told.try_recv(), Ok(len));
        // SAFETY: the message has arrived and nothing else writes to the buffer.
        let arrived =
            unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(base), len) };
        assert!(arrived == &back[..], "{len} bytes");
    }
    assert!(told.try_recv().is_err());
}

#[test]
fn counters_count_origin_target_and_completion() {
    let context = alone(false);
    context.set_handler(HandlerId(3), |_, _| Delivery::bury()).unwrap();
    let (target, origin, completion) = (Counter::new(0), Counter::new(0), Counter::new(0));
    let data = [7u8; 64];
    for _ in 0..10 {
        let message = lapis_core::message::AmSend {
            target: 0,
            handler: 3,
            user_header: &[],
            source: Source::Contiguous(data.as_ptr(), 64),
            target_counter: (&raw const target).expose_provenance() as u64,
            origin: Notify::counter(&origin),
            completion: Notify::counter(&completion),
        };
        // SAFETY: data and counters outlive the waits below.
        unsafe { context.am_send(message).unwrap() };
    }
    for counter in [&target, &origin, &completion] {
        assert_eq!(context.wait_counter(counter, 10).unwrap(), 0);
    }
}

#[test]
fn memory_of_this_task_takes_puts_gets_and_atomics() {
    let context = alone(false);
    let memory = context.alloc(4096).unwrap();
    let remote = memory.remote();
    context.put_bytes(remote.part(100, 5).unwrap(), b"hello").unwrap();
    let mut back = [0; 5];
    memory.read(100, &mut back);
    assert_eq!(&back, b"hello");
    let mut got = [0; 5];
    context.get_bytes(remote.part(100, 5).unwrap(), &mut got).unwrap();
    assert_eq!(&got, b"hello");
    let variable = remote.part(8, 8).unwrap();
    assert_eq!(context.fetch_add(variable, 5).unwrap(), 0);
    assert_eq!(context.fetch_or(variable, 2).unwrap(), 5);
    assert_eq!(context.swap(variable, 1).unwrap(), 7);
    assert_eq!(context.compare_and_swap(variable, 1, 9).unwrap(), 1);
    assert_eq!(memory.atomic_u64(8).load(std::sync::atomic::Ordering::Relaxed), 9);
    assert!(context.put_bytes(remote.part(0, 4).unwrap(), b"hello").is_err());
    context.gfence().unwrap();
}

/// All of its own memory is mapped, and the name of a memory is a few plain numbers.
#[test]
fn what_a_task_does_not_give_to_others_is_refused_to_itself() {
    let context = alone(false);
    let mut private = Box::new(7u64);
    let memory = context.alloc(64).unwrap();
    let addr = (&raw mut *private).addr() as u64;
    let forged = RemoteMemory { task: 0, addr, len: 8 };
    let beyond = RemoteMemory { len: 128, ..memory.remote() };
    for place in [forged, beyond] {
        let len = place.len as usize;
        let refused = |outcome: lapis_core::Result<()>| match outcome {
            Err(Error::Refused(refusal)) => assert_eq!((refusal.addr, refusal.len), (place.addr, place.len)),
            other => panic!("{other:?}"),
        };
        refused(context.put_bytes(place, &vec![1; len]));
        refused(context.put_owned(place, vec![1; len]).map(drop));
        refused(context.get_bytes(place, &mut vec![0; len]));
        refused(context.get_owned(place).map(drop));
    }
    for outcome in [context.fetch_add(forged, 1), context.compare_and_swap(forged, 7, 8)] {
        assert!(matches!(outcome, Err(Error::Refused(_))), "{outcome:?}");
    }
    assert_eq!(*private, 7);
    let mut read = [0; 64];
    memory.read(0, &mut read);
    assert_eq!(read, [0; 64]);
    drop(memory);
    context.terminate().unwrap();
}

#[test]
fn attached_memory_and_ones_own_look_alike_and_keep_their_bounds() {
    let context = alone(false);
    let memory = context.alloc(64).unwrap();
    let attached = context.attach(memory.remote()).unwrap();
    let regions: Vec<Box<dyn MemoryRegion>> =
        vec![Box::new(attached.clone()), Box::new(memory.region().unwrap())];
    for region in regions.clone() {
        assert_eq!(region.remote(), memory.remote());
        assert_eq!(region.as_local_ptr().unwrap().as_ptr(), memory.as_ptr());
    }
    attached.put(3, b"abc").unwrap();
    let mut back = [0; 3];
    attached.get(3, &mut back).unwrap();
    assert_eq!(&back, b"abc");
    assert_eq!(attached.fetch_add(56, 3).unwrap(), 0);
    assert_eq!(attached.compare_and_swap(56, 3, 4).unwrap(), 3);
    assert_eq!(attached.swap(56, 0).unwrap(), 4);
    assert!(attached.put(62, b"abc").is_err());
    assert!(attached.fetch_add(57, 1).is_err());
    assert!(attached.fetch_add(4, 1).is_err(), "misaligned");
    assert!(attached.get(u64::MAX, &mut back).is_err());
}

#[test]
fn futures_complete_under_any_executor() {
    let context = alone(true);
    context.set_handler(HandlerId(4), |_, _| Delivery::bury()).unwrap();
    let memory = context.alloc(64).unwrap();
    let work = async {
        context.send_and_confirm(0, HandlerId(4), &[], vec![1; 10]).unwrap().await.unwrap();
        context.put_owned(memory.remote(), vec![9; 64]).unwrap().await.unwrap();
        context.get_owned(memory.remote()).unwrap().await.unwrap()
    };
    let mut work = std::pin::pin!(work);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let got = loop {
        if let std::task::Poll::Ready(got) = work.as_mut().poll(&mut cx) {
            break got;
        }
    };
    assert_eq!(got, vec![9; 64]);
}

#[test]
fn waiting_inside_a_header_handler_is_refused() {
    let context = alone(false);
    let (tell, told) = mpsc::channel();
    context
        .set_handler(HandlerId(5), move |c, _| {
            tell.send(c.fence().unwrap_err().to_string()).unwrap();
            Delivery::bury()
        })
        .unwrap();
    context.send(0, HandlerId(5), &[], b"x").unwrap();
    context.fence().unwrap();
    assert!(told.recv().unwrap().contains("handler"));
}

#[test]
fn messages_to_oneself_arrive_before_the_context_ends() {
    let context = alone(false);
    let (tell, told) = mpsc::channel();
    context
        .set_handler(HandlerId(5), move |_, _| {
            tell.send(()).unwrap();
            Delivery::bury()
        })
        .unwrap();
    for _ in 0..100 {
        context.send(0, HandlerId(5), &[], b"x").unwrap();
    }
    context.terminate().unwrap();
    assert_eq!(told.try_iter().count(), 100);
}

#[test]
fn a_terminated_context_refuses_calls_and_can_be_made_anew() {
    let context = alone(true);
    context.terminate().unwrap();
    assert!(context.send(0, HandlerId(1), &[], b"x").is_err());
    let again = alone(true);
    again.barrier().unwrap();
}

#[test]
fn bad_targets_and_user_headers_are_refused_with_the_numbers() {
    let context = alone(false);
    let text = context.send(1, HandlerId(1), &[], b"x").unwrap_err().to_string();
    assert!(text.contains('1'), "{text}");
    assert!(context.send(0, HandlerId(1), &[0; 6], b"x").unwrap_err().to_string().contains('6'));
    assert!(context.send(0, HandlerId(1), &[0; 4096], b"x").unwrap_err().to_string().contains("4096"));
    assert!(context.set_handler(HandlerId(0), |_, _| Delivery::bury()).is_err());
    assert!(context.set_handler(HandlerId(256), |_, _| Delivery::bury()).is_err());
}

#[test]
fn a_header_handler_gives_back_its_own_levels_of_the_lock_and_none_of_the_librarys() {
    let context = alone(false);
    let (tell, told) = mpsc::channel();
    context
        .set_handler(HandlerId(1), move |context, _| {
            let librarys = [context.unlock(), context.unlock()];
            context.lock();
            assert!(context.try_lock());
            let own = [context.unlock(), context.unlock(), context.unlock()];
            tell.send((librarys, own, context.lock_owner() != 0)).unwrap();
            Delivery::bury()
        })
        .unwrap();
    context.send(0, HandlerId(1), &[], b"hello").unwrap();
    let got = loop {
        context.progress().unwrap();
        if let Ok(got) = told.try_recv() {
            break got;
        }
    };
    assert_eq!(got, ([false; 2], [true, true, false], true));
    assert_eq!(context.lock_owner(), 0);
    context.lock();
    assert!(context.unlock() && !context.unlock());
}

/// Handlers, notifications and conditions run under the lock; debug builds refuse a second hold on
/// the state if the library has not let go of its own.
#[test]
fn whatever_runs_under_the_lock_may_call_the_context() {
    let context = alone(false);
    let (tell, told) = mpsc::channel();
    let calls = |context: &Context| {
        let sent = context.statistics().path(lapis_core::stats::Path::Local).packets_sent;
        assert_eq!(context.transport_to(0), Some("loopback"));
        assert!(context.progress().is_ok() && context.paths_to(0).is_empty());
        sent
    };
    context
        .set_handler(HandlerId(1), move |context, m| {
            calls(context);
            let tell = tell.clone();
            let buffer = Box::leak(vec![0u8; m.len as usize].into_boxed_slice());
            let completion = CompletionHandler::Closure(Box::new(move |context: &Context| {
                context.send(0, HandlerId(2), &[], b"from a completion handler").unwrap();
                tell.send(calls(context)).unwrap();
            }));
            Delivery {
                into: Destination::Contiguous(NonNull::from(buffer).cast()),
                completion: Some(completion),
                run: Run::Inline,
                ..Delivery::bury()
            }
        })
        .unwrap();
    let (answer, answered) = mpsc::channel();
    context
        .set_handler(HandlerId(2), move |context, m| {
            answer.send((calls(context), m.len)).unwrap();
            Delivery::bury()
        })
        .unwrap();
    for len in [0, 100, 100_000] {
        let sent = context.send_and_confirm(0, HandlerId(1), &[], vec![1; len]).unwrap();
        let mut answers = 0;
        context
            .wait_until(|| {
                answers += answered.try_iter().filter(|(_, len)| *len == 25).count();
                calls(&context) > 0 && answers == 1
            })
            .unwrap();
        sent.wait().unwrap();
        assert!(told.try_recv().unwrap() > 0);
    }
}

#[test]
fn a_progress_thread_that_cant_be_started_is_missed_each_time() {
    // No address space has room for such a stack.
    let hooks = lapis_core::context::RawHooks { stack_size: Some(1 << 60), ..Default::default() };
    let context = Context::builder()
        .environment(lapis_core::config::Environment::default())
        .bootstrap(lapis_core::bootstrap::singleton(0).unwrap())
        .transport(lapis_loopback::table())
        .interrupts(false)
        .hooks(hooks)
        .init()
        .unwrap();
    for attempt in 0..2 {
        let error = context.set_interrupts(true).expect_err("no thread").to_string();
        assert_eq!(error, "starting a thread of the context", "attempt {attempt}");
        assert!(!context.interrupts(), "attempt {attempt}: nobody would serve arrivals");
    }
    context.progress().unwrap();
    context.terminate().unwrap();
}

/// A layer's state is made under the lock that handlers hold: whoever asks first, nobody waits for
/// the other in a circle.
#[test]
fn a_handler_may_ask_for_the_state_of_a_layer_while_a_thread_makes_it() {
    struct State;
    let make = |context: &Context| -> lapis_core::error::Result<_> {
        context.watch_peers(|_, _| {});
        Ok(std::sync::Arc::new(State))
    };
    let context = std::sync::Arc::new(alone(false));
    let (begun, begins) = mpsc::channel();
    let begins = std::sync::Mutex::new(begins);
    let id = HandlerId(1);
    context
        .set_handler(id, move |context, _| {
            // The other thread may already be making it, or wait for the lock until this returns.
            let _ = begins.lock().unwrap().recv_timeout(std::time::Duration::from_millis(300));
            context.extension(|| make(context)).unwrap();
            Delivery::bury()
        })
        .unwrap();
    let other = std::thread::spawn({
        let context = std::sync::Arc::clone(&context);
        move || {
            let made = context.extension(|| {
                let _ = begun.send(());
                // The handler asks now.
                std::thread::sleep(std::time::Duration::from_millis(100));
                make(&context)
            });
            made.unwrap();
        }
    });
    context.send(0, id, &[], &[]).unwrap();
    context.progress().unwrap();
    other.join().unwrap();
}
