/* Compiled under every standard of C and C++: the header needs nothing before it. */
#include <lapi.h>
#include <lapi.h>

static lapi_cntr_t counter;

static void on_error(lapi_handle_t *hndl, int *code, lapi_err_t *type, int *task, int *src)
{
    (void)hndl, (void)code, (void)type, (void)task, (void)src;
}

int use_everything(lapi_handle_t hndl)
{
    lapi_info_t info;
    uint cnt = 3;
    ulong len = LAPI_MAX_MSG_SZ;
    lapi_msg_info_t state;

    info.err_hndlr = (LAPI_err_hndlr)on_error;
    (void)info;
    (void)len;
    return LAPI_Setcntr(hndl, &counter, 0) + PLAPI_Msgpoll(hndl, cnt, &state);
}
