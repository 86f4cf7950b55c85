//! Data gather/scatter programs from C: each program of `tests/dgsp` as a job of its own, over each
//! transport there is.

#[path = "support/pulled.rs"]
mod pulled;
mod support;

use std::path::{Path, PathBuf};
use support::{Job, compile, source, transports};

fn program(name: &str) -> PathBuf {
    compile(&[source(&format!("dgsp/{name}.c"))], &[])
}

#[test]
fn registration_and_packing() {
    let program = program("util");
    Job::of(1).succeeds(&program);
    Job::of(2).succeeds(&program);
}

#[test]
fn transfers_with_either_side_in_any_layout() {
    let program = program("transfer");
    Job::of(1).succeeds(&program);
    Job::of(2).succeeds(&program);
}

#[test]
fn operands_are_combined_whole_at_the_target() {
    let program = program("accumulate");
    for tasks in [1, 2, 3] {
        Job::of(tasks).succeeds(&program);
    }
    with_losses(3, &program, &[]);
}

#[test]
fn fortran_registers_any_number_of_functions() {
    Job::of(1).succeeds(&program("by_reference"));
}

#[test]
fn faults_that_only_the_target_sees_reach_its_error_handler() {
    let program = program("faults");
    Job::of(1).succeeds(&program);
    Job::of(2).succeeds(&program);
}

#[test]
fn without_an_error_handler_a_fault_ends_the_job() {
    let program = program("faults");
    let end = Job::of(2).arg("no handler").run(&program);
    assert_eq!(end.code(), Some(1), "{}", end.stderr());
    assert!(end.stderr().contains("LAPI_ERR_DGSP (465)"), "{}", end.stderr());
}

#[test]
fn random_layouts_deliver_what_a_list_of_bytes_says() {
    let program = program("random");
    Job::of(1).arg("100").succeeds(&program);
    Job::of(2).arg("100").arg("0x5eed").succeeds(&program);
    with_losses(2, &program, &["20", "0xfeed"]);
}

#[test]
fn parts_of_an_all_to_all_have_layouts_of_their_own() {
    let program = program("alltoallw");
    Job::of(3).succeeds(&program);
    with_losses(3, &program, &[]);
}

#[test]
fn broadcasts_gathers_scatters_and_exchanges_have_layouts() {
    let program = program("laid");
    Job::of(3).succeeds(&program);
    with_losses(3, &program, &[]);
}

#[test]
fn every_program_ends_well_while_adapters_are_pulled() {
    let programs =
        [("util", 2), ("transfer", 2), ("accumulate", 3), ("faults", 2), ("alltoallw", 3), ("laid", 3)];
    for (name, tasks) in programs {
        pulled::succeeds(&Job::of(tasks), &program(name));
    }
    pulled::succeeds(&Job::of(2).arg("100").arg("0x5eed"), &program("random"));
}

/// Datagrams are lost, doubled and overtake one another, also small ones, and paths become narrow;
/// a transport that has no room now and then.
fn with_losses(tasks: u32, program: &Path, args: &[&str]) {
    let losses = "drop=0.05,dup=0.05,reorder=0.2,seed=11";
    let narrow = "drop=0.05,mtu=1000,again=0.05,seed=11";
    for (transport, chaos, size) in [
        ("udp", losses, "8192"),
        ("udp", losses, "1168"),
        ("udp", narrow, "8192"),
        ("shm", "again=0.3,seed=11", "8192"),
    ] {
        if !transports().contains(&transport) {
            eprintln!("SKIPPED over {transport}: its plugin is not built");
            continue;
        }
        let mut job = Job::of(tasks).env("LAPIS_TRANSPORT", transport);
        job = job.env("LAPIS_CHAOS", chaos).env("MP_UDP_PACKET_SIZE", size);
        job.args.extend(args.iter().map(|arg| (*arg).to_owned()));
        job.run(program).success();
    }
}

#[test]
fn the_header_and_the_engine_have_the_same_sizes_and_numbers() {
    use lapi_r::abi::*;
    use lapis_dgsp::{Density, ErrorCode, isa};

    let sizes = [
        (LAPI_DGSM_COPY_SIZE, isa::COPY_SIZE),
        (LAPI_DGSM_MCOPY_SIZE, isa::MCOPY_SIZE),
        (LAPI_DGSM_MCOPY_BLOCK_SIZE, isa::BLOCK_SIZE),
        (LAPI_DGSM_GOSUB_SIZE, isa::GOSUB_SIZE),
        (LAPI_DGSM_ITERATE_SIZE, isa::ITERATE_SIZE),
        (LAPI_DGSM_CONTROL_SIZE, isa::CONTROL_SIZE),
    ];
    for (header, engine) in sizes {
        assert_eq!(header as usize, engine);
    }
    assert_eq!(LAPI_DGSM_NO_CTL, isa::NO_CTL);
    let densities = [
        (LAPI_DGSM_SPARSE, Density::Sparse),
        (LAPI_DGSM_CONTIG, Density::Contig),
        (LAPI_DGSM_UNIT, Density::Unit),
    ];
    for (header, engine) in densities {
        assert_eq!(Density::from_c(header), Some(engine));
    }
    let codes = [
        (LAPI_ERR_DGSP_ATOM, ErrorCode::Atom),
        (LAPI_ERR_DGSP_BRANCH, ErrorCode::Branch),
        (LAPI_ERR_DGSP_CTL, ErrorCode::Ctl),
        (LAPI_ERR_DGSP_COPY_SZ, ErrorCode::CopySz),
        (LAPI_ERR_DGSP_OPC, ErrorCode::Opc),
        (LAPI_ERR_DGSP_REPS, ErrorCode::Reps),
        (LAPI_ERR_DGSP_STACK, ErrorCode::Stack),
        (LAPI_ERR_PACK_SZ, ErrorCode::PackSz),
        (LAPI_ERR_DGSP_OTHER, ErrorCode::Other),
    ];
    for (header, engine) in codes {
        assert_eq!(header, engine as i32);
    }
}

/// The words that C lays out are those that the engine reads: opcodes, and the place of every
/// field.
#[test]
fn the_header_and_the_engine_mean_the_same_words() {
    use lapi_r::abi::*;
    use lapis_dgsp::isa::{self, Instr, decode};

    /// # Safety
    /// `T` consists of ints and longs without padding, which the header's reserved fields see to.
    unsafe fn words<T>(instruction: &T) -> Vec<i32> {
        let len = size_of::<T>() / 4;
        // SAFETY: all of the value's bytes, none of which is padding.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(instruction).cast(), len) }.to_vec()
    }
    // SAFETY: the header's instructions.
    unsafe {
        let copy = lapi_dgsm_copy_t { opcode: LAPI_DGSM_COPY, rsvd: -1, bytes: 1 << 33, offset: -5 };
        assert_eq!(decode(&words(&copy), 0), Ok(Instr::Copy { bytes: 1 << 33, offset: -5 }));
        let mcopy = lapi_dgsm_mcopy_t {
            opcode: LAPI_DGSM_MCOPY,
            count: 1,
            block: [lapi_dgsm_block_t { block_disp: -9, block_len: 1 << 34 }],
        };
        let code = words(&mcopy);
        assert_eq!(decode(&code, 0), Ok(Instr::Mcopy { count: 1 }));
        assert_eq!(isa::block(&code, 0, 0), Some((-9, 1 << 34)));
        let gosub = lapi_dgsm_gosub_t {
            opcode: LAPI_DGSM_GOSUB,
            to_loc: 3,
            ret_loc: 4,
            rsvd: -1,
            reps: 1 << 35,
            offset: -6,
            stride: -7,
        };
        let read = Instr::Gosub { to_loc: 3, ret_loc: 4, reps: 1 << 35, offset: -6, stride: -7 };
        assert_eq!(decode(&words(&gosub), 0), Ok(read));
        let iterate = lapi_dgsm_iterate_t { opcode: LAPI_DGSM_ITERATE, iter_loc: -8 };
        assert_eq!(decode(&words(&iterate), 0), Ok(Instr::Iterate { iter_loc: -8 }));
        let control = lapi_dgsm_control_t { opcode: LAPI_DGSM_CONTROL, operation: 3, operand: -4, rsvd: -1 };
        assert_eq!(decode(&words(&control), 0), Ok(Instr::Control { operation: 3, operand: -4 }));
    }
}
