! LAPI_RMW64: the driving task changes a 64-bit integer of its buddy by each operation and shows what it was before.
! tasks: 2
! output: fetch-and-add found 5000000000
! output: fetch-and-or found 13589934592
! output: swap found 13589934593
! output: compare-and-swap succeeded: 1
! output: task 1 has 99000000000
program rmw64
  use buddies
  implicit none
  integer(LAPI_LONG_LONG_TYPE), volatile, target :: variable = 5000000000_LAPI_LONG_LONG_TYPE
  integer(LAPI_ADDR_TYPE) :: mine, variable_there
  integer :: err

  call start()
  call LAPI_ADDRESS(variable, mine, err)
  variable_there = address_at_buddy(mine)
  if (driving) then
    call change(FETCH_AND_ADD, [2_LAPI_LONG_LONG_TYPE**33], 'fetch-and-add found')
    call change(FETCH_AND_OR, [1_LAPI_LONG_LONG_TYPE], 'fetch-and-or found')
    call change(SWAP, [42_LAPI_LONG_LONG_TYPE], 'swap found')
    call change(COMPARE_AND_SWAP, [42_LAPI_LONG_LONG_TYPE, 99000000000_LAPI_LONG_LONG_TYPE], 'compare-and-swap succeeded:')
  end if
  call LAPI_GFENCE(h, err)
  if (.not. driving) write (*, '(2(A, I0))') 'task ', me, ' has ', variable
  call finish()

contains

  subroutine change(operation, operands, found)
    integer, intent(in) :: operation
    integer(LAPI_LONG_LONG_TYPE), intent(in) :: operands(:)
    character(len=*), intent(in) :: found
    integer(LAPI_LONG_LONG_TYPE), asynchronous :: previous
    type(LAPI_CNTR_T) :: done
    call LAPI_SETCNTR(h, done, 0, err)
    call LAPI_RMW64(h, operation, buddy, variable_there, operands, previous, done, err)
    call ok('LAPI_RMW64', err)
    call wait_for(done)
    write (*, '(A, 1X, I0)') found, previous
  end subroutine change
end program rmw64
