/*
 * Each code that a call returns for bad parameters, by just the condition that the guide names; with ERROR_CHK off, too, for
 * all of these checks cost nothing.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Addr_set, LAPI_ERR_ADDR_HNDL_RANGE
//= LAPI Guide, LAPI_Addr_get, LAPI_ERR_ADDR_HNDL_RANGE
//= LAPI Guide, LAPI_Address, LAPI_ERR_ORG_ADDR_NULL and LAPI_ERR_TGT_ADDR_NULL
//= LAPI Guide, LAPI_Address_init, LAPI_ERR_RET_PTR_NULL and LAPI_ERR_COLLECTIVE_PSS
//= LAPI Guide, LAPI_Amsend, LAPI_ERR_ORG_ADDR_NULL
//= LAPI Guide, LAPI_Amsend, LAPI_ERR_UHDR_NULL, LAPI_ERR_UHDR_LEN, LAPI_ERR_HDR_LEN, LAPI_ERR_HDR_HNDLR_NULL
//= LAPI Guide, LAPI_Put, LAPI_ERR_TGT, LAPI_ERR_DATA_LEN, LAPI_ERR_TGT_ADDR_NULL, LAPI_ERR_ORG_ADDR_NULL
//= LAPI Guide, LAPI_Rmw, LAPI_ERR_RMW_OP, LAPI_ERR_TGT, LAPI_ERR_TGT_VAR_NULL, LAPI_ERR_IN_VAL_NULL
//= LAPI Guide, LAPI_Setcntr, LAPI_ERR_CNTR_NULL
//= LAPI Guide, LAPI_Setcntr, sets a counter
//= LAPI Guide, LAPI_Getcntr, reads a counter
//= LAPI Guide, LAPI_Util, LAPI_ERR_UDP_PORT_INFO
//= LAPI Guide, LAPI_Util, LAPI_ADD_UDP_DEST_PORT, table 21
//= LAPI Guide, LAPI_Msgpoll, LAPI_ERR_MSG_INFO_NULL
//= LAPI Guide, LAPI_Msg_string, LAPI_ERR_RET_PTR_NULL and LAPI_ERR_CODE_UNKNOWN
//= LAPI Guide, LAPI_Qenv, LAPI_ERR_QUERY_TYPE and LAPI_ERR_RET_PTR_NULL
//= LAPI Guide, LAPI_Senv, LAPI_ERR_SET_VAL
//= LAPI Guide, LAPI_Senv, LAPI_ERR_QUERY_TYPE
//= LAPI Guide, LAPI_Xfer, LAPI_ERR_XFER_CMD
//= LAPI Guide, LAPI_Xfer, LAPI_ERR_OP_SZ
//= LAPI Guide, LAPI_Nopoll_wait, LAPI_ERR_CNTR_VAL
//= type=test
#include "check.h"

static char memory[64];
static int checking;
static lapi_cntr_t cntr;

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    *done = NULL;
    return NULL;
}

static void initialization(void)
{
    lapi_handle_t other;
    lapi_info_t info;
    memset(&info, 0, sizeof info);
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Init(NULL, &info));
    GIVES(LAPI_ERR_INFO_NULL, LAPI_Init(&other, NULL));
    info.info6 = 1;
    GIVES(LAPI_ERR_INFO_NONZERO, LAPI_Init(&other, &info));
    GIVES(LAPI_ERR_INFO_NONZERO_INFO, LAPI_Init(&other, &info));
}

static void handles(lapi_handle_t bad)
{
    void *table[2], *address;
    lapi_long_t table64[2];
    lapi_msg_info_t poll;
    lapi_vec_t vec;
    lapi_xfer_t xfer;
    lapi_util_t util;
    int value;
    uint list[1] = {0};
    memset(&vec, 0, sizeof vec);
    memset(&xfer, 0, sizeof xfer);
    memset(&util, 0, sizeof util);
    util.Util_type = LAPI_GET_THREAD_FUNC;
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Addr_get(bad, &address, 1));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Addr_set(bad, memory, 1));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Address_init(bad, memory, table));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Address_init64(bad, 0, table64));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Amsend(bad, 0, (void *)header, NULL, 0, NULL, 0, NULL, NULL, NULL));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Amsendv(bad, 0, (void *)header, NULL, 0, &vec, NULL, NULL, NULL));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Fence(bad));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Get(bad, 0, 0, NULL, NULL, NULL, NULL));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Getcntr(bad, &cntr, &value));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Getv(bad, 0, &vec, &vec, NULL, NULL));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Gfence(bad));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Msgpoll(bad, 1, &poll));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Nopoll_wait(bad, &cntr, 1, &value));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Probe(bad));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Purge_totask(bad, 0));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Put(bad, 0, 0, NULL, NULL, NULL, NULL, NULL));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Putv(bad, 0, &vec, &vec, NULL, NULL, NULL));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Qenv(bad, TASK_ID, &value));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Resume_totask(bad, 0));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Rmw(bad, SWAP, 0, &value, &value, NULL, NULL));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Rmw64(bad, SWAP, 0, (long long *)memory, (long long *)memory, NULL, NULL));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Senv(bad, ERROR_CHK, 1));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Setcntr(bad, &cntr, 0));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Setcntr_wstatus(bad, &cntr, 1, list, &value));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Term(bad));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Util(bad, &util));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Waitcntr(bad, &cntr, 1, &value));
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Xfer(bad, &xfer));
}

static void addresses(void)
{
    void *address;
    ulong number;
    int size;
    OK(LAPI_Qenv(hndl, LOC_ADDRTBL_SZ, &size));
    CHECK(size >= 64);
    GIVES(LAPI_ERR_ADDR_HNDL_RANGE, LAPI_Addr_set(hndl, memory, 0));
    GIVES(LAPI_ERR_ADDR_HNDL_RANGE, LAPI_Addr_set(hndl, memory, -1));
    GIVES(LAPI_ERR_ADDR_HNDL_RANGE, LAPI_Addr_set(hndl, memory, size));
    GIVES(LAPI_ERR_ADDR_HNDL_RANGE, LAPI_Addr_get(hndl, &address, 0));
    GIVES(LAPI_ERR_ADDR_HNDL_RANGE, LAPI_Addr_get(hndl, &address, size));
    GIVES(LAPI_ERR_RET_PTR_NULL, LAPI_Addr_get(hndl, NULL, 1));
    OK(LAPI_Addr_set(hndl, memory, size - 1));
    OK(LAPI_Addr_get(hndl, &address, size - 1));
    CHECK(address == memory);
    GIVES(LAPI_ERR_ORG_ADDR_NULL, LAPI_Address(NULL, &number));
    GIVES(LAPI_ERR_TGT_ADDR_NULL, LAPI_Address(memory, NULL));
    OK(LAPI_Address(memory, &number));
    CHECK(number == (ulong)memory);
    GIVES(LAPI_ERR_RET_PTR_NULL, LAPI_Address_init(hndl, memory, NULL));
    GIVES(LAPI_ERR_RET_PTR_NULL, LAPI_Address_init64(hndl, 0, NULL));
}

/* Behind the indexes come numbers that are no addresses either. */
static void no_handlers(void)
{
    int size;
    OK(LAPI_Qenv(hndl, LOC_ADDRTBL_SZ, &size));
    for (int i = 0; i < 4; i++) {
        void *number = (void *)(uintptr_t)(i < 2 ? size + i : 4095);
        lapi_xfer_t xfer;
        memset(&xfer, 0, sizeof xfer);
        xfer.Am.Xfer_type = LAPI_AM_XFER;
        xfer.Am.tgt = me;
        xfer.Am.hdr_hdl = (lapi_long_t)(uintptr_t)number;
        GIVES(LAPI_ERR_ADDR_HNDL_RANGE, LAPI_Amsend(hndl, me, number, NULL, 0, memory, 8, NULL, NULL, NULL));
        GIVES(LAPI_ERR_ADDR_HNDL_RANGE, LAPI_Amsend(hndl, me, number, memory, 8, NULL, 0, NULL, &cntr, NULL));
        GIVES(LAPI_ERR_ADDR_HNDL_RANGE, LAPI_Amsendv(hndl, me, number, NULL, 0, NULL, NULL, NULL, NULL));
        GIVES(LAPI_ERR_ADDR_HNDL_RANGE, LAPI_Xfer(hndl, &xfer));
    }
}

static void messages(void)
{
    int longest;
    static char uhdr[4096];
    OK(LAPI_Qenv(hndl, MAX_UHDR_SZ, &longest));
    CHECK(longest >= 512 && longest <= (int)sizeof uhdr - 8);
    /* Unchecked, that is the target's error. */
    if (checking)
        GIVES(LAPI_ERR_HDR_HNDLR_NULL, LAPI_Amsend(hndl, 0, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL));
    no_handlers();
    GIVES(LAPI_ERR_TGT, LAPI_Amsend(hndl, tasks, (void *)header, NULL, 0, NULL, 0, NULL, NULL, NULL));
    GIVES(LAPI_ERR_UHDR_NULL, LAPI_Amsend(hndl, me, (void *)header, NULL, 8, NULL, 0, NULL, NULL, NULL));
    GIVES(LAPI_ERR_UHDR_LEN, LAPI_Amsend(hndl, me, (void *)header, uhdr, longest + 4, NULL, 0, NULL, NULL, NULL));
    GIVES(LAPI_ERR_HDR_LEN, LAPI_Amsend(hndl, me, (void *)header, uhdr, 6, NULL, 0, NULL, NULL, NULL));
    GIVES(LAPI_ERR_ORG_ADDR_NULL, LAPI_Amsend(hndl, me, (void *)header, NULL, 0, NULL, 1, NULL, NULL, NULL));
    GIVES(LAPI_ERR_DATA_LEN,
          LAPI_Amsend(hndl, me, (void *)header, NULL, 0, memory, LAPI_MAX_MSG_SZ + 1ul, NULL, NULL, NULL));
    /* Multiples of 4 are fine, and so is the longest. */
    OK(LAPI_Amsend(hndl, me, (void *)header, uhdr, 12, NULL, 0, NULL, NULL, NULL));
    OK(LAPI_Amsend(hndl, me, (void *)header, uhdr, longest, NULL, 0, NULL, NULL, NULL));

    GIVES(LAPI_ERR_TGT, LAPI_Put(hndl, tasks, 1, memory, memory, NULL, NULL, NULL));
    GIVES(LAPI_ERR_TGT_ADDR_NULL, LAPI_Put(hndl, me, 1, NULL, memory, NULL, NULL, NULL));
    GIVES(LAPI_ERR_ORG_ADDR_NULL, LAPI_Put(hndl, me, 1, memory, NULL, NULL, NULL, NULL));
    GIVES(LAPI_ERR_DATA_LEN, LAPI_Put(hndl, me, LAPI_MAX_MSG_SZ + 1ul, memory, memory, NULL, NULL, NULL));
    GIVES(LAPI_ERR_TGT, LAPI_Get(hndl, -1, 1, memory, memory, NULL, NULL));
    GIVES(LAPI_ERR_TGT_ADDR_NULL, LAPI_Get(hndl, me, 1, NULL, memory, NULL, NULL));
    GIVES(LAPI_ERR_ORG_ADDR_NULL, LAPI_Get(hndl, me, 1, memory, NULL, NULL, NULL));
    GIVES(LAPI_ERR_DATA_LEN, LAPI_Get(hndl, me, LAPI_MAX_MSG_SZ + 1ul, memory, memory, NULL, NULL));
    OK(LAPI_Put(hndl, me, 0, NULL, NULL, NULL, NULL, NULL));
    OK(LAPI_Get(hndl, me, 0, NULL, NULL, NULL, NULL));
}

static void atomics(void)
{
    int variable = 0, in = 1;
    long long variable64 = 0, in64 = 1;
    GIVES(LAPI_ERR_RMW_OP, LAPI_Rmw(hndl, (RMW_ops_t)77, me, &variable, &in, NULL, NULL));
    GIVES(LAPI_ERR_TGT, LAPI_Rmw(hndl, SWAP, tasks, &variable, &in, NULL, NULL));
    GIVES(LAPI_ERR_TGT_VAR_NULL, LAPI_Rmw(hndl, SWAP, me, NULL, &in, NULL, NULL));
    GIVES(LAPI_ERR_IN_VAL_NULL, LAPI_Rmw(hndl, SWAP, me, &variable, NULL, NULL, NULL));
    GIVES(LAPI_ERR_RMW_OP, LAPI_Rmw64(hndl, (Rmw_ops_t)-1, me, &variable64, &in64, NULL, NULL));
    GIVES(LAPI_ERR_TGT, LAPI_Rmw64(hndl, SWAP, tasks, &variable64, &in64, NULL, NULL));
    GIVES(LAPI_ERR_TGT_VAR_NULL, LAPI_Rmw64(hndl, SWAP, me, NULL, &in64, NULL, NULL));
    GIVES(LAPI_ERR_IN_VAL_NULL, LAPI_Rmw64(hndl, SWAP, me, &variable64, NULL, NULL, NULL));
}

static void counters(void)
{
    int value;
    uint list[1] = {0};
    GIVES(LAPI_ERR_CNTR_NULL, LAPI_Setcntr(hndl, NULL, 0));
    GIVES(LAPI_ERR_CNTR_NULL, LAPI_Getcntr(hndl, NULL, &value));
    GIVES(LAPI_ERR_RET_PTR_NULL, LAPI_Getcntr(hndl, &cntr, NULL));
    GIVES(LAPI_ERR_CNTR_NULL, LAPI_Waitcntr(hndl, NULL, 1, &value));
    GIVES(LAPI_ERR_CNTR_NULL, LAPI_Nopoll_wait(hndl, NULL, 1, &value));
    GIVES(LAPI_ERR_CNTR_VAL, LAPI_Nopoll_wait(hndl, &cntr, 0, &value));
    GIVES(LAPI_ERR_CNTR_VAL, LAPI_Nopoll_wait(hndl, &cntr, -1, &value));
    GIVES(LAPI_ERR_CNTR_NULL, LAPI_Setcntr_wstatus(hndl, NULL, 1, list, &value));
    GIVES(LAPI_ERR_RET_PTR_NULL, LAPI_Setcntr_wstatus(hndl, &cntr, 1, list, NULL));
    OK(LAPI_Setcntr_wstatus(hndl, &cntr, 1, NULL, NULL));
    OK(LAPI_Setcntr(hndl, &cntr, 3));
    OK(LAPI_Waitcntr(hndl, &cntr, 1, NULL));
    OK(LAPI_Nopoll_wait(hndl, &cntr, 2, NULL));
    CHECK(value_of(&cntr) == 0);
}

static void rest(void)
{
    int value;
    char text[LAPI_MAX_ERR_STRING];
    lapi_xfer_t xfer;
    lapi_util_t util;
    memset(&xfer, 0, sizeof xfer);
    memset(&util, 0, sizeof util);
    GIVES(LAPI_ERR_MSG_INFO_NULL, LAPI_Msgpoll(hndl, 1, NULL));
    GIVES(LAPI_ERR_RET_PTR_NULL, LAPI_Msg_string(0, NULL));
    GIVES(LAPI_ERR_CODE_UNKNOWN, LAPI_Msg_string(4711, text));
    GIVES(LAPI_ERR_CODE_UNKNOWN, LAPI_Msg_string(-1, text));
    GIVES(LAPI_ERR_QUERY_TYPE, LAPI_Qenv(hndl, LAST_QUERY, &value));
    GIVES(LAPI_ERR_QUERY_TYPE, LAPI_Qenv(hndl, (lapi_query_t)-1, &value));
    for (int query = 0; query < LAST_QUERY; query++)
        GIVES(LAPI_ERR_RET_PTR_NULL, LAPI_Qenv(hndl, (lapi_query_t)query, NULL));
    GIVES(LAPI_ERR_QUERY_TYPE, LAPI_Senv(hndl, TASK_ID, 1));
    GIVES(LAPI_ERR_QUERY_TYPE, LAPI_Senv(hndl, LAST_QUERY, 1));
    GIVES(LAPI_ERR_SET_VAL, LAPI_Senv(hndl, TIMEOUT, 9));
    GIVES(LAPI_ERR_SET_VAL, LAPI_Senv(hndl, TIMEOUT, 86401));
    GIVES(LAPI_ERR_SET_VAL, LAPI_Senv(hndl, ACK_THRESHOLD, 0));
    GIVES(LAPI_ERR_SET_VAL, LAPI_Senv(hndl, ACK_THRESHOLD, 31));
    xfer.Xfer_type = (lapi_xfer_type_t)99;
    GIVES(LAPI_ERR_XFER_CMD, LAPI_Xfer(hndl, &xfer));
    GIVES(LAPI_ERR_XFER_CMD, LAPI_Xfer(hndl, NULL));
    xfer.Xfer_type = LAPI_RMW_XFER;
    xfer.Rmw.size = 16;
    GIVES(LAPI_ERR_OP_SZ, LAPI_Xfer(hndl, &xfer));
    util.Util_type = (lapi_util_type_t)99;
    GIVES(LAPI_ERR_UTIL_CMD, LAPI_Util(hndl, &util));
    util.Util_type = LAPI_ADD_UDP_DEST_PORT;
    GIVES(LAPI_ERR_UDP_PORT_INFO, LAPI_Util(hndl, &util));
    lapi_udp_t port = {0x0100007f, 0xbeef};
    util.Udp.udp_port = &port;
    util.Udp.tgt = tasks;
    GIVES(LAPI_ERR_TGT, LAPI_Util(hndl, &util));
    GIVES(LAPI_ERR_TGT, LAPI_Purge_totask(hndl, tasks));
    GIVES(LAPI_ERR_TGT, LAPI_Resume_totask(hndl, tasks));
}

int main(void)
{
    int on;
    start();
    OK(LAPI_Qenv(hndl, ERROR_CHK, &on));
    CHECK(on == 0);
    for (checking = 0; checking < 2; checking++) {
        OK(LAPI_Senv(hndl, ERROR_CHK, checking));
        initialization();
        handles(0);
        handles(hndl + 1);
        handles(~0u);
        addresses();
        messages();
        atomics();
        counters();
        rest();
    }
    lapi_handle_t old = hndl;
    finish();
    handles(old);
    return 0;
}
