/*
 * lapis_bcastw, lapis_gatherw, lapis_scatterw, lapis_allgatherw and lapis_neighboursw in every form: each part in a layout of
 * its own, of lengths that differ, from nothing to more than the shared areas hold; members without layouts.
 * tasks: 3
 */
#include "parts.h"

#include "../programs/forms.h"

enum { MOST = 1 << 18, ALL = MEMBERS };
enum what { CAST, GATHER, SCATTER, ALLGATHER, NEIGHBOURS, WHATS };

static unsigned char from[MEMBERS][MOST], to[MEMBERS][MOST];

/* Parts of one side: whose they are, how long, where they begin, and in which layout. */
struct side {
    int count;
    int giver[MEMBERS], getter[MEMBERS];
    ulong bytes[MEMBERS], at[MEMBERS];
    lapi_dg_handle_t layouts[MEMBERS];
    lapis_edge_t edges[MEMBERS];
};

static void part(struct side *side, int giver, int getter, int other, int round, int shift)
{
    lapi_dg_handle_t all[] = {NULL, wide, odd};
    int at = side->count++;
    side->giver[at] = giver;
    side->getter[at] = getter;
    side->bytes[at] = length(giver, getter, round);
    side->at[at] = (ulong)at * MOST + (ulong)shift;
    side->layouts[at] = all[(me + at + shift + round) % 3];
    side->edges[at].rank = (uint)other;
    side->edges[at].start = side->at[at];
    side->edges[at].count = side->bytes[at];
}

static void plan(int what, int root, int round, struct side *give, struct side *get)
{
    int m, next = (me + 1) % tasks, before = (me + tasks - 1) % tasks;
    memset(give, 0, sizeof *give);
    memset(get, 0, sizeof *get);
    switch (what) {
    case CAST:
        part(me == root ? give : get, root, ALL, root, round, 0);
        break;
    case GATHER:
        part(give, me, root, root, round, 0);
        for (m = 0; me == root && m < tasks; m++)
            part(get, m, root, m, round, m);
        break;
    case SCATTER:
        for (m = 0; me == root && m < tasks; m++)
            part(give, root, m, m, round, m);
        part(get, root, me, root, round, 0);
        break;
    case ALLGATHER:
        part(give, me, ALL, me, round, 0);
        for (m = 0; m < tasks; m++)
            part(get, m, ALL, m, round, m);
        break;
    case NEIGHBOURS:
        part(give, me, next, next, round, 0);
        part(give, me, before, before, round, 2);
        part(get, before, me, before, round, 1);
        part(get, next, me, next, round, 3);
        break;
    }
}

static void fill(const struct side *give, int run)
{
    ulong i;
    int at;
    memset(from, GAP, sizeof from);
    memset(to, GAP, sizeof to);
    for (at = 0; at < give->count; at++)
        for (i = 0; i < give->bytes[at]; i++)
            (&from[0][0])[give->at[at] + place(give->layouts[at], i)] = byte_of(give->giver[at], give->getter[at], i, run);
}

static void check(const struct side *get, int run)
{
    ulong written = 0, expected = 0, i;
    int at;
    for (at = 0; at < get->count; at++)
        for (i = 0; i < get->bytes[at]; i++) {
            unsigned char is = (&to[0][0])[get->at[at] + place(get->layouts[at], i)];
            CHECK(is == byte_of(get->giver[at], get->getter[at], i, run));
            expected += is != GAP;
        }
    /* And nothing else was written. */
    for (i = 0; i < sizeof to; i++)
        written += (&to[0][0])[i] != GAP;
    CHECK(written == expected);
}

/* Calls, with the form's own end of the name and of the arguments. */
#define CALL(name, kind, ...) \
    do { \
        switch (kind) { \
        case WAITED: OK(lapis_##name(hndl, LAPIS_WORLD, __VA_ARGS__)); break; \
        case KEPT: OK(lapis_##name##_init(hndl, LAPIS_WORLD, __VA_ARGS__, request)); break; \
        default: OK(lapis_i##name(hndl, LAPIS_WORLD, __VA_ARGS__, request)); break; \
        } \
    } while (0)

static void call(int what, int root, const struct side *give, const struct side *get, lapis_request_t *request)
{
    struct side in = *give, out = *get;
    switch (what) {
    case CAST:
        if (me == root)
            CALL(bcastw, form, from, in.bytes[0], in.layouts[0], (uint)root);
        else
            CALL(bcastw, form, to, out.bytes[0], out.layouts[0], (uint)root);
        break;
    case GATHER:
        if (me == root)
            CALL(gatherw, form, from, in.bytes[0], in.layouts[0], to, out.bytes, out.at, out.layouts, (uint)root);
        else
            CALL(gatherw, form, from, in.bytes[0], in.layouts[0], NULL, NULL, NULL, NULL, (uint)root);
        break;
    case SCATTER:
        if (me == root)
            CALL(scatterw, form, from, in.bytes, in.at, in.layouts, to, out.bytes[0], out.layouts[0], (uint)root);
        else
            CALL(scatterw, form, NULL, NULL, NULL, NULL, to, out.bytes[0], out.layouts[0], (uint)root);
        break;
    case ALLGATHER:
        CALL(allgatherw, form, from, in.bytes[0], in.layouts[0], to, out.bytes, out.at, out.layouts);
        break;
    case NEIGHBOURS:
        CALL(neighboursw, form, from, (uint)in.count, in.edges, in.layouts, to, (uint)out.count, out.edges, out.layouts);
        break;
    }
    /* Lists may be forgotten when a call has returned. */
    memset(&in, 0xff, sizeof in);
    memset(&out, 0xff, sizeof out);
}

/* Each member in a form of its own; what is set up once carries other data each time. */
static void move(int what, int round)
{
    struct side give, get;
    lapis_request_t request = LAPIS_NO_REQUEST;
    int run, root = round % tasks;
    plan(what, root, round, &give, &get);
    form = (round + 2 * me) % FORMS;
    if (form == KEPT)
        call(what, root, &give, &get, &request);
    for (run = 0; run < 3; run++) {
        fill(&give, run);
        if (form == KEPT) {
            OK(lapis_start(hndl, &request));
            OK(lapis_wait(hndl, &request));
        } else {
            call(what, root, &give, &get, &request);
            if (form != WAITED)
                end(request);
        }
        check(&get, run);
    }
    if (form == KEPT)
        OK(lapis_request_free(hndl, &request));
}

/* Task 0 calls with plain bytes, and the others with layouts. */
static void meet(void)
{
    enum { BYTES = 1200 };
    ulong bytes[] = {BYTES, BYTES, BYTES}, at[] = {0, BYTES, 2 * BYTES}, i;
    lapi_dg_handle_t plain[] = {NULL, NULL, NULL};
    int m;
    memset(to, GAP, sizeof to);
    for (i = 0; i < BYTES; i++)
        from[0][me == 0 ? i : place(wide, i)] = byte_of(me, ALL, i, 0);
    if (me == 0)
        OK(lapis_allgatherv(hndl, LAPIS_WORLD, from, to, bytes, at, LAPIS_U8));
    else
        OK(lapis_allgatherw(hndl, LAPIS_WORLD, from, BYTES, wide, to, bytes, at, plain));
    for (m = 0; m < tasks; m++)
        for (i = 0; i < BYTES; i++)
            CHECK((&to[0][0])[at[m] + i] == byte_of(m, ALL, i, 0));
    if (me == 0)
        OK(lapis_bcast(hndl, LAPIS_WORLD, to, BYTES, LAPIS_U8, 1));
    else
        OK(lapis_bcastw(hndl, LAPIS_WORLD, me == 1 ? from : to, BYTES, wide, 1));
    for (i = 0; i < BYTES && me != 1; i++)
        CHECK(to[0][me == 0 ? i : place(wide, i)] == byte_of(1, ALL, i, 0));
}

/* What is wrong is said before anything is moved. */
static void refuse(void)
{
    ulong none[MEMBERS] = {0}, some[MEMBERS] = {8, 8, 8};
    lapi_dg_handle_t plain[MEMBERS] = {NULL}, wrong[MEMBERS] = {NULL, (lapi_dg_handle_t)&p, NULL};
    lapis_edge_t nowhere = {7, 0, 0, 8}, edge = {0, 0, 0, 8};
    lapis_request_t request = LAPIS_NO_REQUEST;
    uint mine = (uint)me;
    GIVES(LAPI_ERR_DGSP, lapis_bcastw(hndl, LAPIS_WORLD, from, 8, wrong[1], 0));
    GIVES(LAPIS_ERR_BUFFER, lapis_ibcastw(hndl, LAPIS_WORLD, NULL, 8, wide, 0, &request));
    GIVES(LAPIS_ERR_ROOT, lapis_bcastw_init(hndl, LAPIS_WORLD, from, 8, wide, MEMBERS, &request));
    GIVES(LAPIS_ERR_COUNT, lapis_bcastw(hndl, LAPIS_WORLD, from, ~0ul, NULL, 0));
    GIVES(LAPI_ERR_DGSP, lapis_gatherw(hndl, LAPIS_WORLD, from, 8, NULL, to, some, none, wrong, mine));
    GIVES(LAPIS_ERR_COUNT, lapis_gatherw(hndl, LAPIS_WORLD, from, 8, NULL, to, NULL, none, plain, mine));
    GIVES(LAPIS_ERR_COUNT, lapis_gatherw(hndl, LAPIS_WORLD, from, 7, NULL, to, some, none, plain, mine));
    GIVES(LAPIS_ERR_BUFFER, lapis_scatterw(hndl, LAPIS_WORLD, NULL, some, none, plain, to, 8, NULL, mine));
    GIVES(LAPIS_ERR_BUFFER, lapis_scatterw(hndl, LAPIS_WORLD, from, some, none, plain, NULL, 8, NULL, mine));
    GIVES(LAPIS_ERR_COUNT, lapis_allgatherw(hndl, LAPIS_WORLD, from, 7, NULL, to, some, none, plain));
    GIVES(LAPIS_ERR_COUNT, lapis_neighboursw(hndl, LAPIS_WORLD, from, 1, &edge, NULL, to, 0, NULL, NULL));
    GIVES(LAPI_ERR_DGSP, lapis_neighboursw(hndl, LAPIS_WORLD, from, 1, &edge, &wrong[1], to, 0, NULL, NULL));
    CHECK(lapis_neighboursw(hndl, LAPIS_WORLD, from, 1, &nowhere, plain, to, 0, NULL, NULL) != LAPI_SUCCESS);
    GIVES(LAPI_ERR_RET_PTR_NULL, lapis_ibcastw(hndl, LAPIS_WORLD, from, 8, NULL, 0, NULL));
    CHECK(request == LAPIS_NO_REQUEST);
}

int main(void)
{
    int round, what;

    start();
    CHECK(tasks == MEMBERS);
    register_layouts();
    for (round = 0; round < 12; round++)
        for (what = 0; what < WHATS; what++)
            move(what, round);
    meet();
    refuse();
    for (what = 0; what < WHATS; what++)
        move(what, round);
    finish();
    return 0;
}
