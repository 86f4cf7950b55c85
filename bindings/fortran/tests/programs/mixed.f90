! The other tasks of mixed.c: receive ten numbers and add 11 times their task ID to a sum in task 0.
module received
  use lapi
  implicit none
  integer, volatile :: numbers(10) = 0
contains
  function header(hndl, uhdr, uhdr_len, msg_len, comp_h, user_info) result(where)
    integer, intent(in) :: hndl, uhdr(*), uhdr_len
    integer(LAPI_LONG_TYPE), intent(in) :: msg_len
    integer(LAPI_ADDR_TYPE), intent(out) :: comp_h
    type(LAPI_ADDR_T), intent(out) :: user_info
    integer(LAPI_ADDR_TYPE) :: where
    integer :: err
    if (uhdr_len /= 0) write (*, '(A, I0)') 'unexpected user header ', uhdr(1)
    if (msg_len /= 40 .or. hndl < 0) write (*, '(A)') 'unexpected message'
    comp_h = LAPI_ADDR_NULL
    user_info%addr = LAPI_ADDR_NULL
    call LAPI_ADDRESS(numbers, where, err)
  end function header
end module received

program mixed
  use received
  implicit none
  type(LAPI_INFO_T) :: info
  type(LAPI_CNTR_T) :: org
  integer(LAPI_ADDR_TYPE) :: addr, sums(0:15)
  integer :: h, me, err, at, left, addend(1), before

  info = LAPI_INFO_T(0, LAST_LIB, 0, 0, 0, 0, 0, 0, 0, 0)
  call LAPI_INIT(h, info, err)
  if (err /= LAPI_SUCCESS) error stop 'LAPI_INIT'
  call LAPI_QENV(h, TASK_ID, me, err)
  call LAPI_ADDRESS(header, addr, err)
  call LAPI_ADDR_SET(h, addr, 1, err)
  call LAPI_SETCNTR(h, org, 0, err)
  call LAPI_ADDRESS_INIT(h, LAPI_ADDR_NULL, sums, err)
  addend = 11*me
  call LAPI_RMW(h, FETCH_AND_ADD, 0, sums(0), addend, before, org, err)
  if (err /= LAPI_SUCCESS) error stop 'LAPI_RMW'
  call LAPI_WAITCNTR(h, org, 1, left, err)
  call LAPI_GFENCE(h, err)
  if (any(numbers /= [(at*at, at=0, 9)])) error stop 'other numbers than C sent'
  if (modulo(before, 11) /= 0 .or. left /= 0) error stop 'a sum of something else'
  write (*, '(A, I0, A)') 'Fortran: ', size(numbers), ' numbers from C'
  call LAPI_TERM(h, err)
end program mixed
