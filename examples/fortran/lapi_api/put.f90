! LAPI_PUT: the driving task writes into its buddy's buffer.
! tasks: 2
! output: task 1 has 1 2 3 4 5 6 7 8
program put
  use buddies
  implicit none
  integer, asynchronous :: numbers(length)
  integer(LAPI_ADDR_TYPE) :: mine, buffer_there, counter_there
  type(LAPI_CNTR_T) :: done
  integer :: i, err

  call start()
  call LAPI_ADDRESS(buffer, mine, err)
  buffer_there = address_at_buddy(mine)
  call LAPI_ADDRESS(arrivals, mine, err)
  counter_there = address_at_buddy(mine)
  if (driving) then
    numbers = [(i, i=1, length)]
    call LAPI_SETCNTR(h, done, 0, err)
    call LAPI_PUT(h, buddy, int(4*length, LAPI_LONG_TYPE), buffer_there, numbers, counter_there, LAPI_ADDR_NULL, done, err)
    call ok('LAPI_PUT', err)
    call wait_for(done)
  else
    call wait_for(arrivals)
    write (*, '(A, I0, A, 8(1X, I0))') 'task ', me, ' has', buffer
  end if
  call finish()
end program put
