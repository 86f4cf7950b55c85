/*
 * ACP and LAPI in one program: neither disturbs the other.
 * tasks: 2
 */
#include "acheck.h"
#include <lapi.h>

int main(int argc, char **argv)
{
    lapi_handle_t lapi;
    lapi_info_t info;
    memset(&info, 0, sizeof info);
    join(&argc, &argv);
    OK(LAPI_Init(&lapi, &info));
    static long counted;
    void **table = calloc(procs, sizeof *table);
    OK(LAPI_Address_init(lapi, &counted, table));
    acp_atkey_t key;
    acp_ga_t ga[64];
    exchange(registered(&counted, sizeof counted, &key), ga);
    int other = (me + 1) % procs;
    for (int i = 0; i < 100; i++) {
        long long one = 1;
        lapi_cntr_t done;
        OK(LAPI_Setcntr(lapi, &done, 0));
        OK(LAPI_Rmw64(lapi, FETCH_AND_ADD, other, table[other], &one, NULL, &done));
        started(acp_add8(starter(me) + 1024, ga[other], 1, ACP_HANDLE_NULL));
        OK(LAPI_Waitcntr(lapi, &done, 1, NULL));
    }
    acp_complete(ACP_HANDLE_ALL);
    OK(LAPI_Gfence(lapi));
    OK(acp_sync());
    GIVES(200, counted);
    OK(LAPI_Term(lapi));
    OK(acp_finalize());
    return 0;
}
