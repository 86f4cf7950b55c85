! LAPI_GET: the driving task reads its buddy's buffer.
! tasks: 2
! output: task 0 got 10 20 30 40 50 60 70 80
program get
  use buddies
  implicit none
  integer, asynchronous :: numbers(length)
  integer(LAPI_ADDR_TYPE) :: mine, buffer_there
  type(LAPI_CNTR_T) :: done
  integer :: i, err

  call start()
  buffer = [(10*i, i=1, length)]
  call LAPI_ADDRESS(buffer, mine, err)
  buffer_there = address_at_buddy(mine)
  if (driving) then
    call LAPI_SETCNTR(h, done, 0, err)
    call LAPI_GET(h, buddy, int(4*length, LAPI_LONG_TYPE), buffer_there, numbers, LAPI_ADDR_NULL, done, err)
    call ok('LAPI_GET', err)
    call wait_for(done)
    write (*, '(A, I0, A, 8(1X, I0))') 'task ', me, ' got', numbers
  end if
  call finish()
end program get
