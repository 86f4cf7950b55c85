! module lapi: the Fortran interface of LAPI, as the LAPI Programming Guide defines it, implemented by Lapis, for Fortran 2008
! and later. It declares what lapif.h declares and checks the arguments of calls.
!
! Written by `cargo xtask codegen` from bindings/lapi/api. Edit that.
!
! What lies in the calling task is passed as itself; what lies in another task is passed as its address, an
! integer(LAPI_ADDR_TYPE). Buffers may be touched until their counters say otherwise: give them the asynchronous or volatile
! attribute.
!
! No code comes from this file: compile it for its .mod file, and link liblapi_r.
module lapi
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int16_t, c_int32_t, c_int64_t, c_intptr_t
  implicit none
  private :: c_char, c_int, c_int16_t, c_int32_t, c_int64_t, c_intptr_t

  ! Kinds
  integer, parameter :: LAPI_ADDR_TYPE = c_intptr_t
  integer, parameter :: LAPI_LONG_TYPE = c_int64_t
  integer, parameter :: LAPI_LONG_LONG_TYPE = c_int64_t

  ! Stands for no argument at all, and is the null address.
  integer(c_intptr_t), bind(C, name="lapi_addr_null_c_"), protected :: LAPI_ADDR_NULL

  ! Holds an address.
  type, bind(C) :: LAPI_ADDR_T
    integer(c_intptr_t) :: addr
  end type LAPI_ADDR_T

  !
  ! Basic types
  ! (LAPI Guide, appendices E and F)
  !

  ! Kind. An IP address, in network byte order.
  integer, parameter :: IN_ADDR_T = 4

  ! Kind. A UDP port, in network byte order.
  integer, parameter :: IN_PORT_T = 2

  ! Kind. Names a LAPI context (an instance of LAPI in this task).
  integer, parameter :: LAPI_HANDLE_T = 4

  ! Kind. An address or length wide enough for 64-bit tasks, in 32-bit tasks too; always 8-aligned.
  integer, parameter :: LAPI_LONG_T = 8

  ! Kind. The length of a message.
  integer, parameter :: LAPI_MSGLEN_T = 8

  ! Kind. Reserved for a status that future versions return.
  integer, parameter :: LAPI_STATUS_T = 4

  ! Kind. A remote context of later releases of LAPI. Opaque; no call takes one here.
  integer, parameter :: LAPI_USER_CXT_T = 4

  ! Kind. What later releases of LAPI describe a remote context with. Opaque; no call takes one here.
  integer, parameter :: LAPI_REMOTE_CXT_T = 8

  ! Kind. For debugging only; set it to NULL.
  integer, parameter :: LAPI_USR_FCALL_T = 8

  ! A counter. Set it with LAPI_Setcntr before its first use, and leave its fields to LAPI.
  type, bind(C) :: LAPI_CNTR_T
    integer(c_int32_t) :: value ! current value
    integer(c_int32_t) :: state ! used by LAPI
    integer(c_intptr_t) :: reserved(2) ! used by LAPI
  end type LAPI_CNTR_T
  ! The longest message: 0x7fffffff bytes in 32-bit tasks, 0x7fffffffffffffff in 64-bit tasks.
  integer(LAPI_LONG_TYPE), parameter :: LAPI_MAX_MSG_SZ = HUGE(0_LAPI_LONG_TYPE)
  integer, parameter :: LAPI_MAX_ERR_STRING = 160 ! The size of the buffer that LAPI_Msg_string fills.
  integer, parameter :: LAPI_MAX_NODES = 2048 ! The most nodes that a job can have.
  integer, parameter :: LAPI_MAX_TASKS = 16384 ! The most tasks that a job can have.
  integer, parameter :: LAPI_MAX_SHM_TASKS = 128 ! The most tasks of a node that can share memory.
  integer, parameter :: LAPI_MAX_SLOTS_PER_TASK = 128 ! The most shared memory slots that a task can have.

  !
  ! Return codes
  ! (LAPI Guide, appendix C)
  !
  integer, parameter :: LAPI_SUCCESS = 0 ! The call completed successfully.
  integer, parameter :: LAPI_ERR_UNKNOWN = 400 ! An internal communication error occurred outside of any call.
  integer, parameter :: LAPI_ERR_ALL_HNDL_IN_USE = 401 ! Every LAPI instance that a task may have is already in use.
  ! Both an IP and a user-space network statement are set for one LAPI instance.
  integer, parameter :: LAPI_ERR_BOTH_NETSTR_SET = 402
  ! The library or plugin that carries the communication could not be loaded.
  integer, parameter :: LAPI_ERR_CSS_LOAD_FAILED = 404
  integer, parameter :: LAPI_ERR_INFO_NULL = 405 ! The pointer to the lapi_info_t structure is NULL.
  integer, parameter :: LAPI_ERR_MSG_API = 406 ! The environment variable MP_MSG_API has a value that LAPI does not know.
  integer, parameter :: LAPI_ERR_NO_NETSTR_SET = 407 ! No network statement is set, or MP_MSG_API does not provide for LAPI.
  ! A user-defined UDP handler was announced, but neither a handler nor a list of addresses was given.
  integer, parameter :: LAPI_ERR_NO_UDP_HNDLR = 408
  integer, parameter :: LAPI_ERR_HDR_HNDLR_NULL = 409 ! An active message arrived whose header handler is NULL.
  integer, parameter :: LAPI_ERR_PSS_NON_ROOT = 410 ! Only root may initialize the persistent subsystem.
  integer, parameter :: LAPI_ERR_SHM_KE_NOT_LOADED = 412 ! The system support that shared memory needs is not available.
  integer, parameter :: LAPI_ERR_TIMEOUT = 413 ! A task did not acknowledge packets within the timeout.
  integer, parameter :: LAPI_ERR_REG_TIMER = 414 ! The timer could not be armed again.
  integer, parameter :: LAPI_ERR_UDP_PKT_SZ = 415 ! The UDP packet size is outside its range.
  integer, parameter :: LAPI_ERR_USER_UDP_HNDLR_FAIL = 416 ! The user-defined UDP handler reported a failure.
  integer, parameter :: LAPI_ERR_HNDL_INVALID = 417 ! The handle is not one of an initialized LAPI instance.
  integer, parameter :: LAPI_ERR_RET_PTR_NULL = 418 ! The pointer to where the result belongs is NULL.
  integer, parameter :: LAPI_ERR_ADDR_HNDL_RANGE = 419 ! The index into the address table is out of range.
  integer, parameter :: LAPI_ERR_ADDR_TBL_NULL = 420 ! The pointer to the table that receives the addresses is NULL.
  integer, parameter :: LAPI_ERR_TGT_PURGED = 421 ! The target task has been purged.
  integer, parameter :: LAPI_ERR_MULTIPLE_WAITERS = 422 ! Another thread is already waiting for this counter.
  integer, parameter :: LAPI_ERR_MEMORY_EXHAUSTED = 423 ! LAPI could not allocate the memory it needs.
  integer, parameter :: LAPI_ERR_INFO_NONZERO = 424 ! Reserved fields of the lapi_info_t structure are not zero.
  integer, parameter :: LAPI_ERR_ORG_ADDR_NULL = 425 ! The address of the data at the origin is NULL.
  integer, parameter :: LAPI_ERR_TGT_ADDR_NULL = 426 ! The address of the data at the target is NULL.
  integer, parameter :: LAPI_ERR_DATA_LEN = 427 ! The data length exceeds the largest message that LAPI transfers.
  integer, parameter :: LAPI_ERR_TGT = 428 ! The target is not a task of this job.
  integer, parameter :: LAPI_ERR_UHDR_NULL = 429 ! The user header is NULL although its length is greater than 0.
  integer, parameter :: LAPI_ERR_UHDR_LEN = 430 ! The user header is longer than MAX_UHDR_SZ.
  integer, parameter :: LAPI_ERR_HDR_LEN = 431 ! The length of the user header is not aligned.
  integer, parameter :: LAPI_ERR_ORG_EXTENT = 432 ! The vector at the origin spans more than the largest message.
  integer, parameter :: LAPI_ERR_ORG_STRIDE = 433 ! The stride of the vector at the origin is smaller than its block.
  integer, parameter :: LAPI_ERR_NO_CONNECTIVITY = 434 ! No path leads to the task.
  integer, parameter :: LAPI_ERR_ADAPTERS_DOWN = 435 ! All network adapters are down.
  integer, parameter :: LAPI_ERR_RECV_INCOMP = 436 ! A receive operation did not complete.
  integer, parameter :: LAPI_ERR_SEND_INCOMP = 437 ! A send operation did not complete.
  integer, parameter :: LAPI_ERR_SEND_TIMEOUT = 438 ! A send operation did not complete within the timeout.
  integer, parameter :: LAPI_ERR_SHM_SETUP = 439 ! Shared memory could not be set up.
  ! An address in the vector at the origin is NULL although its length is greater than 0.
  integer, parameter :: LAPI_ERR_ORG_VEC_ADDR = 440
  integer, parameter :: LAPI_ERR_ORG_VEC_LEN = 441 ! The vector at the origin describes more data than the largest message.
  integer, parameter :: LAPI_ERR_ORG_VEC_NULL = 442 ! The pointer to the vector at the origin is NULL.
  integer, parameter :: LAPI_ERR_ORG_VEC_TYPE = 443 ! The type of the vector at the origin is not valid.
  integer, parameter :: LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL = 444 ! The base address of the strided vector at the origin is NULL.
  integer, parameter :: LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL = 445 ! The base address of the strided vector at the target is NULL.
  integer, parameter :: LAPI_ERR_TGT_EXTENT = 446 ! The vector at the target spans more than the largest message.
  integer, parameter :: LAPI_ERR_TGT_STRIDE = 447 ! The stride of the vector at the target is smaller than its block.
  ! An address in the vector at the target is NULL although its length is greater than 0.
  integer, parameter :: LAPI_ERR_TGT_VEC_ADDR = 448
  integer, parameter :: LAPI_ERR_TGT_VEC_LEN = 449 ! The vector at the target describes more data than the largest message.
  integer, parameter :: LAPI_ERR_TGT_VEC_NULL = 451 ! The pointer to the vector at the target is NULL.
  integer, parameter :: LAPI_ERR_TGT_VEC_TYPE = 452 ! The type of the vector at the target is not valid.
  integer, parameter :: LAPI_ERR_VEC_NUM_DIFF = 453 ! The vectors at origin and target differ in their number of elements.
  integer, parameter :: LAPI_ERR_VEC_TYPE_DIFF = 454 ! The vectors at origin and target differ in type.
  integer, parameter :: LAPI_ERR_VEC_LEN_DIFF = 455 ! The vectors at origin and target differ in the length of an element.
  integer, parameter :: LAPI_ERR_MSG_INFO_NULL = 456 ! The info pointer given to LAPI_Msgpoll is NULL.
  integer, parameter :: LAPI_ERR_CNTR_NULL = 458 ! The pointer to the counter is NULL.
  integer, parameter :: LAPI_ERR_CNTR_VAL = 459 ! The counter value to wait for is not greater than 0.
  integer, parameter :: LAPI_ERR_QUERY_TYPE = 460 ! The runtime attribute is not known or cannot be used with this call.
  integer, parameter :: LAPI_ERR_IN_VAL_NULL = 461 ! The pointer to the input value of the read-modify-write operation is NULL.
  integer, parameter :: LAPI_ERR_RMW_OP = 462 ! The read-modify-write operation is not one that LAPI knows.
  integer, parameter :: LAPI_ERR_TGT_VAR_NULL = 463 ! The address of the variable of the read-modify-write operation is NULL.
  integer, parameter :: LAPI_ERR_SET_VAL = 464 ! The value is outside the range of what it sets.
  integer, parameter :: LAPI_ERR_DGSP = 465 ! The DGSP is NULL or not registered.
  integer, parameter :: LAPI_ERR_DGSP_ATOM = 466 ! The atom size of the DGSP is not valid.
  integer, parameter :: LAPI_ERR_DGSP_BRANCH = 467 ! The DGSP branches to a place outside of its code.
  integer, parameter :: LAPI_ERR_DGSP_CTL = 468 ! A CONTROL instruction of the DGSP is malformed.
  integer, parameter :: LAPI_ERR_DGSP_COPY_SZ = 469 ! A copy length in the DGSP is not valid.
  integer, parameter :: LAPI_ERR_DGSP_FREE = 470 ! The DGSP cannot be freed: it is not reserved.
  integer, parameter :: LAPI_ERR_DGSP_OPC = 471 ! The DGSP contains an unknown instruction.
  integer, parameter :: LAPI_ERR_DGSP_REPS = 472 ! A repetition count in the DGSP is less than 0.
  integer, parameter :: LAPI_ERR_DGSP_STACK = 473 ! The DGSP needs a deeper stack than its depth declares.
  integer, parameter :: LAPI_ERR_OP_SZ = 474 ! The size of the read-modify-write transfer is neither 32 nor 64.
  integer, parameter :: LAPI_ERR_UDP_PORT_INFO = 475 ! The pointer to the UDP port information is NULL.
  integer, parameter :: LAPI_ERR_XFER_CMD = 476 ! The transfer type given to LAPI_Xfer is not known.
  integer, parameter :: LAPI_ERR_UTIL_CMD = 477 ! The command given to LAPI_Util is not known.
  integer, parameter :: LAPI_ERR_CATALOG_FAIL = 478 ! The message catalog could not be opened.
  integer, parameter :: LAPI_ERR_PACK_SZ = 479 ! The buffer to pack into, or to unpack from, is too small.
  integer, parameter :: LAPI_ERR_DGSP_OTHER = 480 ! The DGSP is malformed, for instance by an empty code.
  integer, parameter :: LAPI_ERR_UDP_SOCKET = 481 ! An operation on a UDP socket failed.
  integer, parameter :: LAPI_ERR_COLLECTIVE_PSS = 482 ! The persistent subsystem may not make collective calls.
  integer, parameter :: LAPI_ATTN_FAILOVER_INTERNAL = 485 ! Failover is not available: setting it up met an internal error.
  ! Failover is not available: nothing reports the state of the network adapters.
  integer, parameter :: LAPI_ATTN_FAILOVER_NO_NAM = 486
  integer, parameter :: LAPI_ATTN_FAILOVER_NO_GROUP = 487 ! Failover is not available: the group services are not installed.
  integer, parameter :: LAPI_ATTN_FAILOVER_OLD_POE = 488 ! Failover is not available: the launcher is too old.
  ! Failover is not available: the job was not started by a launcher that supports it.
  integer, parameter :: LAPI_ATTN_FAILOVER_NO_POE = 489
  ! Failover is not available: the job uses a network device without support for it.
  integer, parameter :: LAPI_ATTN_FAILOVER_DEVICE = 490
  integer, parameter :: LAPI_ATTN_FAILOVER_HALTED = 491 ! Failover has halted.
  integer, parameter :: LAPI_ERR_TGT_CONTEXT = 492 ! The remote context of the target is not valid.
  integer, parameter :: LAPI_ERR_SRC_CONTEXT = 493 ! The remote context of the source is not valid.
  integer, parameter :: LAPI_ERR_TGT_BUFHNDL = 494 ! The buffer handle of the target is not valid.
  integer, parameter :: LAPI_ERR_SRC_BUFHNDL = 495 ! The buffer handle of the source is not valid.
  integer, parameter :: LAPI_ERR_TGT_OFFSET = 496 ! The offset into the target's buffer is not valid.
  integer, parameter :: LAPI_ERR_SRC_OFFSET = 497 ! The offset into the source's buffer is not valid.
  integer, parameter :: LAPI_ERR_NO_RDMA_RESOURCE = 498 ! No resources for remote direct memory access are available.
  integer, parameter :: LAPI_ATTN_BULK_ENABLED = 499 ! Bulk transfer is on.
  integer, parameter :: LAPI_ATTN_TASK_TIMEOUT = 500 ! Tasks do not hear from one another; waiting for acknowledgements goes on.
  integer, parameter :: LAPI_ATTN_VERSION = 501 ! The version of the LAPI library.
  integer, parameter :: LAPI_ATTN_SHM_INIT = 502 ! Shared memory could not be initialized; the network is used instead.
  integer, parameter :: LAPI_ATTN_SHM_RESTART = 503 ! Shared memory could not be initialized when restarting from a checkpoint.
  integer, parameter :: LAPI_ATTN_SHM_ONE_TASK = 504 ! Shared memory is not used because only one task runs on this node.
  integer, parameter :: LAPI_ATTN_SHM_CREATE = 505 ! This task could not create its shared memory.
  integer, parameter :: LAPI_ATTN_SHM_GET = 506 ! This task could not obtain the shared memory of another task.
  integer, parameter :: LAPI_ATTN_SHM_ATTACH = 507 ! This task could not map the shared memory of another task.
  integer, parameter :: LAPI_ATTN_SHM_RESERVE = 508 ! This task could not reserve address space for shared memory.
  integer, parameter :: LAPI_ATTN_FIRST_CONTACT = 509 ! First communication over this port.
  integer, parameter :: LAPI_ERR_NO_ENV_VAR = 510 ! An environment variable that LAPI requires is not set.
  integer, parameter :: LAPI_ERR_CODE_UNKNOWN = 511 ! The code is not one of LAPI's.
  integer, parameter :: LAPI_ERR_INFO_NONZERO_INFO = LAPI_ERR_INFO_NONZERO ! Another name.

  !
  ! Handlers
  ! (LAPI Guide, "LAPI handlers", LAPI_Amsend, LAPI_Amsendv, LAPI_Xfer)
  !

  ! Kind. Runs at the target when a message has arrived whole, or at the origin when a get is complete.
  integer, parameter :: COMPL_HNDLR_T = 8

  ! Kind. Runs at the target when the first packet of a message arrives; returns where the data go. msg_len points to the
  ! first field of a lapi_return_info_t.
  integer, parameter :: HDR_HNDLR_T = 8

  ! What a send completion handler learns.
  type, bind(C) :: LAPI_SH_INFO_T
    integer(c_int32_t) :: src ! the target task of the transfer
    integer(c_int32_t) :: reason ! LAPI_SUCCESS or why the transfer failed
    integer(c_intptr_t) :: reserve(6) ! reserved
  end type LAPI_SH_INFO_T

  ! Kind. Runs at the origin when the data of a transfer may be changed again.
  integer, parameter :: SCOMPL_HNDLR_T = 8

  ! Kind. Combines arriving data with the data in place; returns how many bytes it processed.
  integer, parameter :: DDM_FUNC_T = 8

  ! Kind. Where an asynchronous error arose.
  integer, parameter :: LAPI_ERR_T = 4
  integer, parameter :: LAPI_INTERNAL_ERROR = 0 ! in LAPI itself
  integer, parameter :: LAPI_COMMUNICATION_ERROR = 1 ! between this task and another
  integer, parameter :: LAPI_USER_ERROR = 2 ! in what the program passed

  !
  ! Vectors
  ! (LAPI Guide, "Vector transfer" and table 7)
  !

  ! Kind. How a vector describes its data.
  integer, parameter :: LAPI_VECTYPE_T = 4
  integer, parameter :: LAPI_GEN_GENERIC = 0 ! buffers; the two sides need not match (active messages only)
  integer, parameter :: LAPI_GEN_IOVECTOR = 1 ! buffers; the two sides match in number and lengths
  integer, parameter :: LAPI_GEN_STRIDED_XFER = 2 ! equal blocks at equal distances
  integer, parameter :: LAPI_STRIDED_VECTOR = LAPI_GEN_STRIDED_XFER ! Another name of LAPI_GEN_STRIDED_XFER.

  ! A vector of this task's memory. Strided: info holds base address, block size and stride; len is not read.
  type, bind(C) :: LAPI_VEC_T
    integer(c_int32_t) :: vec_type ! how the data are described
    integer(c_int32_t) :: num_vecs ! how many buffers or blocks
    integer(c_intptr_t) :: info ! their addresses
    integer(c_intptr_t) :: len ! their lengths
  end type LAPI_VEC_T

  ! The same with addresses and lengths of 64 bits, for the memory of a target that may be a 64-bit task.
  type, bind(C) :: LAPI_LVEC_T
    integer(c_int32_t) :: vec_type ! how the data are described
    integer(c_int32_t) :: num_vecs ! how many buffers or blocks
    integer(c_intptr_t) :: info ! their addresses
    integer(c_intptr_t) :: len ! their lengths
  end type LAPI_LVEC_T

  ! Kind. The header handler of a message sent with a vector: returns the vector that receives it.
  integer, parameter :: VHDR_HNDLR_T = 8

  !
  ! Initialization
  ! (LAPI Guide, LAPI_Init, "Standalone setup")
  !

  ! Kind. What carries the communication of a context.
  integer, parameter :: LAPI_DEV_T = 4
  integer, parameter :: LAPI_NO_DEV = 0 ! nothing yet
  integer, parameter :: LAPI_SELF_DEV = 1 ! a job of one task
  integer, parameter :: LAPI_SHM_DEV = 2 ! shared memory alone
  integer, parameter :: LAPI_UDP_DEV = 3 ! UDP/IP
  integer, parameter :: LAPI_HPS_DEV = 4 ! adapter windows
  integer, parameter :: LAPI_RDMA_DEV = 5 ! a network with remote direct memory access
  integer, parameter :: LAPI_OTHER_DEV = 6 ! another transport plugin

  ! Kind. The version of the library that a program is written for.
  integer, parameter :: LAPI_LIB_T = 4
  integer, parameter :: L1_LIB = 0 ! basic functions (the default)
  integer, parameter :: L2_LIB = 1 ! counters as structures: LAPI_Nopoll_wait, LAPI_Setcntr_wstatus
  integer, parameter :: L3_LIB = 2 ! as L2_LIB
  integer, parameter :: L4_LIB = 3 ! as L2_LIB
  integer, parameter :: LAST_LIB = 4 ! everything: what new programs set

  ! How LAPI creates its threads.
  type, bind(C) :: COM_THREAD_INFO_T
    integer(c_intptr_t) :: attr ! attributes of the threads, or NULL
    integer(c_intptr_t) :: init_func ! void (*)(void *) that each thread calls first, or NULL
    integer(c_intptr_t) :: init_arg ! what init_func is given
  end type COM_THREAD_INFO_T

  ! Where a task receives UDP datagrams, both in network byte order.
  type, bind(C) :: LAPI_UDP_T
    integer(c_int32_t) :: ip_addr ! IP address
    integer(c_int16_t) :: port_no ! port
    integer(c_int16_t) :: pad ! fills a gap
  end type LAPI_UDP_T

  ! What a user's UDP handler learns about the job.
  type, bind(C) :: LAPI_UDPINFO_T
    integer(c_int32_t) :: task_id ! this task
    integer(c_int32_t) :: num_tasks ! how many entries the list of addresses has
    integer(c_int32_t) :: instance_no ! which network instance is asked for, from 0
    integer(c_int32_t) :: reserved ! reserved
  end type LAPI_UDPINFO_T

  ! How tasks that are started by hand learn each other's UDP addresses: by a handler, else by a list.
  type, bind(C) :: LAPI_EXTEND_T
    integer(c_intptr_t) :: udp_hndlr ! handler, or NULL
    integer(c_intptr_t) :: add_udp_addrs ! list of addresses, one for each task, or NULL
    integer(c_int32_t) :: num_udp_addr ! length of the list; 0 for one entry for each task
    integer(c_int32_t) :: reserved ! set to 0
  end type LAPI_EXTEND_T

  ! What LAPI_Init is told. Zero it before setting any field.
  type, bind(C) :: LAPI_INFO_T
    integer(c_int32_t) :: protocol ! out: what carries the communication
    integer(c_int32_t) :: lib_vers ! library version that the program is written for
    integer(c_int32_t) :: epoch_num ! no longer used
    integer(c_int32_t) :: num_compl_hndlr_thr ! number of completion handler threads; 0 for the default
    integer(c_int32_t) :: instance_no ! instance of LAPI, 1 to 16; 0 for the next free one
    integer(c_int32_t) :: info6 ! reserved: must be 0
    integer(c_intptr_t) :: err_hndlr ! hears of asynchronous errors
    integer(c_intptr_t) :: lapi_thread_attr ! how threads are created, or NULL
    integer(c_intptr_t) :: adapter_name ! adapter of the persistent subsystem, or NULL
    integer(c_intptr_t) :: add_info ! UDP addresses of tasks started by hand, or NULL
  end type LAPI_INFO_T

  !
  ! Runtime attributes and statistics
  ! (LAPI Guide, LAPI_Qenv, LAPI_Senv, tables 44 to 46)
  !

  ! Kind. Runtime attributes.
  integer, parameter :: LAPI_QUERY_T = 4
  integer, parameter :: TASK_ID = 0 ! number of this task
  integer, parameter :: NUM_TASKS = 1 ! number of tasks in the job
  integer, parameter :: MAX_UHDR_SZ = 2 ! longest user header, in bytes
  integer, parameter :: MAX_DATA_SZ = 3 ! deprecated: use LAPI_MAX_MSG_SZ
  integer, parameter :: ERROR_CHK = 4 ! parameter checking on or off (may be set)
  integer, parameter :: TIMEOUT = 5 ! seconds until a silent task counts as unreachable (may be set)
  integer, parameter :: MIN_TIMEOUT = 6 ! smallest TIMEOUT
  integer, parameter :: MAX_TIMEOUT = 7 ! largest TIMEOUT
  integer, parameter :: INTERRUPT_SET = 8 ! interrupt mode on or off (may be set)
  integer, parameter :: MAX_PORTS = 9 ! number of LAPI instances that a task can have
  integer, parameter :: MAX_PKT_SZ = 10 ! bytes of header and data that a packet holds
  integer, parameter :: NUM_REX_BUFS = 11 ! number of retransmission buffers
  integer, parameter :: REX_BUF_SZ = 12 ! size of a retransmission buffer, in bytes
  integer, parameter :: LOC_ADDRTBL_SZ = 13 ! entries in the table of LAPI_Addr_set
  integer, parameter :: EPOCH_NUM = 14 ! no longer used
  integer, parameter :: USE_THRESH = 15 ! no longer used
  integer, parameter :: RCV_FIFO_SIZE = 16 ! no longer used
  integer, parameter :: MAX_ATOM_SIZE = 17 ! largest atom of a DGSP, in bytes
  integer, parameter :: BUF_CP_SIZE = 18 ! largest message that is copied at the origin, in bytes
  integer, parameter :: MAX_PKTS_OUT = 19 ! packets that can be in flight to one task
  integer, parameter :: ACK_THRESHOLD = 20 ! packets received before they are acknowledged (may be set)
  integer, parameter :: QUERY_SHM_ENABLED = 21 ! whether shared memory is used
  integer, parameter :: QUERY_SHM_NUM_TASKS = 22 ! number of tasks that are reached through shared memory
  integer, parameter :: QUERY_SHM_TASKS = 23 ! fills an array of NUM_TASKS integers with shared memory task IDs
  integer, parameter :: QUERY_STATISTICS = 24 ! fills a lapi_statistics_t for the network
  integer, parameter :: PRINT_STATISTICS = 25 ! prints the statistics on standard output
  integer, parameter :: QUERY_SHM_STATISTICS = 26 ! fills a lapi_statistics_t for shared memory
  integer, parameter :: QUERY_LOCAL_SEND_STATISTICS = 27 ! fills a lapi_statistics_t for transfers within the task
  integer, parameter :: BULK_XFER = 28 ! bulk transfer on or off
  integer, parameter :: BULK_MIN_MSG_SIZE = 29 ! smallest message for bulk transfer, in bytes
  integer, parameter :: LAST_QUERY = 30 ! one past the last attribute

  ! What has gone over one kind of path.
  type, bind(C) :: LAPI_STATISTICS_T
    integer(c_int64_t) :: Tot_dup_pkt_cnt ! packets received more than once
    integer(c_int64_t) :: Tot_retrans_pkt_cnt ! packets sent again
    integer(c_int64_t) :: Tot_gho_pkt_cnt ! ghost packets: too old to belong to a message
    integer(c_int64_t) :: Tot_pkt_sent_cnt ! packets sent
    integer(c_int64_t) :: Tot_pkt_rcv_cnt ! packets received
    integer(c_int64_t) :: Tot_data_sent ! bytes sent
    integer(c_int64_t) :: Tot_data_rcv ! bytes received
  end type LAPI_STATISTICS_T
  integer, parameter :: LAPI_DISP_CNTR = 1 ! the given number of rounds passed without progress
  integer, parameter :: LAPI_SEND_COMPLETE = 2 ! a send completed
  integer, parameter :: LAPI_RECV_COMPLETE = 4 ! a receive completed
  integer, parameter :: LAPI_BOTH_COMPLETE = 8 ! a send and a receive completed
  integer, parameter :: LAPI_POLLING_NET = 16 ! another thread is polling already

  ! The result of LAPI_Msgpoll.
  type, bind(C) :: LAPI_MSG_INFO_T
    integer(c_int32_t) :: status ! what happened
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_intptr_t) :: reserve(10) ! reserved
  end type LAPI_MSG_INFO_T

  ! The same, under the name that the guide's LAPI_MSGPOLL uses.
  type, bind(C) :: LAPI_MSG_STATE_T
    integer(c_int32_t) :: status ! what happened
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_intptr_t) :: reserve(10) ! reserved
  end type LAPI_MSG_STATE_T

  ! Kind. The state of a task that a counter waits for (LAPI_Setcntr_wstatus).
  integer, parameter :: LAPI_DEST_STATUS_T = 4
  integer, parameter :: LAPI_MSG_INITIAL = 0 ! nothing received from it, or purged
  integer, parameter :: LAPI_MSG_RECVD = 1 ! received
  integer, parameter :: LAPI_MSG_PURGED = 2 ! purged before it was received
  integer, parameter :: LAPI_MSG_PURGED_RCVD = 3 ! received, then purged
  integer, parameter :: LAPI_MSG_INVALID = 4 ! was purged already

  !
  ! Data gather/scatter programs
  ! (LAPI Guide, "Using data gather/scatter programs (DGSPs)")
  !

  ! Kind. How dense a layout is.
  integer, parameter :: LAPI_DGSP_DENSITY_T = 4
  integer, parameter :: LAPI_DGSM_SPARSE = 0 ! with gaps inside
  integer, parameter :: LAPI_DGSM_CONTIG = 1 ! gaps only between repetitions
  integer, parameter :: LAPI_DGSM_UNIT = 2 ! no gaps at all

  ! A program and what it describes.
  type, bind(C) :: LAPI_DGSP_DESCR_T
    integer(c_intptr_t) :: code ! the instructions
    integer(c_int32_t) :: code_size ! how many integers they take
    integer(c_int32_t) :: depth ! how deep subroutines nest, the main routine included
    integer(c_int32_t) :: density ! how dense the layout is
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_intptr_t) :: size ! bytes that one application moves
    integer(c_intptr_t) :: extent ! distance from one application to the next
    integer(c_intptr_t) :: lext ! offset of the leftmost byte
    integer(c_intptr_t) :: rext ! offset just past the rightmost byte
    integer(c_int32_t) :: atom_size ! 0, or what every packet holds a multiple of
    integer(c_int32_t) :: pad2 ! fills a gap
  end type LAPI_DGSP_DESCR_T

  ! Kind. A registered program; may be cast to lapi_dgsp_descr_t * for reading.
  integer, parameter :: LAPI_DG_HANDLE_T = 8

  ! Kind. The same, as a pointer to the registered description.
  integer, parameter :: LAPI_DGSP_HANDLE_T = 8

  ! Kind. Instructions.
  integer, parameter :: LAPI_DGSM_OPCODE_T = 4
  integer, parameter :: LAPI_DGSM_COPY = 1 ! move one block
  integer, parameter :: LAPI_DGSM_MCOPY = 2 ! move several blocks
  integer, parameter :: LAPI_DGSM_GOSUB = 3 ! run a subroutine
  integer, parameter :: LAPI_DGSM_ITERATE = 4 ! end of a routine
  integer, parameter :: LAPI_DGSM_CONTROL = 5 ! pass copies to the DDM function, or stop to

  ! A block of an MCOPY.
  type, bind(C) :: LAPI_DGSM_BLOCK_T
    integer(c_intptr_t) :: block_disp ! where it starts
    integer(c_intptr_t) :: block_len ! its length in bytes
  end type LAPI_DGSM_BLOCK_T

  ! COPY.
  type, bind(C) :: LAPI_DGSM_COPY_T
    integer(c_int32_t) :: opcode ! LAPI_DGSM_COPY
    integer(c_int32_t) :: rsvd ! reserved
    integer(c_intptr_t) :: bytes ! length of the block
    integer(c_intptr_t) :: offset ! where it starts
  end type LAPI_DGSM_COPY_T

  ! MCOPY; count - 1 further blocks follow the first.
  type, bind(C) :: LAPI_DGSM_MCOPY_T
    integer(c_int32_t) :: opcode ! LAPI_DGSM_MCOPY
    integer(c_int32_t) :: count ! number of blocks
    type(LAPI_DGSM_BLOCK_T) :: block(1) ! the blocks
  end type LAPI_DGSM_MCOPY_T

  ! GOSUB; jumps are counted in integers from this instruction.
  type, bind(C) :: LAPI_DGSM_GOSUB_T
    integer(c_int32_t) :: opcode ! LAPI_DGSM_GOSUB
    integer(c_int32_t) :: to_loc ! jump to the subroutine
    integer(c_int32_t) :: ret_loc ! jump after it: normally LAPI_DGSM_GOSUB_SIZE
    integer(c_int32_t) :: rsvd ! reserved
    integer(c_intptr_t) :: reps ! how often it runs
    integer(c_intptr_t) :: offset ! where it runs first
    integer(c_intptr_t) :: stride ! distance from one run to the next
  end type LAPI_DGSM_GOSUB_T

  ! ITERATE.
  type, bind(C) :: LAPI_DGSM_ITERATE_T
    integer(c_int32_t) :: opcode ! LAPI_DGSM_ITERATE
    integer(c_int32_t) :: iter_loc ! jump to the beginning of the routine: negative
  end type LAPI_DGSM_ITERATE_T

  ! CONTROL.
  type, bind(C) :: LAPI_DGSM_CONTROL_T
    integer(c_int32_t) :: opcode ! LAPI_DGSM_CONTROL
    integer(c_int32_t) :: operation ! passed to the DDM function; LAPI_DGSM_NO_CTL ends its use
    integer(c_int32_t) :: operand ! passed to the DDM function
    integer(c_int32_t) :: rsvd ! reserved
  end type LAPI_DGSM_CONTROL_T
  integer, parameter :: LAPI_DGSM_NO_CTL = -1 ! The operation of a CONTROL that ends the use of the DDM function.
  integer, parameter :: LAPI_DGSM_COPY_SIZE = 6 ! Integers that a COPY takes.
  integer, parameter :: LAPI_DGSM_MCOPY_SIZE = 6 ! Integers that an MCOPY with one block takes.
  integer, parameter :: LAPI_DGSM_MCOPY_BLOCK_SIZE = 4 ! Integers that each further block takes.
  integer, parameter :: LAPI_DGSM_GOSUB_SIZE = 10 ! Integers that a GOSUB takes.
  integer, parameter :: LAPI_DGSM_ITERATE_SIZE = 2 ! Integers that an ITERATE takes.
  integer, parameter :: LAPI_DGSM_CONTROL_SIZE = 4 ! Integers that a CONTROL takes.

  !
  ! The enhanced header handler
  ! (LAPI Guide, "The enhanced header handler interface")
  !

  ! Kind. Where the completion handler of a message runs.
  integer, parameter :: LAPI_RET_FLAGS_T = 4
  integer, parameter :: LAPI_NORMAL = 0 ! in a completion handler thread
  integer, parameter :: LAPI_LOCAL_STATE = 1 ! in the receiving thread; it makes no LAPI calls
  integer, parameter :: LAPI_SEND_REPLY = 2 ! in the receiving thread if a send is possible at once; it sends a reply

  ! Kind. What becomes of a message.
  integer, parameter :: LAPI_CTL_FLAGS_T = 4
  integer, parameter :: LAPI_DELIVER_MSG = 0 ! its data are delivered
  integer, parameter :: LAPI_BURY_MSG = 1 ! it completes, but its data are not copied
  integer, parameter :: LAPI_DROP_PKT = 2 ! the packet counts as lost and comes again

  ! What a header handler's msg_len really points to.
  type, bind(C) :: LAPI_RETURN_INFO_T
    integer(c_intptr_t) :: msg_len ! in: length of the message
    integer(c_int32_t) :: MAGIC ! in: do not change
    integer(c_int32_t) :: ret_flags ! out: where the completion handler runs
    integer(c_int32_t) :: ctl_flags ! out: what becomes of the message
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_intptr_t) :: dgsp_handle ! out: layout of the data, or NULL for contiguous
    integer(c_intptr_t) :: bytes ! out: how much to deliver when a layout is given
    integer(c_int32_t) :: src ! in: task that sent the message
    integer(c_int32_t) :: pad2 ! fills a gap
    integer(c_intptr_t) :: udata_one_pkt_ptr ! in: the data, if they all came with this packet; else NULL
  end type LAPI_RETURN_INFO_T

  !
  ! Transfers
  ! (LAPI Guide, LAPI_Xfer, LAPI_Rmw, tables 23 to 31)
  !

  ! Kind. What LAPI_Xfer transfers.
  integer, parameter :: LAPI_XFER_TYPE_T = 4
  integer, parameter :: LAPI_GET_XFER = 0 ! lapi_get_t
  integer, parameter :: LAPI_AM_XFER = 1 ! lapi_am_t
  integer, parameter :: LAPI_RMW_XFER = 2 ! lapi_rmw_t
  integer, parameter :: LAPI_PUT_XFER = 3 ! lapi_put_t
  integer, parameter :: LAPI_GETV_XFER = 4 ! lapi_getv_t
  integer, parameter :: LAPI_PUTV_XFER = 5 ! lapi_putv_t
  integer, parameter :: LAPI_AMV_XFER = 6 ! lapi_amv_t
  integer, parameter :: LAPI_DGSP_XFER = 7 ! lapi_amdgsp_t
  integer, parameter :: LAPI_AM_LW_XFER = 8 ! lapi_am_t without counters and handlers at the origin

  ! Kind. What a read-modify-write does.
  integer, parameter :: RMW_OPS_T = 4
  integer, parameter :: FETCH_AND_ADD = 0 ! add
  integer, parameter :: FETCH_AND_OR = 1 ! bitwise or
  integer, parameter :: SWAP = 2 ! replace
  integer, parameter :: COMPARE_AND_SWAP = 3 ! replace the variable by in_val[1] if it equals in_val[0]

  ! Kind. Directives of a transfer: values of the fields named flags, beside the hints below.
  integer, parameter :: LAPI_XFER_FLAGS_T = 4
  integer, parameter :: USE_TGT_VEC_TYPE = 1 ! tgt_vec is a lapi_vec_t *, not a lapi_lvec_t *
  integer, parameter :: BUFFER_BOTH_CONTIGUOUS = 2 ! the data are contiguous on both sides, whatever the DGSP says
  integer, parameter :: LAPI_NOT_USE_BULK_XFER = 4 ! Hint: no bulk transfer. Wins over LAPI_USE_BULK_XFER.
  integer, parameter :: LAPI_USE_BULK_XFER = 8 ! Hint: bulk transfer.

  ! A get (table 27).
  type, bind(C) :: LAPI_GET_T
    integer(c_int32_t) :: Xfer_type ! LAPI_GET_XFER
    integer(c_int32_t) :: flags ! directives and hints, or 0
    integer(c_int32_t) :: tgt ! target task
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_int64_t) :: tgt_addr ! where the data are at the target
    integer(c_intptr_t) :: org_addr ! where they go
    integer(c_intptr_t) :: len ! their length in bytes
    integer(c_int64_t) :: tgt_cntr ! target counter, an address at the target, or 0
    integer(c_intptr_t) :: org_cntr ! origin counter, or NULL
    integer(c_intptr_t) :: chndlr ! runs when the data have arrived, or NULL
    integer(c_intptr_t) :: cinfo ! what chndlr is given
  end type LAPI_GET_T

  ! An active message (table 24).
  type, bind(C) :: LAPI_AM_T
    integer(c_int32_t) :: Xfer_type ! LAPI_AM_XFER, or LAPI_AM_LW_XFER
    integer(c_int32_t) :: flags ! directives and hints, or 0
    integer(c_int32_t) :: tgt ! target task
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_int64_t) :: hdr_hdl ! header handler: index or address at the target
    integer(c_int32_t) :: uhdr_len ! length of the user header, a multiple of 4
    integer(c_int32_t) :: pad2 ! fills a gap
    integer(c_intptr_t) :: uhdr ! user header
    integer(c_intptr_t) :: udata ! data
    integer(c_intptr_t) :: udata_len ! their length in bytes
    integer(c_intptr_t) :: shdlr ! runs when the data may be changed again, or NULL
    integer(c_intptr_t) :: sinfo ! what shdlr is given
    integer(c_int64_t) :: tgt_cntr ! target counter, an address at the target, or 0
    integer(c_intptr_t) :: org_cntr ! origin counter, or NULL
    integer(c_intptr_t) :: cmpl_cntr ! completion counter, or NULL
  end type LAPI_AM_T

  ! A read-modify-write (table 31).
  type, bind(C) :: LAPI_RMW_T
    integer(c_int32_t) :: Xfer_type ! LAPI_RMW_XFER
    integer(c_int32_t) :: op ! what to do
    integer(c_int32_t) :: tgt ! target task
    integer(c_int32_t) :: size ! width of the variable: 32 or 64
    integer(c_int64_t) :: tgt_var ! the variable, an address at the target
    integer(c_intptr_t) :: in_val ! operand; two of them for COMPARE_AND_SWAP
    integer(c_intptr_t) :: prev_tgt_val ! receives the previous value, or NULL
    integer(c_intptr_t) :: org_cntr ! origin counter, or NULL
    integer(c_intptr_t) :: shdlr ! runs when the operation is done, or NULL
    integer(c_intptr_t) :: sinfo ! what shdlr is given
  end type LAPI_RMW_T

  ! A put (table 29).
  type, bind(C) :: LAPI_PUT_T
    integer(c_int32_t) :: Xfer_type ! LAPI_PUT_XFER
    integer(c_int32_t) :: flags ! directives and hints, or 0
    integer(c_int32_t) :: tgt ! target task
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_int64_t) :: tgt_addr ! where the data go at the target
    integer(c_intptr_t) :: org_addr ! where they are
    integer(c_intptr_t) :: len ! their length in bytes
    integer(c_intptr_t) :: shdlr ! runs when the data may be changed again, or NULL
    integer(c_intptr_t) :: sinfo ! what shdlr is given
    integer(c_int64_t) :: tgt_cntr ! target counter, an address at the target, or 0
    integer(c_intptr_t) :: org_cntr ! origin counter, or NULL
    integer(c_intptr_t) :: cmpl_cntr ! completion counter, or NULL
  end type LAPI_PUT_T

  ! A get between vectors (table 28).
  type, bind(C) :: LAPI_GETV_T
    integer(c_int32_t) :: Xfer_type ! LAPI_GETV_XFER
    integer(c_int32_t) :: flags ! directives and hints, or 0
    integer(c_int32_t) :: tgt ! target task
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_intptr_t) :: org_vec ! where the data go at the origin
    integer(c_intptr_t) :: tgt_vec ! where they are, a lapi_lvec_t *, or a lapi_vec_t * with USE_TGT_VEC_TYPE
    integer(c_int64_t) :: tgt_cntr ! target counter, an address at the target, or 0
    integer(c_intptr_t) :: org_cntr ! origin counter, or NULL
    integer(c_intptr_t) :: chndlr ! runs when the data have arrived, or NULL
    integer(c_intptr_t) :: cinfo ! what chndlr is given
  end type LAPI_GETV_T

  ! A put between vectors (table 30).
  type, bind(C) :: LAPI_PUTV_T
    integer(c_int32_t) :: Xfer_type ! LAPI_PUTV_XFER
    integer(c_int32_t) :: flags ! directives and hints, or 0
    integer(c_int32_t) :: tgt ! target task
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_intptr_t) :: shdlr ! runs when the data may be changed again, or NULL
    integer(c_intptr_t) :: sinfo ! what shdlr is given
    integer(c_intptr_t) :: org_vec ! the data at the origin
    integer(c_intptr_t) :: tgt_vec ! where they go, a lapi_lvec_t *, or a lapi_vec_t * with USE_TGT_VEC_TYPE
    integer(c_int64_t) :: tgt_cntr ! target counter, an address at the target, or 0
    integer(c_intptr_t) :: org_cntr ! origin counter, or NULL
    integer(c_intptr_t) :: cmpl_cntr ! completion counter, or NULL
  end type LAPI_PUTV_T

  ! An active message from a vector (table 25).
  type, bind(C) :: LAPI_AMV_T
    integer(c_int32_t) :: Xfer_type ! LAPI_AMV_XFER
    integer(c_int32_t) :: flags ! directives and hints, or 0
    integer(c_int32_t) :: tgt ! target task
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_int64_t) :: hdr_hdl ! header handler: index or address at the target
    integer(c_int32_t) :: uhdr_len ! length of the user header, a multiple of 4
    integer(c_int32_t) :: pad2 ! fills a gap
    integer(c_intptr_t) :: uhdr ! user header
    integer(c_intptr_t) :: shdlr ! runs when the data may be changed again, or NULL
    integer(c_intptr_t) :: sinfo ! what shdlr is given
    integer(c_intptr_t) :: org_vec ! the data at the origin
    integer(c_int64_t) :: tgt_cntr ! target counter, an address at the target, or 0
    integer(c_intptr_t) :: org_cntr ! origin counter, or NULL
    integer(c_intptr_t) :: cmpl_cntr ! completion counter, or NULL
  end type LAPI_AMV_T

  ! An active message laid out by a DGSP (table 26).
  type, bind(C) :: LAPI_AMDGSP_T
    integer(c_int32_t) :: Xfer_type ! LAPI_DGSP_XFER
    integer(c_int32_t) :: flags ! directives and hints, or 0
    integer(c_int32_t) :: tgt ! target task
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_int64_t) :: hdr_hdl ! header handler: index or address at the target
    integer(c_int32_t) :: uhdr_len ! length of the user header, a multiple of 4
    integer(c_int32_t) :: pad2 ! fills a gap
    integer(c_intptr_t) :: uhdr ! user header
    integer(c_intptr_t) :: udata ! data
    integer(c_intptr_t) :: udata_len ! their length in bytes
    integer(c_intptr_t) :: shdlr ! runs when the data may be changed again, or NULL
    integer(c_intptr_t) :: sinfo ! what shdlr is given
    integer(c_int64_t) :: tgt_cntr ! target counter, an address at the target, or 0
    integer(c_intptr_t) :: org_cntr ! origin counter, or NULL
    integer(c_intptr_t) :: cmpl_cntr ! completion counter, or NULL
    integer(c_intptr_t) :: dgsp ! layout of the data at the origin
    integer(c_int32_t) :: status ! reserved
    integer(c_int32_t) :: pad3 ! fills a gap
  end type LAPI_AMDGSP_T

  !
  ! Utilities
  ! (LAPI Guide, LAPI_Util, tables 14 to 22)
  !

  ! Kind. What LAPI_Util does.
  integer, parameter :: LAPI_UTIL_TYPE_T = 4
  integer, parameter :: LAPI_REGISTER_DGSP = 0 ! lapi_reg_dgsp_t
  integer, parameter :: LAPI_UNRESERVE_DGSP = 1 ! lapi_dref_dgsp_t
  integer, parameter :: LAPI_RESERVE_DGSP = 2 ! lapi_resv_dgsp_t
  integer, parameter :: LAPI_REG_DDM_FUNC = 3 ! lapi_reg_ddm_t
  integer, parameter :: LAPI_ADD_UDP_DEST_PORT = 4 ! lapi_add_udp_port_t
  integer, parameter :: LAPI_DGSP_PACK = 5 ! lapi_pack_dgsp_t
  integer, parameter :: LAPI_DGSP_UNPACK = 6 ! lapi_unpack_dgsp_t
  integer, parameter :: LAPI_GET_THREAD_FUNC = 7 ! lapi_thread_func_t

  ! Register a DGSP (table 15).
  type, bind(C) :: LAPI_REG_DGSP_T
    integer(c_int32_t) :: Util_type ! LAPI_REGISTER_DGSP
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_intptr_t) :: idgsp ! in: the program
    integer(c_intptr_t) :: dgsp_handle ! out: its handle
    integer(c_intptr_t) :: in_usr_func ! for debugging only
    integer(c_int32_t) :: status ! reserved
    integer(c_int32_t) :: pad2 ! fills a gap
  end type LAPI_REG_DGSP_T

  ! Give up a DGSP (table 17).
  type, bind(C) :: LAPI_DREF_DGSP_T
    integer(c_int32_t) :: Util_type ! LAPI_UNRESERVE_DGSP
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_intptr_t) :: dgsp_handle ! in: its handle
    integer(c_intptr_t) :: in_usr_func ! for debugging only
    integer(c_int32_t) :: status ! reserved
    integer(c_int32_t) :: pad2 ! fills a gap
  end type LAPI_DREF_DGSP_T

  ! Keep a DGSP (table 16).
  type, bind(C) :: LAPI_RESV_DGSP_T
    integer(c_int32_t) :: Util_type ! LAPI_RESERVE_DGSP
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_intptr_t) :: dgsp_handle ! in: its handle
    integer(c_intptr_t) :: in_usr_func ! for debugging only
    integer(c_int32_t) :: status ! reserved
    integer(c_int32_t) :: pad2 ! fills a gap
  end type LAPI_RESV_DGSP_T

  ! Register the DDM function (table 18).
  type, bind(C) :: LAPI_REG_DDM_T
    integer(c_int32_t) :: Util_type ! LAPI_REG_DDM_FUNC
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_intptr_t) :: ddm_func ! in: the function
    integer(c_intptr_t) :: in_usr_func ! for debugging only
    integer(c_int32_t) :: status ! reserved
    integer(c_int32_t) :: pad2 ! fills a gap
  end type LAPI_REG_DDM_T

  ! Tell the UDP address of a task (table 21).
  type, bind(C) :: LAPI_ADD_UDP_PORT_T
    integer(c_int32_t) :: Util_type ! LAPI_ADD_UDP_DEST_PORT
    integer(c_int32_t) :: tgt ! in: the task
    integer(c_intptr_t) :: udp_port ! in: its address
    integer(c_int32_t) :: instance_no ! in: network instance
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_intptr_t) :: in_usr_func ! for debugging only
    integer(c_int32_t) :: status ! reserved
    integer(c_int32_t) :: pad2 ! fills a gap
  end type LAPI_ADD_UDP_PORT_T

  ! Gather into a contiguous buffer (table 19).
  type, bind(C) :: LAPI_PACK_DGSP_T
    integer(c_int32_t) :: Util_type ! LAPI_DGSP_PACK
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_intptr_t) :: dgsp_handle ! in: layout of in_buf
    integer(c_intptr_t) :: in_buf ! in: what to gather
    integer(c_intptr_t) :: bytes ! in: how many bytes
    integer(c_intptr_t) :: out_buf ! out: the contiguous buffer
    integer(c_intptr_t) :: out_size ! in: its size in bytes
    integer(c_intptr_t) :: position ! in and out: offset in the contiguous buffer
    integer(c_intptr_t) :: in_usr_func ! for debugging only
    integer(c_int32_t) :: status ! reserved
    integer(c_int32_t) :: pad2 ! fills a gap
  end type LAPI_PACK_DGSP_T

  ! Scatter from a contiguous buffer (table 20).
  type, bind(C) :: LAPI_UNPACK_DGSP_T
    integer(c_int32_t) :: Util_type ! LAPI_DGSP_UNPACK
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_intptr_t) :: dgsp_handle ! in: layout of out_buf
    integer(c_intptr_t) :: buf ! in: the contiguous buffer
    integer(c_intptr_t) :: in_size ! in: its size in bytes
    integer(c_intptr_t) :: out_buf ! out: where the data go
    integer(c_intptr_t) :: bytes ! in: how many bytes
    integer(c_intptr_t) :: out_size ! in: size of out_buf in bytes
    integer(c_intptr_t) :: position ! in and out: offset in the contiguous buffer
    integer(c_intptr_t) :: in_usr_func ! for debugging only
    integer(c_int32_t) :: status ! reserved
    integer(c_int32_t) :: pad2 ! fills a gap
  end type LAPI_UNPACK_DGSP_T

  ! A condition variable for the lock of a context. Initialize it with cond_init.
  type, bind(C) :: LAPI_COND_T
    integer(c_intptr_t) :: opaque(6) ! used by LAPI
  end type LAPI_COND_T

  ! Kind. Takes the lock of a context. Returns 0 or EINVAL.
  integer, parameter :: LAPI_MUTEX_LOCK_T = 8

  ! Kind. Releases the lock. Returns 0 or EINVAL.
  integer, parameter :: LAPI_MUTEX_UNLOCK_T = 8

  ! Kind. Takes the lock if it is free. Returns 0, EBUSY or EINVAL.
  integer, parameter :: LAPI_MUTEX_TRYLOCK_T = 8

  ! Kind. Tells who holds the lock: LAPI_NULL_THREAD_ID if nobody does.
  integer, parameter :: LAPI_MUTEX_GETOWNER_T = 8

  ! Kind. Waits for a signal; the caller holds the lock.
  integer, parameter :: LAPI_COND_WAIT_T = 8

  ! Kind. Waits until an absolute time at most. Returns 0, ETIMEDOUT or EINVAL.
  integer, parameter :: LAPI_COND_TIMEDWAIT_T = 8

  ! Kind. Wakes one thread that waits.
  integer, parameter :: LAPI_COND_SIGNAL_T = 8

  ! Kind. Initializes a condition variable. Returns 0, EAGAIN, ENOMEM or EINVAL.
  integer, parameter :: LAPI_COND_INIT_T = 8

  ! Kind. Ends the use of a condition variable. Returns 0, EBUSY or EINVAL.
  integer, parameter :: LAPI_COND_DESTROY_T = 8
  integer(LAPI_LONG_TYPE), parameter :: LAPI_NULL_THREAD_ID = 0 ! No thread.

  ! The functions of the shared lock (table 22).
  type, bind(C) :: LAPI_THREAD_FUNC_T
    integer(c_int32_t) :: Util_type ! LAPI_GET_THREAD_FUNC
    integer(c_int32_t) :: pad ! fills a gap
    integer(c_intptr_t) :: mutex_lock ! out
    integer(c_intptr_t) :: mutex_unlock ! out
    integer(c_intptr_t) :: mutex_trylock ! out
    integer(c_intptr_t) :: mutex_getowner ! out
    integer(c_intptr_t) :: cond_wait ! out
    integer(c_intptr_t) :: cond_timedwait ! out
    integer(c_intptr_t) :: cond_signal ! out
    integer(c_intptr_t) :: cond_init ! out
    integer(c_intptr_t) :: cond_destroy ! out
    integer(c_intptr_t) :: in_usr_func ! for debugging only
    integer(c_int32_t) :: status ! reserved
    integer(c_int32_t) :: pad2 ! fills a gap
  end type LAPI_THREAD_FUNC_T

  !
  ! Subroutines
  ! (LAPI Guide, chapters 18 and 19)
  !

  ! Fetches what LAPI_Addr_set stored under an index.
  interface
    subroutine LAPI_ADDR_GET(hndl, addr, addr_hndl, ierror) bind(C, name="lapi_addr_get_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: addr
      !DIR$ IGNORE_TKR addr
      type(*) :: addr
      integer(c_int), intent(in) :: addr_hndl
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_ADDR_GET
  end interface

  ! Stores an address, such as a header handler's, under an index that other tasks can name.
  interface
    subroutine LAPI_ADDR_SET(hndl, addr, addr_hndl, ierror) bind(C, name="lapi_addr_set_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPI_ADDR_TYPE), intent(in) :: addr
      integer(c_int), intent(in) :: addr_hndl
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_ADDR_SET
  end interface

  ! Gives the address of a variable, for Fortran programs.
  interface LAPI_ADDRESS
    subroutine LAPI_ADDRESS_VARIABLE(my_addr, ret_addr, ierror) bind(C, name="lapi_address_")
      import
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: my_addr
      !DIR$ IGNORE_TKR my_addr
      type(*) :: my_addr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: ret_addr
      !DIR$ IGNORE_TKR ret_addr
      type(*) :: ret_addr
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_ADDRESS_VARIABLE
    subroutine LAPI_ADDRESS_PROCEDURE(my_addr, ret_addr, ierror)
      import
      external :: my_addr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: ret_addr
      !DIR$ IGNORE_TKR ret_addr
      type(*) :: ret_addr
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_ADDRESS_PROCEDURE
    subroutine LAPI_ADDRESS_FUNCTION(my_addr, ret_addr, ierror)
      import
      integer(LAPI_ADDR_TYPE), external :: my_addr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: ret_addr
      !DIR$ IGNORE_TKR ret_addr
      type(*) :: ret_addr
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_ADDRESS_FUNCTION
  end interface LAPI_ADDRESS

  ! Collective: exchanges an address between all tasks.
  interface
    subroutine LAPI_ADDRESS_INIT(hndl, my_addr, add_tab, ierror) bind(C, name="lapi_address_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPI_ADDR_TYPE), intent(in) :: my_addr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: add_tab
      !DIR$ IGNORE_TKR add_tab
      type(*) :: add_tab
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_ADDRESS_INIT
  end interface

  ! Collective: the same with 64-bit addresses.
  interface
    subroutine LAPI_ADDRESS_INIT64(hndl, my_addr, add_tab, ierror) bind(C, name="lapi_address_init64_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPI_LONG_LONG_TYPE), intent(in) :: my_addr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: add_tab
      !DIR$ IGNORE_TKR add_tab
      type(*) :: add_tab
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_ADDRESS_INIT64
  end interface

  ! Sends an active message. hdr_hdl is the handler's index, or its address at the target.
  interface LAPI_AMSEND
    subroutine LAPI_AMSEND_VARIABLE(hndl, tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr, org_cntr, cmpl_cntr, ierror) &
      bind(C, name="lapi_amsend_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      integer(LAPI_ADDR_TYPE), intent(in) :: hdr_hdl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: uhdr
      !DIR$ IGNORE_TKR uhdr
      type(*) :: uhdr
      integer(c_int), intent(in) :: uhdr_len
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: udata
      !DIR$ IGNORE_TKR udata
      type(*) :: udata
      integer(LAPI_LONG_TYPE), intent(in) :: udata_len
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cmpl_cntr
      !DIR$ IGNORE_TKR cmpl_cntr
      type(*) :: cmpl_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_AMSEND_VARIABLE
    subroutine LAPI_AMSEND_PROCEDURE(hndl, tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr, org_cntr, cmpl_cntr, ierror)
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      external :: hdr_hdl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: uhdr
      !DIR$ IGNORE_TKR uhdr
      type(*) :: uhdr
      integer(c_int), intent(in) :: uhdr_len
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: udata
      !DIR$ IGNORE_TKR udata
      type(*) :: udata
      integer(LAPI_LONG_TYPE), intent(in) :: udata_len
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cmpl_cntr
      !DIR$ IGNORE_TKR cmpl_cntr
      type(*) :: cmpl_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_AMSEND_PROCEDURE
    subroutine LAPI_AMSEND_FUNCTION(hndl, tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr, org_cntr, cmpl_cntr, ierror)
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      integer(LAPI_ADDR_TYPE), external :: hdr_hdl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: uhdr
      !DIR$ IGNORE_TKR uhdr
      type(*) :: uhdr
      integer(c_int), intent(in) :: uhdr_len
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: udata
      !DIR$ IGNORE_TKR udata
      type(*) :: udata
      integer(LAPI_LONG_TYPE), intent(in) :: udata_len
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cmpl_cntr
      !DIR$ IGNORE_TKR cmpl_cntr
      type(*) :: cmpl_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_AMSEND_FUNCTION
  end interface LAPI_AMSEND

  ! Sends an active message from a vector.
  interface LAPI_AMSENDV
    subroutine LAPI_AMSENDV_VARIABLE(hndl, tgt, hdr_hdl, uhdr, uhdr_len, org_vec, tgt_cntr, org_cntr, cmpl_cntr, ierror) &
      bind(C, name="lapi_amsendv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      integer(LAPI_ADDR_TYPE), intent(in) :: hdr_hdl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: uhdr
      !DIR$ IGNORE_TKR uhdr
      type(*) :: uhdr
      integer(c_int), intent(in) :: uhdr_len
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_vec
      !DIR$ IGNORE_TKR org_vec
      type(*) :: org_vec
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cmpl_cntr
      !DIR$ IGNORE_TKR cmpl_cntr
      type(*) :: cmpl_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_AMSENDV_VARIABLE
    subroutine LAPI_AMSENDV_PROCEDURE(hndl, tgt, hdr_hdl, uhdr, uhdr_len, org_vec, tgt_cntr, org_cntr, cmpl_cntr, ierror)
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      external :: hdr_hdl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: uhdr
      !DIR$ IGNORE_TKR uhdr
      type(*) :: uhdr
      integer(c_int), intent(in) :: uhdr_len
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_vec
      !DIR$ IGNORE_TKR org_vec
      type(*) :: org_vec
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cmpl_cntr
      !DIR$ IGNORE_TKR cmpl_cntr
      type(*) :: cmpl_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_AMSENDV_PROCEDURE
    subroutine LAPI_AMSENDV_FUNCTION(hndl, tgt, hdr_hdl, uhdr, uhdr_len, org_vec, tgt_cntr, org_cntr, cmpl_cntr, ierror)
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      integer(LAPI_ADDR_TYPE), external :: hdr_hdl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: uhdr
      !DIR$ IGNORE_TKR uhdr
      type(*) :: uhdr
      integer(c_int), intent(in) :: uhdr_len
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_vec
      !DIR$ IGNORE_TKR org_vec
      type(*) :: org_vec
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cmpl_cntr
      !DIR$ IGNORE_TKR cmpl_cntr
      type(*) :: cmpl_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_AMSENDV_FUNCTION
  end interface LAPI_AMSENDV

  ! Waits until the transfers that this task started are complete.
  interface
    subroutine LAPI_FENCE(hndl, ierror) bind(C, name="lapi_fence_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_FENCE
  end interface

  ! Copies memory of another task here.
  interface
    subroutine LAPI_GET(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, ierror) bind(C, name="lapi_get_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      integer(LAPI_LONG_TYPE), intent(in) :: len
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_addr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_addr
      !DIR$ IGNORE_TKR org_addr
      type(*) :: org_addr
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_GET
  end interface

  ! Reads a counter.
  interface
    subroutine LAPI_GETCNTR(hndl, cntr, val, ierror) bind(C, name="lapi_getcntr_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cntr
      !DIR$ IGNORE_TKR cntr
      type(*) :: cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: val
      !DIR$ IGNORE_TKR val
      type(*) :: val
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_GETCNTR
  end interface

  ! Copies memory of another task here, between vectors.
  interface
    subroutine LAPI_GETV(hndl, tgt, tgt_vec, org_vec, tgt_cntr, org_cntr, ierror) bind(C, name="lapi_getv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_vec
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_vec
      !DIR$ IGNORE_TKR org_vec
      type(*) :: org_vec
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_GETV
  end interface

  ! Collective: waits until the transfers that all tasks started are complete.
  interface
    subroutine LAPI_GFENCE(hndl, ierror) bind(C, name="lapi_gfence_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_GFENCE
  end interface

  ! Initializes a context. Zero *lapi_info before setting any field.
  interface
    subroutine LAPI_INIT(hndl, lapi_info, ierror) bind(C, name="lapi_init_")
      import
      integer(c_int), intent(out) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: lapi_info
      !DIR$ IGNORE_TKR lapi_info
      type(*) :: lapi_info
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_INIT
  end interface

  ! Writes the text of a return code, at most LAPI_MAX_ERR_STRING bytes.
  interface
    subroutine LAPI_MSG_STRING(error_code, buf, ierror) bind(C, name="lapi_msg_string_")
      import
      integer(c_int), intent(in) :: error_code
      character(kind=c_char) :: buf(*)
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_MSG_STRING
  end interface

  ! Makes progress until something completes, or for cnt rounds without any.
  interface
    subroutine LAPI_MSGPOLL(hndl, cnt, info, ierror) bind(C, name="lapi_msgpoll_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: cnt
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: info
      !DIR$ IGNORE_TKR info
      type(*) :: info
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_MSGPOLL
  end interface

  ! Waits for a counter without polling, and returns early when a task is purged.
  interface
    subroutine LAPI_NOPOLL_WAIT(hndl, cntr_ptr, val, cur_cntr_val, ierror) bind(C, name="lapi_nopoll_wait_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cntr_ptr
      !DIR$ IGNORE_TKR cntr_ptr
      type(*) :: cntr_ptr
      integer(c_int), intent(in) :: val
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cur_cntr_val
      !DIR$ IGNORE_TKR cur_cntr_val
      type(*) :: cur_cntr_val
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_NOPOLL_WAIT
  end interface

  ! Makes progress once.
  interface
    subroutine LAPI_PROBE(hndl, ierror) bind(C, name="lapi_probe_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_PROBE
  end interface

  ! Forgets a task that has failed.
  interface
    subroutine LAPI_PURGE_TOTASK(hndl, dest, ierror) bind(C, name="lapi_purge_totask_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: dest
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_PURGE_TOTASK
  end interface

  ! Copies memory of this task to another.
  interface
    subroutine LAPI_PUT(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr, ierror) bind(C, name="lapi_put_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      integer(LAPI_LONG_TYPE), intent(in) :: len
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_addr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_addr
      !DIR$ IGNORE_TKR org_addr
      type(*) :: org_addr
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cmpl_cntr
      !DIR$ IGNORE_TKR cmpl_cntr
      type(*) :: cmpl_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_PUT
  end interface

  ! Copies memory of this task to another, between vectors.
  interface
    subroutine LAPI_PUTV(hndl, tgt, tgt_vec, org_vec, tgt_cntr, org_cntr, cmpl_cntr, ierror) bind(C, name="lapi_putv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_vec
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_vec
      !DIR$ IGNORE_TKR org_vec
      type(*) :: org_vec
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cmpl_cntr
      !DIR$ IGNORE_TKR cmpl_cntr
      type(*) :: cmpl_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_PUTV
  end interface

  ! Reads a runtime attribute; the type of *ret_val depends on it.
  interface
    subroutine LAPI_QENV(hndl, query, ret_val, ierror) bind(C, name="lapi_qenv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: query
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: ret_val
      !DIR$ IGNORE_TKR ret_val
      type(*) :: ret_val
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_QENV
  end interface

  ! Takes up communication with a purged task again.
  interface
    subroutine LAPI_RESUME_TOTASK(hndl, dest, ierror) bind(C, name="lapi_resume_totask_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: dest
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_RESUME_TOTASK
  end interface

  ! Reads and modifies a variable of another task atomically, 32 bits.
  interface
    subroutine LAPI_RMW(hndl, op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr, ierror) bind(C, name="lapi_rmw_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: op
      integer(c_int), intent(in) :: tgt
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_var
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: in_val
      !DIR$ IGNORE_TKR in_val
      type(*) :: in_val
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: prev_tgt_val
      !DIR$ IGNORE_TKR prev_tgt_val
      type(*) :: prev_tgt_val
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_RMW
  end interface

  ! The same, 64 bits.
  interface
    subroutine LAPI_RMW64(hndl, op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr, ierror) bind(C, name="lapi_rmw64_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: op
      integer(c_int), intent(in) :: tgt
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_var
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: in_val
      !DIR$ IGNORE_TKR in_val
      type(*) :: in_val
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: prev_tgt_val
      !DIR$ IGNORE_TKR prev_tgt_val
      type(*) :: prev_tgt_val
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_RMW64
  end interface

  ! Sets ACK_THRESHOLD, ERROR_CHK, INTERRUPT_SET or TIMEOUT.
  interface
    subroutine LAPI_SENV(hndl, query, set_val, ierror) bind(C, name="lapi_senv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: query
      integer(c_int), intent(in) :: set_val
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_SENV
  end interface

  ! Sets a counter.
  interface
    subroutine LAPI_SETCNTR(hndl, cntr, val, ierror) bind(C, name="lapi_setcntr_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cntr
      !DIR$ IGNORE_TKR cntr
      type(*) :: cntr
      integer(c_int), intent(in) :: val
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_SETCNTR
  end interface

  ! Zeroes a counter and names the tasks whose state LAPI_Nopoll_wait is to report.
  interface
    subroutine LAPI_SETCNTR_WSTATUS(hndl, cntr, num_dest, dest_list, dest_status, ierror) &
      bind(C, name="lapi_setcntr_wstatus_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cntr
      !DIR$ IGNORE_TKR cntr
      type(*) :: cntr
      integer(c_int), intent(in) :: num_dest
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: dest_list
      !DIR$ IGNORE_TKR dest_list
      type(*) :: dest_list
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: dest_status
      !DIR$ IGNORE_TKR dest_status
      type(*) :: dest_status
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_SETCNTR_WSTATUS
  end interface

  ! Ends a context.
  interface
    subroutine LAPI_TERM(hndl, ierror) bind(C, name="lapi_term_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_TERM
  end interface

  ! Registers DGSPs, packs and unpacks, tells UDP addresses, hands out the lock.
  interface
    subroutine LAPI_UTIL(hndl, util_cmd, ierror) bind(C, name="lapi_util_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: util_cmd
      !DIR$ IGNORE_TKR util_cmd
      type(*) :: util_cmd
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_UTIL
  end interface

  ! Waits until a counter reaches val, and subtracts val from it.
  interface
    subroutine LAPI_WAITCNTR(hndl, cntr, val, cur_cntr_val, ierror) bind(C, name="lapi_waitcntr_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cntr
      !DIR$ IGNORE_TKR cntr
      type(*) :: cntr
      integer(c_int), intent(in) :: val
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cur_cntr_val
      !DIR$ IGNORE_TKR cur_cntr_val
      type(*) :: cur_cntr_val
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_WAITCNTR
  end interface

  ! Starts any transfer.
  interface
    subroutine LAPI_XFER(hndl, xfer_cmd, ierror) bind(C, name="lapi_xfer_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: xfer_cmd
      !DIR$ IGNORE_TKR xfer_cmd
      type(*) :: xfer_cmd
      integer(c_int), intent(out) :: ierror
    end subroutine LAPI_XFER
  end interface

  !
  ! Profiling interface
  ! (LAPI Guide, chapter 9)
  !

  ! Fetches what LAPI_Addr_set stored under an index.
  interface
    subroutine PLAPI_ADDR_GET(hndl, addr, addr_hndl, ierror) bind(C, name="plapi_addr_get_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: addr
      !DIR$ IGNORE_TKR addr
      type(*) :: addr
      integer(c_int), intent(in) :: addr_hndl
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_ADDR_GET
  end interface

  ! Stores an address, such as a header handler's, under an index that other tasks can name.
  interface
    subroutine PLAPI_ADDR_SET(hndl, addr, addr_hndl, ierror) bind(C, name="plapi_addr_set_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPI_ADDR_TYPE), intent(in) :: addr
      integer(c_int), intent(in) :: addr_hndl
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_ADDR_SET
  end interface

  ! Gives the address of a variable, for Fortran programs.
  interface PLAPI_ADDRESS
    subroutine PLAPI_ADDRESS_VARIABLE(my_addr, ret_addr, ierror) bind(C, name="plapi_address_")
      import
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: my_addr
      !DIR$ IGNORE_TKR my_addr
      type(*) :: my_addr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: ret_addr
      !DIR$ IGNORE_TKR ret_addr
      type(*) :: ret_addr
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_ADDRESS_VARIABLE
    subroutine PLAPI_ADDRESS_PROCEDURE(my_addr, ret_addr, ierror)
      import
      external :: my_addr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: ret_addr
      !DIR$ IGNORE_TKR ret_addr
      type(*) :: ret_addr
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_ADDRESS_PROCEDURE
    subroutine PLAPI_ADDRESS_FUNCTION(my_addr, ret_addr, ierror)
      import
      integer(LAPI_ADDR_TYPE), external :: my_addr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: ret_addr
      !DIR$ IGNORE_TKR ret_addr
      type(*) :: ret_addr
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_ADDRESS_FUNCTION
  end interface PLAPI_ADDRESS

  ! Collective: exchanges an address between all tasks.
  interface
    subroutine PLAPI_ADDRESS_INIT(hndl, my_addr, add_tab, ierror) bind(C, name="plapi_address_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPI_ADDR_TYPE), intent(in) :: my_addr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: add_tab
      !DIR$ IGNORE_TKR add_tab
      type(*) :: add_tab
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_ADDRESS_INIT
  end interface

  ! Collective: the same with 64-bit addresses.
  interface
    subroutine PLAPI_ADDRESS_INIT64(hndl, my_addr, add_tab, ierror) bind(C, name="plapi_address_init64_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPI_LONG_LONG_TYPE), intent(in) :: my_addr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: add_tab
      !DIR$ IGNORE_TKR add_tab
      type(*) :: add_tab
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_ADDRESS_INIT64
  end interface

  ! Sends an active message. hdr_hdl is the handler's index, or its address at the target.
  interface PLAPI_AMSEND
    subroutine PLAPI_AMSEND_VARIABLE(hndl, tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr, org_cntr, cmpl_cntr, ierror) &
      bind(C, name="plapi_amsend_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      integer(LAPI_ADDR_TYPE), intent(in) :: hdr_hdl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: uhdr
      !DIR$ IGNORE_TKR uhdr
      type(*) :: uhdr
      integer(c_int), intent(in) :: uhdr_len
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: udata
      !DIR$ IGNORE_TKR udata
      type(*) :: udata
      integer(LAPI_LONG_TYPE), intent(in) :: udata_len
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cmpl_cntr
      !DIR$ IGNORE_TKR cmpl_cntr
      type(*) :: cmpl_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_AMSEND_VARIABLE
    subroutine PLAPI_AMSEND_PROCEDURE(hndl, tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr, org_cntr, cmpl_cntr, ierror)
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      external :: hdr_hdl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: uhdr
      !DIR$ IGNORE_TKR uhdr
      type(*) :: uhdr
      integer(c_int), intent(in) :: uhdr_len
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: udata
      !DIR$ IGNORE_TKR udata
      type(*) :: udata
      integer(LAPI_LONG_TYPE), intent(in) :: udata_len
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cmpl_cntr
      !DIR$ IGNORE_TKR cmpl_cntr
      type(*) :: cmpl_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_AMSEND_PROCEDURE
    subroutine PLAPI_AMSEND_FUNCTION(hndl, tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr, org_cntr, cmpl_cntr, ierror)
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      integer(LAPI_ADDR_TYPE), external :: hdr_hdl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: uhdr
      !DIR$ IGNORE_TKR uhdr
      type(*) :: uhdr
      integer(c_int), intent(in) :: uhdr_len
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: udata
      !DIR$ IGNORE_TKR udata
      type(*) :: udata
      integer(LAPI_LONG_TYPE), intent(in) :: udata_len
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cmpl_cntr
      !DIR$ IGNORE_TKR cmpl_cntr
      type(*) :: cmpl_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_AMSEND_FUNCTION
  end interface PLAPI_AMSEND

  ! Sends an active message from a vector.
  interface PLAPI_AMSENDV
    subroutine PLAPI_AMSENDV_VARIABLE(hndl, tgt, hdr_hdl, uhdr, uhdr_len, org_vec, tgt_cntr, org_cntr, cmpl_cntr, ierror) &
      bind(C, name="plapi_amsendv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      integer(LAPI_ADDR_TYPE), intent(in) :: hdr_hdl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: uhdr
      !DIR$ IGNORE_TKR uhdr
      type(*) :: uhdr
      integer(c_int), intent(in) :: uhdr_len
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_vec
      !DIR$ IGNORE_TKR org_vec
      type(*) :: org_vec
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cmpl_cntr
      !DIR$ IGNORE_TKR cmpl_cntr
      type(*) :: cmpl_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_AMSENDV_VARIABLE
    subroutine PLAPI_AMSENDV_PROCEDURE(hndl, tgt, hdr_hdl, uhdr, uhdr_len, org_vec, tgt_cntr, org_cntr, cmpl_cntr, ierror)
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      external :: hdr_hdl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: uhdr
      !DIR$ IGNORE_TKR uhdr
      type(*) :: uhdr
      integer(c_int), intent(in) :: uhdr_len
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_vec
      !DIR$ IGNORE_TKR org_vec
      type(*) :: org_vec
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cmpl_cntr
      !DIR$ IGNORE_TKR cmpl_cntr
      type(*) :: cmpl_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_AMSENDV_PROCEDURE
    subroutine PLAPI_AMSENDV_FUNCTION(hndl, tgt, hdr_hdl, uhdr, uhdr_len, org_vec, tgt_cntr, org_cntr, cmpl_cntr, ierror)
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      integer(LAPI_ADDR_TYPE), external :: hdr_hdl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: uhdr
      !DIR$ IGNORE_TKR uhdr
      type(*) :: uhdr
      integer(c_int), intent(in) :: uhdr_len
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_vec
      !DIR$ IGNORE_TKR org_vec
      type(*) :: org_vec
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cmpl_cntr
      !DIR$ IGNORE_TKR cmpl_cntr
      type(*) :: cmpl_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_AMSENDV_FUNCTION
  end interface PLAPI_AMSENDV

  ! Waits until the transfers that this task started are complete.
  interface
    subroutine PLAPI_FENCE(hndl, ierror) bind(C, name="plapi_fence_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_FENCE
  end interface

  ! Copies memory of another task here.
  interface
    subroutine PLAPI_GET(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, ierror) bind(C, name="plapi_get_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      integer(LAPI_LONG_TYPE), intent(in) :: len
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_addr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_addr
      !DIR$ IGNORE_TKR org_addr
      type(*) :: org_addr
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_GET
  end interface

  ! Reads a counter.
  interface
    subroutine PLAPI_GETCNTR(hndl, cntr, val, ierror) bind(C, name="plapi_getcntr_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cntr
      !DIR$ IGNORE_TKR cntr
      type(*) :: cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: val
      !DIR$ IGNORE_TKR val
      type(*) :: val
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_GETCNTR
  end interface

  ! Copies memory of another task here, between vectors.
  interface
    subroutine PLAPI_GETV(hndl, tgt, tgt_vec, org_vec, tgt_cntr, org_cntr, ierror) bind(C, name="plapi_getv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_vec
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_vec
      !DIR$ IGNORE_TKR org_vec
      type(*) :: org_vec
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_GETV
  end interface

  ! Collective: waits until the transfers that all tasks started are complete.
  interface
    subroutine PLAPI_GFENCE(hndl, ierror) bind(C, name="plapi_gfence_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_GFENCE
  end interface

  ! Initializes a context. Zero *lapi_info before setting any field.
  interface
    subroutine PLAPI_INIT(hndl, lapi_info, ierror) bind(C, name="plapi_init_")
      import
      integer(c_int), intent(out) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: lapi_info
      !DIR$ IGNORE_TKR lapi_info
      type(*) :: lapi_info
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_INIT
  end interface

  ! Writes the text of a return code, at most LAPI_MAX_ERR_STRING bytes.
  interface
    subroutine PLAPI_MSG_STRING(error_code, buf, ierror) bind(C, name="plapi_msg_string_")
      import
      integer(c_int), intent(in) :: error_code
      character(kind=c_char) :: buf(*)
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_MSG_STRING
  end interface

  ! Makes progress until something completes, or for cnt rounds without any.
  interface
    subroutine PLAPI_MSGPOLL(hndl, cnt, info, ierror) bind(C, name="plapi_msgpoll_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: cnt
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: info
      !DIR$ IGNORE_TKR info
      type(*) :: info
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_MSGPOLL
  end interface

  ! Waits for a counter without polling, and returns early when a task is purged.
  interface
    subroutine PLAPI_NOPOLL_WAIT(hndl, cntr_ptr, val, cur_cntr_val, ierror) bind(C, name="plapi_nopoll_wait_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cntr_ptr
      !DIR$ IGNORE_TKR cntr_ptr
      type(*) :: cntr_ptr
      integer(c_int), intent(in) :: val
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cur_cntr_val
      !DIR$ IGNORE_TKR cur_cntr_val
      type(*) :: cur_cntr_val
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_NOPOLL_WAIT
  end interface

  ! Makes progress once.
  interface
    subroutine PLAPI_PROBE(hndl, ierror) bind(C, name="plapi_probe_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_PROBE
  end interface

  ! Forgets a task that has failed.
  interface
    subroutine PLAPI_PURGE_TOTASK(hndl, dest, ierror) bind(C, name="plapi_purge_totask_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: dest
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_PURGE_TOTASK
  end interface

  ! Copies memory of this task to another.
  interface
    subroutine PLAPI_PUT(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr, ierror) &
      bind(C, name="plapi_put_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      integer(LAPI_LONG_TYPE), intent(in) :: len
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_addr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_addr
      !DIR$ IGNORE_TKR org_addr
      type(*) :: org_addr
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cmpl_cntr
      !DIR$ IGNORE_TKR cmpl_cntr
      type(*) :: cmpl_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_PUT
  end interface

  ! Copies memory of this task to another, between vectors.
  interface
    subroutine PLAPI_PUTV(hndl, tgt, tgt_vec, org_vec, tgt_cntr, org_cntr, cmpl_cntr, ierror) bind(C, name="plapi_putv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: tgt
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_vec
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_vec
      !DIR$ IGNORE_TKR org_vec
      type(*) :: org_vec
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cmpl_cntr
      !DIR$ IGNORE_TKR cmpl_cntr
      type(*) :: cmpl_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_PUTV
  end interface

  ! Reads a runtime attribute; the type of *ret_val depends on it.
  interface
    subroutine PLAPI_QENV(hndl, query, ret_val, ierror) bind(C, name="plapi_qenv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: query
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: ret_val
      !DIR$ IGNORE_TKR ret_val
      type(*) :: ret_val
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_QENV
  end interface

  ! Takes up communication with a purged task again.
  interface
    subroutine PLAPI_RESUME_TOTASK(hndl, dest, ierror) bind(C, name="plapi_resume_totask_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: dest
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_RESUME_TOTASK
  end interface

  ! Reads and modifies a variable of another task atomically, 32 bits.
  interface
    subroutine PLAPI_RMW(hndl, op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr, ierror) bind(C, name="plapi_rmw_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: op
      integer(c_int), intent(in) :: tgt
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_var
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: in_val
      !DIR$ IGNORE_TKR in_val
      type(*) :: in_val
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: prev_tgt_val
      !DIR$ IGNORE_TKR prev_tgt_val
      type(*) :: prev_tgt_val
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_RMW
  end interface

  ! The same, 64 bits.
  interface
    subroutine PLAPI_RMW64(hndl, op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr, ierror) bind(C, name="plapi_rmw64_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: op
      integer(c_int), intent(in) :: tgt
      integer(LAPI_ADDR_TYPE), intent(in) :: tgt_var
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: in_val
      !DIR$ IGNORE_TKR in_val
      type(*) :: in_val
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: prev_tgt_val
      !DIR$ IGNORE_TKR prev_tgt_val
      type(*) :: prev_tgt_val
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: org_cntr
      !DIR$ IGNORE_TKR org_cntr
      type(*) :: org_cntr
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_RMW64
  end interface

  ! Sets ACK_THRESHOLD, ERROR_CHK, INTERRUPT_SET or TIMEOUT.
  interface
    subroutine PLAPI_SENV(hndl, query, set_val, ierror) bind(C, name="plapi_senv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: query
      integer(c_int), intent(in) :: set_val
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_SENV
  end interface

  ! Sets a counter.
  interface
    subroutine PLAPI_SETCNTR(hndl, cntr, val, ierror) bind(C, name="plapi_setcntr_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cntr
      !DIR$ IGNORE_TKR cntr
      type(*) :: cntr
      integer(c_int), intent(in) :: val
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_SETCNTR
  end interface

  ! Zeroes a counter and names the tasks whose state LAPI_Nopoll_wait is to report.
  interface
    subroutine PLAPI_SETCNTR_WSTATUS(hndl, cntr, num_dest, dest_list, dest_status, ierror) &
      bind(C, name="plapi_setcntr_wstatus_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cntr
      !DIR$ IGNORE_TKR cntr
      type(*) :: cntr
      integer(c_int), intent(in) :: num_dest
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: dest_list
      !DIR$ IGNORE_TKR dest_list
      type(*) :: dest_list
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: dest_status
      !DIR$ IGNORE_TKR dest_status
      type(*) :: dest_status
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_SETCNTR_WSTATUS
  end interface

  ! Ends a context.
  interface
    subroutine PLAPI_TERM(hndl, ierror) bind(C, name="plapi_term_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_TERM
  end interface

  ! Registers DGSPs, packs and unpacks, tells UDP addresses, hands out the lock.
  interface
    subroutine PLAPI_UTIL(hndl, util_cmd, ierror) bind(C, name="plapi_util_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: util_cmd
      !DIR$ IGNORE_TKR util_cmd
      type(*) :: util_cmd
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_UTIL
  end interface

  ! Waits until a counter reaches val, and subtracts val from it.
  interface
    subroutine PLAPI_WAITCNTR(hndl, cntr, val, cur_cntr_val, ierror) bind(C, name="plapi_waitcntr_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cntr
      !DIR$ IGNORE_TKR cntr
      type(*) :: cntr
      integer(c_int), intent(in) :: val
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: cur_cntr_val
      !DIR$ IGNORE_TKR cur_cntr_val
      type(*) :: cur_cntr_val
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_WAITCNTR
  end interface

  ! Starts any transfer.
  interface
    subroutine PLAPI_XFER(hndl, xfer_cmd, ierror) bind(C, name="plapi_xfer_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: xfer_cmd
      !DIR$ IGNORE_TKR xfer_cmd
      type(*) :: xfer_cmd
      integer(c_int), intent(out) :: ierror
    end subroutine PLAPI_XFER
  end interface
end module lapi
