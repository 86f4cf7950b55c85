! Every collective of data in layouts in its three forms: rows of matrices, whose elements lie apart, on one side at least.
module rows
  use checks
  implicit none
  integer, parameter :: R = 4, C = 5
  integer(L), parameter :: ROW_BYTES = 8*C
  integer(LAPI_ADDR_TYPE) :: row = 0 ! a DGSP
  real(8), asynchronous :: matrix(R, C), other(R, C)

contains

  ! Registers a program that moves one element of each column.
  subroutine register_row()
    integer, target :: code(LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE)
    type(LAPI_DGSP_DESCR_T), target :: descr
    type(LAPI_REG_DGSP_T) :: command
    code(:LAPI_DGSM_COPY_SIZE) = &
      transfer(LAPI_DGSM_COPY_T(LAPI_DGSM_COPY, 0, 8_LAPI_ADDR_TYPE, 0_LAPI_ADDR_TYPE), code)
    code(LAPI_DGSM_COPY_SIZE + 1:) = transfer(LAPI_DGSM_ITERATE_T(LAPI_DGSM_ITERATE, -LAPI_DGSM_COPY_SIZE), code)
    descr = LAPI_DGSP_DESCR_T(0, size(code), 1, LAPI_DGSM_SPARSE, 0, 8, 8*R, 0, 8, 0, 0)
    call LAPI_ADDRESS(code, descr%code, err)
    command = LAPI_REG_DGSP_T(LAPI_REGISTER_DGSP, 0, 0, 0, 0, 0, 0)
    call LAPI_ADDRESS(descr, command%idgsp, err)
    call LAPI_UTIL(h, command, err)
    call ok('util')
    row = command%dgsp_handle
  end subroutine register_row

  pure function element(task, i, j) result(x)
    integer, intent(in) :: task, i, j
    real(8) :: x
    x = 100*task + 10*i + j
  end function element

  pure function row_of(task, i) result(x)
    integer, intent(in) :: task, i
    real(8) :: x(C)
    integer :: j
    x = [(element(task, i, j), j = 1, C)]
  end function row_of

  subroutine fill()
    integer :: i
    do i = 1, R
      matrix(i, :) = row_of(me, i)
    end do
    other = -1
  end subroutine fill

  subroutine rooted(root)
    integer, intent(in) :: root
    real(8), asynchronous :: table(C, 0:tasks - 1)
    integer(L) :: bytes(0:tasks - 1), starts(0:tasks - 1)
    integer(LAPI_ADDR_TYPE) :: plain(0:tasks - 1)
    integer :: m
    bytes = ROW_BYTES
    starts = [(m*ROW_BYTES, m = 0, tasks - 1)]
    plain = 0
    call fill()
    select case (form)
    case (WAITED); call lapis_bcastw(h, LAPIS_WORLD, matrix(2, 1), ROW_BYTES, row, root, err)
    case (STARTED); call lapis_ibcastw(h, LAPIS_WORLD, matrix(2, 1), ROW_BYTES, row, root, request, err)
    case (KEPT); call lapis_bcastw_init(h, LAPIS_WORLD, matrix(2, 1), ROW_BYTES, row, root, request, err)
    end select
    call complete('bcastw')
    call check(all(matrix(2, :) == row_of(root, 2)) .and. all(matrix(3, :) == row_of(me, 3)), 'bcastw')
    call fill()
    table = 0
    select case (form)
    case (WAITED)
      call lapis_gatherw(h, LAPIS_WORLD, matrix(2, 1), ROW_BYTES, row, table, bytes, starts, plain, root, err)
    case (STARTED)
      call lapis_igatherw(h, LAPIS_WORLD, matrix(2, 1), ROW_BYTES, row, table, bytes, starts, plain, root, request, err)
    case (KEPT)
      call lapis_gatherw_init(h, LAPIS_WORLD, matrix(2, 1), ROW_BYTES, row, table, bytes, starts, plain, root, request, err)
    end select
    call complete('gatherw')
    do m = 0, tasks - 1
      call check(me /= root .or. all(table(:, m) == row_of(m, 2)), 'gatherw')
      table(:, m) = row_of(m, 4)
    end do
    select case (form)
    case (WAITED)
      call lapis_scatterw(h, LAPIS_WORLD, table, bytes, starts, plain, other(3, 1), ROW_BYTES, row, root, err)
    case (STARTED)
      call lapis_iscatterw(h, LAPIS_WORLD, table, bytes, starts, plain, other(3, 1), ROW_BYTES, row, root, request, err)
    case (KEPT)
      call lapis_scatterw_init(h, LAPIS_WORLD, table, bytes, starts, plain, other(3, 1), ROW_BYTES, row, root, request, err)
    end select
    call complete('scatterw')
    call check(all(other(3, :) == row_of(me, 4)) .and. all(other(4, :) == -1), 'scatterw')
  end subroutine rooted

  subroutine exchanges()
    real(8), asynchronous :: table(C, 0:tasks - 1)
    integer(L) :: bytes(0:tasks - 1), rows_at(0:tasks - 1), columns_at(0:tasks - 1)
    integer(LAPI_ADDR_TYPE) :: plain(0:tasks - 1), of_rows(0:tasks - 1)
    type(LAPIS_EDGE_T) :: to(1), from(1)
    integer :: m
    bytes = ROW_BYTES
    rows_at = [(8_L*m, m = 0, tasks - 1)]
    columns_at = [(m*ROW_BYTES, m = 0, tasks - 1)]
    plain = 0
    of_rows = row
    call fill()
    select case (form)
    case (WAITED)
      call lapis_allgatherw(h, LAPIS_WORLD, matrix(2, 1), ROW_BYTES, row, other, bytes, rows_at, of_rows, err)
    case (STARTED)
      call lapis_iallgatherw(h, LAPIS_WORLD, matrix(2, 1), ROW_BYTES, row, other, bytes, rows_at, of_rows, request, err)
    case (KEPT)
      call lapis_allgatherw_init(h, LAPIS_WORLD, matrix(2, 1), ROW_BYTES, row, other, bytes, rows_at, of_rows, request, err)
    end select
    call complete('allgatherw')
    do m = 0, tasks - 1
      call check(all(other(m + 1, :) == row_of(m, 2)), 'allgatherw')
    end do
    select case (form)
    case (WAITED)
      call lapis_alltoallw(h, LAPIS_WORLD, matrix, bytes, rows_at, of_rows, table, bytes, columns_at, plain, err)
    case (STARTED)
      call lapis_ialltoallw(h, LAPIS_WORLD, matrix, bytes, rows_at, of_rows, table, bytes, columns_at, plain, request, err)
    case (KEPT)
      call lapis_alltoallw_init(h, LAPIS_WORLD, matrix, bytes, rows_at, of_rows, table, bytes, columns_at, plain, request, err)
    end select
    call complete('alltoallw')
    do m = 0, tasks - 1
      call check(all(table(:, m) == row_of(m, me + 1)), 'alltoallw')
    end do
    ! The fourth row goes to the next task, into a column.
    to(1) = LAPIS_EDGE_T(rank=modulo(me + 1, tasks), start=24, count=ROW_BYTES)
    from(1) = LAPIS_EDGE_T(rank=modulo(me - 1, tasks), start=0, count=ROW_BYTES)
    table = 0
    select case (form)
    case (WAITED)
      call lapis_neighboursw(h, LAPIS_WORLD, matrix, 1, to, of_rows, table, 1, from, plain, err)
    case (STARTED)
      call lapis_ineighboursw(h, LAPIS_WORLD, matrix, 1, to, of_rows, table, 1, from, plain, request, err)
    case (KEPT)
      call lapis_neighboursw_init(h, LAPIS_WORLD, matrix, 1, to, of_rows, table, 1, from, plain, request, err)
    end select
    call complete('neighboursw')
    call check(all(table(:, 0) == row_of(modulo(me - 1, tasks), 4)), 'neighboursw')
  end subroutine exchanges
end module rows

program layouts
  use rows
  implicit none
  integer :: root
  call begin()
  call register_row()
  do form = WAITED, KEPT
    do root = 0, tasks - 1
      call rooted(root)
    end do
    call exchanges()
  end do
  call finish('every layout works')
end program layouts
