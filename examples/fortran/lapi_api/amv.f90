! LAPI_AMSENDV: the driving task sends two pieces; the header handler at its buddy gives a vector of two other places.
! tasks: 2
! output: task 1 has 0 1 2 0 0 3 4 0
module amv_handlers
  use buddies
  implicit none
  type(LAPI_VEC_T), target :: places
  integer(LAPI_ADDR_TYPE), target :: info(2)
  integer(LAPI_LONG_TYPE), target :: lengths(2)
contains
  function header(hndl, uhdr, uhdr_len, len_vec, comp_h, user_info) result(vector)
    integer, intent(in) :: hndl, uhdr(*), uhdr_len
    integer(LAPI_ADDR_TYPE), intent(in) :: len_vec
    integer(LAPI_ADDR_TYPE), intent(out) :: comp_h
    type(LAPI_ADDR_T), intent(out) :: user_info
    integer(LAPI_ADDR_TYPE) :: vector
    integer :: err
    if (hndl /= h .or. uhdr_len /= 0 .or. len_vec == LAPI_ADDR_NULL) error stop 'another message'
    if (uhdr_len > 0) write (*, *) uhdr(1)
    lengths = 8
    call LAPI_ADDRESS(buffer(2), info(1), err)
    call LAPI_ADDRESS(buffer(6), info(2), err)
    places%vec_type = LAPI_GEN_IOVECTOR
    places%num_vecs = 2
    call LAPI_ADDRESS(info, places%info, err)
    call LAPI_ADDRESS(lengths, places%len, err)
    comp_h = LAPI_ADDR_NULL
    user_info%addr = LAPI_ADDR_NULL
    call LAPI_ADDRESS(places, vector, err)
  end function header
end module amv_handlers

program amv
  use amv_handlers
  implicit none
  integer, asynchronous :: numbers(4)
  integer(LAPI_ADDR_TYPE) :: mine, counter_there, handler_there, here(2)
  integer(LAPI_LONG_TYPE) :: sizes(2)
  type(LAPI_VEC_T) :: origin
  type(LAPI_CNTR_T) :: done
  integer :: err

  call start()
  call LAPI_ADDRESS(header, mine, err)
  handler_there = address_at_buddy(mine)
  call LAPI_ADDRESS(arrivals, mine, err)
  counter_there = address_at_buddy(mine)
  if (driving) then
    numbers = [1, 2, 3, 4]
    sizes = 8
    call LAPI_ADDRESS(numbers(1), here(1), err)
    call LAPI_ADDRESS(numbers(3), here(2), err)
    origin%vec_type = LAPI_GEN_IOVECTOR
    origin%num_vecs = 2
    call LAPI_ADDRESS(here, origin%info, err)
    call LAPI_ADDRESS(sizes, origin%len, err)
    call LAPI_SETCNTR(h, done, 0, err)
    call LAPI_AMSENDV(h, buddy, handler_there, LAPI_ADDR_NULL, 0, origin, counter_there, LAPI_ADDR_NULL, done, err)
    call ok('LAPI_AMSENDV', err)
    call wait_for(done)
  else
    call wait_for(arrivals)
    write (*, '(A, I0, A, 8(1X, I0))') 'task ', me, ' has', buffer
  end if
  call finish()
end program amv
