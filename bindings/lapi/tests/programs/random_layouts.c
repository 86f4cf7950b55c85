/*
 * Random transfers of layouts and vectors, through LAPI_Xfer, by two threads of each task on memory of all: of the program's
 * own, registered, and of lapis_alloc, with hints about bulk transfer, messages that are refused at first, and all ways to
 * wait. Between phases all data and target counters are compared, and tasks purge each other and go on. Arguments: seed,
 * phases, operations of a thread in each phase.
 * tasks: 3
 */
#include "shapes.h"

#include <lapis.h>

#define OPEN 24     /* operations of a worker at a time */

enum kind { PUT, GET, AM, LIGHT, DGSP, PUTV, GETV, AMV, KINDS };
enum memory { OWN, REGISTERED, ALLOCATED, MEMORIES };

/* What a message says: where its data belong and what the handler is to do. */
struct header {
    uint worker, operation, slot;
    int layout; /* or FLAT */
    uint refusals;
    lapi_ret_flags_t run;
    lapi_vectype_t type;
    uint64_t lengths, places; /* of a vector */
    long at;                  /* in the slot */
    ulong len, wanted;
    ulong vector; /* how long one is drawn */
    lapi_long_t reply_to; /* a counter, or 0 */
};

struct operation {
    int used, get, has_org, has_told, has_cmpl, has_reply, org_done;
    enum kind kind;
    uint tgt, slot;
    ulong len;
    enum memory memory; /* of the buffer at the origin */
    unsigned char *buffer, *expected;
    ulong room;
    lapi_cntr_t org, cmpl, reply;
    volatile int told;
};

struct worker {
    uint number; /* among the workers of this task */
    uint64_t random;
    struct operation ops[OPEN];
    unsigned char **shadow; /* what this worker's area holds at each task */
    int (*busy)[SLOTS];     /* operations on a slot, by task */
    int *counted;           /* how often target counters were named, by task */
};

static struct worker workers[WORKERS];
static unsigned char *memory[MEMORIES];
static void **memories[MEMORIES], **headers, **vector_headers, **counters, **counts;
static lapi_cntr_t *arrived; /* of each worker of each task */
static int *expected_to_arrive;
static unsigned char *refused;

static ulong place_of(uint owner, uint worker, uint slot)
{
    return area_of(owner, worker) + offset_of(slot);
}

static void answer(lapi_handle_t *h, void *info)
{
    struct header *head = info;
    OK(LAPI_Put(*h, head->operation, 0, NULL, NULL, (lapi_cntr_t *)(uintptr_t)head->reply_to, NULL, NULL));
    free(head);
}

/* Whether a message is still to be refused. What all messages want is prepared if not. */
static int refuses(const struct header *head, lapi_return_info_t *back, compl_hndlr_t **done, void **info)
{
    unsigned char *times = &refused[((uint)back->src * WORKERS + head->worker) * OPEN + head->operation];
    *done = NULL;
    if (*times < head->refusals) {
        ++*times;
        back->ctl_flags = LAPI_DROP_PKT;
        return 1;
    }
    *times = 0;
    back->ret_flags = head->run;
    if (head->reply_to) {
        struct header *kept = memcpy(malloc(sizeof *head), head, sizeof *head);
        kept->operation = (uint)back->src;
        *done = answer;
        *info = kept;
    }
    return 0;
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    struct header head;
    lapi_return_info_t *back = (lapi_return_info_t *)msg_len;
    CHECK(*h == hndl && *uhdr_len == sizeof head);
    memcpy(&head, uhdr, sizeof head);
    CHECK(back->msg_len == head.len);
    if (refuses(&head, back, done, info))
        return NULL;
    unsigned char *to = memory[head.slot % MEMORIES] + place_of((uint)back->src, head.worker, head.slot) + head.at;
    if (head.layout != FLAT) {
        back->dgsp_handle = layouts[head.layout].handle;
        back->bytes = head.wanted;
    } else if (back->udata_one_pkt_ptr && head.len % 3 == 0) {
        memcpy(to, back->udata_one_pkt_ptr, head.len);
        back->ctl_flags = LAPI_BURY_MSG;
    }
    return to;
}

static lapi_vec_t *vector_header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong **lens, compl_hndlr_t **done, void **info)
{
    static __thread lapi_vec_t vec;
    struct header head;
    struct shape shape;
    lapi_return_info_t *back = (lapi_return_info_t *)lens;
    CHECK(*h == hndl && *uhdr_len == sizeof head);
    memcpy(&head, uhdr, sizeof head);
    CHECK(back->bytes == head.len);
    if (refuses(&head, back, done, info))
        return NULL;
    free(vec.info);
    free(vec.len);
    draw_vector(head.lengths, head.places, head.type, head.vector, &shape);
    unsigned char *to = memory[head.slot % MEMORIES] + place_of((uint)back->src, head.worker, head.slot) + head.at;
    vec = vector_of(&shape, head.type, to);
    free(shape.block);
    return &vec;
}

static void take_buffer(struct worker *w, struct operation *op, ulong room)
{
    void *memory = NULL;
    op->room = room;
    op->memory = chance(&w->random, 80) ? OWN : any(&w->random, MEMORIES);
    if (op->memory == ALLOCATED)
        OK(lapis_alloc(hndl, room + 1, &memory));
    else
        memory = malloc(room + 1);
    if (op->memory == REGISTERED)
        OK(lapis_register(hndl, memory, room + 1));
    op->buffer = memset(memory, SCRIBBLE, room);
}

/* The buffer at the origin is free, and full if the operation was a get. */
static void let_go(struct worker *w, struct operation *op)
{
    if (op->get && memcmp(op->buffer, op->expected, op->room) != 0) {
        ulong i = 0;
        while (op->buffer[i] == op->expected[i])
            i++;
        fprintf(stderr, "task %d worker %u: kind %d of %lu bytes from task %u slot %u: byte %lu is %u, not %u\n", me,
                w->number, op->kind, op->len, op->tgt, op->slot, i, op->buffer[i], op->expected[i]);
        CHECK(!"what was fetched is what was put");
    }
    free(op->expected);
    memset(op->buffer, SCRIBBLE, op->room);
    if (op->memory == REGISTERED)
        OK(lapis_unregister(hndl, op->buffer));
    if (op->memory == ALLOCATED)
        OK(lapis_free(hndl, op->buffer));
    else
        free(op->buffer);
    op->org_done = 1;
}

static int has_left(struct operation *op)
{
    if (op->has_org && !value_of(&op->org))
        return 0;
    if (op->has_told && !__atomic_load_n(&op->told, __ATOMIC_ACQUIRE))
        return 0;
    return op->has_org || op->has_told;
}

/* Ends an operation if it has ended. A buffer of which nothing else is told is held until the data have arrived. */
static int reap(struct worker *w, struct operation *op)
{
    if (!op->used)
        return 1;
    if (!op->org_done && has_left(op))
        let_go(w, op);
    if ((op->has_org || op->has_told) && !op->org_done)
        return 0;
    if ((op->has_cmpl && !value_of(&op->cmpl)) || (op->has_reply && !value_of(&op->reply)))
        return 0;
    if (!op->org_done)
        let_go(w, op);
    w->busy[op->tgt][op->slot]--;
    op->used = 0;
    return 1;
}

static void await_counter(struct worker *w, lapi_cntr_t *counter)
{
    int left = -1;
    if (chance(&w->random, 30))
        OK(LAPI_Nopoll_wait(hndl, counter, 1, &left));
    else
        OK(LAPI_Waitcntr(hndl, counter, 1, &left));
    CHECK(left == 0);
    OK(LAPI_Setcntr(hndl, counter, 1));
}

/* Waits for an operation, in one of the ways there are. */
static void await(struct worker *w, struct operation *op)
{
    if (op->used && op->has_org && chance(&w->random, 30))
        await_counter(w, &op->org);
    if (op->used && op->has_cmpl && chance(&w->random, 30))
        await_counter(w, &op->cmpl);
    if (op->used && op->has_reply && chance(&w->random, 30))
        await_counter(w, &op->reply);
    int polls = chance(&w->random, 50);
    while (!reap(w, op)) {
        lapi_msg_info_t info;
        if (polls)
            OK(LAPI_Msgpoll(hndl, 1 + any(&w->random, 50), &info));
        else
            OK(LAPI_Probe(hndl));
    }
}

/* What is at the target before a get, or will be there after another transfer, and what is here. */
static void foresee(struct worker *w, struct operation *op, const struct sides *s, ulong wanted)
{
    unsigned char *bytes = malloc(s->len + 1);
    unsigned char *shadow = w->shadow[op->tgt] + offset_of(op->slot) + s->at_there;
    if (op->get) {
        op->expected = memcpy(malloc(op->room + 1), op->buffer, op->room);
        gather(s->there, shadow, s->len, bytes);
        scatter(s->here, bytes, s->len, op->expected + s->at_here);
    } else {
        fill(&w->random, bytes, s->len);
        scatter(s->here, bytes, s->len, op->buffer + s->at_here);
        scatter(s->there, bytes, wanted, shadow);
    }
    free(bytes);
}

/* What the origin will be told. Of a light message only what its reply tells. */
static void draw_notifications(struct worker *w, struct operation *op, int replies)
{
    int light = op->kind == LIGHT;
    op->has_org = op->get || (!light && chance(&w->random, 60));
    op->has_told = !light && chance(&w->random, 40);
    op->has_reply = replies && (light || chance(&w->random, 30));
    op->has_cmpl = !op->get && !light && (!op->has_reply || chance(&w->random, 70));
    OK(LAPI_Setcntr(hndl, &op->org, 0));
    OK(LAPI_Setcntr(hndl, &op->cmpl, 0));
    OK(LAPI_Setcntr(hndl, &op->reply, 0));
}

static lapi_long_t any_target_counter(struct worker *w, uint tgt)
{
    if (chance(&w->random, 50))
        return 0;
    w->counted[tgt]++;
    return (lapi_long_t)(uintptr_t)((lapi_cntr_t *)counters[tgt] + me * WORKERS + w->number);
}

static void transfer(struct worker *w, struct operation *op, struct sides *s, struct header *head)
{
    unsigned char *here = op->buffer + s->at_here;
    unsigned char *there = memories[op->slot % MEMORIES][op->tgt];
    there += place_of(me, w->number, op->slot) + s->at_there;
    lapi_long_t to = (lapi_long_t)(uintptr_t)there, counter = any_target_counter(w, op->tgt);
    lapi_long_t handler = (lapi_long_t)(uintptr_t)(op->kind == AMV ? vector_headers : headers)[op->tgt];
    lapi_cntr_t *org = op->has_org ? &op->org : NULL, *cmpl = op->has_cmpl ? &op->cmpl : NULL;
    scompl_hndlr_t *told = op->has_told ? sent : NULL;
    compl_hndlr_t *got = op->has_told ? fetched : NULL;
    void *flag = (void *)&op->told;
    int hints = (int)any(&w->random, 4) * LAPI_NOT_USE_BULK_XFER, narrow = chance(&w->random, 50);
    uint size = sizeof *head;
    lapi_xfer_t x;
    memset(&x, 0, sizeof x);
    lapi_vec_t from = {0}, into = {0};
    lapi_lvec_t wide = {0};
    if (s->here == &s->drawn[0]) {
        from = vector_of(s->here, s->type, here);
        into = vector_of(s->there, s->type, there);
        wide = (lapi_lvec_t){s->type, into.num_vecs, (lapi_long_t *)into.info, (lapi_long_t *)into.len};
    }
    void *vector = narrow ? (void *)&into : (void *)&wide;
    int kind_of_vector = hints | (narrow ? USE_TGT_VEC_TYPE : 0);
    lapi_dg_handle_t anew = NULL, layout = s->here->handle;
    if (op->kind == DGSP && chance(&w->random, 30))
        layout = anew = registered_anew(s->here);
    if (s->here->descr.density == LAPI_DGSM_UNIT && s->there == &flat && chance(&w->random, 50))
        hints |= BUFFER_BOTH_CONTIGUOUS;
    switch (op->kind) {
    case PUT:
        x.Put = (lapi_put_t){LAPI_PUT_XFER, hints, op->tgt, to, here, s->len, told, flag, counter, org, cmpl};
        break;
    case GET:
        x.Get = (lapi_get_t){LAPI_GET_XFER, hints, op->tgt, to, here, s->len, counter, org, got, flag};
        break;
    case AM:
    case LIGHT:
        x.Am = (lapi_am_t){op->kind == AM ? LAPI_AM_XFER : LAPI_AM_LW_XFER, hints, op->tgt, handler, size, head, here, s->len,
                           told, flag, counter, org, cmpl};
        break;
    case DGSP:
        x.Dgsp = (lapi_amdgsp_t){LAPI_DGSP_XFER, hints, op->tgt, handler, size, head, here, s->len, told, flag, counter, org,
                                 cmpl, layout, 0};
        break;
    case PUTV:
        x.Putv = (lapi_putv_t){LAPI_PUTV_XFER, kind_of_vector, op->tgt, told, flag, &from, vector, counter, org, cmpl};
        break;
    case GETV:
        x.Getv = (lapi_getv_t){LAPI_GETV_XFER, kind_of_vector, op->tgt, &from, vector, counter, org, got, flag};
        break;
    default:
        x.Amv = (lapi_amv_t){LAPI_AMV_XFER, hints, op->tgt, handler, size, head, told, flag, &from, counter, org, cmpl};
    }
    OK(LAPI_Xfer(hndl, &x));
    if (anew)
        OK(unreserve(hndl, anew));
    free(from.info);
    free(from.len);
    free(into.info);
    free(into.len);
    free(s->drawn[0].block);
    free(s->drawn[1].block);
}

static void begin(struct worker *w, struct operation *op)
{
    uint tgt = any(&w->random, tasks), slot = any_slot(&w->random);
    if (w->busy[tgt][slot])
        return;
    struct sides s;
    memset(op, 0, sizeof *op);
    op->used = 1;
    op->kind = any(&w->random, KINDS);
    op->get = op->kind == GET || op->kind == GETV;
    op->tgt = tgt;
    op->slot = slot;
    w->busy[tgt][slot]++;
    take_buffer(w, op, slot_size[slot]);
    int is_message = op->kind == AM || op->kind == LIGHT || op->kind == DGSP || op->kind == AMV;
    if (op->kind == PUTV || op->kind == GETV || op->kind == AMV)
        draw_vectors(&w->random, &s, op->kind == AMV, slot_size[slot]);
    else
        draw_layouts_of(&w->random, &s, op->kind == DGSP, is_message, slot_size[slot]);
    op->len = s.len;
    ulong wanted = s.layout != FLAT && chance(&w->random, 20) ? any(&w->random, (uint)s.len + 1) : s.len;
    foresee(w, op, &s, wanted);
    draw_notifications(w, op, is_message);
    lapi_ret_flags_t run = op->has_reply ? LAPI_SEND_REPLY : LAPI_LOCAL_STATE;
    struct header head = {.worker = w->number, .operation = (uint)(op - w->ops), .slot = slot, .layout = s.layout,
                          .refusals = chance(&w->random, 5) ? 1 + any(&w->random, 2) : 0,
                          .run = chance(&w->random, 50) ? LAPI_NORMAL : run, .type = s.type, .lengths = s.lengths[1],
                          .places = s.places[1], .at = s.at_there, .len = s.len, .wanted = wanted, .vector = s.vector,
                          .reply_to = op->has_reply ? (lapi_long_t)(uintptr_t)&op->reply : 0};
    transfer(w, op, &s, &head);
}

static void turn(struct worker *w)
{
    uint what = any(&w->random, 100);
    struct operation *op = &w->ops[any(&w->random, OPEN)];
    if (what < 65) {
        await(w, op);
        begin(w, op);
    } else if (what < 80) {
        reap(w, op);
    } else {
        do_something_else(&w->random);
    }
}

static void *work(void *argument)
{
    struct worker *w = argument;
    for (int i = 0; i < operations; i++)
        turn(w);
    for (int i = 0; i < OPEN; i++)
        await(w, &w->ops[i]);
    return NULL;
}

/* Everything that this task's workers have written anywhere. */
static void compare_data(void)
{
    unsigned char *all = malloc(slot_size[SLOTS - 1]);
    for (uint t = 0; t < (uint)tasks; t++)
        for (uint i = 0; i < WORKERS; i++)
            for (uint slot = 0; slot < SLOTS; slot++) {
                unsigned char *there = (unsigned char *)memories[slot % MEMORIES][t] + place_of(me, i, slot);
                lapi_cntr_t org;
                OK(LAPI_Setcntr(hndl, &org, 0));
                OK(LAPI_Get(hndl, t, slot_size[slot], there, all, NULL, &org));
                OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
                CHECK(memcmp(all, workers[i].shadow[t] + offset_of(slot), slot_size[slot]) == 0);
            }
    free(all);
}

/* Every target counter has counted as often as it was named. */
static void compare_counters(void)
{
    for (int t = 0; t < tasks; t++)
        for (uint i = 0; i < WORKERS; i++) {
            lapi_cntr_t cmpl;
            OK(LAPI_Setcntr(hndl, &cmpl, 0));
            OK(LAPI_Put(hndl, t, sizeof(int), (int *)counts[t] + me * WORKERS + i, &workers[i].counted[t], NULL, NULL, &cmpl));
            OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
            workers[i].counted[t] = 0;
        }
    OK(LAPI_Gfence(hndl));
    for (int i = 0; i < tasks * WORKERS; i++) {
        int left = 0;
        if (expected_to_arrive[i])
            OK(LAPI_Waitcntr(hndl, &arrived[i], expected_to_arrive[i], &left));
        CHECK(left == 0 && value_of(&arrived[i]) == 0);
    }
}

/* Memory of lapis_alloc is given back, and other memory taken. */
static void renew(void)
{
    OK(lapis_free(hndl, memory[ALLOCATED]));
    free(memories[ALLOCATED]);
    OK(lapis_alloc(hndl, (ulong)tasks * WORKERS * AREA, (void **)&memory[ALLOCATED]));
    memories[ALLOCATED] = exchange(memory[ALLOCATED]);
    for (uint i = 0; i < WORKERS; i++)
        for (int t = 0; t < tasks; t++)
            for (uint slot = ALLOCATED; slot < SLOTS; slot += MEMORIES)
                memset(workers[i].shadow[t] + offset_of(slot), 0, slot_size[slot]);
}

static void prepare(void)
{
    ulong all = (ulong)tasks * WORKERS * AREA;
    memory[OWN] = calloc(1, all);
    memory[REGISTERED] = calloc(1, all);
    OK(lapis_register(hndl, memory[REGISTERED], all));
    OK(lapis_alloc(hndl, all, (void **)&memory[ALLOCATED]));
    for (int i = 0; i < MEMORIES; i++)
        memories[i] = exchange(memory[i]);
    headers = exchange((void *)header);
    vector_headers = exchange((void *)vector_header);
    arrived = calloc(tasks * WORKERS, sizeof *arrived);
    expected_to_arrive = calloc(tasks * WORKERS, sizeof *expected_to_arrive);
    refused = calloc(tasks * WORKERS, OPEN);
    for (int i = 0; i < tasks * WORKERS; i++)
        OK(LAPI_Setcntr(hndl, &arrived[i], 0));
    counters = exchange(arrived);
    counts = exchange(expected_to_arrive);
    draw_layouts(&common);
    for (uint i = 0; i < WORKERS; i++) {
        struct worker *w = &workers[i];
        w->number = i;
        w->random = numbers_of((uint)me * WORKERS + i);
        w->shadow = malloc(tasks * sizeof *w->shadow);
        w->busy = calloc(tasks, sizeof *w->busy);
        w->counted = calloc(tasks, sizeof *w->counted);
        for (int t = 0; t < tasks; t++)
            w->shadow[t] = calloc(1, AREA);
    }
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    setenv("LAPI_VERIFY_DGSP", "yes", 1);
    start();
    prepare();
    OK(LAPI_Gfence(hndl));
    for (int phase = 0; phase < phases; phase++) {
        run_workers(work, workers, sizeof workers[0]);
        OK(LAPI_Gfence(hndl));
        compare_data();
        compare_counters();
        purge_some();
        if (chance(&common, 50))
            renew();
        OK(LAPI_Gfence(hndl));
    }
    finish();
    return 0;
}
