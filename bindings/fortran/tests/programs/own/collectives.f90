! Every collective of contiguous data in its three forms, on all tasks and on a part of them.
module forms
  use checks
  implicit none
  integer(LAPIS_TEAM_T) :: team = LAPIS_WORLD
  integer :: rank = -1, size_ = 0
  integer, parameter :: N = 600
  ! Buffers are used until a request ends.
  integer(8), asynchronous :: in(N*4), out(N*4)
  integer, private :: i

contains

  subroutine fill(array)
    integer(8), intent(out) :: array(:)
    array = [(given(rank, i), i = 1, size(array))]
  end subroutine fill

  subroutine barrier()
    select case (form)
    case (WAITED); call lapis_barrier(h, team, err)
    case (STARTED); call lapis_ibarrier(h, team, request, err)
    case (KEPT); call lapis_barrier_init(h, team, request, err)
    end select
    call complete('barrier')
  end subroutine barrier

  ! Data of other types and ranks than the rest.
  subroutine broadcasts(root)
    integer, intent(in) :: root
    complex(8), asynchronous :: field(3, 4, 2)
    real(4), asynchronous :: one
    integer :: member(1)
    field = cmplx(rank, -rank, 8)
    select case (form)
    case (WAITED); call lapis_bcast(h, team, field, 24_L, LAPIS_C64, root, err)
    case (STARTED); call lapis_ibcast(h, team, field, 24_L, LAPIS_C64, root, request, err)
    case (KEPT); call lapis_bcast_init(h, team, field, 24_L, LAPIS_C64, root, request, err)
    end select
    call complete('bcast')
    call check(all(field == cmplx(root, -root, 8)), 'bcast')
    one = real(rank) + 0.5
    member = size_ - 1
    select case (form)
    case (WAITED); call lapis_mcast(h, team, one, 1_L, LAPIS_F32, root, 1, member, err)
    case (STARTED); call lapis_imcast(h, team, one, 1_L, LAPIS_F32, root, 1, member, request, err)
    case (KEPT); call lapis_mcast_init(h, team, one, 1_L, LAPIS_F32, root, 1, member, request, err)
    end select
    call complete('mcast')
    call check(one == merge(real(root), real(rank), rank == size_ - 1) + 0.5, 'mcast')
  end subroutine broadcasts

  subroutine reductions(root)
    integer, intent(in) :: root
    real(8), asynchronous :: square(4, 4), sums(4, 4)
    call fill(in(:N))
    out = 0
    select case (form)
    case (WAITED); call lapis_reduce(h, team, in, out, int(N, L), LAPIS_I64, LAPIS_SUM, root, err)
    case (STARTED); call lapis_ireduce(h, team, in, out, int(N, L), LAPIS_I64, LAPIS_SUM, root, request, err)
    case (KEPT); call lapis_reduce_init(h, team, in, out, int(N, L), LAPIS_I64, LAPIS_SUM, root, request, err)
    end select
    call complete('reduce')
    call check(rank /= root .or. all(out(:N) == [(total(size_, i), i = 1, N)]), 'reduce')
    square = rank + 1
    select case (form)
    case (WAITED); call lapis_allreduce(h, team, square, sums, 16_L, LAPIS_F64, LAPIS_PRODUCT, err)
    case (STARTED); call lapis_iallreduce(h, team, square, sums, 16_L, LAPIS_F64, LAPIS_PRODUCT, request, err)
    case (KEPT); call lapis_allreduce_init(h, team, square, sums, 16_L, LAPIS_F64, LAPIS_PRODUCT, request, err)
    end select
    call complete('allreduce')
    call check(all(sums == product([(real(i, 8), i = 1, size_)])), 'allreduce')
  end subroutine reductions

  subroutine divided_reductions()
    integer(L) :: counts(0:size_ - 1)
    integer :: before
    counts = [(2*i + 1, i = 0, size_ - 1)]
    before = int(sum(counts(:rank - 1)))
    call fill(in)
    select case (form)
    case (WAITED); call lapis_reduce_scatter(h, team, in, out, counts, LAPIS_I64, LAPIS_SUM, err)
    case (STARTED); call lapis_ireduce_scatter(h, team, in, out, counts, LAPIS_I64, LAPIS_SUM, request, err)
    case (KEPT); call lapis_reduce_scatter_init(h, team, in, out, counts, LAPIS_I64, LAPIS_SUM, request, err)
    end select
    ! The list may be changed when the call has returned.
    counts = -1
    call complete('reduce_scatter')
    call check(all(out(:2*rank + 1) == [(total(size_, before + i), i = 1, 2*rank + 1)]), 'reduce_scatter')
    select case (form)
    case (WAITED); call lapis_reduce_scatter_block(h, team, in, out, 5_L, LAPIS_I64, LAPIS_MAX, err)
    case (STARTED); call lapis_ireduce_scatter_block(h, team, in, out, 5_L, LAPIS_I64, LAPIS_MAX, request, err)
    case (KEPT); call lapis_reduce_scatter_block_init(h, team, in, out, 5_L, LAPIS_I64, LAPIS_MAX, request, err)
    end select
    call complete('reduce_scatter_block')
    call check(all(out(:5) == [(given(size_ - 1, 5*rank + i), i = 1, 5)]), 'reduce_scatter_block')
  end subroutine divided_reductions

  subroutine scans()
    call fill(in(:N))
    select case (form)
    case (WAITED); call lapis_scan(h, team, in, out, int(N, L), LAPIS_I64, LAPIS_SUM, err)
    case (STARTED); call lapis_iscan(h, team, in, out, int(N, L), LAPIS_I64, LAPIS_SUM, request, err)
    case (KEPT); call lapis_scan_init(h, team, in, out, int(N, L), LAPIS_I64, LAPIS_SUM, request, err)
    end select
    call complete('scan')
    call check(all(out(:N) == [(total(rank + 1, i), i = 1, N)]), 'scan')
    out = -7
    select case (form)
    case (WAITED); call lapis_exscan(h, team, in, out, int(N, L), LAPIS_I64, LAPIS_SUM, err)
    case (STARTED); call lapis_iexscan(h, team, in, out, int(N, L), LAPIS_I64, LAPIS_SUM, request, err)
    case (KEPT); call lapis_exscan_init(h, team, in, out, int(N, L), LAPIS_I64, LAPIS_SUM, request, err)
    end select
    call complete('exscan')
    if (rank == 0) then
      call check(all(out == -7), 'exscan at rank 0')
    else
      call check(all(out(:N) == [(total(rank, i), i = 1, N)]), 'exscan')
    end if
  end subroutine scans

  subroutine equal_parts(root)
    integer, intent(in) :: root
    integer(8), asynchronous :: table(3, 0:size_ - 1)
    integer :: m
    call fill(in)
    table = 0
    select case (form)
    case (WAITED); call lapis_gather(h, team, in, table, 3_L, LAPIS_I64, root, err)
    case (STARTED); call lapis_igather(h, team, in, table, 3_L, LAPIS_I64, root, request, err)
    case (KEPT); call lapis_gather_init(h, team, in, table, 3_L, LAPIS_I64, root, request, err)
    end select
    call complete('gather')
    call check(rank /= root .or. all(table == reshape([((given(m, i), i = 1, 3), m = 0, size_ - 1)], [3, size_])), 'gather')
    select case (form)
    case (WAITED); call lapis_scatter(h, team, in, out, 3_L, LAPIS_I64, root, err)
    case (STARTED); call lapis_iscatter(h, team, in, out, 3_L, LAPIS_I64, root, request, err)
    case (KEPT); call lapis_scatter_init(h, team, in, out, 3_L, LAPIS_I64, root, request, err)
    end select
    call complete('scatter')
    call check(all(out(:3) == [(given(root, 3*rank + i), i = 1, 3)]), 'scatter')
    table = 0
    select case (form)
    case (WAITED); call lapis_allgather(h, team, in, table, 3_L, LAPIS_I64, err)
    case (STARTED); call lapis_iallgather(h, team, in, table, 3_L, LAPIS_I64, request, err)
    case (KEPT); call lapis_allgather_init(h, team, in, table, 3_L, LAPIS_I64, request, err)
    end select
    call complete('allgather')
    call check(all(table == reshape([((given(m, i), i = 1, 3), m = 0, size_ - 1)], [3, size_])), 'allgather')
    select case (form)
    case (WAITED); call lapis_alltoall(h, team, in, table, 3_L, LAPIS_I64, err)
    case (STARTED); call lapis_ialltoall(h, team, in, table, 3_L, LAPIS_I64, request, err)
    case (KEPT); call lapis_alltoall_init(h, team, in, table, 3_L, LAPIS_I64, request, err)
    end select
    call complete('alltoall')
    call check(all(table == reshape([((given(m, 3*rank + i), i = 1, 3), m = 0, size_ - 1)], [3, size_])), 'alltoall')
  end subroutine equal_parts

  ! Parts of m + 1 elements, in the opposite order, with gaps.
  subroutine unequal_parts(root)
    integer, intent(in) :: root
    integer(L) :: counts(0:size_ - 1), starts(0:size_ - 1), mine(0:size_ - 1)
    integer :: m
    counts = [(m + 1, m = 0, size_ - 1)]
    starts = [(10*(size_ - 1 - m), m = 0, size_ - 1)]
    mine = rank + 1
    call fill(in)
    out = 0
    select case (form)
    case (WAITED); call lapis_gatherv(h, team, in, counts(rank), out, counts, starts, LAPIS_I64, root, err)
    case (STARTED); call lapis_igatherv(h, team, in, counts(rank), out, counts, starts, LAPIS_I64, root, request, err)
    case (KEPT); call lapis_gatherv_init(h, team, in, counts(rank), out, counts, starts, LAPIS_I64, root, request, err)
    end select
    call complete('gatherv')
    if (rank == root) call parts_are_there('gatherv')
    select case (form)
    case (WAITED); call lapis_scatterv(h, team, in, counts, starts, out, counts(rank), LAPIS_I64, root, err)
    case (STARTED); call lapis_iscatterv(h, team, in, counts, starts, out, counts(rank), LAPIS_I64, root, request, err)
    case (KEPT); call lapis_scatterv_init(h, team, in, counts, starts, out, counts(rank), LAPIS_I64, root, request, err)
    end select
    call complete('scatterv')
    call check(all(out(:rank + 1) == [(given(root, int(starts(rank)) + i), i = 1, rank + 1)]), 'scatterv')
    out = 0
    select case (form)
    case (WAITED); call lapis_allgatherv(h, team, in, out, counts, starts, LAPIS_I64, err)
    case (STARTED); call lapis_iallgatherv(h, team, in, out, counts, starts, LAPIS_I64, request, err)
    case (KEPT); call lapis_allgatherv_init(h, team, in, out, counts, starts, LAPIS_I64, request, err)
    end select
    call complete('allgatherv')
    call parts_are_there('allgatherv')
    ! Each gives m + 1 elements to member m.
    out = 0
    select case (form)
    case (WAITED); call lapis_alltoallv(h, team, in, counts, starts, out, mine, starts, LAPIS_I64, err)
    case (STARTED); call lapis_ialltoallv(h, team, in, counts, starts, out, mine, starts, LAPIS_I64, request, err)
    case (KEPT); call lapis_alltoallv_init(h, team, in, counts, starts, out, mine, starts, LAPIS_I64, request, err)
    end select
    call complete('alltoallv')
    do m = 0, size_ - 1
      call check(all(out(starts(m) + 1:starts(m) + rank + 1) == &
        [(given(m, int(starts(rank)) + i), i = 1, rank + 1)]), 'alltoallv')
    end do

  contains

    subroutine parts_are_there(what)
      character(len=*), intent(in) :: what
      do m = 0, size_ - 1
        call check(all(out(starts(m) + 1:starts(m) + m + 1) == [(given(m, i), i = 1, m + 1)]), what)
      end do
      call check(out(starts(0) + 2) == 0, what//': gap')
    end subroutine parts_are_there
  end subroutine unequal_parts

  ! Round a ring: three elements to the right, one to the left.
  subroutine ring()
    integer :: right, left
    type(LAPIS_EDGE_T) :: to(2), from(2)
    right = modulo(rank + 1, size_)
    left = modulo(rank - 1, size_)
    to = [LAPIS_EDGE_T(rank=right, start=0, count=3), LAPIS_EDGE_T(rank=left, start=3, count=1)]
    from = [LAPIS_EDGE_T(rank=left, start=1, count=3), LAPIS_EDGE_T(rank=right, start=0, count=1)]
    call fill(in)
    select case (form)
    case (WAITED); call lapis_neighbours(h, team, in, 2, to, out, 2, from, LAPIS_I64, err)
    case (STARTED); call lapis_ineighbours(h, team, in, 2, to, out, 2, from, LAPIS_I64, request, err)
    case (KEPT); call lapis_neighbours_init(h, team, in, 2, to, out, 2, from, LAPIS_I64, request, err)
    end select
    call complete('neighbours')
    call check(out(1) == given(right, 4) .and. all(out(2:4) == [(given(left, i), i = 1, 3)]), 'neighbours')
  end subroutine ring

  ! The data stand in one buffer, where MPI has them.
  subroutine in_place(root)
    integer, intent(in) :: root
    real(8) :: x(2, 3)
    integer(8) :: table(3, 0:size_ - 1)
    integer :: m
    x = rank + 1
    call lapis_allreduce(h, team, LAPIS_IN_PLACE, x, 6_L, LAPIS_F64, LAPIS_MAX, err)
    call ok('allreduce in place')
    call check(all(x == size_), 'allreduce in place')
    call fill(in(:3))
    table = 0
    table(:, rank) = in(:3)
    if (rank == root) then
      call lapis_gather(h, team, LAPIS_IN_PLACE, table, 3_L, LAPIS_I64, root, err)
    else
      ! Null stands for the buffer that only the root has.
      call lapis_gather(h, team, in, LAPI_ADDR_NULL, 3_L, LAPIS_I64, root, err)
    end if
    call ok('gather in place')
    call check(rank /= root .or. all(table == reshape([((given(m, i), i = 1, 3), m = 0, size_ - 1)], [3, size_])), &
      'gather in place')
    table = 7*rank
    if (rank == root) then
      call lapis_scatter(h, team, table, LAPIS_IN_PLACE, 3_L, LAPIS_I64, root, err)
    else
      call lapis_scatter(h, team, LAPI_ADDR_NULL, table, 3_L, LAPIS_I64, root, err)
    end if
    call ok('scatter in place')
    call check(all(table(:, 0) == 7*root), 'scatter in place')
  end subroutine in_place

  ! Compilers copy a section with gaps for a blocking call, and copy it back.
  subroutine sections()
    real(8) :: matrix(4, 5)
    matrix = rank
    call lapis_bcast(h, team, matrix(2, :), 5_L, LAPIS_F64, size_ - 1, err)
    call ok('bcast of a row')
    call check(all(matrix(2, :) == size_ - 1) .and. all(matrix(1, :) == rank), 'bcast of a row')
  end subroutine sections

  subroutine everything(of)
    integer(LAPIS_TEAM_T), intent(in) :: of
    integer :: root
    team = of
    call lapis_team_rank(h, team, rank, err)
    call ok('team_rank')
    call lapis_team_size(h, team, size_, err)
    call ok('team_size')
    do form = WAITED, KEPT
      do root = 0, size_ - 1
        call barrier()
        call broadcasts(root)
        call reductions(root)
        call equal_parts(root)
        call unequal_parts(root)
        call in_place(root)
      end do
      call divided_reductions()
      call scans()
      call ring()
      call sections()
    end do
  end subroutine everything
end module forms

program collectives
  use forms
  implicit none
  integer(LAPIS_TEAM_T) :: half
  call begin()
  call everything(LAPIS_WORLD)
  ! Tasks with even and with odd numbers, highest first.
  call lapis_team_split(h, LAPIS_WORLD, modulo(me, 2), int(-me, L), half, err)
  call ok('team_split')
  call everything(half)
  call lapis_team_free(h, half, err)
  call ok('team_free')
  call finish('every collective works')
end program collectives
