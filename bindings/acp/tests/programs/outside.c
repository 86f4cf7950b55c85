/*
 * Every call but acp_init and acp_abort, before acp_init and after acp_finalize: the value that says
 * so, and the reason. Compiled for both releases.
 * tasks: 1
 */
#include "acheck.h"

/* Each call must set the reason itself. */
#undef FAILS
#define FAILS(failed, number, call)  \
    do {                             \
        ACP_ERRNO = 0;               \
        GIVES(failed, call);         \
        GIVES(number, ACP_ERRNO);    \
    } while (0)

static acp_element_t element;
static acp_pair_t pair;
static acp_vector_t vector;
static acp_vector_it_t vector_it;
static acp_list_t list;
static acp_list_it_t list_it;
static acp_deque_t deque;
static acp_deque_it_t deque_it;
static acp_set_t set;
static acp_set_it_t set_it;
static acp_multiset_t multiset;
static acp_multiset_it_t multiset_it;
static acp_map_t map;
static acp_map_it_t map_it;

#if ACP_RELEASE < 3
#define LIST(list) (list)
#else
#define LIST(list) ((list).ga)
#endif

static void outside(void)
{
    FAILS(-1, ENOTCONN, acp_finalize());
    FAILS(-1, ENOTCONN, acp_reset(1));
    FAILS(-1, ENOTCONN, acp_procs());
    FAILS(-1, ENOTCONN, acp_rank());
    FAILS(-1, ENOTCONN, acp_sync());
    FAILS(0, ENOTCONN, acp_register_memory(NULL, 1, 1));
    FAILS(-1, ENOTCONN, acp_unregister_memory(ACP_ATKEY_NULL));
    FAILS(0, ENOTCONN, acp_query_ga(ACP_ATKEY_NULL, NULL));
    FAILS(0, ENOTCONN, acp_query_starter_ga(1));
    FAILS(0, ENOTCONN, (intptr_t)acp_query_address(ACP_GA_NULL));
    FAILS(-1, ENOTCONN, acp_query_rank(ACP_GA_NULL));
    FAILS(-1, ENOTCONN, acp_query_color(ACP_GA_NULL));
    FAILS(-1, ENOTCONN, acp_colors());
    FAILS(0, ENOTCONN, acp_copy(ACP_GA_NULL, ACP_GA_NULL, 1, ACP_HANDLE_NULL));
    FAILS(0, ENOTCONN, acp_cas4(ACP_GA_NULL, ACP_GA_NULL, 1, 1, ACP_HANDLE_NULL));
    FAILS(0, ENOTCONN, acp_cas8(ACP_GA_NULL, ACP_GA_NULL, 1, 1, ACP_HANDLE_NULL));
    FAILS(0, ENOTCONN, acp_swap4(ACP_GA_NULL, ACP_GA_NULL, 1, ACP_HANDLE_NULL));
    FAILS(0, ENOTCONN, acp_swap8(ACP_GA_NULL, ACP_GA_NULL, 1, ACP_HANDLE_NULL));
    FAILS(0, ENOTCONN, acp_add4(ACP_GA_NULL, ACP_GA_NULL, 1, ACP_HANDLE_NULL));
    FAILS(0, ENOTCONN, acp_add8(ACP_GA_NULL, ACP_GA_NULL, 1, ACP_HANDLE_NULL));
    FAILS(0, ENOTCONN, acp_xor4(ACP_GA_NULL, ACP_GA_NULL, 1, ACP_HANDLE_NULL));
    FAILS(0, ENOTCONN, acp_xor8(ACP_GA_NULL, ACP_GA_NULL, 1, ACP_HANDLE_NULL));
    FAILS(0, ENOTCONN, acp_or4(ACP_GA_NULL, ACP_GA_NULL, 1, ACP_HANDLE_NULL));
    FAILS(0, ENOTCONN, acp_or8(ACP_GA_NULL, ACP_GA_NULL, 1, ACP_HANDLE_NULL));
    FAILS(0, ENOTCONN, acp_and4(ACP_GA_NULL, ACP_GA_NULL, 1, ACP_HANDLE_NULL));
    FAILS(0, ENOTCONN, acp_and8(ACP_GA_NULL, ACP_GA_NULL, 1, ACP_HANDLE_NULL));
    FAILS(0, ENOTCONN, (acp_complete(ACP_HANDLE_NULL), 0));
    FAILS(0, ENOTCONN, acp_inquire(ACP_HANDLE_NULL));
    FAILS(0, ENOTCONN, (intptr_t)acp_create_ch(1, 1));
    FAILS(-1, ENOTCONN, acp_free_ch(ACP_CH_NULL));
    FAILS(0, ENOTCONN, (intptr_t)acp_nbfree_ch(ACP_CH_NULL));
    FAILS(0, ENOTCONN, (intptr_t)acp_nbsend_ch(ACP_CH_NULL, NULL, 1));
    FAILS(0, ENOTCONN, (intptr_t)acp_nbrecv_ch(ACP_CH_NULL, NULL, 1));
    FAILS(-1, ENOTCONN, acp_wait_ch(ACP_REQUEST_NULL));
    FAILS(-1, ENOTCONN, acp_waitall_ch(NULL, 1, NULL));
    FAILS(0, ENOTCONN, (intptr_t)acp_create_src_segbuf(1, NULL, 1, 1));
    FAILS(0, ENOTCONN, (intptr_t)acp_create_dst_segbuf(1, NULL, 1, 1));
    FAILS(1, ENOTCONN, acp_connect_segbuf(ACP_SEGBUF_NULL));
    FAILS(1, ENOTCONN, acp_isconnected_segbuf(ACP_SEGBUF_NULL));
    FAILS(1, ENOTCONN, acp_ready_segbuf(ACP_SEGBUF_NULL));
    FAILS(1, ENOTCONN, acp_ack_segbuf(ACP_SEGBUF_NULL));
    FAILS(1, ENOTCONN, acp_isready_segbuf(ACP_SEGBUF_NULL));
    FAILS(1, ENOTCONN, acp_isacked_segbuf(ACP_SEGBUF_NULL));
    FAILS(-1, ENOTCONN, acp_query_segbuf_head(ACP_SEGBUF_NULL));
    FAILS(-1, ENOTCONN, acp_query_segbuf_tail(ACP_SEGBUF_NULL));
    FAILS(-1, ENOTCONN, acp_query_segbuf_sent(ACP_SEGBUF_NULL));
    FAILS(1, ENOTCONN, acp_disconnect_segbuf(ACP_SEGBUF_NULL));
    FAILS(1, ENOTCONN, acp_free_segbuf(ACP_SEGBUF_NULL));
    FAILS(-1, ENOTCONN, (intptr_t)acp_create_ws(1));
    FAILS(1, ENOTCONN, acp_setparams_ws(1, 1));
    FAILS(0, ENOTCONN, (acp_destroy_ws(ACP_WSD_NULL), 0));
    FAILS(1, ENOTCONN, acp_read_ws(ACP_WSD_NULL, ACP_GA_NULL, 1, 1));
    FAILS(1, ENOTCONN, acp_write_ws(ACP_WSD_NULL, ACP_GA_NULL, 1, 1));
    FAILS(0, ENOTCONN, acp_malloc(1, 1));
    FAILS(0, ENOTCONN, (acp_free(16), 0));
    FAILS(0, ENOTCONN, (acp_destroy_vector(vector), 0));
    FAILS(0, ENOTCONN, (acp_swap_vector(vector, vector), 0));
    FAILS(0, ENOTCONN, (acp_assign_vector(vector, vector), 0));
    FAILS(0, ENOTCONN, acp_at_vector(vector, 1));
    FAILS(0, ENOTCONN, acp_capacity_vector(vector));
    FAILS(0, ENOTCONN, (acp_clear_vector(vector), 0));
    FAILS(1, ENOTCONN, acp_empty_vector(vector));
    FAILS(0, ENOTCONN, (acp_pop_back_vector(vector, 1), 0));
    FAILS(0, ENOTCONN, (acp_push_back_vector(vector, ACP_GA_NULL, 1), 0));
    FAILS(0, ENOTCONN, (acp_reserve_vector(vector, 1), 0));
    FAILS(0, ENOTCONN, acp_size_vector(vector));
    FAILS(0, ENOTCONN, (acp_destroy_list(list), 0));
    FAILS(0, ENOTCONN, (acp_assign_list(list, list), 0));
    FAILS(0, ENOTCONN, (acp_clear_list(list), 0));
    FAILS(1, ENOTCONN, acp_empty_list(list));
    FAILS(0, ENOTCONN, (acp_merge_list(list, list, NULL), 0));
    FAILS(0, ENOTCONN, (acp_pop_back_list(list), 0));
    FAILS(0, ENOTCONN, (acp_pop_front_list(list), 0));
    FAILS(0, ENOTCONN, (acp_push_front_list(list, element, 1), 0));
    FAILS(0, ENOTCONN, (acp_remove_list(list, element), 0));
    FAILS(0, ENOTCONN, (acp_reverse_list(list), 0));
    FAILS(0, ENOTCONN, acp_size_list(list));
    FAILS(0, ENOTCONN, (acp_sort_list(list, NULL), 0));
    FAILS(0, ENOTCONN, (acp_swap_list(list, list), 0));
    FAILS(0, ENOTCONN, (acp_unique_list(list), 0));
    FAILS(0, ENOTCONN, acp_create_deque(1, 1).ga);
    FAILS(0, ENOTCONN, (acp_destroy_deque(deque), 0));
    FAILS(0, ENOTCONN, (acp_assign_deque(deque, deque), 0));
    FAILS(0, ENOTCONN, (acp_assign_range_deque(deque, deque_it, deque_it), 0));
    FAILS(0, ENOTCONN, acp_at_deque(deque, 1));
    FAILS(0, ENOTCONN, acp_begin_deque(deque).deque.ga);
    FAILS(0, ENOTCONN, acp_end_deque(deque).deque.ga);
    FAILS(0, ENOTCONN, acp_capacity_deque(deque));
    FAILS(0, ENOTCONN, (acp_clear_deque(deque), 0));
    FAILS(1, ENOTCONN, acp_empty_deque(deque));
    FAILS(0, ENOTCONN, acp_erase_deque(deque_it, 1).deque.ga);
    FAILS(0, ENOTCONN, acp_erase_range_deque(deque_it, deque_it).deque.ga);
    FAILS(0, ENOTCONN, acp_insert_deque(deque_it, ACP_GA_NULL, 1).deque.ga);
    FAILS(0, ENOTCONN, acp_insert_range_deque(deque_it, deque_it, deque_it).deque.ga);
    FAILS(0, ENOTCONN, (acp_pop_back_deque(deque, 1), 0));
    FAILS(0, ENOTCONN, (acp_pop_front_deque(deque, 1), 0));
    FAILS(0, ENOTCONN, (acp_push_back_deque(deque, ACP_GA_NULL, 1), 0));
    FAILS(0, ENOTCONN, (acp_push_front_deque(deque, ACP_GA_NULL, 1), 0));
    FAILS(0, ENOTCONN, (acp_reserve_deque(deque, 1), 0));
    FAILS(0, ENOTCONN, acp_size_deque(deque));
    FAILS(0, ENOTCONN, (acp_swap_deque(deque, deque), 0));
    FAILS(0, ENOTCONN, acp_advance_deque_it(deque_it, 1).deque.ga);
    FAILS(0, ENOTCONN, acp_dereference_deque_it(deque_it, 1).first.ga);
    FAILS(0, ENOTCONN, acp_distance_deque_it(deque_it, deque_it));
    FAILS(0, ENOTCONN, acp_create_set(1, NULL, 1, 1).ga);
    FAILS(0, ENOTCONN, (acp_destroy_set(set), 0));
    FAILS(0, ENOTCONN, (acp_assign_set(set, set), 0));
    FAILS(0, ENOTCONN, (acp_assign_local_set(set, set), 0));
    FAILS(0, ENOTCONN, acp_begin_set(set).elem);
    FAILS(0, ENOTCONN, acp_begin_local_set(set).elem);
    FAILS(0, ENOTCONN, (acp_clear_set(set), 0));
    FAILS(0, ENOTCONN, LIST(acp_collapse_set(set)));
    FAILS(1, ENOTCONN, acp_empty_set(set));
    FAILS(1, ENOTCONN, acp_empty_local_set(set));
    FAILS(0, ENOTCONN, acp_end_set(set).elem);
    FAILS(0, ENOTCONN, acp_end_local_set(set).elem);
    FAILS(0, ENOTCONN, acp_find_set(set, element).elem);
    FAILS(0, ENOTCONN, acp_insert_set(set, element));
    FAILS(0, ENOTCONN, (acp_merge_set(set, set), 0));
    FAILS(0, ENOTCONN, (acp_merge_local_set(set, set), 0));
    FAILS(0, ENOTCONN, (acp_move_set(set, set), 0));
    FAILS(0, ENOTCONN, (acp_move_local_set(set, set), 0));
    FAILS(0, ENOTCONN, (acp_remove_set(set, element), 0));
    FAILS(0, ENOTCONN, acp_size_set(set));
    FAILS(0, ENOTCONN, acp_size_local_set(set));
    FAILS(0, ENOTCONN, (acp_swap_set(set, set), 0));
    FAILS(0, ENOTCONN, acp_dereference_set_it(set_it).ga);
    FAILS(0, ENOTCONN, acp_increment_set_it(set_it).elem);
    FAILS(0, ENOTCONN, acp_create_multiset(1, NULL, 1, 1).ga);
    FAILS(0, ENOTCONN, (acp_destroy_multiset(multiset), 0));
    FAILS(0, ENOTCONN, (acp_assign_multiset(multiset, multiset), 0));
    FAILS(0, ENOTCONN, (acp_assign_local_multiset(multiset, multiset), 0));
    FAILS(0, ENOTCONN, acp_begin_multiset(multiset).elem);
    FAILS(0, ENOTCONN, acp_begin_local_multiset(multiset).elem);
    FAILS(0, ENOTCONN, (acp_clear_multiset(multiset), 0));
    FAILS(0, ENOTCONN, acp_collapse_multiset(multiset).ga);
    FAILS(1, ENOTCONN, acp_empty_multiset(multiset));
    FAILS(1, ENOTCONN, acp_empty_local_multiset(multiset));
    FAILS(0, ENOTCONN, acp_end_multiset(multiset).elem);
    FAILS(0, ENOTCONN, acp_end_local_multiset(multiset).elem);
    FAILS(0, ENOTCONN, acp_find_multiset(multiset, element).elem);
    FAILS(0, ENOTCONN, acp_insert_multiset(multiset, element));
    FAILS(0, ENOTCONN, (acp_merge_multiset(multiset, multiset), 0));
    FAILS(0, ENOTCONN, (acp_merge_local_multiset(multiset, multiset), 0));
    FAILS(0, ENOTCONN, (acp_move_multiset(multiset, multiset), 0));
    FAILS(0, ENOTCONN, (acp_move_local_multiset(multiset, multiset), 0));
    FAILS(0, ENOTCONN, (acp_remove_multiset(multiset, element), 0));
    FAILS(0, ENOTCONN, (acp_remove_all_multiset(multiset, element), 0));
    FAILS(0, ENOTCONN, acp_retrieve_multiset(multiset, element));
    FAILS(0, ENOTCONN, acp_size_multiset(multiset));
    FAILS(0, ENOTCONN, acp_size_local_multiset(multiset));
    FAILS(0, ENOTCONN, (acp_swap_multiset(multiset, multiset), 0));
    FAILS(0, ENOTCONN, acp_dereference_multiset_it(multiset_it).ga);
    FAILS(0, ENOTCONN, acp_increment_multiset_it(multiset_it).elem);
    FAILS(0, ENOTCONN, acp_create_map(1, NULL, 1, 1).ga);
    FAILS(0, ENOTCONN, (acp_destroy_map(map), 0));
    FAILS(0, ENOTCONN, (acp_assign_map(map, map), 0));
    FAILS(0, ENOTCONN, (acp_assign_local_map(map, map), 0));
    FAILS(0, ENOTCONN, acp_begin_map(map).elem);
    FAILS(0, ENOTCONN, acp_begin_local_map(map).elem);
    FAILS(0, ENOTCONN, (acp_clear_map(map), 0));
    FAILS(0, ENOTCONN, (acp_clear_local_map(map), 0));
    FAILS(1, ENOTCONN, acp_empty_map(map));
    FAILS(1, ENOTCONN, acp_empty_local_map(map));
    FAILS(0, ENOTCONN, acp_end_map(map).elem);
    FAILS(0, ENOTCONN, acp_end_local_map(map).elem);
    FAILS(0, ENOTCONN, acp_find_map(map, element).elem);
    FAILS(0, ENOTCONN, acp_insert_map(map, pair));
    FAILS(0, ENOTCONN, (acp_merge_map(map, map), 0));
    FAILS(0, ENOTCONN, (acp_merge_local_map(map, map), 0));
    FAILS(0, ENOTCONN, (acp_move_map(map, map), 0));
    FAILS(0, ENOTCONN, (acp_move_local_map(map, map), 0));
    FAILS(0, ENOTCONN, (acp_remove_map(map, element), 0));
    FAILS(0, ENOTCONN, acp_retrieve_map(map, pair));
    FAILS(0, ENOTCONN, acp_size_map(map));
    FAILS(0, ENOTCONN, acp_size_local_map(map));
    FAILS(0, ENOTCONN, (acp_swap_map(map, map), 0));
    FAILS(0, ENOTCONN, acp_dereference_map_it(map_it).first.ga);
    FAILS(0, ENOTCONN, acp_increment_map_it(map_it).elem);
#if ACP_RELEASE < 3
    FAILS(0, ENOTCONN, acp_create_vector(1, 1, 1));
    FAILS(0, ENOTCONN, acp_duplicate_vector(vector, 1));
    FAILS(0, ENOTCONN, acp_create_list(1, 1));
    FAILS(-1, ENOTCONN, acp_insert_list(list, list_it, NULL, 1));
    FAILS(-1, ENOTCONN, acp_erase_list(list, list_it));
    FAILS(0, ENOTCONN, (acp_push_back_list(list, NULL, 1), 0));
    FAILS(-1, ENOTCONN, acp_begin_list(list));
    FAILS(-1, ENOTCONN, acp_end_list(list));
    FAILS(0, ENOTCONN, (acp_increment_list(NULL), 0));
    FAILS(0, ENOTCONN, (acp_decrement_list(NULL), 0));
    FAILS(0, ENOTCONN, acp_dereference_list(list_it).ga);
#else
    FAILS(0, ENOTCONN, acp_create_vector(1, 1).ga);
    FAILS(0, ENOTCONN, (acp_assign_range_vector(vector, vector_it, vector_it), 0));
    FAILS(0, ENOTCONN, acp_begin_vector(vector).vector.ga);
    FAILS(0, ENOTCONN, acp_end_vector(vector).vector.ga);
    FAILS(0, ENOTCONN, acp_erase_vector(vector_it, 1).vector.ga);
    FAILS(0, ENOTCONN, acp_erase_range_vector(vector_it, vector_it).vector.ga);
    FAILS(0, ENOTCONN, acp_insert_vector(vector_it, ACP_GA_NULL, 1).vector.ga);
    FAILS(0, ENOTCONN, acp_insert_range_vector(vector_it, vector_it, vector_it).vector.ga);
    FAILS(0, ENOTCONN, acp_advance_vector_it(vector_it, 1).vector.ga);
    FAILS(0, ENOTCONN, acp_dereference_vector_it(vector_it));
    FAILS(0, ENOTCONN, acp_distance_vector_it(vector_it, vector_it));
    FAILS(0, ENOTCONN, acp_create_list(1).ga);
    FAILS(0, ENOTCONN, acp_insert_list(list_it, element, 1).elem);
    FAILS(0, ENOTCONN, acp_erase_list(list_it).elem);
    FAILS(0, ENOTCONN, acp_erase_range_list(list_it, list_it).elem);
    FAILS(0, ENOTCONN, (acp_push_back_list(list, element, 1), 0));
    FAILS(0, ENOTCONN, acp_begin_list(list).elem);
    FAILS(0, ENOTCONN, acp_end_list(list).elem);
    FAILS(0, ENOTCONN, (acp_assign_range_list(list, list_it, list_it), 0));
    FAILS(0, ENOTCONN, acp_insert_range_list(list_it, list_it, list_it).elem);
    FAILS(0, ENOTCONN, (acp_splice_list(list_it, list_it), 0));
    FAILS(0, ENOTCONN, (acp_splice_range_list(list_it, list_it, list_it), 0));
    FAILS(0, ENOTCONN, acp_advance_list_it(list_it, 1).elem);
    FAILS(0, ENOTCONN, acp_increment_list_it(list_it).elem);
    FAILS(0, ENOTCONN, acp_decrement_list_it(list_it).elem);
    FAILS(0, ENOTCONN, acp_dereference_list_it(list_it).ga);
    FAILS(0, ENOTCONN, acp_distance_list_it(list_it, list_it));
#endif
}

int main(int argc, char **argv)
{
    (void)vector_it;
    outside();
    join(&argc, &argv);
    FAILS(-1, EALREADY, acp_init(&argc, &argv));
    OK(acp_finalize());
    outside();
    return 0;
}
