/*
 * Every runtime attribute: its default, its range where it can be set, and what it says of this job.
 * tasks: 4
 */
//= LAPI Guide, LAPI_Qenv, reads a runtime attribute
//= LAPI Guide, LAPI_Senv, sets a runtime attribute
//= LAPI Guide, table 45, attributes that return integers
//= LAPI Guide, LAPI_Qenv, QUERY_SHM_TASKS
//= LAPI Guide, Collecting statistics, one structure for each path
//= LAPI Guide, Printing data transfer statistics
//= LAPI Guide, Querying local send statistics, the packet count is always 0
//= type=test
#include "check.h"

static int query(lapi_query_t attribute)
{
    int value = -4711;
    OK(LAPI_Qenv(hndl, attribute, &value));
    return value;
}

static void sets(lapi_query_t attribute, int value)
{
    OK(LAPI_Senv(hndl, attribute, value));
    CHECK(query(attribute) == value);
}

#define BLOCKS 2000

static char box[1000], data[1000];
static lapi_cntr_t cmpl;

/* What a neighbour puts here counts as received, and what one gets from here as sent, whichever way the bytes go. */
static void both_sides_count(ulong len, const lapi_query_t *paths, const int *list)
{
    int to = (me + 1) % tasks, path = tasks == 1 ? 2 : list[to] >= 0;
    char *mine = calloc(2, len);
    void **theirs = exchange(mine);
    lapi_statistics_t before, between, after;
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Qenv(hndl, paths[path], (int *)&before));
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Put(hndl, to, len, theirs[to], mine + len, NULL, NULL, &cmpl));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Qenv(hndl, paths[path], (int *)&between));
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Get(hndl, to, len, theirs[to], mine + len, NULL, &cmpl));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Qenv(hndl, paths[path], (int *)&after));
    CHECK(between.Tot_data_sent >= before.Tot_data_sent + (lapi_long_t)len);
    CHECK(between.Tot_data_rcv >= before.Tot_data_rcv + (lapi_long_t)len);
    CHECK(after.Tot_data_sent >= between.Tot_data_sent + (lapi_long_t)len);
    CHECK(after.Tot_data_rcv >= between.Tot_data_rcv + (lapi_long_t)len);
    /* Once, not twice. */
    CHECK(between.Tot_data_rcv < before.Tot_data_rcv + (lapi_long_t)len + 5000);
    CHECK(after.Tot_data_sent < between.Tot_data_sent + (lapi_long_t)len + 5000);
    OK(LAPI_Gfence(hndl));
    free(theirs);
    free(mine);
}

static void *origins[BLOCKS], *targets[BLOCKS], *places[BLOCKS];
static ulong lengths[BLOCKS];

static lapi_vec_t *vector(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong **lens, compl_hndlr_t **done, void **argument)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)lens, (void)argument;
    static lapi_vec_t places_of_all = {LAPI_GEN_IOVECTOR, BLOCKS, places, lengths};
    *done = NULL;
    return &places_of_all;
}

/* The descriptions of vectors that travel with their data are none of the program's bytes. */
static void vectors_count_as_their_data(const lapi_query_t *paths, const int *list)
{
    static char here[BLOCKS], there[2 * BLOCKS];
    int to = (me + 1) % tasks, path = tasks == 1 ? 2 : list[to] >= 0;
    void **theirs = exchange(there), **headers = exchange((void *)vector);
    for (int i = 0; i < BLOCKS; i++) {
        lengths[i] = 1;
        origins[i] = here + i;
        targets[i] = (char *)theirs[to] + 2 * i;
        places[i] = there + 2 * i;
    }
    lapi_vec_t origin = {LAPI_GEN_IOVECTOR, BLOCKS, origins, lengths};
    lapi_vec_t target = {LAPI_GEN_IOVECTOR, BLOCKS, targets, lengths};
    lapi_statistics_t before, between, after;
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Qenv(hndl, paths[path], (int *)&before));
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Putv(hndl, to, &target, &origin, NULL, NULL, &cmpl));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Qenv(hndl, paths[path], (int *)&between));
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Getv(hndl, to, &target, &origin, NULL, &cmpl));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Qenv(hndl, paths[path], (int *)&after));
#define COUNT(one, other) \
    do { \
        CHECK(other.Tot_data_sent == one.Tot_data_sent + BLOCKS); \
        CHECK(other.Tot_data_rcv == one.Tot_data_rcv + BLOCKS); \
    } while (0)
    COUNT(before, between);
    COUNT(between, after);
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Amsendv(hndl, to, headers[to], "a header", 8, &origin, NULL, NULL, &cmpl));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Qenv(hndl, paths[path], (int *)&before));
    COUNT(after, before);
    OK(LAPI_Gfence(hndl));
    free(headers);
    free(theirs);
}

int main(void)
{
    start();
    CHECK(query(TASK_ID) == me && query(NUM_TASKS) == tasks && me >= 0 && me < tasks);
    CHECK(query(MAX_UHDR_SZ) >= 512);
    CHECK(sizeof(long) == 4 ? query(MAX_DATA_SZ) == 0x7fffffff : (uint)query(MAX_DATA_SZ) == ~0u);
    CHECK(query(ERROR_CHK) == 0);
    CHECK(query(TIMEOUT) == 900 && query(MIN_TIMEOUT) == 10 && query(MAX_TIMEOUT) == 86400);
    CHECK(query(INTERRUPT_SET) == 1);
    CHECK(query(MAX_PORTS) == 16);
    CHECK(query(MAX_PKT_SZ) >= 1024);
    CHECK(query(NUM_REX_BUFS) == 128 && query(REX_BUF_SZ) == 16384 && query(BUF_CP_SIZE) == 16384);
    CHECK(query(LOC_ADDRTBL_SZ) >= 64);
    CHECK(query(EPOCH_NUM) == 0 && query(USE_THRESH) == 0 && query(RCV_FIFO_SIZE) == 0);
    CHECK(query(MAX_ATOM_SIZE) >= 64 && query(MAX_ATOM_SIZE) <= query(MAX_PKT_SZ));
    CHECK(query(MAX_PKTS_OUT) > 0);
    CHECK(query(ACK_THRESHOLD) == 30);
    CHECK(query(BULK_XFER) == 0 && query(BULK_MIN_MSG_SIZE) == 150 * 1024);

    sets(ERROR_CHK, 1);
    sets(ERROR_CHK, 0);
    sets(TIMEOUT, 10);
    sets(TIMEOUT, 86400);
    sets(TIMEOUT, 900);
    sets(ACK_THRESHOLD, 1);
    sets(ACK_THRESHOLD, 30);
    sets(INTERRUPT_SET, 0);
    sets(INTERRUPT_SET, 1);
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 7));
    CHECK(query(INTERRUPT_SET) == 1);

    /* Shared memory: with it all tasks of the machine are in one list; without it nobody is. */
    int *list = malloc(tasks * sizeof *list);
    OK(LAPI_Qenv(hndl, QUERY_SHM_TASKS, list));
    int shared = 0;
    for (int i = 0; i < tasks; i++) {
        CHECK(list[i] == -1 || list[i] == shared);
        shared += list[i] >= 0;
    }
    CHECK(query(QUERY_SHM_NUM_TASKS) == shared);
    CHECK(query(QUERY_SHM_ENABLED) == (shared > 0));
    CHECK(shared == 0 || list[me] >= 0);

    /* Statistics: the bytes of one message to a neighbour show on its path, those to oneself on the local one. */
    lapi_statistics_t before[3], after[3];
    lapi_query_t paths[3] = {QUERY_STATISTICS, QUERY_SHM_STATISTICS, QUERY_LOCAL_SEND_STATISTICS};
    void **boxes = exchange(box);
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    OK(LAPI_Gfence(hndl));
    for (int i = 0; i < 3; i++)
        OK(LAPI_Qenv(hndl, paths[i], (int *)&before[i]));
    int to = (me + 1) % tasks;
    OK(LAPI_Put(hndl, to, sizeof data, boxes[to], data, NULL, NULL, &cmpl));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    for (int i = 0; i < 3; i++)
        OK(LAPI_Qenv(hndl, paths[i], (int *)&after[i]));
    CHECK(after[2].Tot_pkt_sent_cnt == 0 && after[2].Tot_pkt_rcv_cnt == 0);
    if (tasks > 1) {
        int path = list[to] >= 0;
        CHECK(after[path].Tot_data_sent >= before[path].Tot_data_sent + sizeof data);
        CHECK(after[path].Tot_pkt_sent_cnt > before[path].Tot_pkt_sent_cnt);
        CHECK(after[1 - path].Tot_data_sent == before[1 - path].Tot_data_sent);
    } else {
        CHECK(after[2].Tot_data_sent >= before[2].Tot_data_sent + sizeof data);
    }
    both_sides_count(50000, paths, list);
    both_sides_count(3000000, paths, list);
    vectors_count_as_their_data(paths, list);
    int untouched = 77;
    OK(LAPI_Qenv(hndl, PRINT_STATISTICS, &untouched));
    CHECK(untouched == 77);
    finish();
    return 0;
}
