/*
 * Tasks that have not met are purged and resumed: what they are sent then arrives.
 * tasks: 6
 */
//= LAPI Guide, LAPI_Purge_totask, cancels messages to a task
//= LAPI Guide, LAPI_Resume_totask, takes up communication again
//= type=test
#include "check.h"

#define MESSAGES 5

static lapi_cntr_t arrived;
static char box[8];

static void *receive(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *len, compl_hndlr_t **done, void **user)
{
    (void)h;
    (void)uhdr;
    (void)uhdr_len;
    (void)user;
    CHECK(*len == sizeof box);
    *done = NULL;
    return box;
}

int main(void)
{
    start();
    OK(LAPI_Setcntr(hndl, &arrived, 0));
    void **handlers = exchange((void *)receive), **counters = exchange(&arrived);
    if (tasks < 6) {
        finish();
        return 0;
    }
    OK(LAPI_Gfence(hndl));
    /* In a barrier of six, task 1 needs no word of task 4. */
    if (me == 1) {
        OK(LAPI_Purge_totask(hndl, 4));
        OK(LAPI_Resume_totask(hndl, 4));
        for (int i = 0; i < MESSAGES; i++)
            OK(LAPI_Amsend(hndl, 4, handlers[4], NULL, 0, box, sizeof box, counters[4], NULL, NULL));
        OK(LAPI_Fence(hndl));
    } else if (me == 4) {
        OK(LAPI_Waitcntr(hndl, &arrived, MESSAGES, NULL));
    }
    finish();
    return 0;
}
