/*
 * A send completion handler that is called at once, because the message has been copied, can wait for that message.
 * tasks: 2
 * env: MP_EUILIB=ip LAPI_USE_SHM=no MP_UDP_PACKET_SIZE=2048
 */
//= LAPI Guide, LAPI_Xfer, the send completion handler
//= type=test
#include "check.h"

/* Several packets, and short enough to be copied. */
#define LEN 12000

static char box[LEN], data[LEN];
static volatile int told;

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    return box;
}

static void sent(lapi_handle_t *h, void *param, lapi_sh_info_t *info)
{
    (void)param, (void)info;
    OK(LAPI_Fence(*h));
    told = 1;
}

int main(void)
{
    start();
    CHECK(tasks == 2);
    void **headers = exchange((void *)header);
    if (me == 0) {
        memset(data, 'd', LEN);
        lapi_xfer_t xfer;
        lapi_am_t am = {LAPI_AM_XFER, 0, 1, (uintptr_t)headers[1], 0, NULL, data, LEN, sent, NULL, 0, NULL, NULL};
        xfer.Am = am;
        OK(LAPI_Xfer(hndl, &xfer));
        while (!told)
            OK(LAPI_Probe(hndl));
    }
    OK(LAPI_Gfence(hndl));
    CHECK(me == 0 || (box[0] == 'd' && box[LEN - 1] == 'd'));
    OK(LAPI_Term(hndl));
    return 0;
}
