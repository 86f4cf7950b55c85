/* LAPI_Xfer with a put: target and completion counters. */
#include "../sample.h"

static int box;
static lapi_cntr_t tgt, cmpl;

int main(void)
{
    begin_sample();
    MUST(LAPI_Setcntr(hndl, &tgt, 0));
    MUST(LAPI_Setcntr(hndl, &cmpl, 0));
    lapi_long_t *boxes = malloc(tasks * sizeof *boxes), *counters = malloc(tasks * sizeof *counters);
    MUST(LAPI_Address_init64(hndl, (lapi_long_t)(unsigned long)&box, boxes));
    MUST(LAPI_Address_init64(hndl, (lapi_long_t)(unsigned long)&tgt, counters));
    if (task % 2 == 0) {
        int value = 100 + buddy;
        lapi_xfer_t xfer;
        memset(&xfer, 0, sizeof xfer);
        xfer.Put.Xfer_type = LAPI_PUT_XFER;
        xfer.Put.tgt = buddy;
        xfer.Put.tgt_addr = boxes[buddy];
        xfer.Put.org_addr = &value;
        xfer.Put.len = sizeof value;
        xfer.Put.tgt_cntr = counters[buddy];
        xfer.Put.cmpl_cntr = &cmpl;
        MUST(LAPI_Xfer(hndl, &xfer));
        MUST(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    } else {
        MUST(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
        printf("task %d has %d in its box\n", task, box);
    }
    end_sample();
    return 0;
}
