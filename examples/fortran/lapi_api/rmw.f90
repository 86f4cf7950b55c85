! LAPI_RMW: the driving task changes an integer of its buddy by each operation and shows what it was before.
! tasks: 2
! output: fetch-and-add found 5
! output: fetch-and-or found 8
! output: swap found 24
! output: compare-and-swap succeeded: 1
! output: task 1 has 99
program rmw
  use buddies
  implicit none
  integer, volatile, target :: variable = 5
  integer(LAPI_ADDR_TYPE) :: mine, variable_there
  integer :: err

  call start()
  call LAPI_ADDRESS(variable, mine, err)
  variable_there = address_at_buddy(mine)
  if (driving) then
    call change(FETCH_AND_ADD, [3], 'fetch-and-add found')
    call change(FETCH_AND_OR, [16], 'fetch-and-or found')
    call change(SWAP, [42], 'swap found')
    call change(COMPARE_AND_SWAP, [42, 99], 'compare-and-swap succeeded:')
  end if
  call LAPI_GFENCE(h, err)
  if (.not. driving) write (*, '(2(A, I0))') 'task ', me, ' has ', variable
  call finish()

contains

  subroutine change(operation, operands, found)
    integer, intent(in) :: operation
    integer, intent(in) :: operands(:)
    character(len=*), intent(in) :: found
    integer, asynchronous :: previous
    type(LAPI_CNTR_T) :: done
    call LAPI_SETCNTR(h, done, 0, err)
    call LAPI_RMW(h, operation, buddy, variable_there, operands, previous, done, err)
    call ok('LAPI_RMW', err)
    call wait_for(done)
    write (*, '(A, 1X, I0)') found, previous
  end subroutine change
end program rmw
