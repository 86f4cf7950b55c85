! What the programs of this directory share: a context, and pairs of tasks of which the even one drives.
module buddies
  use lapi
  implicit none

  integer :: h = 0        ! the context
  integer :: me = -1      ! this task
  integer :: buddy = -1   ! the other one of the pair
  logical :: driving = .false.

  ! What other tasks write and count here, and what handlers keep.
  integer, parameter :: length = 8
  integer, target, asynchronous, volatile :: buffer(length) = 0
  type(LAPI_CNTR_T), volatile :: arrivals

contains

  subroutine ok(what, err)
    character(len=*), intent(in) :: what
    integer, intent(in) :: err
    character(len=LAPI_MAX_ERR_STRING) :: text
    integer :: ignored
    if (err == LAPI_SUCCESS) return
    call LAPI_MSG_STRING(err, text, ignored)
    write (*, '(4A)') what, ': ', trim(text)
    error stop 1
  end subroutine ok

  subroutine start()
    type(LAPI_INFO_T) :: info
    integer :: n, err
    info = LAPI_INFO_T(0, LAST_LIB, 0, 0, 0, 0, 0, 0, 0, 0)
    call LAPI_INIT(h, info, err)
    call ok('LAPI_INIT', err)
    call LAPI_QENV(h, TASK_ID, me, err)
    call LAPI_QENV(h, NUM_TASKS, n, err)
    if (modulo(n, 2) /= 0) error stop 'an even number of tasks is needed'
    driving = modulo(me, 2) == 0
    buddy = merge(me + 1, me - 1, driving)
    call LAPI_SETCNTR(h, arrivals, 0, err)
    call ok('LAPI_SETCNTR', err)
  end subroutine start

  ! Where the buddy has something: every task says where it has its own.
  function address_at_buddy(mine) result(theirs)
    integer(LAPI_ADDR_TYPE), intent(in) :: mine
    integer(LAPI_ADDR_TYPE) :: theirs
    integer(LAPI_ADDR_TYPE), allocatable :: table(:)
    integer :: n, err
    call LAPI_QENV(h, NUM_TASKS, n, err)
    allocate (table(0:n - 1))
    call LAPI_ADDRESS_INIT(h, mine, table, err)
    call ok('LAPI_ADDRESS_INIT', err)
    theirs = table(buddy)
  end function address_at_buddy

  subroutine wait_for(cntr)
    type(LAPI_CNTR_T), intent(inout) :: cntr
    integer :: err
    call LAPI_WAITCNTR(h, cntr, 1, LAPI_ADDR_NULL, err)
    call ok('LAPI_WAITCNTR', err)
  end subroutine wait_for

  subroutine finish()
    integer :: err
    call LAPI_GFENCE(h, err)
    call ok('LAPI_GFENCE', err)
    call LAPI_TERM(h, err)
    call ok('LAPI_TERM', err)
  end subroutine finish
end module buddies
