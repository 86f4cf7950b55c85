/*
 * LAPI_Term lets completion handlers that are still running end. Messages that arrive meanwhile find their handlers.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Term, terminates a context
//= type=test
#include "check.h"

static char box[8], data[8];
static volatile int begun, arrived;

static void waits(lapi_handle_t *h, void *info)
{
    (void)h, (void)info;
    for (int i = 0; i < 3000 && !arrived; i++)
        usleep(1000);
}

static void *first(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = waits;
    begun = 1;
    return box;
}

static void *second(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    arrived = 1;
    return box;
}

int main(void)
{
    start();
    CHECK(tasks == 2);
    OK(LAPI_Gfence(hndl));
    if (me == 0) {
        /* By this task's own addresses, which mean the same functions in the other one. */
        OK(LAPI_Amsend(hndl, 1, (void *)first, NULL, 0, data, sizeof data, NULL, NULL, NULL));
        usleep(300000);
        OK(LAPI_Amsend(hndl, 1, (void *)second, NULL, 0, data, sizeof data, NULL, NULL, NULL));
    } else {
        while (!begun) {
            usleep(1000);
            OK(LAPI_Probe(hndl));
        }
    }
    OK(LAPI_Term(hndl));
    CHECK(me == 0 || arrived);
    return 0;
}
