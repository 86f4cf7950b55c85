/*
 * Addresses, keys, handles and structures that nobody gave, by chance: every call comes back, what
 * is registered no more is never written, and what lies around registered memory stays as it is.
 * tasks: 3
 * env: LAPIS_LOG=off
 */
#include "acheck.h"

#define ROUNDS 1500
#define WORDS 64

static uint64_t random_state;

static uint64_t word(void)
{
    random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return random_state >> 33 ^ random_state << 20;
}

static uint64_t below(uint64_t limit)
{
    return word() % limit;
}

/* What was registered and is not: never to be found again while the test lasts. */
static acp_ga_t gone[64];
static acp_atkey_t old_keys[64];

/* Nothing that is anybody's: null, far away, old, beside registered memory, of a rank that is not. */
static acp_ga_t wild(acp_ga_t near)
{
    switch (below(6)) {
    case 0: return ACP_GA_NULL;
    case 1: return ~0ULL - below(4096);
    case 2: return gone[below(procs)] + below(WORDS * 8);
    case 3: return near + (8192 + below(1 << 20)) * WORDS;
    case 4: return acp_query_starter_ga(procs - 1) + (1ULL << 60);
    default: return acp_query_starter_ga(below(procs)) + (1ULL << 40) + below(1ULL << 30);
    }
}

int main(int argc, char **argv)
{
    join(&argc, &argv);
    random_state = 31 + me;
    static uint64_t around[3 * WORDS], freed[WORDS];
    for (int i = 0; i < WORDS; i++) {
        around[i] = around[2 * WORDS + i] = 0x5a5a5a5a00000000ULL + i;
        freed[i] = 0xa5a5a5a500000000ULL + i;
    }
    acp_atkey_t key, live_key;
    acp_ga_t ga = registered(freed, sizeof freed, &key), here = registered(around + WORDS, WORDS * 8, &live_key);
    old_keys[me] = key;
    exchange(ga, gone);
    OK(acp_unregister_memory(key));
    OK(acp_sync());

    for (int round = 0; round < ROUNDS; round++) {
        acp_ga_t bad = wild(here), good = here + 8 * below(WORDS);
        acp_handle_t order = below(3) ? ACP_HANDLE_NULL : below(2) ? ACP_HANDLE_ALL : word();
        size_t size = 1 + below(16);
        switch (below(12)) {
        case 0: acp_copy(bad, here, size, order); break;
        case 1: acp_copy(here, bad, size, order); break;
        case 2: acp_copy(bad, wild(here), word(), order); break;
        case 3: acp_copy(here + WORDS * 8 - 4, here, 8, order); break;
        case 4: acp_add8(bad, good, 1, order); break;
        case 5: acp_cas4(good, bad, 1, 2, order); break;
        case 6: acp_swap8(good, good + 1 + below(7), 1, order); break;
        case 7: acp_query_address(bad); acp_query_rank(bad); acp_query_color(bad); break;
        case 8: FAILS(-1, EBADF, acp_unregister_memory(below(2) ? key : bad | 1)); break;
        case 9: acp_inquire(word()); acp_complete(word() | 1ULL << 62); break;
        case 10: CHECK(acp_malloc(1ULL << (33 + below(30)), below(procs)) == ACP_GA_NULL); break;
        default: CHECK(acp_query_ga(key, freed) == ACP_GA_NULL);
        }
        if (round % 64 == 0)
            acp_complete(ACP_HANDLE_ALL);
    }
    acp_complete(ACP_HANDLE_ALL);

    for (int round = 0; round < ROUNDS / 3; round++) {
        acp_ga_t bad = wild(here);
        acp_vector_t vector = bad;
        acp_list_t list = bad;
        acp_deque_t deque = {bad};
        acp_set_t set = {bad, word(), below(2) ? word() : 0};
        acp_map_t map = {bad, 1 + below(3), 1 + below(9)};
        acp_set_it_t set_it = {set, below(5), below(5), wild(here)};
        acp_element_t element = {below(2) ? here : wild(here), 1 + below(9)};
        acp_pair_t pair = {element, {here, 8}};
        switch (below(8)) {
        case 0: acp_push_back_vector(vector, here, 8); GIVES(0, acp_size_vector(vector)); break;
        case 1: GIVES(-1, acp_begin_list(list)); acp_clear_list(list); break;
        case 2: acp_pop_front_deque(deque, 8); acp_destroy_deque(deque); break;
        case 3: GIVES(0, acp_insert_set(set, element)); GIVES(0, acp_size_set(set)); break;
        case 4: GIVES(0, acp_increment_set_it(set_it).elem); GIVES(0, acp_dereference_set_it(set_it).ga); break;
        case 5: GIVES(0, acp_insert_map(map, pair)); GIVES(0, acp_retrieve_map(map, pair)); break;
        case 6: acp_destroy_map(map); acp_swap_map(map, map); acp_clear_map(map); break;
        default: GIVES(1, acp_ack_segbuf((acp_segbuf_t)(uintptr_t)word())); acp_free(bad); break;
        }
    }
    /* Keys and values longer than any memory. */
    acp_map_t map = acp_create_map(1, &me, 2, me);
    CHECK(map.ga != ACP_GA_NULL);
    for (int bits = 10; bits < 64; bits++) {
        acp_element_t fits = {here, 8}, huge = {here, 1ULL << bits};
        acp_pair_t key = {huge, fits}, value = {fits, huge};
        FAILS(0, EFAULT, acp_insert_map(map, key));
        FAILS(0, EFAULT, acp_insert_map(map, value));
        FAILS(0, EFAULT, acp_retrieve_map(map, key));
    }
    GIVES(0, acp_size_map(map));
    acp_destroy_map(map);
    OK(acp_sync());
    for (int i = 0; i < WORDS; i++) {
        CHECK(around[i] == 0x5a5a5a5a00000000ULL + i && around[2 * WORDS + i] == 0x5a5a5a5a00000000ULL + i);
        CHECK(freed[i] == 0xa5a5a5a500000000ULL + i);
    }
    OK(acp_unregister_memory(live_key));
    OK(acp_finalize());
    return 0;
}
