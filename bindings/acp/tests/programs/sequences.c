/*
 * Vectors of release 3.0 and deques beside arrays: random calls whose outcome both must agree on.
 * tasks: 3
 */
#define ACP_RELEASE 3
#include "acheck.h"

#define MOST 600
#define ROUNDS 1500

static unsigned random_state;

static int number(int below)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % below;
}

struct model {
    int size;
    unsigned char bytes[4 * MOST];
};

static acp_ga_t scratch;
static unsigned char *local;

static void put(struct model *m, int at, const unsigned char *bytes, int size)
{
    memmove(m->bytes + at + size, m->bytes + at, m->size - at);
    memcpy(m->bytes + at, bytes, size);
    m->size += size;
}

static void take(struct model *m, int at, int size)
{
    memmove(m->bytes + at, m->bytes + at + size, m->size - at - size);
    m->size -= size;
}

/* What the calls of both kinds have in common. */
#define FAMILY(kind)                                                                              \
    static acp_##kind##_t kind##s[2];                                                             \
    static struct model kind##_models[2];                                                         \
                                                                                                  \
    static acp_##kind##_it_t kind##_place(int i, int at)                                          \
    {                                                                                             \
        if (number(2))                                                                            \
            return acp_advance_##kind##_it(acp_begin_##kind(kind##s[i]), at);                     \
        return acp_advance_##kind##_it(acp_end_##kind(kind##s[i]), at - kind##_models[i].size);   \
    }                                                                                             \
                                                                                                  \
    static void kind##_one(int i)                                                                 \
    {                                                                                             \
        struct model *m = &kind##_models[i];                                                      \
        int at = number(m->size + 1), size = number(40), rest = m->size - at;                     \
        for (int b = 0; b < size; b++)                                                            \
            local[b] = number(256);                                                               \
        switch (number(8)) {                                                                      \
        case 0: acp_push_back_##kind(kind##s[i], scratch, size); put(m, m->size, local, size); break; \
        case 1:                                                                                   \
        case 2: {                                                                                 \
            acp_##kind##_it_t it = acp_insert_##kind(kind##_place(i, at), scratch, size);         \
            put(m, at, local, size);                                                              \
            GIVES(at, acp_distance_##kind##_it(acp_begin_##kind(kind##s[i]), it));                \
            break;                                                                                \
        }                                                                                         \
        case 3: {                                                                                 \
            acp_##kind##_it_t it = acp_erase_##kind(kind##_place(i, at), size);                   \
            take(m, at, size < rest ? size : rest);                                               \
            GIVES(at, acp_distance_##kind##_it(acp_begin_##kind(kind##s[i]), it));                \
            break;                                                                                \
        }                                                                                         \
        case 4:                                                                                   \
            size = size < rest ? size : rest;                                                     \
            acp_erase_range_##kind(kind##_place(i, at), kind##_place(i, at + size));              \
            take(m, at, size);                                                                    \
            break;                                                                                \
        case 5:                                                                                   \
            acp_pop_back_##kind(kind##s[i], size);                                                \
            take(m, m->size < size ? 0 : m->size - size, m->size < size ? m->size : size);        \
            break;                                                                                \
        case 6:                                                                                   \
            acp_reserve_##kind(kind##s[i], size * 10);                                            \
            CHECK(acp_capacity_##kind(kind##s[i]) >= (size_t)size * 10);                          \
            break;                                                                                \
        default:                                                                                  \
            if (number(30) == 0) {                                                                \
                acp_clear_##kind(kind##s[i]);                                                     \
                m->size = 0;                                                                      \
            }                                                                                     \
        }                                                                                         \
    }                                                                                             \
                                                                                                  \
    static void kind##_two(int i, int j)                                                          \
    {                                                                                             \
        struct model *m = &kind##_models[i], *other = &kind##_models[j];                          \
        int at = number(m->size + 1), from = number(other->size + 1);                             \
        int size = number(other->size - from + 1);                                                \
        unsigned char bytes[4 * MOST];                                                            \
        memcpy(bytes, other->bytes + from, size);                                                 \
        switch (number(4)) {                                                                      \
        case 0:                                                                                   \
            acp_assign_##kind(kind##s[i], kind##s[j]);                                            \
            if (i != j)                                                                           \
                *m = *other;                                                                      \
            break;                                                                                \
        case 1:                                                                                   \
            acp_assign_range_##kind(kind##s[i], kind##_place(j, from), kind##_place(j, from + size)); \
            m->size = 0;                                                                          \
            put(m, 0, bytes, size);                                                               \
            break;                                                                                \
        case 2:                                                                                   \
            if (m->size + size > MOST)                                                            \
                break;                                                                            \
            acp_insert_range_##kind(kind##_place(i, at), kind##_place(j, from),                   \
                                    kind##_place(j, from + size));                                \
            put(m, at, bytes, size);                                                              \
            break;                                                                                \
        default: {                                                                                \
            struct model kept = *m;                                                               \
            acp_swap_##kind(kind##s[i], kind##s[j]);                                              \
            *m = *other;                                                                          \
            *other = kept;                                                                        \
        }                                                                                         \
        }                                                                                         \
    }                                                                                             \
                                                                                                  \
    static void kind##_bad(void)                                                                  \
    {                                                                                             \
        acp_##kind##_t null = {ACP_GA_NULL}, gone = acp_create_##kind(10, (me + 1) % procs);      \
        acp_##kind##_it_t beyond = {gone, 11}, before = {gone, -1}, end = acp_end_##kind(gone);   \
        GIVES(10, end.index);                                                                     \
        FAILS(0, EFAULT, acp_size_##kind(null));                                                  \
        FAILS(1, EFAULT, acp_empty_##kind(null));                                                 \
        FAILS(0, EINVAL, acp_create_##kind(10, procs).ga);                                        \
        FAILS(0, ENOMEM, acp_create_##kind((size_t)1 << 40, me).ga);                              \
        FAILS(0, EINVAL, acp_at_##kind(gone, 10));                                                \
        FAILS(0, EINVAL, acp_at_##kind(gone, -1));                                                \
        CHECK(acp_insert_##kind(beyond, scratch, 1).index == 0);                                  \
        GIVES(EINVAL, ACP_ERRNO);                                                                 \
        *acp_errno_location() = 0;                                                                \
        acp_erase_range_##kind(end, acp_begin_##kind(gone));                                      \
        GIVES(EINVAL, ACP_ERRNO);                                                                 \
        *acp_errno_location() = 0;                                                                \
        acp_erase_##kind(before, 1);                                                              \
        GIVES(EINVAL, ACP_ERRNO);                                                                 \
        *acp_errno_location() = 0;                                                                \
        acp_push_back_##kind(gone, ACP_GA_NULL, 4);                                               \
        GIVES(EFAULT, ACP_ERRNO);                                                                 \
        GIVES(10, acp_size_##kind(gone));                                                         \
        acp_destroy_##kind(gone);                                                                 \
        FAILS(0, EBADF, acp_size_##kind(gone));                                                   \
        FAILS(0, EBADF, acp_capacity_##kind((acp_##kind##_t){starter(me)}));                      \
        *acp_errno_location() = 0;                                                                \
        acp_destroy_##kind(gone);                                                                 \
        GIVES(EBADF, ACP_ERRNO);                                                                  \
    }

FAMILY(vector)
FAMILY(deque)

static void check_vector(int i)
{
    struct model *m = &vector_models[i];
    GIVES(m->size, acp_size_vector(vectors[i]));
    GIVES(m->size == 0, acp_empty_vector(vectors[i]));
    if (m->size == 0)
        return;
    acp_ga_t ga = acp_dereference_vector_it(acp_begin_vector(vectors[i]));
    GIVES(ga + m->size - 1, acp_at_vector(vectors[i], m->size - 1));
    acp_complete(started(acp_copy(scratch, ga, m->size, ACP_HANDLE_NULL)));
    CHECK(memcmp(local, m->bytes, m->size) == 0);
}

static void check_deque(int i)
{
    struct model *m = &deque_models[i];
    GIVES(m->size, acp_size_deque(deques[i]));
    GIVES(m->size == 0, acp_empty_deque(deques[i]));
    if (m->size == 0)
        return;
    acp_pair_t parts = acp_dereference_deque_it(acp_begin_deque(deques[i]), m->size + 5);
    GIVES(m->size, parts.first.size + parts.second.size);
    GIVES(parts.first.ga, acp_at_deque(deques[i], 0));
    acp_copy(scratch, parts.first.ga, parts.first.size, ACP_HANDLE_NULL);
    if (parts.second.size > 0)
        acp_copy(scratch + parts.first.size, parts.second.ga, parts.second.size, ACP_HANDLE_NULL);
    acp_complete(ACP_HANDLE_ALL);
    CHECK(memcmp(local, m->bytes, m->size) == 0);
}

static void front(int i)
{
    struct model *m = &deque_models[i];
    int size = number(40);
    for (int b = 0; b < size; b++)
        local[b] = number(256);
    if (number(2)) {
        acp_push_front_deque(deques[i], scratch, size);
        put(m, 0, local, size);
    } else {
        acp_pop_front_deque(deques[i], size);
        take(m, 0, size < m->size ? size : m->size);
    }
}

int main(int argc, char **argv)
{
    char *words[] = {argv[0], "--acp-startermemsize=20000", NULL};
    char **list = words;
    argc = 2;
    join(&argc, &list);
    scratch = starter(me) + 1024;
    local = (unsigned char *)mine() + 1024;
    random_state = 4711 + me;
    for (int i = 0; i < 2; i++) {
        vectors[i] = acp_create_vector(i * 20, (me + i) % procs);
        deques[i] = acp_create_deque(i * 20, (me + i) % procs);
        vector_models[i].size = deque_models[i].size = i * 20;
    }
    for (int round = 0; round < ROUNDS; round++) {
        int i = number(2);
        if (vector_models[i].size > MOST - 40 || deque_models[i].size > MOST - 40) {
            acp_clear_vector(vectors[i]);
            acp_clear_deque(deques[i]);
            vector_models[i].size = deque_models[i].size = 0;
        }
        switch (number(6)) {
        case 0: vector_two(i, number(2)); break;
        case 1: deque_two(i, number(2)); break;
        case 2: vector_one(i); break;
        case 3: front(i); break;
        default: deque_one(i);
        }
        check_vector(i);
        check_deque(i);
    }
    IN_TURN(vector_bad());
    IN_TURN(deque_bad());
    /* A vector that is inserted into itself. */
    acp_vector_t twice = acp_create_vector(0, me);
    memcpy(local, "abcdef", 6);
    acp_push_back_vector(twice, scratch, 6);
    acp_insert_vector(acp_advance_vector_it(acp_begin_vector(twice), 2), acp_at_vector(twice, 0), 6);
    GIVES(12, acp_size_vector(twice));
    CHECK(memcmp(acp_query_address(acp_at_vector(twice, 0)), "ababcdefcdef", 12) == 0);
    acp_destroy_vector(twice);
    for (int i = 0; i < 2; i++) {
        acp_destroy_vector(vectors[i]);
        acp_destroy_deque(deques[i]);
    }
    OK(acp_finalize());
    return 0;
}
