! module acp: Advanced Communication Primitives for Fortran 2008 and later, implemented by Lapis.
!
! Written by `cargo xtask codegen` from acp.h, acpdl.h and xtask/src/codegen/acp_fortran.f90. Edit
! those.
!
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

  interface
    function acp_init(argc, argv) bind(C, name="acp_init")
      import
      integer(c_int), optional, intent(inout) :: argc
      type(c_ptr), optional, intent(inout) :: argv
      integer(c_int) :: acp_init
    end function acp_init
    function acp_finalize() bind(C, name="acp_finalize")
      import
      integer(c_int) :: acp_finalize
    end function acp_finalize
    function acp_reset(rank) bind(C, name="acp_reset")
      import
      integer(c_int), value :: rank
      integer(c_int) :: acp_reset
    end function acp_reset
    subroutine acp_abort(str) bind(C, name="acp_abort")
      import
      character(kind=c_char), dimension(*), intent(in) :: str
    end subroutine acp_abort
    function acp_procs() bind(C, name="acp_procs")
      import
      integer(c_int) :: acp_procs
    end function acp_procs
    function acp_rank() bind(C, name="acp_rank")
      import
      integer(c_int) :: acp_rank
    end function acp_rank
    function acp_sync() bind(C, name="acp_sync")
      import
      integer(c_int) :: acp_sync
    end function acp_sync
    function acp_errno_location() bind(C, name="acp_errno_location")
      import
      type(c_ptr) :: acp_errno_location
    end function acp_errno_location
    function acp_register_memory(addr, size, color) bind(C, name="acp_register_memory")
      import
      type(*), dimension(*), asynchronous :: addr
      integer(c_size_t), value :: size
      integer(c_int), value :: color
      integer(acp_atkey_t) :: acp_register_memory
    end function acp_register_memory
    function acp_unregister_memory(atkey) bind(C, name="acp_unregister_memory")
      import
      integer(acp_atkey_t), value :: atkey
      integer(c_int) :: acp_unregister_memory
    end function acp_unregister_memory
    function acp_query_ga(atkey, addr) bind(C, name="acp_query_ga")
      import
      integer(acp_atkey_t), value :: atkey
      type(*), dimension(*), asynchronous :: addr
      integer(acp_ga_t) :: acp_query_ga
    end function acp_query_ga
    function acp_query_starter_ga(rank) bind(C, name="acp_query_starter_ga")
      import
      integer(c_int), value :: rank
      integer(acp_ga_t) :: acp_query_starter_ga
    end function acp_query_starter_ga
    function acp_query_address(ga) bind(C, name="acp_query_address")
      import
      integer(acp_ga_t), value :: ga
      type(c_ptr) :: acp_query_address
    end function acp_query_address
    function acp_query_rank(ga) bind(C, name="acp_query_rank")
      import
      integer(acp_ga_t), value :: ga
      integer(c_int) :: acp_query_rank
    end function acp_query_rank
    function acp_query_color(ga) bind(C, name="acp_query_color")
      import
      integer(acp_ga_t), value :: ga
      integer(c_int) :: acp_query_color
    end function acp_query_color
    function acp_colors() bind(C, name="acp_colors")
      import
      integer(c_int) :: acp_colors
    end function acp_colors
    function acp_copy(dst, src, size, order) bind(C, name="acp_copy")
      import
      integer(acp_ga_t), value :: dst
      integer(acp_ga_t), value :: src
      integer(c_size_t), value :: size
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_copy
    end function acp_copy
    function acp_cas4(dst, src, oldval, newval, order) bind(C, name="acp_cas4")
      import
      integer(acp_ga_t), value :: dst
      integer(acp_ga_t), value :: src
      integer(c_int32_t), value :: oldval
      integer(c_int32_t), value :: newval
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_cas4
    end function acp_cas4
    function acp_cas8(dst, src, oldval, newval, order) bind(C, name="acp_cas8")
      import
      integer(acp_ga_t), value :: dst
      integer(acp_ga_t), value :: src
      integer(c_int64_t), value :: oldval
      integer(c_int64_t), value :: newval
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_cas8
    end function acp_cas8
    function acp_swap4(dst, src, value, order) bind(C, name="acp_swap4")
      import
      integer(acp_ga_t), value :: dst
      integer(acp_ga_t), value :: src
      integer(c_int32_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_swap4
    end function acp_swap4
    function acp_swap8(dst, src, value, order) bind(C, name="acp_swap8")
      import
      integer(acp_ga_t), value :: dst
      integer(acp_ga_t), value :: src
      integer(c_int64_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_swap8
    end function acp_swap8
    function acp_add4(dst, src, value, order) bind(C, name="acp_add4")
      import
      integer(acp_ga_t), value :: dst
      integer(acp_ga_t), value :: src
      integer(c_int32_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_add4
    end function acp_add4
    function acp_add8(dst, src, value, order) bind(C, name="acp_add8")
      import
      integer(acp_ga_t), value :: dst
      integer(acp_ga_t), value :: src
      integer(c_int64_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_add8
    end function acp_add8
    function acp_xor4(dst, src, value, order) bind(C, name="acp_xor4")
      import
      integer(acp_ga_t), value :: dst
      integer(acp_ga_t), value :: src
      integer(c_int32_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_xor4
    end function acp_xor4
    function acp_xor8(dst, src, value, order) bind(C, name="acp_xor8")
      import
      integer(acp_ga_t), value :: dst
      integer(acp_ga_t), value :: src
      integer(c_int64_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_xor8
    end function acp_xor8
    function acp_or4(dst, src, value, order) bind(C, name="acp_or4")
      import
      integer(acp_ga_t), value :: dst
      integer(acp_ga_t), value :: src
      integer(c_int32_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_or4
    end function acp_or4
    function acp_or8(dst, src, value, order) bind(C, name="acp_or8")
      import
      integer(acp_ga_t), value :: dst
      integer(acp_ga_t), value :: src
      integer(c_int64_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_or8
    end function acp_or8
    function acp_and4(dst, src, value, order) bind(C, name="acp_and4")
      import
      integer(acp_ga_t), value :: dst
      integer(acp_ga_t), value :: src
      integer(c_int32_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_and4
    end function acp_and4
    function acp_and8(dst, src, value, order) bind(C, name="acp_and8")
      import
      integer(acp_ga_t), value :: dst
      integer(acp_ga_t), value :: src
      integer(c_int64_t), value :: value
      integer(acp_handle_t), value :: order
      integer(acp_handle_t) :: acp_and8
    end function acp_and8
    subroutine acp_complete(handle) bind(C, name="acp_complete")
      import
      integer(acp_handle_t), value :: handle
    end subroutine acp_complete
    function acp_inquire(handle) bind(C, name="acp_inquire")
      import
      integer(acp_handle_t), value :: handle
      integer(c_int) :: acp_inquire
    end function acp_inquire
    function acp_create_ch(sender, receiver) bind(C, name="acp_create_ch")
      import
      integer(c_int), value :: sender
      integer(c_int), value :: receiver
      type(c_ptr) :: acp_create_ch
    end function acp_create_ch
    function acp_free_ch(ch) bind(C, name="acp_free_ch")
      import
      type(c_ptr), value :: ch
      integer(c_int) :: acp_free_ch
    end function acp_free_ch
    function acp_nbfree_ch(ch) bind(C, name="acp_nbfree_ch")
      import
      type(c_ptr), value :: ch
      type(c_ptr) :: acp_nbfree_ch
    end function acp_nbfree_ch
    function acp_nbsend_ch(ch, buf, size) bind(C, name="acp_nbsend_ch")
      import
      type(c_ptr), value :: ch
      type(*), dimension(*), asynchronous :: buf
      integer(c_size_t), value :: size
      type(c_ptr) :: acp_nbsend_ch
    end function acp_nbsend_ch
    function acp_nbrecv_ch(ch, buf, size) bind(C, name="acp_nbrecv_ch")
      import
      type(c_ptr), value :: ch
      type(*), dimension(*), asynchronous :: buf
      integer(c_size_t), value :: size
      type(c_ptr) :: acp_nbrecv_ch
    end function acp_nbrecv_ch
    function acp_wait_ch(request) bind(C, name="acp_wait_ch")
      import
      type(c_ptr), value :: request
      integer(c_size_t) :: acp_wait_ch
    end function acp_wait_ch
    function acp_waitall_ch(requests, count, sizes) bind(C, name="acp_waitall_ch")
      import
      type(c_ptr), dimension(*), intent(in) :: requests
      integer(c_int), value :: count
      integer(c_size_t), dimension(*), optional, intent(out) :: sizes
      integer(c_int) :: acp_waitall_ch
    end function acp_waitall_ch
    function acp_create_src_segbuf(dst_rank, buf, segsize, segnum) &
      bind(C, name="acp_create_src_segbuf")
      import
      integer(c_int), value :: dst_rank
      type(*), dimension(*), asynchronous :: buf
      integer(c_size_t), value :: segsize
      integer(c_size_t), value :: segnum
      type(c_ptr) :: acp_create_src_segbuf
    end function acp_create_src_segbuf
    function acp_create_dst_segbuf(src_rank, buf, segsize, segnum) &
      bind(C, name="acp_create_dst_segbuf")
      import
      integer(c_int), value :: src_rank
      type(*), dimension(*), asynchronous :: buf
      integer(c_size_t), value :: segsize
      integer(c_size_t), value :: segnum
      type(c_ptr) :: acp_create_dst_segbuf
    end function acp_create_dst_segbuf
    function acp_connect_segbuf(segbuf) bind(C, name="acp_connect_segbuf")
      import
      type(c_ptr), value :: segbuf
      integer(c_int) :: acp_connect_segbuf
    end function acp_connect_segbuf
    function acp_isconnected_segbuf(segbuf) bind(C, name="acp_isconnected_segbuf")
      import
      type(c_ptr), value :: segbuf
      integer(c_int) :: acp_isconnected_segbuf
    end function acp_isconnected_segbuf
    function acp_ready_segbuf(segbuf) bind(C, name="acp_ready_segbuf")
      import
      type(c_ptr), value :: segbuf
      integer(c_int) :: acp_ready_segbuf
    end function acp_ready_segbuf
    function acp_ack_segbuf(segbuf) bind(C, name="acp_ack_segbuf")
      import
      type(c_ptr), value :: segbuf
      integer(c_int) :: acp_ack_segbuf
    end function acp_ack_segbuf
    function acp_isready_segbuf(segbuf) bind(C, name="acp_isready_segbuf")
      import
      type(c_ptr), value :: segbuf
      integer(c_int) :: acp_isready_segbuf
    end function acp_isready_segbuf
    function acp_isacked_segbuf(segbuf) bind(C, name="acp_isacked_segbuf")
      import
      type(c_ptr), value :: segbuf
      integer(c_int) :: acp_isacked_segbuf
    end function acp_isacked_segbuf
    function acp_query_segbuf_head(segbuf) bind(C, name="acp_query_segbuf_head")
      import
      type(c_ptr), value :: segbuf
      integer(c_int64_t) :: acp_query_segbuf_head
    end function acp_query_segbuf_head
    function acp_query_segbuf_tail(segbuf) bind(C, name="acp_query_segbuf_tail")
      import
      type(c_ptr), value :: segbuf
      integer(c_int64_t) :: acp_query_segbuf_tail
    end function acp_query_segbuf_tail
    function acp_query_segbuf_sent(segbuf) bind(C, name="acp_query_segbuf_sent")
      import
      type(c_ptr), value :: segbuf
      integer(c_int64_t) :: acp_query_segbuf_sent
    end function acp_query_segbuf_sent
    function acp_disconnect_segbuf(segbuf) bind(C, name="acp_disconnect_segbuf")
      import
      type(c_ptr), value :: segbuf
      integer(c_int) :: acp_disconnect_segbuf
    end function acp_disconnect_segbuf
    function acp_free_segbuf(segbuf) bind(C, name="acp_free_segbuf")
      import
      type(c_ptr), value :: segbuf
      integer(c_int) :: acp_free_segbuf
    end function acp_free_segbuf
    function acp_create_ws(size) bind(C, name="acp_create_ws")
      import
      integer(c_size_t), value :: size
      type(c_ptr) :: acp_create_ws
    end function acp_create_ws
    function acp_setparams_ws(proc_start, size_default) bind(C, name="acp_setparams_ws")
      import
      integer(c_size_t), value :: proc_start
      integer(c_size_t), value :: size_default
      integer(c_int) :: acp_setparams_ws
    end function acp_setparams_ws
    subroutine acp_destroy_ws(WSD) bind(C, name="acp_destroy_ws")
      import
      type(c_ptr), value :: WSD
    end subroutine acp_destroy_ws
    function acp_read_ws(WSD, ga, size, offset) bind(C, name="acp_read_ws")
      import
      type(c_ptr), value :: WSD
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size
      integer(c_size_t), value :: offset
      integer(c_int) :: acp_read_ws
    end function acp_read_ws
    function acp_write_ws(WSD, ga, size, offset) bind(C, name="acp_write_ws")
      import
      type(c_ptr), value :: WSD
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size
      integer(c_size_t), value :: offset
      integer(c_int) :: acp_write_ws
    end function acp_write_ws
    function acp_malloc(size, rank) bind(C, name="acp_malloc")
      import
      integer(c_size_t), value :: size
      integer(c_int), value :: rank
      integer(acp_ga_t) :: acp_malloc
    end function acp_malloc
    subroutine acp_free(ga) bind(C, name="acp_free")
      import
      integer(acp_ga_t), value :: ga
    end subroutine acp_free
    function acp_create_vector(nelem, size, rank) bind(C, name="acp_create_vector")
      import
      integer(c_size_t), value :: nelem
      integer(c_size_t), value :: size
      integer(c_int), value :: rank
      integer(acp_ga_t) :: acp_create_vector
    end function acp_create_vector
    function acp_duplicate_vector(vector, rank) bind(C, name="acp_duplicate_vector")
      import
      integer(acp_ga_t), value :: vector
      integer(c_int), value :: rank
      integer(acp_ga_t) :: acp_duplicate_vector
    end function acp_duplicate_vector
    function acp_create_list(elsize, rank) bind(C, name="acp_create_list")
      import
      integer(c_size_t), value :: elsize
      integer(c_int), value :: rank
      integer(acp_ga_t) :: acp_create_list
    end function acp_create_list
    function acp_insert_list(list, it, ptr, rank) bind(C, name="acp_insert_list")
      import
      integer(acp_ga_t), value :: list
      integer(c_int), value :: it
      type(*), dimension(*), intent(in) :: ptr
      integer(c_int), value :: rank
      integer(c_int) :: acp_insert_list
    end function acp_insert_list
    function acp_erase_list(list, it) bind(C, name="acp_erase_list")
      import
      integer(acp_ga_t), value :: list
      integer(c_int), value :: it
      integer(c_int) :: acp_erase_list
    end function acp_erase_list
    subroutine acp_push_back_list(list, ptr, rank) bind(C, name="acp_push_back_list")
      import
      integer(acp_ga_t), value :: list
      type(*), dimension(*), intent(in) :: ptr
      integer(c_int), value :: rank
    end subroutine acp_push_back_list
    function acp_begin_list(list) bind(C, name="acp_begin_list")
      import
      integer(acp_ga_t), value :: list
      integer(c_int) :: acp_begin_list
    end function acp_begin_list
    function acp_end_list(list) bind(C, name="acp_end_list")
      import
      integer(acp_ga_t), value :: list
      integer(c_int) :: acp_end_list
    end function acp_end_list
    subroutine acp_increment_list(list) bind(C, name="acp_increment_list")
      import
      integer(c_int), intent(inout) :: list
    end subroutine acp_increment_list
    subroutine acp_decrement_list(list) bind(C, name="acp_decrement_list")
      import
      integer(c_int), intent(inout) :: list
    end subroutine acp_decrement_list
    function acp_dereference_list(it) bind(C, name="acp_dereference_list")
      import
      integer(c_int), value :: it
      type(acp_element_t) :: acp_dereference_list
    end function acp_dereference_list
    function acp_create_vector_3(size, rank) bind(C, name="acp_create_vector_3")
      import
      integer(c_size_t), value :: size
      integer(c_int), value :: rank
      integer(acp_ga_t) :: acp_create_vector_3
    end function acp_create_vector_3
    subroutine acp_assign_range_vector(vector, start, end) bind(C, name="acp_assign_range_vector")
      import
      integer(acp_ga_t), value :: vector
      type(acp_vector_it_t), value :: start
      type(acp_vector_it_t), value :: end
    end subroutine acp_assign_range_vector
    function acp_begin_vector(vector) bind(C, name="acp_begin_vector")
      import
      integer(acp_ga_t), value :: vector
      type(acp_vector_it_t) :: acp_begin_vector
    end function acp_begin_vector
    function acp_end_vector(vector) bind(C, name="acp_end_vector")
      import
      integer(acp_ga_t), value :: vector
      type(acp_vector_it_t) :: acp_end_vector
    end function acp_end_vector
    function acp_erase_vector(it, size) bind(C, name="acp_erase_vector")
      import
      type(acp_vector_it_t), value :: it
      integer(c_size_t), value :: size
      type(acp_vector_it_t) :: acp_erase_vector
    end function acp_erase_vector
    function acp_erase_range_vector(start, end) bind(C, name="acp_erase_range_vector")
      import
      type(acp_vector_it_t), value :: start
      type(acp_vector_it_t), value :: end
      type(acp_vector_it_t) :: acp_erase_range_vector
    end function acp_erase_range_vector
    function acp_insert_vector(it, ga, size) bind(C, name="acp_insert_vector")
      import
      type(acp_vector_it_t), value :: it
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size
      type(acp_vector_it_t) :: acp_insert_vector
    end function acp_insert_vector
    function acp_insert_range_vector(it, start, end) bind(C, name="acp_insert_range_vector")
      import
      type(acp_vector_it_t), value :: it
      type(acp_vector_it_t), value :: start
      type(acp_vector_it_t), value :: end
      type(acp_vector_it_t) :: acp_insert_range_vector
    end function acp_insert_range_vector
    function acp_advance_vector_it(it, n) bind(C, name="acp_advance_vector_it")
      import
      type(acp_vector_it_t), value :: it
      integer(c_int), value :: n
      type(acp_vector_it_t) :: acp_advance_vector_it
    end function acp_advance_vector_it
    function acp_dereference_vector_it(it) bind(C, name="acp_dereference_vector_it")
      import
      type(acp_vector_it_t), value :: it
      integer(acp_ga_t) :: acp_dereference_vector_it
    end function acp_dereference_vector_it
    function acp_distance_vector_it(first, last) bind(C, name="acp_distance_vector_it")
      import
      type(acp_vector_it_t), value :: first
      type(acp_vector_it_t), value :: last
      integer(c_int) :: acp_distance_vector_it
    end function acp_distance_vector_it
    function acp_create_list_3(rank) bind(C, name="acp_create_list_3")
      import
      integer(c_int), value :: rank
      integer(acp_ga_t) :: acp_create_list_3
    end function acp_create_list_3
    function acp_insert_list_3(it, elem, rank) bind(C, name="acp_insert_list_3")
      import
      type(acp_list_it_t), value :: it
      type(acp_element_t), value :: elem
      integer(c_int), value :: rank
      type(acp_list_it_t) :: acp_insert_list_3
    end function acp_insert_list_3
    function acp_erase_list_3(it) bind(C, name="acp_erase_list_3")
      import
      type(acp_list_it_t), value :: it
      type(acp_list_it_t) :: acp_erase_list_3
    end function acp_erase_list_3
    function acp_erase_range_list(start, end) bind(C, name="acp_erase_range_list")
      import
      type(acp_list_it_t), value :: start
      type(acp_list_it_t), value :: end
      type(acp_list_it_t) :: acp_erase_range_list
    end function acp_erase_range_list
    subroutine acp_push_back_list_3(list, elem, rank) bind(C, name="acp_push_back_list_3")
      import
      integer(acp_ga_t), value :: list
      type(acp_element_t), value :: elem
      integer(c_int), value :: rank
    end subroutine acp_push_back_list_3
    function acp_begin_list_3(list) bind(C, name="acp_begin_list_3")
      import
      integer(acp_ga_t), value :: list
      type(acp_list_it_t) :: acp_begin_list_3
    end function acp_begin_list_3
    function acp_end_list_3(list) bind(C, name="acp_end_list_3")
      import
      integer(acp_ga_t), value :: list
      type(acp_list_it_t) :: acp_end_list_3
    end function acp_end_list_3
    subroutine acp_assign_range_list(list, start, end) bind(C, name="acp_assign_range_list")
      import
      integer(acp_ga_t), value :: list
      type(acp_list_it_t), value :: start
      type(acp_list_it_t), value :: end
    end subroutine acp_assign_range_list
    function acp_insert_range_list(it, start, end) bind(C, name="acp_insert_range_list")
      import
      type(acp_list_it_t), value :: it
      type(acp_list_it_t), value :: start
      type(acp_list_it_t), value :: end
      type(acp_list_it_t) :: acp_insert_range_list
    end function acp_insert_range_list
    subroutine acp_splice_list(it1, it2) bind(C, name="acp_splice_list")
      import
      type(acp_list_it_t), value :: it1
      type(acp_list_it_t), value :: it2
    end subroutine acp_splice_list
    subroutine acp_splice_range_list(it, start, end) bind(C, name="acp_splice_range_list")
      import
      type(acp_list_it_t), value :: it
      type(acp_list_it_t), value :: start
      type(acp_list_it_t), value :: end
    end subroutine acp_splice_range_list
    function acp_advance_list_it(it, n) bind(C, name="acp_advance_list_it")
      import
      type(acp_list_it_t), value :: it
      integer(c_int), value :: n
      type(acp_list_it_t) :: acp_advance_list_it
    end function acp_advance_list_it
    function acp_increment_list_it(it) bind(C, name="acp_increment_list_it")
      import
      type(acp_list_it_t), value :: it
      type(acp_list_it_t) :: acp_increment_list_it
    end function acp_increment_list_it
    function acp_decrement_list_it(it) bind(C, name="acp_decrement_list_it")
      import
      type(acp_list_it_t), value :: it
      type(acp_list_it_t) :: acp_decrement_list_it
    end function acp_decrement_list_it
    function acp_dereference_list_it(it) bind(C, name="acp_dereference_list_it")
      import
      type(acp_list_it_t), value :: it
      type(acp_element_t) :: acp_dereference_list_it
    end function acp_dereference_list_it
    function acp_distance_list_it(first, last) bind(C, name="acp_distance_list_it")
      import
      type(acp_list_it_t), value :: first
      type(acp_list_it_t), value :: last
      integer(c_int) :: acp_distance_list_it
    end function acp_distance_list_it
    subroutine acp_destroy_vector(vector) bind(C, name="acp_destroy_vector")
      import
      integer(acp_ga_t), value :: vector
    end subroutine acp_destroy_vector
    subroutine acp_swap_vector(vector1, vector2) bind(C, name="acp_swap_vector")
      import
      integer(acp_ga_t), value :: vector1
      integer(acp_ga_t), value :: vector2
    end subroutine acp_swap_vector
    subroutine acp_assign_vector(vector1, vector2) bind(C, name="acp_assign_vector")
      import
      integer(acp_ga_t), value :: vector1
      integer(acp_ga_t), value :: vector2
    end subroutine acp_assign_vector
    function acp_at_vector(vector, index) bind(C, name="acp_at_vector")
      import
      integer(acp_ga_t), value :: vector
      integer(c_int), value :: index
      integer(acp_ga_t) :: acp_at_vector
    end function acp_at_vector
    function acp_capacity_vector(vector) bind(C, name="acp_capacity_vector")
      import
      integer(acp_ga_t), value :: vector
      integer(c_size_t) :: acp_capacity_vector
    end function acp_capacity_vector
    subroutine acp_clear_vector(vector) bind(C, name="acp_clear_vector")
      import
      integer(acp_ga_t), value :: vector
    end subroutine acp_clear_vector
    function acp_empty_vector(vector) bind(C, name="acp_empty_vector")
      import
      integer(acp_ga_t), value :: vector
      integer(c_int) :: acp_empty_vector
    end function acp_empty_vector
    subroutine acp_pop_back_vector(vector, size) bind(C, name="acp_pop_back_vector")
      import
      integer(acp_ga_t), value :: vector
      integer(c_size_t), value :: size
    end subroutine acp_pop_back_vector
    subroutine acp_push_back_vector(vector, ga, size) bind(C, name="acp_push_back_vector")
      import
      integer(acp_ga_t), value :: vector
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size
    end subroutine acp_push_back_vector
    subroutine acp_reserve_vector(vector, size) bind(C, name="acp_reserve_vector")
      import
      integer(acp_ga_t), value :: vector
      integer(c_size_t), value :: size
    end subroutine acp_reserve_vector
    function acp_size_vector(vector) bind(C, name="acp_size_vector")
      import
      integer(acp_ga_t), value :: vector
      integer(c_size_t) :: acp_size_vector
    end function acp_size_vector
    subroutine acp_destroy_list(list) bind(C, name="acp_destroy_list")
      import
      integer(acp_ga_t), value :: list
    end subroutine acp_destroy_list
    subroutine acp_assign_list(list1, list2) bind(C, name="acp_assign_list")
      import
      integer(acp_ga_t), value :: list1
      integer(acp_ga_t), value :: list2
    end subroutine acp_assign_list
    subroutine acp_clear_list(list) bind(C, name="acp_clear_list")
      import
      integer(acp_ga_t), value :: list
    end subroutine acp_clear_list
    function acp_empty_list(list) bind(C, name="acp_empty_list")
      import
      integer(acp_ga_t), value :: list
      integer(c_int) :: acp_empty_list
    end function acp_empty_list
    subroutine acp_merge_list(list1, list2, comp) bind(C, name="acp_merge_list")
      import
      integer(acp_ga_t), value :: list1
      integer(acp_ga_t), value :: list2
      type(c_funptr), value :: comp
    end subroutine acp_merge_list
    subroutine acp_pop_back_list(list) bind(C, name="acp_pop_back_list")
      import
      integer(acp_ga_t), value :: list
    end subroutine acp_pop_back_list
    subroutine acp_pop_front_list(list) bind(C, name="acp_pop_front_list")
      import
      integer(acp_ga_t), value :: list
    end subroutine acp_pop_front_list
    subroutine acp_push_front_list(list, elem, rank) bind(C, name="acp_push_front_list")
      import
      integer(acp_ga_t), value :: list
      type(acp_element_t), value :: elem
      integer(c_int), value :: rank
    end subroutine acp_push_front_list
    subroutine acp_remove_list(list, elem) bind(C, name="acp_remove_list")
      import
      integer(acp_ga_t), value :: list
      type(acp_element_t), value :: elem
    end subroutine acp_remove_list
    subroutine acp_reverse_list(list) bind(C, name="acp_reverse_list")
      import
      integer(acp_ga_t), value :: list
    end subroutine acp_reverse_list
    function acp_size_list(list) bind(C, name="acp_size_list")
      import
      integer(acp_ga_t), value :: list
      integer(c_size_t) :: acp_size_list
    end function acp_size_list
    subroutine acp_sort_list(list, comp) bind(C, name="acp_sort_list")
      import
      integer(acp_ga_t), value :: list
      type(c_funptr), value :: comp
    end subroutine acp_sort_list
    subroutine acp_swap_list(list1, list2) bind(C, name="acp_swap_list")
      import
      integer(acp_ga_t), value :: list1
      integer(acp_ga_t), value :: list2
    end subroutine acp_swap_list
    subroutine acp_unique_list(list) bind(C, name="acp_unique_list")
      import
      integer(acp_ga_t), value :: list
    end subroutine acp_unique_list
    function acp_create_deque(size, rank) bind(C, name="acp_create_deque")
      import
      integer(c_size_t), value :: size
      integer(c_int), value :: rank
      integer(acp_ga_t) :: acp_create_deque
    end function acp_create_deque
    subroutine acp_destroy_deque(deque) bind(C, name="acp_destroy_deque")
      import
      integer(acp_ga_t), value :: deque
    end subroutine acp_destroy_deque
    subroutine acp_assign_deque(deque1, deque2) bind(C, name="acp_assign_deque")
      import
      integer(acp_ga_t), value :: deque1
      integer(acp_ga_t), value :: deque2
    end subroutine acp_assign_deque
    subroutine acp_assign_range_deque(deque, start, end) bind(C, name="acp_assign_range_deque")
      import
      integer(acp_ga_t), value :: deque
      type(acp_deque_it_t), value :: start
      type(acp_deque_it_t), value :: end
    end subroutine acp_assign_range_deque
    function acp_at_deque(deque, index) bind(C, name="acp_at_deque")
      import
      integer(acp_ga_t), value :: deque
      integer(c_int), value :: index
      integer(acp_ga_t) :: acp_at_deque
    end function acp_at_deque
    function acp_begin_deque(deque) bind(C, name="acp_begin_deque")
      import
      integer(acp_ga_t), value :: deque
      type(acp_deque_it_t) :: acp_begin_deque
    end function acp_begin_deque
    function acp_end_deque(deque) bind(C, name="acp_end_deque")
      import
      integer(acp_ga_t), value :: deque
      type(acp_deque_it_t) :: acp_end_deque
    end function acp_end_deque
    function acp_capacity_deque(deque) bind(C, name="acp_capacity_deque")
      import
      integer(acp_ga_t), value :: deque
      integer(c_size_t) :: acp_capacity_deque
    end function acp_capacity_deque
    subroutine acp_clear_deque(deque) bind(C, name="acp_clear_deque")
      import
      integer(acp_ga_t), value :: deque
    end subroutine acp_clear_deque
    function acp_empty_deque(deque) bind(C, name="acp_empty_deque")
      import
      integer(acp_ga_t), value :: deque
      integer(c_int) :: acp_empty_deque
    end function acp_empty_deque
    function acp_erase_deque(it, size) bind(C, name="acp_erase_deque")
      import
      type(acp_deque_it_t), value :: it
      integer(c_size_t), value :: size
      type(acp_deque_it_t) :: acp_erase_deque
    end function acp_erase_deque
    function acp_erase_range_deque(start, end) bind(C, name="acp_erase_range_deque")
      import
      type(acp_deque_it_t), value :: start
      type(acp_deque_it_t), value :: end
      type(acp_deque_it_t) :: acp_erase_range_deque
    end function acp_erase_range_deque
    function acp_insert_deque(it, ga, size) bind(C, name="acp_insert_deque")
      import
      type(acp_deque_it_t), value :: it
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size
      type(acp_deque_it_t) :: acp_insert_deque
    end function acp_insert_deque
    function acp_insert_range_deque(it, start, end) bind(C, name="acp_insert_range_deque")
      import
      type(acp_deque_it_t), value :: it
      type(acp_deque_it_t), value :: start
      type(acp_deque_it_t), value :: end
      type(acp_deque_it_t) :: acp_insert_range_deque
    end function acp_insert_range_deque
    subroutine acp_pop_back_deque(deque, size) bind(C, name="acp_pop_back_deque")
      import
      integer(acp_ga_t), value :: deque
      integer(c_size_t), value :: size
    end subroutine acp_pop_back_deque
    subroutine acp_pop_front_deque(deque, size) bind(C, name="acp_pop_front_deque")
      import
      integer(acp_ga_t), value :: deque
      integer(c_size_t), value :: size
    end subroutine acp_pop_front_deque
    subroutine acp_push_back_deque(deque, ga, size) bind(C, name="acp_push_back_deque")
      import
      integer(acp_ga_t), value :: deque
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size
    end subroutine acp_push_back_deque
    subroutine acp_push_front_deque(deque, ga, size) bind(C, name="acp_push_front_deque")
      import
      integer(acp_ga_t), value :: deque
      integer(acp_ga_t), value :: ga
      integer(c_size_t), value :: size
    end subroutine acp_push_front_deque
    subroutine acp_reserve_deque(deque, size) bind(C, name="acp_reserve_deque")
      import
      integer(acp_ga_t), value :: deque
      integer(c_size_t), value :: size
    end subroutine acp_reserve_deque
    function acp_size_deque(deque) bind(C, name="acp_size_deque")
      import
      integer(acp_ga_t), value :: deque
      integer(c_size_t) :: acp_size_deque
    end function acp_size_deque
    subroutine acp_swap_deque(deque1, deque2) bind(C, name="acp_swap_deque")
      import
      integer(acp_ga_t), value :: deque1
      integer(acp_ga_t), value :: deque2
    end subroutine acp_swap_deque
    function acp_advance_deque_it(it, n) bind(C, name="acp_advance_deque_it")
      import
      type(acp_deque_it_t), value :: it
      integer(c_int), value :: n
      type(acp_deque_it_t) :: acp_advance_deque_it
    end function acp_advance_deque_it
    function acp_dereference_deque_it(it, size) bind(C, name="acp_dereference_deque_it")
      import
      type(acp_deque_it_t), value :: it
      integer(c_size_t), value :: size
      type(acp_pair_t) :: acp_dereference_deque_it
    end function acp_dereference_deque_it
    function acp_distance_deque_it(first, last) bind(C, name="acp_distance_deque_it")
      import
      type(acp_deque_it_t), value :: first
      type(acp_deque_it_t), value :: last
      integer(c_int) :: acp_distance_deque_it
    end function acp_distance_deque_it
    function acp_create_set(num_ranks, ranks, num_slots, rank) bind(C, name="acp_create_set")
      import
      integer(c_int), value :: num_ranks
      integer(c_int), dimension(*), intent(in) :: ranks
      integer(c_int), value :: num_slots
      integer(c_int), value :: rank
      type(acp_set_t) :: acp_create_set
    end function acp_create_set
    subroutine acp_destroy_set(set) bind(C, name="acp_destroy_set")
      import
      type(acp_set_t), value :: set
    end subroutine acp_destroy_set
    subroutine acp_assign_set(set1, set2) bind(C, name="acp_assign_set")
      import
      type(acp_set_t), value :: set1
      type(acp_set_t), value :: set2
    end subroutine acp_assign_set
    subroutine acp_assign_local_set(set1, set2) bind(C, name="acp_assign_local_set")
      import
      type(acp_set_t), value :: set1
      type(acp_set_t), value :: set2
    end subroutine acp_assign_local_set
    function acp_begin_set(set) bind(C, name="acp_begin_set")
      import
      type(acp_set_t), value :: set
      type(acp_set_it_t) :: acp_begin_set
    end function acp_begin_set
    function acp_begin_local_set(set) bind(C, name="acp_begin_local_set")
      import
      type(acp_set_t), value :: set
      type(acp_set_it_t) :: acp_begin_local_set
    end function acp_begin_local_set
    subroutine acp_clear_set(set) bind(C, name="acp_clear_set")
      import
      type(acp_set_t), value :: set
    end subroutine acp_clear_set
    function acp_collapse_set(set) bind(C, name="acp_collapse_set")
      import
      type(acp_set_t), value :: set
      integer(acp_ga_t) :: acp_collapse_set
    end function acp_collapse_set
    function acp_empty_set(set) bind(C, name="acp_empty_set")
      import
      type(acp_set_t), value :: set
      integer(c_int) :: acp_empty_set
    end function acp_empty_set
    function acp_empty_local_set(set) bind(C, name="acp_empty_local_set")
      import
      type(acp_set_t), value :: set
      integer(c_int) :: acp_empty_local_set
    end function acp_empty_local_set
    function acp_end_set(set) bind(C, name="acp_end_set")
      import
      type(acp_set_t), value :: set
      type(acp_set_it_t) :: acp_end_set
    end function acp_end_set
    function acp_end_local_set(set) bind(C, name="acp_end_local_set")
      import
      type(acp_set_t), value :: set
      type(acp_set_it_t) :: acp_end_local_set
    end function acp_end_local_set
    function acp_find_set(set, key) bind(C, name="acp_find_set")
      import
      type(acp_set_t), value :: set
      type(acp_element_t), value :: key
      type(acp_set_it_t) :: acp_find_set
    end function acp_find_set
    function acp_insert_set(set, key) bind(C, name="acp_insert_set")
      import
      type(acp_set_t), value :: set
      type(acp_element_t), value :: key
      integer(c_int) :: acp_insert_set
    end function acp_insert_set
    subroutine acp_merge_set(set1, set2) bind(C, name="acp_merge_set")
      import
      type(acp_set_t), value :: set1
      type(acp_set_t), value :: set2
    end subroutine acp_merge_set
    subroutine acp_merge_local_set(set1, set2) bind(C, name="acp_merge_local_set")
      import
      type(acp_set_t), value :: set1
      type(acp_set_t), value :: set2
    end subroutine acp_merge_local_set
    subroutine acp_move_set(set1, set2) bind(C, name="acp_move_set")
      import
      type(acp_set_t), value :: set1
      type(acp_set_t), value :: set2
    end subroutine acp_move_set
    subroutine acp_move_local_set(set1, set2) bind(C, name="acp_move_local_set")
      import
      type(acp_set_t), value :: set1
      type(acp_set_t), value :: set2
    end subroutine acp_move_local_set
    subroutine acp_remove_set(set, key) bind(C, name="acp_remove_set")
      import
      type(acp_set_t), value :: set
      type(acp_element_t), value :: key
    end subroutine acp_remove_set
    function acp_size_set(set) bind(C, name="acp_size_set")
      import
      type(acp_set_t), value :: set
      integer(c_size_t) :: acp_size_set
    end function acp_size_set
    function acp_size_local_set(set) bind(C, name="acp_size_local_set")
      import
      type(acp_set_t), value :: set
      integer(c_size_t) :: acp_size_local_set
    end function acp_size_local_set
    subroutine acp_swap_set(set1, set2) bind(C, name="acp_swap_set")
      import
      type(acp_set_t), value :: set1
      type(acp_set_t), value :: set2
    end subroutine acp_swap_set
    function acp_dereference_set_it(it) bind(C, name="acp_dereference_set_it")
      import
      type(acp_set_it_t), value :: it
      type(acp_element_t) :: acp_dereference_set_it
    end function acp_dereference_set_it
    function acp_increment_set_it(it) bind(C, name="acp_increment_set_it")
      import
      type(acp_set_it_t), value :: it
      type(acp_set_it_t) :: acp_increment_set_it
    end function acp_increment_set_it
    function acp_create_multiset(num_ranks, ranks, num_slots, rank) &
      bind(C, name="acp_create_multiset")
      import
      integer(c_int), value :: num_ranks
      integer(c_int), dimension(*), intent(in) :: ranks
      integer(c_int), value :: num_slots
      integer(c_int), value :: rank
      type(acp_multiset_t) :: acp_create_multiset
    end function acp_create_multiset
    subroutine acp_destroy_multiset(set) bind(C, name="acp_destroy_multiset")
      import
      type(acp_multiset_t), value :: set
    end subroutine acp_destroy_multiset
    subroutine acp_assign_multiset(set1, set2) bind(C, name="acp_assign_multiset")
      import
      type(acp_multiset_t), value :: set1
      type(acp_multiset_t), value :: set2
    end subroutine acp_assign_multiset
    subroutine acp_assign_local_multiset(set1, set2) bind(C, name="acp_assign_local_multiset")
      import
      type(acp_multiset_t), value :: set1
      type(acp_multiset_t), value :: set2
    end subroutine acp_assign_local_multiset
    function acp_begin_multiset(set) bind(C, name="acp_begin_multiset")
      import
      type(acp_multiset_t), value :: set
      type(acp_multiset_it_t) :: acp_begin_multiset
    end function acp_begin_multiset
    function acp_begin_local_multiset(set) bind(C, name="acp_begin_local_multiset")
      import
      type(acp_multiset_t), value :: set
      type(acp_multiset_it_t) :: acp_begin_local_multiset
    end function acp_begin_local_multiset
    subroutine acp_clear_multiset(set) bind(C, name="acp_clear_multiset")
      import
      type(acp_multiset_t), value :: set
    end subroutine acp_clear_multiset
    function acp_collapse_multiset(set) bind(C, name="acp_collapse_multiset")
      import
      type(acp_multiset_t), value :: set
      type(acp_set_t) :: acp_collapse_multiset
    end function acp_collapse_multiset
    function acp_empty_multiset(set) bind(C, name="acp_empty_multiset")
      import
      type(acp_multiset_t), value :: set
      integer(c_int) :: acp_empty_multiset
    end function acp_empty_multiset
    function acp_empty_local_multiset(set) bind(C, name="acp_empty_local_multiset")
      import
      type(acp_multiset_t), value :: set
      integer(c_int) :: acp_empty_local_multiset
    end function acp_empty_local_multiset
    function acp_end_multiset(set) bind(C, name="acp_end_multiset")
      import
      type(acp_multiset_t), value :: set
      type(acp_multiset_it_t) :: acp_end_multiset
    end function acp_end_multiset
    function acp_end_local_multiset(set) bind(C, name="acp_end_local_multiset")
      import
      type(acp_multiset_t), value :: set
      type(acp_multiset_it_t) :: acp_end_local_multiset
    end function acp_end_local_multiset
    function acp_find_multiset(set, key) bind(C, name="acp_find_multiset")
      import
      type(acp_multiset_t), value :: set
      type(acp_element_t), value :: key
      type(acp_multiset_it_t) :: acp_find_multiset
    end function acp_find_multiset
    function acp_insert_multiset(set, key) bind(C, name="acp_insert_multiset")
      import
      type(acp_multiset_t), value :: set
      type(acp_element_t), value :: key
      integer(c_int) :: acp_insert_multiset
    end function acp_insert_multiset
    subroutine acp_merge_multiset(set1, set2) bind(C, name="acp_merge_multiset")
      import
      type(acp_multiset_t), value :: set1
      type(acp_multiset_t), value :: set2
    end subroutine acp_merge_multiset
    subroutine acp_merge_local_multiset(set1, set2) bind(C, name="acp_merge_local_multiset")
      import
      type(acp_multiset_t), value :: set1
      type(acp_multiset_t), value :: set2
    end subroutine acp_merge_local_multiset
    subroutine acp_move_multiset(set1, set2) bind(C, name="acp_move_multiset")
      import
      type(acp_multiset_t), value :: set1
      type(acp_multiset_t), value :: set2
    end subroutine acp_move_multiset
    subroutine acp_move_local_multiset(set1, set2) bind(C, name="acp_move_local_multiset")
      import
      type(acp_multiset_t), value :: set1
      type(acp_multiset_t), value :: set2
    end subroutine acp_move_local_multiset
    subroutine acp_remove_multiset(set, key) bind(C, name="acp_remove_multiset")
      import
      type(acp_multiset_t), value :: set
      type(acp_element_t), value :: key
    end subroutine acp_remove_multiset
    subroutine acp_remove_all_multiset(set, key) bind(C, name="acp_remove_all_multiset")
      import
      type(acp_multiset_t), value :: set
      type(acp_element_t), value :: key
    end subroutine acp_remove_all_multiset
    function acp_retrieve_multiset(set, key) bind(C, name="acp_retrieve_multiset")
      import
      type(acp_multiset_t), value :: set
      type(acp_element_t), value :: key
      integer(c_int64_t) :: acp_retrieve_multiset
    end function acp_retrieve_multiset
    function acp_size_multiset(set) bind(C, name="acp_size_multiset")
      import
      type(acp_multiset_t), value :: set
      integer(c_size_t) :: acp_size_multiset
    end function acp_size_multiset
    function acp_size_local_multiset(set) bind(C, name="acp_size_local_multiset")
      import
      type(acp_multiset_t), value :: set
      integer(c_size_t) :: acp_size_local_multiset
    end function acp_size_local_multiset
    subroutine acp_swap_multiset(set1, set2) bind(C, name="acp_swap_multiset")
      import
      type(acp_multiset_t), value :: set1
      type(acp_multiset_t), value :: set2
    end subroutine acp_swap_multiset
    function acp_dereference_multiset_it(it) bind(C, name="acp_dereference_multiset_it")
      import
      type(acp_multiset_it_t), value :: it
      type(acp_element_t) :: acp_dereference_multiset_it
    end function acp_dereference_multiset_it
    function acp_increment_multiset_it(it) bind(C, name="acp_increment_multiset_it")
      import
      type(acp_multiset_it_t), value :: it
      type(acp_multiset_it_t) :: acp_increment_multiset_it
    end function acp_increment_multiset_it
    function acp_create_map(num_ranks, ranks, num_slots, rank) bind(C, name="acp_create_map")
      import
      integer(c_int), value :: num_ranks
      integer(c_int), dimension(*), intent(in) :: ranks
      integer(c_int), value :: num_slots
      integer(c_int), value :: rank
      type(acp_map_t) :: acp_create_map
    end function acp_create_map
    subroutine acp_destroy_map(map) bind(C, name="acp_destroy_map")
      import
      type(acp_map_t), value :: map
    end subroutine acp_destroy_map
    subroutine acp_assign_map(map1, map2) bind(C, name="acp_assign_map")
      import
      type(acp_map_t), value :: map1
      type(acp_map_t), value :: map2
    end subroutine acp_assign_map
    subroutine acp_assign_local_map(map1, map2) bind(C, name="acp_assign_local_map")
      import
      type(acp_map_t), value :: map1
      type(acp_map_t), value :: map2
    end subroutine acp_assign_local_map
    function acp_begin_map(map) bind(C, name="acp_begin_map")
      import
      type(acp_map_t), value :: map
      type(acp_map_it_t) :: acp_begin_map
    end function acp_begin_map
    function acp_begin_local_map(map) bind(C, name="acp_begin_local_map")
      import
      type(acp_map_t), value :: map
      type(acp_map_it_t) :: acp_begin_local_map
    end function acp_begin_local_map
    subroutine acp_clear_map(map) bind(C, name="acp_clear_map")
      import
      type(acp_map_t), value :: map
    end subroutine acp_clear_map
    subroutine acp_clear_local_map(map) bind(C, name="acp_clear_local_map")
      import
      type(acp_map_t), value :: map
    end subroutine acp_clear_local_map
    function acp_empty_map(map) bind(C, name="acp_empty_map")
      import
      type(acp_map_t), value :: map
      integer(c_int) :: acp_empty_map
    end function acp_empty_map
    function acp_empty_local_map(map) bind(C, name="acp_empty_local_map")
      import
      type(acp_map_t), value :: map
      integer(c_int) :: acp_empty_local_map
    end function acp_empty_local_map
    function acp_end_map(map) bind(C, name="acp_end_map")
      import
      type(acp_map_t), value :: map
      type(acp_map_it_t) :: acp_end_map
    end function acp_end_map
    function acp_end_local_map(map) bind(C, name="acp_end_local_map")
      import
      type(acp_map_t), value :: map
      type(acp_map_it_t) :: acp_end_local_map
    end function acp_end_local_map
    function acp_find_map(map, key) bind(C, name="acp_find_map")
      import
      type(acp_map_t), value :: map
      type(acp_element_t), value :: key
      type(acp_map_it_t) :: acp_find_map
    end function acp_find_map
    function acp_insert_map(map, pair) bind(C, name="acp_insert_map")
      import
      type(acp_map_t), value :: map
      type(acp_pair_t), value :: pair
      integer(c_int) :: acp_insert_map
    end function acp_insert_map
    subroutine acp_merge_map(map1, map2) bind(C, name="acp_merge_map")
      import
      type(acp_map_t), value :: map1
      type(acp_map_t), value :: map2
    end subroutine acp_merge_map
    subroutine acp_merge_local_map(map1, map2) bind(C, name="acp_merge_local_map")
      import
      type(acp_map_t), value :: map1
      type(acp_map_t), value :: map2
    end subroutine acp_merge_local_map
    subroutine acp_move_map(map1, map2) bind(C, name="acp_move_map")
      import
      type(acp_map_t), value :: map1
      type(acp_map_t), value :: map2
    end subroutine acp_move_map
    subroutine acp_move_local_map(map1, map2) bind(C, name="acp_move_local_map")
      import
      type(acp_map_t), value :: map1
      type(acp_map_t), value :: map2
    end subroutine acp_move_local_map
    subroutine acp_remove_map(map, key) bind(C, name="acp_remove_map")
      import
      type(acp_map_t), value :: map
      type(acp_element_t), value :: key
    end subroutine acp_remove_map
    function acp_retrieve_map(map, pair) bind(C, name="acp_retrieve_map")
      import
      type(acp_map_t), value :: map
      type(acp_pair_t), value :: pair
      integer(c_size_t) :: acp_retrieve_map
    end function acp_retrieve_map
    function acp_size_map(map) bind(C, name="acp_size_map")
      import
      type(acp_map_t), value :: map
      integer(c_size_t) :: acp_size_map
    end function acp_size_map
    function acp_size_local_map(map) bind(C, name="acp_size_local_map")
      import
      type(acp_map_t), value :: map
      integer(c_size_t) :: acp_size_local_map
    end function acp_size_local_map
    subroutine acp_swap_map(map1, map2) bind(C, name="acp_swap_map")
      import
      type(acp_map_t), value :: map1
      type(acp_map_t), value :: map2
    end subroutine acp_swap_map
    function acp_dereference_map_it(it) bind(C, name="acp_dereference_map_it")
      import
      type(acp_map_it_t), value :: it
      type(acp_pair_t) :: acp_dereference_map_it
    end function acp_dereference_map_it
    function acp_increment_map_it(it) bind(C, name="acp_increment_map_it")
      import
      type(acp_map_it_t), value :: it
      type(acp_map_it_t) :: acp_increment_map_it
    end function acp_increment_map_it
  end interface
end module acp
