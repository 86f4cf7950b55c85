! LAPI_GETV: the driving task reads every other element of its buddy's buffer, a strided vector, and packs them.
! tasks: 2
! output: task 0 got 10 30 50 70
program getv
  use buddies
  implicit none
  integer, asynchronous :: numbers(4)
  integer(LAPI_ADDR_TYPE) :: mine, buffer_there, target_vector
  ! Base address, size of a block, distance between blocks
  integer(LAPI_ADDR_TYPE) :: here(3), there(3)
  type(LAPI_VEC_T) :: origin, source
  type(LAPI_CNTR_T) :: done
  integer :: i, err

  call start()
  buffer = [(10*i, i=1, length)]
  call LAPI_ADDRESS(buffer, mine, err)
  buffer_there = address_at_buddy(mine)
  if (driving) then
    call LAPI_ADDRESS(numbers, here(1), err)
    here(2:3) = 4
    there = [buffer_there, 4_LAPI_ADDR_TYPE, 8_LAPI_ADDR_TYPE]
    origin%vec_type = LAPI_GEN_STRIDED_XFER
    origin%num_vecs = 4
    origin%len = LAPI_ADDR_NULL
    call LAPI_ADDRESS(here, origin%info, err)
    source = origin
    call LAPI_ADDRESS(there, source%info, err)
    call LAPI_ADDRESS(source, target_vector, err)
    call LAPI_SETCNTR(h, done, 0, err)
    call LAPI_GETV(h, buddy, target_vector, origin, LAPI_ADDR_NULL, done, err)
    call ok('LAPI_GETV', err)
    call wait_for(done)
    write (*, '(A, I0, A, 4(1X, I0))') 'task ', me, ' got', numbers
  end if
  call finish()
end program getv
