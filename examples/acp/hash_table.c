/*
 * A hash table over all processes: each counts the words of its part of a text in one map, and
 * reads what all have counted together. Values are counters in the map itself, which lie at
 * multiples of 8 bytes: who finds a word adds to its counter by one atomic operation.
 */
#include <acp.h>
#include <stdio.h>
#include <string.h>

static const char *words[] = {"the", "sea",   "is", "the",   "sea", "and", "the",
                              "shore", "is", "where", "the", "sea", "ends"};
static const char *shown[] = {"the", "sea", "shore", "is"};
enum { WORDS = sizeof words / sizeof words[0], SHOWN = sizeof shown / sizeof shown[0] };

/* Global memory of this process: where its arguments lie, and results come. */
static acp_ga_t scratch;
static char *local;

static acp_element_t key(const char *word)
{
    acp_element_t element = {scratch, strlen(word)};
    memcpy(local, word, element.size);
    return element;
}

/* The counter of a word, which begins at 0. Of several who insert it at a time, one does. */
static acp_ga_t counter(acp_map_t table, const char *word)
{
    acp_pair_t pair = {key(word), {scratch + 64, sizeof(uint64_t)}};
    memset(local + 64, 0, sizeof(uint64_t));
    acp_insert(map, table, pair);
    acp_map_it_t it = acp_find(map, table, pair.first);
    if (it.elem == ACP_GA_NULL)
        acp_abort("a word can't be inserted");
    return acp_dereference_map_it(it).second.ga;
}

static uint64_t value(acp_ga_t place)
{
    acp_complete(acp_copy(scratch + 128, place, sizeof(uint64_t), ACP_HANDLE_NULL));
    return *(uint64_t *)(local + 128);
}

int main(int argc, char **argv)
{
    if (acp_init(&argc, &argv))
        return 1;
    int me = acp_rank(), procs = acp_procs(), ranks[procs];
    for (int rank = 0; rank < procs; rank++)
        ranks[rank] = rank;
    scratch = acp_malloc(256, me);
    if (scratch == ACP_GA_NULL)
        acp_abort("no memory for arguments");
    local = acp_query_address(scratch);

    /* The first process makes the table; the others read its place from its starter memory. */
    acp_map_t table = {ACP_GA_NULL, procs, 16};
    if (me == 0) {
        table = acp_create(map, procs, ranks, 16, 0);
        if (table.ga == ACP_GA_NULL)
            acp_abort("no memory for the table");
        *(acp_ga_t *)acp_query_address(acp_query_starter_ga(0)) = table.ga;
    }
    acp_sync();
    table.ga = value(acp_query_starter_ga(0));

    for (int at = me; at < WORDS; at += procs)
        acp_complete(acp_add8(scratch + 192, counter(table, words[at]), 1, ACP_HANDLE_NULL));
    acp_sync();
    if (me == 0) {
        uint64_t all = 0;
        for (int at = 0; at < SHOWN; at++)
            printf("%s: %d\n", shown[at], (int)value(counter(table, shown[at])));
        printf("%d words differ\n", (int)acp_size(map, table));
        acp_map_it_t it = acp_begin(map, table), end = acp_end(map, table);
        for (; it.elem != end.elem; it = acp_increment(map_it, it))
            all += value(acp_dereference(map_it, it).second.ga);
        printf("%d words in all\n", (int)all);
        acp_destroy(map, table);
    }
    return acp_finalize();
}
