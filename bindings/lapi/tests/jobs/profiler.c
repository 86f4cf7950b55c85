/*
 * A profiling library: it defines some of the subroutines and calls their other names. What the library calls for itself
 * (a global fence fences, for instance) must not be counted.
 */
//= LAPI Guide, chapter 9, LAPI_* may be replaced and PLAPI_* called
//= type=test
#include <lapi.h>
#include <stdio.h>

static int inits, xfers, waits, fences, addresses;

int LAPI_Init(lapi_handle_t *hndl, lapi_info_t *info)
{
    inits++;
    return PLAPI_Init(hndl, info);
}

int LAPI_Xfer(lapi_handle_t hndl, lapi_xfer_t *xfer)
{
    xfers++;
    return PLAPI_Xfer(hndl, xfer);
}

int LAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val, int *left)
{
    waits++;
    return PLAPI_Waitcntr(hndl, cntr, val, left);
}

int LAPI_Fence(lapi_handle_t hndl)
{
    fences++;
    return PLAPI_Fence(hndl);
}

int LAPI_Address_init(lapi_handle_t hndl, void *mine, void *table[])
{
    addresses++;
    return PLAPI_Address_init(hndl, mine, table);
}

int LAPI_Term(lapi_handle_t hndl)
{
    printf("init %d xfer %d wait %d fence %d address %d\n", inits, xfers, waits, fences, addresses);
    return PLAPI_Term(hndl);
}
