/*
 * Random layouts against lists of bytes: both tasks draw the same layouts from the same numbers, so that each knows what the
 * other sends and where it must land. Arguments: rounds, seed.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Xfer, table 26
//= LAPI Guide, LAPI_Xfer, scatter-side DGSP processing
//= LAPI Guide, Using data gather/scatter programs (DGSPs), a DGSP is reinterpreted as many times as needed
//= type=test
#include "program.h"

enum { MEMORY = 1 << 20, LONGEST = 150000, MOST = 3000 };
static unsigned char from[MEMORY], to[MEMORY], shadow[MEMORY];
static lapi_cntr_t tgt, cmpl;
static unsigned long long state;

static ulong draw(ulong below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/* A layout with one application's bytes, in order. */
struct layout {
    struct program program;
    long offsets[MOST];
    int n;
    long extent;
};

static void note(struct layout *l, long base, long offset, long bytes)
{
    for (long i = 0; i < bytes; i++) {
        CHECK(l->n < MOST);
        l->offsets[l->n++] = base + offset + i;
    }
}

/* Instructions of a body: what one run of it moves is added to `list` relative to its base. */
static void body(struct layout *l, int level, int start, long *list, int *n)
{
    struct program *p = &l->program;
    lapi_dgsm_gosub_t *calls[4];
    int called = 0;
    struct { long reps, offset, stride; int at; } later[4];
    for (int parts = 1 + (int)draw(3); parts > 0; parts--) {
        int kind = (int)draw(level < 3 ? 4 : 2);
        if (kind == 0) {
            long bytes = (long)draw(9), offset = (long)draw(200) - 100;
            copy(p, offset, bytes);
            for (long i = 0; i < bytes; i++)
                list[(*n)++] = offset + i;
        } else if (kind == 1) {
            int count = 1 + (int)draw(4);
            lapi_dgsm_block_t *blocks = mcopy(p, count);
            for (int b = 0; b < count; b++) {
                blocks[b].block_len = (long)draw(6);
                blocks[b].block_disp = (long)draw(300) - 150;
                for (long i = 0; i < blocks[b].block_len; i++)
                    list[(*n)++] = blocks[b].block_disp + i;
            }
        } else if (called < 4) {
            later[called].reps = (long)draw(5);
            later[called].offset = (long)draw(400) - 200;
            later[called].stride = (long)draw(120) - 60;
            later[called].at = *n;
            calls[called] = gosub(p, later[called].reps, later[called].offset, later[called].stride);
            called++;
        }
    }
    iterate(p, start);
    /* Routines follow their callers; their bytes go where the call stood. */
    for (int c = called - 1; c >= 0; c--) {
        static long lists[4][MOST];
        long *inner = lists[level];
        int m = 0;
        routine_of(p, calls[c]);
        body(l, level + 1, p->descr.code_size, inner, &m);
        long more = m * later[c].reps;
        if (*n + more > MOST / 2) {
            calls[c]->reps = 0;
            continue;
        }
        memmove(list + later[c].at + more, list + later[c].at, (*n - later[c].at) * sizeof *list);
        for (long r = 0; r < later[c].reps; r++)
            for (int i = 0; i < m; i++)
                list[later[c].at + r * m + i] = later[c].offset + r * later[c].stride + inner[i];
        *n += (int)more;
    }
}

static void draw_layout(struct layout *l, int disjoint)
{
    static long list[MOST];
    for (;;) {
        int n = 0;
        l->n = 0;
        describe(&l->program, 0, 0, 0, 0);
        l->program.descr.depth = 5;
        body(l, 0, 0, list, &n);
        if (n == 0)
            continue;
        long lo = list[0], hi = list[0];
        for (int i = 0; i < n; i++) {
            lo = list[i] < lo ? list[i] : lo;
            hi = list[i] > hi ? list[i] : hi;
            note(l, 0, list[i], 1);
        }
        /* Where things land twice, the order of packets would decide: not at the target. */
        if (disjoint) {
            static int seen[20000];
            static int round;
            int twice = 0;
            round++;
            for (int i = 0; i < n; i++) {
                CHECK(list[i] + 10000 > 0 && list[i] + 10000 < 20000);
                twice |= seen[list[i] + 10000] == round;
                seen[list[i] + 10000] = round;
            }
            if (twice)
                continue;
        }
        l->extent = disjoint ? (hi - lo + 1 + (long)draw(20)) * (draw(2) ? 1 : -1) : (long)draw(600) - 300;
        l->program.descr.size = n;
        l->program.descr.extent = l->extent;
        l->program.descr.lext = lo;
        l->program.descr.rext = hi + 1;
        return;
    }
}

static long offset_of(const struct layout *l, ulong i)
{
    return l->offsets[i % l->n] + (long)(i / l->n) * l->extent;
}

static lapi_dg_handle_t scatter;
static unsigned char *base;
static ulong wanted;

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **argument)
{
    lapi_return_info_t *info = (lapi_return_info_t *)msg_len;
    (void)h, (void)uhdr, (void)uhdr_len, (void)argument;
    *done = NULL;
    info->dgsp_handle = scatter;
    info->bytes = wanted;
    return base;
}

/* Where a buffer must begin so that the message fits the memory around it; the length is cut to what does. */
static unsigned char *place(const struct layout *l, unsigned char *memory, ulong *len)
{
    for (;;) {
        long lo = 0, hi = 0;
        for (ulong i = 0; i < *len; i++) {
            long at = offset_of(l, i);
            lo = at < lo ? at : lo;
            hi = at > hi ? at : hi;
        }
        if (hi - lo < MEMORY)
            return memory - lo;
        *len /= 2;
    }
}

int main(int argc, char **argv)
{
    static struct layout a, b;
    int rounds = argc > 1 ? atoi(argv[1]) : 60;
    state = argc > 2 ? strtoull(argv[2], NULL, 0) : 88172645463325252ULL;
    setenv("LAPI_VERIFY_DGSP", "yes", 1);
    start();
    int other = tasks == 1 ? me : 1 - me;
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    void **handlers = exchange((void *)header), **counters = exchange(&tgt);
    for (int round = 0; round < rounds; round++) {
        draw_layout(&a, 0);
        draw_layout(&b, 1);
        ulong len = draw(3) ? draw(3000) : draw(LONGEST);
        int atom = draw(4) == 0 ? 1 + (int)draw(64) : 0;
        a.program.descr.atom_size = atom;
        unsigned char *source;
        do {
            source = place(&a, from, &len);
            base = place(&b, to, &len);
        } while (place(&a, from, &len) != source);
        wanted = draw(3) == 0 ? draw(len + 1) : len;
        for (ulong i = 0; i < MEMORY; i++) {
            from[i] = (unsigned char)(i * 31 + i / 253 + me * 7 + round);
            shadow[i] = to[i] = (unsigned char)(i * 5 + round);
        }
        for (ulong i = 0; i < wanted; i++) {
            ulong there = source + offset_of(&a, i) - from;
            shadow[base + offset_of(&b, i) - to] = (unsigned char)(there * 31 + there / 253 + other * 7 + round);
        }
        lapi_dg_handle_t gather = registered(&a.program);
        scatter = registered(&b.program);
        OK(LAPI_Gfence(hndl));
        lapi_amdgsp_t c = {.Xfer_type = LAPI_DGSP_XFER, .tgt = other, .hdr_hdl = (lapi_long_t)(uintptr_t)handlers[other],
            .udata = source, .udata_len = len, .tgt_cntr = (lapi_long_t)(uintptr_t)counters[other], .cmpl_cntr = &cmpl,
            .dgsp = gather};
        OK(LAPI_Xfer(hndl, (lapi_xfer_t *)&c));
        OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
        OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
        for (ulong i = 0; i < MEMORY; i++) {
            if (to[i] != shadow[i]) {
                fprintf(stderr, "task %d: round %d, %lu bytes of which %lu wanted, atom %d: byte %lu is %d, not %d\n", me,
                    round, len, wanted, atom, i, to[i], shadow[i]);
                exit(3);
            }
        }
        OK(unreserve(hndl, gather));
        OK(unreserve(hndl, scatter));
        OK(LAPI_Gfence(hndl));
    }
    finish();
    return 0;
}
