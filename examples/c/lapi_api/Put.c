/* LAPI_Put: the even task writes into the odd one's memory; a target counter tells that one. */
//= LAPI Guide, table 32, target counter
//= type=test
#include "../sample.h"

static int box;
static lapi_cntr_t tgt;

int main(void)
{
    begin_sample();
    MUST(LAPI_Setcntr(hndl, &tgt, 0));
    void **boxes = addresses_of(&box), **counters = addresses_of(&tgt);
    if (task % 2 == 0) {
        int value = 100 + buddy;
        MUST(LAPI_Put(hndl, buddy, sizeof value, boxes[buddy], &value, counters[buddy], NULL, NULL));
        MUST(LAPI_Fence(hndl));
    } else {
        MUST(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
        printf("task %d has %d in its box\n", task, box);
    }
    end_sample();
    return 0;
}
