//! Jobs of several processes over UDP: on the loopback interface, with faults on purpose, and in
//! network namespaces with rails that lose packets, go down and come up.

mod common;

use common::*;
use std::time::Duration;

#[test]
fn two_tasks_exchange_messages_of_all_sizes() {
    let done = job(2, "mix 10").run().expect(0);
    assert_eq!(done.lines_with("ok task").len(), 2, "{done:?}");
    assert!(done.out.contains("over udp"), "{done:?}");
}

#[test]
fn eight_tasks_exchange_messages_of_all_sizes() {
    let done = job(8, "mix 3").run().expect(0);
    assert_eq!(done.lines_with("ok task").len(), 8, "{done:?}");
}

#[test]
fn interrupt_mode_serves_those_who_compute() {
    let done = job(3, "mix 5").env("UDP_JOB_INTERRUPTS", "1").run().expect(0);
    assert_eq!(done.lines_with("ok task").len(), 3, "{done:?}");
}

#[test]
fn small_messages_arrive_once_each() {
    let done = job(4, "flood 50000").run().expect(0);
    assert_eq!(done.lines_with("ok task").len(), 4, "{done:?}");
}

#[test]
fn small_datagrams_and_large_ones_serve_as_well() {
    for size in ["1024", "65536"] {
        let done = job(2, "mix 10").env("MP_UDP_PACKET_SIZE", size).run().expect(0);
        assert_eq!(done.lines_with("ok task").len(), 2, "{done:?}");
    }
}

#[test]
fn faults_of_all_kinds_are_mended() {
    for (tasks, scenario) in [(4, "mix 4"), (2, "flood 30000")] {
        for seed in 1..4 {
            let chaos = format!("drop=0.05,dup=0.05,reorder=0.05,corrupt=0.01,mtu=1400,seed={seed}");
            let done = job(tasks, scenario).env("LAPIS_CHAOS", &chaos).run().expect(0);
            assert_eq!(done.lines_with("ok task").len(), tasks as usize, "{done:?}");
            assert!(done.sum_of("resent ") > 0, "nothing was sent again, so there were no faults: {done:?}");
        }
    }
}

#[test]
fn datagrams_that_a_path_is_too_narrow_for_are_sent_again_in_parts() {
    // A short job may be over before any path is narrow.
    let mut resent = 0;
    for (tasks, scenario) in [(2, "mix 40"), (3, "flood 100000"), (2, "lend 9")] {
        let done = job(tasks, scenario).env("LAPIS_CHAOS", "mtu=1300,seed=1").run().expect(0);
        assert_eq!(done.lines_with("ok task").len(), tasks as usize, "{done:?}");
        resent += done.sum_of("resent ");
    }
    assert!(resent > 0, "all passed, so no path was narrow");
}

#[test]
fn nothing_is_lost_while_paths_become_narrow_and_there_is_no_room() {
    for (tasks, scenario) in [(2, "answer 600"), (3, "answer 400"), (2, "mix 10")] {
        for (seed, mtu) in [(1, 1400), (2, 600), (3, 4000)] {
            let chaos = format!("mtu={mtu},again=0.05,seed={seed}");
            for interrupts in [false, true] {
                let job = job(tasks, scenario).env("LAPIS_CHAOS", &chaos);
                let job = if interrupts { job.env("UDP_JOB_INTERRUPTS", "1") } else { job };
                let done = job.run().expect(0);
                assert_eq!(done.lines_with("ok task").len(), tasks as usize, "{chaos}: {done:?}");
            }
        }
    }
}

#[test]
fn what_handlers_answer_arrives_while_the_path_shrinks() {
    let Some(net) = Net::make("as", 1) else { return skip() };
    net.mtu(9000);
    let mut running = Job::across(&net, "answer 4000").start();
    let mut turns = 0;
    while running.alive() && turns < 100 {
        std::thread::sleep(Duration::from_millis(20));
        net.mtu(if turns % 2 == 0 { 4000 } else { 9000 });
        turns += 1;
    }
    let done = running.wait().expect(0);
    assert_eq!(done.lines_with("ok task").len(), 2, "after {turns} changes: {done:?}");
    assert!(turns > 1, "the job ended before anything changed");
}

#[test]
fn lent_memory_is_left_alone_once_the_program_has_it_back() {
    let done = job(2, "lend 9").run().expect(0);
    assert_eq!(done.lines_with("ok task").len(), 2, "{done:?}");
    for seed in 1..4 {
        let chaos = format!("drop=0.03,dup=0.03,reorder=0.03,corrupt=0.01,mtu=1400,seed={seed}");
        let done = job(2, "lend 9").env("LAPIS_CHAOS", &chaos).run().expect(0);
        assert_eq!(done.lines_with("ok task").len(), 2, "{done:?}");
        assert!(done.sum_of("resent ") > 0, "nothing was sent again, so there were no faults: {done:?}");
    }
}

#[test]
fn strangers_and_replays_change_nothing() {
    // Three tasks: with two, the kernel itself keeps strangers out. Hearing what to replay needs
    // root.
    if !is_root() {
        return skip();
    }
    let done = job(3, "storm 300000").run().expect(0);
    assert_eq!(done.lines_with("ok task").len(), 3, "{done:?}");
    for what in ["refused ", "attacked "] {
        let count = done.sum_of(what);
        assert!(count > 100, "{what}{count}: {done:?}");
    }
}

#[test]
fn a_silent_task_is_reported_after_timeout_and_patience_is_the_programs_choice() {
    let done = job(2, "silence 2").env("LAPIS_TIMEOUT", "10").run().expect(3);
    assert_eq!(done.lines_with("no answer from task 1 within").len(), 2, "{done:?}");
    assert_eq!(done.lines_with("ok").len(), 1, "{done:?}");
}

#[test]
fn a_task_that_falls_silent_after_it_has_acknowledged_everything_is_reported_as_well() {
    let done = job(2, "silence 1 acknowledges").env("LAPIS_TIMEOUT", "10").run().expect(3);
    assert_eq!(done.lines_with("no answer from task 1 within").len(), 1, "{done:?}");
    assert_eq!(done.lines_with("ok").len(), 1, "{done:?}");
}

#[test]
fn the_death_of_a_task_ends_the_job() {
    let done = job(2, "die").run();
    assert_eq!(done.code, Some(134), "{done:?}");
}

#[test]
fn tasks_started_by_hand_meet_over_udp() {
    let partition = format!("udp-{}", std::process::id());
    let tasks: Vec<Job> = (0..3)
        .map(|child: u32| {
            let child = child.to_string();
            Job::new()
                .alone("mix 3")
                .env("MP_CHILD", &child)
                .env("MP_PROCS", "3")
                .env("MP_PARTITION", &partition)
        })
        .collect();
    let running: Vec<_> = tasks.into_iter().map(Job::start).collect();
    for task in running {
        let done = task.wait().expect(0);
        assert_eq!(done.lines_with("over udp").len(), 1, "{done:?}");
    }
}

#[test]
fn an_interface_that_is_not_there_is_named_together_with_those_that_are() {
    let done = job(2, "unreachable").env("MP_LAPI_INET_ADDR", "@1:10.99.98.97,en9").run();
    assert!(done.out.contains("10.99.98.97") && done.out.contains("127.0.0.1"), "{done:?}");
}

#[test]
fn hosts_with_two_rails_use_both() {
    let Some(net) = Net::make("ra", 2) else { return skip() };
    let done = Job::across(&net, "mix 5").run().expect(0);
    assert_eq!(done.lines_with("ok task").len(), 2, "{done:?}");
    let before = net.packets();
    Job::across(&net, "stream 200 1000000").run().expect(0);
    let used: Vec<u64> = net.packets().iter().zip(before).map(|(a, b)| a - b).collect();
    assert!(used.iter().all(|n| *n > 100), "packets over each rail: {used:?}");
}

#[test]
fn rails_of_unequal_worth_carry_a_job() {
    let Some(net) = Net::make("un", 2) else { return skip() };
    for seed in 1..4 {
        let chaos = format!("drop=0.01,path1.drop=0.2,path1.delay=2ms,path1.mtu=600,seed={seed}");
        let done = Job::across(&net, "mix 5").env("LAPIS_CHAOS", &chaos).run().expect(0);
        assert_eq!(done.lines_with("ok task").len(), 2, "{done:?}");
        assert!(done.sum_of("resent ") > 0, "{done:?}");
    }
}

#[test]
fn real_loss_is_mended() {
    let Some(net) = Net::make("lo", 1) else { return skip() };
    for percent in [1, 5] {
        if !net.lose(percent) {
            return skip();
        }
        for scenario in ["mix 5", "flood 50000"] {
            // Few datagrams may have the luck that all of them come.
            let resent = (0..20).any(|_| {
                let done = Job::across(&net, scenario).run().expect(0);
                assert_eq!(done.lines_with("ok task").len(), 2, "{percent} %: {done:?}");
                done.sum_of("resent ") > 0
            });
            assert!(resent, "{percent} %: {scenario}: nothing was ever sent again");
        }
    }
}

#[test]
fn a_rail_may_go_down_and_come_back_midstream() {
    let Some(net) = Net::make("fo", 2) else { return skip() };
    pull_rails_during(&net, Job::across(&net, "flood 3000000").start());
}

/// Pulls the rails in turn while a job runs, which must not notice.
fn pull_rails_during(net: &Net, mut running: Running) {
    let mut turns = 0;
    while running.alive() && turns < 20 {
        let rail = turns % 2;
        std::thread::sleep(Duration::from_millis(150));
        net.rail(rail, false);
        std::thread::sleep(Duration::from_millis(150));
        net.rail(rail, true);
        turns += 1;
    }
    let done = running.wait().expect(0);
    assert_eq!(done.lines_with("ok task").len(), 2, "{done:?}");
    assert!(turns > 0 && done.sum_of("resent ") > 0, "after {turns} outages: {done:?}");
}

#[test]
fn the_link_says_when_a_rail_goes_and_comes_back() {
    let Some(net) = Net::make("nl", 2) else { return skip() };
    for interrupts in [false, true] {
        let job = Job::across(&net, "watch");
        let job = if interrupts { job.env("UDP_JOB_INTERRUPTS", "1") } else { job };
        let mut running = job.start();
        running.read_line("paths [true, true]");
        net.rail(0, false);
        running.read_line("paths [false, true]");
        net.rail(0, true);
        let done = running.wait().expect(0);
        assert_eq!(done.lines_with("paths [true, true]").len(), 2, "{done:?}");
    }
}

#[test]
fn ipv6_serves_as_well() {
    let Some(net) = Net::of("v6", 2, 1, true) else { return skip() };
    let done = Job::across(&net, "mix 5").env("LAPIS_CHAOS", "drop=0.01,seed=7").run().expect(0);
    assert_eq!(done.lines_with("ok task").len(), 2, "{done:?}");
    Job::across(&net, "stream 100 1000000").run().expect(0);
    assert!(net.packets()[0] > 100, "packets over the rail: {:?}", net.packets());
}

#[test]
fn two_rails_of_ipv6_serve_and_fail_over_as_those_of_ipv4_do() {
    let Some(net) = Net::of("vr", 2, 2, true) else { return skip() };
    Job::by_address(&net, "stream 200 1000000").run().expect(0);
    let used = net.packets();
    assert!(used.iter().all(|n| *n > 100), "packets over each rail: {used:?}");
    pull_rails_during(&net, Job::by_address(&net, "flood 1000000").start());
    let mut running = Job::by_address(&net, "watch").start();
    running.read_line("paths [true, true]");
    net.rail(1, false);
    running.read_line("paths [true, false]");
    net.rail(1, true);
    let done = running.wait().expect(0);
    assert_eq!(done.lines_with("paths [true, true]").len(), 2, "{done:?}");
}

#[test]
fn four_hosts_exchange_messages_of_all_sizes() {
    let Some(net) = Net::of("fh", 4, 2, false) else { return skip() };
    let done = Job::across(&net, "mix 3").run().expect(0);
    assert_eq!(done.lines_with("ok task").len(), 4, "{done:?}");
    if net.lose(1) {
        let done = Job::across(&net, "flood 20000").run().expect(0);
        assert_eq!(done.lines_with("ok task").len(), 4, "{done:?}");
    }
}

#[test]
fn two_jobs_share_a_link() {
    let Some(net) = Net::make("sh", 1) else { return skip() };
    if !net.slow(400) {
        return skip();
    }
    // Each 40 MB, which the link alone carries in 0.8 s.
    let jobs: Vec<_> = (0..2).map(|_| Job::across(&net, "stream 40 1000000").start()).collect();
    let rates: Vec<f64> = jobs
        .into_iter()
        .map(|job| {
            let done = job.wait().expect(0);
            let line = done.lines_with(" GB/s").first().map(|l| (*l).to_owned()).expect("a rate");
            let words: Vec<&str> = line.split(' ').collect();
            let at = words.iter().position(|w| *w == "GB/s").expect("a unit");
            words[at - 1].parse().expect("a number")
        })
        .collect();
    // They begin when they begin, and one may have the link alone for a while.
    let share = rates[0].min(rates[1]) / (rates[0] + rates[1]);
    assert!(share > 0.2, "shares of the link: {rates:?} GB/s");
}

#[test]
fn the_path_may_shrink_under_what_waits() {
    let Some(net) = Net::make("ps", 1) else { return skip() };
    net.mtu(9000);
    let mut running = Job::across(&net, "mix 60").start();
    let mut turns = 0;
    while running.alive() && turns < 40 {
        std::thread::sleep(Duration::from_millis(40));
        net.mtu(if turns % 2 == 0 { 1500 } else { 9000 });
        turns += 1;
    }
    let done = running.wait().expect(0);
    assert_eq!(done.lines_with("ok task").len(), 2, "after {turns} changes: {done:?}");
    assert!(turns > 1, "the job ended before anything changed");
    assert_eq!(net.fragments(), 0, "no packet was cut");
}

#[test]
fn small_and_large_mtus_are_respected() {
    let Some(net) = Net::make("mt", 1) else { return skip() };
    for mtu in [1500, 9000] {
        net.mtu(mtu);
        let done = Job::across(&net, "mix 5").run().expect(0);
        assert_eq!(done.lines_with("ok task").len(), 2, "MTU {mtu}: {done:?}");
    }
    assert_eq!(net.fragments(), 0, "no packet was cut");
}

#[test]
fn a_path_that_drops_what_is_too_large_without_a_word_is_found_out() {
    for (near, far) in [(9000, 1500), (9000, 1000), (1500, 700)] {
        let Some(net) = Net::make("bh", 1) else { return skip() };
        net.mtu_at(0, near);
        net.mtu_at(1, far);
        for scenario in ["mix 5", "answer 300", "lend 6"] {
            let done = Job::across(&net, scenario).run().expect(0);
            assert_eq!(done.lines_with("ok task").len(), 2, "MTU {near} and {far}, {scenario}: {done:?}");
        }
    }
}

#[test]
fn a_path_that_is_too_narrow_for_any_data_ends_the_wait_with_a_line_that_names_path_and_size() {
    let Some(net) = Net::make("tn", 1) else { return skip() };
    net.mtu_at(1, 500);
    let done = Job::across(&net, "mix 1").run().expect(1);
    for part in ["is down", "path 0 to task", "datagrams of 548 bytes", "MTU must be 576", "10.217.0."] {
        assert!(done.err.contains(part), "{part}: {done:?}");
    }
}

#[test]
fn a_host_that_is_cut_off_is_reported() {
    let Some(net) = Net::make("cu", 1) else { return skip() };
    let mut running = Job::across(&net, "cut").env("LAPIS_TIMEOUT", "10").start();
    running.read_line("streaming");
    net.rail(0, false);
    let done = running.wait();
    assert_eq!(done.lines_with("told of task").len(), 2, "{done:?}");
    assert_eq!(done.lines_with("ok cut").len(), 2, "{done:?}");
}

#[test]
fn hosts_without_a_common_network_are_told_about_both_sides_interfaces() {
    let Some(net) = Net::make("un", 1) else { return skip() };
    net.move_far_side(false);
    let done = Job::across(&net, "unreachable").run();
    assert!(done.out.contains("10.217.") && done.out.contains("10.218."), "{done:?}");
}

#[test]
fn hosts_of_different_subnets_meet_where_the_kernel_knows_a_way() {
    let Some(net) = Net::make("ro", 1) else { return skip() };
    net.move_far_side(true);
    let done = Job::across(&net, "mix 3").run().expect(0);
    assert_eq!(done.lines_with("ok task").len(), 2, "{done:?}");
    assert!(net.packets()[0] > 20, "packets over the rail: {:?}", net.packets());
}

#[test]
fn every_network_is_a_path_up_to_eight_and_bridges_are_none() {
    for (rails, wish, paths) in [(2, "sn_all", 3), (2, "max", 3), (2, "1", 1), (9, "max", 8)] {
        let Some(net) = Net::make("np", rails) else { return skip() };
        net.add_bridges();
        let name = if wish == "sn_all" { "MP_EUIDEVICE" } else { "MP_INSTANCES" };
        // One more network is the launcher's.
        let done = Job::across(&net, "paths").env("MP_INSTANCES", "").env(name, wish).run().expect(0);
        let all = format!("paths {:?}", vec![true; paths]);
        assert_eq!(done.lines_with(&all).len(), 2, "{rails} rails, {wish}: {done:?}");
    }
}
