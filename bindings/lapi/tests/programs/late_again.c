/*
 * A message whose handler never comes costs later ones nothing: they, too, wait for theirs.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Amsend, use of LAPI_Addr_set
//= type=test
#include "check.h"

static char box[8], data[8];
static volatile int refused, arrived;
static lapi_cntr_t tgt;

static void hears(lapi_handle_t *h, int *code, lapi_err_t *type, int *task, int *source)
{
    (void)h, (void)type, (void)task, (void)source;
    CHECK(*code == LAPI_ERR_HDR_HNDLR_NULL);
    refused++;
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    arrived++;
    return box;
}

int main(void)
{
    lapi_info_t info;
    memset(&info, 0, sizeof info);
    info.lib_vers = LAST_LIB;
    info.err_hndlr = hears;
    OK(LAPI_Init(&hndl, &info));
    OK(LAPI_Qenv(hndl, TASK_ID, &me));
    OK(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
    CHECK(tasks == 2);
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    void **counters = exchange(&tgt);
    OK(LAPI_Gfence(hndl));
    if (me == 0) {
        OK(LAPI_Amsend(hndl, 1, (void *)9, NULL, 0, data, sizeof data, NULL, NULL, NULL));
        OK(LAPI_Gfence(hndl));
        OK(LAPI_Amsend(hndl, 1, (void *)5, NULL, 0, data, sizeof data, counters[1], NULL, NULL));
    } else {
        while (!refused) {
            usleep(1000);
            OK(LAPI_Probe(hndl));
        }
        OK(LAPI_Gfence(hndl));
        /* The message comes meanwhile. */
        for (int i = 0; i < 20; i++) {
            usleep(1000);
            OK(LAPI_Probe(hndl));
        }
        OK(LAPI_Addr_set(hndl, (void *)header, 5));
        OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
        CHECK(refused == 1 && arrived == 1);
    }
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Term(hndl));
    return 0;
}
