//! The types and constants of `lapi.h` and `lapis.h`. Written by `cargo xtask codegen` from
//! bindings/lapi/api. Edit that.
//!
//! Names are C's, so that the LAPI Guide can be read beside the code. Enumerations are plain
//! integers: a C program can pass any value, and an invalid value in a Rust enum would be undefined
//! behaviour.
#![allow(non_camel_case_types, non_snake_case, reason = "the names are C's")]

use libc::{in_addr_t, in_port_t, pthread_attr_t, pthread_t, timespec};
use std::ffi::{c_int, c_long, c_uint, c_ulong, c_ulonglong, c_void};

/// Names a LAPI context (an instance of LAPI in this task).
pub type lapi_handle_t = c_uint;

/// An address or length wide enough for 64-bit tasks, in 32-bit tasks too; always 8-aligned.
pub type lapi_long_t = c_ulonglong;

/// The length of a message.
pub type lapi_msglen_t = c_ulong;

/// Reserved for a status that future versions return.
pub type lapi_status_t = c_int;

/// A remote context of later releases of LAPI. Opaque; no call takes one here.
pub type lapi_user_cxt_t = c_uint;

/// What later releases of LAPI describe a remote context with. Opaque; no call takes one here.
pub type lapi_remote_cxt_t = lapi_long_t;

/// For debugging only; set it to NULL.
pub type lapi_usr_fcall_t = *mut c_void;

/// A counter. Set it with LAPI_Setcntr before its first use, and leave its fields to LAPI.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_cntr_t {
    /// Current value.
    pub value: c_int,
    /// Used by LAPI.
    pub state: c_uint,
    /// Used by LAPI.
    pub reserved: [c_ulong; 2],
}

/// The longest message: 0x7fffffff bytes in 32-bit tasks, 0x7fffffffffffffff in 64-bit tasks.
pub const LAPI_MAX_MSG_SZ: c_ulong = c_ulong::MAX >> 1;

/// The size of the buffer that LAPI_Msg_string fills.
pub const LAPI_MAX_ERR_STRING: c_int = 160;

/// The most nodes that a job can have.
pub const LAPI_MAX_NODES: c_int = 2048;

/// The most tasks that a job can have.
pub const LAPI_MAX_TASKS: c_int = 16384;

/// The most tasks of a node that can share memory.
pub const LAPI_MAX_SHM_TASKS: c_int = 128;

/// The most shared memory slots that a task can have.
pub const LAPI_MAX_SLOTS_PER_TASK: c_int = 128;

/// The call completed successfully.
pub const LAPI_SUCCESS: c_int = 0;
/// An internal communication error occurred outside of any call.
pub const LAPI_ERR_UNKNOWN: c_int = 400;
/// Every LAPI instance that a task may have is already in use.
pub const LAPI_ERR_ALL_HNDL_IN_USE: c_int = 401;
/// Both an IP and a user-space network statement are set for one LAPI instance.
pub const LAPI_ERR_BOTH_NETSTR_SET: c_int = 402;
/// The library or plugin that carries the communication could not be loaded.
pub const LAPI_ERR_CSS_LOAD_FAILED: c_int = 404;
/// The pointer to the lapi_info_t structure is NULL.
pub const LAPI_ERR_INFO_NULL: c_int = 405;
/// The environment variable MP_MSG_API has a value that LAPI does not know.
pub const LAPI_ERR_MSG_API: c_int = 406;
/// No network statement is set, or MP_MSG_API does not provide for LAPI.
pub const LAPI_ERR_NO_NETSTR_SET: c_int = 407;
/// A user-defined UDP handler was announced, but neither a handler nor a list of addresses was given.
pub const LAPI_ERR_NO_UDP_HNDLR: c_int = 408;
/// An active message arrived whose header handler is NULL.
pub const LAPI_ERR_HDR_HNDLR_NULL: c_int = 409;
/// Only root may initialize the persistent subsystem.
pub const LAPI_ERR_PSS_NON_ROOT: c_int = 410;
/// The system support that shared memory needs is not available.
pub const LAPI_ERR_SHM_KE_NOT_LOADED: c_int = 412;
/// A task did not acknowledge packets within the timeout.
pub const LAPI_ERR_TIMEOUT: c_int = 413;
/// The timer could not be armed again.
pub const LAPI_ERR_REG_TIMER: c_int = 414;
/// The UDP packet size is outside its range.
pub const LAPI_ERR_UDP_PKT_SZ: c_int = 415;
/// The user-defined UDP handler reported a failure.
pub const LAPI_ERR_USER_UDP_HNDLR_FAIL: c_int = 416;
/// The handle is not one of an initialized LAPI instance.
pub const LAPI_ERR_HNDL_INVALID: c_int = 417;
/// The pointer to where the result belongs is NULL.
pub const LAPI_ERR_RET_PTR_NULL: c_int = 418;
/// The index into the address table is out of range.
pub const LAPI_ERR_ADDR_HNDL_RANGE: c_int = 419;
/// The pointer to the table that receives the addresses is NULL.
pub const LAPI_ERR_ADDR_TBL_NULL: c_int = 420;
/// The target task has been purged.
pub const LAPI_ERR_TGT_PURGED: c_int = 421;
/// Another thread is already waiting for this counter.
pub const LAPI_ERR_MULTIPLE_WAITERS: c_int = 422;
/// LAPI could not allocate the memory it needs.
pub const LAPI_ERR_MEMORY_EXHAUSTED: c_int = 423;
/// Reserved fields of the lapi_info_t structure are not zero.
pub const LAPI_ERR_INFO_NONZERO: c_int = 424;
/// The address of the data at the origin is NULL.
pub const LAPI_ERR_ORG_ADDR_NULL: c_int = 425;
/// The address of the data at the target is NULL.
pub const LAPI_ERR_TGT_ADDR_NULL: c_int = 426;
/// The data length exceeds the largest message that LAPI transfers.
pub const LAPI_ERR_DATA_LEN: c_int = 427;
/// The target is not a task of this job.
pub const LAPI_ERR_TGT: c_int = 428;
/// The user header is NULL although its length is greater than 0.
pub const LAPI_ERR_UHDR_NULL: c_int = 429;
/// The user header is longer than MAX_UHDR_SZ.
pub const LAPI_ERR_UHDR_LEN: c_int = 430;
/// The length of the user header is not aligned.
pub const LAPI_ERR_HDR_LEN: c_int = 431;
/// The vector at the origin spans more than the largest message.
pub const LAPI_ERR_ORG_EXTENT: c_int = 432;
/// The stride of the vector at the origin is smaller than its block.
pub const LAPI_ERR_ORG_STRIDE: c_int = 433;
/// No path leads to the task.
pub const LAPI_ERR_NO_CONNECTIVITY: c_int = 434;
/// All network adapters are down.
pub const LAPI_ERR_ADAPTERS_DOWN: c_int = 435;
/// A receive operation did not complete.
pub const LAPI_ERR_RECV_INCOMP: c_int = 436;
/// A send operation did not complete.
pub const LAPI_ERR_SEND_INCOMP: c_int = 437;
/// A send operation did not complete within the timeout.
pub const LAPI_ERR_SEND_TIMEOUT: c_int = 438;
/// Shared memory could not be set up.
pub const LAPI_ERR_SHM_SETUP: c_int = 439;
/// An address in the vector at the origin is NULL although its length is greater than 0.
pub const LAPI_ERR_ORG_VEC_ADDR: c_int = 440;
/// The vector at the origin describes more data than the largest message.
pub const LAPI_ERR_ORG_VEC_LEN: c_int = 441;
/// The pointer to the vector at the origin is NULL.
pub const LAPI_ERR_ORG_VEC_NULL: c_int = 442;
/// The type of the vector at the origin is not valid.
pub const LAPI_ERR_ORG_VEC_TYPE: c_int = 443;
/// The base address of the strided vector at the origin is NULL.
pub const LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL: c_int = 444;
/// The base address of the strided vector at the target is NULL.
pub const LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL: c_int = 445;
/// The vector at the target spans more than the largest message.
pub const LAPI_ERR_TGT_EXTENT: c_int = 446;
/// The stride of the vector at the target is smaller than its block.
pub const LAPI_ERR_TGT_STRIDE: c_int = 447;
/// An address in the vector at the target is NULL although its length is greater than 0.
pub const LAPI_ERR_TGT_VEC_ADDR: c_int = 448;
/// The vector at the target describes more data than the largest message.
pub const LAPI_ERR_TGT_VEC_LEN: c_int = 449;
/// The pointer to the vector at the target is NULL.
pub const LAPI_ERR_TGT_VEC_NULL: c_int = 451;
/// The type of the vector at the target is not valid.
pub const LAPI_ERR_TGT_VEC_TYPE: c_int = 452;
/// The vectors at origin and target differ in their number of elements.
pub const LAPI_ERR_VEC_NUM_DIFF: c_int = 453;
/// The vectors at origin and target differ in type.
pub const LAPI_ERR_VEC_TYPE_DIFF: c_int = 454;
/// The vectors at origin and target differ in the length of an element.
pub const LAPI_ERR_VEC_LEN_DIFF: c_int = 455;
/// The info pointer given to LAPI_Msgpoll is NULL.
pub const LAPI_ERR_MSG_INFO_NULL: c_int = 456;
/// The pointer to the counter is NULL.
pub const LAPI_ERR_CNTR_NULL: c_int = 458;
/// The counter value to wait for is not greater than 0.
pub const LAPI_ERR_CNTR_VAL: c_int = 459;
/// The runtime attribute is not known or cannot be used with this call.
pub const LAPI_ERR_QUERY_TYPE: c_int = 460;
/// The pointer to the input value of the read-modify-write operation is NULL.
pub const LAPI_ERR_IN_VAL_NULL: c_int = 461;
/// The read-modify-write operation is not one that LAPI knows.
pub const LAPI_ERR_RMW_OP: c_int = 462;
/// The address of the variable of the read-modify-write operation is NULL.
pub const LAPI_ERR_TGT_VAR_NULL: c_int = 463;
/// The value is outside the range of what it sets.
pub const LAPI_ERR_SET_VAL: c_int = 464;
/// The DGSP is NULL or not registered.
pub const LAPI_ERR_DGSP: c_int = 465;
/// The atom size of the DGSP is not valid.
pub const LAPI_ERR_DGSP_ATOM: c_int = 466;
/// The DGSP branches to a place outside of its code.
pub const LAPI_ERR_DGSP_BRANCH: c_int = 467;
/// A CONTROL instruction of the DGSP is malformed.
pub const LAPI_ERR_DGSP_CTL: c_int = 468;
/// A copy length in the DGSP is not valid.
pub const LAPI_ERR_DGSP_COPY_SZ: c_int = 469;
/// The DGSP cannot be freed: it is not reserved.
pub const LAPI_ERR_DGSP_FREE: c_int = 470;
/// The DGSP contains an unknown instruction.
pub const LAPI_ERR_DGSP_OPC: c_int = 471;
/// A repetition count in the DGSP is less than 0.
pub const LAPI_ERR_DGSP_REPS: c_int = 472;
/// The DGSP needs a deeper stack than its depth declares.
pub const LAPI_ERR_DGSP_STACK: c_int = 473;
/// The size of the read-modify-write transfer is neither 32 nor 64.
pub const LAPI_ERR_OP_SZ: c_int = 474;
/// The pointer to the UDP port information is NULL.
pub const LAPI_ERR_UDP_PORT_INFO: c_int = 475;
/// The transfer type given to LAPI_Xfer is not known.
pub const LAPI_ERR_XFER_CMD: c_int = 476;
/// The command given to LAPI_Util is not known.
pub const LAPI_ERR_UTIL_CMD: c_int = 477;
/// The message catalog could not be opened.
pub const LAPI_ERR_CATALOG_FAIL: c_int = 478;
/// The buffer to pack into, or to unpack from, is too small.
pub const LAPI_ERR_PACK_SZ: c_int = 479;
/// The DGSP is malformed, for instance by an empty code.
pub const LAPI_ERR_DGSP_OTHER: c_int = 480;
/// An operation on a UDP socket failed.
pub const LAPI_ERR_UDP_SOCKET: c_int = 481;
/// The persistent subsystem may not make collective calls.
pub const LAPI_ERR_COLLECTIVE_PSS: c_int = 482;
/// Failover is not available: setting it up met an internal error.
pub const LAPI_ATTN_FAILOVER_INTERNAL: c_int = 485;
/// Failover is not available: nothing reports the state of the network adapters.
pub const LAPI_ATTN_FAILOVER_NO_NAM: c_int = 486;
/// Failover is not available: the group services are not installed.
pub const LAPI_ATTN_FAILOVER_NO_GROUP: c_int = 487;
/// Failover is not available: the launcher is too old.
pub const LAPI_ATTN_FAILOVER_OLD_POE: c_int = 488;
/// Failover is not available: the job was not started by a launcher that supports it.
pub const LAPI_ATTN_FAILOVER_NO_POE: c_int = 489;
/// Failover is not available: the job uses a network device without support for it.
pub const LAPI_ATTN_FAILOVER_DEVICE: c_int = 490;
/// Failover has halted.
pub const LAPI_ATTN_FAILOVER_HALTED: c_int = 491;
/// The remote context of the target is not valid.
pub const LAPI_ERR_TGT_CONTEXT: c_int = 492;
/// The remote context of the source is not valid.
pub const LAPI_ERR_SRC_CONTEXT: c_int = 493;
/// The buffer handle of the target is not valid.
pub const LAPI_ERR_TGT_BUFHNDL: c_int = 494;
/// The buffer handle of the source is not valid.
pub const LAPI_ERR_SRC_BUFHNDL: c_int = 495;
/// The offset into the target's buffer is not valid.
pub const LAPI_ERR_TGT_OFFSET: c_int = 496;
/// The offset into the source's buffer is not valid.
pub const LAPI_ERR_SRC_OFFSET: c_int = 497;
/// No resources for remote direct memory access are available.
pub const LAPI_ERR_NO_RDMA_RESOURCE: c_int = 498;
/// Bulk transfer is on.
pub const LAPI_ATTN_BULK_ENABLED: c_int = 499;
/// Tasks do not hear from one another; waiting for acknowledgements goes on.
pub const LAPI_ATTN_TASK_TIMEOUT: c_int = 500;
/// The version of the LAPI library.
pub const LAPI_ATTN_VERSION: c_int = 501;
/// Shared memory could not be initialized; the network is used instead.
pub const LAPI_ATTN_SHM_INIT: c_int = 502;
/// Shared memory could not be initialized when restarting from a checkpoint.
pub const LAPI_ATTN_SHM_RESTART: c_int = 503;
/// Shared memory is not used because only one task runs on this node.
pub const LAPI_ATTN_SHM_ONE_TASK: c_int = 504;
/// This task could not create its shared memory.
pub const LAPI_ATTN_SHM_CREATE: c_int = 505;
/// This task could not obtain the shared memory of another task.
pub const LAPI_ATTN_SHM_GET: c_int = 506;
/// This task could not map the shared memory of another task.
pub const LAPI_ATTN_SHM_ATTACH: c_int = 507;
/// This task could not reserve address space for shared memory.
pub const LAPI_ATTN_SHM_RESERVE: c_int = 508;
/// First communication over this port.
pub const LAPI_ATTN_FIRST_CONTACT: c_int = 509;
/// An environment variable that LAPI requires is not set.
pub const LAPI_ERR_NO_ENV_VAR: c_int = 510;
/// The code is not one of LAPI's.
pub const LAPI_ERR_CODE_UNKNOWN: c_int = 511;
/// Another name of [`LAPI_ERR_INFO_NONZERO`].
pub const LAPI_ERR_INFO_NONZERO_INFO: c_int = LAPI_ERR_INFO_NONZERO;

/// Runs at the target when a message has arrived whole, or at the origin when a get is complete.
pub type compl_hndlr_t = unsafe extern "C" fn(hndl: *mut lapi_handle_t, user_info: *mut c_void);

/// Runs at the target when the first packet of a message arrives; returns where the data go.
/// msg_len points to the first field of a lapi_return_info_t.
pub type hdr_hndlr_t = unsafe extern "C" fn(
    hndl: *mut lapi_handle_t,
    uhdr: *mut c_void,
    uhdr_len: *mut c_uint,
    msg_len: *mut c_ulong,
    comp_h: *mut Option<compl_hndlr_t>,
    user_info: *mut *mut c_void,
) -> *mut c_void;

/// What a send completion handler learns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_sh_info_t {
    /// The target task of the transfer.
    pub src: c_uint,
    /// LAPI_SUCCESS or why the transfer failed.
    pub reason: c_uint,
    /// Reserved.
    pub reserve: [c_ulong; 6],
}

/// Runs at the origin when the data of a transfer may be changed again.
pub type scompl_hndlr_t =
    unsafe extern "C" fn(hndl: *mut lapi_handle_t, completion_param: *mut c_void, info: *mut lapi_sh_info_t);

/// Combines arriving data with the data in place; returns how many bytes it processed.
pub type ddm_func_t = unsafe extern "C" fn(
    r#in: *mut c_void,
    inout: *mut c_void,
    bytes: c_long,
    operand: c_int,
    operation: c_int,
) -> c_long;

/// Where an asynchronous error arose.
pub type lapi_err_t = c_int;
/// [`lapi_err_t`]: in LAPI itself.
pub const LAPI_INTERNAL_ERROR: lapi_err_t = 0;
/// [`lapi_err_t`]: between this task and another.
pub const LAPI_COMMUNICATION_ERROR: lapi_err_t = 1;
/// [`lapi_err_t`]: in what the program passed.
pub const LAPI_USER_ERROR: lapi_err_t = 2;

/// Hears of asynchronous errors. If it returns, the job goes on.
pub type LAPI_err_hndlr = unsafe extern "C" fn(
    hndl: *mut lapi_handle_t,
    error_code: *mut c_int,
    err_type: *mut lapi_err_t,
    task_id: *mut c_int,
    src: *mut c_int,
);

/// How a vector describes its data.
pub type lapi_vectype_t = c_int;
/// [`lapi_vectype_t`]: buffers; the two sides need not match (active messages only).
pub const LAPI_GEN_GENERIC: lapi_vectype_t = 0;
/// [`lapi_vectype_t`]: buffers; the two sides match in number and lengths.
pub const LAPI_GEN_IOVECTOR: lapi_vectype_t = 1;
/// [`lapi_vectype_t`]: equal blocks at equal distances.
pub const LAPI_GEN_STRIDED_XFER: lapi_vectype_t = 2;

/// Another name of LAPI_GEN_STRIDED_XFER.
pub const LAPI_STRIDED_VECTOR: lapi_vectype_t = LAPI_GEN_STRIDED_XFER;

/// A vector of this task's memory. Strided: info holds base address, block size and stride; len is not read.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_vec_t {
    /// How the data are described.
    pub vec_type: lapi_vectype_t,
    /// How many buffers or blocks.
    pub num_vecs: c_uint,
    /// Their addresses.
    pub info: *mut *mut c_void,
    /// Their lengths.
    pub len: *mut c_ulong,
}

/// The same with addresses and lengths of 64 bits, for the memory of a target that may be a 64-bit task.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_lvec_t {
    /// How the data are described.
    pub vec_type: lapi_vectype_t,
    /// How many buffers or blocks.
    pub num_vecs: c_uint,
    /// Their addresses.
    pub info: *mut lapi_long_t,
    /// Their lengths.
    pub len: *mut lapi_long_t,
}

/// The header handler of a message sent with a vector: returns the vector that receives it.
pub type vhdr_hndlr_t = unsafe extern "C" fn(
    hndl: *mut lapi_handle_t,
    uhdr: *mut c_void,
    uhdr_len: *mut c_uint,
    len_vec: *mut *mut c_ulong,
    comp_h: *mut Option<compl_hndlr_t>,
    user_info: *mut *mut c_void,
) -> *mut lapi_vec_t;

/// What carries the communication of a context.
pub type lapi_dev_t = c_int;
/// [`lapi_dev_t`]: nothing yet.
pub const LAPI_NO_DEV: lapi_dev_t = 0;
/// [`lapi_dev_t`]: a job of one task.
pub const LAPI_SELF_DEV: lapi_dev_t = 1;
/// [`lapi_dev_t`]: shared memory alone.
pub const LAPI_SHM_DEV: lapi_dev_t = 2;
/// [`lapi_dev_t`]: UDP/IP.
pub const LAPI_UDP_DEV: lapi_dev_t = 3;
/// [`lapi_dev_t`]: adapter windows.
pub const LAPI_HPS_DEV: lapi_dev_t = 4;
/// [`lapi_dev_t`]: a network with remote direct memory access.
pub const LAPI_RDMA_DEV: lapi_dev_t = 5;
/// [`lapi_dev_t`]: another transport plugin.
pub const LAPI_OTHER_DEV: lapi_dev_t = 6;

/// The version of the library that a program is written for.
pub type lapi_lib_t = c_int;
/// [`lapi_lib_t`]: basic functions (the default).
pub const L1_LIB: lapi_lib_t = 0;
/// [`lapi_lib_t`]: counters as structures: LAPI_Nopoll_wait, LAPI_Setcntr_wstatus.
pub const L2_LIB: lapi_lib_t = 1;
/// [`lapi_lib_t`]: as L2_LIB.
pub const L3_LIB: lapi_lib_t = 2;
/// [`lapi_lib_t`]: as L2_LIB.
pub const L4_LIB: lapi_lib_t = 3;
/// [`lapi_lib_t`]: everything: what new programs set.
pub const LAST_LIB: lapi_lib_t = 4;

/// How LAPI creates its threads.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct com_thread_info_t {
    /// Attributes of the threads, or NULL.
    pub attr: *mut pthread_attr_t,
    /// Void (*)(void *) that each thread calls first, or NULL.
    pub init_func: *mut c_void,
    /// What init_func is given.
    pub init_arg: *mut c_void,
}

/// Where a task receives UDP datagrams, both in network byte order.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_udp_t {
    /// IP address.
    pub ip_addr: in_addr_t,
    /// Port.
    pub port_no: in_port_t,
}

/// What a user's UDP handler learns about the job.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_udpinfo_t {
    /// This task.
    pub task_id: c_uint,
    /// How many entries the list of addresses has.
    pub num_tasks: c_uint,
    /// Which network instance is asked for, from 0.
    pub instance_no: c_uint,
    /// Reserved.
    pub reserved: c_uint,
}

/// Distributes local_addr and fills in addr_list, one entry for each task. Returns 0, or anything else to fail.
pub type udp_init_hndlr = unsafe extern "C" fn(
    hndl: *mut lapi_handle_t,
    local_addr: *mut lapi_udp_t,
    addr_list: *mut lapi_udp_t,
    info: *mut lapi_udpinfo_t,
) -> c_int;

/// How tasks that are started by hand learn each other's UDP addresses: by a handler, else by a list.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_extend_t {
    /// Handler, or NULL.
    pub udp_hndlr: Option<udp_init_hndlr>,
    /// List of addresses, one for each task, or NULL.
    pub add_udp_addrs: *mut lapi_udp_t,
    /// Length of the list; 0 for one entry for each task.
    pub num_udp_addr: c_int,
    /// Set to 0.
    pub reserved: c_int,
}

/// What LAPI_Init is told. Zero it before setting any field.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_info_t {
    /// Out: what carries the communication.
    pub protocol: lapi_dev_t,
    /// Library version that the program is written for.
    pub lib_vers: lapi_lib_t,
    /// No longer used.
    pub epoch_num: c_uint,
    /// Number of completion handler threads; 0 for the default.
    pub num_compl_hndlr_thr: c_int,
    /// Instance of LAPI, 1 to 16; 0 for the next free one.
    pub instance_no: c_uint,
    /// Reserved: must be 0.
    pub info6: c_int,
    /// Hears of asynchronous errors.
    pub err_hndlr: Option<LAPI_err_hndlr>,
    /// How threads are created, or NULL.
    pub lapi_thread_attr: *mut com_thread_info_t,
    /// Adapter of the persistent subsystem, or NULL.
    pub adapter_name: *mut c_void,
    /// UDP addresses of tasks started by hand, or NULL.
    pub add_info: *mut lapi_extend_t,
}

/// Runtime attributes.
pub type lapi_query_t = c_int;
/// [`lapi_query_t`]: number of this task.
pub const TASK_ID: lapi_query_t = 0;
/// [`lapi_query_t`]: number of tasks in the job.
pub const NUM_TASKS: lapi_query_t = 1;
/// [`lapi_query_t`]: longest user header, in bytes.
pub const MAX_UHDR_SZ: lapi_query_t = 2;
/// [`lapi_query_t`]: deprecated: use LAPI_MAX_MSG_SZ.
pub const MAX_DATA_SZ: lapi_query_t = 3;
/// [`lapi_query_t`]: parameter checking on or off (may be set).
pub const ERROR_CHK: lapi_query_t = 4;
/// [`lapi_query_t`]: seconds until a silent task counts as unreachable (may be set).
pub const TIMEOUT: lapi_query_t = 5;
/// [`lapi_query_t`]: smallest TIMEOUT.
pub const MIN_TIMEOUT: lapi_query_t = 6;
/// [`lapi_query_t`]: largest TIMEOUT.
pub const MAX_TIMEOUT: lapi_query_t = 7;
/// [`lapi_query_t`]: interrupt mode on or off (may be set).
pub const INTERRUPT_SET: lapi_query_t = 8;
/// [`lapi_query_t`]: number of LAPI instances that a task can have.
pub const MAX_PORTS: lapi_query_t = 9;
/// [`lapi_query_t`]: bytes of header and data that a packet holds.
pub const MAX_PKT_SZ: lapi_query_t = 10;
/// [`lapi_query_t`]: number of retransmission buffers.
pub const NUM_REX_BUFS: lapi_query_t = 11;
/// [`lapi_query_t`]: size of a retransmission buffer, in bytes.
pub const REX_BUF_SZ: lapi_query_t = 12;
/// [`lapi_query_t`]: entries in the table of LAPI_Addr_set.
pub const LOC_ADDRTBL_SZ: lapi_query_t = 13;
/// [`lapi_query_t`]: no longer used.
pub const EPOCH_NUM: lapi_query_t = 14;
/// [`lapi_query_t`]: no longer used.
pub const USE_THRESH: lapi_query_t = 15;
/// [`lapi_query_t`]: no longer used.
pub const RCV_FIFO_SIZE: lapi_query_t = 16;
/// [`lapi_query_t`]: largest atom of a DGSP, in bytes.
pub const MAX_ATOM_SIZE: lapi_query_t = 17;
/// [`lapi_query_t`]: largest message that is copied at the origin, in bytes.
pub const BUF_CP_SIZE: lapi_query_t = 18;
/// [`lapi_query_t`]: packets that can be in flight to one task.
pub const MAX_PKTS_OUT: lapi_query_t = 19;
/// [`lapi_query_t`]: packets received before they are acknowledged (may be set).
pub const ACK_THRESHOLD: lapi_query_t = 20;
/// [`lapi_query_t`]: whether shared memory is used.
pub const QUERY_SHM_ENABLED: lapi_query_t = 21;
/// [`lapi_query_t`]: number of tasks that are reached through shared memory.
pub const QUERY_SHM_NUM_TASKS: lapi_query_t = 22;
/// [`lapi_query_t`]: fills an array of NUM_TASKS integers with shared memory task IDs.
pub const QUERY_SHM_TASKS: lapi_query_t = 23;
/// [`lapi_query_t`]: fills a lapi_statistics_t for the network.
pub const QUERY_STATISTICS: lapi_query_t = 24;
/// [`lapi_query_t`]: prints the statistics on standard output.
pub const PRINT_STATISTICS: lapi_query_t = 25;
/// [`lapi_query_t`]: fills a lapi_statistics_t for shared memory.
pub const QUERY_SHM_STATISTICS: lapi_query_t = 26;
/// [`lapi_query_t`]: fills a lapi_statistics_t for transfers within the task.
pub const QUERY_LOCAL_SEND_STATISTICS: lapi_query_t = 27;
/// [`lapi_query_t`]: bulk transfer on or off.
pub const BULK_XFER: lapi_query_t = 28;
/// [`lapi_query_t`]: smallest message for bulk transfer, in bytes.
pub const BULK_MIN_MSG_SIZE: lapi_query_t = 29;
/// [`lapi_query_t`]: one past the last attribute.
pub const LAST_QUERY: lapi_query_t = 30;

/// What has gone over one kind of path.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_statistics_t {
    /// Packets received more than once.
    pub Tot_dup_pkt_cnt: lapi_long_t,
    /// Packets sent again.
    pub Tot_retrans_pkt_cnt: lapi_long_t,
    /// Ghost packets: too old to belong to a message.
    pub Tot_gho_pkt_cnt: lapi_long_t,
    /// Packets sent.
    pub Tot_pkt_sent_cnt: lapi_long_t,
    /// Packets received.
    pub Tot_pkt_rcv_cnt: lapi_long_t,
    /// Bytes sent.
    pub Tot_data_sent: lapi_long_t,
    /// Bytes received.
    pub Tot_data_rcv: lapi_long_t,
}

/// What LAPI_Msgpoll saw: bits. When both kinds completed, all three completion bits are set.
pub type lapi_msg_state_t = c_int;
/// [`lapi_msg_state_t`]: the given number of rounds passed without progress.
pub const LAPI_DISP_CNTR: lapi_msg_state_t = 1;
/// [`lapi_msg_state_t`]: a send completed.
pub const LAPI_SEND_COMPLETE: lapi_msg_state_t = 2;
/// [`lapi_msg_state_t`]: a receive completed.
pub const LAPI_RECV_COMPLETE: lapi_msg_state_t = 4;
/// [`lapi_msg_state_t`]: a send and a receive completed.
pub const LAPI_BOTH_COMPLETE: lapi_msg_state_t = 8;
/// [`lapi_msg_state_t`]: another thread is polling already.
pub const LAPI_POLLING_NET: lapi_msg_state_t = 16;

/// The result of LAPI_Msgpoll.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_msg_info_t {
    /// What happened.
    pub status: lapi_msg_state_t,
    /// Reserved.
    pub reserve: [c_ulong; 10],
}

/// The state of a task that a counter waits for (LAPI_Setcntr_wstatus).
pub type lapi_dest_status_t = c_int;
/// [`lapi_dest_status_t`]: nothing received from it, or purged.
pub const LAPI_MSG_INITIAL: lapi_dest_status_t = 0;
/// [`lapi_dest_status_t`]: received.
pub const LAPI_MSG_RECVD: lapi_dest_status_t = 1;
/// [`lapi_dest_status_t`]: purged before it was received.
pub const LAPI_MSG_PURGED: lapi_dest_status_t = 2;
/// [`lapi_dest_status_t`]: received, then purged.
pub const LAPI_MSG_PURGED_RCVD: lapi_dest_status_t = 3;
/// [`lapi_dest_status_t`]: was purged already.
pub const LAPI_MSG_INVALID: lapi_dest_status_t = 4;

/// How dense a layout is.
pub type lapi_dgsp_density_t = c_int;
/// [`lapi_dgsp_density_t`]: with gaps inside.
pub const LAPI_DGSM_SPARSE: lapi_dgsp_density_t = 0;
/// [`lapi_dgsp_density_t`]: gaps only between repetitions.
pub const LAPI_DGSM_CONTIG: lapi_dgsp_density_t = 1;
/// [`lapi_dgsp_density_t`]: no gaps at all.
pub const LAPI_DGSM_UNIT: lapi_dgsp_density_t = 2;

/// A program and what it describes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_dgsp_descr_t {
    /// The instructions.
    pub code: *mut c_int,
    /// How many integers they take.
    pub code_size: c_int,
    /// How deep subroutines nest, the main routine included.
    pub depth: c_int,
    /// How dense the layout is.
    pub density: lapi_dgsp_density_t,
    /// Bytes that one application moves.
    pub size: c_long,
    /// Distance from one application to the next.
    pub extent: c_long,
    /// Offset of the leftmost byte.
    pub lext: c_long,
    /// Offset just past the rightmost byte.
    pub rext: c_long,
    /// 0, or what every packet holds a multiple of.
    pub atom_size: c_int,
}

/// A registered program; may be cast to lapi_dgsp_descr_t * for reading.
pub type lapi_dg_handle_t = *mut c_void;

/// The same, as a pointer to the registered description.
pub type lapi_dgsp_handle_t = *mut lapi_dgsp_descr_t;

/// Instructions.
pub type lapi_dgsm_opcode_t = c_int;
/// [`lapi_dgsm_opcode_t`]: move one block.
pub const LAPI_DGSM_COPY: lapi_dgsm_opcode_t = 1;
/// [`lapi_dgsm_opcode_t`]: move several blocks.
pub const LAPI_DGSM_MCOPY: lapi_dgsm_opcode_t = 2;
/// [`lapi_dgsm_opcode_t`]: run a subroutine.
pub const LAPI_DGSM_GOSUB: lapi_dgsm_opcode_t = 3;
/// [`lapi_dgsm_opcode_t`]: end of a routine.
pub const LAPI_DGSM_ITERATE: lapi_dgsm_opcode_t = 4;
/// [`lapi_dgsm_opcode_t`]: pass copies to the DDM function, or stop to.
pub const LAPI_DGSM_CONTROL: lapi_dgsm_opcode_t = 5;

/// A block of an MCOPY.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_dgsm_block_t {
    /// Where it starts.
    pub block_disp: c_long,
    /// Its length in bytes.
    pub block_len: c_long,
}

/// COPY.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_dgsm_copy_t {
    /// LAPI_DGSM_COPY.
    pub opcode: c_int,
    /// Reserved.
    pub rsvd: c_int,
    /// Length of the block.
    pub bytes: c_long,
    /// Where it starts.
    pub offset: c_long,
}

/// MCOPY; count - 1 further blocks follow the first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_dgsm_mcopy_t {
    /// LAPI_DGSM_MCOPY.
    pub opcode: c_int,
    /// Number of blocks.
    pub count: c_int,
    /// The blocks.
    pub block: [lapi_dgsm_block_t; 1],
}

/// GOSUB; jumps are counted in integers from this instruction.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_dgsm_gosub_t {
    /// LAPI_DGSM_GOSUB.
    pub opcode: c_int,
    /// Jump to the subroutine.
    pub to_loc: c_int,
    /// Jump after it: normally LAPI_DGSM_GOSUB_SIZE.
    pub ret_loc: c_int,
    /// Reserved.
    pub rsvd: c_int,
    /// How often it runs.
    pub reps: c_long,
    /// Where it runs first.
    pub offset: c_long,
    /// Distance from one run to the next.
    pub stride: c_long,
}

/// ITERATE.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_dgsm_iterate_t {
    /// LAPI_DGSM_ITERATE.
    pub opcode: c_int,
    /// Jump to the beginning of the routine: negative.
    pub iter_loc: c_int,
}

/// CONTROL.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_dgsm_control_t {
    /// LAPI_DGSM_CONTROL.
    pub opcode: c_int,
    /// Passed to the DDM function; LAPI_DGSM_NO_CTL ends its use.
    pub operation: c_int,
    /// Passed to the DDM function.
    pub operand: c_int,
    /// Reserved.
    pub rsvd: c_int,
}

/// The operation of a CONTROL that ends the use of the DDM function.
pub const LAPI_DGSM_NO_CTL: c_int = -1;

/// Integers that a COPY takes.
pub const LAPI_DGSM_COPY_SIZE: c_int = (size_of::<lapi_dgsm_copy_t>() / size_of::<c_int>()) as c_int;

/// Integers that an MCOPY with one block takes.
pub const LAPI_DGSM_MCOPY_SIZE: c_int = (size_of::<lapi_dgsm_mcopy_t>() / size_of::<c_int>()) as c_int;

/// Integers that each further block takes.
pub const LAPI_DGSM_MCOPY_BLOCK_SIZE: c_int = (size_of::<lapi_dgsm_block_t>() / size_of::<c_int>()) as c_int;

/// Integers that a GOSUB takes.
pub const LAPI_DGSM_GOSUB_SIZE: c_int = (size_of::<lapi_dgsm_gosub_t>() / size_of::<c_int>()) as c_int;

/// Integers that an ITERATE takes.
pub const LAPI_DGSM_ITERATE_SIZE: c_int = (size_of::<lapi_dgsm_iterate_t>() / size_of::<c_int>()) as c_int;

/// Integers that a CONTROL takes.
pub const LAPI_DGSM_CONTROL_SIZE: c_int = (size_of::<lapi_dgsm_control_t>() / size_of::<c_int>()) as c_int;

/// Where the completion handler of a message runs.
pub type lapi_ret_flags_t = c_int;
/// [`lapi_ret_flags_t`]: in a completion handler thread.
pub const LAPI_NORMAL: lapi_ret_flags_t = 0;
/// [`lapi_ret_flags_t`]: in the receiving thread; it makes no LAPI calls.
pub const LAPI_LOCAL_STATE: lapi_ret_flags_t = 1;
/// [`lapi_ret_flags_t`]: in the receiving thread if a send is possible at once; it sends a reply.
pub const LAPI_SEND_REPLY: lapi_ret_flags_t = 2;

/// What becomes of a message.
pub type lapi_ctl_flags_t = c_int;
/// [`lapi_ctl_flags_t`]: its data are delivered.
pub const LAPI_DELIVER_MSG: lapi_ctl_flags_t = 0;
/// [`lapi_ctl_flags_t`]: it completes, but its data are not copied.
pub const LAPI_BURY_MSG: lapi_ctl_flags_t = 1;
/// [`lapi_ctl_flags_t`]: the packet counts as lost and comes again.
pub const LAPI_DROP_PKT: lapi_ctl_flags_t = 2;

/// What a header handler's msg_len really points to.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_return_info_t {
    /// In: length of the message.
    pub msg_len: c_ulong,
    /// In: do not change.
    pub MAGIC: c_int,
    /// Out: where the completion handler runs.
    pub ret_flags: lapi_ret_flags_t,
    /// Out: what becomes of the message.
    pub ctl_flags: lapi_ctl_flags_t,
    /// Out: layout of the data, or NULL for contiguous.
    pub dgsp_handle: lapi_dg_handle_t,
    /// Out: how much to deliver when a layout is given.
    pub bytes: c_ulong,
    /// In: task that sent the message.
    pub src: c_int,
    /// In: the data, if they all came with this packet; else NULL.
    pub udata_one_pkt_ptr: *mut c_void,
}

/// What LAPI_Xfer transfers.
pub type lapi_xfer_type_t = c_int;
/// [`lapi_xfer_type_t`]: lapi_get_t.
pub const LAPI_GET_XFER: lapi_xfer_type_t = 0;
/// [`lapi_xfer_type_t`]: lapi_am_t.
pub const LAPI_AM_XFER: lapi_xfer_type_t = 1;
/// [`lapi_xfer_type_t`]: lapi_rmw_t.
pub const LAPI_RMW_XFER: lapi_xfer_type_t = 2;
/// [`lapi_xfer_type_t`]: lapi_put_t.
pub const LAPI_PUT_XFER: lapi_xfer_type_t = 3;
/// [`lapi_xfer_type_t`]: lapi_getv_t.
pub const LAPI_GETV_XFER: lapi_xfer_type_t = 4;
/// [`lapi_xfer_type_t`]: lapi_putv_t.
pub const LAPI_PUTV_XFER: lapi_xfer_type_t = 5;
/// [`lapi_xfer_type_t`]: lapi_amv_t.
pub const LAPI_AMV_XFER: lapi_xfer_type_t = 6;
/// [`lapi_xfer_type_t`]: lapi_amdgsp_t.
pub const LAPI_DGSP_XFER: lapi_xfer_type_t = 7;
/// [`lapi_xfer_type_t`]: lapi_am_t without counters and handlers at the origin.
pub const LAPI_AM_LW_XFER: lapi_xfer_type_t = 8;

/// What a read-modify-write does.
pub type RMW_ops_t = c_int;
/// Another name of [`RMW_ops_t`].
pub type Rmw_ops_t = RMW_ops_t;
/// [`RMW_ops_t`]: add.
pub const FETCH_AND_ADD: RMW_ops_t = 0;
/// [`RMW_ops_t`]: bitwise or.
pub const FETCH_AND_OR: RMW_ops_t = 1;
/// [`RMW_ops_t`]: replace.
pub const SWAP: RMW_ops_t = 2;
/// [`RMW_ops_t`]: replace the variable by in_val\[1\] if it equals in_val\[0\].
pub const COMPARE_AND_SWAP: RMW_ops_t = 3;

/// Directives of a transfer: values of the fields named flags, beside the hints below.
pub type lapi_xfer_flags_t = c_int;
/// [`lapi_xfer_flags_t`]: tgt_vec is a lapi_vec_t *, not a lapi_lvec_t *.
pub const USE_TGT_VEC_TYPE: lapi_xfer_flags_t = 1;
/// [`lapi_xfer_flags_t`]: the data are contiguous on both sides, whatever the DGSP says.
pub const BUFFER_BOTH_CONTIGUOUS: lapi_xfer_flags_t = 2;

/// Hint: no bulk transfer. Wins over LAPI_USE_BULK_XFER.
pub const LAPI_NOT_USE_BULK_XFER: c_int = 0x4;

/// Hint: bulk transfer.
pub const LAPI_USE_BULK_XFER: c_int = 0x8;

/// A get (table 27).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_get_t {
    /// LAPI_GET_XFER.
    pub Xfer_type: lapi_xfer_type_t,
    /// Directives and hints, or 0.
    pub flags: c_int,
    /// Target task.
    pub tgt: c_uint,
    /// Where the data are at the target.
    pub tgt_addr: lapi_long_t,
    /// Where they go.
    pub org_addr: *mut c_void,
    /// Their length in bytes.
    pub len: c_ulong,
    /// Target counter, an address at the target, or 0.
    pub tgt_cntr: lapi_long_t,
    /// Origin counter, or NULL.
    pub org_cntr: *mut lapi_cntr_t,
    /// Runs when the data have arrived, or NULL.
    pub chndlr: Option<compl_hndlr_t>,
    /// What chndlr is given.
    pub cinfo: *mut c_void,
}

/// An active message (table 24).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_am_t {
    /// LAPI_AM_XFER, or LAPI_AM_LW_XFER.
    pub Xfer_type: lapi_xfer_type_t,
    /// Directives and hints, or 0.
    pub flags: c_int,
    /// Target task.
    pub tgt: c_uint,
    /// Header handler: index or address at the target.
    pub hdr_hdl: lapi_long_t,
    /// Length of the user header, a multiple of 4.
    pub uhdr_len: c_uint,
    /// User header.
    pub uhdr: *mut c_void,
    /// Data.
    pub udata: *mut c_void,
    /// Their length in bytes.
    pub udata_len: c_ulong,
    /// Runs when the data may be changed again, or NULL.
    pub shdlr: Option<scompl_hndlr_t>,
    /// What shdlr is given.
    pub sinfo: *mut c_void,
    /// Target counter, an address at the target, or 0.
    pub tgt_cntr: lapi_long_t,
    /// Origin counter, or NULL.
    pub org_cntr: *mut lapi_cntr_t,
    /// Completion counter, or NULL.
    pub cmpl_cntr: *mut lapi_cntr_t,
}

/// A read-modify-write (table 31).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_rmw_t {
    /// LAPI_RMW_XFER.
    pub Xfer_type: lapi_xfer_type_t,
    /// What to do.
    pub op: Rmw_ops_t,
    /// Target task.
    pub tgt: c_uint,
    /// Width of the variable: 32 or 64.
    pub size: c_uint,
    /// The variable, an address at the target.
    pub tgt_var: lapi_long_t,
    /// Operand; two of them for COMPARE_AND_SWAP.
    pub in_val: *mut c_void,
    /// Receives the previous value, or NULL.
    pub prev_tgt_val: *mut c_void,
    /// Origin counter, or NULL.
    pub org_cntr: *mut lapi_cntr_t,
    /// Runs when the operation is done, or NULL.
    pub shdlr: Option<scompl_hndlr_t>,
    /// What shdlr is given.
    pub sinfo: *mut c_void,
}

/// A put (table 29).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_put_t {
    /// LAPI_PUT_XFER.
    pub Xfer_type: lapi_xfer_type_t,
    /// Directives and hints, or 0.
    pub flags: c_int,
    /// Target task.
    pub tgt: c_uint,
    /// Where the data go at the target.
    pub tgt_addr: lapi_long_t,
    /// Where they are.
    pub org_addr: *mut c_void,
    /// Their length in bytes.
    pub len: c_ulong,
    /// Runs when the data may be changed again, or NULL.
    pub shdlr: Option<scompl_hndlr_t>,
    /// What shdlr is given.
    pub sinfo: *mut c_void,
    /// Target counter, an address at the target, or 0.
    pub tgt_cntr: lapi_long_t,
    /// Origin counter, or NULL.
    pub org_cntr: *mut lapi_cntr_t,
    /// Completion counter, or NULL.
    pub cmpl_cntr: *mut lapi_cntr_t,
}

/// A get between vectors (table 28).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_getv_t {
    /// LAPI_GETV_XFER.
    pub Xfer_type: lapi_xfer_type_t,
    /// Directives and hints, or 0.
    pub flags: c_int,
    /// Target task.
    pub tgt: c_uint,
    /// Where the data go at the origin.
    pub org_vec: *mut lapi_vec_t,
    /// Where they are, a lapi_lvec_t *, or a lapi_vec_t * with USE_TGT_VEC_TYPE.
    pub tgt_vec: *mut c_void,
    /// Target counter, an address at the target, or 0.
    pub tgt_cntr: lapi_long_t,
    /// Origin counter, or NULL.
    pub org_cntr: *mut lapi_cntr_t,
    /// Runs when the data have arrived, or NULL.
    pub chndlr: Option<compl_hndlr_t>,
    /// What chndlr is given.
    pub cinfo: *mut c_void,
}

/// A put between vectors (table 30).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_putv_t {
    /// LAPI_PUTV_XFER.
    pub Xfer_type: lapi_xfer_type_t,
    /// Directives and hints, or 0.
    pub flags: c_int,
    /// Target task.
    pub tgt: c_uint,
    /// Runs when the data may be changed again, or NULL.
    pub shdlr: Option<scompl_hndlr_t>,
    /// What shdlr is given.
    pub sinfo: *mut c_void,
    /// The data at the origin.
    pub org_vec: *mut lapi_vec_t,
    /// Where they go, a lapi_lvec_t *, or a lapi_vec_t * with USE_TGT_VEC_TYPE.
    pub tgt_vec: *mut c_void,
    /// Target counter, an address at the target, or 0.
    pub tgt_cntr: lapi_long_t,
    /// Origin counter, or NULL.
    pub org_cntr: *mut lapi_cntr_t,
    /// Completion counter, or NULL.
    pub cmpl_cntr: *mut lapi_cntr_t,
}

/// An active message from a vector (table 25).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_amv_t {
    /// LAPI_AMV_XFER.
    pub Xfer_type: lapi_xfer_type_t,
    /// Directives and hints, or 0.
    pub flags: c_int,
    /// Target task.
    pub tgt: c_uint,
    /// Header handler: index or address at the target.
    pub hdr_hdl: lapi_long_t,
    /// Length of the user header, a multiple of 4.
    pub uhdr_len: c_uint,
    /// User header.
    pub uhdr: *mut c_void,
    /// Runs when the data may be changed again, or NULL.
    pub shdlr: Option<scompl_hndlr_t>,
    /// What shdlr is given.
    pub sinfo: *mut c_void,
    /// The data at the origin.
    pub org_vec: *mut lapi_vec_t,
    /// Target counter, an address at the target, or 0.
    pub tgt_cntr: lapi_long_t,
    /// Origin counter, or NULL.
    pub org_cntr: *mut lapi_cntr_t,
    /// Completion counter, or NULL.
    pub cmpl_cntr: *mut lapi_cntr_t,
}

/// An active message laid out by a DGSP (table 26).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_amdgsp_t {
    /// LAPI_DGSP_XFER.
    pub Xfer_type: lapi_xfer_type_t,
    /// Directives and hints, or 0.
    pub flags: c_int,
    /// Target task.
    pub tgt: c_uint,
    /// Header handler: index or address at the target.
    pub hdr_hdl: lapi_long_t,
    /// Length of the user header, a multiple of 4.
    pub uhdr_len: c_uint,
    /// User header.
    pub uhdr: *mut c_void,
    /// Data.
    pub udata: *mut c_void,
    /// Their length in bytes.
    pub udata_len: c_ulong,
    /// Runs when the data may be changed again, or NULL.
    pub shdlr: Option<scompl_hndlr_t>,
    /// What shdlr is given.
    pub sinfo: *mut c_void,
    /// Target counter, an address at the target, or 0.
    pub tgt_cntr: lapi_long_t,
    /// Origin counter, or NULL.
    pub org_cntr: *mut lapi_cntr_t,
    /// Completion counter, or NULL.
    pub cmpl_cntr: *mut lapi_cntr_t,
    /// Layout of the data at the origin.
    pub dgsp: lapi_dg_handle_t,
    /// Reserved.
    pub status: lapi_status_t,
}

/// Any transfer; Xfer_type says which.
#[repr(C)]
#[derive(Clone, Copy)]
pub union lapi_xfer_t {
    /// First field of every member.
    pub Xfer_type: lapi_xfer_type_t,
    /// As a [`lapi_get_t`].
    pub Get: lapi_get_t,
    /// As a [`lapi_am_t`].
    pub Am: lapi_am_t,
    /// As a [`lapi_rmw_t`].
    pub Rmw: lapi_rmw_t,
    /// As a [`lapi_put_t`].
    pub Put: lapi_put_t,
    /// As a [`lapi_getv_t`].
    pub Getv: lapi_getv_t,
    /// As a [`lapi_putv_t`].
    pub Putv: lapi_putv_t,
    /// As a [`lapi_amv_t`].
    pub Amv: lapi_amv_t,
    /// As a [`lapi_amdgsp_t`].
    pub Dgsp: lapi_amdgsp_t,
}

/// What LAPI_Util does.
pub type lapi_util_type_t = c_int;
/// [`lapi_util_type_t`]: lapi_reg_dgsp_t.
pub const LAPI_REGISTER_DGSP: lapi_util_type_t = 0;
/// [`lapi_util_type_t`]: lapi_dref_dgsp_t.
pub const LAPI_UNRESERVE_DGSP: lapi_util_type_t = 1;
/// [`lapi_util_type_t`]: lapi_resv_dgsp_t.
pub const LAPI_RESERVE_DGSP: lapi_util_type_t = 2;
/// [`lapi_util_type_t`]: lapi_reg_ddm_t.
pub const LAPI_REG_DDM_FUNC: lapi_util_type_t = 3;
/// [`lapi_util_type_t`]: lapi_add_udp_port_t.
pub const LAPI_ADD_UDP_DEST_PORT: lapi_util_type_t = 4;
/// [`lapi_util_type_t`]: lapi_pack_dgsp_t.
pub const LAPI_DGSP_PACK: lapi_util_type_t = 5;
/// [`lapi_util_type_t`]: lapi_unpack_dgsp_t.
pub const LAPI_DGSP_UNPACK: lapi_util_type_t = 6;
/// [`lapi_util_type_t`]: lapi_thread_func_t.
pub const LAPI_GET_THREAD_FUNC: lapi_util_type_t = 7;

/// Register a DGSP (table 15).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_reg_dgsp_t {
    /// LAPI_REGISTER_DGSP.
    pub Util_type: lapi_util_type_t,
    /// In: the program.
    pub idgsp: *mut lapi_dgsp_descr_t,
    /// Out: its handle.
    pub dgsp_handle: lapi_dg_handle_t,
    /// For debugging only.
    pub in_usr_func: lapi_usr_fcall_t,
    /// Reserved.
    pub status: lapi_status_t,
}

/// Give up a DGSP (table 17).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_dref_dgsp_t {
    /// LAPI_UNRESERVE_DGSP.
    pub Util_type: lapi_util_type_t,
    /// In: its handle.
    pub dgsp_handle: lapi_dg_handle_t,
    /// For debugging only.
    pub in_usr_func: lapi_usr_fcall_t,
    /// Reserved.
    pub status: lapi_status_t,
}

/// Keep a DGSP (table 16).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_resv_dgsp_t {
    /// LAPI_RESERVE_DGSP.
    pub Util_type: lapi_util_type_t,
    /// In: its handle.
    pub dgsp_handle: lapi_dg_handle_t,
    /// For debugging only.
    pub in_usr_func: lapi_usr_fcall_t,
    /// Reserved.
    pub status: lapi_status_t,
}

/// Register the DDM function (table 18).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_reg_ddm_t {
    /// LAPI_REG_DDM_FUNC.
    pub Util_type: lapi_util_type_t,
    /// In: the function.
    pub ddm_func: Option<ddm_func_t>,
    /// For debugging only.
    pub in_usr_func: lapi_usr_fcall_t,
    /// Reserved.
    pub status: lapi_status_t,
}

/// Tell the UDP address of a task (table 21).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_add_udp_port_t {
    /// LAPI_ADD_UDP_DEST_PORT.
    pub Util_type: lapi_util_type_t,
    /// In: the task.
    pub tgt: c_uint,
    /// In: its address.
    pub udp_port: *mut lapi_udp_t,
    /// In: network instance.
    pub instance_no: c_uint,
    /// For debugging only.
    pub in_usr_func: lapi_usr_fcall_t,
    /// Reserved.
    pub status: lapi_status_t,
}

/// Gather into a contiguous buffer (table 19).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_pack_dgsp_t {
    /// LAPI_DGSP_PACK.
    pub Util_type: lapi_util_type_t,
    /// In: layout of in_buf.
    pub dgsp_handle: lapi_dg_handle_t,
    /// In: what to gather.
    pub in_buf: *mut c_void,
    /// In: how many bytes.
    pub bytes: c_ulong,
    /// Out: the contiguous buffer.
    pub out_buf: *mut c_void,
    /// In: its size in bytes.
    pub out_size: c_ulong,
    /// In and out: offset in the contiguous buffer.
    pub position: c_ulong,
    /// For debugging only.
    pub in_usr_func: lapi_usr_fcall_t,
    /// Reserved.
    pub status: lapi_status_t,
}

/// Scatter from a contiguous buffer (table 20).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_unpack_dgsp_t {
    /// LAPI_DGSP_UNPACK.
    pub Util_type: lapi_util_type_t,
    /// In: layout of out_buf.
    pub dgsp_handle: lapi_dg_handle_t,
    /// In: the contiguous buffer.
    pub buf: *mut c_void,
    /// In: its size in bytes.
    pub in_size: c_ulong,
    /// Out: where the data go.
    pub out_buf: *mut c_void,
    /// In: how many bytes.
    pub bytes: c_ulong,
    /// In: size of out_buf in bytes.
    pub out_size: c_ulong,
    /// In and out: offset in the contiguous buffer.
    pub position: c_ulong,
    /// For debugging only.
    pub in_usr_func: lapi_usr_fcall_t,
    /// Reserved.
    pub status: lapi_status_t,
}

/// A condition variable for the lock of a context. Initialize it with cond_init.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_cond_t {
    /// Used by LAPI.
    pub opaque: [c_ulong; 6],
}

/// Takes the lock of a context. Returns 0 or EINVAL.
pub type lapi_mutex_lock_t = unsafe extern "C" fn(hndl: lapi_handle_t) -> c_int;

/// Releases the lock. Returns 0 or EINVAL.
pub type lapi_mutex_unlock_t = unsafe extern "C" fn(hndl: lapi_handle_t) -> c_int;

/// Takes the lock if it is free. Returns 0, EBUSY or EINVAL.
pub type lapi_mutex_trylock_t = unsafe extern "C" fn(hndl: lapi_handle_t) -> c_int;

/// Tells who holds the lock: LAPI_NULL_THREAD_ID if nobody does.
pub type lapi_mutex_getowner_t = unsafe extern "C" fn(hndl: lapi_handle_t, tid: *mut pthread_t) -> c_int;

/// Waits for a signal; the caller holds the lock.
pub type lapi_cond_wait_t = unsafe extern "C" fn(hndl: lapi_handle_t, cond: *mut lapi_cond_t) -> c_int;

/// Waits until an absolute time at most. Returns 0, ETIMEDOUT or EINVAL.
pub type lapi_cond_timedwait_t =
    unsafe extern "C" fn(hndl: lapi_handle_t, cond: *mut lapi_cond_t, timeout: *mut timespec) -> c_int;

/// Wakes one thread that waits.
pub type lapi_cond_signal_t = unsafe extern "C" fn(hndl: lapi_handle_t, cond: *mut lapi_cond_t) -> c_int;

/// Initializes a condition variable. Returns 0, EAGAIN, ENOMEM or EINVAL.
pub type lapi_cond_init_t = unsafe extern "C" fn(hndl: lapi_handle_t, cond: *mut lapi_cond_t) -> c_int;

/// Ends the use of a condition variable. Returns 0, EBUSY or EINVAL.
pub type lapi_cond_destroy_t = unsafe extern "C" fn(hndl: lapi_handle_t, cond: *mut lapi_cond_t) -> c_int;

/// No thread.
pub const LAPI_NULL_THREAD_ID: pthread_t = 0;

/// The functions of the shared lock (table 22).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapi_thread_func_t {
    /// LAPI_GET_THREAD_FUNC.
    pub Util_type: lapi_util_type_t,
    /// Out.
    pub mutex_lock: Option<lapi_mutex_lock_t>,
    /// Out.
    pub mutex_unlock: Option<lapi_mutex_unlock_t>,
    /// Out.
    pub mutex_trylock: Option<lapi_mutex_trylock_t>,
    /// Out.
    pub mutex_getowner: Option<lapi_mutex_getowner_t>,
    /// Out.
    pub cond_wait: Option<lapi_cond_wait_t>,
    /// Out.
    pub cond_timedwait: Option<lapi_cond_timedwait_t>,
    /// Out.
    pub cond_signal: Option<lapi_cond_signal_t>,
    /// Out.
    pub cond_init: Option<lapi_cond_init_t>,
    /// Out.
    pub cond_destroy: Option<lapi_cond_destroy_t>,
    /// For debugging only.
    pub in_usr_func: lapi_usr_fcall_t,
    /// Reserved.
    pub status: lapi_status_t,
}

/// Any utility; Util_type says which.
#[repr(C)]
#[derive(Clone, Copy)]
pub union lapi_util_t {
    /// First field of every member.
    pub Util_type: lapi_util_type_t,
    /// As a [`lapi_reg_dgsp_t`].
    pub RegDgsp: lapi_reg_dgsp_t,
    /// As a [`lapi_dref_dgsp_t`].
    pub DrefDgsp: lapi_dref_dgsp_t,
    /// As a [`lapi_resv_dgsp_t`].
    pub ResvDgsp: lapi_resv_dgsp_t,
    /// As a [`lapi_reg_ddm_t`].
    pub DdmFunc: lapi_reg_ddm_t,
    /// As a [`lapi_add_udp_port_t`].
    pub Udp: lapi_add_udp_port_t,
    /// As a [`lapi_pack_dgsp_t`].
    pub PackDgsp: lapi_pack_dgsp_t,
    /// As a [`lapi_unpack_dgsp_t`].
    pub UnpackDgsp: lapi_unpack_dgsp_t,
    /// As a [`lapi_thread_func_t`].
    pub ThreadFunc: lapi_thread_func_t,
}

/// The team is none of this context's, or has been freed.
pub const LAPIS_ERR_TEAM: c_int = 601;
/// The members make no team: there are none, one is named twice, one is no task of the job, or the caller is none of them.
pub const LAPIS_ERR_GROUP: c_int = 602;
/// The team is over: a member died, ended its context, was purged or restarted, or its call failed.
pub const LAPIS_ERR_TEAM_OVER: c_int = 603;
/// Members of the team made different calls, or calls with different roots, lengths, types or operators.
pub const LAPIS_ERR_MISMATCH: c_int = 604;
/// The root, or a rank in a list, is no member of the team.
pub const LAPIS_ERR_ROOT: c_int = 605;
/// The counts of a collective are more than an address space, or a list of them is NULL.
pub const LAPIS_ERR_COUNT: c_int = 606;
/// The type of a collective's elements is not one that Lapis knows.
pub const LAPIS_ERR_TYPE: c_int = 607;
/// The operator is not one that Lapis knows, has been freed, or means nothing on elements of this type.
pub const LAPIS_ERR_OP: c_int = 608;
/// An input or output of a collective is NULL although it has a length, or another member can't read it.
pub const LAPIS_ERR_BUFFER: c_int = 609;
/// The request is none of this context's, or is of another kind than the call wants.
pub const LAPIS_ERR_REQUEST: c_int = 610;
/// The request is under way, or another thread uses it.
pub const LAPIS_ERR_BUSY: c_int = 611;

/// Names a team: tasks that call collectives together.
pub type lapis_team_t = c_uint;

/// the team of all tasks
pub const LAPIS_WORLD: c_uint = 0;

/// no team: the caller is no member
pub const LAPIS_NO_TEAM: c_uint = 0xffff_ffff;

/// Names a nonblocking or persistent collective.
pub type lapis_request_t = c_uint;

/// no request: the value of one that has been waited for
pub const LAPIS_NO_REQUEST: c_uint = 0;

/// Types of elements.
pub type lapis_type_t = c_uint;

/// int8_t
pub const LAPIS_I8: c_uint = 1;

/// int16_t
pub const LAPIS_I16: c_uint = 2;

/// int32_t
pub const LAPIS_I32: c_uint = 3;

/// int64_t
pub const LAPIS_I64: c_uint = 4;

/// uint8_t, also plain bytes
pub const LAPIS_U8: c_uint = 5;

/// uint16_t
pub const LAPIS_U16: c_uint = 6;

/// uint32_t
pub const LAPIS_U32: c_uint = 7;

/// uint64_t
pub const LAPIS_U64: c_uint = 8;

/// float
pub const LAPIS_F32: c_uint = 9;

/// double
pub const LAPIS_F64: c_uint = 10;

/// two floats: a complex number
pub const LAPIS_C32: c_uint = 11;

/// two doubles: a complex number
pub const LAPIS_C64: c_uint = 12;

/// a byte, true if not 0
pub const LAPIS_BOOL: c_uint = 13;

/// int32_t and its location, an int32_t
pub const LAPIS_I32_AT: c_uint = 14;

/// int64_t and its location, an int64_t
pub const LAPIS_I64_AT: c_uint = 15;

/// float and its location, an int32_t
pub const LAPIS_F32_AT: c_uint = 16;

/// double and its location, an int64_t
pub const LAPIS_F64_AT: c_uint = 17;

/// base of the types of LAPIS_BYTES
pub const LAPIS_BYTES_FLAG: c_uint = 0x4000_0000;

/// Operators of reductions.
pub type lapis_op_t = c_uint;

/// integers wrap around
pub const LAPIS_SUM: c_uint = 1;

/// integers wrap around
pub const LAPIS_PRODUCT: c_uint = 2;

/// of a number and not-a-number, the number
pub const LAPIS_MIN: c_uint = 3;

/// of a number and not-a-number, the number
pub const LAPIS_MAX: c_uint = 4;

/// the minimum and its location, the first of several
pub const LAPIS_MIN_AT: c_uint = 5;

/// the maximum and its location, the first of several
pub const LAPIS_MAX_AT: c_uint = 6;

/// logical: of two operands and more, the result is 0 or 1; a single one stays as it is
pub const LAPIS_AND: c_uint = 7;

/// logical, as LAPIS_AND
pub const LAPIS_OR: c_uint = 8;

/// logical, as LAPIS_AND
pub const LAPIS_XOR: c_uint = 9;

/// bitwise
pub const LAPIS_BIT_AND: c_uint = 10;

/// bitwise
pub const LAPIS_BIT_OR: c_uint = 11;

/// bitwise
pub const LAPIS_BIT_XOR: c_uint = 12;

/// An operator of the program: writes count elements, each of which combines left with right; left is of lower ranks.
/// result is either left or right. It calls nothing of Lapis.
pub type lapis_fold_t = unsafe extern "C" fn(
    left: *const c_void,
    right: *const c_void,
    result: *mut c_void,
    count: c_ulong,
    arg: *mut c_void,
);

/// An edge of a graph: elements that are sent to a member, or received from it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lapis_edge_t {
    /// The member at the other end.
    pub rank: c_uint,
    /// 0.
    pub reserved: c_uint,
    /// The first element: in the input for edges to members, in the output for edges from them.
    pub start: c_ulong,
    /// The number of elements.
    pub count: c_ulong,
}
