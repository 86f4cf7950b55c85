! LAPI_AMSEND: the driving task sends numbers with a header. At its buddy, the header handler says where they go, and the
! completion handler works with them.
! tasks: 2
! output: task 1: 8 numbers with tag 7, sum 36
module am_handlers
  use buddies
  implicit none
  integer, target, volatile :: tag = 0
contains
  function header(hndl, uhdr, uhdr_len, msg_len, comp_h, user_info) result(place)
    integer, intent(in) :: hndl, uhdr(*), uhdr_len
    integer(LAPI_LONG_TYPE), intent(in) :: msg_len
    integer(LAPI_ADDR_TYPE), intent(out) :: comp_h
    type(LAPI_ADDR_T), intent(out) :: user_info
    integer(LAPI_ADDR_TYPE) :: place
    integer :: err
    if (hndl /= h .or. uhdr_len /= 8 .or. msg_len /= 4*length) error stop 'another message'
    tag = uhdr(1)
    call LAPI_ADDRESS(completed, comp_h, err)
    call LAPI_ADDRESS(tag, user_info%addr, err)
    call LAPI_ADDRESS(buffer, place, err)
  end function header

  subroutine completed(hndl, what)
    integer, intent(in) :: hndl, what
    if (hndl /= h) error stop 'another context'
    write (*, '(3(A, I0), A, I0)') 'task ', me, ': ', length, ' numbers with tag ', what, ', sum ', sum(buffer)
  end subroutine completed
end module am_handlers

program am
  use am_handlers
  implicit none
  integer, asynchronous :: numbers(length), uhdr(2)
  integer(LAPI_ADDR_TYPE) :: mine, counter_there, index
  type(LAPI_CNTR_T) :: done
  integer :: i, err

  call start()
  ! Every task knows the handler as number 1: addresses differ between tasks.
  index = 1
  call LAPI_ADDRESS(header, mine, err)
  call LAPI_ADDR_SET(h, mine, int(index), err)
  call ok('LAPI_ADDR_SET', err)
  call LAPI_ADDRESS(arrivals, mine, err)
  counter_there = address_at_buddy(mine)
  if (driving) then
    numbers = [(i, i=1, length)]
    uhdr = [7, 0]
    call LAPI_SETCNTR(h, done, 0, err)
    call LAPI_AMSEND(h, buddy, index, uhdr, 8, numbers, int(4*length, LAPI_LONG_TYPE), counter_there, LAPI_ADDR_NULL, done, err)
    call ok('LAPI_AMSEND', err)
    call wait_for(done)
  else
    call wait_for(arrivals)
  end if
  call finish()
end program am
