/*
 * Layouts by LAPI_Xfer, with the flags that the first argument gives: a DGSP whose data lie in one piece here, one whose data do
 * not, and a put from vector to vector. Bulk transfer moves one piece of memory; the hint may be ignored for all else, which goes
 * by packets. What arrives is the same.
 */
//= LAPI Guide, LAPI_Xfer, LAPI_USE_BULK_XFER and LAPI_NOT_USE_BULK_XFER
//= LAPI Guide, LAPI_Xfer, hints may or may not be honored
//= type=test
#include "../dgsp/program.h"

#define LEN 400000ul

static char box[2 * LEN], data[2 * LEN];
static lapi_cntr_t tgt, org, cmpl;
static struct program p;

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)info;
    CHECK(*msg_len == LEN);
    *done = NULL;
    return box;
}

/* Blocks of 100 bytes, so far apart. */
static lapi_dg_handle_t blocks(long stride)
{
    lapi_reg_dgsp_t command;
    describe(&p, 100, stride, 0, stride);
    copy(&p, 0, 100);
    iterate(&p, 0);
    memset(&command, 0, sizeof command);
    command.Util_type = LAPI_REGISTER_DGSP;
    command.idgsp = &p.descr;
    OK(LAPI_Util(hndl, (lapi_util_t *)&command));
    return command.dgsp_handle;
}

static void arrived(int from, int apart)
{
    OK(LAPI_Waitcntr(hndl, &org, 1, NULL));
    OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    for (ulong i = 0; i < LEN; i++) {
        ulong at = apart ? i / 100 * 200 + i % 100 : i;
        CHECK(box[i] == (char)(at * 7 + at / 4096 + from));
    }
    OK(LAPI_Gfence(hndl));
    memset(box, 0, sizeof box);
    OK(LAPI_Gfence(hndl));
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    int flags = atoi(argv[1]);
    start();
    CHECK(tasks == 2);
    int other = 1 - me;
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    void **boxes = exchange(box), **counters = exchange(&tgt), **headers = exchange((void *)header);
    for (ulong i = 0; i < sizeof data; i++)
        data[i] = i * 7 + i / 4096 + me;
    lapi_long_t counter = (lapi_long_t)(uintptr_t)counters[other];

    for (int apart = 0; apart < 2; apart++) {
        lapi_amdgsp_t send;
        memset(&send, 0, sizeof send);
        send.Xfer_type = LAPI_DGSP_XFER;
        send.flags = flags;
        send.tgt = other;
        send.hdr_hdl = (lapi_long_t)(uintptr_t)headers[other];
        send.udata = data;
        send.udata_len = LEN;
        send.tgt_cntr = counter;
        send.org_cntr = &org;
        send.cmpl_cntr = &cmpl;
        send.dgsp = blocks(apart ? 200 : 100);
        OK(LAPI_Xfer(hndl, (lapi_xfer_t *)&send));
        arrived(other, apart);
    }

    void *from[2] = {data, data + LEN / 2};
    lapi_long_t to[2] = {(lapi_long_t)(uintptr_t)boxes[other], (lapi_long_t)(uintptr_t)boxes[other] + LEN / 2}, lens[2] = {LEN / 2, LEN / 2};
    ulong halves[2] = {LEN / 2, LEN / 2};
    lapi_vec_t origin = {LAPI_GEN_IOVECTOR, 2, from, halves};
    lapi_lvec_t target = {LAPI_GEN_IOVECTOR, 2, to, lens};
    lapi_putv_t put;
    memset(&put, 0, sizeof put);
    put.Xfer_type = LAPI_PUTV_XFER;
    put.flags = flags;
    put.tgt = other;
    put.tgt_vec = &target;
    put.org_vec = &origin;
    put.tgt_cntr = counter;
    put.org_cntr = &org;
    put.cmpl_cntr = &cmpl;
    OK(LAPI_Xfer(hndl, (lapi_xfer_t *)&put));
    arrived(other, 0);

    OK(LAPI_Qenv(hndl, PRINT_STATISTICS, &(int){0}));
    finish();
    return 0;
}
