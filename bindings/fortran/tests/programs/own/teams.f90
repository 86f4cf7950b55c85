! Teams, requests, operators of the program, and memory that tasks reach directly.
module handlers
  use checks
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  ! A handler of the library's may run in another thread.
  integer, target, volatile :: told = 0
  integer, target :: modulus = 3

contains

  ! A function from the numbers below 3 to such numbers, one byte each: to compose them does not commute.
  subroutine compose(left, right, result, count, arg) bind(C)
    type(c_ptr), value :: left, right, result, arg
    integer(LAPI_LONG_TYPE), value :: count
    integer(1), pointer :: l(:, :), r(:, :), to(:, :)
    integer, pointer :: n
    integer :: made(3)
    integer(LAPI_LONG_TYPE) :: i
    integer :: x
    call c_f_pointer(arg, n)
    call c_f_pointer(left, l, [n, int(count)])
    call c_f_pointer(right, r, [n, int(count)])
    call c_f_pointer(result, to, [n, int(count)])
    do i = 1, count
      made = [(int(r(l(x, i) + 1, i)), x = 1, 3)]
      to(:, i) = int(made, 1)
    end do
  end subroutine compose

  subroutine tell(hndl, arg) bind(C)
    integer(c_int), intent(in) :: hndl
    type(c_ptr), value :: arg
    integer, pointer, volatile :: counted
    if (hndl /= h) error stop 'another context'
    call c_f_pointer(arg, counted)
    counted = counted + 1
  end subroutine tell
end module handlers

program teams
  use handlers
  implicit none
  call begin()
  call sets()
  call operators()
  call requests()
  call memory()
  call texts()
  call finish('every team works')

contains

  integer function size_of(team)
    integer(LAPIS_TEAM_T), intent(in) :: team
    call lapis_team_size(h, team, size_of, err)
    call ok('team_size')
  end function size_of

  integer function rank_in(team)
    integer(LAPIS_TEAM_T), intent(in) :: team
    call lapis_team_rank(h, team, rank_in, err)
    call ok('team_rank')
  end function rank_in

  subroutine free(team)
    integer(LAPIS_TEAM_T), intent(in) :: team
    if (team == LAPIS_NO_TEAM) return
    call lapis_barrier(h, team, err)
    call ok('barrier')
    call lapis_team_free(h, team, err)
    call ok('team_free')
  end subroutine free

  subroutine sets()
    integer(LAPIS_TEAM_T) :: back, all, evens, first, rest, both, odds
    integer :: task, there, i
    call lapis_team_of(h, tasks, [(tasks - 1 - i, i = 0, tasks - 1)], back, err)
    call ok('team_of')
    call check(rank_in(back) == tasks - 1 - me .and. size_of(back) == tasks, 'team_of')
    call lapis_team_task(h, back, 0, task, err)
    call ok('team_task')
    call check(task == tasks - 1, 'team_task')
    call lapis_team_translate(h, back, 0, LAPIS_WORLD, there, err)
    call ok('team_translate')
    call check(there == tasks - 1, 'team_translate')
    call lapis_team_strided(h, tasks - 1, -1_L, tasks, all, err)
    call ok('team_strided')
    call check(rank_in(all) == tasks - 1 - me, 'team_strided')
    call lapis_team_reproducible(h, all, 1, err)
    call ok('team_reproducible')
    call free(all)
    call lapis_team_range(h, LAPIS_WORLD, 0, tasks - 1, 2_L, evens, err)
    call ok('team_range')
    call check((evens == LAPIS_NO_TEAM) .eqv. (modulo(me, 2) == 1), 'team_range')
    call lapis_team_include(h, back, 1, [tasks - 1], first, err)
    call ok('team_include')
    call check((first == LAPIS_NO_TEAM) .eqv. (me /= 0), 'team_include')
    call lapis_team_exclude(h, back, 1, [tasks - 1], rest, err)
    call ok('team_exclude')
    call check((rest == LAPIS_NO_TEAM) .eqv. (me == 0), 'team_exclude')
    if (rest /= LAPIS_NO_TEAM) call check(size_of(rest) == tasks - 1, 'team_exclude')
    if (evens /= LAPIS_NO_TEAM) then
      call lapis_team_union(h, evens, back, all, err)
      call ok('team_union')
      call check(size_of(all) == tasks .and. rank_in(all) == me/2, 'team_union')
      call lapis_team_intersection(h, back, evens, both, err)
      call ok('team_intersection')
      call check(size_of(both) == (tasks + 1)/2, 'team_intersection')
      call free(both)
      call lapis_team_difference(h, evens, back, both, err)
      call ok('team_difference')
      call check(both == LAPIS_NO_TEAM, 'team_difference')
      call lapis_team_translate(h, evens, 0, evens, there, err)
      call check(there == 0, 'team_translate')
    end if
    call lapis_team_split(h, LAPIS_WORLD, merge(-1, 0, me == 0), 0_L, odds, err)
    call ok('team_split')
    call check((odds == LAPIS_NO_TEAM) .eqv. (me == 0), 'team_split')
    ! The union has other members than `evens` has: tasks with odd numbers are told of it here.
    if (evens == LAPIS_NO_TEAM) call join_union()
    if (evens /= LAPIS_NO_TEAM) call free(all)
    call free(odds)
    call free(rest)
    call free(first)
    call free(evens)
    call free(back)
  end subroutine sets

  ! The team that the tasks with even numbers have made by a union: the even ranks, then the others, highest first.
  subroutine join_union()
    integer(LAPIS_TEAM_T) :: all
    integer :: i
    call lapis_team_of(h, tasks, [[(i, i = 0, tasks - 1, 2)], [(i, i = tasks - 1 - modulo(tasks, 2), 1, -2)]], all, err)
    call ok('team_of')
    call free(all)
  end subroutine join_union

  subroutine operators()
    integer(1), parameter :: maps(3, 0:3) = reshape(int([1, 2, 0, 1, 0, 2, 0, 0, 1, 2, 1, 0], 1), [3, 4])
    integer(LAPIS_OP_T) :: op
    integer(1) :: mine(3, 50), all(3, 50)
    integer :: i, m, x, expected
    call check(LAPIS_BYTES(3) == ior(LAPIS_BYTES_FLAG, 3), 'LAPIS_BYTES')
    call lapis_op_create(h, compose, 0, modulus, op, err)
    call ok('op_create')
    do i = 1, 50
      mine(:, i) = maps(:, modulo(me + i, 4))
    end do
    call lapis_allreduce(h, LAPIS_WORLD, mine, all, 50_L, LAPIS_BYTES(3), op, err)
    call ok('allreduce by an operator of the program')
    do i = 1, 50
      do x = 0, 2
        expected = x
        do m = 0, tasks - 1
          expected = maps(expected + 1, modulo(m + i, 4))
        end do
        call check(all(x + 1, i) == expected, 'operator of the program')
      end do
    end do
    call lapis_op_free(h, op, err)
    call ok('op_free')
    call lapis_allreduce(h, LAPIS_WORLD, mine, all, 50_L, LAPIS_BYTES(3), op, err)
    call gives(LAPIS_ERR_OP, 'allreduce by a freed operator')
  end subroutine operators

  subroutine requests()
    integer, asynchronous :: sums(12)
    integer(LAPIS_REQUEST_T) :: several(12), one
    type(LAPI_CNTR_T), volatile :: done
    integer :: i, value
    ! Several at a time
    do i = 1, 12
      sums(i) = i*(me + 1)
      call lapis_iallreduce(h, LAPIS_WORLD, LAPIS_IN_PLACE, sums(i), 1_L, LAPIS_I32, LAPIS_SUM, several(i), err)
      call ok('iallreduce')
    end do
    call lapis_waitall(h, 12, several, err)
    call ok('waitall')
    call check(all(several == LAPIS_NO_REQUEST), 'waitall')
    call check(all(sums == [(i*tasks*(tasks + 1)/2, i = 1, 12)]), 'iallreduce')
    ! A counter is told of the end
    call LAPI_SETCNTR(h, done, 0, err)
    call lapis_ibarrier(h, LAPIS_WORLD, one, err)
    call ok('ibarrier')
    call lapis_request_count(h, one, done, err)
    call ok('request_count')
    call check(one == LAPIS_NO_REQUEST, 'request_count')
    call LAPI_WAITCNTR(h, done, 1, value, err)
    call ok('waitcntr')
    ! A handler is
    call lapis_ibarrier(h, LAPIS_WORLD, one, err)
    call ok('ibarrier')
    call lapis_request_then(h, one, tell, told, err)
    call ok('request_then')
    do while (told == 0)
      call LAPI_PROBE(h, err)
      call ok('probe')
    end do
    call check(told == 1 .and. one == LAPIS_NO_REQUEST, 'request_then')
  end subroutine requests

  ! Every task puts its number into the next one's memory.
  subroutine memory()
    type(c_ptr) :: addr
    integer(8), pointer, volatile :: shared(:)
    integer(8), target, volatile :: own(16)
    integer(8) :: word
    integer(LAPI_ADDR_TYPE) :: place, places(0:tasks - 1)
    integer :: next
    next = modulo(me + 1, tasks)
    call lapis_alloc(h, 128_L, addr, err)
    call ok('alloc')
    call c_f_pointer(addr, shared, [16])
    call check(all(shared == 0), 'alloc')
    call LAPI_ADDRESS(shared, place, err)
    call LAPI_ADDRESS_INIT(h, place, places, err)
    call ok('address_init')
    word = 100 + me
    call LAPI_PUT(h, next, 8_L, places(next) + 8, word, LAPI_ADDR_NULL, LAPI_ADDR_NULL, LAPI_ADDR_NULL, err)
    call ok('put')
    call LAPI_GFENCE(h, err)
    call check(shared(2) == 100 + modulo(me - 1, tasks), 'put to memory of lapis_alloc')
    call LAPI_GFENCE(h, err)
    call lapis_free(h, addr, err)
    call ok('free')
    call lapis_free(h, c_null_ptr, err)
    call ok('free of nothing')
    call lapis_free(h, c_loc(own), err)
    call gives(LAPI_ERR_TGT_ADDR_NULL, 'free of what was not allocated')
    own = 0
    call lapis_register(h, own, 128_L, err)
    call ok('register')
    call LAPI_ADDRESS(own, place, err)
    call LAPI_ADDRESS_INIT(h, place, places, err)
    call LAPI_PUT(h, next, 8_L, places(next), word, LAPI_ADDR_NULL, LAPI_ADDR_NULL, LAPI_ADDR_NULL, err)
    call ok('put')
    call LAPI_GFENCE(h, err)
    call check(own(1) == 100 + modulo(me - 1, tasks), 'put to registered memory')
    call LAPI_GFENCE(h, err)
    call lapis_unregister(h, own, err)
    call ok('unregister')
    call lapis_unregister(h, own, err)
    call gives(LAPI_ERR_TGT_ADDR_NULL, 'unregister of what is not registered')
  end subroutine memory

  ! A text ends in blanks, whatever stood there.
  subroutine texts()
    character(len=200) :: text
    character(len=8) :: short
    call lapis_barrier(h, 4711, err)
    call gives(LAPIS_ERR_TEAM, 'barrier of no team')
    text = repeat('#', len(text))
    call lapis_error_text(text, len(text, L), err)
    call ok('error_text')
    call check(index(text, '4711') > 0 .and. index(text, '#') == 0 .and. scan(text, achar(0)) == 0, 'error_text')
    call lapis_error_text(short, len(short, L), err)
    call ok('error_text')
    call check(short(:7) == text(:7) .and. short(8:) == ' ', 'short error_text')
    call lapis_error_text(short, 0_L, err)
    call gives(LAPI_ERR_RET_PTR_NULL, 'error_text of no length')
  end subroutine texts
end program teams
