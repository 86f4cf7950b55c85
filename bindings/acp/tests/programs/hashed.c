/*
 * Sets, multisets and maps beside arrays: random calls whose outcome both must agree on. Each
 * process has two of each kind, spread over processes that differ.
 * tasks: 3
 */
#include "acheck.h"

#define KEYS 40
#define ROUNDS 700

static unsigned random_state;

static int number(int below)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % below;
}

static acp_ga_t scratch;
static unsigned char *local;

/* A key is a number in 2 to 101 bytes, so that none is another one's beginning. */
static size_t key_size(int key)
{
    return 2 + key % 100;
}

static acp_element_t key_of(int key)
{
    acp_element_t element = {scratch, key_size(key)};
    memset(local, 'k', element.size);
    local[0] = key;
    local[element.size - 1] = key;
    return element;
}

/* Values have up to 3 kB. */
static size_t value_size(int value)
{
    return value % 7 ? value * 3 : 0;
}

static acp_pair_t pair_of(int key, int value)
{
    acp_pair_t pair = {key_of(key), {scratch + 4096, value_size(value)}};
    fill(local + 4096, value_size(value), value);
    return pair;
}

static int key_at(acp_element_t element)
{
    CHECK(element.ga != ACP_GA_NULL && element.size >= 2 && element.size <= 101);
    acp_complete(started(acp_copy(scratch + 256, element.ga, element.size, ACP_HANDLE_NULL)));
    int key = local[256];
    GIVES(key_size(key), element.size);
    GIVES(key, local[256 + element.size - 1]);
    return key;
}

static int *ranks(int *count)
{
    static int some[8];
    *count = 1 + number(5);
    for (int i = 0; i < *count; i++)
        some[i] = number(procs);
    return some;
}

/* What must be there: how often for a multiset, value + 1 for a map. */
static int models[2][KEYS];

static int size_of(const int *model)
{
    int size = 0;
    for (int key = 0; key < KEYS; key++)
        size += model[key] != 0;
    return size;
}

static void merge(int to, int from, int add)
{
    for (int key = 0; key < KEYS; key++)
        if (add)
            models[to][key] += models[from][key];
        else if (!models[to][key])
            models[to][key] = models[from][key];
}

static void swap(void)
{
    for (int key = 0; key < KEYS; key++) {
        int one = models[0][key];
        models[0][key] = models[1][key];
        models[1][key] = one;
    }
}

/* What concerns many keys; with `local`, from each process's own of the other structure. */
#define MANY(kind, add)                                                                   \
    static void many_##kind(acp_##kind##_t *of, int which)                                \
    {                                                                                     \
        int other = 1 - which;                                                            \
        switch (number(6)) {                                                              \
        case 0:                                                                           \
            acp_assign_##kind(of[which], of[other]);                                      \
            memcpy(models[which], models[other], sizeof models[which]);                   \
            break;                                                                        \
        case 1:                                                                           \
            acp_merge_##kind(of[which], of[other]);                                       \
            merge(which, other, add);                                                     \
            break;                                                                        \
        case 2:                                                                           \
            acp_move_##kind(of[which], of[other]);                                        \
            merge(which, other, add);                                                     \
            memset(models[other], 0, sizeof models[other]);                               \
            break;                                                                        \
        case 3:                                                                           \
            acp_swap_##kind(of[which], of[other]);                                        \
            swap();                                                                       \
            break;                                                                        \
        case 4:                                                                           \
            acp_clear_##kind(of[which]);                                                  \
            memset(models[which], 0, sizeof models[which]);                               \
            break;                                                                        \
        default:                                                                          \
            acp_merge_##kind(of[which], of[which]);                                       \
            acp_move_##kind(of[which], of[which]);                                        \
            acp_swap_##kind(of[which], of[which]);                                        \
            acp_assign_##kind(of[which], of[which]);                                      \
        }                                                                                 \
    }

MANY(set, 0)
MANY(multiset, 1)
MANY(map, 0)

#define ELEMENT_set(it) acp_dereference_set_it(it)
#define ELEMENT_multiset(it) acp_dereference_multiset_it(it)
#define ELEMENT_map(it) acp_dereference_map_it(it).first

/* Walks over all elements and over this process's own: each is met once. */
#define WALK(kind)                                                                        \
    static void walk_##kind(acp_##kind##_t of, const int *model)                          \
    {                                                                                     \
        int met[KEYS] = {0}, own = 0, all = 0;                                            \
        acp_##kind##_it_t it = acp_begin_##kind(of), end = acp_end_##kind(of);            \
        for (; it.elem != end.elem; it = acp_increment_##kind##_it(it)) {                 \
            int key = key_at(ELEMENT_##kind(it));                                         \
            CHECK(model[key] && !met[key]++);                                             \
            own += acp_query_rank(it.elem) == me;                                         \
            GIVES(it.elem, acp_find_##kind(of, key_of(key)).elem);                        \
            all++;                                                                        \
        }                                                                                 \
        GIVES(end.rank, it.rank);                                                         \
        GIVES(size_of(model), all);                                                       \
        GIVES(all, acp_size_##kind(of));                                                  \
        GIVES(all == 0, acp_empty_##kind(of));                                            \
        GIVES(own, acp_size_local_##kind(of));                                            \
        GIVES(own == 0, acp_empty_local_##kind(of));                                      \
        end = acp_end_local_##kind(of);                                                   \
        for (it = acp_begin_local_##kind(of); it.elem != end.elem;                        \
             it = acp_increment_##kind##_it(it)) {                                        \
            GIVES(me, acp_query_rank(it.elem));                                           \
            own--;                                                                        \
        }                                                                                 \
        GIVES(0, own);                                                                    \
    }

WALK(set)
WALK(multiset)
WALK(map)

/* Copies, merges and moves what this process has of one structure into an empty one. */
#define LOCAL(kind)                                                                       \
    static void local_##kind(acp_##kind##_t from)                                         \
    {                                                                                     \
        int count, *some = ranks(&count);                                                 \
        acp_##kind##_t to = acp_create_##kind(count, some, 3, number(procs));             \
        int own = acp_size_local_##kind(from), all = acp_size_##kind(from);               \
        acp_merge_local_##kind(to, from);                                                 \
        GIVES(own, acp_size_##kind(to));                                                  \
        acp_assign_local_##kind(to, from);                                                \
        GIVES(own, acp_size_##kind(to));                                                  \
        GIVES(all, acp_size_##kind(from));                                                \
        acp_clear_##kind(to);                                                             \
        acp_move_local_##kind(to, from);                                                  \
        GIVES(own, acp_size_##kind(to));                                                  \
        GIVES(all - own, acp_size_##kind(from));                                          \
        GIVES(0, acp_size_local_##kind(from));                                            \
        acp_move_##kind(from, to);                                                        \
        GIVES(all, acp_size_##kind(from));                                                \
        acp_destroy_##kind(to);                                                           \
    }

LOCAL(set)
LOCAL(multiset)
LOCAL(map)

static void sets(void)
{
    acp_set_t of[2];
    for (int i = 0; i < 2; i++) {
        int count, *some = ranks(&count);
        of[i] = acp_create_set(count, some, 1 + number(9), number(procs));
        CHECK(of[i].ga != ACP_GA_NULL);
    }
    memset(models, 0, sizeof models);
    for (int round = 0; round < ROUNDS; round++) {
        int which = number(2), key = number(KEYS), *model = &models[which][key];
        if (number(3)) {
            /* It is there afterwards in either case. */
            GIVES(1, acp_insert_set(of[which], key_of(key)));
            *model = 1;
        } else {
            acp_remove_set(of[which], key_of(key));
            *model = 0;
        }
        key = number(KEYS);
        CHECK((acp_find_set(of[which], key_of(key)).elem != ACP_GA_NULL) == models[which][key]);
        if (number(40) == 0)
            many_set(of, which);
        if (number(40) == 0)
            walk_set(of[which], models[which]);
    }
    local_set(of[0]);
    walk_set(of[0], models[0]);
    acp_destroy_set(of[0]);
    acp_destroy_set(of[1]);
}

static void multisets(void)
{
    acp_multiset_t of[2];
    for (int i = 0; i < 2; i++) {
        int count, *some = ranks(&count);
        of[i] = acp_create_multiset(count, some, 1 + number(9), number(procs));
        CHECK(of[i].ga != ACP_GA_NULL);
    }
    memset(models, 0, sizeof models);
    for (int round = 0; round < ROUNDS; round++) {
        int which = number(2), key = number(KEYS), *model = &models[which][key];
        if (number(3)) {
            GIVES(1, acp_insert_multiset(of[which], key_of(key)));
            ++*model;
        } else if (number(4)) {
            acp_remove_multiset(of[which], key_of(key));
            *model -= *model > 0;
        } else {
            acp_remove_all_multiset(of[which], key_of(key));
            *model = 0;
        }
        key = number(KEYS);
        GIVES(models[which][key], acp_retrieve_multiset(of[which], key_of(key)));
        /* Sums of merges grow by the power. */
        if (number(40) == 0 && *model < 1 << 20)
            many_multiset(of, which);
        if (number(40) == 0)
            walk_multiset(of[which], models[which]);
    }
    local_multiset(of[0]);
    walk_multiset(of[0], models[0]);
    acp_destroy_multiset(of[0]);
    acp_destroy_multiset(of[1]);
}

static void maps(void)
{
    acp_map_t of[2];
    for (int i = 0; i < 2; i++) {
        int count, *some = ranks(&count);
        of[i] = acp_create_map(count, some, 1 + number(9), number(procs));
        CHECK(of[i].ga != ACP_GA_NULL);
    }
    memset(models, 0, sizeof models);
    for (int round = 0; round < ROUNDS; round++) {
        int which = number(2), key = number(KEYS), value = number(1000), *model = &models[which][key];
        if (number(3)) {
            acp_map_ib_t inserted;
            inserted.success = acp_insert_map(of[which], pair_of(key, value));
            inserted.it = acp_find_map(of[which], key_of(key));
            GIVES(!*model, inserted.success);
            GIVES(acp_query_rank(inserted.it.elem), acp_query_rank(acp_dereference_map_it(inserted.it).first.ga));
            *model = *model ? *model : value + 1;
        } else {
            acp_remove_map(of[which], key_of(key));
            *model = 0;
        }
        key = number(KEYS);
        value = models[which][key] - 1;
        acp_map_it_t it = acp_find_map(of[which], key_of(key));
        CHECK((it.elem != ACP_GA_NULL) == (value >= 0));
        size_t whole = value >= 0 ? value_size(value) : 0, room = number(2) ? 4000 : number(4000);
        acp_pair_t pair = {key_of(key), {scratch + 4096, room}};
        memset(local + 4096, 0xee, 4001);
        GIVES(whole < room ? whole : room, acp_retrieve_map(of[which], pair));
        CHECK(holds(local + 4096, whole < room ? whole : room, value));
        GIVES(0xee, local[4096 + (whole < room ? whole : room)]);
        if (it.elem != ACP_GA_NULL) {
            pair = acp_dereference_map_it(it);
            GIVES(key, key_at(pair.first));
            GIVES(whole, pair.second.size);
            GIVES(0, pair.second.ga % 8);
            if (whole) {
                acp_complete(started(acp_copy(scratch + 4096, pair.second.ga, whole, ACP_HANDLE_NULL)));
                CHECK(holds(local + 4096, whole, value));
            }
        }
        if (number(40) == 0)
            many_map(of, which);
        if (number(40) == 0)
            walk_map(of[which], models[which]);
    }
    local_map(of[0]);
    walk_map(of[0], models[0]);
    int own = acp_size_local_map(of[0]), all = acp_size_map(of[0]);
    acp_clear_local_map(of[0]);
    GIVES(all - own, acp_size_map(of[0]));
    acp_destroy_map(of[0]);
    acp_destroy_map(of[1]);
}

static void bad_arguments(void)
{
    int some[] = {0, procs};
    FAILS(ACP_GA_NULL, EINVAL, acp_create_set(0, some, 1, 0).ga);
    FAILS(ACP_GA_NULL, EFAULT, acp_create_set(1, NULL, 1, 0).ga);
    FAILS(ACP_GA_NULL, EINVAL, acp_create_set(1, some, 0, 0).ga);
    FAILS(ACP_GA_NULL, EINVAL, acp_create_map(2, some, 1, 0).ga);
    FAILS(ACP_GA_NULL, EINVAL, acp_create_multiset(1, some, 1, procs).ga);
    FAILS(ACP_GA_NULL, ENOMEM, acp_create_map(1, some, 0x7fffffff, 0).ga);
    acp_set_t set = acp_create_set(1, some, 4, procs - 1);
    acp_map_t map = acp_create_map(1, some, 4, procs - 1), none = {0, 1, 1};
    acp_element_t empty = {scratch, 0}, null = {ACP_GA_NULL, 4};
    FAILS(0, EINVAL, acp_insert_set(set, empty));
    FAILS(0, EFAULT, acp_insert_set(set, null));
    FAILS(0, EFAULT, acp_insert_map(none, pair_of(1, 1)));
    acp_pair_t bad = {key_of(1), {ACP_GA_NULL, 4}};
    FAILS(0, EFAULT, acp_insert_map(map, bad));
    GIVES(0, acp_size_map(map));
    /* One kind is not another, and what a handle says must be so. */
    acp_map_t wrong = {set.ga, set.num_ranks, set.num_slots};
    FAILS(0, EBADF, acp_insert_map(wrong, pair_of(1, 1)));
    wrong = map;
    wrong.num_slots = 5;
    FAILS(0, EBADF, acp_size_map(wrong));
    wrong.ga = map.ga + 8;
    FAILS(0, EBADF, acp_retrieve_map(wrong, pair_of(1, 1)));
    /* An iterator of what is not there any more. */
    GIVES(1, acp_insert_map(map, pair_of(1, 1)));
    acp_map_it_t it = acp_find_map(map, key_of(1)), end = acp_end_map(map);
    acp_remove_map(map, key_of(1));
    FAILS(ACP_GA_NULL, EINVAL, acp_dereference_map_it(it).first.ga);
    FAILS(ACP_GA_NULL, EINVAL, acp_increment_map_it(it).elem);
    FAILS(ACP_GA_NULL, EINVAL, acp_increment_map_it(end).elem);
    FAILS(ACP_GA_NULL, EINVAL, acp_dereference_map_it(end).first.ga);
    it.slot = 77;
    FAILS(ACP_GA_NULL, EINVAL, acp_increment_map_it(it).elem);
    acp_destroy_set(set);
    acp_destroy_map(map);
    FAILS(0, EBADF, acp_insert_map(map, pair_of(1, 1)));
}

int main(int argc, char **argv)
{
    join(&argc, &argv);
    scratch = acp_malloc(8192, me);
    local = acp_query_address(scratch);
    random_state = 4711 + me;
    sets();
    multisets();
    maps();
    IN_TURN(bad_arguments());
    OK(acp_finalize());
    return 0;
}
