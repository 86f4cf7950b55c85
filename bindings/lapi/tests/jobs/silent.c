/* Two of three tasks fall silent; the third is told of each after TIMEOUT, and ends the job. */
#include "../programs/check.h"
#include <stdlib.h>

static volatile int heard;

static void on_error(lapi_handle_t *h, int *code, lapi_err_t *type, int *about, int *source)
{
    (void)h, (void)about;
    CHECK(*code == LAPI_ERR_TIMEOUT && *type == LAPI_COMMUNICATION_ERROR && *source > 0);
    __atomic_or_fetch(&heard, 1 << *source, __ATOMIC_RELAXED);
}

int main(void)
{
    lapi_info_t info;
    memset(&info, 0, sizeof info);
    info.err_hndlr = on_error;
    OK(LAPI_Init(&hndl, &info));
    OK(LAPI_Qenv(hndl, TASK_ID, &me));
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
    OK(LAPI_Senv(hndl, TIMEOUT, 10));
    OK(LAPI_Gfence(hndl));
    if (me != 0)
        for (;;)
            pause();
    /* Who is still in the fence when a message comes answers it. */
    usleep(300000);
    for (int to = 1; to < 3; to++)
        OK(LAPI_Amsend(hndl, to, (void *)1, NULL, 0, NULL, 0, NULL, NULL, NULL));
    while (heard != 6)
        OK(LAPI_Probe(hndl));
    exit(9);
}
