/*
 * Sets, multisets and maps that are merged into others while other processes insert and remove keys
 * of theirs: no call fails, and each key that stays is met once.
 * tasks: 3
 */
#include "acheck.h"

#define KEYS 12
#define ROUNDS 150

static acp_ga_t scratch;
static uint64_t *key;
static acp_element_t element;

/* The address of a structure that one process makes. */
static acp_ga_t shared(int maker, acp_ga_t made)
{
    acp_ga_t theirs[64];
    exchange(made, theirs);
    return theirs[maker];
}

/* What the others do until process 0 has seen enough: a key of their own comes and goes. */
#define COMES_AND_GOES(kind, of, what)                                   \
    while (*(volatile uint64_t *)mine() == 0) {                          \
        *key = KEYS + me;                                                \
        GIVES(1, acp_insert_##kind(of, what));                           \
        acp_remove_##kind(of, element);                                  \
    }

#define MERGES(kind, to, from, times)                                    \
    for (int round = 0; round < ROUNDS; round++) {                       \
        ACP_ERRNO = 0;                                                   \
        if (round % 2)                                                   \
            acp_assign_##kind(to, from);                                 \
        else {                                                           \
            acp_clear_##kind(to);                                        \
            acp_merge_##kind(to, from);                                  \
        }                                                                \
        OK(ACP_ERRNO);                                                   \
        for (*key = 0; *key < KEYS; ++*key)                              \
            GIVES(1, times);                                             \
    }

/* Process 0 tells the others that it is done. */
static void tell(void)
{
    *key = 1;
    for (int rank = 0; rank < procs; rank++)
        acp_complete(started(acp_copy(starter(rank), scratch, 8, ACP_HANDLE_NULL)));
}

#define CHANGED_MEANWHILE(kind, in, what, times)                                                   \
    do {                                                                                           \
        acp_##kind##_t to = {0, 1, 1}, from = {0, 1, 2};                                           \
        int owner = 0;                                                                             \
        *(volatile uint64_t *)mine() = 0;                                                          \
        to.ga = shared(0, me == 0 ? acp_create_##kind(1, &owner, 1, 0).ga : 0);                    \
        owner = in;                                                                                \
        from.ga = shared(0, me == 0 ? acp_create_##kind(1, &owner, 2, 0).ga : 0);                  \
        if (me == 0)                                                                               \
            for (*key = 0; *key < KEYS; ++*key)                                                    \
                GIVES(1, acp_insert_##kind(from, what));                                           \
        *(volatile uint64_t *)mine() = 0;                                                          \
        OK(acp_sync());                                                                            \
        if (me == 0) {                                                                             \
            MERGES(kind, to, from, times)                                                          \
            tell();                                                                                \
        } else                                                                                     \
            COMES_AND_GOES(kind, from, what)                                                       \
        OK(acp_sync());                                                                            \
        if (me == 0) {                                                                             \
            acp_destroy_##kind(to);                                                                \
            acp_destroy_##kind(from);                                                              \
        }                                                                                          \
    } while (0)

int main(int argc, char **argv)
{
    join(&argc, &argv);
    scratch = acp_malloc(64, me);
    CHECK(scratch != ACP_GA_NULL);
    key = acp_query_address(scratch);
    element = (acp_element_t){scratch, sizeof *key};
    acp_pair_t pair = {element, {scratch, sizeof *key}};
    for (int in = 0; in < procs && in < 2; in++) {
        CHANGED_MEANWHILE(set, in, element, acp_find_set(to, element).elem != ACP_GA_NULL);
        CHANGED_MEANWHILE(multiset, in, element, acp_retrieve_multiset(to, element));
        CHANGED_MEANWHILE(map, in, pair, acp_retrieve_map(to, pair) == sizeof *key);
    }
    OK(acp_sync());
    OK(acp_finalize());
    return 0;
}
