/*
 * lapis_alltoallw in every form: each part in a layout of its own, of lengths that differ, from nothing to more than the shared
 * areas hold; plain bytes beside layouts; a member with layouts and one without.
 * tasks: 3
 */
#include "parts.h"

#include "../programs/forms.h"

enum { MOST = 1 << 19 };

static unsigned char from[MEMBERS][MOST], to[MEMBERS][MOST];

/* What a member calls with. */
struct side {
    ulong bytes[MEMBERS], at[MEMBERS];
    lapi_dg_handle_t layouts[MEMBERS];
};

static void plan(int round, struct side *give, struct side *get)
{
    lapi_dg_handle_t all[] = {NULL, wide, odd};
    int m;
    for (m = 0; m < tasks; m++) {
        give->bytes[m] = length(me, m, round);
        get->bytes[m] = length(m, me, round);
        give->at[m] = (ulong)m * MOST;
        get->at[m] = (ulong)m * MOST + m;
        give->layouts[m] = all[(me + m + round) % 3];
        get->layouts[m] = all[(me + 2 * m + round) % 3];
    }
}

static void fill(const struct side *give, int run)
{
    ulong i;
    int m;
    memset(from, GAP, sizeof from);
    memset(to, GAP, sizeof to);
    for (m = 0; m < tasks; m++)
        for (i = 0; i < give->bytes[m]; i++)
            from[m][place(give->layouts[m], i)] = byte_of(me, m, i, run);
}

static void check(const struct side *get, int run)
{
    int m;
    for (m = 0; m < tasks; m++) {
        ulong seen = 0, bytes = 0, i;
        for (i = 0; i < get->bytes[m]; i++)
            CHECK(to[m][m + place(get->layouts[m], i)] == byte_of(m, me, i, run));
        /* And nothing else was written. */
        for (i = 0; i < get->bytes[m]; i++)
            seen += to[m][m + place(get->layouts[m], i)] != GAP;
        for (i = 0; i < MOST; i++)
            bytes += to[m][i] != GAP;
        CHECK(bytes == seen);
    }
}

/* Calls in the form that is set, but for KEPT. Lists may be forgotten when a call has returned. */
static void call(lapis_team_t team, const struct side *give, const struct side *get)
{
    struct side in = *give, out = *get;
    lapis_request_t request;
    if (form == WAITED) {
        OK(lapis_alltoallw(hndl, team, from, in.bytes, in.at, in.layouts, to, out.bytes, out.at, out.layouts));
        return;
    }
    OK(lapis_ialltoallw(hndl, team, from, in.bytes, in.at, in.layouts, to, out.bytes, out.at, out.layouts, &request));
    memset(&in, 0xff, sizeof in);
    memset(&out, 0xff, sizeof out);
    end(request);
}

static lapis_request_t kept(lapis_team_t team, const struct side *give, const struct side *get)
{
    struct side in = *give, out = *get;
    lapis_request_t request;
    OK(lapis_alltoallw_init(hndl, team, from, in.bytes, in.at, in.layouts, to, out.bytes, out.at, out.layouts, &request));
    memset(&in, 0xff, sizeof in);
    memset(&out, 0xff, sizeof out);
    return request;
}

/* Each member in a form of its own; what is set up once carries other data each time. */
static void swap(lapis_team_t team, int round)
{
    struct side give, get;
    lapis_request_t request;
    int run;
    plan(round, &give, &get);
    form = (round + 2 * me) % FORMS;
    if (form == KEPT) {
        request = kept(team, &give, &get);
        for (run = 0; run < 3; run++) {
            fill(&give, run);
            OK(lapis_start(hndl, &request));
            GIVES(LAPIS_ERR_BUSY, lapis_start(hndl, &request));
            OK(lapis_wait(hndl, &request));
            check(&get, run);
        }
        OK(lapis_request_free(hndl, &request));
        CHECK(request == LAPIS_NO_REQUEST);
        return;
    }
    for (run = 0; run < 3; run++) {
        fill(&give, run);
        call(team, &give, &get);
        check(&get, run);
    }
}

/* Two under way at once, with the first one's memory beside that of the second one, and layouts that nobody else keeps. */
static void swap_twice_at_once(int round)
{
    struct side give, get, first, second;
    lapis_request_t both[2];
    lapi_dg_handle_t own;
    int m, run;
    describe(&p, 4, 9, 0, 4);
    copy(&p, 0, 4);
    iterate(&p, 0);
    own = registered(&p);
    plan(round, &give, &get);
    for (m = 0; m < tasks; m++) {
        if (give.layouts[m] == wide)
            give.layouts[m] = own;
        if (get.layouts[m] == wide)
            get.layouts[m] = own;
    }
    /* Each moves some of the partners' parts. */
    first = second = give;
    for (m = 0; m < tasks; m++)
        (m + me == 2 ? &second : &first)->bytes[m] = 0;
    {
        struct side one = get, two = get;
        for (m = 0; m < tasks; m++)
            (m + me == 2 ? &two : &one)->bytes[m] = 0;
        both[0] = kept(LAPIS_WORLD, &first, &one);
        both[1] = kept(LAPIS_WORLD, &second, &two);
    }
    OK(unreserve(hndl, own));
    for (m = 0; m < tasks; m++) {
        if (give.layouts[m] == own)
            give.layouts[m] = wide;
        if (get.layouts[m] == own)
            get.layouts[m] = wide;
    }
    for (run = 0; run < 4; run++) {
        fill(&give, run);
        OK(lapis_start(hndl, &both[0]));
        OK(lapis_start(hndl, &both[1]));
        if (run % 2) {
            OK(lapis_wait(hndl, &both[1]));
            OK(lapis_wait(hndl, &both[0]));
        } else {
            OK(lapis_waitall(hndl, 2, both));
        }
        check(&get, run);
    }
    /* One that is under way is waited for. */
    fill(&give, run);
    OK(lapis_start(hndl, &both[1]));
    OK(lapis_start(hndl, &both[0]));
    OK(lapis_request_free(hndl, &both[0]));
    OK(lapis_request_free(hndl, &both[1]));
    check(&get, run);
}

/* Task 0 has plain parts alone, and no layouts to name. */
static void meet(void)
{
    ulong bytes[MEMBERS], at[MEMBERS], i;
    lapi_dg_handle_t layouts[] = {wide, odd, wide};
    int m;
    for (m = 0; m < tasks; m++) {
        bytes[m] = 1200;
        at[m] = me == 0 ? (ulong)m * 1200 : (ulong)m * MOST;
    }
    for (m = 0; m < tasks; m++)
        for (i = 0; i < 1200; i++)
            (&from[0][0])[at[m] + (me == 0 ? i : place(layouts[m], i))] = byte_of(me, m, i, 0);
    if (me == 0)
        OK(lapis_alltoallv(hndl, LAPIS_WORLD, from, bytes, at, to, bytes, at, LAPIS_U8));
    else
        OK(lapis_alltoallw(hndl, LAPIS_WORLD, from, bytes, at, layouts, to, bytes, at, layouts));
    for (m = 0; m < tasks; m++)
        for (i = 0; i < 1200; i++)
            CHECK((&to[0][0])[at[m] + (me == 0 ? i : place(layouts[m], i))] == byte_of(m, me, i, 0));
}

/* A call in each form gives this code. */
#define REFUSED(code, team, ...) \
    do { \
        lapis_request_t request_ = LAPIS_NO_REQUEST; \
        GIVES(code, lapis_alltoallw(hndl, team, __VA_ARGS__)); \
        GIVES(code, lapis_ialltoallw(hndl, team, __VA_ARGS__, &request_)); \
        GIVES(code, lapis_alltoallw_init(hndl, team, __VA_ARGS__, &request_)); \
        CHECK(request_ == LAPIS_NO_REQUEST); \
    } while (0)

/* What is wrong is said before anything is exchanged. */
static void refuse(void)
{
    ulong none[MEMBERS] = {0}, some[MEMBERS] = {8, 8, 8}, vast[MEMBERS] = {~0ul, 8, 8}, less[MEMBERS] = {8, 8, 8};
    lapi_dg_handle_t plain[MEMBERS] = {NULL}, wrong[MEMBERS] = {NULL, (lapi_dg_handle_t)&p, NULL};
    lapis_team_t team;
    lapis_request_t request = LAPIS_NO_REQUEST;
    REFUSED(LAPI_ERR_DGSP, LAPIS_WORLD, from, some, none, wrong, to, some, none, plain);
    REFUSED(LAPIS_ERR_BUFFER, LAPIS_WORLD, NULL, some, none, plain, to, some, none, plain);
    REFUSED(LAPIS_ERR_BUFFER, LAPIS_WORLD, from, some, none, plain, NULL, some, none, plain);
    REFUSED(LAPIS_ERR_COUNT, LAPIS_WORLD, from, NULL, none, plain, to, some, none, plain);
    REFUSED(LAPIS_ERR_COUNT, LAPIS_WORLD, from, some, none, NULL, to, some, none, plain);
    REFUSED(LAPIS_ERR_COUNT, LAPIS_WORLD, from, vast, none, plain, to, some, none, plain);
    /* A member's own part has one length. */
    less[me] = 7;
    REFUSED(LAPIS_ERR_COUNT, LAPIS_WORLD, from, some, none, plain, to, less, none, plain);
    GIVES(LAPI_ERR_RET_PTR_NULL, lapis_ialltoallw(hndl, LAPIS_WORLD, from, some, none, plain, to, some, none, plain, NULL));
    OK(lapis_team_split(hndl, LAPIS_WORLD, 0, 0, &team));
    OK(lapis_team_free(hndl, team));
    REFUSED(LAPIS_ERR_TEAM, team, from, some, none, plain, to, some, none, plain);
    /* Nothing at all is no call that could go wrong. */
    OK(lapis_ialltoallw(hndl, LAPIS_WORLD, NULL, none, none, plain, NULL, none, none, plain, &request));
    GIVES(LAPIS_ERR_REQUEST, lapis_start(hndl, &request));
    OK(lapis_wait(hndl, &request));
}

/* Members that call something else, or expect other lengths: each call of the team fails, of no other one. */
static void fail(void)
{
    ulong at[MEMBERS] = {0, 100, 200}, some[MEMBERS] = {8, 8, 8}, other[MEMBERS] = {8, 8, 8};
    lapi_dg_handle_t plain[MEMBERS] = {NULL};
    int what, code;
    for (what = 0; what < 4; what++) {
        lapis_team_t team;
        lapis_request_t request = LAPIS_NO_REQUEST;
        OK(lapis_team_split(hndl, LAPIS_WORLD, 0, 0, &team));
        if (what % 2 && me == 0) {
            code = lapis_barrier(hndl, team);
        } else {
            other[1] = me == 0 ? 9 : 8;
            if (what < 2) {
                OK(lapis_ialltoallw(hndl, team, from, some, at, plain, to, other, at, plain, &request));
            } else {
                OK(lapis_alltoallw_init(hndl, team, from, some, at, plain, to, other, at, plain, &request));
                OK(lapis_start(hndl, &request));
            }
            code = lapis_wait(hndl, &request);
        }
        /* Who gets what it expects may have gone on before it hears of it. */
        if (code != LAPI_SUCCESS || what % 2 || me == 0)
            CHECK(code == LAPIS_ERR_MISMATCH || code == LAPIS_ERR_TEAM_OVER);
        if (what >= 2 && request != LAPIS_NO_REQUEST)
            OK(lapis_request_free(hndl, &request));
        CHECK(lapis_barrier(hndl, team) != LAPI_SUCCESS);
        OK(lapis_team_free(hndl, team));
    }
}

int main(void)
{
    int round;

    start();
    CHECK(tasks == MEMBERS);
    register_layouts();
    for (round = 0; round < 12; round++)
        swap(LAPIS_WORLD, round);
    meet();
    for (round = 0; round < 3; round++)
        swap_twice_at_once(round);
    refuse();
    fail();
    swap(LAPIS_WORLD, round);
    finish();
    return 0;
}
