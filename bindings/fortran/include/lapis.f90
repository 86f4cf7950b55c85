! module lapis: what Lapis offers Fortran programs beside LAPI (teams, collectives, memory that tasks reach directly), for
! Fortran 2018. It has the calls of lapis.h as subroutines with ierror last, and all of module lapi. Programs that use it run
! with Lapis alone. The manual has a page for each call.
!
! Written by `cargo xtask codegen` from bindings/lapi/api/lapis. Edit that.
!
! Tasks, ranks and starts are counted from 0. Buffers are variables of any type and rank, passed as themselves: no elements
! lie between those that are counted. Sections with gaps are for blocking calls only, for which compilers copy them. A
! nonblocking or persistent operation uses its buffers until it has ended: give them the asynchronous attribute, and the
! target attribute if their scope ends before.
!
! No code comes from this file: compile it after lapi.f90 for its .mod file, and link liblapi_r.
module lapis
  use lapi
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int32_t, c_int64_t, c_intptr_t, c_ptr
  implicit none
  private :: c_char, c_int, c_int32_t, c_int64_t, c_intptr_t, c_ptr

  ! As input, or at the root of a scatter as output: the data is where the other buffer has it. LAPI_ADDR_NULL stands for no
  ! buffer at all.
  integer(c_intptr_t), bind(C, name="lapis_in_place_"), protected :: LAPIS_IN_PLACE

  !
  ! Teams, types and operators of collectives
  !
  integer, parameter :: LAPIS_ERR_TEAM = 601 ! The team is none of this context's, or has been freed.
  ! The members make no team: there are none, one is named twice, one is no task of the job, or the caller is none of them.
  integer, parameter :: LAPIS_ERR_GROUP = 602
  ! The team is over: a member died, ended its context, was purged or restarted, or its call failed.
  integer, parameter :: LAPIS_ERR_TEAM_OVER = 603
  ! Members of the team made different calls, or calls with different roots, lengths, types or operators.
  integer, parameter :: LAPIS_ERR_MISMATCH = 604
  integer, parameter :: LAPIS_ERR_ROOT = 605 ! The root, or a rank in a list, is no member of the team.
  ! The counts of a collective are more than an address space, or a list of them is NULL.
  integer, parameter :: LAPIS_ERR_COUNT = 606
  integer, parameter :: LAPIS_ERR_TYPE = 607 ! The type of a collective's elements is not one that Lapis knows.
  ! The operator is not one that Lapis knows, has been freed, or means nothing on elements of this type.
  integer, parameter :: LAPIS_ERR_OP = 608
  ! An input or output of a collective is NULL although it has a length, or another member can't read it.
  integer, parameter :: LAPIS_ERR_BUFFER = 609
  ! The request is none of this context's, or is of another kind than the call wants.
  integer, parameter :: LAPIS_ERR_REQUEST = 610
  integer, parameter :: LAPIS_ERR_BUSY = 611 ! The request is under way, or another thread uses it.

  ! Kind. Names a team: tasks that call collectives together.
  integer, parameter :: LAPIS_TEAM_T = c_int
  integer, parameter :: LAPIS_WORLD = 0 ! the team of all tasks
  integer, parameter :: LAPIS_NO_TEAM = -1 ! no team: the caller is no member

  ! Kind. Names a nonblocking or persistent collective.
  integer, parameter :: LAPIS_REQUEST_T = c_int
  integer, parameter :: LAPIS_NO_REQUEST = 0 ! no request: the value of one that has been waited for

  ! Kind. Types of elements.
  integer, parameter :: LAPIS_TYPE_T = c_int
  integer, parameter :: LAPIS_I8 = 1 ! int8_t
  integer, parameter :: LAPIS_I16 = 2 ! int16_t
  integer, parameter :: LAPIS_I32 = 3 ! int32_t
  integer, parameter :: LAPIS_I64 = 4 ! int64_t
  integer, parameter :: LAPIS_U8 = 5 ! uint8_t, also plain bytes
  integer, parameter :: LAPIS_U16 = 6 ! uint16_t
  integer, parameter :: LAPIS_U32 = 7 ! uint32_t
  integer, parameter :: LAPIS_U64 = 8 ! uint64_t
  integer, parameter :: LAPIS_F32 = 9 ! float
  integer, parameter :: LAPIS_F64 = 10 ! double
  integer, parameter :: LAPIS_C32 = 11 ! two floats: a complex number
  integer, parameter :: LAPIS_C64 = 12 ! two doubles: a complex number
  integer, parameter :: LAPIS_BOOL = 13 ! a byte, true if not 0
  integer, parameter :: LAPIS_I32_AT = 14 ! int32_t and its location, an int32_t
  integer, parameter :: LAPIS_I64_AT = 15 ! int64_t and its location, an int64_t
  integer, parameter :: LAPIS_F32_AT = 16 ! float and its location, an int32_t
  integer, parameter :: LAPIS_F64_AT = 17 ! double and its location, an int64_t
  integer, parameter :: LAPIS_BYTES_FLAG = 1073741824 ! base of the types of LAPIS_BYTES

  ! Kind. Operators of reductions.
  integer, parameter :: LAPIS_OP_T = c_int
  integer, parameter :: LAPIS_SUM = 1 ! integers wrap around
  integer, parameter :: LAPIS_PRODUCT = 2 ! integers wrap around
  integer, parameter :: LAPIS_MIN = 3 ! of a number and not-a-number, the number
  integer, parameter :: LAPIS_MAX = 4 ! of a number and not-a-number, the number
  integer, parameter :: LAPIS_MIN_AT = 5 ! the minimum and its location, the first of several
  integer, parameter :: LAPIS_MAX_AT = 6 ! the maximum and its location, the first of several
  integer, parameter :: LAPIS_AND = 7 ! logical: of two operands and more, the result is 0 or 1; a single one stays as it is
  integer, parameter :: LAPIS_OR = 8 ! logical, as LAPIS_AND
  integer, parameter :: LAPIS_XOR = 9 ! logical, as LAPIS_AND
  integer, parameter :: LAPIS_BIT_AND = 10 ! bitwise
  integer, parameter :: LAPIS_BIT_OR = 11 ! bitwise
  integer, parameter :: LAPIS_BIT_XOR = 12 ! bitwise

  ! An edge of a graph: elements that are sent to a member, or received from it.
  type, bind(C) :: LAPIS_EDGE_T
    integer(c_int32_t) :: rank ! the member at the other end
    integer(c_int32_t) :: reserved = 0 ! 0
    integer(c_intptr_t) :: start ! the first element: in the input for edges to members, in the output for edges from them
    integer(c_intptr_t) :: count ! the number of elements
  end type LAPIS_EDGE_T

  ! An operator of the program: writes count elements, each of which combines left with right; left is of lower ranks. result
  ! is either left or right. It calls nothing of Lapis.
  abstract interface
    subroutine LAPIS_FOLD_T(left, right, result, count, arg) bind(C)
      import
      type(c_ptr), value :: left
      type(c_ptr), value :: right
      type(c_ptr), value :: result
      integer(LAPI_LONG_TYPE), value :: count
      type(c_ptr), value :: arg
    end subroutine LAPIS_FOLD_T
  end interface

  ! Runs when an operation has ended (lapis_request_then).
  abstract interface
    subroutine LAPIS_DONE_T(hndl, arg) bind(C)
      import
      integer(c_int), intent(in) :: hndl
      type(c_ptr), value :: arg
    end subroutine LAPIS_DONE_T
  end interface

  ! The type of opaque elements of 1 to 2**30 - 1 bytes, to be moved or for operators of the program.
  interface
    pure function LAPIS_BYTES(size) bind(C, name="lapis_bytes_") result(type)
      import
      integer(c_int), intent(in) :: size
      integer(LAPIS_TYPE_T) :: type
    end function LAPIS_BYTES
  end interface

  !
  ! Memory that tasks reach directly
  !

  ! Allocates zeroed memory that every task reaches as directly as the transports allow.
  interface
    subroutine lapis_alloc(hndl, len, addr, ierror) bind(C, name="lapis_alloc_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPI_LONG_TYPE), intent(in) :: len
      type(c_ptr), intent(out) :: addr
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_alloc
  end interface

  ! Frees memory of lapis_alloc; NULL does nothing.
  interface
    subroutine lapis_free(hndl, addr, ierror) bind(C, name="lapis_free_")
      import
      integer(c_int), intent(in) :: hndl
      type(c_ptr), intent(in) :: addr
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_free
  end interface

  ! Registers memory of the program, so that tasks reach it as directly as the transports allow.
  interface
    subroutine lapis_register(hndl, addr, len, ierror) bind(C, name="lapis_register_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: addr
      !DIR$ IGNORE_TKR addr
      type(*), asynchronous :: addr
      integer(LAPI_LONG_TYPE), intent(in) :: len
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_register
  end interface

  ! Ends a registration of lapis_register; NULL does nothing.
  interface
    subroutine lapis_unregister(hndl, addr, ierror) bind(C, name="lapis_unregister_")
      import
      integer(c_int), intent(in) :: hndl
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: addr
      !DIR$ IGNORE_TKR addr
      type(*) :: addr
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_unregister
  end interface

  !
  ! Teams
  !

  ! Creates the team of these tasks, in this order. Only the members call this.
  interface
    subroutine lapis_team_of(hndl, count, tasks, made, ierror) bind(C, name="lapis_team_of_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: count
      integer(c_int), dimension(*), intent(in) :: tasks
      integer(LAPIS_TEAM_T), intent(out) :: made
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_team_of
  end interface

  ! Creates the team of the tasks first, first + stride, ... Only the members call this.
  interface
    subroutine lapis_team_strided(hndl, first, stride, count, made, ierror) bind(C, name="lapis_team_strided_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: first
      integer(LAPI_LONG_TYPE), intent(in) :: stride
      integer(c_int), intent(in) :: count
      integer(LAPIS_TEAM_T), intent(out) :: made
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_team_strided
  end interface

  ! Creates the team of the members with these ranks, in this order.
  interface
    subroutine lapis_team_include(hndl, team, count, ranks, made, ierror) bind(C, name="lapis_team_include_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      integer(c_int), intent(in) :: count
      integer(c_int), dimension(*), intent(in) :: ranks
      integer(LAPIS_TEAM_T), intent(out) :: made
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_team_include
  end interface

  ! Creates the team of all members but those with these ranks.
  interface
    subroutine lapis_team_exclude(hndl, team, count, ranks, made, ierror) bind(C, name="lapis_team_exclude_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      integer(c_int), intent(in) :: count
      integer(c_int), dimension(*), intent(in) :: ranks
      integer(LAPIS_TEAM_T), intent(out) :: made
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_team_exclude
  end interface

  ! Creates the team of the members at ranks first, first + stride, and so on up to last.
  interface
    subroutine lapis_team_range(hndl, team, first, last, stride, made, ierror) bind(C, name="lapis_team_range_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      integer(c_int), intent(in) :: first
      integer(c_int), intent(in) :: last
      integer(LAPI_LONG_TYPE), intent(in) :: stride
      integer(LAPIS_TEAM_T), intent(out) :: made
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_team_range
  end interface

  ! Creates the team of the members of either team.
  interface
    subroutine lapis_team_union(hndl, team, other, made, ierror) bind(C, name="lapis_team_union_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      integer(LAPIS_TEAM_T), intent(in) :: other
      integer(LAPIS_TEAM_T), intent(out) :: made
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_team_union
  end interface

  ! Creates the team of the members of the first team that the second one does not have.
  interface
    subroutine lapis_team_difference(hndl, team, other, made, ierror) bind(C, name="lapis_team_difference_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      integer(LAPIS_TEAM_T), intent(in) :: other
      integer(LAPIS_TEAM_T), intent(out) :: made
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_team_difference
  end interface

  ! Creates the team of the members of both teams.
  interface
    subroutine lapis_team_intersection(hndl, team, other, made, ierror) bind(C, name="lapis_team_intersection_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      integer(LAPIS_TEAM_T), intent(in) :: other
      integer(LAPIS_TEAM_T), intent(out) :: made
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_team_intersection
  end interface

  ! Collective: splits a team by colour; each team is ordered by key.
  interface
    subroutine lapis_team_split(hndl, team, colour, key, made, ierror) bind(C, name="lapis_team_split_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      integer(c_int), intent(in) :: colour
      integer(LAPI_LONG_TYPE), intent(in) :: key
      integer(LAPIS_TEAM_T), intent(out) :: made
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_team_split
  end interface

  ! Frees a team. Local.
  interface
    subroutine lapis_team_free(hndl, team, ierror) bind(C, name="lapis_team_free_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_team_free
  end interface

  ! Returns the number of a team's members.
  interface
    subroutine lapis_team_size(hndl, team, size, ierror) bind(C, name="lapis_team_size_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      integer(c_int), intent(out) :: size
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_team_size
  end interface

  ! Returns the calling task's rank.
  interface
    subroutine lapis_team_rank(hndl, team, rank, ierror) bind(C, name="lapis_team_rank_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      integer(c_int), intent(out) :: rank
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_team_rank
  end interface

  ! Returns the task with a rank.
  interface
    subroutine lapis_team_task(hndl, team, rank, task, ierror) bind(C, name="lapis_team_task_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      integer(c_int), intent(in) :: rank
      integer(c_int), intent(out) :: task
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_team_task
  end interface

  ! Returns a member's rank in another team; -1 if it is no member there.
  interface
    subroutine lapis_team_translate(hndl, team, rank, other, there, ierror) bind(C, name="lapis_team_translate_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      integer(c_int), intent(in) :: rank
      integer(LAPIS_TEAM_T), intent(in) :: other
      integer(c_int), intent(out) :: there
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_team_translate
  end interface

  ! Sets whether reductions give the same bits whatever their length, the hosts and the transport.
  interface
    subroutine lapis_team_reproducible(hndl, team, on, ierror) bind(C, name="lapis_team_reproducible_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      integer(c_int), intent(in) :: on
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_team_reproducible
  end interface

  !
  ! Collectives: blocking, nonblocking (lapis_i*) and persistent (lapis_*_init, started by lapis_start)
  !

  ! Barrier: returns when all members have called.
  interface
    subroutine lapis_barrier(hndl, team, ierror) bind(C, name="lapis_barrier_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_barrier
    subroutine lapis_ibarrier(hndl, team, request, ierror) bind(C, name="lapis_ibarrier_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_ibarrier
    subroutine lapis_barrier_init(hndl, team, request, ierror) bind(C, name="lapis_barrier_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_barrier_init
  end interface

  ! Broadcasts the root's data to all members.
  interface
    subroutine lapis_bcast(hndl, team, data, count, type, root, ierror) bind(C, name="lapis_bcast_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: data
      !DIR$ IGNORE_TKR data
      type(*) :: data
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_bcast
    subroutine lapis_ibcast(hndl, team, data, count, type, root, request, ierror) bind(C, name="lapis_ibcast_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: data
      !DIR$ IGNORE_TKR data
      type(*), asynchronous :: data
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_ibcast
    subroutine lapis_bcast_init(hndl, team, data, count, type, root, request, ierror) bind(C, name="lapis_bcast_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: data
      !DIR$ IGNORE_TKR data
      type(*), asynchronous :: data
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_bcast_init
  end interface

  ! Broadcasts the root's data, from its layout to those of the others.
  interface
    subroutine lapis_bcastw(hndl, team, data, bytes, dgsp, root, ierror) bind(C, name="lapis_bcastw_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: data
      !DIR$ IGNORE_TKR data
      type(*) :: data
      integer(LAPI_LONG_TYPE), intent(in) :: bytes
      integer(LAPI_ADDR_TYPE), intent(in) :: dgsp
      integer(c_int), intent(in) :: root
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_bcastw
    subroutine lapis_ibcastw(hndl, team, data, bytes, dgsp, root, request, ierror) bind(C, name="lapis_ibcastw_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: data
      !DIR$ IGNORE_TKR data
      type(*), asynchronous :: data
      integer(LAPI_LONG_TYPE), intent(in) :: bytes
      integer(LAPI_ADDR_TYPE), intent(in) :: dgsp
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_ibcastw
    subroutine lapis_bcastw_init(hndl, team, data, bytes, dgsp, root, request, ierror) bind(C, name="lapis_bcastw_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: data
      !DIR$ IGNORE_TKR data
      type(*), asynchronous :: data
      integer(LAPI_LONG_TYPE), intent(in) :: bytes
      integer(LAPI_ADDR_TYPE), intent(in) :: dgsp
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_bcastw_init
  end interface

  ! Sends the root's data to the members with these ranks. All members of the team call.
  interface
    subroutine lapis_mcast(hndl, team, data, count, type, root, members, ranks, ierror) bind(C, name="lapis_mcast_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: data
      !DIR$ IGNORE_TKR data
      type(*) :: data
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(c_int), intent(in) :: members
      integer(c_int), dimension(*), intent(in) :: ranks
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_mcast
    subroutine lapis_imcast(hndl, team, data, count, type, root, members, ranks, request, ierror) &
      bind(C, name="lapis_imcast_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: data
      !DIR$ IGNORE_TKR data
      type(*), asynchronous :: data
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(c_int), intent(in) :: members
      integer(c_int), dimension(*), intent(in) :: ranks
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_imcast
    subroutine lapis_mcast_init(hndl, team, data, count, type, root, members, ranks, request, ierror) &
      bind(C, name="lapis_mcast_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: data
      !DIR$ IGNORE_TKR data
      type(*), asynchronous :: data
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(c_int), intent(in) :: members
      integer(c_int), dimension(*), intent(in) :: ranks
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_mcast_init
  end interface

  ! Reduces the inputs of all members at the root.
  interface
    subroutine lapis_reduce(hndl, team, input, output, count, type, op, root, ierror) bind(C, name="lapis_reduce_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(c_int), intent(in) :: root
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_reduce
    subroutine lapis_ireduce(hndl, team, input, output, count, type, op, root, request, ierror) &
      bind(C, name="lapis_ireduce_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_ireduce
    subroutine lapis_reduce_init(hndl, team, input, output, count, type, op, root, request, ierror) &
      bind(C, name="lapis_reduce_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_reduce_init
  end interface

  ! Reduces the inputs of all members, for all members.
  interface
    subroutine lapis_allreduce(hndl, team, input, output, count, type, op, ierror) bind(C, name="lapis_allreduce_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_allreduce
    subroutine lapis_iallreduce(hndl, team, input, output, count, type, op, request, ierror) &
      bind(C, name="lapis_iallreduce_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_iallreduce
    subroutine lapis_allreduce_init(hndl, team, input, output, count, type, op, request, ierror) &
      bind(C, name="lapis_allreduce_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_allreduce_init
  end interface

  ! Reduces the inputs of all members and gives each its part of the result.
  interface
    subroutine lapis_reduce_scatter(hndl, team, input, output, counts, type, op, ierror) &
      bind(C, name="lapis_reduce_scatter_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: counts
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_reduce_scatter
    subroutine lapis_ireduce_scatter(hndl, team, input, output, counts, type, op, request, ierror) &
      bind(C, name="lapis_ireduce_scatter_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: counts
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_ireduce_scatter
    subroutine lapis_reduce_scatter_init(hndl, team, input, output, counts, type, op, request, ierror) &
      bind(C, name="lapis_reduce_scatter_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: counts
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_reduce_scatter_init
  end interface

  ! Reduces the inputs of all members and gives each its part of the result: count elements.
  interface
    subroutine lapis_reduce_scatter_block(hndl, team, input, output, count, type, op, ierror) &
      bind(C, name="lapis_reduce_scatter_block_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_reduce_scatter_block
    subroutine lapis_ireduce_scatter_block(hndl, team, input, output, count, type, op, request, ierror) &
      bind(C, name="lapis_ireduce_scatter_block_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_ireduce_scatter_block
    subroutine lapis_reduce_scatter_block_init(hndl, team, input, output, count, type, op, request, ierror) &
      bind(C, name="lapis_reduce_scatter_block_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_reduce_scatter_block_init
  end interface

  ! Gathers the inputs of all members at the root, by rank.
  interface
    subroutine lapis_gather(hndl, team, input, output, count, type, root, ierror) bind(C, name="lapis_gather_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_gather
    subroutine lapis_igather(hndl, team, input, output, count, type, root, request, ierror) bind(C, name="lapis_igather_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_igather
    subroutine lapis_gather_init(hndl, team, input, output, count, type, root, request, ierror) &
      bind(C, name="lapis_gather_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_gather_init
  end interface

  ! Gathers inputs of any lengths at the root.
  interface
    subroutine lapis_gatherv(hndl, team, input, count, output, counts, starts, type, root, ierror) &
      bind(C, name="lapis_gatherv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      integer(LAPI_LONG_TYPE), intent(in) :: count
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: counts
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: starts
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_gatherv
    subroutine lapis_igatherv(hndl, team, input, count, output, counts, starts, type, root, request, ierror) &
      bind(C, name="lapis_igatherv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(LAPI_LONG_TYPE), intent(in) :: count
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: counts
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: starts
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_igatherv
    subroutine lapis_gatherv_init(hndl, team, input, count, output, counts, starts, type, root, request, ierror) &
      bind(C, name="lapis_gatherv_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(LAPI_LONG_TYPE), intent(in) :: count
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: counts
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: starts
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_gatherv_init
  end interface

  ! Gathers parts at the root, each in a layout of its own.
  interface
    subroutine lapis_gatherw(hndl, team, input, bytes, dgsp, output, get_bytes, get_starts, get_dgsps, root, ierror) &
      bind(C, name="lapis_gatherw_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      integer(LAPI_LONG_TYPE), intent(in) :: bytes
      integer(LAPI_ADDR_TYPE), intent(in) :: dgsp
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_bytes
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_starts
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: get_dgsps
      integer(c_int), intent(in) :: root
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_gatherw
    subroutine lapis_igatherw(hndl, team, input, bytes, dgsp, output, get_bytes, get_starts, get_dgsps, root, request, &
      ierror) bind(C, name="lapis_igatherw_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(LAPI_LONG_TYPE), intent(in) :: bytes
      integer(LAPI_ADDR_TYPE), intent(in) :: dgsp
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_bytes
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_starts
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: get_dgsps
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_igatherw
    subroutine lapis_gatherw_init(hndl, team, input, bytes, dgsp, output, get_bytes, get_starts, get_dgsps, root, request, &
      ierror) bind(C, name="lapis_gatherw_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(LAPI_LONG_TYPE), intent(in) :: bytes
      integer(LAPI_ADDR_TYPE), intent(in) :: dgsp
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_bytes
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_starts
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: get_dgsps
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_gatherw_init
  end interface

  ! Scatters the root's input: each member gets its part.
  interface
    subroutine lapis_scatter(hndl, team, input, output, count, type, root, ierror) bind(C, name="lapis_scatter_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_scatter
    subroutine lapis_iscatter(hndl, team, input, output, count, type, root, request, ierror) bind(C, name="lapis_iscatter_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_iscatter
    subroutine lapis_scatter_init(hndl, team, input, output, count, type, root, request, ierror) &
      bind(C, name="lapis_scatter_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_scatter_init
  end interface

  ! Scatters the root's input, in parts of any lengths.
  interface
    subroutine lapis_scatterv(hndl, team, input, counts, starts, output, count, type, root, ierror) &
      bind(C, name="lapis_scatterv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: counts
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: starts
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_scatterv
    subroutine lapis_iscatterv(hndl, team, input, counts, starts, output, count, type, root, request, ierror) &
      bind(C, name="lapis_iscatterv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: counts
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: starts
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_iscatterv
    subroutine lapis_scatterv_init(hndl, team, input, counts, starts, output, count, type, root, request, ierror) &
      bind(C, name="lapis_scatterv_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: counts
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: starts
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_scatterv_init
  end interface

  ! Scatters the root's data, each part in a layout of its own.
  interface
    subroutine lapis_scatterw(hndl, team, input, give_bytes, give_starts, give_dgsps, output, bytes, dgsp, root, ierror) &
      bind(C, name="lapis_scatterw_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_bytes
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_starts
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: give_dgsps
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), intent(in) :: bytes
      integer(LAPI_ADDR_TYPE), intent(in) :: dgsp
      integer(c_int), intent(in) :: root
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_scatterw
    subroutine lapis_iscatterw(hndl, team, input, give_bytes, give_starts, give_dgsps, output, bytes, dgsp, root, request, &
      ierror) bind(C, name="lapis_iscatterw_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_bytes
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_starts
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: give_dgsps
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: bytes
      integer(LAPI_ADDR_TYPE), intent(in) :: dgsp
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_iscatterw
    subroutine lapis_scatterw_init(hndl, team, input, give_bytes, give_starts, give_dgsps, output, bytes, dgsp, root, &
      request, ierror) bind(C, name="lapis_scatterw_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_bytes
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_starts
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: give_dgsps
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: bytes
      integer(LAPI_ADDR_TYPE), intent(in) :: dgsp
      integer(c_int), intent(in) :: root
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_scatterw_init
  end interface

  ! Gathers the inputs of all members at all members, by rank.
  interface
    subroutine lapis_allgather(hndl, team, input, output, count, type, ierror) bind(C, name="lapis_allgather_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_allgather
    subroutine lapis_iallgather(hndl, team, input, output, count, type, request, ierror) bind(C, name="lapis_iallgather_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_iallgather
    subroutine lapis_allgather_init(hndl, team, input, output, count, type, request, ierror) &
      bind(C, name="lapis_allgather_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_allgather_init
  end interface

  ! Gathers inputs of any lengths at all members.
  interface
    subroutine lapis_allgatherv(hndl, team, input, output, counts, starts, type, ierror) bind(C, name="lapis_allgatherv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: counts
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: starts
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_allgatherv
    subroutine lapis_iallgatherv(hndl, team, input, output, counts, starts, type, request, ierror) &
      bind(C, name="lapis_iallgatherv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: counts
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: starts
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_iallgatherv
    subroutine lapis_allgatherv_init(hndl, team, input, output, counts, starts, type, request, ierror) &
      bind(C, name="lapis_allgatherv_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: counts
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: starts
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_allgatherv_init
  end interface

  ! Gathers parts at all members, each in a layout of its own.
  interface
    subroutine lapis_allgatherw(hndl, team, input, bytes, dgsp, output, get_bytes, get_starts, get_dgsps, ierror) &
      bind(C, name="lapis_allgatherw_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      integer(LAPI_LONG_TYPE), intent(in) :: bytes
      integer(LAPI_ADDR_TYPE), intent(in) :: dgsp
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_bytes
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_starts
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: get_dgsps
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_allgatherw
    subroutine lapis_iallgatherw(hndl, team, input, bytes, dgsp, output, get_bytes, get_starts, get_dgsps, request, ierror) &
      bind(C, name="lapis_iallgatherw_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(LAPI_LONG_TYPE), intent(in) :: bytes
      integer(LAPI_ADDR_TYPE), intent(in) :: dgsp
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_bytes
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_starts
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: get_dgsps
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_iallgatherw
    subroutine lapis_allgatherw_init(hndl, team, input, bytes, dgsp, output, get_bytes, get_starts, get_dgsps, request, &
      ierror) bind(C, name="lapis_allgatherw_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(LAPI_LONG_TYPE), intent(in) :: bytes
      integer(LAPI_ADDR_TYPE), intent(in) :: dgsp
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_bytes
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_starts
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: get_dgsps
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_allgatherw_init
  end interface

  ! Exchanges parts of count elements between all members.
  interface
    subroutine lapis_alltoall(hndl, team, input, output, count, type, ierror) bind(C, name="lapis_alltoall_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_alltoall
    subroutine lapis_ialltoall(hndl, team, input, output, count, type, request, ierror) bind(C, name="lapis_ialltoall_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_ialltoall
    subroutine lapis_alltoall_init(hndl, team, input, output, count, type, request, ierror) &
      bind(C, name="lapis_alltoall_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_alltoall_init
  end interface

  ! Exchanges parts of any lengths between all members.
  interface
    subroutine lapis_alltoallv(hndl, team, input, give_counts, give_starts, output, get_counts, get_starts, type, ierror) &
      bind(C, name="lapis_alltoallv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_counts
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_starts
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_counts
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_starts
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_alltoallv
    subroutine lapis_ialltoallv(hndl, team, input, give_counts, give_starts, output, get_counts, get_starts, type, request, &
      ierror) bind(C, name="lapis_ialltoallv_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_counts
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_starts
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_counts
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_starts
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_ialltoallv
    subroutine lapis_alltoallv_init(hndl, team, input, give_counts, give_starts, output, get_counts, get_starts, type, &
      request, ierror) bind(C, name="lapis_alltoallv_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_counts
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_starts
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_counts
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_starts
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_alltoallv_init
  end interface

  ! Exchanges parts between all members, each in a layout of its own.
  interface
    subroutine lapis_alltoallw(hndl, team, input, give_bytes, give_starts, give_dgsps, output, get_bytes, get_starts, &
      get_dgsps, ierror) bind(C, name="lapis_alltoallw_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_bytes
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_starts
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: give_dgsps
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_bytes
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_starts
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: get_dgsps
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_alltoallw
    subroutine lapis_ialltoallw(hndl, team, input, give_bytes, give_starts, give_dgsps, output, get_bytes, get_starts, &
      get_dgsps, request, ierror) bind(C, name="lapis_ialltoallw_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_bytes
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_starts
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: give_dgsps
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_bytes
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_starts
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: get_dgsps
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_ialltoallw
    subroutine lapis_alltoallw_init(hndl, team, input, give_bytes, give_starts, give_dgsps, output, get_bytes, get_starts, &
      get_dgsps, request, ierror) bind(C, name="lapis_alltoallw_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_bytes
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: give_starts
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: give_dgsps
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_bytes
      integer(LAPI_LONG_TYPE), dimension(*), intent(in) :: get_starts
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: get_dgsps
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_alltoallw_init
  end interface

  ! Inclusive scan: reduces the inputs of the members up to the caller, in order.
  interface
    subroutine lapis_scan(hndl, team, input, output, count, type, op, ierror) bind(C, name="lapis_scan_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_scan
    subroutine lapis_iscan(hndl, team, input, output, count, type, op, request, ierror) bind(C, name="lapis_iscan_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_iscan
    subroutine lapis_scan_init(hndl, team, input, output, count, type, op, request, ierror) bind(C, name="lapis_scan_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_scan_init
  end interface

  ! Exclusive scan: reduces the inputs of the members before the caller, in order; rank 0's output is unchanged.
  interface
    subroutine lapis_exscan(hndl, team, input, output, count, type, op, ierror) bind(C, name="lapis_exscan_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_exscan
    subroutine lapis_iexscan(hndl, team, input, output, count, type, op, request, ierror) bind(C, name="lapis_iexscan_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_iexscan
    subroutine lapis_exscan_init(hndl, team, input, output, count, type, op, request, ierror) &
      bind(C, name="lapis_exscan_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(LAPI_LONG_TYPE), intent(in) :: count
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_OP_T), intent(in) :: op
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_exscan_init
  end interface

  ! Exchanges along the edges of a graph; each member gives its own edges.
  interface
    subroutine lapis_neighbours(hndl, team, input, outs, to, output, ins, from, type, ierror) &
      bind(C, name="lapis_neighbours_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      integer(c_int), intent(in) :: outs
      type(LAPIS_EDGE_T), dimension(*), intent(in) :: to
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(c_int), intent(in) :: ins
      type(LAPIS_EDGE_T), dimension(*), intent(in) :: from
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_neighbours
    subroutine lapis_ineighbours(hndl, team, input, outs, to, output, ins, from, type, request, ierror) &
      bind(C, name="lapis_ineighbours_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(c_int), intent(in) :: outs
      type(LAPIS_EDGE_T), dimension(*), intent(in) :: to
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(c_int), intent(in) :: ins
      type(LAPIS_EDGE_T), dimension(*), intent(in) :: from
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_ineighbours
    subroutine lapis_neighbours_init(hndl, team, input, outs, to, output, ins, from, type, request, ierror) &
      bind(C, name="lapis_neighbours_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(c_int), intent(in) :: outs
      type(LAPIS_EDGE_T), dimension(*), intent(in) :: to
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(c_int), intent(in) :: ins
      type(LAPIS_EDGE_T), dimension(*), intent(in) :: from
      integer(LAPIS_TYPE_T), intent(in) :: type
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_neighbours_init
  end interface

  ! Exchanges along the edges of a graph, each part in a layout of its own.
  interface
    subroutine lapis_neighboursw(hndl, team, input, outs, to, give_dgsps, output, ins, from, get_dgsps, ierror) &
      bind(C, name="lapis_neighboursw_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in) :: input
      integer(c_int), intent(in) :: outs
      type(LAPIS_EDGE_T), dimension(*), intent(in) :: to
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: give_dgsps
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*) :: output
      integer(c_int), intent(in) :: ins
      type(LAPIS_EDGE_T), dimension(*), intent(in) :: from
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: get_dgsps
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_neighboursw
    subroutine lapis_ineighboursw(hndl, team, input, outs, to, give_dgsps, output, ins, from, get_dgsps, request, ierror) &
      bind(C, name="lapis_ineighboursw_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(c_int), intent(in) :: outs
      type(LAPIS_EDGE_T), dimension(*), intent(in) :: to
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: give_dgsps
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(c_int), intent(in) :: ins
      type(LAPIS_EDGE_T), dimension(*), intent(in) :: from
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: get_dgsps
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_ineighboursw
    subroutine lapis_neighboursw_init(hndl, team, input, outs, to, give_dgsps, output, ins, from, get_dgsps, request, ierror) &
      bind(C, name="lapis_neighboursw_init_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_TEAM_T), intent(in) :: team
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: input
      !DIR$ IGNORE_TKR input
      type(*), intent(in), asynchronous :: input
      integer(c_int), intent(in) :: outs
      type(LAPIS_EDGE_T), dimension(*), intent(in) :: to
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: give_dgsps
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: output
      !DIR$ IGNORE_TKR output
      type(*), asynchronous :: output
      integer(c_int), intent(in) :: ins
      type(LAPIS_EDGE_T), dimension(*), intent(in) :: from
      integer(LAPI_ADDR_TYPE), dimension(*), intent(in) :: get_dgsps
      integer(LAPIS_REQUEST_T), intent(out) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_neighboursw_init
  end interface

  !
  ! Requests and operators
  !

  ! Waits for the end of an operation.
  interface
    subroutine lapis_wait(hndl, request, ierror) bind(C, name="lapis_wait_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_REQUEST_T), intent(inout) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_wait
  end interface

  ! Waits until all of them have ended.
  interface
    subroutine lapis_waitall(hndl, count, requests, ierror) bind(C, name="lapis_waitall_")
      import
      integer(c_int), intent(in) :: hndl
      integer(c_int), intent(in) :: count
      integer(LAPIS_REQUEST_T), dimension(*), intent(inout) :: requests
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_waitall
  end interface

  ! Makes progress, and returns whether an operation has ended.
  interface
    subroutine lapis_test(hndl, request, ended, ierror) bind(C, name="lapis_test_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_REQUEST_T), intent(inout) :: request
      integer(c_int), intent(out) :: ended
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_test
  end interface

  ! Starts a persistent operation of lapis_*_init.
  interface
    subroutine lapis_start(hndl, request, ierror) bind(C, name="lapis_start_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_REQUEST_T), intent(inout) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_start
  end interface

  ! Lets a counter be told of the end, by 1, instead of waiting for it.
  interface
    subroutine lapis_request_count(hndl, request, cntr, ierror) bind(C, name="lapis_request_count_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_REQUEST_T), intent(inout) :: request
      type(LAPI_CNTR_T), asynchronous :: cntr
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_request_count
  end interface

  ! Lets a completion handler run at the end, instead of waiting for it.
  interface
    subroutine lapis_request_then(hndl, request, done, arg, ierror) bind(C, name="lapis_request_then_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_REQUEST_T), intent(inout) :: request
      procedure(LAPIS_DONE_T) :: done
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: arg
      !DIR$ IGNORE_TKR arg
      type(*), asynchronous :: arg
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_request_then
  end interface

  ! Frees a persistent operation of lapis_*_init.
  interface
    subroutine lapis_request_free(hndl, request, ierror) bind(C, name="lapis_request_free_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_REQUEST_T), intent(inout) :: request
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_request_free
  end interface

  ! Makes an operator of a function.
  interface
    subroutine lapis_op_create(hndl, fold, commutes, arg, op, ierror) bind(C, name="lapis_op_create_")
      import
      integer(c_int), intent(in) :: hndl
      procedure(LAPIS_FOLD_T) :: fold
      integer(c_int), intent(in) :: commutes
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: arg
      !DIR$ IGNORE_TKR arg
      type(*), asynchronous :: arg
      integer(LAPIS_OP_T), intent(out) :: op
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_op_create
  end interface

  ! Lets go of an operator. Collectives under way keep it.
  interface
    subroutine lapis_op_free(hndl, op, ierror) bind(C, name="lapis_op_free_")
      import
      integer(c_int), intent(in) :: hndl
      integer(LAPIS_OP_T), intent(in) :: op
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_op_free
  end interface

  ! Writes why this thread's last call of this header failed, with the numbers, for people.
  interface
    subroutine lapis_error_text(text, size, ierror) bind(C, name="lapis_error_text_")
      import
      character(kind=c_char), dimension(*), intent(out) :: text
      integer(LAPI_LONG_TYPE), intent(in) :: size
      integer(c_int), intent(out) :: ierror
    end subroutine lapis_error_text
  end interface
end module lapis
