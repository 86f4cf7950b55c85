! The halo of a three-dimensional array, one layer of ghost cells around each task's box. The tasks form a ring along the
! first dimension, whose faces are the most scattered ones; along the others a task is its own neighbour. Each face is one
! DGSP, by which LAPI gathers the cells here and scatters them into the ghosts there.
! tasks: 4
! output: task 0: 376 ghost cells right, 0 cells wrong
! output: task 1: 376 ghost cells right, 0 cells wrong
! output: task 2: 376 ghost cells right, 0 cells wrong
! output: task 3: 376 ghost cells right, 0 cells wrong

module box
  use lapi
  implicit none
  integer, parameter :: n(3) = [10, 12, 8] ! ghosts included
  integer, parameter :: real_size = 8

  integer :: h = 0, me = -1, tasks = 0
  real(8), target, asynchronous, volatile :: u(n(1), n(2), n(3)) = -1
  integer(LAPI_ADDR_TYPE) :: faces(3) = 0

contains

  subroutine ok(what, err)
    character(len=*), intent(in) :: what
    integer, intent(in) :: err
    character(len=LAPI_MAX_ERR_STRING) :: text
    integer :: ignored
    if (err == LAPI_SUCCESS) return
    call LAPI_MSG_STRING(err, text, ignored)
    write (*, '(4A)') what, ': ', trim(text)
    error stop 1
  end subroutine ok

  ! A program for rows of blocks: `rows` times, `row_stride` apart, `blocks` blocks, `block_stride` apart.
  function rows_of_blocks(rows, row_stride, blocks, block_stride, block) result(handle)
    integer, intent(in) :: rows, row_stride, blocks, block_stride, block
    integer(LAPI_ADDR_TYPE) :: handle
    integer, target :: code(64)
    integer :: ic, err
    type(LAPI_DGSP_DESCR_T), target :: descr
    type(LAPI_REG_DGSP_T) :: command
    ic = 1
    call routine(rows, row_stride)
    call routine(blocks, block_stride)
    call put(transfer(LAPI_DGSM_COPY_T(LAPI_DGSM_COPY, 0, int(block, LAPI_ADDR_TYPE), 0_LAPI_ADDR_TYPE), code))
    call put(transfer(LAPI_DGSM_ITERATE_T(LAPI_DGSM_ITERATE, -LAPI_DGSM_COPY_SIZE), code))
    descr = LAPI_DGSP_DESCR_T(0, ic - 1, 3, LAPI_DGSM_SPARSE, 0, rows*blocks*block, rows*row_stride, 0, &
      (rows - 1)*row_stride + (blocks - 1)*block_stride + block, 0, 0)
    call LAPI_ADDRESS(code, descr%code, err)
    command = LAPI_REG_DGSP_T(LAPI_REGISTER_DGSP, 0, 0, 0, 0, 0, 0)
    call LAPI_ADDRESS(descr, command%idgsp, err)
    call LAPI_UTIL(h, command, err)
    call ok('LAPI_UTIL', err)
    handle = command%dgsp_handle

  contains

    ! A routine that runs the one behind it so many times.
    subroutine routine(times, stride)
      integer, intent(in) :: times, stride
      integer, parameter :: behind = LAPI_DGSM_GOSUB_SIZE + LAPI_DGSM_ITERATE_SIZE
      call put(transfer(LAPI_DGSM_GOSUB_T(LAPI_DGSM_GOSUB, behind, LAPI_DGSM_GOSUB_SIZE, 0, &
        int(times, LAPI_ADDR_TYPE), 0_LAPI_ADDR_TYPE, int(stride, LAPI_ADDR_TYPE)), code))
      call put(transfer(LAPI_DGSM_ITERATE_T(LAPI_DGSM_ITERATE, -LAPI_DGSM_GOSUB_SIZE), code))
    end subroutine routine

    subroutine put(words)
      integer, intent(in) :: words(:)
      code(ic:ic + size(words) - 1) = words
      ic = ic + size(words)
    end subroutine put
  end function rows_of_blocks

  ! Where a face across a dimension begins whose coordinate there is `at`.
  function corner(dimension, at) result(c)
    integer, intent(in) :: dimension, at
    integer :: c(3)
    c = 2
    c(dimension) = at
  end function corner

  ! The header handler: the user header says which ghosts are meant.
  function ghosts(hndl, which, uhdr_len, more, comp_h, user_info) result(buffer)
    integer :: hndl, which(2), uhdr_len, c(3), err
    type(LAPI_RETURN_INFO_T) :: more
    integer(LAPI_ADDR_TYPE) :: comp_h, buffer
    type(LAPI_ADDR_T) :: user_info
    if (hndl /= h .or. uhdr_len /= 8) error stop 'not for us'
    c = corner(which(1), which(2))
    call LAPI_ADDRESS(u(c(1), c(2), c(3)), buffer, err)
    more%dgsp_handle = faces(which(1))
    comp_h = LAPI_ADDR_NULL
    user_info%addr = LAPI_ADDR_NULL
  end function ghosts

  pure real(8) function cell(owner, c)
    integer, intent(in) :: owner, c(3)
    cell = owner*1d6 + c(1)*1d4 + c(2)*1d2 + c(3)
  end function cell
end module box

program halo
  use box
  implicit none
  type(LAPI_INFO_T) :: info
  type(LAPI_CNTR_T), volatile :: done
  integer(LAPI_ADDR_TYPE) :: handler
  integer(LAPI_ADDR_TYPE), allocatable :: handlers(:)
  integer :: err, d, i, j, k, lengths(3), right = 0, wrong = 0

  info = LAPI_INFO_T(0, LAST_LIB, 0, 0, 0, 0, 0, 0, 0, 0)
  call LAPI_INIT(h, info, err)
  call ok('LAPI_INIT', err)
  call LAPI_QENV(h, TASK_ID, me, err)
  call LAPI_QENV(h, NUM_TASKS, tasks, err)
  do k = 2, n(3) - 1
    do j = 2, n(2) - 1
      do i = 2, n(1) - 1
        u(i, j, k) = cell(me, [i, j, k])
      end do
    end do
  end do

  ! Across the first dimension single cells; across the others, columns of cells.
  associate (column => n(1)*real_size, plane => n(1)*n(2)*real_size, inner => n - 2)
    faces(1) = rows_of_blocks(inner(3), plane, inner(2), column, real_size)
    faces(2) = rows_of_blocks(inner(3), plane, 1, 0, inner(1)*real_size)
    faces(3) = rows_of_blocks(inner(2), column, 1, 0, inner(1)*real_size)
    lengths = real_size*[inner(2)*inner(3), inner(1)*inner(3), inner(1)*inner(2)]
  end associate

  allocate (handlers(0:tasks - 1))
  call LAPI_ADDRESS(ghosts, handler, err)
  call LAPI_ADDRESS_INIT(h, handler, handlers, err)
  call ok('LAPI_ADDRESS_INIT', err)
  call LAPI_SETCNTR(h, done, 0, err)
  call LAPI_GFENCE(h, err)
  do d = 1, 3
    ! The last inner layer goes to the lower ghosts of the next task, the first one to the upper ghosts of the previous.
    call send(merge(modulo(me + 1, tasks), me, d == 1), corner(d, n(d) - 1), [d, 1])
    call send(merge(modulo(me - 1, tasks), me, d == 1), corner(d, 2), [d, n(d)])
  end do
  call LAPI_WAITCNTR(h, done, 6, LAPI_ADDR_NULL, err)
  call LAPI_GFENCE(h, err)
  call judge()
  write (*, '(A, I0, A, I0, A, I0, A)') 'task ', me, ': ', right, ' ghost cells right, ', wrong, ' cells wrong'
  call LAPI_TERM(h, err)
  call ok('LAPI_TERM', err)

contains

  subroutine send(to, from, which)
    integer, intent(in) :: to, from(3), which(2)
    integer :: uhdr(2)
    type(LAPI_AMDGSP_T) :: x
    uhdr = which
    x = LAPI_AMDGSP_T(LAPI_DGSP_XFER, 0, to, 0, handlers(to), 8, 0, 0, 0, lengths(which(1)), 0, 0, 0, 0, 0, &
      faces(which(1)), 0, 0)
    call LAPI_ADDRESS(uhdr, x%uhdr, err)
    call LAPI_ADDRESS(u(from(1), from(2), from(3)), x%udata, err)
    call LAPI_ADDRESS(done, x%cmpl_cntr, err)
    call LAPI_XFER(h, x, err)
    call ok('LAPI_XFER', err)
  end subroutine send

  subroutine judge()
    integer :: c(3), around, owner
    real(8) :: expected
    do k = 1, n(3)
      do j = 1, n(2)
        do i = 1, n(1)
          c = [i, j, k]
          around = count(c == 1 .or. c == n)
          owner = me
          if (i == 1) owner = modulo(me - 1, tasks)
          if (i == n(1)) owner = modulo(me + 1, tasks)
          where (c == 1)
            c = n - 1
          else where (c == n)
            c = 2
          end where
          ! Edges and corners have no neighbour here.
          expected = merge(cell(owner, c), -1d0, around < 2)
          if (u(i, j, k) /= expected) then
            wrong = wrong + 1
          else if (around == 1) then
            right = right + 1
          end if
        end do
      end do
    end do
  end subroutine judge
end program halo
