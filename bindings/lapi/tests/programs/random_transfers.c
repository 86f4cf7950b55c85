/*
 * Random operations of two threads of each task on memory of all: every kind of transfer, of all lengths, with and
 * without counters and completion handlers, between fences and changes of interrupt mode. All data are compared, and tasks
 * purge each other between phases.
 * Arguments: seed, phases, operations of a thread in each phase.
 * tasks: 3
 */
#include "random.h"

#define OPEN 24      /* operations of a worker at a time */
#define PIECES 9     /* of a vector */

enum kind { PUT, GET, AM, PUTV, GETV, AMV, XFER_PUT, XFER_AM, XFER_GET, KINDS };

/* What a message says: where the data belong, and whom to tell that they have come. */
struct header {
    uint worker, slot_at, len, wants_reply;
    uint pieces;
    uint at[PIECES], piece[PIECES];
};

struct operation {
    int used;
    enum kind kind;
    uint tgt, slot;
    ulong len, at;
    unsigned char *buffer; /* at the origin, given back when the operation lets it go */
    lapi_cntr_t org, cmpl;
    int has_org, has_cmpl, org_done;
    volatile int told;
};

struct worker {
    uint number; /* among the workers of this task */
    uint64_t random;
    struct operation ops[OPEN];
    unsigned char **shadow; /* what this worker's area holds at each task */
    int (*busy)[SLOTS];     /* operations on a slot, by task */
    long long *added;       /* to the sum at each task */
    uint replies_wanted;
    lapi_cntr_t replies;
};

static struct worker workers[WORKERS];
static unsigned char *memory;
static long long sum;
static void **memories, **sums, **headers, **vector_headers, **reply_counters[WORKERS];

/* A reply is an empty put that counts. */
struct reply {
    uint src, worker;
};

static void answer(lapi_handle_t *h, void *info)
{
    struct reply *reply = info;
    OK(LAPI_Put(*h, reply->src, 0, NULL, NULL, reply_counters[reply->worker][reply->src], NULL, NULL));
    free(reply);
}

static void prepare_answer(const struct header *head, uint src, compl_hndlr_t **done, void **info)
{
    *done = NULL;
    if (!head->wants_reply)
        return;
    struct reply *reply = malloc(sizeof *reply);
    reply->src = src;
    reply->worker = head->worker;
    *done = answer;
    *info = reply;
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h;
    struct header head;
    lapi_return_info_t *ret = (lapi_return_info_t *)msg_len;
    CHECK(*uhdr_len == sizeof head);
    memcpy(&head, uhdr, sizeof head);
    CHECK(ret->msg_len == head.len);
    uint src = ret->src;
    prepare_answer(&head, src, done, info);
    unsigned char *to = memory + area_of(src, head.worker) + head.slot_at;
    if (ret->udata_one_pkt_ptr && head.len % 3 == 0) {
        memcpy(to, ret->udata_one_pkt_ptr, head.len);
        ret->ctl_flags = LAPI_BURY_MSG;
        return NULL;
    }
    if (head.len % 3 == 1)
        ret->ret_flags = LAPI_LOCAL_STATE;
    return to;
}

static lapi_vec_t *vector_header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong **lens, compl_hndlr_t **done, void **info)
{
    (void)h, (void)lens;
    static __thread void *infos[PIECES];
    static __thread ulong sizes[PIECES];
    static __thread lapi_vec_t vec = {LAPI_GEN_IOVECTOR, 0, NULL, NULL};
    struct header head;
    CHECK(*uhdr_len == sizeof head);
    memcpy(&head, uhdr, sizeof head);
    uint src = head.len;
    prepare_answer(&head, src, done, info);
    vec.num_vecs = head.pieces;
    vec.info = infos;
    vec.len = sizes;
    for (uint i = 0; i < head.pieces; i++) {
        infos[i] = memory + area_of(src, head.worker) + head.at[i];
        sizes[i] = head.piece[i];
    }
    return &vec;
}

/* The buffer at the origin is free, and full if the operation was a get. */
static void let_go(struct worker *w, struct operation *op)
{
    int get = op->kind == GET || op->kind == GETV || op->kind == XFER_GET;
    if (get && memcmp(op->buffer, w->shadow[op->tgt] + op->at, op->len) != 0) {
        ulong i = 0;
        while (op->buffer[i] == w->shadow[op->tgt][op->at + i])
            i++;
        fprintf(stderr, "task %d worker %u: kind %d of %lu bytes from task %u slot %u: byte %lu is %u\n", me, w->number,
                op->kind, op->len, op->tgt, op->slot, i, op->buffer[i]);
        CHECK(!"what was fetched is what was put");
    }
    memset(op->buffer, SCRIBBLE, op->len);
    free(op->buffer);
    op->buffer = NULL;
    op->org_done = 1;
}

static int looks_done(struct operation *op)
{
    if (!op->org_done) {
        int done = op->has_org ? value_of(&op->org) : __atomic_load_n(&op->told, __ATOMIC_ACQUIRE);
        if (!done)
            return 0;
    }
    return 1;
}

/* Ends an operation if it has ended. */
static int reap(struct worker *w, struct operation *op)
{
    if (!op->used)
        return 1;
    if (!op->org_done) {
        if (!looks_done(op))
            return 0;
        let_go(w, op);
    }
    if (op->has_cmpl && !value_of(&op->cmpl))
        return 0;
    w->busy[op->tgt][op->slot]--;
    op->used = 0;
    return 1;
}

/* Waits for an operation, in one of the ways there are. */
static void await(struct worker *w, struct operation *op)
{
    if (op->used && !op->org_done && op->has_org && chance(&w->random, 50)) {
        OK(LAPI_Waitcntr(hndl, &op->org, 1, NULL));
        let_go(w, op);
    }
    if (op->used && op->org_done && op->has_cmpl && chance(&w->random, 50)) {
        OK(LAPI_Waitcntr(hndl, &op->cmpl, 1, NULL));
        op->has_cmpl = 0;
    }
    while (!reap(w, op))
        OK(LAPI_Probe(hndl));
}

static void await_all(struct worker *w)
{
    for (int i = 0; i < OPEN; i++)
        await(w, &w->ops[i]);
}

static void begin(struct worker *w, struct operation *op)
{
    uint tgt = any(&w->random, tasks), slot = any_slot(&w->random);
    if (w->busy[tgt][slot])
        return;
    ulong most = slot_size[slot];
    ulong len = chance(&w->random, 5) ? 0 : chance(&w->random, 30) ? most : any(&w->random, (uint)most + 1);
    ulong at = offset_of(slot) + any(&w->random, (uint)(most - len) + 1);
    memset(op, 0, sizeof *op);
    op->used = 1;
    op->kind = any(&w->random, KINDS);
    op->tgt = tgt;
    op->slot = slot;
    op->len = len;
    op->at = at;
    op->buffer = malloc(len + 1);
    op->has_org = 1;
    OK(LAPI_Setcntr(hndl, &op->org, 0));
    OK(LAPI_Setcntr(hndl, &op->cmpl, 0));
    w->busy[tgt][slot]++;
    unsigned char *remote = (unsigned char *)memories[tgt] + area_of(me, w->number) + at;
    int get = op->kind == GET || op->kind == GETV || op->kind == XFER_GET;
    if (!get) {
        fill(&w->random, op->buffer, len);
        memcpy(w->shadow[tgt] + at, op->buffer, len);
        op->has_cmpl = 1;
    }
    struct header head = {.worker = w->number, .slot_at = (uint)at, .len = (uint)len, .wants_reply = chance(&w->random, 30)};
    if (op->kind == AM || op->kind == AMV || op->kind == XFER_AM)
        w->replies_wanted += head.wants_reply;
    ulong sizes[PIECES];
    void *here[PIECES], *there[PIECES];
    lapi_vec_t from = {LAPI_GEN_IOVECTOR, 0, here, sizes}, to = {LAPI_GEN_IOVECTOR, 0, there, sizes};
    if (op->kind == PUTV || op->kind == GETV || op->kind == AMV) {
        ulong sum_of_sizes = 0;
        from.num_vecs = to.num_vecs = head.pieces = cut(&w->random, len, PIECES, sizes);
        for (uint i = 0; i < head.pieces; i++) {
            here[i] = op->buffer + sum_of_sizes;
            there[i] = remote + sum_of_sizes;
            head.at[i] = (uint)(at + sum_of_sizes);
            head.piece[i] = (uint)sizes[i];
            sum_of_sizes += sizes[i];
        }
    }
    lapi_xfer_t xfer;
    memset(&xfer, 0, sizeof xfer);
    switch (op->kind) {
    case PUT:
        OK(LAPI_Put(hndl, tgt, len, remote, op->buffer, NULL, &op->org, &op->cmpl));
        break;
    case GET:
        OK(LAPI_Get(hndl, tgt, len, remote, op->buffer, NULL, &op->org));
        break;
    case AM:
        OK(LAPI_Amsend(hndl, tgt, headers[tgt], &head, sizeof head, op->buffer, len, NULL, &op->org, &op->cmpl));
        break;
    case PUTV:
        OK(LAPI_Putv(hndl, tgt, &to, &from, NULL, &op->org, &op->cmpl));
        break;
    case GETV:
        OK(LAPI_Getv(hndl, tgt, &to, &from, NULL, &op->org));
        break;
    case AMV:
        head.len = (uint)me;
        OK(LAPI_Amsendv(hndl, tgt, vector_headers[tgt], &head, sizeof head, &from, NULL, &op->org, &op->cmpl));
        break;
    case XFER_PUT:
        op->has_org = 0;
        xfer.Put = (lapi_put_t){.Xfer_type = LAPI_PUT_XFER, .tgt = tgt, .tgt_addr = (lapi_long_t)remote,
                                .org_addr = op->buffer, .len = len, .shdlr = sent, .sinfo = (void *)&op->told,
                                .cmpl_cntr = &op->cmpl};
        OK(LAPI_Xfer(hndl, &xfer));
        break;
    case XFER_AM:
        op->has_org = 0;
        xfer.Am = (lapi_am_t){.Xfer_type = LAPI_AM_XFER, .tgt = tgt, .hdr_hdl = (lapi_long_t)headers[tgt],
                              .uhdr = &head, .uhdr_len = sizeof head, .udata = op->buffer, .udata_len = len,
                              .shdlr = sent, .sinfo = (void *)&op->told, .cmpl_cntr = &op->cmpl};
        OK(LAPI_Xfer(hndl, &xfer));
        break;
    case XFER_GET:
        op->has_org = 0;
        xfer.Get = (lapi_get_t){.Xfer_type = LAPI_GET_XFER, .tgt = tgt, .tgt_addr = (lapi_long_t)remote,
                                .org_addr = op->buffer, .len = len, .chndlr = fetched, .cinfo = (void *)&op->told};
        OK(LAPI_Xfer(hndl, &xfer));
        break;
    default:
        CHECK(!"a kind");
    }
}

static void add(struct worker *w)
{
    uint tgt = any(&w->random, tasks);
    long long by = any(&w->random, 1000), before;
    lapi_cntr_t org;
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Rmw64(hndl, FETCH_AND_ADD, tgt, sums[tgt], &by, &before, &org));
    OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
    CHECK(before >= 0);
    w->added[tgt] += by;
}

static void turn(struct worker *w)
{
    uint what = any(&w->random, 100);
    struct operation *op = &w->ops[any(&w->random, OPEN)];
    if (what < 60) {
        await(w, op);
        begin(w, op);
    } else if (what < 75) {
        reap(w, op);
    } else if (what < 85) {
        add(w);
    } else {
        do_something_else(&w->random);
    }
}

static void *work(void *argument)
{
    struct worker *w = argument;
    for (int i = 0; i < operations; i++)
        turn(w);
    await_all(w);
    OK(LAPI_Waitcntr(hndl, &w->replies, (int)w->replies_wanted, NULL));
    w->replies_wanted = 0;
    return NULL;
}

/* Everything that this task's workers have written anywhere, and the sum here. */
static void compare(void)
{
    unsigned char *all = malloc(AREA);
    for (int t = 0; t < tasks; t++)
        for (uint i = 0; i < WORKERS; i++) {
            lapi_cntr_t org;
            OK(LAPI_Setcntr(hndl, &org, 0));
            OK(LAPI_Get(hndl, t, AREA, (unsigned char *)memories[t] + area_of(me, i), all, NULL, &org));
            OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
            CHECK(memcmp(all, workers[i].shadow[t], AREA) == 0);
        }
    free(all);
    static long long totals[1024];
    void **places = exchange(totals);
    for (int t = 0; t < tasks; t++) {
        lapi_cntr_t cmpl;
        long long mine = 0;
        for (uint i = 0; i < WORKERS; i++)
            mine += workers[i].added[t];
        OK(LAPI_Setcntr(hndl, &cmpl, 0));
        OK(LAPI_Put(hndl, t, sizeof mine, (long long *)places[t] + me, &mine, NULL, NULL, &cmpl));
        OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    }
    OK(LAPI_Gfence(hndl));
    long long total = 0;
    for (int t = 0; t < tasks; t++)
        total += totals[t];
    CHECK(total == sum);
    free(places);
    OK(LAPI_Gfence(hndl));
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    start();
    memory = calloc((ulong)tasks * WORKERS, AREA);
    memories = exchange(memory);
    sums = exchange(&sum);
    headers = exchange((void *)header);
    vector_headers = exchange((void *)vector_header);
    for (uint i = 0; i < WORKERS; i++) {
        struct worker *w = &workers[i];
        w->number = i;
        w->random = numbers_of((uint)me * WORKERS + i);
        w->shadow = malloc(tasks * sizeof *w->shadow);
        w->busy = calloc(tasks, sizeof *w->busy);
        w->added = calloc(tasks, sizeof *w->added);
        for (int t = 0; t < tasks; t++)
            w->shadow[t] = calloc(1, AREA);
        OK(LAPI_Setcntr(hndl, &w->replies, 0));
        reply_counters[i] = exchange(&w->replies);
    }
    OK(LAPI_Gfence(hndl));
    for (int phase = 0; phase < phases; phase++) {
        run_workers(work, workers, sizeof workers[0]);
        OK(LAPI_Gfence(hndl));
        compare();
        purge_some();
    }
    finish();
    return 0;
}
