/* Hash tables, lookaside lists, zones, marks, mutexes, checksums, random numbers: no ports. */
#include "gmcheck.h"
#include <pthread.h>

static long by_int(void *a, void *b) { return gm_hash_compare_ints(a, b); }

/* A table against an array, with random keys. */
static void tables(void) {
    static int model[100];
    struct gm_hash *h = gm_create_hash(by_int, gm_hash_hash_int, sizeof(int), sizeof(int), 10, 0);
    int i, pointers[3];
    long wide[2] = {1l << 40, 1};
    for (i = 0; i < 10000; i++) {
        int key = (int)gm_rand_mod(100), value = 1 + gm_rand() % 1000, other = (int)gm_rand_mod(100);
        int *found = gm_hash_find(h, &key);
        if (model[key])
            CHECK(found && *found == model[key]);
        else
            CHECK(found == NULL);
        switch (gm_rand_mod(3)) {
        case 0:
            IS(gm_hash_insert(h, &key, &value), GM_SUCCESS);
            model[key] = value;
            break;
        case 1:
            found = gm_hash_remove(h, &key);
            CHECK(model[key] ? found && *found == model[key] : found == NULL);
            model[key] = 0;
            break;
        default:
            if (key == other || !model[key]) break;
            gm_hash_rekey(h, &key, &other);
            model[other] = model[key];
            model[key] = 0;
        }
    }
    gm_destroy_hash(h);
    /* Pointers for keys and data. */
    h = gm_create_hash(gm_hash_compare_ptrs, gm_hash_hash_ptr, 0, 0, 0, 0);
    IS(gm_hash_insert(h, &pointers[0], &pointers[1]), GM_SUCCESS);
    CHECK(gm_hash_find(h, &pointers[0]) == &pointers[1] && gm_hash_find(h, &pointers[1]) == NULL);
    CHECK(gm_hash_remove(h, &pointers[0]) == &pointers[1] && gm_hash_find(h, &pointers[0]) == NULL);
    gm_destroy_hash(h);
    h = gm_create_hash(gm_hash_compare_strings, gm_hash_hash_string, 0, sizeof(long), 0, 0);
    IS(gm_hash_insert(h, (void *)"one", &wide[0]), GM_SUCCESS);
    IS(*(long *)gm_hash_find(h, (void *)"one"), 1l << 40);
    CHECK(gm_hash_find(h, (void *)"two") == NULL);
    /* The table's own copy is put in again. */
    IS(gm_hash_insert(h, (void *)"one", gm_hash_find(h, (void *)"one")), GM_SUCCESS);
    IS(*(long *)gm_hash_find(h, (void *)"one"), 1l << 40);
    gm_destroy_hash(h);
    h = gm_create_hash(gm_hash_compare_longs, gm_hash_hash_long, sizeof(long), 0, 0, 0);
    IS(gm_hash_insert(h, &wide[0], wide), GM_SUCCESS);
    CHECK(gm_hash_find(h, &wide[0]) == wide && gm_hash_find(h, &wide[1]) == NULL);
    gm_destroy_hash(h);
    /* Without functions: bytes. */
    h = gm_create_hash(NULL, NULL, 3, 0, 0, 0);
    IS(gm_hash_insert(h, (void *)"abc", wide), GM_SUCCESS);
    CHECK(gm_hash_find(h, (void *)"abcd") == wide && gm_hash_find(h, (void *)"abd") == NULL);
    gm_destroy_hash(h);
    /* Without bytes either: pointers. */
    h = gm_create_hash(NULL, NULL, 0, 0, 0, 0);
    IS(gm_hash_insert(h, &pointers[0], &pointers[1]), GM_SUCCESS);
    CHECK(gm_hash_find(h, &pointers[0]) == &pointers[1] && gm_hash_find(h, &pointers[1]) == NULL);
    gm_destroy_hash(h);
}

static void lists(void) {
    struct gm_lookaside *l = gm_create_lookaside(100, 4);
    char *a = gm_lookaside_alloc(l), *b = gm_lookaside_zalloc(l), *c;
    int i;
    CHECK(a && b && a != b && GM_ALIGNED(a, 16));
    memset(a, 7, 100);
    for (i = 0; i < 100; i++) CHECK(b[i] == 0);
    gm_lookaside_free(a);
    c = gm_lookaside_zalloc(l);
    CHECK(c == a && c[99] == 0);
    gm_lookaside_free(b);
    gm_lookaside_free(c);
    gm_destroy_lookaside(l);
}

static void zones(void) {
    static char memory[4096] __attribute__((aligned(16)));
    struct gm_zone *zone = gm_zone_create_zone(memory, sizeof memory);
    char *all = gm_zone_malloc(zone, 4096), *pieces[8];
    int i, k;
    CHECK(all == memory && gm_zone_malloc(zone, 1) == NULL);
    memset(all, 1, 4096);
    CHECK(gm_zone_free(zone, all) == NULL && gm_zone_free(zone, all) == all);
    for (i = 0; i < 8; i++) {
        pieces[i] = gm_zone_calloc(zone, 2, 100);
        CHECK(pieces[i] && gm_zone_addr_in_zone(zone, pieces[i]));
        for (k = 0; k < 200; k++) CHECK(pieces[i][k] == 0);
        memset(pieces[i], 2, 200);
    }
    gm_zone_free(zone, pieces[3]);
    CHECK(gm_zone_malloc(zone, 200) == pieces[3]);
    CHECK(gm_zone_malloc(zone, 4096) == NULL && gm_zone_calloc(zone, ~0ul, 2) == NULL);
    CHECK(!gm_zone_addr_in_zone(zone, &zone) && !gm_zone_addr_in_zone(zone, memory + 4096));
    gm_zone_destroy_zone(zone);
}

static void marks(void) {
    struct gm_mark_set *set = NULL;
    gm_mark_t a = 77, b = 0, copy;
    IS(gm_create_mark_set(&set, 4), GM_SUCCESS);
    CHECK(!gm_mark_is_valid(set, &a) && !gm_mark_is_valid(set, &b));
    IS(gm_mark(set, NULL), GM_INVALID_PARAMETER);
    IS(gm_mark(NULL, &a), GM_INVALID_PARAMETER);
    CHECK(!gm_mark_is_valid(set, NULL) && !gm_mark_is_valid(NULL, &a));
    gm_unmark(set, NULL);
    IS(gm_mark(set, &a), GM_SUCCESS);
    IS(gm_mark(set, &b), GM_SUCCESS);
    copy = a;
    CHECK(gm_mark_is_valid(set, &a) && gm_mark_is_valid(set, &b) && !gm_mark_is_valid(set, &copy));
    gm_unmark(set, &copy);
    gm_unmark(set, &a);
    CHECK(!gm_mark_is_valid(set, &a) && gm_mark_is_valid(set, &b));
    gm_unmark_all(set);
    CHECK(!gm_mark_is_valid(set, &b));
    gm_destroy_mark_set(set);
}

static struct gm_mutex *mutex;
static int counter;
static void *count(void *none) {
    int i;
    for (i = 0; i < 10000; i++) {
        gm_mutex_enter(mutex);
        counter++;
        gm_mutex_exit(mutex);
    }
    return none;
}

int main(void) {
    pthread_t other;
    int first;
    tables();
    lists();
    zones();
    marks();
    mutex = gm_create_mutex();
    CHECK(pthread_create(&other, NULL, count, NULL) == 0);
    count(NULL);
    pthread_join(other, NULL);
    IS(counter, 20000);
    gm_destroy_mutex(mutex);
    IS(gm_crc_str("123456789"), 0xcbf43926);
    IS(gm_crc((void *)"123456789", 9), 0xcbf43926);
    gm_srand(5);
    first = gm_rand();
    CHECK(first >= 0 && gm_rand() != first);
    gm_srand(5);
    IS(gm_rand(), first);
    IS(gm_rand_mod(1), 0);
    puts("done");
    return 0;
}
