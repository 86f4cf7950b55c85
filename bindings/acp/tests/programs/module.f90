! Calls of each kind through module acp: what they give is what C programs get.
! tasks: 3
program calls
  use, intrinsic :: iso_c_binding
  use acp
  implicit none
  integer(c_int64_t), target, volatile :: memory(16)
  integer(c_int64_t), pointer, volatile :: starter(:)
  integer(acp_atkey_t) :: key
  integer(acp_ga_t) :: mine, there, heap, vector, list
  integer(acp_handle_t) :: copied, added
  integer(c_int) :: me, procs, next, before, one, two
  type(c_ptr) :: out, in, sent, got(2), workspace
  type(acp_element_t) :: element
  type(acp_pair_t) :: pair
  type(acp_map_t) :: map
  type(acp_map_it_t) :: it
  type(acp_deque_it_t) :: place
  type(acp_list_it_t) :: node
  integer(c_size_t) :: sizes(2)
  character(len=8) :: words(2)

  call check(acp_init() == 0, "acp_init")
  me = acp_rank()
  procs = acp_procs()
  next = mod(me + 1, procs)
  before = mod(me + procs - 1, procs)

  ! Registered memory, an ordered chain to the next process, and what came.
  memory = 0
  memory(1) = 100 + me
  key = acp_register_memory(memory, 128_c_size_t, 0)
  call check(key /= ACP_ATKEY_NULL, "acp_register_memory")
  mine = acp_query_ga(key, memory)
  there = acp_query_starter_ga(next)
  call check(acp_query_rank(there) == next .and. acp_query_rank(mine) == me, "acp_query_rank")
  copied = acp_copy(there, mine, 8_c_size_t, ACP_HANDLE_NULL)
  added = acp_add8(mine + 8, there, 1000_c_int64_t, copied)
  call check(copied /= ACP_HANDLE_NULL .and. added /= ACP_HANDLE_NULL, "handles")
  call acp_complete(ACP_HANDLE_ALL)
  call check(acp_inquire(added) == 0 .and. memory(2) == 100 + me, "acp_add8")
  call check(acp_sync() == 0, "acp_sync")
  call c_f_pointer(acp_query_address(acp_query_starter_ga(me)), starter, [16])
  call check(starter(1) == 1100 + before, "what came")
  call check(acp_cas4(ACP_GA_NULL, mine, 1_c_int32_t, 2_c_int32_t, ACP_HANDLE_NULL) == 0, "null address")

  ! Channels
  if (procs > 1) then
    out = acp_create_ch(me, next)
    in = acp_create_ch(before, me)
    call check(c_associated(out) .and. c_associated(in), "acp_create_ch")
    words = ["one     ", "two     "]
    got(1) = acp_nbrecv_ch(in, words(1), 8_c_size_t)
    words(2) = "from" // achar(48 + me)
    sent = acp_nbsend_ch(out, words(2), 5_c_size_t)
    got(2) = sent
    call check(acp_waitall_ch(got, 2, sizes) == 0, "acp_waitall_ch")
    call check(sizes(1) == 5 .and. words(1)(1:5) == "from" // achar(48 + before), "a message")
    sent = acp_nbfree_ch(out)
    call check(acp_free_ch(in) == 0, "acp_free_ch")
    call check(acp_wait_ch(sent) /= -1, "acp_wait_ch")
  end if

  ! Memory of another process, vectors and lists of both releases, deques
  heap = acp_malloc(64_c_size_t, next)
  call check(heap /= ACP_GA_NULL .and. acp_query_rank(heap) == next, "acp_malloc")
  vector = acp_create_vector(4_c_size_t, 8_c_size_t, next)
  call acp_push_back_vector(vector, mine, 8_c_size_t)
  call check(acp_size_vector(vector) == 40, "acp_size_vector")
  call check(acp_at_vector(vector, 40) == ACP_GA_NULL, "beyond the end")
  call acp_destroy_vector(vector)
  list = acp_create_list(8_c_size_t, me)
  call acp_push_back_list(list, memory(1:1), next)
  one = acp_begin_list(list)
  two = one
  call acp_increment_list(two)
  call check(one /= two .and. two == acp_end_list(list), "iterators")
  element = acp_dereference_list(one)
  call check(element%size == 8 .and. acp_query_rank(element%ga) == next, "acp_dereference_list")
  call acp_destroy_list(list)
  list = acp_create_list_3(me)
  element%ga = mine
  element%size = 24
  call acp_push_back_list_3(list, element, before)
  node = acp_begin_list_3(list)
  element = acp_dereference_list_it(node)
  call check(element%size == 24 .and. acp_query_rank(element%ga) == before, "acp_dereference_list_it")
  call acp_destroy_list(list)
  vector = acp_create_deque(0_c_size_t, me)
  call acp_push_front_deque(vector, mine, 16_c_size_t)
  place = acp_advance_deque_it(acp_begin_deque(vector), 3)
  call check(place%index == 3 .and. place%deque == vector, "acp_advance_deque_it")
  pair = acp_dereference_deque_it(place, 5_c_size_t)
  call check(pair%first%size == 5 .and. pair%second%ga == ACP_GA_NULL, "acp_dereference_deque_it")
  call acp_destroy_deque(vector)

  ! Maps
  map = acp_create_map(2, [me, next], 4, before)
  call check(map%ga /= ACP_GA_NULL .and. map%num_ranks == 2, "acp_create_map")
  memory(3) = 77
  memory(4) = 0
  pair = acp_pair_t(acp_element_t(mine, 8), acp_element_t(mine + 16, 8))
  call check(acp_insert_map(map, pair) == 1 .and. acp_insert_map(map, pair) == 0, "acp_insert_map")
  pair%second%ga = mine + 24
  call check(acp_retrieve_map(map, pair) == 8 .and. memory(4) == 77, "acp_retrieve_map")
  it = acp_find_map(map, pair%first)
  call check(it%elem /= ACP_GA_NULL .and. it%map%ga == map%ga, "acp_find_map")
  pair = acp_dereference_map_it(it)
  call check(pair%first%size == 8 .and. pair%second%size == 8, "acp_dereference_map_it")
  it = acp_increment_map_it(it)
  call check(it%elem == ACP_GA_NULL .and. acp_size_map(map) == 1, "acp_increment_map_it")
  call acp_destroy_map(map)

  ! Workspaces
  workspace = acp_create_ws(100_c_size_t)
  call check(c_associated(workspace), "acp_create_ws")
  if (me == 0) call check(acp_write_ws(workspace, mine, 8_c_size_t, 8_c_size_t) == 0, "acp_write_ws")
  call check(acp_sync() == 0, "acp_sync")
  call check(acp_read_ws(workspace, mine + 40, 8_c_size_t, 8_c_size_t) == 0, "acp_read_ws")
  call check(memory(6) == 100, "a workspace")
  call acp_destroy_ws(workspace)

  call acp_free(heap)
  call check(acp_unregister_memory(key) == 0, "acp_unregister_memory")
  call check(acp_finalize() == 0, "acp_finalize")
  call check(acp_rank() == -1, "after acp_finalize")

contains

  subroutine check(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (right) return
    write (*, *) "rank ", me, ": ", what, " is not so"
    error stop 1
  end subroutine check
end program calls
