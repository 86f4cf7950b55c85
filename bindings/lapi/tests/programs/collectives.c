/*
 * Every collective of lapis.h in every form, on all tasks and on teams of some, beside calls of LAPI on the same handle.
 * tasks: 5
 */
#include "forms.h"

enum { MOST = 8, LONG = 20000 };

static lapis_team_t team;
static unsigned rank, size;

static void run_twice(lapis_request_t request)
{
    lapis_request_t same = request;
    int round, ended;
    for (round = 0; round < 2; round++) {
        OK(lapis_start(hndl, &request));
        GIVES(LAPIS_ERR_BUSY, lapis_start(hndl, &request));
        OK(lapis_wait(hndl, &request));
        OK(lapis_test(hndl, &request, &ended));
        CHECK(request == same && ended);
    }
    OK(lapis_request_free(hndl, &request));
    CHECK(request == LAPIS_NO_REQUEST);
}

#define CALL(name, ...) \
    do { \
        lapis_request_t request_; \
        if (form == WAITED) { \
            OK(lapis_##name(hndl, team, ##__VA_ARGS__)); \
        } else if (form == KEPT) { \
            OK(lapis_##name##_init(hndl, team, ##__VA_ARGS__, &request_)); \
            run_twice(request_); \
        } else { \
            OK(lapis_i##name(hndl, team, ##__VA_ARGS__, &request_)); \
            end(request_); \
        } \
    } while (0)

/* What member m gives in place i. */
static long long of(unsigned m, unsigned long i)
{
    return 1000 * (m + 1) + (long long)i;
}

static void fill(long long *data, unsigned long count)
{
    unsigned long i;
    for (i = 0; i < count; i++)
        data[i] = of(rank, i);
}

/* The sum of what members before `end` give. */
static long long sum(unsigned end, unsigned long i)
{
    long long all = 0;
    unsigned m;
    for (m = 0; m < end; m++)
        all += of(m, i);
    return all;
}

static long long in[MOST * LONG], out[MOST * LONG];

static void folds(unsigned long count)
{
    unsigned long i, counts[MOST], mine = 0, total = 0;
    unsigned root = size - 1, m;

    fill(in, count);
    CALL(reduce, in, out, count, LAPIS_I64, LAPIS_SUM, root);
    for (i = 0; rank == root && i < count; i++)
        CHECK(out[i] == sum(size, i));
    CALL(allreduce, in, out, count, LAPIS_I64, LAPIS_MAX);
    for (i = 0; i < count; i++)
        CHECK(out[i] == of(size - 1, i));
    CALL(scan, in, out, count, LAPIS_I64, LAPIS_SUM);
    for (i = 0; i < count; i++)
        CHECK(out[i] == sum(rank + 1, i));
    out[0] = -7;
    CALL(exscan, in, out, count, LAPIS_I64, LAPIS_SUM);
    for (i = 0; rank > 0 && i < count; i++)
        CHECK(out[i] == sum(rank, i));
    CHECK(rank > 0 || out[0] == -7);
    for (m = 0; m < size; m++) {
        counts[m] = m % 3 * (count / 4) + m;
        mine += m < rank ? counts[m] : 0;
        total += counts[m];
    }
    fill(in, total);
    CALL(reduce_scatter, in, out, counts, LAPIS_I64, LAPIS_SUM);
    for (i = 0; i < counts[rank]; i++)
        CHECK(out[i] == sum(size, mine + i));
    fill(in, count * size);
    CALL(reduce_scatter_block, in, out, count, LAPIS_I64, LAPIS_MIN);
    for (i = 0; i < count; i++)
        CHECK(out[i] == of(0, rank * count + i));
    /* In place. */
    if (form != KEPT) {
        fill(in, count);
        CALL(allreduce, in, in, count, LAPIS_I64, LAPIS_SUM);
        for (i = 0; i < count; i++)
            CHECK(in[i] == sum(size, i));
    }
}

static void moves(unsigned long count)
{
    unsigned long i;
    unsigned m, root = size / 2, some[2] = {0, size - 1};

    fill(out, count);
    CALL(bcast, out, count, LAPIS_I64, root);
    for (i = 0; i < count; i++)
        CHECK(out[i] == of(root, i));
    fill(out, count);
    CALL(mcast, out, count, LAPIS_I64, root, size > 1 ? 2 : 1, some);
    for (i = 0; i < count; i++)
        CHECK(out[i] == of(rank == 0 || rank == size - 1 ? root : rank, i));
    fill(in, count);
    CALL(gather, in, out, count, LAPIS_BYTES(8), root);
    for (m = 0; rank == root && m < size; m++)
        for (i = 0; i < count; i++)
            CHECK(out[m * count + i] == of(m, i));
    fill(in, count * size);
    CALL(scatter, in, out, count, LAPIS_I64, root);
    for (i = 0; i < count; i++)
        CHECK(out[i] == of(root, rank * count + i));
    CALL(allgather, in, out, count, LAPIS_I64);
    for (m = 0; m < size; m++)
        for (i = 0; i < count; i++)
            CHECK(out[m * count + i] == of(m, i));
    CALL(alltoall, in, out, count, LAPIS_I64);
    for (m = 0; m < size; m++)
        for (i = 0; i < count; i++)
            CHECK(out[m * count + i] == of(m, rank * count + i));
    if (form != KEPT) {
        CALL(alltoall, in, in, count, LAPIS_I64);
        for (m = 0; m < size; m++)
            for (i = 0; i < count; i++)
                CHECK(in[m * count + i] == of(m, rank * count + i));
    }
}

static void unequal_moves(unsigned long count)
{
    unsigned long i, counts[MOST], starts[MOST], gives[MOST], gets[MOST], at[MOST], from[MOST];
    unsigned m, root = size - 1;

    for (m = 0; m < size; m++) {
        counts[m] = m % 2 ? count / 2 + m : m;
        starts[m] = (size - 1 - m) * (count + MOST);
        gives[m] = (rank + 2 * m) % 4 * (count / 4);
        at[m] = m * count;
        gets[m] = (m + 2 * rank) % 4 * (count / 4);
        from[m] = (size - 1 - m) * count;
    }
    fill(in, size * (count + MOST));
    memset(out, 0, sizeof out);
    CALL(gatherv, in, counts[rank], out, counts, starts, LAPIS_I64, root);
    for (m = 0; rank == root && m < size; m++)
        for (i = 0; i < counts[m]; i++)
            CHECK(out[starts[m] + i] == of(m, i));
    CALL(scatterv, in, counts, starts, out, counts[rank], LAPIS_I64, root);
    for (i = 0; i < counts[rank]; i++)
        CHECK(out[i] == of(root, starts[rank] + i));
    CALL(allgatherv, in, out, counts, starts, LAPIS_I64);
    for (m = 0; m < size; m++)
        for (i = 0; i < counts[m]; i++)
            CHECK(out[starts[m] + i] == of(m, i));
    CALL(alltoallv, in, gives, at, out, gets, from, LAPIS_I64);
    for (m = 0; m < size; m++)
        for (i = 0; i < gets[m]; i++)
            CHECK(out[from[m] + i] == of(m, rank * count + i));
}

/* The data stand in one buffer, where MPI has them. */
static void in_place(unsigned long count)
{
    unsigned long i, counts[MOST], starts[MOST];
    unsigned m, root = size - 1;

    fill(out, count);
    CALL(allreduce, LAPIS_IN_PLACE, out, count, LAPIS_I64, LAPIS_SUM);
    for (i = 0; i < count; i++)
        CHECK(out[i] == sum(size, i));
    fill(in, count);
    fill(out, count);
    CALL(reduce, rank == root ? LAPIS_IN_PLACE : in, out, count, LAPIS_I64, LAPIS_SUM, root);
    for (i = 0; rank == root && i < count; i++)
        CHECK(out[i] == sum(size, i));
    fill(out, count);
    CALL(scan, LAPIS_IN_PLACE, out, count, LAPIS_I64, LAPIS_SUM);
    for (i = 0; i < count; i++)
        CHECK(out[i] == sum(rank + 1, i));
    fill(out, count);
    CALL(exscan, LAPIS_IN_PLACE, out, count, LAPIS_I64, LAPIS_SUM);
    for (i = 0; i < count; i++)
        CHECK(out[i] == (rank ? sum(rank, i) : of(0, i)));
    fill(out, count * size);
    CALL(reduce_scatter_block, LAPIS_IN_PLACE, out, count, LAPIS_I64, LAPIS_SUM);
    for (i = 0; i < count; i++)
        CHECK(out[i] == sum(size, rank * count + i));
    fill(out, count * size);
    CALL(alltoall, LAPIS_IN_PLACE, out, count, LAPIS_I64);
    for (m = 0; m < size; m++)
        for (i = 0; i < count; i++)
            CHECK(out[m * count + i] == of(m, rank * count + i));
    fill(out + rank * count, count);
    CALL(allgather, LAPIS_IN_PLACE, out, count, LAPIS_I64);
    for (m = 0; m < size; m++)
        for (i = 0; i < count; i++)
            CHECK(out[m * count + i] == of(m, i));
    fill(in, count);
    fill(out + rank * count, count);
    CALL(gather, rank == root ? LAPIS_IN_PLACE : in, out, count, LAPIS_I64, root);
    for (m = 0; rank == root && m < size; m++)
        for (i = 0; i < count; i++)
            CHECK(out[m * count + i] == of(m, i));
    fill(in, count * size);
    CALL(scatter, in, rank == root ? LAPIS_IN_PLACE : out, count, LAPIS_I64, root);
    for (i = 0; rank != root && i < count; i++)
        CHECK(out[i] == of(root, rank * count + i));
    for (i = 0; rank == root && i < count * size; i++)
        CHECK(in[i] == of(root, i));
    for (m = 0; m < size; m++) {
        counts[m] = m % 2 ? count / 2 + m : m;
        starts[m] = (size - 1 - m) * (count + MOST);
    }
    fill(out, counts[rank] * size);
    fill(in, counts[rank]);
    memcpy(out + starts[rank], in, counts[rank] * sizeof *in);
    CALL(allgatherv, LAPIS_IN_PLACE, out, counts, starts, LAPIS_I64);
    for (m = 0; m < size; m++)
        for (i = 0; i < counts[m]; i++)
            CHECK(out[starts[m] + i] == of(m, i));
    memset(out, 0, sizeof out);
    memcpy(out + starts[rank], in, counts[rank] * sizeof *in);
    CALL(gatherv, rank == root ? LAPIS_IN_PLACE : in, counts[rank], out, counts, starts, LAPIS_I64, root);
    for (m = 0; rank == root && m < size; m++)
        for (i = 0; i < counts[m]; i++)
            CHECK(out[starts[m] + i] == of(m, i));
    fill(in, size * (count + MOST));
    CALL(scatterv, in, counts, starts, rank == root ? LAPIS_IN_PLACE : out, counts[rank], LAPIS_I64, root);
    for (i = 0; rank != root && i < counts[rank]; i++)
        CHECK(out[i] == of(root, starts[rank] + i));
    for (m = 0; m < size; m++) {
        counts[m] = count / 2;
        starts[m] = m * count;
    }
    fill(out, count * size);
    CALL(alltoallv, LAPIS_IN_PLACE, counts, starts, out, counts, starts, LAPIS_I64);
    for (m = 0; m < size; m++)
        for (i = 0; i < counts[m]; i++)
            CHECK(out[starts[m] + i] == of(m, rank * count + i));
    fill(out, count * size);
    for (m = 0; m < size; m++)
        counts[m] = m;
    CALL(reduce_scatter, LAPIS_IN_PLACE, out, counts, LAPIS_I64, LAPIS_SUM);
    for (i = 0; count > MOST && i < rank; i++)
        CHECK(out[i] == sum(size, (unsigned long)rank * (rank - 1) / 2 + i));
}

static void ring(unsigned long count)
{
    unsigned long i;
    unsigned right = (rank + 1) % size, left = (rank + size - 1) % size;
    lapis_edge_t to[2] = {{right, 0, 0, count}, {left, 0, count, 1}};
    lapis_edge_t from[2] = {{left, 0, 1, count}, {right, 0, 0, 1}};

    fill(in, count + 1);
    CALL(neighbours, in, 2, to, out, 2, from, LAPIS_I64);
    CHECK(out[0] == of(right, count));
    for (i = 0; i < count; i++)
        CHECK(out[i + 1] == of(left, i));
}

/* A function from numbers below 3 to such numbers: composing them does not commute. */
static void compose(const void *left, const void *right, void *result, unsigned long count, void *arg)
{
    const unsigned char *l = left, *r = right;
    unsigned char *to = result, made[3];
    unsigned long i;
    int x;
    CHECK(arg == &team);
    for (i = 0; i < count; i++, l += 3, r += 3, to += 3) {
        for (x = 0; x < 3; x++)
            made[x] = r[l[x]];
        memcpy(to, made, 3);
    }
}

static void operators(void)
{
    static const unsigned char maps[4][3] = {{1, 2, 0}, {1, 0, 2}, {0, 0, 1}, {2, 1, 0}};
    unsigned char mine[3 * 700], all[3 * 700], expected[3];
    unsigned long i;
    unsigned m;
    int x;
    lapis_op_t op;

    OK(lapis_op_create(hndl, compose, 0, &team, &op));
    for (i = 0; i < 700; i++)
        memcpy(mine + 3 * i, maps[(rank + i) % 4], 3);
    CALL(allreduce, mine, all, 700, LAPIS_BYTES(3), op);
    for (i = 0; i < 700; i++) {
        for (x = 0; x < 3; x++) {
            expected[x] = x;
            for (m = 0; m < size; m++)
                expected[x] = maps[(m + i) % 4][expected[x]];
        }
        CHECK(memcmp(all + 3 * i, expected, 3) == 0);
    }
    OK(lapis_op_free(hndl, op));
    GIVES(LAPIS_ERR_OP, lapis_allreduce(hndl, team, mine, all, 1, LAPIS_BYTES(3), op));
    GIVES(LAPIS_ERR_OP, lapis_op_free(hndl, op));
}

static void everything(lapis_team_t of)
{
    static const unsigned long counts[] = {0, 1, 13, 600, LONG};
    unsigned at;

    team = of;
    OK(lapis_team_rank(hndl, team, &rank));
    OK(lapis_team_size(hndl, team, &size));
    for (form = WAITED; form < FORMS; form++) {
        CALL(barrier);
        for (at = 0; at < sizeof counts / sizeof *counts; at++) {
            folds(counts[at]);
            moves(counts[at] == LONG ? LONG - MOST : counts[at]);
            unequal_moves(counts[at] == LONG ? LONG - MOST : counts[at]);
            ring(counts[at]);
            /* A persistent call would fold its own result. */
            if (form != KEPT)
                in_place(counts[at] == LONG ? LONG - MOST : counts[at]);
        }
        operators();
    }
}

/* Several at a time, with messages of LAPI between. */
static void many_at_once(void)
{
    lapis_request_t requests[12];
    long long sums[12];
    lapi_cntr_t done;
    void **at = exchange(&in[0]);
    int i;

    OK(lapis_team_rank(hndl, LAPIS_WORLD, &rank));
    OK(LAPI_Setcntr(hndl, &done, 0));
    for (i = 0; i < 12; i++) {
        sums[i] = i * (me + 1);
        OK(lapis_iallreduce(hndl, LAPIS_WORLD, &sums[i], &sums[i], 1, LAPIS_I64, LAPIS_SUM, &requests[i]));
        OK(LAPI_Put(hndl, (me + 1) % tasks, 8, (long long *)at[(me + 1) % tasks] + i, &out[0], NULL, NULL, &done));
    }
    OK(lapis_waitall(hndl, 12, requests));
    OK(LAPI_Waitcntr(hndl, &done, 12, NULL));
    for (i = 0; i < 12; i++)
        CHECK(sums[i] == i * tasks * (tasks + 1) / 2 && requests[i] == LAPIS_NO_REQUEST);
    OK(LAPI_Gfence(hndl));
    free(at);
}

/* Ranges, unions and differences, of the members with even ranks or with odd ones. */
static void sets(lapis_team_t half)
{
    lapis_team_t evens, all, others;
    unsigned size, rank, last = (unsigned)tasks - 1;

    OK(lapis_team_range(hndl, LAPIS_WORLD, 0, last, 2, &evens));
    CHECK((evens == LAPIS_NO_TEAM) == (me % 2 == 1));
    if (evens != LAPIS_NO_TEAM) {
        OK(lapis_team_size(hndl, evens, &size));
        CHECK(size == (unsigned)(tasks + 1) / 2);
        OK(lapis_barrier(hndl, evens));
        OK(lapis_team_free(hndl, evens));
    }
    OK(lapis_team_range(hndl, LAPIS_WORLD, last, 0, -1, &all));
    OK(lapis_team_rank(hndl, all, &rank));
    CHECK(rank == last - (unsigned)me);
    OK(lapis_barrier(hndl, all));
    OK(lapis_team_free(hndl, all));
    OK(lapis_team_union(hndl, LAPIS_WORLD, half, &all));
    OK(lapis_team_size(hndl, all, &size));
    CHECK(size == (unsigned)tasks);
    OK(lapis_team_difference(hndl, LAPIS_WORLD, half, &others));
    CHECK(others == LAPIS_NO_TEAM);
    OK(lapis_team_free(hndl, all));
    GIVES(LAPIS_ERR_GROUP, lapis_team_range(hndl, LAPIS_WORLD, 0, last, 0, &all));
    GIVES(LAPIS_ERR_ROOT, lapis_team_range(hndl, LAPIS_WORLD, 0, (unsigned)tasks, 1, &all));
    OK(lapis_team_difference(hndl, half, LAPIS_WORLD, &others));
    CHECK(others == LAPIS_NO_TEAM);
}

static void parts(void)
{
    lapis_team_t half, odd, both, none;
    unsigned list[MOST], count = 0, i, of_half;
    int there;

    OK(lapis_team_split(hndl, LAPIS_WORLD, me % 2, -me, &half));
    OK(lapis_team_size(hndl, half, &of_half));
    CHECK(of_half == (unsigned)(tasks + 1 - me % 2) / 2);
    everything(half);
    OK(lapis_team_split(hndl, LAPIS_WORLD, me ? 0 : -1, 0, &none));
    CHECK((none == LAPIS_NO_TEAM) == (me == 0));
    if (me)
        OK(lapis_team_free(hndl, none));
    for (i = 0; i < (unsigned)tasks; i++)
        list[count++] = tasks - 1 - i;
    OK(lapis_team_of(hndl, count, list, &odd));
    OK(lapis_team_rank(hndl, odd, &rank));
    CHECK(rank == (unsigned)(tasks - 1 - me));
    OK(lapis_team_translate(hndl, odd, 0, LAPIS_WORLD, &there));
    CHECK(there == tasks - 1);
    OK(lapis_team_translate(hndl, odd, (unsigned)(tasks - 1 - (me + 1) % tasks), half, &there));
    CHECK((there == -1) == ((me + 1) % tasks % 2 != me % 2));
    OK(lapis_team_task(hndl, odd, 0, &i));
    CHECK(i == (unsigned)tasks - 1);
    OK(lapis_team_intersection(hndl, odd, half, &both));
    OK(lapis_team_size(hndl, both, &i));
    CHECK(i == of_half);
    OK(lapis_barrier(hndl, both));
    sets(half);
    i = tasks - 1 - me;
    OK(lapis_team_include(hndl, odd, 1, &i, &none));
    OK(lapis_barrier(hndl, none));
    OK(lapis_team_free(hndl, none));
    OK(lapis_team_exclude(hndl, odd, 1, &i, &none));
    CHECK(none == LAPIS_NO_TEAM);
    GIVES(LAPIS_ERR_TEAM, lapis_barrier(hndl, none));
    OK(lapis_team_strided(hndl, tasks - 1, -1, tasks, &none));
    OK(lapis_team_reproducible(hndl, none, 1));
    everything(none);
    OK(lapis_team_free(hndl, none));
    GIVES(LAPIS_ERR_TEAM, lapis_barrier(hndl, none));
    OK(lapis_team_free(hndl, both));
    OK(lapis_team_free(hndl, odd));
    OK(lapis_team_free(hndl, half));
}

int main(void)
{
    lapis_team_t some[300];
    int i;

    GIVES(LAPI_ERR_HNDL_INVALID, lapis_barrier(12345, LAPIS_WORLD));
    start();
    everything(LAPIS_WORLD);
    many_at_once();
    parts();
    /* Hundreds alive at once. */
    for (i = 0; i < 300; i++)
        OK(lapis_team_strided(hndl, 0, 1, tasks, &some[i]));
    for (i = 299; i >= 0; i -= 7)
        OK(lapis_barrier(hndl, some[i]));
    for (i = 0; i < 300; i++)
        OK(lapis_team_free(hndl, some[i]));
    finish();
    GIVES(LAPI_ERR_HNDL_INVALID, lapis_barrier(hndl, LAPIS_WORLD));
    return 0;
}
