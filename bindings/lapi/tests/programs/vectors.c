/*
 * Vectors of the three types, in active messages, puts and gets; short ones, long ones, and ones that do not fit.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Amsendv, sends a vector to a header handler
//= LAPI Guide, LAPI_Amsendv, the header handler returns a vector
//= LAPI Guide, LAPI_Putv, transfers vectors to a task
//= LAPI Guide, LAPI_Getv, copies vectors from a task
//= LAPI Guide, table 7, target vector rules
//= LAPI Guide, table 7, LAPI_GEN_GENERIC is for active messages only
//= LAPI Guide, table 7, a strided vector's info holds base address, block size and stride, and len is ignored
//= LAPI Guide, LAPI_Putv, LAPI_ERR_VEC_TYPE_DIFF, LAPI_ERR_VEC_NUM_DIFF, LAPI_ERR_VEC_LEN_DIFF
//= LAPI Guide, LAPI_Amsendv, the errors of the origin's vector
//= LAPI Guide, LAPI_Putv, the errors of the target's vector
//= LAPI Guide, LAPI_Getv, LAPI_ERR_ORG_VEC_TYPE and LAPI_ERR_TGT_VEC_TYPE
//= type=test
#include "check.h"

#define BYTES (1 << 20)
#define MOST 5000

static unsigned char here[BYTES], there[BYTES], model[BYTES];
static lapi_cntr_t tgt, org, cmpl;
static void **counters, **boxes, **handlers;
static int other;

static void *infos[2][MOST];
static ulong lens[2][MOST];
static lapi_vec_t vecs[2] = {{LAPI_GEN_IOVECTOR, 0, infos[0], lens[0]}, {LAPI_GEN_IOVECTOR, 0, infos[1], lens[1]}};
static lapi_vec_t *answer_vec;
static volatile int completions, lengths_seen;

static uint seed = 12345;
static uint any(uint below)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 8) % below;
}

static void completed(lapi_handle_t *h, void *argument)
{
    CHECK(*h == hndl && argument == there);
    completions++;
}

static lapi_vec_t *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong **len_vec, compl_hndlr_t **done, void **info)
{
    CHECK(*h == hndl);
    CHECK(*uhdr_len == 12 && memcmp(uhdr, "twelve bytes", 12) == 0);
    if (answer_vec && answer_vec->vec_type == LAPI_GEN_IOVECTOR) {
        for (uint i = 0; i < answer_vec->num_vecs; i++)
            CHECK((*len_vec)[i] == answer_vec->len[i]);
        lengths_seen++;
    }
    *done = completed;
    *info = there;
    return answer_vec;
}

/* A list of n pieces of base, not overlapping, some of them empty; and what it makes of the model, piece by piece. */
static void list(lapi_vec_t *vec, unsigned char *base, int n, uint longest, const lapi_vec_t *like)
{
    ulong at = 0;
    vec->vec_type = LAPI_GEN_IOVECTOR;
    vec->num_vecs = n;
    for (int i = 0; i < n; i++) {
        at += any(BYTES / n / 4 + 1);
        vec->len[i] = like ? like->len[i] : any(longest + 1);
        vec->info[i] = vec->len[i] || i % 2 ? base + at : NULL;
        at += vec->len[i];
        CHECK(at <= BYTES);
    }
}

static void strided(lapi_vec_t *vec, unsigned char *base, int n, ulong block, ulong stride)
{
    vec->vec_type = LAPI_GEN_STRIDED_XFER;
    vec->num_vecs = n;
    vec->info[0] = base;
    vec->info[1] = (void *)block;
    vec->info[2] = (void *)stride;
    CHECK(n * stride <= BYTES);
}

/* The bytes of a vector, one after the other. */
static ulong flat(const lapi_vec_t *vec, unsigned char *shift_from, unsigned char *shift_to, unsigned char **out)
{
    static unsigned char *bytes[2][BYTES];
    ulong n = 0;
    unsigned char **where = out ? out : bytes[0];
    for (uint i = 0; i < vec->num_vecs; i++) {
        int is_strided = vec->vec_type == LAPI_GEN_STRIDED_XFER;
        ulong len = is_strided ? (ulong)vec->info[1] : vec->len[i];
        unsigned char *base = is_strided ? (unsigned char *)vec->info[0] + i * (ulong)vec->info[2] : vec->info[i];
        for (ulong b = 0; b < len; b++)
            where[n++] = base + b - shift_from + shift_to;
    }
    return n;
}

static unsigned char *from_bytes[BYTES], *to_bytes[BYTES];

/* What must be in `there` afterwards, if `from` goes to `to`. */
static void expect(const lapi_vec_t *from, const lapi_vec_t *to, unsigned char *to_base)
{
    ulong n = flat(from, 0, 0, from_bytes), m = flat(to, to_base, model, to_bytes);
    memset(model, 0xee, sizeof model);
    for (ulong i = 0; i < n && i < m; i++)
        *to_bytes[i] = *from_bytes[i];
}

static void settle(void)
{
    OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
}

/* Task 0 sends, task 1 receives and judges; both know the same vectors because both draw the same numbers. */
static void am(lapi_vec_t *from, lapi_vec_t *to)
{
    OK(LAPI_Gfence(hndl));
    memset(there, 0xee, sizeof there);
    answer_vec = to;
    int before = completions;
    OK(LAPI_Gfence(hndl));
    if (me == 0) {
        OK(LAPI_Amsendv(hndl, other, handlers[other], "twelve bytes", 12, from, counters[other], &org, &cmpl));
        settle();
    } else {
        OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
        CHECK(completions == before + 1);
        expect(from, to, there);
        CHECK(memcmp(there, model, sizeof model) == 0);
    }
    OK(LAPI_Gfence(hndl));
}

/* `to` has addresses of this task's `there`; the other task's is somewhere else. */
static void move_to(lapi_vec_t *vec, unsigned char *base)
{
    uint n = vec->vec_type == LAPI_GEN_STRIDED_XFER ? 1 : vec->num_vecs;
    for (uint i = 0; i < n; i++)
        if (vec->info[i])
            vec->info[i] = (unsigned char *)vec->info[i] - there + base;
}

static void put(lapi_vec_t *from, lapi_vec_t *to)
{
    OK(LAPI_Gfence(hndl));
    memset(there, 0xee, sizeof there);
    OK(LAPI_Gfence(hndl));
    if (me == 0) {
        move_to(to, boxes[other]);
        OK(LAPI_Putv(hndl, other, to, from, counters[other], &org, &cmpl));
        settle();
        move_to(to, there - ((unsigned char *)boxes[other] - there));
    } else {
        OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
        expect(from, to, there);
        CHECK(memcmp(there, model, sizeof model) == 0);
    }
    OK(LAPI_Gfence(hndl));
}

/* From the other task's pieces of `there` to pieces of `here`. */
static void get(lapi_vec_t *org_vec, lapi_vec_t *tgt_vec)
{
    OK(LAPI_Gfence(hndl));
    memset(here, 0xee, sizeof here);
    for (ulong i = 0; i < sizeof there; i++)
        there[i] = i * 7 + (i >> 8);
    OK(LAPI_Gfence(hndl));
    if (me == 0) {
        ulong n = flat(tgt_vec, 0, 0, from_bytes), m = flat(org_vec, here, model, to_bytes);
        CHECK(n == m);
        memset(model, 0xee, sizeof model);
        for (ulong i = 0; i < n; i++)
            *to_bytes[i] = *from_bytes[i];
        move_to(tgt_vec, boxes[other]);
        OK(LAPI_Getv(hndl, other, tgt_vec, org_vec, counters[other], &org));
        if (n % 2)
            OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
        else
            OK(LAPI_Fence(hndl)); /* The fence covers it as well. */
        CHECK(memcmp(here, model, sizeof model) == 0);
        if (n % 2 == 0)
            OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
    } else {
        OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
    }
    OK(LAPI_Gfence(hndl));
}

static void bad_vectors(void)
{
    lapi_vec_t a = vecs[0], b = vecs[1];
    void *ia[3] = {here, here, here}, *ib[3] = {there, there, there};
    ulong la[3] = {8, 8, 8}, lb[3] = {8, 8, 8};
    a = (lapi_vec_t){LAPI_GEN_IOVECTOR, 3, ia, la};
    b = (lapi_vec_t){LAPI_GEN_IOVECTOR, 3, ib, lb};
#define ORIGIN(code) \
    do { \
        GIVES(code, LAPI_Amsendv(hndl, me, handlers[me], NULL, 0, &a, NULL, NULL, NULL)); \
        GIVES(code, LAPI_Putv(hndl, me, &b, &a, NULL, NULL, NULL)); \
        GIVES(code, LAPI_Getv(hndl, me, &b, &a, NULL, NULL)); \
    } while (0)
#define BOTH(code) \
    do { \
        GIVES(code, LAPI_Putv(hndl, me, &b, &a, NULL, NULL, NULL)); \
        GIVES(code, LAPI_Getv(hndl, me, &b, &a, NULL, NULL)); \
    } while (0)
    GIVES(LAPI_ERR_ORG_VEC_NULL, LAPI_Amsendv(hndl, me, handlers[me], NULL, 0, NULL, NULL, NULL, NULL));
    GIVES(LAPI_ERR_ORG_VEC_NULL, LAPI_Putv(hndl, me, &b, NULL, NULL, NULL, NULL));
    GIVES(LAPI_ERR_ORG_VEC_NULL, LAPI_Getv(hndl, me, &b, NULL, NULL, NULL));
    GIVES(LAPI_ERR_TGT_VEC_NULL, LAPI_Putv(hndl, me, NULL, &a, NULL, NULL, NULL));
    GIVES(LAPI_ERR_TGT_VEC_NULL, LAPI_Getv(hndl, me, NULL, &a, NULL, NULL));
    GIVES(LAPI_ERR_TGT, LAPI_Putv(hndl, tasks, &b, &a, NULL, NULL, NULL));
    GIVES(LAPI_ERR_TGT, LAPI_Getv(hndl, tasks, &b, &a, NULL, NULL));
    GIVES(LAPI_ERR_TGT, LAPI_Amsendv(hndl, tasks, handlers[me], NULL, 0, &a, NULL, NULL, NULL));
    GIVES(LAPI_ERR_UHDR_NULL, LAPI_Amsendv(hndl, me, handlers[me], NULL, 8, &a, NULL, NULL, NULL));
    GIVES(LAPI_ERR_UHDR_LEN, LAPI_Amsendv(hndl, me, handlers[me], here, 4096, &a, NULL, NULL, NULL));
    GIVES(LAPI_ERR_HDR_LEN, LAPI_Amsendv(hndl, me, handlers[me], here, 7, &a, NULL, NULL, NULL));
    GIVES(LAPI_ERR_HDR_HNDLR_NULL, LAPI_Amsendv(hndl, me, NULL, NULL, 0, &a, NULL, NULL, NULL));

    a.vec_type = (lapi_vectype_t)9;
    ORIGIN(LAPI_ERR_ORG_VEC_TYPE);
    a.vec_type = LAPI_GEN_GENERIC;
    BOTH(LAPI_ERR_ORG_VEC_TYPE);
    a.vec_type = LAPI_GEN_IOVECTOR;
    b.vec_type = LAPI_GEN_GENERIC;
    BOTH(LAPI_ERR_TGT_VEC_TYPE);
    b.vec_type = LAPI_GEN_STRIDED_XFER;
    BOTH(LAPI_ERR_VEC_TYPE_DIFF);
    b.vec_type = LAPI_GEN_IOVECTOR;
    b.num_vecs = 2;
    BOTH(LAPI_ERR_VEC_NUM_DIFF);
    b.num_vecs = 3;
    lb[1] = 9;
    BOTH(LAPI_ERR_VEC_LEN_DIFF);
    lb[1] = 8;
    ia[2] = NULL;
    ORIGIN(LAPI_ERR_ORG_VEC_ADDR);
    ia[2] = here;
    ib[2] = NULL;
    BOTH(LAPI_ERR_TGT_VEC_ADDR);
    ib[2] = there;
    la[0] = lb[0] = LAPI_MAX_MSG_SZ - 8;
    ORIGIN(LAPI_ERR_ORG_VEC_LEN);
    la[0] = 8;
    BOTH(LAPI_ERR_TGT_VEC_LEN);
    lb[0] = 8;

    a = (lapi_vec_t){LAPI_GEN_STRIDED_XFER, 3, ia, NULL};
    b = (lapi_vec_t){LAPI_GEN_STRIDED_XFER, 3, ib, NULL};
    ia[1] = ib[1] = (void *)8;
    ia[2] = ib[2] = (void *)16;
    ia[0] = NULL;
    ORIGIN(LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL);
    ia[0] = here;
    ib[0] = NULL;
    BOTH(LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL);
    ib[0] = there;
    ia[2] = (void *)7;
    ORIGIN(LAPI_ERR_ORG_STRIDE);
    ia[2] = (void *)16;
    ib[2] = (void *)7;
    BOTH(LAPI_ERR_TGT_STRIDE);
    ib[2] = (void *)16;
    ia[2] = (void *)(LAPI_MAX_MSG_SZ / 2);
    ORIGIN(LAPI_ERR_ORG_EXTENT);
    ia[2] = (void *)16;
    ib[2] = (void *)(LAPI_MAX_MSG_SZ / 2);
    BOTH(LAPI_ERR_TGT_EXTENT);
    ib[2] = (void *)16;
    ib[1] = (void *)9;
    BOTH(LAPI_ERR_VEC_LEN_DIFF);
}

static int in_one_packet;
static ulong told_length;

static lapi_vec_t *measure(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong **len_vec, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)info;
    CHECK(*uhdr_len == 12);
    *done = NULL;
    in_one_packet = ((lapi_return_info_t *)len_vec)->udata_one_pkt_ptr != NULL;
    told_length = (*len_vec)[0];
    return answer_vec;
}

/* A packet holds as much of a vector of one block, or of equal ones, as of other data; not of a list of lengths as well. */
static void fill_packets(void)
{
    enum { BLOCKS = 4 };
    int packet;
    OK(LAPI_Qenv(hndl, MAX_PKT_SZ, &packet));
    ulong most = packet - 12, block = most / BLOCKS;
    CHECK(most < BYTES / 2);
    void **measures = exchange((void *)measure);
    for (int shape = 0; shape < 4; shape++) {
        lapi_vec_t *ends[] = {&vecs[0], &vecs[1]};
        for (int end = 0; end < 2; end++) {
            unsigned char *base = end ? there : here;
            ends[end]->vec_type = shape == 2 ? LAPI_GEN_STRIDED_XFER : shape == 1 ? LAPI_GEN_GENERIC : LAPI_GEN_IOVECTOR;
            ends[end]->num_vecs = shape < 2 ? 1 : BLOCKS;
            for (int i = 0; i < BLOCKS; i++) {
                ends[end]->info[i] = base + 2 * i * block;
                ends[end]->len[i] = shape < 2 ? most : block;
            }
            if (shape == 2)
                strided(ends[end], base, BLOCKS, block, 2 * block);
        }
        OK(LAPI_Gfence(hndl));
        memset(there, 0xee, sizeof there);
        answer_vec = &vecs[1];
        OK(LAPI_Gfence(hndl));
        if (me == 0) {
            OK(LAPI_Amsendv(hndl, other, measures[other], "twelve bytes", 12, &vecs[0], counters[other], &org, &cmpl));
            settle();
        } else {
            OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
            CHECK(told_length == (shape < 2 ? most : block));
            CHECK(in_one_packet == (shape < 3));
            expect(&vecs[0], &vecs[1], there);
            CHECK(memcmp(there, model, sizeof model) == 0);
        }
        OK(LAPI_Gfence(hndl));
    }
    free(measures);
}

int main(void)
{
    start();
    CHECK(tasks == 2);
    other = 1 - me;
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    counters = exchange(&tgt);
    boxes = exchange(there);
    handlers = exchange((void *)header);
    for (ulong i = 0; i < sizeof here; i++)
        here[i] = i * 31 + (i >> 8);

    static const struct { int n; uint longest; } lists[] = {{1, 10}, {3, 40}, {7, 5000}, {20, 20000}, {200, 90}, {3000, 30}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        list(&vecs[0], here, lists[i].n, lists[i].longest, NULL);
        list(&vecs[1], there, lists[i].n, lists[i].longest, &vecs[0]);
        am(&vecs[0], &vecs[1]);
        put(&vecs[0], &vecs[1]);
        /* Generic: the other side need not match; it may be shorter or longer. */
        for (int k = 0; k < 3; k++) {
            list(&vecs[1], there, 1 + any(lists[i].n * 2 < MOST ? lists[i].n * 2 : MOST), lists[i].longest * 3 / (k + 1) % 200, NULL);
            vecs[0].vec_type = vecs[1].vec_type = LAPI_GEN_GENERIC;
            am(&vecs[0], &vecs[1]);
        }
    }
    static const struct { int n; ulong block, from, to; } strides[] = {{1, 8, 8, 8}, {3, 5, 8, 11}, {100, 64, 64, 100}, {64, 10000, 10001, 12000}, {5000, 1, 2, 200}, {0, 8, 8, 8}};
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        strided(&vecs[0], here, strides[i].n, strides[i].block, strides[i].from);
        strided(&vecs[1], there, strides[i].n, strides[i].block, strides[i].to);
        am(&vecs[0], &vecs[1]);
        put(&vecs[0], &vecs[1]);
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        list(&vecs[0], here, lists[i].n, lists[i].longest, NULL);
        list(&vecs[1], there, lists[i].n, lists[i].longest, &vecs[0]);
        get(&vecs[0], &vecs[1]);
    }
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        strided(&vecs[0], here, strides[i].n, strides[i].block, strides[i].from);
        strided(&vecs[1], there, strides[i].n, strides[i].block, strides[i].to);
        get(&vecs[0], &vecs[1]);
    }
    CHECK(me == 0 || lengths_seen == 6);
    fill_packets();

    OK(LAPI_Senv(hndl, ERROR_CHK, 1));
    bad_vectors();
    finish();
    return 0;
}
