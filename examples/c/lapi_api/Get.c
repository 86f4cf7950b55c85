/* LAPI_Get: the even task reads the odd one's memory. */
#include "../sample.h"

static int box;

int main(void)
{
    lapi_cntr_t org;
    begin_sample();
    box = 100 + task;
    MUST(LAPI_Setcntr(hndl, &org, 0));
    void **boxes = addresses_of(&box);
    if (task % 2 == 0) {
        int value = 0;
        MUST(LAPI_Get(hndl, buddy, sizeof value, boxes[buddy], &value, NULL, &org));
        MUST(LAPI_Waitcntr(hndl, &org, 1, NULL));
        printf("task %d found %d at task %d\n", task, value, buddy);
    }
    end_sample();
    return 0;
}
