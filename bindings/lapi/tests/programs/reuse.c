/*
 * A message that MP_REXMIT_BUF_SIZE covers leaves its buffer free when the call returns: no counter is needed to know that. Each
 * kind of send that has no counter at all, from one buffer that is overwritten at once, while the target makes no progress.
 * tasks: 2
 * env: MP_UDP_PACKET_SIZE=2048 LAPIS_HPS_COPY=windows
 */
//= LAPI Guide, Send-side copy of small messages
//= type=test
#include "check.h"

#define MESSAGES 100
#define LEN 16384

enum { AM, PUT, AMV, PUTV, DGSP, ATOMS, KINDS };

static unsigned char (*boxes)[LEN], buffer[2 * LEN];
static void **headers, **vheaders, **places;
static lapi_dg_handle_t every_other, atoms;

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    return boxes[*(int *)uhdr];
}

static lapi_vec_t *vheader(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong **len_vec, compl_hndlr_t **done, void **info)
{
    static void *into[2];
    static ulong lens[2];
    static lapi_vec_t vec = {LAPI_GEN_IOVECTOR, 2, into, lens};
    (void)h, (void)uhdr_len, (void)info;
    *done = NULL;
    memcpy(lens, *len_vec, sizeof lens);
    into[0] = boxes[*(int *)uhdr];
    into[1] = boxes[*(int *)uhdr] + lens[0];
    return &vec;
}

/* Four bytes of every eight, in atoms of so many bytes. */
static lapi_dg_handle_t layout(int atom)
{
    static int code[LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE];
    lapi_dgsm_copy_t copy = {LAPI_DGSM_COPY, 0, 4, 0};
    lapi_dgsm_iterate_t iterate = {LAPI_DGSM_ITERATE, -LAPI_DGSM_COPY_SIZE};
    memcpy(code, &copy, sizeof copy);
    memcpy(code + LAPI_DGSM_COPY_SIZE, &iterate, sizeof iterate);
    lapi_dgsp_descr_t descr = {code, LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE, 1, LAPI_DGSM_CONTIG, 4, 8, 0, 4, atom};
    lapi_reg_dgsp_t command;
    memset(&command, 0, sizeof command);
    command.Util_type = LAPI_REGISTER_DGSP;
    command.idgsp = &descr;
    OK(LAPI_Util(hndl, (lapi_util_t *)&command));
    return command.dgsp_handle;
}

/* All of it together with its user header has `all` bytes. */
static void send_one(int kind, int number, ulong all)
{
    ulong data = kind == PUT || kind == PUTV ? all : all - sizeof number;
    ulong half = data / 2, halves[2] = {half, data - half};
    void *from[2] = {buffer, buffer + LEN};
    void *to[2] = {(char *)places[1] + (ulong)number * LEN, (char *)places[1] + (ulong)number * LEN + half};
    lapi_vec_t origin = {LAPI_GEN_IOVECTOR, 2, from, halves}, target = {LAPI_GEN_IOVECTOR, 2, to, halves};
    lapi_amdgsp_t command;
    switch (kind) {
    case AM:
        OK(LAPI_Amsend(hndl, 1, headers[1], &number, sizeof number, buffer, data, NULL, NULL, NULL));
        break;
    case PUT:
        OK(LAPI_Put(hndl, 1, data, to[0], buffer, NULL, NULL, NULL));
        break;
    case AMV:
        OK(LAPI_Amsendv(hndl, 1, vheaders[1], &number, sizeof number, &origin, NULL, NULL, NULL));
        break;
    case PUTV:
        OK(LAPI_Putv(hndl, 1, &target, &origin, NULL, NULL, NULL));
        break;
    default:
        memset(&command, 0, sizeof command);
        command.Xfer_type = LAPI_DGSP_XFER;
        command.tgt = 1;
        command.hdr_hdl = (lapi_long_t)(uintptr_t)headers[1];
        command.uhdr = &number;
        command.uhdr_len = sizeof number;
        command.udata = buffer;
        command.udata_len = data;
        command.dgsp = kind == ATOMS ? atoms : every_other;
        OK(LAPI_Xfer(hndl, (lapi_xfer_t *)&command));
    }
}

int main(void)
{
    int copied;
    start();
    CHECK(tasks == 2);
    OK(LAPI_Qenv(hndl, BUF_CP_SIZE, &copied));
    CHECK(copied == LEN);
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
    boxes = calloc(MESSAGES, sizeof *boxes);
    CHECK(boxes);
    every_other = layout(0);
    atoms = layout(4);
    headers = exchange((void *)header);
    vheaders = exchange((void *)vheader);
    places = exchange(boxes);
    for (int turn = 0; turn < 2 * KINDS; turn++) {
        /* What the library adds counts for nobody. */
        int kind = turn / 2, all = turn % 2 ? LEN : LEN - 8;
        memset(boxes, 0, MESSAGES * sizeof *boxes);
        OK(LAPI_Gfence(hndl));
        for (int i = 0; me == 0 && i < MESSAGES; i++) {
            memset(buffer, i + 1, sizeof buffer);
            send_one(kind, i, all);
            memset(buffer, 0xee, sizeof buffer);
        }
        if (me == 1)
            usleep(50000);
        OK(LAPI_Gfence(hndl));
        for (int i = 0; me == 1 && i < MESSAGES; i++)
            for (int at = 0; at < all - (int)sizeof(int); at++)
                CHECK(boxes[i][at] == i + 1);
    }
    finish();
    return 0;
}
