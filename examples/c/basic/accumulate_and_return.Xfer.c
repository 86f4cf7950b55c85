/* There by LAPI_Xfer, back by LAPI_Put. */
#include "../sample.h"

#define COUNT 5

static int numbers[COUNT];
static lapi_cntr_t tgt;

int main(void)
{
    int sent[COUNT];
    begin_sample();
    MUST(LAPI_Setcntr(hndl, &tgt, 0));
    void **far = addresses_of(numbers), **counters = addresses_of(&tgt);
    for (int i = 0; i < COUNT; i++)
        sent[i] = i;
    if (task % 2 == 0) {
        lapi_xfer_t xfer;
        memset(&xfer, 0, sizeof xfer);
        xfer.Put.Xfer_type = LAPI_PUT_XFER;
        xfer.Put.tgt = buddy;
        xfer.Put.tgt_addr = (lapi_long_t)(unsigned long)far[buddy];
        xfer.Put.org_addr = sent;
        xfer.Put.len = sizeof sent;
        xfer.Put.tgt_cntr = (lapi_long_t)(unsigned long)counters[buddy];
        MUST(LAPI_Xfer(hndl, &xfer));
    }
    MUST(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
    if (task % 2) {
        for (int i = 0; i < COUNT; i++)
            sent[i] = numbers[i] + 1000;
        MUST(LAPI_Put(hndl, buddy, sizeof sent, far[buddy], sent, counters[buddy], NULL, NULL));
    } else {
        printf("task %d got back %d to %d\n", task, numbers[0], numbers[COUNT - 1]);
    }
    end_sample();
    return 0;
}
