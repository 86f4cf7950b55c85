! Sorts numbers by their range. The job splits into two teams, and each team sorts numbers of its own: its members count
! how many of their numbers fall into which member's range, exchange the counts, then the numbers, and learn from a scan
! where their numbers stand among all of the team.
! tasks: 4
! output: team 0: numbers by member 1023 977
! output: team 0, member 0: numbers 1 to 1023 are 0 to 499
! output: team 0, member 1: numbers 1024 to 2000 are 500 to 999
! output: team 1: numbers by member 997 1003
! output: team 1, member 0: numbers 1 to 997 are 0 to 499
! output: team 1, member 1: numbers 998 to 2000 are 500 to 999

program histogram
  use lapis ! and all of module lapi
  implicit none
  integer, parameter :: N = 1000, BELOW = 1000 ! numbers of each task, from 0 to BELOW - 1
  integer, parameter :: L = LAPI_LONG_TYPE ! the kind of counts
  type(LAPI_INFO_T) :: info
  integer(LAPIS_TEAM_T) :: team
  integer(LAPIS_REQUEST_T) :: request
  integer :: h, err, me, tasks, colour, rank, members, m
  integer :: numbers(N)
  integer, allocatable :: sorted(:)
  integer(L), allocatable :: give(:), get(:), total(:)
  integer(L), asynchronous :: mine, before ! in use until the request has ended

  info = LAPI_INFO_T(0, LAST_LIB, 0, 0, 0, 0, 0, 0, 0, 0)
  call LAPI_INIT(h, info, err)
  call ok('LAPI_INIT')
  call LAPI_QENV(h, TASK_ID, me, err)
  call LAPI_QENV(h, NUM_TASKS, tasks, err)

  ! Tasks with even numbers are a team, tasks with odd numbers are another one.
  colour = modulo(me, 2)
  call lapis_team_split(h, LAPIS_WORLD, colour, int(me, L), team, err)
  call ok('lapis_team_split')
  call lapis_team_rank(h, team, rank, err)
  call lapis_team_size(h, team, members, err)

  ! The numbers for each member, side by side in the order of members.
  call draw()
  allocate (give(0:members - 1), get(0:members - 1), total(0:members - 1))
  numbers = [(pack(numbers, owner(numbers) == m), m = 0, members - 1)]
  give = [(count(owner(numbers) == m, kind=L), m = 0, members - 1)]

  ! How many numbers each member will have, and how many come here from each.
  call lapis_allreduce(h, team, give, total, int(members, L), LAPIS_I64, LAPIS_SUM, err)
  call ok('lapis_allreduce')
  if (rank == 0) write (*, '(A, I0, A, *(1X, I0))') 'team ', colour, ': numbers by member', total
  call lapis_alltoall(h, team, give, get, 1_L, LAPIS_I64, err)
  call ok('lapis_alltoall')

  ! How many numbers the members before this one will have: found while the numbers travel.
  mine = sum(get)
  before = 0
  call lapis_iexscan(h, team, mine, before, 1_L, LAPIS_I64, LAPIS_SUM, request, err)
  call ok('lapis_iexscan')
  allocate (sorted(mine))
  call lapis_alltoallv(h, team, numbers, give, starts(give), sorted, get, starts(get), LAPIS_I32, err)
  call ok('lapis_alltoallv')
  call lapis_wait(h, request, err)
  call ok('lapis_wait')
  write (*, '(*(A, I0))') 'team ', colour, ', member ', rank, ': numbers ', before + 1, ' to ', before + size(sorted), &
    ' are ', minval(sorted), ' to ', maxval(sorted)

  call lapis_team_free(h, team, err)
  call LAPI_GFENCE(h, err)
  call LAPI_TERM(h, err)
  call ok('LAPI_TERM')

contains

  ! The member in whose range a number falls.
  elemental integer function owner(number)
    integer, intent(in) :: number
    owner = number*members/BELOW
  end function owner

  ! Where parts begin that lie one behind the other, counted from 0.
  pure function starts(counts)
    integer(L), intent(in) :: counts(:)
    integer(L) :: starts(size(counts))
    integer :: i
    starts = [(sum(counts(:i - 1)), i = 1, size(counts))]
  end function starts

  ! Numbers that look like random ones, and are the same in every run.
  subroutine draw()
    integer(8) :: state
    integer :: i
    state = 12345 + me
    do i = 1, N
      state = modulo(state*16807, 2147483647_8)
      numbers(i) = int(state*BELOW/2147483647_8)
    end do
  end subroutine draw

  subroutine ok(what)
    character(len=*), intent(in) :: what
    character(len=200) :: text
    integer :: ignored
    if (err == LAPI_SUCCESS) return
    call lapis_error_text(text, len(text, L), ignored)
    write (*, '(2A, I0, 2A)') what, ' returned ', err, ': ', trim(text)
    error stop 1
  end subroutine ok
end program histogram
