! LAPI_PUTV: the driving task writes two pieces into places of their own in its buddy's buffer.
! tasks: 2
! output: task 1 has 1 2 0 0 0 0 3 4
program putv
  use buddies
  implicit none
  integer, asynchronous :: numbers(4)
  integer(LAPI_ADDR_TYPE) :: mine, buffer_there, counter_there, target_vector
  integer(LAPI_ADDR_TYPE) :: here(2), there(2)
  integer(LAPI_LONG_TYPE) :: lengths(2)
  type(LAPI_VEC_T) :: origin, destination
  type(LAPI_CNTR_T) :: done
  integer :: err

  call start()
  call LAPI_ADDRESS(buffer, mine, err)
  buffer_there = address_at_buddy(mine)
  call LAPI_ADDRESS(arrivals, mine, err)
  counter_there = address_at_buddy(mine)
  if (driving) then
    numbers = [1, 2, 3, 4]
    lengths = 8
    call LAPI_ADDRESS(numbers(1), here(1), err)
    call LAPI_ADDRESS(numbers(3), here(2), err)
    there = buffer_there + [0, 24]
    origin%vec_type = LAPI_GEN_IOVECTOR
    origin%num_vecs = 2
    call LAPI_ADDRESS(here, origin%info, err)
    call LAPI_ADDRESS(lengths, origin%len, err)
    destination = origin
    call LAPI_ADDRESS(there, destination%info, err)
    call LAPI_ADDRESS(destination, target_vector, err)
    call LAPI_SETCNTR(h, done, 0, err)
    call LAPI_PUTV(h, buddy, target_vector, origin, counter_there, LAPI_ADDR_NULL, done, err)
    call ok('LAPI_PUTV', err)
    call wait_for(done)
  else
    call wait_for(arrivals)
    write (*, '(A, I0, A, 8(1X, I0))') 'task ', me, ' has', buffer
  end if
  call finish()
end program putv
