/*
 * Multisets that become sets, and sets that become lists: no key is lost, each stays in its process,
 * and what was there before is none. Without memory nothing changes.
 * tasks: 3
 */
#define ACP_RELEASE 3
#include "acheck.h"

#define KEYS 40
#define LONGEST (8 + 2 + KEYS)

static acp_ga_t scratch;
static unsigned char *local;

/* Keys of 2 to 41 bytes. */
static acp_element_t key_of(int key)
{
    acp_element_t element = {scratch, 2 + key};
    memset(local, 'a' + key % 20, element.size);
    local[0] = key;
    return element;
}

static int often(int key)
{
    return 1 + key * 7 % 5;
}

/* A key with a number in front of it, as a multiset leaves it. */
static acp_element_t counted(int key, int count)
{
    acp_element_t element = key_of(key);
    memmove(local + 8, local, element.size);
    memset(local, 0, 8);
    local[7] = count;
    element.size += 8;
    return element;
}

/* What an element's bytes say: how often, and which key. */
static void read_element(acp_element_t element, int *count, int *key)
{
    CHECK(element.ga != ACP_GA_NULL && element.size > 8 && element.size <= LONGEST);
    acp_complete(started(acp_copy(scratch + 128, element.ga, element.size, ACP_HANDLE_NULL)));
    *count = local[128 + 7];
    *key = local[128 + 8];
    acp_element_t wanted = counted(*key, *count);
    GIVES(wanted.size, element.size);
    CHECK(memcmp(local, local + 128, wanted.size) == 0);
}

static int compare(const acp_element_t one, const acp_element_t other)
{
    int count, key, count2, key2;
    read_element(one, &count, &key);
    read_element(other, &count2, &key2);
    return count != count2 ? count - count2 : key - key2;
}

/* Spread over all processes, with the control block at the last one. */
static acp_multiset_t filled(int slots)
{
    int ranks[64];
    for (int rank = 0; rank < procs; rank++)
        ranks[rank] = rank;
    acp_multiset_t set = acp_create_multiset(procs, ranks, slots, procs - 1);
    CHECK(set.ga != ACP_GA_NULL);
    for (int key = 0; key < KEYS; key++)
        for (int i = 0; i < often(key); i++)
            GIVES(1, acp_insert_multiset(set, key_of(key)));
    return set;
}

static void into_a_set(acp_multiset_t counts, acp_set_t set)
{
    GIVES(counts.num_ranks, set.num_ranks);
    GIVES(counts.num_slots, set.num_slots);
    GIVES(procs - 1, acp_query_rank(set.ga));
    FAILS(0, EBADF, acp_size_multiset(counts));
    FAILS(0, EBADF, acp_collapse_multiset(counts).ga);
    GIVES(KEYS, acp_size_set(set));
    for (int key = 0; key < KEYS; key++) {
        CHECK(acp_find_set(set, counted(key, often(key))).elem != ACP_GA_NULL);
        GIVES(ACP_GA_NULL, acp_find_set(set, counted(key, often(key) + 1)).elem);
        GIVES(1, acp_insert_set(set, counted(key, often(key))));
    }
    GIVES(KEYS, acp_size_set(set));
}

static void into_a_list(acp_set_t set)
{
    int left[64] = {0}, met[KEYS] = {0}, count, key;
    acp_set_it_t it = acp_begin_set(set);
    for (; it.elem != ACP_GA_NULL; it = acp_increment_set_it(it))
        left[acp_query_rank(it.elem)]++;
    acp_list_t list = acp_collapse_set(set);
    GIVES(procs - 1, acp_query_rank(list.ga));
    FAILS(0, EBADF, acp_size_set(set));
    FAILS(0, EBADF, acp_collapse_set(set).ga);
    GIVES(KEYS, acp_size_list(list));
    acp_list_it_t at = acp_begin_list(list), end = acp_end_list(list);
    for (; at.elem != end.elem; at = acp_increment_list_it(at)) {
        acp_element_t element = acp_dereference_list_it(at);
        left[acp_query_rank(element.ga)]--;
        read_element(element, &count, &key);
        GIVES(often(key), count);
        CHECK(!met[key]++);
    }
    for (int rank = 0; rank < procs; rank++)
        GIVES(0, left[rank]);
    /* It is a list as any other. */
    acp_sort_list(list, compare);
    GIVES(KEYS, acp_distance_list_it(acp_begin_list(list), acp_end_list(list)));
    acp_push_front_list(list, counted(0, 0), me);
    read_element(acp_dereference_list_it(acp_begin_list(list)), &count, &key);
    GIVES(0, count);
    acp_pop_back_list(list);
    GIVES(KEYS, acp_size_list(list));
    acp_destroy_list(list);
}

/* All memory of this process is taken. */
static void without_memory(void)
{
    int here[] = {me};
    acp_multiset_t counts = acp_create_multiset(1, here, 3, me);
    acp_set_t set = acp_create_set(1, here, 3, me);
    GIVES(1, acp_insert_multiset(counts, key_of(3)));
    GIVES(1, acp_insert_set(set, key_of(4)));
    acp_ga_t taken[1024], ga;
    int blocks = 0;
    for (size_t size = (size_t)1 << 30; size > 0; size /= 2)
        while (blocks < 1024 && (ga = acp_malloc(size, me)) != ACP_GA_NULL)
            taken[blocks++] = ga;
    CHECK(blocks < 1024);
    FAILS(0, ENOMEM, acp_collapse_multiset(counts).ga);
    FAILS(0, ENOMEM, acp_collapse_set(set).ga);
    GIVES(1, acp_retrieve_multiset(counts, key_of(3)));
    CHECK(acp_find_set(set, key_of(4)).elem != ACP_GA_NULL);
    while (blocks > 0)
        acp_free(taken[--blocks]);
    acp_destroy_list(acp_collapse_set(set));
    acp_destroy_set(acp_collapse_multiset(counts));
}

int main(int argc, char **argv)
{
    join(&argc, &argv);
    scratch = acp_malloc(1024, me);
    local = acp_query_address(scratch);
    for (int slots = 1; slots < 30; slots += 9) {
        acp_multiset_t counts = filled(slots);
        acp_set_t set = acp_collapse_multiset(counts);
        into_a_set(counts, set);
        into_a_list(set);
    }
    IN_TURN(without_memory());
    int here[] = {me};
    acp_set_t empty = acp_create_set(1, here, 2, 0);
    acp_list_t list = acp_collapse_set(empty);
    GIVES(1, acp_empty_list(list));
    acp_destroy_list(list);
    acp_map_t map = acp_create_map(1, here, 2, me);
    empty.ga = map.ga;
    FAILS(0, EBADF, acp_collapse_set(empty).ga);
    empty.ga = ACP_GA_NULL;
    FAILS(0, EFAULT, acp_collapse_set(empty).ga);
    acp_destroy_map(map);
    OK(acp_finalize());
    return 0;
}
