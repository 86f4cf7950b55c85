! Calls are those of C, which man acp(3) and the headers describe: addresses, keys, handles, vectors,
! lists and deques are integers; channels, requests, segmented buffers and workspaces are of type
! c_ptr. acp_init() without arguments reads what acprun adds to the command line, and leaves it
! there: skip words that begin with --acp-. Strings end with c_null_char. What acp_query_address gives
! becomes an array by c_f_pointer. Memory that other processes write wants the attribute asynchronous
! or volatile.
!
! Names of release 1.0 are its calls; those of release 3.0 that have other arguments end in _3.
!
! No code comes from this file: compile it for its .mod file, and link libacp.
module acp
  use, intrinsic :: iso_c_binding, only: c_char, c_funptr, c_int, c_int32_t, c_int64_t, c_null_ptr, &
    c_ptr, c_size_t
  implicit none
  private :: c_char, c_funptr, c_int, c_int32_t, c_int64_t, c_null_ptr, c_ptr, c_size_t

  ! Kinds
  integer, parameter :: acp_ga_t = c_int64_t
  integer, parameter :: acp_atkey_t = c_int64_t
  integer, parameter :: acp_handle_t = c_int64_t

  integer(acp_ga_t), parameter :: ACP_GA_NULL = 0
  integer(acp_atkey_t), parameter :: ACP_ATKEY_NULL = 0
  integer(acp_handle_t), parameter :: ACP_HANDLE_NULL = 0
  integer(acp_handle_t), parameter :: ACP_HANDLE_ALL = -1
  integer(acp_handle_t), parameter :: ACP_HANDLE_CONT = -2
  integer(acp_ga_t), parameter :: ACP_VECTOR_NULL = 0
  integer(acp_ga_t), parameter :: ACP_LIST_NULL = 0
  type(c_ptr), parameter :: ACP_CH_NULL = c_null_ptr
  type(c_ptr), parameter :: ACP_REQUEST_NULL = c_null_ptr
  type(c_ptr), parameter :: ACP_SEGBUF_NULL = c_null_ptr

  type, bind(C) :: acp_element_t
    integer(acp_ga_t) :: ga
    integer(c_size_t) :: size
  end type acp_element_t

  type, bind(C) :: acp_pair_t
    type(acp_element_t) :: first
    type(acp_element_t) :: second
  end type acp_pair_t

  ! Iterators of release 3.0
  type, bind(C) :: acp_vector_it_t
    integer(acp_ga_t) :: vector
    integer(c_int) :: index
  end type acp_vector_it_t

  type, bind(C) :: acp_deque_it_t
    integer(acp_ga_t) :: deque
    integer(c_int) :: index
  end type acp_deque_it_t

  type, bind(C) :: acp_list_it_t
    integer(acp_ga_t) :: list
    integer(acp_ga_t) :: elem
  end type acp_list_it_t

  type, bind(C) :: acp_set_t
    integer(acp_ga_t) :: ga
    integer(c_int64_t) :: num_ranks
    integer(c_int64_t) :: num_slots
  end type acp_set_t

  type, bind(C) :: acp_set_it_t
    type(acp_set_t) :: set
    integer(c_int) :: rank
    integer(c_int) :: slot
    integer(acp_ga_t) :: elem
  end type acp_set_it_t

  type, bind(C) :: acp_multiset_t
    integer(acp_ga_t) :: ga
    integer(c_int64_t) :: num_ranks
    integer(c_int64_t) :: num_slots
  end type acp_multiset_t

  type, bind(C) :: acp_multiset_it_t
    type(acp_multiset_t) :: set
    integer(c_int) :: rank
    integer(c_int) :: slot
    integer(acp_ga_t) :: elem
  end type acp_multiset_it_t

  type, bind(C) :: acp_map_t
    integer(acp_ga_t) :: ga
    integer(c_int64_t) :: num_ranks
    integer(c_int64_t) :: num_slots
  end type acp_map_t

  type, bind(C) :: acp_map_it_t
    type(acp_map_t) :: map
    integer(c_int) :: rank
    integer(c_int) :: slot
    integer(acp_ga_t) :: elem
  end type acp_map_it_t

  ! The descriptor that a workspace's pointer leads to
  type, bind(C) :: acp_wsditem
    integer(c_size_t) :: size_ws
    integer(c_size_t) :: size_default
    integer(c_size_t) :: size_remainder
    integer(c_size_t) :: ngas
    integer(acp_atkey_t) :: key_data
    integer(acp_ga_t) :: ga_data
    type(c_ptr) :: keys
    type(c_ptr) :: gas
    type(c_ptr) :: procs
    type(c_ptr) :: sizes
    type(c_ptr) :: data
  end type acp_wsditem
