! lapif.h: the Fortran interface of LAPI, as the LAPI Programming Guide
! defines it, implemented by Lapis. For fixed and free form.
!
! Written by `cargo xtask codegen` from bindings/lapi/api. Edit that.
!
! What lies in the calling task is passed as itself; what lies in
! another task is passed as its address, an
! INTEGER(KIND=LAPI_ADDR_TYPE).

! Kinds
      INTEGER, PARAMETER :: LAPI_ADDR_TYPE = 8
      INTEGER, PARAMETER :: LAPI_LONG_TYPE = 8
      INTEGER, PARAMETER :: LAPI_LONG_LONG_TYPE = 8

! Stands for no argument at all, and is the null address. It is a
! variable because only its place tells it from a counter that is zero.
! Do not change its value.
      INTEGER(KIND=LAPI_ADDR_TYPE) :: LAPI_ADDR_NULL
      COMMON /LAPI_ADDR_NULL_C/ LAPI_ADDR_NULL
      SAVE /LAPI_ADDR_NULL_C/

! Holds an address.
      TYPE LAPI_ADDR_T
      SEQUENCE
      INTEGER(KIND=LAPI_ADDR_TYPE) :: addr
      END TYPE LAPI_ADDR_T

!
! Basic types
! (LAPI Guide, appendices E and F)
!

! Kind. An IP address, in network byte order.
      INTEGER, PARAMETER :: IN_ADDR_T = 4

! Kind. A UDP port, in network byte order.
      INTEGER, PARAMETER :: IN_PORT_T = 2

! Kind. Names a LAPI context (an instance of LAPI in this task).
      INTEGER, PARAMETER :: LAPI_HANDLE_T = 4

! Kind. An address or length wide enough for 64-bit tasks, in 32-bit
! tasks too; always 8-aligned.
      INTEGER, PARAMETER :: LAPI_LONG_T = 8

! Kind. The length of a message.
      INTEGER, PARAMETER :: LAPI_MSGLEN_T = 8

! Kind. Reserved for a status that future versions return.
      INTEGER, PARAMETER :: LAPI_STATUS_T = 4

! Kind. A remote context of later releases of LAPI. Opaque; no call
! takes one here.
      INTEGER, PARAMETER :: LAPI_USER_CXT_T = 4

! Kind. What later releases of LAPI describe a remote context with.
! Opaque; no call takes one here.
      INTEGER, PARAMETER :: LAPI_REMOTE_CXT_T = 8

! Kind. For debugging only; set it to NULL.
      INTEGER, PARAMETER :: LAPI_USR_FCALL_T = 8

! A counter. Set it with LAPI_Setcntr before its first use, and leave
! its fields to LAPI.
      TYPE LAPI_CNTR_T
      SEQUENCE
! current value
      INTEGER(KIND=4) :: value
! used by LAPI
      INTEGER(KIND=4) :: state
! used by LAPI
      INTEGER(KIND=LAPI_ADDR_TYPE) :: reserved(2)
      END TYPE LAPI_CNTR_T
! The longest message: 0x7fffffff bytes in 32-bit tasks,
! 0x7fffffffffffffff in 64-bit tasks.
      INTEGER(KIND=LAPI_LONG_TYPE), PARAMETER :: LAPI_MAX_MSG_SZ =      &
     &HUGE(0_LAPI_LONG_TYPE)
! The size of the buffer that LAPI_Msg_string fills.
      INTEGER, PARAMETER :: LAPI_MAX_ERR_STRING = 160
! The most nodes that a job can have.
      INTEGER, PARAMETER :: LAPI_MAX_NODES = 2048
! The most tasks that a job can have.
      INTEGER, PARAMETER :: LAPI_MAX_TASKS = 16384
! The most tasks of a node that can share memory.
      INTEGER, PARAMETER :: LAPI_MAX_SHM_TASKS = 128
! The most shared memory slots that a task can have.
      INTEGER, PARAMETER :: LAPI_MAX_SLOTS_PER_TASK = 128

!
! Return codes
! (LAPI Guide, appendix C)
!
! The call completed successfully.
      INTEGER, PARAMETER :: LAPI_SUCCESS = 0
! An internal communication error occurred outside of any call.
      INTEGER, PARAMETER :: LAPI_ERR_UNKNOWN = 400
! Every LAPI instance that a task may have is already in use.
      INTEGER, PARAMETER :: LAPI_ERR_ALL_HNDL_IN_USE = 401
! Both an IP and a user-space network statement are set for one LAPI
! instance.
      INTEGER, PARAMETER :: LAPI_ERR_BOTH_NETSTR_SET = 402
! The library or plugin that carries the communication could not be
! loaded.
      INTEGER, PARAMETER :: LAPI_ERR_CSS_LOAD_FAILED = 404
! The pointer to the lapi_info_t structure is NULL.
      INTEGER, PARAMETER :: LAPI_ERR_INFO_NULL = 405
! The environment variable MP_MSG_API has a value that LAPI does not
! know.
      INTEGER, PARAMETER :: LAPI_ERR_MSG_API = 406
! No network statement is set, or MP_MSG_API does not provide for LAPI.
      INTEGER, PARAMETER :: LAPI_ERR_NO_NETSTR_SET = 407
! A user-defined UDP handler was announced, but neither a handler nor a
! list of addresses was given.
      INTEGER, PARAMETER :: LAPI_ERR_NO_UDP_HNDLR = 408
! An active message arrived whose header handler is NULL.
      INTEGER, PARAMETER :: LAPI_ERR_HDR_HNDLR_NULL = 409
! Only root may initialize the persistent subsystem.
      INTEGER, PARAMETER :: LAPI_ERR_PSS_NON_ROOT = 410
! The system support that shared memory needs is not available.
      INTEGER, PARAMETER :: LAPI_ERR_SHM_KE_NOT_LOADED = 412
! A task did not acknowledge packets within the timeout.
      INTEGER, PARAMETER :: LAPI_ERR_TIMEOUT = 413
! The timer could not be armed again.
      INTEGER, PARAMETER :: LAPI_ERR_REG_TIMER = 414
! The UDP packet size is outside its range.
      INTEGER, PARAMETER :: LAPI_ERR_UDP_PKT_SZ = 415
! The user-defined UDP handler reported a failure.
      INTEGER, PARAMETER :: LAPI_ERR_USER_UDP_HNDLR_FAIL = 416
! The handle is not one of an initialized LAPI instance.
      INTEGER, PARAMETER :: LAPI_ERR_HNDL_INVALID = 417
! The pointer to where the result belongs is NULL.
      INTEGER, PARAMETER :: LAPI_ERR_RET_PTR_NULL = 418
! The index into the address table is out of range.
      INTEGER, PARAMETER :: LAPI_ERR_ADDR_HNDL_RANGE = 419
! The pointer to the table that receives the addresses is NULL.
      INTEGER, PARAMETER :: LAPI_ERR_ADDR_TBL_NULL = 420
! The target task has been purged.
      INTEGER, PARAMETER :: LAPI_ERR_TGT_PURGED = 421
! Another thread is already waiting for this counter.
      INTEGER, PARAMETER :: LAPI_ERR_MULTIPLE_WAITERS = 422
! LAPI could not allocate the memory it needs.
      INTEGER, PARAMETER :: LAPI_ERR_MEMORY_EXHAUSTED = 423
! Reserved fields of the lapi_info_t structure are not zero.
      INTEGER, PARAMETER :: LAPI_ERR_INFO_NONZERO = 424
! The address of the data at the origin is NULL.
      INTEGER, PARAMETER :: LAPI_ERR_ORG_ADDR_NULL = 425
! The address of the data at the target is NULL.
      INTEGER, PARAMETER :: LAPI_ERR_TGT_ADDR_NULL = 426
! The data length exceeds the largest message that LAPI transfers.
      INTEGER, PARAMETER :: LAPI_ERR_DATA_LEN = 427
! The target is not a task of this job.
      INTEGER, PARAMETER :: LAPI_ERR_TGT = 428
! The user header is NULL although its length is greater than 0.
      INTEGER, PARAMETER :: LAPI_ERR_UHDR_NULL = 429
! The user header is longer than MAX_UHDR_SZ.
      INTEGER, PARAMETER :: LAPI_ERR_UHDR_LEN = 430
! The length of the user header is not aligned.
      INTEGER, PARAMETER :: LAPI_ERR_HDR_LEN = 431
! The vector at the origin spans more than the largest message.
      INTEGER, PARAMETER :: LAPI_ERR_ORG_EXTENT = 432
! The stride of the vector at the origin is smaller than its block.
      INTEGER, PARAMETER :: LAPI_ERR_ORG_STRIDE = 433
! No path leads to the task.
      INTEGER, PARAMETER :: LAPI_ERR_NO_CONNECTIVITY = 434
! All network adapters are down.
      INTEGER, PARAMETER :: LAPI_ERR_ADAPTERS_DOWN = 435
! A receive operation did not complete.
      INTEGER, PARAMETER :: LAPI_ERR_RECV_INCOMP = 436
! A send operation did not complete.
      INTEGER, PARAMETER :: LAPI_ERR_SEND_INCOMP = 437
! A send operation did not complete within the timeout.
      INTEGER, PARAMETER :: LAPI_ERR_SEND_TIMEOUT = 438
! Shared memory could not be set up.
      INTEGER, PARAMETER :: LAPI_ERR_SHM_SETUP = 439
! An address in the vector at the origin is NULL although its length is
! greater than 0.
      INTEGER, PARAMETER :: LAPI_ERR_ORG_VEC_ADDR = 440
! The vector at the origin describes more data than the largest message.
      INTEGER, PARAMETER :: LAPI_ERR_ORG_VEC_LEN = 441
! The pointer to the vector at the origin is NULL.
      INTEGER, PARAMETER :: LAPI_ERR_ORG_VEC_NULL = 442
! The type of the vector at the origin is not valid.
      INTEGER, PARAMETER :: LAPI_ERR_ORG_VEC_TYPE = 443
! The base address of the strided vector at the origin is NULL.
      INTEGER, PARAMETER :: LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL = 444
! The base address of the strided vector at the target is NULL.
      INTEGER, PARAMETER :: LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL = 445
! The vector at the target spans more than the largest message.
      INTEGER, PARAMETER :: LAPI_ERR_TGT_EXTENT = 446
! The stride of the vector at the target is smaller than its block.
      INTEGER, PARAMETER :: LAPI_ERR_TGT_STRIDE = 447
! An address in the vector at the target is NULL although its length is
! greater than 0.
      INTEGER, PARAMETER :: LAPI_ERR_TGT_VEC_ADDR = 448
! The vector at the target describes more data than the largest message.
      INTEGER, PARAMETER :: LAPI_ERR_TGT_VEC_LEN = 449
! The pointer to the vector at the target is NULL.
      INTEGER, PARAMETER :: LAPI_ERR_TGT_VEC_NULL = 451
! The type of the vector at the target is not valid.
      INTEGER, PARAMETER :: LAPI_ERR_TGT_VEC_TYPE = 452
! The vectors at origin and target differ in their number of elements.
      INTEGER, PARAMETER :: LAPI_ERR_VEC_NUM_DIFF = 453
! The vectors at origin and target differ in type.
      INTEGER, PARAMETER :: LAPI_ERR_VEC_TYPE_DIFF = 454
! The vectors at origin and target differ in the length of an element.
      INTEGER, PARAMETER :: LAPI_ERR_VEC_LEN_DIFF = 455
! The info pointer given to LAPI_Msgpoll is NULL.
      INTEGER, PARAMETER :: LAPI_ERR_MSG_INFO_NULL = 456
! The pointer to the counter is NULL.
      INTEGER, PARAMETER :: LAPI_ERR_CNTR_NULL = 458
! The counter value to wait for is not greater than 0.
      INTEGER, PARAMETER :: LAPI_ERR_CNTR_VAL = 459
! The runtime attribute is not known or cannot be used with this call.
      INTEGER, PARAMETER :: LAPI_ERR_QUERY_TYPE = 460
! The pointer to the input value of the read-modify-write operation is
! NULL.
      INTEGER, PARAMETER :: LAPI_ERR_IN_VAL_NULL = 461
! The read-modify-write operation is not one that LAPI knows.
      INTEGER, PARAMETER :: LAPI_ERR_RMW_OP = 462
! The address of the variable of the read-modify-write operation is
! NULL.
      INTEGER, PARAMETER :: LAPI_ERR_TGT_VAR_NULL = 463
! The value is outside the range of what it sets.
      INTEGER, PARAMETER :: LAPI_ERR_SET_VAL = 464
! The DGSP is NULL or not registered.
      INTEGER, PARAMETER :: LAPI_ERR_DGSP = 465
! The atom size of the DGSP is not valid.
      INTEGER, PARAMETER :: LAPI_ERR_DGSP_ATOM = 466
! The DGSP branches to a place outside of its code.
      INTEGER, PARAMETER :: LAPI_ERR_DGSP_BRANCH = 467
! A CONTROL instruction of the DGSP is malformed.
      INTEGER, PARAMETER :: LAPI_ERR_DGSP_CTL = 468
! A copy length in the DGSP is not valid.
      INTEGER, PARAMETER :: LAPI_ERR_DGSP_COPY_SZ = 469
! The DGSP cannot be freed: it is not reserved.
      INTEGER, PARAMETER :: LAPI_ERR_DGSP_FREE = 470
! The DGSP contains an unknown instruction.
      INTEGER, PARAMETER :: LAPI_ERR_DGSP_OPC = 471
! A repetition count in the DGSP is less than 0.
      INTEGER, PARAMETER :: LAPI_ERR_DGSP_REPS = 472
! The DGSP needs a deeper stack than its depth declares.
      INTEGER, PARAMETER :: LAPI_ERR_DGSP_STACK = 473
! The size of the read-modify-write transfer is neither 32 nor 64.
      INTEGER, PARAMETER :: LAPI_ERR_OP_SZ = 474
! The pointer to the UDP port information is NULL.
      INTEGER, PARAMETER :: LAPI_ERR_UDP_PORT_INFO = 475
! The transfer type given to LAPI_Xfer is not known.
      INTEGER, PARAMETER :: LAPI_ERR_XFER_CMD = 476
! The command given to LAPI_Util is not known.
      INTEGER, PARAMETER :: LAPI_ERR_UTIL_CMD = 477
! The message catalog could not be opened.
      INTEGER, PARAMETER :: LAPI_ERR_CATALOG_FAIL = 478
! The buffer to pack into, or to unpack from, is too small.
      INTEGER, PARAMETER :: LAPI_ERR_PACK_SZ = 479
! The DGSP is malformed, for instance by an empty code.
      INTEGER, PARAMETER :: LAPI_ERR_DGSP_OTHER = 480
! An operation on a UDP socket failed.
      INTEGER, PARAMETER :: LAPI_ERR_UDP_SOCKET = 481
! The persistent subsystem may not make collective calls.
      INTEGER, PARAMETER :: LAPI_ERR_COLLECTIVE_PSS = 482
! Failover is not available: setting it up met an internal error.
      INTEGER, PARAMETER :: LAPI_ATTN_FAILOVER_INTERNAL = 485
! Failover is not available: nothing reports the state of the network
! adapters.
      INTEGER, PARAMETER :: LAPI_ATTN_FAILOVER_NO_NAM = 486
! Failover is not available: the group services are not installed.
      INTEGER, PARAMETER :: LAPI_ATTN_FAILOVER_NO_GROUP = 487
! Failover is not available: the launcher is too old.
      INTEGER, PARAMETER :: LAPI_ATTN_FAILOVER_OLD_POE = 488
! Failover is not available: the job was not started by a launcher that
! supports it.
      INTEGER, PARAMETER :: LAPI_ATTN_FAILOVER_NO_POE = 489
! Failover is not available: the job uses a network device without
! support for it.
      INTEGER, PARAMETER :: LAPI_ATTN_FAILOVER_DEVICE = 490
! Failover has halted.
      INTEGER, PARAMETER :: LAPI_ATTN_FAILOVER_HALTED = 491
! The remote context of the target is not valid.
      INTEGER, PARAMETER :: LAPI_ERR_TGT_CONTEXT = 492
! The remote context of the source is not valid.
      INTEGER, PARAMETER :: LAPI_ERR_SRC_CONTEXT = 493
! The buffer handle of the target is not valid.
      INTEGER, PARAMETER :: LAPI_ERR_TGT_BUFHNDL = 494
! The buffer handle of the source is not valid.
      INTEGER, PARAMETER :: LAPI_ERR_SRC_BUFHNDL = 495
! The offset into the target's buffer is not valid.
      INTEGER, PARAMETER :: LAPI_ERR_TGT_OFFSET = 496
! The offset into the source's buffer is not valid.
      INTEGER, PARAMETER :: LAPI_ERR_SRC_OFFSET = 497
! No resources for remote direct memory access are available.
      INTEGER, PARAMETER :: LAPI_ERR_NO_RDMA_RESOURCE = 498
! Bulk transfer is on.
      INTEGER, PARAMETER :: LAPI_ATTN_BULK_ENABLED = 499
! Tasks do not hear from one another; waiting for acknowledgements goes
! on.
      INTEGER, PARAMETER :: LAPI_ATTN_TASK_TIMEOUT = 500
! The version of the LAPI library.
      INTEGER, PARAMETER :: LAPI_ATTN_VERSION = 501
! Shared memory could not be initialized; the network is used instead.
      INTEGER, PARAMETER :: LAPI_ATTN_SHM_INIT = 502
! Shared memory could not be initialized when restarting from a
! checkpoint.
      INTEGER, PARAMETER :: LAPI_ATTN_SHM_RESTART = 503
! Shared memory is not used because only one task runs on this node.
      INTEGER, PARAMETER :: LAPI_ATTN_SHM_ONE_TASK = 504
! This task could not create its shared memory.
      INTEGER, PARAMETER :: LAPI_ATTN_SHM_CREATE = 505
! This task could not obtain the shared memory of another task.
      INTEGER, PARAMETER :: LAPI_ATTN_SHM_GET = 506
! This task could not map the shared memory of another task.
      INTEGER, PARAMETER :: LAPI_ATTN_SHM_ATTACH = 507
! This task could not reserve address space for shared memory.
      INTEGER, PARAMETER :: LAPI_ATTN_SHM_RESERVE = 508
! First communication over this port.
      INTEGER, PARAMETER :: LAPI_ATTN_FIRST_CONTACT = 509
! An environment variable that LAPI requires is not set.
      INTEGER, PARAMETER :: LAPI_ERR_NO_ENV_VAR = 510
! The code is not one of LAPI's.
      INTEGER, PARAMETER :: LAPI_ERR_CODE_UNKNOWN = 511
! Another name.
      INTEGER, PARAMETER :: LAPI_ERR_INFO_NONZERO_INFO =                &
     &LAPI_ERR_INFO_NONZERO

!
! Handlers
! (LAPI Guide, "LAPI handlers", LAPI_Amsend, LAPI_Amsendv, LAPI_Xfer)
!

! Kind. Runs at the target when a message has arrived whole, or at the
! origin when a get is complete.
      INTEGER, PARAMETER :: COMPL_HNDLR_T = 8

! Kind. Runs at the target when the first packet of a message arrives;
! returns where the data go. msg_len points to the first field of a
! lapi_return_info_t.
      INTEGER, PARAMETER :: HDR_HNDLR_T = 8

! What a send completion handler learns.
      TYPE LAPI_SH_INFO_T
      SEQUENCE
! the target task of the transfer
      INTEGER(KIND=4) :: src
! LAPI_SUCCESS or why the transfer failed
      INTEGER(KIND=4) :: reason
! reserved
      INTEGER(KIND=LAPI_ADDR_TYPE) :: reserve(6)
      END TYPE LAPI_SH_INFO_T

! Kind. Runs at the origin when the data of a transfer may be changed
! again.
      INTEGER, PARAMETER :: SCOMPL_HNDLR_T = 8

! Kind. Combines arriving data with the data in place; returns how many
! bytes it processed.
      INTEGER, PARAMETER :: DDM_FUNC_T = 8

! Kind. Where an asynchronous error arose.
      INTEGER, PARAMETER :: LAPI_ERR_T = 4
! in LAPI itself
      INTEGER, PARAMETER :: LAPI_INTERNAL_ERROR = 0
! between this task and another
      INTEGER, PARAMETER :: LAPI_COMMUNICATION_ERROR = 1
! in what the program passed
      INTEGER, PARAMETER :: LAPI_USER_ERROR = 2

!
! Vectors
! (LAPI Guide, "Vector transfer" and table 7)
!

! Kind. How a vector describes its data.
      INTEGER, PARAMETER :: LAPI_VECTYPE_T = 4
! buffers; the two sides need not match (active messages only)
      INTEGER, PARAMETER :: LAPI_GEN_GENERIC = 0
! buffers; the two sides match in number and lengths
      INTEGER, PARAMETER :: LAPI_GEN_IOVECTOR = 1
! equal blocks at equal distances
      INTEGER, PARAMETER :: LAPI_GEN_STRIDED_XFER = 2
! Another name of LAPI_GEN_STRIDED_XFER.
      INTEGER, PARAMETER :: LAPI_STRIDED_VECTOR = LAPI_GEN_STRIDED_XFER

! A vector of this task's memory. Strided: info holds base address,
! block size and stride; len is not read.
      TYPE LAPI_VEC_T
      SEQUENCE
! how the data are described
      INTEGER(KIND=4) :: vec_type
! how many buffers or blocks
      INTEGER(KIND=4) :: num_vecs
! their addresses
      INTEGER(KIND=LAPI_ADDR_TYPE) :: info
! their lengths
      INTEGER(KIND=LAPI_ADDR_TYPE) :: len
      END TYPE LAPI_VEC_T

! The same with addresses and lengths of 64 bits, for the memory of a
! target that may be a 64-bit task.
      TYPE LAPI_LVEC_T
      SEQUENCE
! how the data are described
      INTEGER(KIND=4) :: vec_type
! how many buffers or blocks
      INTEGER(KIND=4) :: num_vecs
! their addresses
      INTEGER(KIND=LAPI_ADDR_TYPE) :: info
! their lengths
      INTEGER(KIND=LAPI_ADDR_TYPE) :: len
      END TYPE LAPI_LVEC_T

! Kind. The header handler of a message sent with a vector: returns the
! vector that receives it.
      INTEGER, PARAMETER :: VHDR_HNDLR_T = 8

!
! Initialization
! (LAPI Guide, LAPI_Init, "Standalone setup")
!

! Kind. What carries the communication of a context.
      INTEGER, PARAMETER :: LAPI_DEV_T = 4
! nothing yet
      INTEGER, PARAMETER :: LAPI_NO_DEV = 0
! a job of one task
      INTEGER, PARAMETER :: LAPI_SELF_DEV = 1
! shared memory alone
      INTEGER, PARAMETER :: LAPI_SHM_DEV = 2
! UDP/IP
      INTEGER, PARAMETER :: LAPI_UDP_DEV = 3
! adapter windows
      INTEGER, PARAMETER :: LAPI_HPS_DEV = 4
! a network with remote direct memory access
      INTEGER, PARAMETER :: LAPI_RDMA_DEV = 5
! another transport plugin
      INTEGER, PARAMETER :: LAPI_OTHER_DEV = 6

! Kind. The version of the library that a program is written for.
      INTEGER, PARAMETER :: LAPI_LIB_T = 4
! basic functions (the default)
      INTEGER, PARAMETER :: L1_LIB = 0
! counters as structures: LAPI_Nopoll_wait, LAPI_Setcntr_wstatus
      INTEGER, PARAMETER :: L2_LIB = 1
! as L2_LIB
      INTEGER, PARAMETER :: L3_LIB = 2
! as L2_LIB
      INTEGER, PARAMETER :: L4_LIB = 3
! everything: what new programs set
      INTEGER, PARAMETER :: LAST_LIB = 4

! How LAPI creates its threads.
      TYPE COM_THREAD_INFO_T
      SEQUENCE
! attributes of the threads, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: attr
! void (*)(void *) that each thread calls first, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: init_func
! what init_func is given
      INTEGER(KIND=LAPI_ADDR_TYPE) :: init_arg
      END TYPE COM_THREAD_INFO_T

! Where a task receives UDP datagrams, both in network byte order.
      TYPE LAPI_UDP_T
      SEQUENCE
! IP address
      INTEGER(KIND=4) :: ip_addr
! port
      INTEGER(KIND=2) :: port_no
! fills a gap
      INTEGER(KIND=2) :: pad
      END TYPE LAPI_UDP_T

! What a user's UDP handler learns about the job.
      TYPE LAPI_UDPINFO_T
      SEQUENCE
! this task
      INTEGER(KIND=4) :: task_id
! how many entries the list of addresses has
      INTEGER(KIND=4) :: num_tasks
! which network instance is asked for, from 0
      INTEGER(KIND=4) :: instance_no
! reserved
      INTEGER(KIND=4) :: reserved
      END TYPE LAPI_UDPINFO_T

! How tasks that are started by hand learn each other's UDP addresses:
! by a handler, else by a list.
      TYPE LAPI_EXTEND_T
      SEQUENCE
! handler, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: udp_hndlr
! list of addresses, one for each task, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: add_udp_addrs
! length of the list; 0 for one entry for each task
      INTEGER(KIND=4) :: num_udp_addr
! set to 0
      INTEGER(KIND=4) :: reserved
      END TYPE LAPI_EXTEND_T

! What LAPI_Init is told. Zero it before setting any field.
      TYPE LAPI_INFO_T
      SEQUENCE
! out: what carries the communication
      INTEGER(KIND=4) :: protocol
! library version that the program is written for
      INTEGER(KIND=4) :: lib_vers
! no longer used
      INTEGER(KIND=4) :: epoch_num
! number of completion handler threads; 0 for the default
      INTEGER(KIND=4) :: num_compl_hndlr_thr
! instance of LAPI, 1 to 16; 0 for the next free one
      INTEGER(KIND=4) :: instance_no
! reserved: must be 0
      INTEGER(KIND=4) :: info6
! hears of asynchronous errors
      INTEGER(KIND=LAPI_ADDR_TYPE) :: err_hndlr
! how threads are created, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: lapi_thread_attr
! adapter of the persistent subsystem, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: adapter_name
! UDP addresses of tasks started by hand, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: add_info
      END TYPE LAPI_INFO_T

!
! Runtime attributes and statistics
! (LAPI Guide, LAPI_Qenv, LAPI_Senv, tables 44 to 46)
!

! Kind. Runtime attributes.
      INTEGER, PARAMETER :: LAPI_QUERY_T = 4
! number of this task
      INTEGER, PARAMETER :: TASK_ID = 0
! number of tasks in the job
      INTEGER, PARAMETER :: NUM_TASKS = 1
! longest user header, in bytes
      INTEGER, PARAMETER :: MAX_UHDR_SZ = 2
! deprecated: use LAPI_MAX_MSG_SZ
      INTEGER, PARAMETER :: MAX_DATA_SZ = 3
! parameter checking on or off (may be set)
      INTEGER, PARAMETER :: ERROR_CHK = 4
! seconds until a silent task counts as unreachable (may be set)
      INTEGER, PARAMETER :: TIMEOUT = 5
! smallest TIMEOUT
      INTEGER, PARAMETER :: MIN_TIMEOUT = 6
! largest TIMEOUT
      INTEGER, PARAMETER :: MAX_TIMEOUT = 7
! interrupt mode on or off (may be set)
      INTEGER, PARAMETER :: INTERRUPT_SET = 8
! number of LAPI instances that a task can have
      INTEGER, PARAMETER :: MAX_PORTS = 9
! bytes of header and data that a packet holds
      INTEGER, PARAMETER :: MAX_PKT_SZ = 10
! number of retransmission buffers
      INTEGER, PARAMETER :: NUM_REX_BUFS = 11
! size of a retransmission buffer, in bytes
      INTEGER, PARAMETER :: REX_BUF_SZ = 12
! entries in the table of LAPI_Addr_set
      INTEGER, PARAMETER :: LOC_ADDRTBL_SZ = 13
! no longer used
      INTEGER, PARAMETER :: EPOCH_NUM = 14
! no longer used
      INTEGER, PARAMETER :: USE_THRESH = 15
! no longer used
      INTEGER, PARAMETER :: RCV_FIFO_SIZE = 16
! largest atom of a DGSP, in bytes
      INTEGER, PARAMETER :: MAX_ATOM_SIZE = 17
! largest message that is copied at the origin, in bytes
      INTEGER, PARAMETER :: BUF_CP_SIZE = 18
! packets that can be in flight to one task
      INTEGER, PARAMETER :: MAX_PKTS_OUT = 19
! packets received before they are acknowledged (may be set)
      INTEGER, PARAMETER :: ACK_THRESHOLD = 20
! whether shared memory is used
      INTEGER, PARAMETER :: QUERY_SHM_ENABLED = 21
! number of tasks that are reached through shared memory
      INTEGER, PARAMETER :: QUERY_SHM_NUM_TASKS = 22
! fills an array of NUM_TASKS integers with shared memory task IDs
      INTEGER, PARAMETER :: QUERY_SHM_TASKS = 23
! fills a lapi_statistics_t for the network
      INTEGER, PARAMETER :: QUERY_STATISTICS = 24
! prints the statistics on standard output
      INTEGER, PARAMETER :: PRINT_STATISTICS = 25
! fills a lapi_statistics_t for shared memory
      INTEGER, PARAMETER :: QUERY_SHM_STATISTICS = 26
! fills a lapi_statistics_t for transfers within the task
      INTEGER, PARAMETER :: QUERY_LOCAL_SEND_STATISTICS = 27
! bulk transfer on or off
      INTEGER, PARAMETER :: BULK_XFER = 28
! smallest message for bulk transfer, in bytes
      INTEGER, PARAMETER :: BULK_MIN_MSG_SIZE = 29
! one past the last attribute
      INTEGER, PARAMETER :: LAST_QUERY = 30

! What has gone over one kind of path.
      TYPE LAPI_STATISTICS_T
      SEQUENCE
! packets received more than once
      INTEGER(KIND=8) :: Tot_dup_pkt_cnt
! packets sent again
      INTEGER(KIND=8) :: Tot_retrans_pkt_cnt
! ghost packets: too old to belong to a message
      INTEGER(KIND=8) :: Tot_gho_pkt_cnt
! packets sent
      INTEGER(KIND=8) :: Tot_pkt_sent_cnt
! packets received
      INTEGER(KIND=8) :: Tot_pkt_rcv_cnt
! bytes sent
      INTEGER(KIND=8) :: Tot_data_sent
! bytes received
      INTEGER(KIND=8) :: Tot_data_rcv
      END TYPE LAPI_STATISTICS_T
! the given number of rounds passed without progress
      INTEGER, PARAMETER :: LAPI_DISP_CNTR = 1
! a send completed
      INTEGER, PARAMETER :: LAPI_SEND_COMPLETE = 2
! a receive completed
      INTEGER, PARAMETER :: LAPI_RECV_COMPLETE = 4
! a send and a receive completed
      INTEGER, PARAMETER :: LAPI_BOTH_COMPLETE = 8
! another thread is polling already
      INTEGER, PARAMETER :: LAPI_POLLING_NET = 16

! The result of LAPI_Msgpoll.
      TYPE LAPI_MSG_INFO_T
      SEQUENCE
! what happened
      INTEGER(KIND=4) :: status
! fills a gap
      INTEGER(KIND=4) :: pad
! reserved
      INTEGER(KIND=LAPI_ADDR_TYPE) :: reserve(10)
      END TYPE LAPI_MSG_INFO_T

! The same, under the name that the guide's LAPI_MSGPOLL uses.
      TYPE LAPI_MSG_STATE_T
      SEQUENCE
! what happened
      INTEGER(KIND=4) :: status
! fills a gap
      INTEGER(KIND=4) :: pad
! reserved
      INTEGER(KIND=LAPI_ADDR_TYPE) :: reserve(10)
      END TYPE LAPI_MSG_STATE_T

! Kind. The state of a task that a counter waits for
! (LAPI_Setcntr_wstatus).
      INTEGER, PARAMETER :: LAPI_DEST_STATUS_T = 4
! nothing received from it, or purged
      INTEGER, PARAMETER :: LAPI_MSG_INITIAL = 0
! received
      INTEGER, PARAMETER :: LAPI_MSG_RECVD = 1
! purged before it was received
      INTEGER, PARAMETER :: LAPI_MSG_PURGED = 2
! received, then purged
      INTEGER, PARAMETER :: LAPI_MSG_PURGED_RCVD = 3
! was purged already
      INTEGER, PARAMETER :: LAPI_MSG_INVALID = 4

!
! Data gather/scatter programs
! (LAPI Guide, "Using data gather/scatter programs (DGSPs)")
!

! Kind. How dense a layout is.
      INTEGER, PARAMETER :: LAPI_DGSP_DENSITY_T = 4
! with gaps inside
      INTEGER, PARAMETER :: LAPI_DGSM_SPARSE = 0
! gaps only between repetitions
      INTEGER, PARAMETER :: LAPI_DGSM_CONTIG = 1
! no gaps at all
      INTEGER, PARAMETER :: LAPI_DGSM_UNIT = 2

! A program and what it describes.
      TYPE LAPI_DGSP_DESCR_T
      SEQUENCE
! the instructions
      INTEGER(KIND=LAPI_ADDR_TYPE) :: code
! how many integers they take
      INTEGER(KIND=4) :: code_size
! how deep subroutines nest, the main routine included
      INTEGER(KIND=4) :: depth
! how dense the layout is
      INTEGER(KIND=4) :: density
! fills a gap
      INTEGER(KIND=4) :: pad
! bytes that one application moves
      INTEGER(KIND=LAPI_ADDR_TYPE) :: size
! distance from one application to the next
      INTEGER(KIND=LAPI_ADDR_TYPE) :: extent
! offset of the leftmost byte
      INTEGER(KIND=LAPI_ADDR_TYPE) :: lext
! offset just past the rightmost byte
      INTEGER(KIND=LAPI_ADDR_TYPE) :: rext
! 0, or what every packet holds a multiple of
      INTEGER(KIND=4) :: atom_size
! fills a gap
      INTEGER(KIND=4) :: pad2
      END TYPE LAPI_DGSP_DESCR_T

! Kind. A registered program; may be cast to lapi_dgsp_descr_t * for
! reading.
      INTEGER, PARAMETER :: LAPI_DG_HANDLE_T = 8

! Kind. The same, as a pointer to the registered description.
      INTEGER, PARAMETER :: LAPI_DGSP_HANDLE_T = 8

! Kind. Instructions.
      INTEGER, PARAMETER :: LAPI_DGSM_OPCODE_T = 4
! move one block
      INTEGER, PARAMETER :: LAPI_DGSM_COPY = 1
! move several blocks
      INTEGER, PARAMETER :: LAPI_DGSM_MCOPY = 2
! run a subroutine
      INTEGER, PARAMETER :: LAPI_DGSM_GOSUB = 3
! end of a routine
      INTEGER, PARAMETER :: LAPI_DGSM_ITERATE = 4
! pass copies to the DDM function, or stop to
      INTEGER, PARAMETER :: LAPI_DGSM_CONTROL = 5

! A block of an MCOPY.
      TYPE LAPI_DGSM_BLOCK_T
      SEQUENCE
! where it starts
      INTEGER(KIND=LAPI_ADDR_TYPE) :: block_disp
! its length in bytes
      INTEGER(KIND=LAPI_ADDR_TYPE) :: block_len
      END TYPE LAPI_DGSM_BLOCK_T

! COPY.
      TYPE LAPI_DGSM_COPY_T
      SEQUENCE
! LAPI_DGSM_COPY
      INTEGER(KIND=4) :: opcode
! reserved
      INTEGER(KIND=4) :: rsvd
! length of the block
      INTEGER(KIND=LAPI_ADDR_TYPE) :: bytes
! where it starts
      INTEGER(KIND=LAPI_ADDR_TYPE) :: offset
      END TYPE LAPI_DGSM_COPY_T

! MCOPY; count - 1 further blocks follow the first.
      TYPE LAPI_DGSM_MCOPY_T
      SEQUENCE
! LAPI_DGSM_MCOPY
      INTEGER(KIND=4) :: opcode
! number of blocks
      INTEGER(KIND=4) :: count
! the blocks
      TYPE(LAPI_DGSM_BLOCK_T) :: block(1)
      END TYPE LAPI_DGSM_MCOPY_T

! GOSUB; jumps are counted in integers from this instruction.
      TYPE LAPI_DGSM_GOSUB_T
      SEQUENCE
! LAPI_DGSM_GOSUB
      INTEGER(KIND=4) :: opcode
! jump to the subroutine
      INTEGER(KIND=4) :: to_loc
! jump after it: normally LAPI_DGSM_GOSUB_SIZE
      INTEGER(KIND=4) :: ret_loc
! reserved
      INTEGER(KIND=4) :: rsvd
! how often it runs
      INTEGER(KIND=LAPI_ADDR_TYPE) :: reps
! where it runs first
      INTEGER(KIND=LAPI_ADDR_TYPE) :: offset
! distance from one run to the next
      INTEGER(KIND=LAPI_ADDR_TYPE) :: stride
      END TYPE LAPI_DGSM_GOSUB_T

! ITERATE.
      TYPE LAPI_DGSM_ITERATE_T
      SEQUENCE
! LAPI_DGSM_ITERATE
      INTEGER(KIND=4) :: opcode
! jump to the beginning of the routine: negative
      INTEGER(KIND=4) :: iter_loc
      END TYPE LAPI_DGSM_ITERATE_T

! CONTROL.
      TYPE LAPI_DGSM_CONTROL_T
      SEQUENCE
! LAPI_DGSM_CONTROL
      INTEGER(KIND=4) :: opcode
! passed to the DDM function; LAPI_DGSM_NO_CTL ends its use
      INTEGER(KIND=4) :: operation
! passed to the DDM function
      INTEGER(KIND=4) :: operand
! reserved
      INTEGER(KIND=4) :: rsvd
      END TYPE LAPI_DGSM_CONTROL_T
! The operation of a CONTROL that ends the use of the DDM function.
      INTEGER, PARAMETER :: LAPI_DGSM_NO_CTL = -1
! Integers that a COPY takes.
      INTEGER, PARAMETER :: LAPI_DGSM_COPY_SIZE = 6
! Integers that an MCOPY with one block takes.
      INTEGER, PARAMETER :: LAPI_DGSM_MCOPY_SIZE = 6
! Integers that each further block takes.
      INTEGER, PARAMETER :: LAPI_DGSM_MCOPY_BLOCK_SIZE = 4
! Integers that a GOSUB takes.
      INTEGER, PARAMETER :: LAPI_DGSM_GOSUB_SIZE = 10
! Integers that an ITERATE takes.
      INTEGER, PARAMETER :: LAPI_DGSM_ITERATE_SIZE = 2
! Integers that a CONTROL takes.
      INTEGER, PARAMETER :: LAPI_DGSM_CONTROL_SIZE = 4

!
! The enhanced header handler
! (LAPI Guide, "The enhanced header handler interface")
!

! Kind. Where the completion handler of a message runs.
      INTEGER, PARAMETER :: LAPI_RET_FLAGS_T = 4
! in a completion handler thread
      INTEGER, PARAMETER :: LAPI_NORMAL = 0
! in the receiving thread; it makes no LAPI calls
      INTEGER, PARAMETER :: LAPI_LOCAL_STATE = 1
! in the receiving thread if a send is possible at once; it sends a
! reply
      INTEGER, PARAMETER :: LAPI_SEND_REPLY = 2

! Kind. What becomes of a message.
      INTEGER, PARAMETER :: LAPI_CTL_FLAGS_T = 4
! its data are delivered
      INTEGER, PARAMETER :: LAPI_DELIVER_MSG = 0
! it completes, but its data are not copied
      INTEGER, PARAMETER :: LAPI_BURY_MSG = 1
! the packet counts as lost and comes again
      INTEGER, PARAMETER :: LAPI_DROP_PKT = 2

! What a header handler's msg_len really points to.
      TYPE LAPI_RETURN_INFO_T
      SEQUENCE
! in: length of the message
      INTEGER(KIND=LAPI_ADDR_TYPE) :: msg_len
! in: do not change
      INTEGER(KIND=4) :: MAGIC
! out: where the completion handler runs
      INTEGER(KIND=4) :: ret_flags
! out: what becomes of the message
      INTEGER(KIND=4) :: ctl_flags
! fills a gap
      INTEGER(KIND=4) :: pad
! out: layout of the data, or NULL for contiguous
      INTEGER(KIND=LAPI_ADDR_TYPE) :: dgsp_handle
! out: how much to deliver when a layout is given
      INTEGER(KIND=LAPI_ADDR_TYPE) :: bytes
! in: task that sent the message
      INTEGER(KIND=4) :: src
! fills a gap
      INTEGER(KIND=4) :: pad2
! in: the data, if they all came with this packet; else NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: udata_one_pkt_ptr
      END TYPE LAPI_RETURN_INFO_T

!
! Transfers
! (LAPI Guide, LAPI_Xfer, LAPI_Rmw, tables 23 to 31)
!

! Kind. What LAPI_Xfer transfers.
      INTEGER, PARAMETER :: LAPI_XFER_TYPE_T = 4
! lapi_get_t
      INTEGER, PARAMETER :: LAPI_GET_XFER = 0
! lapi_am_t
      INTEGER, PARAMETER :: LAPI_AM_XFER = 1
! lapi_rmw_t
      INTEGER, PARAMETER :: LAPI_RMW_XFER = 2
! lapi_put_t
      INTEGER, PARAMETER :: LAPI_PUT_XFER = 3
! lapi_getv_t
      INTEGER, PARAMETER :: LAPI_GETV_XFER = 4
! lapi_putv_t
      INTEGER, PARAMETER :: LAPI_PUTV_XFER = 5
! lapi_amv_t
      INTEGER, PARAMETER :: LAPI_AMV_XFER = 6
! lapi_amdgsp_t
      INTEGER, PARAMETER :: LAPI_DGSP_XFER = 7
! lapi_am_t without counters and handlers at the origin
      INTEGER, PARAMETER :: LAPI_AM_LW_XFER = 8

! Kind. What a read-modify-write does.
      INTEGER, PARAMETER :: RMW_OPS_T = 4
! add
      INTEGER, PARAMETER :: FETCH_AND_ADD = 0
! bitwise or
      INTEGER, PARAMETER :: FETCH_AND_OR = 1
! replace
      INTEGER, PARAMETER :: SWAP = 2
! replace the variable by in_val[1] if it equals in_val[0]
      INTEGER, PARAMETER :: COMPARE_AND_SWAP = 3

! Kind. Directives of a transfer: values of the fields named flags,
! beside the hints below.
      INTEGER, PARAMETER :: LAPI_XFER_FLAGS_T = 4
! tgt_vec is a lapi_vec_t *, not a lapi_lvec_t *
      INTEGER, PARAMETER :: USE_TGT_VEC_TYPE = 1
! the data are contiguous on both sides, whatever the DGSP says
      INTEGER, PARAMETER :: BUFFER_BOTH_CONTIGUOUS = 2
! Hint: no bulk transfer. Wins over LAPI_USE_BULK_XFER.
      INTEGER, PARAMETER :: LAPI_NOT_USE_BULK_XFER = 4
! Hint: bulk transfer.
      INTEGER, PARAMETER :: LAPI_USE_BULK_XFER = 8

! A get (table 27).
      TYPE LAPI_GET_T
      SEQUENCE
! LAPI_GET_XFER
      INTEGER(KIND=4) :: Xfer_type
! directives and hints, or 0
      INTEGER(KIND=4) :: flags
! target task
      INTEGER(KIND=4) :: tgt
! fills a gap
      INTEGER(KIND=4) :: pad
! where the data are at the target
      INTEGER(KIND=8) :: tgt_addr
! where they go
      INTEGER(KIND=LAPI_ADDR_TYPE) :: org_addr
! their length in bytes
      INTEGER(KIND=LAPI_ADDR_TYPE) :: len
! target counter, an address at the target, or 0
      INTEGER(KIND=8) :: tgt_cntr
! origin counter, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: org_cntr
! runs when the data have arrived, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: chndlr
! what chndlr is given
      INTEGER(KIND=LAPI_ADDR_TYPE) :: cinfo
      END TYPE LAPI_GET_T

! An active message (table 24).
      TYPE LAPI_AM_T
      SEQUENCE
! LAPI_AM_XFER, or LAPI_AM_LW_XFER
      INTEGER(KIND=4) :: Xfer_type
! directives and hints, or 0
      INTEGER(KIND=4) :: flags
! target task
      INTEGER(KIND=4) :: tgt
! fills a gap
      INTEGER(KIND=4) :: pad
! header handler: index or address at the target
      INTEGER(KIND=8) :: hdr_hdl
! length of the user header, a multiple of 4
      INTEGER(KIND=4) :: uhdr_len
! fills a gap
      INTEGER(KIND=4) :: pad2
! user header
      INTEGER(KIND=LAPI_ADDR_TYPE) :: uhdr
! data
      INTEGER(KIND=LAPI_ADDR_TYPE) :: udata
! their length in bytes
      INTEGER(KIND=LAPI_ADDR_TYPE) :: udata_len
! runs when the data may be changed again, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: shdlr
! what shdlr is given
      INTEGER(KIND=LAPI_ADDR_TYPE) :: sinfo
! target counter, an address at the target, or 0
      INTEGER(KIND=8) :: tgt_cntr
! origin counter, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: org_cntr
! completion counter, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: cmpl_cntr
      END TYPE LAPI_AM_T

! A read-modify-write (table 31).
      TYPE LAPI_RMW_T
      SEQUENCE
! LAPI_RMW_XFER
      INTEGER(KIND=4) :: Xfer_type
! what to do
      INTEGER(KIND=4) :: op
! target task
      INTEGER(KIND=4) :: tgt
! width of the variable: 32 or 64
      INTEGER(KIND=4) :: size
! the variable, an address at the target
      INTEGER(KIND=8) :: tgt_var
! operand; two of them for COMPARE_AND_SWAP
      INTEGER(KIND=LAPI_ADDR_TYPE) :: in_val
! receives the previous value, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: prev_tgt_val
! origin counter, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: org_cntr
! runs when the operation is done, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: shdlr
! what shdlr is given
      INTEGER(KIND=LAPI_ADDR_TYPE) :: sinfo
      END TYPE LAPI_RMW_T

! A put (table 29).
      TYPE LAPI_PUT_T
      SEQUENCE
! LAPI_PUT_XFER
      INTEGER(KIND=4) :: Xfer_type
! directives and hints, or 0
      INTEGER(KIND=4) :: flags
! target task
      INTEGER(KIND=4) :: tgt
! fills a gap
      INTEGER(KIND=4) :: pad
! where the data go at the target
      INTEGER(KIND=8) :: tgt_addr
! where they are
      INTEGER(KIND=LAPI_ADDR_TYPE) :: org_addr
! their length in bytes
      INTEGER(KIND=LAPI_ADDR_TYPE) :: len
! runs when the data may be changed again, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: shdlr
! what shdlr is given
      INTEGER(KIND=LAPI_ADDR_TYPE) :: sinfo
! target counter, an address at the target, or 0
      INTEGER(KIND=8) :: tgt_cntr
! origin counter, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: org_cntr
! completion counter, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: cmpl_cntr
      END TYPE LAPI_PUT_T

! A get between vectors (table 28).
      TYPE LAPI_GETV_T
      SEQUENCE
! LAPI_GETV_XFER
      INTEGER(KIND=4) :: Xfer_type
! directives and hints, or 0
      INTEGER(KIND=4) :: flags
! target task
      INTEGER(KIND=4) :: tgt
! fills a gap
      INTEGER(KIND=4) :: pad
! where the data go at the origin
      INTEGER(KIND=LAPI_ADDR_TYPE) :: org_vec
! where they are, a lapi_lvec_t *, or a lapi_vec_t * with
! USE_TGT_VEC_TYPE
      INTEGER(KIND=LAPI_ADDR_TYPE) :: tgt_vec
! target counter, an address at the target, or 0
      INTEGER(KIND=8) :: tgt_cntr
! origin counter, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: org_cntr
! runs when the data have arrived, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: chndlr
! what chndlr is given
      INTEGER(KIND=LAPI_ADDR_TYPE) :: cinfo
      END TYPE LAPI_GETV_T

! A put between vectors (table 30).
      TYPE LAPI_PUTV_T
      SEQUENCE
! LAPI_PUTV_XFER
      INTEGER(KIND=4) :: Xfer_type
! directives and hints, or 0
      INTEGER(KIND=4) :: flags
! target task
      INTEGER(KIND=4) :: tgt
! fills a gap
      INTEGER(KIND=4) :: pad
! runs when the data may be changed again, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: shdlr
! what shdlr is given
      INTEGER(KIND=LAPI_ADDR_TYPE) :: sinfo
! the data at the origin
      INTEGER(KIND=LAPI_ADDR_TYPE) :: org_vec
! where they go, a lapi_lvec_t *, or a lapi_vec_t * with
! USE_TGT_VEC_TYPE
      INTEGER(KIND=LAPI_ADDR_TYPE) :: tgt_vec
! target counter, an address at the target, or 0
      INTEGER(KIND=8) :: tgt_cntr
! origin counter, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: org_cntr
! completion counter, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: cmpl_cntr
      END TYPE LAPI_PUTV_T

! An active message from a vector (table 25).
      TYPE LAPI_AMV_T
      SEQUENCE
! LAPI_AMV_XFER
      INTEGER(KIND=4) :: Xfer_type
! directives and hints, or 0
      INTEGER(KIND=4) :: flags
! target task
      INTEGER(KIND=4) :: tgt
! fills a gap
      INTEGER(KIND=4) :: pad
! header handler: index or address at the target
      INTEGER(KIND=8) :: hdr_hdl
! length of the user header, a multiple of 4
      INTEGER(KIND=4) :: uhdr_len
! fills a gap
      INTEGER(KIND=4) :: pad2
! user header
      INTEGER(KIND=LAPI_ADDR_TYPE) :: uhdr
! runs when the data may be changed again, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: shdlr
! what shdlr is given
      INTEGER(KIND=LAPI_ADDR_TYPE) :: sinfo
! the data at the origin
      INTEGER(KIND=LAPI_ADDR_TYPE) :: org_vec
! target counter, an address at the target, or 0
      INTEGER(KIND=8) :: tgt_cntr
! origin counter, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: org_cntr
! completion counter, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: cmpl_cntr
      END TYPE LAPI_AMV_T

! An active message laid out by a DGSP (table 26).
      TYPE LAPI_AMDGSP_T
      SEQUENCE
! LAPI_DGSP_XFER
      INTEGER(KIND=4) :: Xfer_type
! directives and hints, or 0
      INTEGER(KIND=4) :: flags
! target task
      INTEGER(KIND=4) :: tgt
! fills a gap
      INTEGER(KIND=4) :: pad
! header handler: index or address at the target
      INTEGER(KIND=8) :: hdr_hdl
! length of the user header, a multiple of 4
      INTEGER(KIND=4) :: uhdr_len
! fills a gap
      INTEGER(KIND=4) :: pad2
! user header
      INTEGER(KIND=LAPI_ADDR_TYPE) :: uhdr
! data
      INTEGER(KIND=LAPI_ADDR_TYPE) :: udata
! their length in bytes
      INTEGER(KIND=LAPI_ADDR_TYPE) :: udata_len
! runs when the data may be changed again, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: shdlr
! what shdlr is given
      INTEGER(KIND=LAPI_ADDR_TYPE) :: sinfo
! target counter, an address at the target, or 0
      INTEGER(KIND=8) :: tgt_cntr
! origin counter, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: org_cntr
! completion counter, or NULL
      INTEGER(KIND=LAPI_ADDR_TYPE) :: cmpl_cntr
! layout of the data at the origin
      INTEGER(KIND=LAPI_ADDR_TYPE) :: dgsp
! reserved
      INTEGER(KIND=4) :: status
! fills a gap
      INTEGER(KIND=4) :: pad3
      END TYPE LAPI_AMDGSP_T

!
! Utilities
! (LAPI Guide, LAPI_Util, tables 14 to 22)
!

! Kind. What LAPI_Util does.
      INTEGER, PARAMETER :: LAPI_UTIL_TYPE_T = 4
! lapi_reg_dgsp_t
      INTEGER, PARAMETER :: LAPI_REGISTER_DGSP = 0
! lapi_dref_dgsp_t
      INTEGER, PARAMETER :: LAPI_UNRESERVE_DGSP = 1
! lapi_resv_dgsp_t
      INTEGER, PARAMETER :: LAPI_RESERVE_DGSP = 2
! lapi_reg_ddm_t
      INTEGER, PARAMETER :: LAPI_REG_DDM_FUNC = 3
! lapi_add_udp_port_t
      INTEGER, PARAMETER :: LAPI_ADD_UDP_DEST_PORT = 4
! lapi_pack_dgsp_t
      INTEGER, PARAMETER :: LAPI_DGSP_PACK = 5
! lapi_unpack_dgsp_t
      INTEGER, PARAMETER :: LAPI_DGSP_UNPACK = 6
! lapi_thread_func_t
      INTEGER, PARAMETER :: LAPI_GET_THREAD_FUNC = 7

! Register a DGSP (table 15).
      TYPE LAPI_REG_DGSP_T
      SEQUENCE
! LAPI_REGISTER_DGSP
      INTEGER(KIND=4) :: Util_type
! fills a gap
      INTEGER(KIND=4) :: pad
! in: the program
      INTEGER(KIND=LAPI_ADDR_TYPE) :: idgsp
! out: its handle
      INTEGER(KIND=LAPI_ADDR_TYPE) :: dgsp_handle
! for debugging only
      INTEGER(KIND=LAPI_ADDR_TYPE) :: in_usr_func
! reserved
      INTEGER(KIND=4) :: status
! fills a gap
      INTEGER(KIND=4) :: pad2
      END TYPE LAPI_REG_DGSP_T

! Give up a DGSP (table 17).
      TYPE LAPI_DREF_DGSP_T
      SEQUENCE
! LAPI_UNRESERVE_DGSP
      INTEGER(KIND=4) :: Util_type
! fills a gap
      INTEGER(KIND=4) :: pad
! in: its handle
      INTEGER(KIND=LAPI_ADDR_TYPE) :: dgsp_handle
! for debugging only
      INTEGER(KIND=LAPI_ADDR_TYPE) :: in_usr_func
! reserved
      INTEGER(KIND=4) :: status
! fills a gap
      INTEGER(KIND=4) :: pad2
      END TYPE LAPI_DREF_DGSP_T

! Keep a DGSP (table 16).
      TYPE LAPI_RESV_DGSP_T
      SEQUENCE
! LAPI_RESERVE_DGSP
      INTEGER(KIND=4) :: Util_type
! fills a gap
      INTEGER(KIND=4) :: pad
! in: its handle
      INTEGER(KIND=LAPI_ADDR_TYPE) :: dgsp_handle
! for debugging only
      INTEGER(KIND=LAPI_ADDR_TYPE) :: in_usr_func
! reserved
      INTEGER(KIND=4) :: status
! fills a gap
      INTEGER(KIND=4) :: pad2
      END TYPE LAPI_RESV_DGSP_T

! Register the DDM function (table 18).
      TYPE LAPI_REG_DDM_T
      SEQUENCE
! LAPI_REG_DDM_FUNC
      INTEGER(KIND=4) :: Util_type
! fills a gap
      INTEGER(KIND=4) :: pad
! in: the function
      INTEGER(KIND=LAPI_ADDR_TYPE) :: ddm_func
! for debugging only
      INTEGER(KIND=LAPI_ADDR_TYPE) :: in_usr_func
! reserved
      INTEGER(KIND=4) :: status
! fills a gap
      INTEGER(KIND=4) :: pad2
      END TYPE LAPI_REG_DDM_T

! Tell the UDP address of a task (table 21).
      TYPE LAPI_ADD_UDP_PORT_T
      SEQUENCE
! LAPI_ADD_UDP_DEST_PORT
      INTEGER(KIND=4) :: Util_type
! in: the task
      INTEGER(KIND=4) :: tgt
! in: its address
      INTEGER(KIND=LAPI_ADDR_TYPE) :: udp_port
! in: network instance
      INTEGER(KIND=4) :: instance_no
! fills a gap
      INTEGER(KIND=4) :: pad
! for debugging only
      INTEGER(KIND=LAPI_ADDR_TYPE) :: in_usr_func
! reserved
      INTEGER(KIND=4) :: status
! fills a gap
      INTEGER(KIND=4) :: pad2
      END TYPE LAPI_ADD_UDP_PORT_T

! Gather into a contiguous buffer (table 19).
      TYPE LAPI_PACK_DGSP_T
      SEQUENCE
! LAPI_DGSP_PACK
      INTEGER(KIND=4) :: Util_type
! fills a gap
      INTEGER(KIND=4) :: pad
! in: layout of in_buf
      INTEGER(KIND=LAPI_ADDR_TYPE) :: dgsp_handle
! in: what to gather
      INTEGER(KIND=LAPI_ADDR_TYPE) :: in_buf
! in: how many bytes
      INTEGER(KIND=LAPI_ADDR_TYPE) :: bytes
! out: the contiguous buffer
      INTEGER(KIND=LAPI_ADDR_TYPE) :: out_buf
! in: its size in bytes
      INTEGER(KIND=LAPI_ADDR_TYPE) :: out_size
! in and out: offset in the contiguous buffer
      INTEGER(KIND=LAPI_ADDR_TYPE) :: position
! for debugging only
      INTEGER(KIND=LAPI_ADDR_TYPE) :: in_usr_func
! reserved
      INTEGER(KIND=4) :: status
! fills a gap
      INTEGER(KIND=4) :: pad2
      END TYPE LAPI_PACK_DGSP_T

! Scatter from a contiguous buffer (table 20).
      TYPE LAPI_UNPACK_DGSP_T
      SEQUENCE
! LAPI_DGSP_UNPACK
      INTEGER(KIND=4) :: Util_type
! fills a gap
      INTEGER(KIND=4) :: pad
! in: layout of out_buf
      INTEGER(KIND=LAPI_ADDR_TYPE) :: dgsp_handle
! in: the contiguous buffer
      INTEGER(KIND=LAPI_ADDR_TYPE) :: buf
! in: its size in bytes
      INTEGER(KIND=LAPI_ADDR_TYPE) :: in_size
! out: where the data go
      INTEGER(KIND=LAPI_ADDR_TYPE) :: out_buf
! in: how many bytes
      INTEGER(KIND=LAPI_ADDR_TYPE) :: bytes
! in: size of out_buf in bytes
      INTEGER(KIND=LAPI_ADDR_TYPE) :: out_size
! in and out: offset in the contiguous buffer
      INTEGER(KIND=LAPI_ADDR_TYPE) :: position
! for debugging only
      INTEGER(KIND=LAPI_ADDR_TYPE) :: in_usr_func
! reserved
      INTEGER(KIND=4) :: status
! fills a gap
      INTEGER(KIND=4) :: pad2
      END TYPE LAPI_UNPACK_DGSP_T

! A condition variable for the lock of a context. Initialize it with
! cond_init.
      TYPE LAPI_COND_T
      SEQUENCE
! used by LAPI
      INTEGER(KIND=LAPI_ADDR_TYPE) :: opaque(6)
      END TYPE LAPI_COND_T

! Kind. Takes the lock of a context. Returns 0 or EINVAL.
      INTEGER, PARAMETER :: LAPI_MUTEX_LOCK_T = 8

! Kind. Releases the lock. Returns 0 or EINVAL.
      INTEGER, PARAMETER :: LAPI_MUTEX_UNLOCK_T = 8

! Kind. Takes the lock if it is free. Returns 0, EBUSY or EINVAL.
      INTEGER, PARAMETER :: LAPI_MUTEX_TRYLOCK_T = 8

! Kind. Tells who holds the lock: LAPI_NULL_THREAD_ID if nobody does.
      INTEGER, PARAMETER :: LAPI_MUTEX_GETOWNER_T = 8

! Kind. Waits for a signal; the caller holds the lock.
      INTEGER, PARAMETER :: LAPI_COND_WAIT_T = 8

! Kind. Waits until an absolute time at most. Returns 0, ETIMEDOUT or
! EINVAL.
      INTEGER, PARAMETER :: LAPI_COND_TIMEDWAIT_T = 8

! Kind. Wakes one thread that waits.
      INTEGER, PARAMETER :: LAPI_COND_SIGNAL_T = 8

! Kind. Initializes a condition variable. Returns 0, EAGAIN, ENOMEM or
! EINVAL.
      INTEGER, PARAMETER :: LAPI_COND_INIT_T = 8

! Kind. Ends the use of a condition variable. Returns 0, EBUSY or
! EINVAL.
      INTEGER, PARAMETER :: LAPI_COND_DESTROY_T = 8
! No thread.
      INTEGER(KIND=LAPI_LONG_TYPE), PARAMETER :: LAPI_NULL_THREAD_ID = 0

! The functions of the shared lock (table 22).
      TYPE LAPI_THREAD_FUNC_T
      SEQUENCE
! LAPI_GET_THREAD_FUNC
      INTEGER(KIND=4) :: Util_type
! fills a gap
      INTEGER(KIND=4) :: pad
! out
      INTEGER(KIND=LAPI_ADDR_TYPE) :: mutex_lock
! out
      INTEGER(KIND=LAPI_ADDR_TYPE) :: mutex_unlock
! out
      INTEGER(KIND=LAPI_ADDR_TYPE) :: mutex_trylock
! out
      INTEGER(KIND=LAPI_ADDR_TYPE) :: mutex_getowner
! out
      INTEGER(KIND=LAPI_ADDR_TYPE) :: cond_wait
! out
      INTEGER(KIND=LAPI_ADDR_TYPE) :: cond_timedwait
! out
      INTEGER(KIND=LAPI_ADDR_TYPE) :: cond_signal
! out
      INTEGER(KIND=LAPI_ADDR_TYPE) :: cond_init
! out
      INTEGER(KIND=LAPI_ADDR_TYPE) :: cond_destroy
! for debugging only
      INTEGER(KIND=LAPI_ADDR_TYPE) :: in_usr_func
! reserved
      INTEGER(KIND=4) :: status
! fills a gap
      INTEGER(KIND=4) :: pad2
      END TYPE LAPI_THREAD_FUNC_T
