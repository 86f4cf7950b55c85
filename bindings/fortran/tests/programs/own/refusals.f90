! What calls refuse, and with which code; what goes on afterwards.
program refusals
  use checks
  implicit none
  integer(8), asynchronous :: data(16) = 0
  integer(L) :: counts(16) = 1
  integer(LAPIS_TEAM_T) :: team, made
  integer :: value
  character(len=200) :: text

  call lapis_barrier(4711, LAPIS_WORLD, err)
  call gives(LAPI_ERR_HNDL_INVALID, 'no context')
  call begin()

  ! Ranks and tasks that are none
  call lapis_bcast(h, LAPIS_WORLD, data, 1_L, LAPIS_I64, 4711, err)
  call gives(LAPIS_ERR_ROOT, 'root')
  call lapis_error_text(text, len(text, L), err)
  call check(index(text, '4711') > 0, 'text about the root')
  call lapis_ibcast(h, LAPIS_WORLD, data, 1_L, LAPIS_I64, -1, request, err)
  call gives(LAPIS_ERR_ROOT, 'negative root')
  call lapis_mcast(h, LAPIS_WORLD, data, 1_L, LAPIS_I64, 0, 1, [4711], err)
  call gives(LAPIS_ERR_ROOT, 'rank in a list')
  call lapis_team_task(h, LAPIS_WORLD, tasks, value, err)
  call gives(LAPIS_ERR_ROOT, 'foreign rank')
  call lapis_team_include(h, LAPIS_WORLD, 1, [tasks], made, err)
  call gives(LAPIS_ERR_ROOT, 'foreign rank in a list')
  call lapis_team_of(h, 2, [me, 4711], made, err)
  call gives(LAPIS_ERR_GROUP, 'foreign task')
  call lapis_team_strided(h, 0, 0_L, 2, made, err)
  call gives(LAPIS_ERR_GROUP, 'no stride')

  ! A team that has been freed, and none
  call lapis_team_split(h, LAPIS_WORLD, 0, 0_L, team, err)
  call ok('team_split')
  call lapis_team_free(h, team, err)
  call ok('team_free')
  call lapis_barrier(h, team, err)
  call gives(LAPIS_ERR_TEAM, 'freed team')
  call lapis_team_size(h, team, value, err)
  call gives(LAPIS_ERR_TEAM, 'freed team')
  call lapis_team_free(h, team, err)
  call gives(LAPIS_ERR_TEAM, 'team freed twice')
  call lapis_barrier(h, LAPIS_NO_TEAM, err)
  call gives(LAPIS_ERR_TEAM, 'no team')

  ! Types, operators, buffers, counts
  call lapis_bcast(h, LAPIS_WORLD, data, 1_L, 99, 0, err)
  call gives(LAPIS_ERR_TYPE, 'type')
  call lapis_bcast(h, LAPIS_WORLD, data, 1_L, LAPIS_BYTES(0), 0, err)
  call gives(LAPIS_ERR_TYPE, 'no bytes')
  call lapis_allreduce(h, LAPIS_WORLD, data, data, 1_L, LAPIS_I64, 99, err)
  call gives(LAPIS_ERR_OP, 'operator')
  call lapis_allreduce(h, LAPIS_WORLD, data, data, 1_L, LAPIS_F64, LAPIS_BIT_AND, err)
  call gives(LAPIS_ERR_OP, 'operator that means nothing')
  call lapis_allreduce(h, LAPIS_WORLD, LAPI_ADDR_NULL, data, 1_L, LAPIS_I64, LAPIS_SUM, err)
  call gives(LAPIS_ERR_BUFFER, 'null')
  call lapis_bcast(h, LAPIS_WORLD, LAPIS_IN_PLACE, 1_L, LAPIS_I64, 0, err)
  call gives(LAPIS_ERR_BUFFER, 'broadcast in place')
  call lapis_bcastw(h, LAPIS_WORLD, LAPIS_IN_PLACE, 8_L, 0_LAPI_ADDR_TYPE, 0, err)
  call gives(LAPIS_ERR_BUFFER, 'layout in place')
  call lapis_bcastw(h, LAPIS_WORLD, data, 8_L, 4711_LAPI_ADDR_TYPE, 0, err)
  call gives(LAPI_ERR_DGSP, 'layout')
  call lapis_bcast(h, LAPIS_WORLD, data, huge(1_L), LAPIS_I64, 0, err)
  call gives(LAPIS_ERR_COUNT, 'count')
  counts = huge(1_L)
  call lapis_allgatherv(h, LAPIS_WORLD, data, data, counts, counts, LAPIS_I64, err)
  call gives(LAPIS_ERR_COUNT, 'counts')

  ! Requests
  request = 77
  call lapis_wait(h, request, err)
  call gives(LAPIS_ERR_REQUEST, 'request')
  call lapis_ibarrier(h, LAPIS_WORLD, request, err)
  call ok('ibarrier')
  call lapis_start(h, request, err)
  call gives(LAPIS_ERR_REQUEST, 'start of what was begun')
  call lapis_wait(h, request, err)
  call ok('wait')
  call lapis_wait(h, request, err)
  call ok('wait for nothing')
  call lapis_barrier_init(h, LAPIS_WORLD, request, err)
  call ok('barrier_init')
  call lapis_start(h, request, err)
  call ok('start')
  call lapis_start(h, request, err)
  call gives(LAPIS_ERR_BUSY, 'start again')
  call lapis_wait(h, request, err)
  call ok('wait')
  call lapis_request_free(h, request, err)
  call ok('request_free')

  ! Calls that don't match end the team, and no other.
  call lapis_team_strided(h, 0, 1_L, tasks, team, err)
  call ok('team_strided')
  call lapis_allreduce(h, team, LAPIS_IN_PLACE, data, merge(4_L, 3_L, me == 0), LAPIS_I64, LAPIS_SUM, err)
  call check(err == LAPIS_ERR_MISMATCH .or. err == LAPIS_ERR_TEAM_OVER, 'mismatch')
  call lapis_barrier(h, team, err)
  call check(err == LAPIS_ERR_MISMATCH .or. err == LAPIS_ERR_TEAM_OVER, 'team that is over')
  call lapis_barrier(h, LAPIS_WORLD, err)
  call ok('barrier of all')
  call finish('every refusal works')
end program refusals
