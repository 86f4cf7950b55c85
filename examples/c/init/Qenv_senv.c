/* Every runtime attribute with its value, and those that can be set with another one. */
//= LAPI Guide, table 32, default values of LAPI runtime parameters
//= LAPI Guide, table 32, setting of LAPI runtime parameters
//= type=test
#include "../sample.h"

static int value_of(lapi_query_t query)
{
    int value;
    MUST(LAPI_Qenv(hndl, query, &value));
    return value;
}

#define SHOW(query) printf("%-20s %d\n", #query, value_of(query))
#define SET(query, value) \
    do { \
        MUST(LAPI_Senv(hndl, query, value)); \
        printf("%-20s %d now\n", #query, value_of(query)); \
    } while (0)

int main(void)
{
    begin_sample();
    if (task == 0) {
        SHOW(TASK_ID);
        SHOW(NUM_TASKS);
        SHOW(MAX_UHDR_SZ);
        SHOW(ERROR_CHK);
        SHOW(TIMEOUT);
        SHOW(MIN_TIMEOUT);
        SHOW(MAX_TIMEOUT);
        SHOW(INTERRUPT_SET);
        SHOW(MAX_PORTS);
        SHOW(MAX_PKT_SZ);
        SHOW(NUM_REX_BUFS);
        SHOW(REX_BUF_SZ);
        SHOW(LOC_ADDRTBL_SZ);
        SHOW(MAX_ATOM_SIZE);
        SHOW(BUF_CP_SIZE);
        SHOW(MAX_PKTS_OUT);
        SHOW(ACK_THRESHOLD);
        SHOW(QUERY_SHM_ENABLED);
        SHOW(QUERY_SHM_NUM_TASKS);
        SHOW(BULK_XFER);
        SHOW(BULK_MIN_MSG_SIZE);
        SET(ACK_THRESHOLD, 10);
        SET(ERROR_CHK, 1);
        SET(INTERRUPT_SET, 0);
        SET(TIMEOUT, 60);
        MUST(LAPI_Senv(hndl, INTERRUPT_SET, 1));
        int unused;
        MUST(LAPI_Qenv(hndl, PRINT_STATISTICS, &unused));
    }
    end_sample();
    return 0;
}
