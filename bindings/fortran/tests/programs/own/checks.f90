! What the programs of `module lapis` share: the context, the forms of collectives, and checks.
module checks
  use lapis
  use, intrinsic :: iso_c_binding, only: c_ptr, c_loc, c_f_pointer, c_null_ptr
  implicit none
  integer, parameter :: L = LAPI_LONG_TYPE
  integer, parameter :: WAITED = 1, STARTED = 2, KEPT = 3

  integer :: h = -1, me = -1, tasks = 0
  integer :: form = WAITED, err = LAPI_SUCCESS
  integer(LAPIS_REQUEST_T) :: request = LAPIS_NO_REQUEST

contains

  subroutine begin()
    type(LAPI_INFO_T) :: info
    info = LAPI_INFO_T(0, LAST_LIB, 0, 0, 0, 0, 0, 0, 0, 0)
    call LAPI_INIT(h, info, err)
    call ok('init')
    call LAPI_QENV(h, TASK_ID, me, err)
    call LAPI_QENV(h, NUM_TASKS, tasks, err)
  end subroutine begin

  subroutine finish(what)
    character(len=*), intent(in) :: what
    call LAPI_GFENCE(h, err)
    call ok('gfence')
    call LAPI_TERM(h, err)
    call ok('term')
    write (*, '(A)') what
  end subroutine finish

  ! The last call succeeded.
  subroutine ok(what)
    character(len=*), intent(in) :: what
    call gives(LAPI_SUCCESS, what)
  end subroutine ok

  ! The last call returned this code.
  subroutine gives(code, what)
    integer, intent(in) :: code
    character(len=*), intent(in) :: what
    character(len=300) :: text
    integer :: ignored
    if (err == code) return
    call lapis_error_text(text, len(text, L), ignored)
    write (*, '(A, I0, 3A, I0, A, I0, 2A)') 'task ', me, ': ', what, ': ', err, ', not ', code, ': ', trim(text)
    error stop 1
  end subroutine gives

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    write (*, '(A, I0, 3A, I0)') 'task ', me, ': wrong: ', what, ', form ', form
    error stop 1
  end subroutine check

  ! Ends the collective that has been called in the present form.
  subroutine complete(what)
    character(len=*), intent(in) :: what
    integer :: round, ended
    call ok(what)
    if (form == STARTED) then
      call lapis_wait(h, request, err)
      call ok(what//': wait')
    else if (form == KEPT) then
      do round = 1, 2
        call lapis_start(h, request, err)
        call ok(what//': start')
        ended = 0
        do while (ended == 0)
          call lapis_test(h, request, ended, err)
          call ok(what//': test')
        end do
      end do
      call lapis_request_free(h, request, err)
      call ok(what//': request_free')
    end if
    call check(request == LAPIS_NO_REQUEST, what//': request')
  end subroutine complete

  ! What a member gives in a place.
  pure integer(8) function given(member, place)
    integer, intent(in) :: member, place
    given = 1000*(member + 1) + place
  end function given

  ! What all members before `until` give there, added up.
  pure integer(8) function total(until, place)
    integer, intent(in) :: until, place
    integer :: m
    total = sum([(given(m, place), m = 0, until - 1)])
  end function total
end module checks
