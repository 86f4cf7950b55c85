/*
 * LAPI_Xfer: every type but the DGSP's, with send completion handlers and completion handlers of gets; nothing beyond the
 * member structure is touched.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Xfer, table 23
//= LAPI Guide, LAPI_Xfer, memory outside of the identified member is not examined
//= LAPI Guide, LAPI_Xfer, USE_TGT_VEC_TYPE
//= LAPI Guide, The send completion handler, runs when the send-side buffer is available
//= LAPI Guide, table 8, the completion handler of a get runs at the origin
//= LAPI Guide, LAPI_Address_init64, exchanges 64-bit addresses
//= type=test
#include "check.h"
#include <pthread.h>
#include <sys/mman.h>

#define MANY 100000
static char box[MANY], data[MANY];
static lapi_cntr_t tgt, org, cmpl;
static lapi_long_t *boxes, *counters, *handlers, *vhandlers;
static volatile int sent, fetched, sent_to, reason = -1;
static int cookie, other;
static void *page_end;

static void send_done(lapi_handle_t *h, void *argument, lapi_sh_info_t *info)
{
    CHECK(*h == hndl && argument == &cookie);
    sent_to = info->src;
    reason = info->reason;
    sent++;
}

static void get_done(lapi_handle_t *h, void *argument)
{
    lapi_cntr_t here;
    CHECK(*h == hndl && argument == &cookie);
    /* It may communicate. */
    OK(LAPI_Setcntr(*h, &here, 0));
    OK(LAPI_Put(*h, me, 0, NULL, NULL, NULL, &here, NULL));
    OK(LAPI_Waitcntr(*h, &here, 1, NULL));
    fetched++;
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)msg_len, (void)info;
    CHECK(*uhdr_len == 8);
    *done = NULL;
    return box;
}

static void *infos[2] = {box + 10, box + 1000};
static ulong lens[2] = {100, 5000};
static lapi_vec_t box_vec = {LAPI_GEN_IOVECTOR, 2, infos, lens};

static lapi_vec_t *vheader(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong **len_vec, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)len_vec, (void)info;
    *done = NULL;
    return &box_vec;
}

/* The command at the very end of a page that nothing follows. */
static int xfer(void *command, size_t size)
{
    void *at = (char *)page_end - size;
    memcpy(at, command, size);
    int code = LAPI_Xfer(hndl, at);
    CHECK(memcmp(at, command, size) == 0);
    memset(at, 0xff, size);
    return code;
}

static lapi_long_t *exchange64(void *mine)
{
    lapi_long_t *table = malloc(tasks * sizeof *table);
    OK(LAPI_Address_init64(hndl, (lapi_long_t)(uintptr_t)mine, table));
    return table;
}

static void arrived(int expect_sent)
{
    OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
    OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
    OK(LAPI_Gfence(hndl));
    while (sent < expect_sent)
        OK(LAPI_Probe(hndl));
    CHECK(sent == expect_sent && sent_to == other && reason == LAPI_SUCCESS);
}

int main(void)
{
    start();
    CHECK(tasks == 2);
    other = 1 - me;
    long page = sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    page_end = pages + page;
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    boxes = exchange64(box);
    counters = exchange64(&tgt);
    handlers = exchange64((void *)header);
    vhandlers = exchange64((void *)vheader);
    CHECK(boxes[me] == (lapi_long_t)(uintptr_t)box);
    for (int i = 0; i < MANY; i++)
        data[i] = i * 13 + me;
    int n = 0;

    for (ulong len = 8; len <= MANY; len = len == 8 ? 3000 : len == 3000 ? MANY : MANY + 1) {
        lapi_am_t am = {LAPI_AM_XFER, LAPI_NOT_USE_BULK_XFER, other, handlers[other], 8, "a header", data, len, send_done, &cookie, counters[other], &org, &cmpl};
        OK(LAPI_Gfence(hndl));
        memset(box, 0, sizeof box);
        OK(LAPI_Gfence(hndl));
        OK(xfer(&am, sizeof am));
        OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
        arrived(++n);
        for (ulong i = 0; i < len; i++)
            CHECK(box[i] == (char)(i * 13 + other));

        memset(box, 0, sizeof box);
        OK(LAPI_Gfence(hndl));
        lapi_put_t put = {LAPI_PUT_XFER, LAPI_USE_BULK_XFER, other, boxes[other], data, len, send_done, &cookie, counters[other], &org, &cmpl};
        OK(xfer(&put, sizeof put));
        OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
        arrived(++n);
        for (ulong i = 0; i < len; i++)
            CHECK(box[i] == (char)(i * 13 + other));

        /* Fetches what the other task put there: this task's own data. */
        static char back[MANY];
        memset(back, 0, sizeof back);
        lapi_get_t get = {LAPI_GET_XFER, 0, other, boxes[other], back, len, counters[other], &org, get_done, &cookie};
        int before = fetched;
        OK(xfer(&get, sizeof get));
        OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
        OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
        while (fetched == before)
            OK(LAPI_Probe(hndl));
        CHECK(memcmp(back, data, len) == 0);
        OK(LAPI_Gfence(hndl));
    }

    /* A light active message: counters and handlers at the origin are not looked at. */
    lapi_am_t light = {LAPI_AM_LW_XFER, 0, other, handlers[other], 8, "a header", data, 64, send_done, &cookie, counters[other], &org, &cmpl};
    OK(xfer(&light, sizeof light));
    OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
    OK(LAPI_Gfence(hndl));
    CHECK(sent == n && value_of(&org) == 0 && value_of(&cmpl) == 0);

    /* Vectors. */
    void *mine[2] = {data, data + 50};
    lapi_vec_t vec = {LAPI_GEN_IOVECTOR, 2, mine, lens};
    lapi_amv_t amv = {LAPI_AMV_XFER, 0, other, vhandlers[other], 0, NULL, send_done, &cookie, &vec, counters[other], &org, &cmpl};
    memset(box, 0, sizeof box);
    OK(LAPI_Gfence(hndl));
    OK(xfer(&amv, sizeof amv));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    arrived(++n);
    CHECK(box[9] == 0 && box[10] == (char)other && box[1000] == (char)(50 * 13 + other) && box[6000] == 0);

    lapi_long_t far_info[2] = {boxes[other] + 20, boxes[other] + 2000}, far_len[2] = {100, 5000};
    lapi_lvec_t far = {LAPI_GEN_IOVECTOR, 2, far_info, far_len};
    lapi_putv_t putv = {LAPI_PUTV_XFER, 0, other, send_done, &cookie, &vec, &far, counters[other], &org, &cmpl};
    memset(box, 0, sizeof box);
    OK(LAPI_Gfence(hndl));
    OK(xfer(&putv, sizeof putv));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    arrived(++n);
    CHECK(box[19] == 0 && box[20] == (char)other && box[2000] == (char)(50 * 13 + other) && box[7000] == 0);

    void *near_info[2] = {(void *)(uintptr_t)(boxes[other] + 20), (void *)(uintptr_t)(boxes[other] + 2000)};
    lapi_vec_t near = {LAPI_GEN_IOVECTOR, 2, near_info, lens};
    static char pieces[6000];
    void *into[2] = {pieces, pieces + 500};
    lapi_vec_t back = {LAPI_GEN_IOVECTOR, 2, into, lens};
    for (int wide = 0; wide < 2; wide++) {
        int before = fetched;
        memset(pieces, 0, sizeof pieces);
        lapi_getv_t getv = {LAPI_GETV_XFER, wide ? 0 : USE_TGT_VEC_TYPE, other, &back, wide ? (void *)&far : (void *)&near, counters[other], &org, get_done, &cookie};
        OK(xfer(&getv, sizeof getv));
        OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
        OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
        while (fetched == before)
            OK(LAPI_Probe(hndl));
        CHECK(pieces[0] == (char)me && pieces[500] == (char)(50 * 13 + me));
        OK(LAPI_Gfence(hndl));
    }

    /* Atomics. */
    static int narrow;
    static long long wide;
    lapi_long_t *narrows = exchange64(&narrow), *wides = exchange64(&wide);
    int in = 3, previous = -1;
    long long in64 = 1LL << 33, previous64 = -1;
    lapi_rmw_t rmw = {LAPI_RMW_XFER, FETCH_AND_ADD, other, 32, narrows[other], &in, &previous, &org, send_done, &cookie};
    OK(xfer(&rmw, sizeof rmw));
    OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
    rmw.size = 64;
    rmw.tgt_var = wides[other];
    rmw.in_val = &in64;
    rmw.prev_tgt_val = &previous64;
    OK(xfer(&rmw, sizeof rmw));
    OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
    n += 2;
    while (sent < n)
        OK(LAPI_Probe(hndl));
    OK(LAPI_Gfence(hndl));
    CHECK(sent == n && previous == 0 && previous64 == 0 && narrow == 3 && wide == 1LL << 33);

    OK(LAPI_Senv(hndl, ERROR_CHK, 1));
    rmw.size = 8;
    GIVES(LAPI_ERR_OP_SZ, xfer(&rmw, sizeof rmw));
    lapi_am_t none = {LAPI_AM_XFER, 0, other, 0, 0, NULL, NULL, 0, NULL, NULL, 0, NULL, NULL};
    GIVES(LAPI_ERR_HDR_HNDLR_NULL, xfer(&none, sizeof none));
    none.tgt = 2;
    none.hdr_hdl = 1;
    GIVES(LAPI_ERR_TGT, xfer(&none, sizeof none));
    finish();
    return 0;
}
