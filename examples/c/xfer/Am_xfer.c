/* LAPI_Xfer with an active message: 64-bit addresses, and a send completion handler besides the counters. */
#include "../sample.h"

static int data = 5;
static volatile int sent;

static void completed(lapi_handle_t *h, void *unused)
{
    (void)h, (void)unused;
    printf("task %d received %d\n", task, data);
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len;
    *done = completed;
    *info = NULL;
    return &data;
}

static void may_be_changed(lapi_handle_t *h, void *parameter, lapi_sh_info_t *info)
{
    (void)h;
    if (info->reason == LAPI_SUCCESS)
        *(volatile int *)parameter = 1;
}

int main(void)
{
    lapi_cntr_t cmpl;
    begin_sample();
    lapi_long_t *headers = malloc(tasks * sizeof *headers);
    MUST(LAPI_Address_init64(hndl, (lapi_long_t)(unsigned long)header, headers));
    MUST(LAPI_Setcntr(hndl, &cmpl, 0));
    if (task % 2 == 0) {
        int value = 100 + task;
        lapi_xfer_t xfer;
        memset(&xfer, 0, sizeof xfer);
        xfer.Am.Xfer_type = LAPI_AM_XFER;
        xfer.Am.tgt = buddy;
        xfer.Am.hdr_hdl = headers[buddy];
        xfer.Am.udata = &value;
        xfer.Am.udata_len = sizeof value;
        xfer.Am.shdlr = may_be_changed;
        xfer.Am.sinfo = (void *)&sent;
        xfer.Am.cmpl_cntr = &cmpl;
        MUST(LAPI_Xfer(hndl, &xfer));
        MUST(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
        printf("task %d: send completion handler %s\n", task, sent ? "has run" : "HAS NOT RUN");
    }
    end_sample();
    return 0;
}
