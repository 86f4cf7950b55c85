/* A program that knows nothing of profiling. */
#include <lapi.h>
#include <stdio.h>
#include <string.h>

static char box[16];

int main(void)
{
    lapi_handle_t hndl;
    lapi_info_t info;
    lapi_cntr_t cntr;
    lapi_xfer_t xfer;
    int me;
    memset(&info, 0, sizeof info);
    if (LAPI_Init(&hndl, &info) || LAPI_Qenv(hndl, TASK_ID, &me) || LAPI_Setcntr(hndl, &cntr, 0))
        return 1;
    memset(&xfer, 0, sizeof xfer);
    xfer.Put.Xfer_type = LAPI_PUT_XFER;
    xfer.Put.tgt = me;
    xfer.Put.tgt_addr = (lapi_long_t)(unsigned long)box;
    xfer.Put.org_addr = "profiled";
    xfer.Put.len = 9;
    xfer.Put.cmpl_cntr = &cntr;
    for (int i = 0; i < 3; i++)
        if (LAPI_Xfer(hndl, &xfer) || LAPI_Waitcntr(hndl, &cntr, 1, NULL))
            return 2;
    if (strcmp(box, "profiled") || LAPI_Gfence(hndl) || LAPI_Term(hndl))
        return 3;
    return 0;
}
