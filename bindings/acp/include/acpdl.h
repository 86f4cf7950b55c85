/*
 * acpdl.h - the data library of Advanced Communication Primitives. acp.h includes it.
 *
 * Structures lie in the memory that acp_malloc gives, and every process reaches them by the same
 * reference. `rank` says whose memory is taken. Calls end when their work is done. Several
 * processes may change one structure at a time: each call is done as a whole. Readers don't wait
 * for each other.
 *
 * A call that fails sets ACP_ERRNO and writes a line to the log: EBADF for what is no structure of
 * the kind, EINVAL for an iterator that is none or beyond an end, EFAULT for null or bad memory,
 * ENOMEM, and EHOSTDOWN if a process that it needs has ended. Calls that give a structure or an
 * iterator give null ones then.
 *
 * Vectors and lists are those of release 1.0. They differ in release 3.0, where their types and
 * some calls have the same names and other parameters: define ACP_RELEASE as 3 before acp.h is
 * included to have those.
 */
#ifndef LAPIS_ACPDL_H
#define LAPIS_ACPDL_H

#ifndef ACP_RELEASE
#define ACP_RELEASE 1
#endif

/*
 * acp_create(vector, ...) is acp_create_vector(...), and so on. Those for back, bucket, count, front
 * and value are in release 3.0, too, where no type has such a call.
 */
#define acp_assign(type, ...) acp_assign_##type(__VA_ARGS__)
#define acp_assign_range(type, ...) acp_assign_range_##type(__VA_ARGS__)
#define acp_at(type, ...) acp_at_##type(__VA_ARGS__)
#define acp_back(type, ...) acp_back_##type(__VA_ARGS__)
#define acp_begin(type, ...) acp_begin_##type(__VA_ARGS__)
#define acp_bucket(type, ...) acp_bucket_##type(__VA_ARGS__)
#define acp_bucket_count(type, ...) acp_bucket_count_##type(__VA_ARGS__)
#define acp_bucket_size(type, ...) acp_bucket_size_##type(__VA_ARGS__)
#define acp_capacity(type, ...) acp_capacity_##type(__VA_ARGS__)
#define acp_clear(type, ...) acp_clear_##type(__VA_ARGS__)
#define acp_count(type, ...) acp_count_##type(__VA_ARGS__)
#define acp_create(type, ...) acp_create_##type(__VA_ARGS__)
#define acp_destroy(type, ...) acp_destroy_##type(__VA_ARGS__)
#define acp_duplicate(type, ...) acp_duplicate_##type(__VA_ARGS__)
#define acp_empty(type, ...) acp_empty_##type(__VA_ARGS__)
#define acp_end(type, ...) acp_end_##type(__VA_ARGS__)
#define acp_erase(type, ...) acp_erase_##type(__VA_ARGS__)
#define acp_erase_range(type, ...) acp_erase_range_##type(__VA_ARGS__)
#define acp_find(type, ...) acp_find_##type(__VA_ARGS__)
#define acp_front(type, ...) acp_front_##type(__VA_ARGS__)
#define acp_insert(type, ...) acp_insert_##type(__VA_ARGS__)
#define acp_insert_range(type, ...) acp_insert_range_##type(__VA_ARGS__)
#define acp_merge(type, ...) acp_merge_##type(__VA_ARGS__)
#define acp_pop_back(type, ...) acp_pop_back_##type(__VA_ARGS__)
#define acp_pop_front(type, ...) acp_pop_front_##type(__VA_ARGS__)
#define acp_push_back(type, ...) acp_push_back_##type(__VA_ARGS__)
#define acp_push_front(type, ...) acp_push_front_##type(__VA_ARGS__)
#define acp_remove(type, ...) acp_remove_##type(__VA_ARGS__)
#define acp_reserve(type, ...) acp_reserve_##type(__VA_ARGS__)
#define acp_reverse(type, ...) acp_reverse_##type(__VA_ARGS__)
#define acp_size(type, ...) acp_size_##type(__VA_ARGS__)
#define acp_size_value(type, ...) acp_size_value_##type(__VA_ARGS__)
#define acp_sort(type, ...) acp_sort_##type(__VA_ARGS__)
#define acp_splice(type, ...) acp_splice_##type(__VA_ARGS__)
#define acp_splice_range(type, ...) acp_splice_range_##type(__VA_ARGS__)
#define acp_swap(type, ...) acp_swap_##type(__VA_ARGS__)
#define acp_unique(type, ...) acp_unique_##type(__VA_ARGS__)
#define acp_advance(type, ...) acp_advance_##type(__VA_ARGS__)
#define acp_decrement(type, ...) acp_decrement_##type(__VA_ARGS__)
#define acp_dereference(type, ...) acp_dereference_##type(__VA_ARGS__)
#define acp_dereference_value(type, ...) acp_dereference_value_##type(__VA_ARGS__)
#define acp_distance(type, ...) acp_distance_##type(__VA_ARGS__)
#define acp_increment(type, ...) acp_increment_##type(__VA_ARGS__)

/* A piece of global memory; no piece has ga ACP_GA_NULL. */
typedef struct {
    acp_ga_t ga;
    size_t size;
} acp_element_t;

/* Two pieces: key and value, or the two places of bytes that go round. */
typedef struct {
    acp_element_t first;
    acp_element_t second;
} acp_pair_t;

#if ACP_RELEASE < 3

/* Vectors of release 1.0, whose elements are numbered bytes for the calls of release 3.0. */

typedef acp_ga_t acp_vector_t;
typedef int acp_vector_it_t;
#define ACP_VECTOR_NULL ACP_GA_NULL

/* nelem elements of size bytes (at least 1), which are 0; or ACP_VECTOR_NULL. Section 3.3.2. */
extern acp_vector_t acp_create_vector(size_t nelem, size_t size, int rank);
/* A copy in rank's memory, or ACP_VECTOR_NULL. Section 3.3.4. */
extern acp_vector_t acp_duplicate_vector(acp_vector_t vector, int rank);

/* Lists of release 1.0. An iterator is a number, and good in the process that got it. */

typedef acp_ga_t acp_list_t;
typedef int acp_list_it_t;
#define ACP_LIST_NULL ACP_GA_NULL

/* An empty list of elements of elsize bytes (at least 1), or ACP_LIST_NULL. Section 3.4.2. */
extern acp_list_t acp_create_list(size_t elsize, int rank);
/* Inserts a copy of *ptr, in rank's memory, before it; gives its iterator, or -1. Section 3.4.4. */
extern acp_list_it_t acp_insert_list(acp_list_t list, acp_list_it_t it, const void *ptr, int rank);
/* Gives the iterator of what follows, or -1. Section 3.4.5. */
extern acp_list_it_t acp_erase_list(acp_list_t list, acp_list_it_t it);
/* Appends a copy of *ptr in rank's memory. Section 3.4.6. */
extern void acp_push_back_list(acp_list_t list, const void *ptr, int rank);
/* The first element, or the end if there is none; -1 if there is no list. Section 3.4.7. */
extern acp_list_it_t acp_begin_list(acp_list_t list);
/* What is behind the last element; -1 if there is no list. Section 3.4.8. */
extern acp_list_it_t acp_end_list(acp_list_t list);
/* To the next element; *list stays if it is the end. Section 3.4.9. */
extern void acp_increment_list(acp_list_it_t *list);
/* To the element before; *list stays if it is the first one. Section 3.4.10. */
extern void acp_decrement_list(acp_list_it_t *list);
/* An addition: where the element's bytes are. */
extern acp_element_t acp_dereference_list(acp_list_it_t it);

#else

/* Vectors of release 3.0: bytes. An iterator is the number of a byte. */

typedef struct {
    acp_ga_t ga;
} acp_vector_t;
typedef struct {
    acp_vector_t vector;
    int index;
} acp_vector_it_t;

#define acp_create_vector acp_create_vector_3

/* size bytes, which are 0. */
extern acp_vector_t acp_create_vector_3(size_t size, int rank);
extern void acp_assign_range_vector(acp_vector_t vector, acp_vector_it_t start, acp_vector_it_t end);
extern acp_vector_it_t acp_begin_vector(acp_vector_t vector);
extern acp_vector_it_t acp_end_vector(acp_vector_t vector);
/* At most size bytes; gives the iterator of what follows, as acp_erase_range_vector does. */
extern acp_vector_it_t acp_erase_vector(acp_vector_it_t it, size_t size);
extern acp_vector_it_t acp_erase_range_vector(acp_vector_it_t start, acp_vector_it_t end);
/* Before it, a copy of memory of any process; gives the iterator of the copy. */
extern acp_vector_it_t acp_insert_vector(acp_vector_it_t it, const acp_ga_t ga, size_t size);
extern acp_vector_it_t acp_insert_range_vector(acp_vector_it_t it, acp_vector_it_t start,
                                               acp_vector_it_t end);
/* n may be negative. */
extern acp_vector_it_t acp_advance_vector_it(acp_vector_it_t it, int n);
/* ACP_GA_NULL at the end. */
extern acp_ga_t acp_dereference_vector_it(acp_vector_it_t it);
/* 0 if they are not one vector's. */
extern int acp_distance_vector_it(acp_vector_it_t first, acp_vector_it_t last);

/* Lists of release 3.0: elements of any size. */

typedef struct {
    acp_ga_t ga;
} acp_list_t;
typedef struct {
    acp_list_t list;
    acp_ga_t elem;
} acp_list_it_t;

#define acp_create_list acp_create_list_3
#define acp_insert_list acp_insert_list_3
#define acp_erase_list acp_erase_list_3
#define acp_push_back_list acp_push_back_list_3
#define acp_begin_list acp_begin_list_3
#define acp_end_list acp_end_list_3

extern acp_list_t acp_create_list_3(int rank);
/* Before it, a copy of memory of any process in rank's; gives the iterator of the copy. */
extern acp_list_it_t acp_insert_list_3(acp_list_it_t it, const acp_element_t elem, int rank);
/* Gives the iterator of what follows, as acp_erase_range_list does. */
extern acp_list_it_t acp_erase_list_3(acp_list_it_t it);
extern acp_list_it_t acp_erase_range_list(acp_list_it_t start, acp_list_it_t end);
extern void acp_push_back_list_3(acp_list_t list, const acp_element_t elem, int rank);
extern acp_list_it_t acp_begin_list_3(acp_list_t list);
extern acp_list_it_t acp_end_list_3(acp_list_t list);
extern void acp_assign_range_list(acp_list_t list, acp_list_it_t start, acp_list_it_t end);
/* Each copy goes to the process that has the original; gives the first one, or it. */
extern acp_list_it_t acp_insert_range_list(acp_list_it_t it, acp_list_it_t start,
                                           acp_list_it_t end);
/* Moves it2's element to before it1's. */
extern void acp_splice_list(acp_list_it_t it1, acp_list_it_t it2);
/* `it` must not be among those that move. */
extern void acp_splice_range_list(acp_list_it_t it, acp_list_it_t start, acp_list_it_t end);
/* Stops at the ends; n may be negative. */
extern acp_list_it_t acp_advance_list_it(acp_list_it_t it, int n);
extern acp_list_it_t acp_increment_list_it(acp_list_it_t it);
extern acp_list_it_t acp_decrement_list_it(acp_list_it_t it);
extern acp_element_t acp_dereference_list_it(acp_list_it_t it);
/* 0 if last does not come after first. */
extern int acp_distance_list_it(acp_list_it_t first, acp_list_it_t last);

#endif

/* Vectors of both releases. index is in bytes; ga may be any process's memory. */

extern void acp_destroy_vector(acp_vector_t vector);
/* Exchanges what they hold, without copies: the bytes stay in the process that has them. */
extern void acp_swap_vector(acp_vector_t vector1, acp_vector_t vector2);
/* Makes vector1 equal to vector2. */
extern void acp_assign_vector(acp_vector_t vector1, acp_vector_t vector2);
/* ACP_GA_NULL beyond the end. Good until the vector grows, is swapped or destroyed. */
extern acp_ga_t acp_at_vector(acp_vector_t vector, int index);
extern size_t acp_capacity_vector(acp_vector_t vector);
extern void acp_clear_vector(acp_vector_t vector);
/* 1 or 0. */
extern int acp_empty_vector(acp_vector_t vector);
/* At most size bytes. */
extern void acp_pop_back_vector(acp_vector_t vector, size_t size);
extern void acp_push_back_vector(acp_vector_t vector, const acp_ga_t ga, size_t size);
extern void acp_reserve_vector(acp_vector_t vector, size_t size);
extern size_t acp_size_vector(acp_vector_t vector);

/* Lists of both releases. */

/* Frees the elements, too. */
extern void acp_destroy_list(acp_list_t list);
/* Makes list1 equal to list2. */
extern void acp_assign_list(acp_list_t list1, acp_list_t list2);
extern void acp_clear_list(acp_list_t list);
/* 1 or 0. */
extern int acp_empty_list(acp_list_t list);
/* Moves the elements of list2 into list1; both are sorted by comp, which must not change them. */
extern void acp_merge_list(acp_list_t list1, acp_list_t list2,
                           int (*comp)(const acp_element_t elem1, const acp_element_t elem2));
/* Nothing happens if there is no element. */
extern void acp_pop_back_list(acp_list_t list);
extern void acp_pop_front_list(acp_list_t list);
extern void acp_push_front_list(acp_list_t list, const acp_element_t elem, int rank);
/* Frees the elements with the same bytes. */
extern void acp_remove_list(acp_list_t list, const acp_element_t elem);
extern void acp_reverse_list(acp_list_t list);
extern size_t acp_size_list(acp_list_t list);
/* Equal elements keep their order; comp must not change the list. */
extern void acp_sort_list(acp_list_t list,
                          int (*comp)(const acp_element_t elem1, const acp_element_t elem2));
/* Iterators don't go with the elements. */
extern void acp_swap_list(acp_list_t list1, acp_list_t list2);
/* Frees the elements with the same bytes as the one before. */
extern void acp_unique_list(acp_list_t list);

/* Deques: bytes that may go round in their memory. An iterator is the number of a byte. */

typedef struct {
    acp_ga_t ga;
} acp_deque_t;
typedef struct {
    acp_deque_t deque;
    int index;
} acp_deque_it_t;

/* size bytes, which are 0. */
extern acp_deque_t acp_create_deque(size_t size, int rank);
extern void acp_destroy_deque(acp_deque_t deque);
/* Makes deque1 equal to deque2. */
extern void acp_assign_deque(acp_deque_t deque1, acp_deque_t deque2);
extern void acp_assign_range_deque(acp_deque_t deque, acp_deque_it_t start, acp_deque_it_t end);
/* ACP_GA_NULL beyond the end. The next byte may be elsewhere: see acp_dereference_deque_it. */
extern acp_ga_t acp_at_deque(acp_deque_t deque, int index);
extern acp_deque_it_t acp_begin_deque(acp_deque_t deque);
extern acp_deque_it_t acp_end_deque(acp_deque_t deque);
extern size_t acp_capacity_deque(acp_deque_t deque);
extern void acp_clear_deque(acp_deque_t deque);
/* 1 or 0. */
extern int acp_empty_deque(acp_deque_t deque);
/* At most size bytes; gives the iterator of what follows, as acp_erase_range_deque does. */
extern acp_deque_it_t acp_erase_deque(acp_deque_it_t it, size_t size);
extern acp_deque_it_t acp_erase_range_deque(acp_deque_it_t start, acp_deque_it_t end);
/* Before it, a copy of memory of any process; gives the iterator of the copy. */
extern acp_deque_it_t acp_insert_deque(acp_deque_it_t it, const acp_ga_t ga, size_t size);
extern acp_deque_it_t acp_insert_range_deque(acp_deque_it_t it, acp_deque_it_t start,
                                             acp_deque_it_t end);
/* At most size bytes. */
extern void acp_pop_back_deque(acp_deque_t deque, size_t size);
extern void acp_pop_front_deque(acp_deque_t deque, size_t size);
extern void acp_push_back_deque(acp_deque_t deque, const acp_ga_t ga, size_t size);
extern void acp_push_front_deque(acp_deque_t deque, const acp_ga_t ga, size_t size);
extern void acp_reserve_deque(acp_deque_t deque, size_t size);
extern size_t acp_size_deque(acp_deque_t deque);
/* Exchanges what they hold, without copies. */
extern void acp_swap_deque(acp_deque_t deque1, acp_deque_t deque2);
/* n may be negative. */
extern acp_deque_it_t acp_advance_deque_it(acp_deque_it_t it, int n);
/* The places of at most size bytes; `second` has none if they are in one place. */
extern acp_pair_t acp_dereference_deque_it(acp_deque_it_t it, size_t size);
/* 0 if they are not one deque's. */
extern int acp_distance_deque_it(acp_deque_it_t first, acp_deque_it_t last);

/*
 * Sets, multisets and maps: elements by key, spread over the processes that `ranks` names (num_ranks
 * of them), each of which has num_slots buckets; `rank` has the control block. Keys are bytes, at
 * least one. Calls with one key are done as a whole; those that concern many keys are not: others
 * may see them half done.
 *
 * acp_insert_* gives 1, or 0 if it fails, or if a map has the key. acp_remove_* of a key that is not
 * there does nothing. acp_find_* gives the end if there is no such key. An iterator whose elem is
 * ACP_GA_NULL is the end, or of a call that failed. acp_size_* counts keys, equal ones once.
 * Merging and moving keep the elements that are there already (multisets add up how often);
 * acp_move_* leaves nothing behind. Iterators are good until their element is removed.
 *
 * The calls with `local` in their names concern the keys whose buckets this process has: of the
 * second structure, where there are two. From acp_begin_local_* to acp_end_local_* one comes by
 * incrementing.
 */

/* Sets. */

typedef struct {
    acp_ga_t ga;
    uint64_t num_ranks;
    uint64_t num_slots;
} acp_set_t;
typedef struct {
    acp_set_t set;
    int rank;
    int slot;
    acp_ga_t elem;
} acp_set_it_t;

extern acp_set_t acp_create_set(int num_ranks, const int *ranks, int num_slots, int rank);
extern void acp_destroy_set(acp_set_t set);
extern void acp_assign_set(acp_set_t set1, acp_set_t set2);
extern void acp_assign_local_set(acp_set_t set1, acp_set_t set2);
extern acp_set_it_t acp_begin_set(acp_set_t set);
extern acp_set_it_t acp_begin_local_set(acp_set_t set);
extern void acp_clear_set(acp_set_t set);
/* The set becomes a list of its keys, which stay in their processes. There is no set then. */
extern acp_list_t acp_collapse_set(acp_set_t set);
extern int acp_empty_set(acp_set_t set);
extern int acp_empty_local_set(acp_set_t set);
extern acp_set_it_t acp_end_set(acp_set_t set);
extern acp_set_it_t acp_end_local_set(acp_set_t set);
extern acp_set_it_t acp_find_set(acp_set_t set, acp_element_t key);
extern int acp_insert_set(acp_set_t set, acp_element_t key);
extern void acp_merge_set(acp_set_t set1, acp_set_t set2);
extern void acp_merge_local_set(acp_set_t set1, acp_set_t set2);
extern void acp_move_set(acp_set_t set1, acp_set_t set2);
extern void acp_move_local_set(acp_set_t set1, acp_set_t set2);
extern void acp_remove_set(acp_set_t set, acp_element_t key);
extern size_t acp_size_set(acp_set_t set);
extern size_t acp_size_local_set(acp_set_t set);
extern void acp_swap_set(acp_set_t set1, acp_set_t set2);
extern acp_element_t acp_dereference_set_it(acp_set_it_t it);
extern acp_set_it_t acp_increment_set_it(acp_set_it_t it);

/* Multisets: sets that count how often each key was inserted. */

typedef struct {
    acp_ga_t ga;
    uint64_t num_ranks;
    uint64_t num_slots;
} acp_multiset_t;
typedef struct {
    acp_multiset_t set;
    int rank;
    int slot;
    acp_ga_t elem;
} acp_multiset_it_t;

extern acp_multiset_t acp_create_multiset(int num_ranks, const int *ranks, int num_slots, int rank);
extern void acp_destroy_multiset(acp_multiset_t set);
extern void acp_assign_multiset(acp_multiset_t set1, acp_multiset_t set2);
extern void acp_assign_local_multiset(acp_multiset_t set1, acp_multiset_t set2);
extern acp_multiset_it_t acp_begin_multiset(acp_multiset_t set);
extern acp_multiset_it_t acp_begin_local_multiset(acp_multiset_t set);
extern void acp_clear_multiset(acp_multiset_t set);
/*
 * The multiset becomes a set, whose keys have in front of them how often they were there: 8 bytes,
 * the highest one first. If that fails, the multiset is as it was.
 */
extern acp_set_t acp_collapse_multiset(acp_multiset_t set);
extern int acp_empty_multiset(acp_multiset_t set);
extern int acp_empty_local_multiset(acp_multiset_t set);
extern acp_multiset_it_t acp_end_multiset(acp_multiset_t set);
extern acp_multiset_it_t acp_end_local_multiset(acp_multiset_t set);
extern acp_multiset_it_t acp_find_multiset(acp_multiset_t set, acp_element_t key);
extern int acp_insert_multiset(acp_multiset_t set, acp_element_t key);
extern void acp_merge_multiset(acp_multiset_t set1, acp_multiset_t set2);
extern void acp_merge_local_multiset(acp_multiset_t set1, acp_multiset_t set2);
extern void acp_move_multiset(acp_multiset_t set1, acp_multiset_t set2);
extern void acp_move_local_multiset(acp_multiset_t set1, acp_multiset_t set2);
extern void acp_remove_multiset(acp_multiset_t set, acp_element_t key);
/* However often the key is there. */
extern void acp_remove_all_multiset(acp_multiset_t set, acp_element_t key);
/* How often the key is there. */
extern uint64_t acp_retrieve_multiset(acp_multiset_t set, acp_element_t key);
extern size_t acp_size_multiset(acp_multiset_t set);
extern size_t acp_size_local_multiset(acp_multiset_t set);
extern void acp_swap_multiset(acp_multiset_t set1, acp_multiset_t set2);
extern acp_element_t acp_dereference_multiset_it(acp_multiset_it_t it);
extern acp_multiset_it_t acp_increment_multiset_it(acp_multiset_it_t it);

/* Maps: keys with a value of any size, which lies behind the key at a multiple of 8 bytes. */

typedef struct {
    acp_ga_t ga;
    uint64_t num_ranks;
    uint64_t num_slots;
} acp_map_t;
typedef struct {
    acp_map_t map;
    int rank;
    int slot;
    acp_ga_t elem;
} acp_map_it_t;
typedef struct {
    acp_map_it_t it;
    int success;
} acp_map_ib_t;

extern acp_map_t acp_create_map(int num_ranks, const int *ranks, int num_slots, int rank);
extern void acp_destroy_map(acp_map_t map);
extern void acp_assign_map(acp_map_t map1, acp_map_t map2);
extern void acp_assign_local_map(acp_map_t map1, acp_map_t map2);
extern acp_map_it_t acp_begin_map(acp_map_t map);
extern acp_map_it_t acp_begin_local_map(acp_map_t map);
extern void acp_clear_map(acp_map_t map);
extern void acp_clear_local_map(acp_map_t map);
extern int acp_empty_map(acp_map_t map);
extern int acp_empty_local_map(acp_map_t map);
extern acp_map_it_t acp_end_map(acp_map_t map);
extern acp_map_it_t acp_end_local_map(acp_map_t map);
extern acp_map_it_t acp_find_map(acp_map_t map, acp_element_t key);
extern int acp_insert_map(acp_map_t map, acp_pair_t pair);
extern void acp_merge_map(acp_map_t map1, acp_map_t map2);
extern void acp_merge_local_map(acp_map_t map1, acp_map_t map2);
extern void acp_move_map(acp_map_t map1, acp_map_t map2);
extern void acp_move_local_map(acp_map_t map1, acp_map_t map2);
extern void acp_remove_map(acp_map_t map, acp_element_t key);
/* Copies the value to pair.second, as far as it fits; gives the bytes copied, or 0. */
extern size_t acp_retrieve_map(acp_map_t map, acp_pair_t pair);
extern size_t acp_size_map(acp_map_t map);
extern size_t acp_size_local_map(acp_map_t map);
extern void acp_swap_map(acp_map_t map1, acp_map_t map2);
extern acp_pair_t acp_dereference_map_it(acp_map_it_t it);
extern acp_map_it_t acp_increment_map_it(acp_map_it_t it);

#endif
