/*
 * LAPI_DGSP_XFER: gathered at the origin, scattered by the handle that the header handler returns, either or both, or neither;
 * one packet and many; fewer bytes than the message; more repetitions than one.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Xfer, table 26
//= LAPI Guide, LAPI_Xfer, scatter-side DGSP processing
//= LAPI Guide, LAPI_Xfer, a DGSP transfer may have a NULL udata
//= LAPI Guide, LAPI_Xfer, BUFFER_BOTH_CONTIGUOUS
//= LAPI Guide, LAPI_Xfer, LAPI_ERR_DGSP_CTL for a CONTROL at the gather side
//= LAPI Guide, The enhanced header handler interface, bytes may be less than the message length
//= type=test
#include "program.h"

#define MOST (1 << 20)
static unsigned char from[MOST], to[MOST];
static struct program p;
static lapi_cntr_t tgt, org, cmpl;
static void **counters, **handlers;

/* What the next message asks of this task's header handler. */
static struct wish {
    lapi_dg_handle_t handle;
    void *buffer;
    long bytes; /* -1: all */
    int ret_flags, complete;
    int seen_one_packet, calls, completions;
    ulong seen;
} wish;

static void complete(lapi_handle_t *h, void *argument)
{
    CHECK(*h == hndl && argument == &wish);
    __atomic_fetch_add(&wish.completions, 1, __ATOMIC_SEQ_CST);
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **argument)
{
    lapi_return_info_t *info = (lapi_return_info_t *)msg_len;
    CHECK(*h == hndl && *uhdr_len == 8 && memcmp(uhdr, "a header", 8) == 0);
    CHECK(info->dgsp_handle == NULL && info->bytes == info->msg_len);
    wish.calls++;
    wish.seen = *msg_len;
    wish.seen_one_packet = info->udata_one_pkt_ptr != NULL;
    *done = wish.complete ? complete : NULL;
    *argument = &wish;
    info->ret_flags = wish.ret_flags;
    info->dgsp_handle = wish.handle;
    if (wish.bytes >= 0)
        info->bytes = wish.bytes;
    return wish.buffer;
}

static void *bare(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **argument)
{
    (void)h, (void)uhdr, (void)argument;
    CHECK(*uhdr_len == 0);
    *done = NULL;
    ((lapi_return_info_t *)msg_len)->dgsp_handle = wish.handle;
    return wish.buffer;
}

static volatile int sent;

static void send_done(lapi_handle_t *h, void *argument, lapi_sh_info_t *info)
{
    CHECK(*h == hndl && argument == &sent && info->reason == LAPI_SUCCESS);
    sent++;
}

static lapi_amdgsp_t command_for(int target, lapi_dg_handle_t handle, void *data, ulong len)
{
    lapi_amdgsp_t c;
    memset(&c, 0, sizeof c);
    c.Xfer_type = LAPI_DGSP_XFER;
    c.tgt = target;
    c.hdr_hdl = (lapi_long_t)(uintptr_t)handlers[target];
    c.uhdr = "a header";
    c.uhdr_len = 8;
    c.udata = data;
    c.udata_len = len;
    c.shdlr = send_done;
    c.sinfo = (void *)&sent;
    c.tgt_cntr = (lapi_long_t)(uintptr_t)counters[target];
    c.org_cntr = &org;
    c.cmpl_cntr = &cmpl;
    c.dgsp = handle;
    return c;
}

/* Each task sends to the other, or to itself, and knows what it will get. */
static void send_and_wait(int target, lapi_dg_handle_t handle, void *data, ulong len, int flags)
{
    int before = sent, calls = wish.calls, completions = wish.completions;
    OK(LAPI_Gfence(hndl));
    lapi_amdgsp_t c = command_for(target, handle, data, len);
    c.flags = flags;
    OK(LAPI_Xfer(hndl, (lapi_xfer_t *)&c));
    OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
    while (sent == before)
        OK(LAPI_Probe(hndl));
    CHECK(sent == before + 1 && wish.calls == calls + 1 && wish.seen == len);
    CHECK(wish.completions == completions + wish.complete);
    OK(LAPI_Gfence(hndl));
}

/* Three bytes out of seven, backwards: position i of the message is the byte at offset_of(i). */
static lapi_dg_handle_t odd(void)
{
    describe(&p, 3, -7, 0, 6);
    copy(&p, 5, 1);
    copy(&p, 0, 2);
    iterate(&p, 0);
    return registered(&p);
}

static long offset_of(ulong i)
{
    return -7 * (long)(i / 3) + (i % 3 == 0 ? 5 : (long)(i % 3) - 1);
}

static unsigned char value(int task, ulong i)
{
    return (unsigned char)(i * 13 + i / 251 + task * 101);
}

/* Every combination of sides at one length. Buffers of the odd layout begin near their end. */
static void combinations(int target, lapi_dg_handle_t layout, lapi_dg_handle_t flat, ulong len, ulong wanted, int ret_flags)
{
    unsigned char *top_from = from + MOST - 64, *top_to = to + MOST - 64;
    for (int sides = 0; sides < 4; sides++) {
        int gather = sides & 1, scatter = sides & 2;
        memset(from, 0x55, sizeof from);
        memset(to, 0xaa, sizeof to);
        for (ulong i = 0; i < len; i++)
            *(gather ? top_from + offset_of(i) : from + i) = value(me, i);
        wish.handle = scatter ? layout : sides & 1 && wanted == len ? NULL : flat;
        wish.buffer = scatter ? top_to : to;
        wish.bytes = wanted == len ? -1 : (long)wanted;
        wish.ret_flags = ret_flags;
        wish.complete = len % 2;
        send_and_wait(target, gather ? layout : flat, gather ? top_from : from, len, 0);
        ulong n = 0;
        for (ulong i = 0; i < len; i++) {
            unsigned char *at = scatter ? top_to + offset_of(i) : to + i;
            CHECK(*at == (i < wanted ? value(target == me ? me : 1 - me, i) : 0xaa));
            if (i < wanted)
                *at = 0xaa;
        }
        for (ulong i = 0; i < sizeof to; i++)
            n += to[i] == 0xaa;
        CHECK(n == sizeof to); /* Nothing but the message has been written. */
    }
}

static void codes(lapi_dg_handle_t good)
{
    int longest;
    OK(LAPI_Qenv(hndl, MAX_UHDR_SZ, &longest));
    OK(LAPI_Senv(hndl, ERROR_CHK, 1));
    lapi_amdgsp_t c = command_for(me, good, from, 6), b;
#define WRONG(code, change) \
    do { \
        b = c; \
        b.change; \
        GIVES(code, LAPI_Xfer(hndl, (lapi_xfer_t *)&b)); \
    } while (0)
    WRONG(LAPI_ERR_DGSP, dgsp = NULL);
    WRONG(LAPI_ERR_DGSP, dgsp = &p.descr);
    WRONG(LAPI_ERR_TGT, tgt = tasks);
    WRONG(LAPI_ERR_HDR_HNDLR_NULL, hdr_hdl = 0);
    WRONG(LAPI_ERR_DATA_LEN, udata_len = LAPI_MAX_MSG_SZ + 1);
    WRONG(LAPI_ERR_UHDR_NULL, uhdr = NULL);
    WRONG(LAPI_ERR_UHDR_LEN, uhdr_len = longest + 4);
    WRONG(LAPI_ERR_HDR_LEN, uhdr_len = 7);
    /* Programs that nobody verified: refused here, before anything is sent. */
    struct { int code; lapi_dg_handle_t handle; } faults[8];
    int n = 0;
    describe(&p, 4, 8, 0, 4), control(&p, 1, 0), copy(&p, 0, 4), iterate(&p, 0);
    faults[n].code = LAPI_ERR_DGSP_CTL, faults[n++].handle = registered(&p);
    describe(&p, 4, 8, 0, 4), copy(&p, 0, 4), emit(&p, 1)[0] = 77;
    faults[n].code = LAPI_ERR_DGSP_OPC, faults[n++].handle = registered(&p);
    describe(&p, 4, 8, 0, 4), copy(&p, 0, 4), iterate(&p, 0)->iter_loc = 5;
    faults[n].code = LAPI_ERR_DGSP_BRANCH, faults[n++].handle = registered(&p);
    describe(&p, 4, 8, 0, 4), copy(&p, 0, 4), gosub(&p, 2, 0, 0), iterate(&p, 0);
    faults[n].code = LAPI_ERR_DGSP_STACK, faults[n++].handle = registered(&p);
    describe(&p, 4, 8, 0, 4), copy(&p, 0, 4), copy(&p, 0, -4), iterate(&p, 0);
    faults[n].code = LAPI_ERR_DGSP_COPY_SZ, faults[n++].handle = registered(&p);
    describe(&p, 4, 8, 0, 4), copy(&p, 0, 4), gosub(&p, -2, 0, 0), iterate(&p, 0);
    faults[n].code = LAPI_ERR_DGSP_REPS, faults[n++].handle = registered(&p);
    describe(&p, 0, 8, 0, 0), iterate(&p, 0);
    faults[n].code = LAPI_ERR_DGSP_OTHER, faults[n++].handle = registered(&p);
    int calls = wish.calls;
    for (int i = 0; i < n; i++) {
        WRONG(faults[i].code, dgsp = faults[i].handle);
        OK(unreserve(hndl, faults[i].handle));
        WRONG(LAPI_ERR_DGSP, dgsp = faults[i].handle);
    }
    OK(LAPI_Fence(hndl));
    CHECK(wish.calls == calls);
    OK(LAPI_Senv(hndl, ERROR_CHK, 0));
}

/* BUFFER_BOTH_CONTIGUOUS counts whatever else a message has, and whatever the size of atoms. */
static void believed_at_every_length(int other, lapi_dg_handle_t layout)
{
    describe(&p, 4, 9, 1, 7);
    p.descr.atom_size = 2;
    copy(&p, 1, 2);
    copy(&p, 5, 2);
    iterate(&p, 0);
    lapi_dg_handle_t atoms = registered(&p);
    static const ulong lengths[] = {2, 64, 512, 514, 60000};
    for (size_t i = 0; i < 2 * sizeof lengths / sizeof *lengths; i++) {
        ulong len = lengths[i / 2];
        int skip = i % 2;
        for (ulong at = 0; at < len; at++)
            from[skip + at] = value(me, at);
        memset(to, 0, len + 1);
        wish.handle = NULL;
        wish.buffer = to;
        OK(LAPI_Gfence(hndl));
        lapi_amdgsp_t c = command_for(other, skip ? atoms : layout, from, len);
        c.flags = BUFFER_BOTH_CONTIGUOUS;
        c.uhdr_len = 0;
        c.shdlr = NULL;
        c.cmpl_cntr = NULL;
        OK(LAPI_Xfer(hndl, (lapi_xfer_t *)&c));
        OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
        OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
        for (ulong at = 0; at < len; at++)
            CHECK(to[at] == value(other, at));
        CHECK(to[len] == 0);
    }
    OK(unreserve(hndl, atoms));
}

int main(void)
{
    int packet;
    start();
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    counters = exchange(&tgt);
    handlers = exchange((void *)header);
    OK(LAPI_Qenv(hndl, MAX_PKT_SZ, &packet));
    int other = tasks == 1 ? me : 1 - me;

    lapi_dg_handle_t layout = odd();
    describe(&p, 8, 8, 0, 8);
    p.descr.density = LAPI_DGSM_UNIT;
    copy(&p, 0, 8);
    iterate(&p, 0);
    lapi_dg_handle_t flat = registered(&p);

    ulong lengths[] = {0, 1, 3, 100, packet - 8, packet, packet + 1, 3 * (ulong)packet + 2, 400001};
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        combinations(other, layout, flat, lengths[i], lengths[i], i % 2 ? LAPI_NORMAL : LAPI_LOCAL_STATE);
        CHECK(wish.seen_one_packet == (lengths[i] <= (ulong)packet));
    }
    combinations(me, layout, flat, 70000, 70000, LAPI_NORMAL);
    /* Fewer bytes than the message, none at all, and no more than there are. */
    combinations(other, layout, flat, 100, 50, LAPI_NORMAL);
    combinations(other, layout, flat, 50001, 49000, LAPI_SEND_REPLY);
    combinations(other, layout, flat, 50001, 0, LAPI_NORMAL);

    /* Registered here, unreserved while the transfer is under way: LAPI keeps what it needs. */
    memset(to, 0, sizeof to);
    OK(LAPI_Gfence(hndl));
    lapi_dg_handle_t brief = odd();
    wish = (struct wish){.handle = NULL, .buffer = to, .bytes = -1, .calls = wish.calls};
    for (ulong i = 0; i < 300000; i++)
        from[MOST - 64 + offset_of(i)] = value(me, i);
    OK(LAPI_Gfence(hndl));
    lapi_amdgsp_t c = command_for(other, brief, from + MOST - 64, 300000);
    OK(LAPI_Xfer(hndl, (lapi_xfer_t *)&c));
    OK(unreserve(hndl, brief));
    GIVES(LAPI_ERR_DGSP, LAPI_Xfer(hndl, (lapi_xfer_t *)&c));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
    OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
    for (ulong i = 0; i < 300000; i++)
        CHECK(to[i] == value(other, i));
    OK(LAPI_Gfence(hndl));

    /* Offsets that are addresses, from a NULL buffer to a NULL buffer. */
    static unsigned char pieces[2][100], places[2][100];
    describe(&p, 200, 0, 0, 0);
    copy(&p, (long)pieces[1], 100);
    copy(&p, (long)pieces[0], 100);
    iterate(&p, 0);
    lapi_dg_handle_t absolute = registered(&p);
    describe(&p, 200, 0, 0, 0);
    copy(&p, (long)places[0], 50);
    copy(&p, (long)places[1], 100);
    copy(&p, (long)places[0] + 50, 50);
    iterate(&p, 0);
    lapi_dg_handle_t there = registered(&p);
    memset(pieces[0], 10 + me, 100);
    memset(pieces[1], 20 + me, 100);
    wish.handle = there;
    wish.buffer = NULL;
    send_and_wait(other, absolute, NULL, 200, 0);
    for (int i = 0; i < 50; i++) {
        CHECK(places[0][i] == 20 + other && places[1][i] == 20 + other);
        CHECK(places[0][50 + i] == 10 + other && places[1][50 + i] == 10 + other);
    }

    /* Who says that all is contiguous is believed: a sparse program is not looked at. */
    describe(&p, 4, 4, 2, 6);
    copy(&p, 2, 3);
    copy(&p, 5, 1);
    copy(&p, 2, 0);
    iterate(&p, 0);
    lapi_dg_handle_t even = registered(&p);
    for (ulong i = 0; i < 60000; i++)
        from[i] = value(me, i);
    wish.handle = even;
    wish.buffer = to;
    memset(to, 0, sizeof to);
    send_and_wait(other, even, from, 60000, BUFFER_BOTH_CONTIGUOUS);
    for (ulong i = 2; i < 60002 - 2; i++)
        CHECK(to[i] == value(other, i));
    wish.handle = NULL;
    send_and_wait(other, layout, from, 60000, BUFFER_BOTH_CONTIGUOUS);
    for (ulong i = 0; i < 60000; i++)
        CHECK(to[i] == value(other, i));

    /* An index instead of an address, and LAPI_Amsend to a handler that scatters. */
    OK(LAPI_Addr_set(hndl, (void *)header, 5));
    OK(LAPI_Gfence(hndl));
    handlers[other] = (void *)5;
    combinations(other, layout, flat, 12345, 12345, LAPI_NORMAL);
    wish.handle = layout;
    wish.buffer = to + MOST - 64;
    wish.complete = 0;
    for (ulong i = 0; i < 300000; i++)
        from[i] = value(me, i);
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Amsend(hndl, other, (void *)5, "a header", 8, from, 300000, counters[other], &org, &cmpl));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
    OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
    for (ulong i = 0; i < 300000; i++)
        CHECK(to[MOST - 64 + offset_of(i)] == value(other, i));

    /* Short messages of which nobody wants to hear but the target: gathered before they go. */
    handlers = exchange((void *)bare);
    for (ulong len = 0; len < 600; len += 37) {
        memset(to, 0, sizeof to);
        memset(from, 0x55, sizeof from);
        for (ulong i = 0; i < len; i++)
            from[MOST - 64 + offset_of(i)] = value(me, i);
        OK(LAPI_Gfence(hndl));
        c = command_for(other, layout, from + MOST - 64, len);
        c.uhdr_len = 0;
        c.shdlr = NULL;
        c.cmpl_cntr = NULL;
        OK(LAPI_Xfer(hndl, (lapi_xfer_t *)&c));
        OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
        memset(from, 0x66, sizeof from);
        OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
        for (ulong i = 0; i < len; i++)
            CHECK(to[MOST - 64 + offset_of(i)] == value(other, i));
        CHECK(to[MOST - 64 + offset_of(len)] == 0);
    }
    believed_at_every_length(other, layout);
    codes(layout);
    OK(unreserve(hndl, layout));
    OK(unreserve(hndl, flat));
    OK(unreserve(hndl, absolute));
    OK(unreserve(hndl, there));
    OK(unreserve(hndl, even));
    finish();
    return 0;
}
