/*
 * One set, one multiset and one map that all processes change and read at a time: of those who
 * insert a key into the map one succeeds, nothing is lost, and a value that is read is whole.
 * tasks: 4
 */
#include "acheck.h"

#define KEYS 24
#define ROUNDS 400
#define VALUE 96

int main(int argc, char **argv)
{
    join(&argc, &argv);
    acp_ga_t scratch = acp_malloc(1024, me), theirs[64];
    unsigned char *local = acp_query_address(scratch);
    uint64_t *key = (uint64_t *)local, *won = (uint64_t *)(local + 64);
    acp_element_t element = {scratch, sizeof *key};
    acp_pair_t pair = {element, {scratch + 128, VALUE}}, read = {element, {scratch + 512, VALUE}};
    int ranks[64];
    for (int rank = 0; rank < procs; rank++)
        ranks[rank] = rank;
    acp_set_t set = {0, procs, 2};
    acp_multiset_t counts = {0, procs, 2};
    acp_map_t map = {0, procs, 2};
    exchange(me == 0 ? acp_create_set(procs, ranks, 2, 0).ga : 0, theirs);
    set.ga = theirs[0];
    exchange(me == procs - 1 ? acp_create_multiset(procs, ranks, 2, 0).ga : 0, theirs);
    counts.ga = theirs[procs - 1];
    exchange(me == 0 ? acp_create_map(procs, ranks, 2, procs - 1).ga : 0, theirs);
    map.ga = theirs[0];

    /* Who inserts a key into a map has it; a set has it whoever did. */
    *won = 0;
    memset(local + 128, 7, VALUE);
    for (int i = 0; i < KEYS; i++) {
        *key = i;
        GIVES(1, acp_insert_set(set, element));
        *won += acp_insert_map(map, pair);
    }
    OK(acp_sync());
    exchange(scratch + 64, theirs);
    acp_ga_t sum = starter(0) + 1024;
    acp_complete(started(acp_add8(starter(me) + 1032, sum, *won, ACP_HANDLE_NULL)));
    OK(acp_sync());
    acp_complete(started(acp_copy(scratch + 64, sum, 8, ACP_HANDLE_NULL)));
    GIVES(KEYS, *won);
    GIVES(KEYS, acp_size_set(set));

    unsigned random_state = me + 1;
    for (int round = 0; round < ROUNDS; round++) {
        random_state = random_state * 1664525 + 1013904223;
        *key = (random_state >> 8) % KEYS;
        if (round % 3 == 2)
            acp_remove_map(map, element);
        else {
            memset(local + 128, 1 + round % 200, VALUE);
            acp_insert_map(map, pair);
        }
        size_t size = acp_retrieve_map(map, read);
        CHECK(size == 0 || size == VALUE);
        for (size_t at = 1; at < size; at++)
            CHECK(local[512] != 0 && local[512 + at] == local[512]);
        *key = round % KEYS;
        GIVES(1, acp_insert_multiset(counts, element));
        CHECK(acp_retrieve_multiset(counts, element) > 0);
    }
    OK(acp_sync());
    size_t total = 0;
    for (int i = 0; i < KEYS; i++) {
        *key = i;
        total += acp_retrieve_multiset(counts, element);
    }
    GIVES(procs * ROUNDS, total);
    GIVES(KEYS, acp_size_multiset(counts));
    size_t there = 0;
    acp_map_it_t end = acp_end_map(map);
    for (acp_map_it_t it = acp_begin_map(map); it.elem != end.elem; it = acp_increment_map_it(it))
        there++;
    GIVES(there, acp_size_map(map));
    OK(acp_sync());

    /* All take away: what each has inserted goes. */
    for (int round = 0; round < ROUNDS; round++) {
        *key = round % KEYS;
        acp_remove_multiset(counts, element);
    }
    OK(acp_sync());
    GIVES(1, acp_empty_multiset(counts));
    OK(acp_sync());
    if (me == 0) {
        acp_destroy_set(set);
        acp_destroy_multiset(counts);
        acp_destroy_map(map);
    }
    OK(acp_sync());
    FAILS(0, EBADF, acp_size_map(map));
    OK(acp_sync());
    OK(acp_finalize());
    return 0;
}
