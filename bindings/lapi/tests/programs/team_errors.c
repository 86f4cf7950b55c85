/*
 * What calls of teams refuse, with which code and which text; calls that don't match; what goes on afterwards.
 * tasks: 3
 */
#include "check.h"

#include <lapis.h>

static char text[256];

/* A call that is refused with this code, and these words for people. */
#define REFUSED(code, words, call) \
    do { \
        GIVES(code, call); \
        OK(lapis_error_text(text, sizeof text)); \
        if (!strstr(text, words)) \
            failed(__FILE__, __LINE__, #call " should say " words, text); \
    } while (0)

static volatile int handled;

static void *collective(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    lapis_request_t request;
    (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    CHECK(lapis_barrier(*h, LAPIS_WORLD) != LAPI_SUCCESS);
    request = LAPIS_NO_REQUEST;
    CHECK(lapis_wait(*h, &request) == LAPI_SUCCESS);
    *done = NULL;
    handled = 1;
    return NULL;
}

static void never(lapi_handle_t *h, void *arg)
{
    (void)h, (void)arg;
    CHECK(0);
}

static void teams(void)
{
    lapis_team_t made;
    unsigned twice[2] = {0, 0}, foreign[2] = {me, 4711}, others[1] = {(me + 1) % tasks}, beyond = 4711, value;
    int there;

    REFUSED(LAPIS_ERR_GROUP, "no members", lapis_team_of(hndl, 0, NULL, &made));
    REFUSED(LAPIS_ERR_GROUP, "twice", lapis_team_of(hndl, 2, twice, &made));
    REFUSED(LAPIS_ERR_GROUP, "4711", lapis_team_of(hndl, 2, foreign, &made));
    REFUSED(LAPIS_ERR_COUNT, "tasks is NULL", lapis_team_of(hndl, 2, NULL, &made));
    REFUSED(LAPI_ERR_RET_PTR_NULL, "made", lapis_team_of(hndl, 1, others, NULL));
    REFUSED(LAPIS_ERR_GROUP, "stride", lapis_team_strided(hndl, 0, 0, 2, &made));
    if (tasks > 1)
        REFUSED(LAPIS_ERR_GROUP, "none of the group", lapis_team_of(hndl, 1, others, &made));
    REFUSED(LAPIS_ERR_ROOT, "4711", lapis_team_include(hndl, LAPIS_WORLD, 1, &beyond, &made));
    REFUSED(LAPIS_ERR_ROOT, "4711", lapis_team_task(hndl, LAPIS_WORLD, 4711, &value));
    REFUSED(LAPIS_ERR_ROOT, "4711", lapis_team_translate(hndl, LAPIS_WORLD, 4711, LAPIS_WORLD, &there));
    REFUSED(LAPI_ERR_RET_PTR_NULL, "size", lapis_team_size(hndl, LAPIS_WORLD, NULL));
    REFUSED(LAPIS_ERR_TEAM, "LAPIS_NO_TEAM", lapis_barrier(hndl, LAPIS_NO_TEAM));
    REFUSED(LAPIS_ERR_TEAM, "12345678", lapis_barrier(hndl, 12345678));
    REFUSED(LAPIS_ERR_TEAM, "freed", lapis_team_free(hndl, LAPIS_WORLD));
}

static void arguments(void)
{
    long long data[4] = {0};
    ulong counts[3] = {1, 1, 1};
    lapis_request_t request = LAPIS_NO_REQUEST;

    REFUSED(LAPI_ERR_HNDL_INVALID, "4711", lapis_barrier(4711, LAPIS_WORLD));
    REFUSED(LAPIS_ERR_ROOT, "4711", lapis_bcast(hndl, LAPIS_WORLD, data, 1, LAPIS_I64, 4711));
    REFUSED(LAPIS_ERR_TYPE, "0x63", lapis_bcast(hndl, LAPIS_WORLD, data, 1, 99, 0));
    REFUSED(LAPIS_ERR_TYPE, "0x40000000", lapis_bcast(hndl, LAPIS_WORLD, data, 1, LAPIS_BYTES(0), 0));
    REFUSED(LAPIS_ERR_OP, "99", lapis_allreduce(hndl, LAPIS_WORLD, data, data, 1, LAPIS_I64, 99));
    REFUSED(LAPIS_ERR_OP, "BitAnd", lapis_allreduce(hndl, LAPIS_WORLD, data, data, 1, LAPIS_F64, LAPIS_BIT_AND));
    REFUSED(LAPIS_ERR_OP, "MinAt", lapis_iallreduce(hndl, LAPIS_WORLD, data, data, 1, LAPIS_I64, LAPIS_MIN_AT, &request));
    REFUSED(LAPIS_ERR_OP, "fold", lapis_op_create(hndl, NULL, 0, NULL, &request));
    REFUSED(LAPIS_ERR_BUFFER, "3 elements of output", lapis_bcast(hndl, LAPIS_WORLD, NULL, 3, LAPIS_I64, 0));
    REFUSED(LAPIS_ERR_BUFFER, "input", lapis_allreduce(hndl, LAPIS_WORLD, NULL, data, 3, LAPIS_I64, LAPIS_SUM));
    REFUSED(LAPIS_ERR_BUFFER, "broadcast", lapis_bcast(hndl, LAPIS_WORLD, LAPIS_IN_PLACE, 3, LAPIS_I64, 0));
    REFUSED(LAPIS_ERR_BUFFER, "output", lapis_allreduce(hndl, LAPIS_WORLD, data, LAPIS_IN_PLACE, 3, LAPIS_I64, LAPIS_SUM));
    REFUSED(LAPIS_ERR_BUFFER, "in place",
            lapis_allreduce(hndl, LAPIS_WORLD, LAPIS_IN_PLACE, LAPIS_IN_PLACE, 3, LAPIS_I64, LAPIS_SUM));
    REFUSED(LAPIS_ERR_BUFFER, "NULL", lapis_allreduce(hndl, LAPIS_WORLD, LAPIS_IN_PLACE, NULL, 3, LAPIS_I64, LAPIS_SUM));
    REFUSED(LAPIS_ERR_BUFFER, "in place", lapis_bcastw(hndl, LAPIS_WORLD, LAPIS_IN_PLACE, 8, NULL, 0));
    if (me)
        REFUSED(LAPIS_ERR_BUFFER, "input", lapis_gather(hndl, LAPIS_WORLD, LAPIS_IN_PLACE, data, 1, LAPIS_I64, 0));
    REFUSED(LAPIS_ERR_COUNT, "address space", lapis_bcast(hndl, LAPIS_WORLD, data, ~0ul / 4, LAPIS_I64, 0));
    REFUSED(LAPIS_ERR_COUNT, "starts", lapis_allgatherv(hndl, LAPIS_WORLD, data, data, counts, NULL, LAPIS_I64));
    REFUSED(LAPI_ERR_RET_PTR_NULL, "request", lapis_ibarrier(hndl, LAPIS_WORLD, NULL));
    REFUSED(LAPI_ERR_RET_PTR_NULL, "request", lapis_wait(hndl, NULL));
    request = 77;
    REFUSED(LAPIS_ERR_REQUEST, "77", lapis_wait(hndl, &request));
    REFUSED(LAPIS_ERR_REQUEST, "77", lapis_start(hndl, &request));
    OK(lapis_ibarrier(hndl, LAPIS_WORLD, &request));
    REFUSED(LAPIS_ERR_REQUEST, "lapis_i*", lapis_start(hndl, &request));
    REFUSED(LAPI_ERR_CNTR_NULL, "cntr", lapis_request_count(hndl, &request, NULL));
    REFUSED(LAPIS_ERR_REQUEST, "NULL", lapis_request_then(hndl, &request, NULL, NULL));
    OK(lapis_wait(hndl, &request));
    OK(lapis_barrier_init(hndl, LAPIS_WORLD, &request));
    REFUSED(LAPIS_ERR_REQUEST, "lapis_*_init", lapis_request_then(hndl, &request, never, NULL));
    OK(lapis_request_free(hndl, &request));
    GIVES(LAPI_ERR_RET_PTR_NULL, lapis_error_text(NULL, 9));
    OK(lapis_error_text(text, 5));
    CHECK(strlen(text) == 4);
}

/* Members' calls that don't match end their team everywhere, and no other. */
static void mismatches(void)
{
    long long data[600] = {0};
    lapis_request_t request;
    lapis_team_t made;
    int kind, code;

    for (kind = 0; tasks > 1 && kind < 4; kind++) {
        OK(lapis_team_strided(hndl, 0, 1, tasks, &made));
        if (kind == 0)
            code = lapis_allreduce(hndl, made, data, data, me ? 4 : 3, LAPIS_I64, LAPIS_SUM);
        else if (kind == 1)
            code = lapis_allreduce(hndl, made, data, data, 300, me ? LAPIS_I64 : LAPIS_F64, LAPIS_SUM);
        else if (kind == 2)
            code = me ? lapis_barrier(hndl, made) : lapis_allreduce(hndl, made, data, data, 1, LAPIS_I64, LAPIS_MAX);
        else {
            OK(lapis_iallreduce(hndl, made, data, data, 1, LAPIS_I64, me ? LAPIS_MAX : LAPIS_MIN, &request));
            code = lapis_wait(hndl, &request);
            CHECK(request == LAPIS_NO_REQUEST);
        }
        CHECK(code == LAPIS_ERR_MISMATCH || code == LAPIS_ERR_TEAM_OVER);
        code = lapis_barrier(hndl, made);
        CHECK(code == LAPIS_ERR_MISMATCH || code == LAPIS_ERR_TEAM_OVER);
        OK(lapis_error_text(text, sizeof text));
        CHECK(strstr(text, "task ") != NULL);
        OK(lapis_barrier(hndl, LAPIS_WORLD));
        OK(lapis_team_free(hndl, made));
    }
}

int main(void)
{
    start();
    OK(LAPI_Addr_set(hndl, (void *)collective, 1));
    teams();
    arguments();
    OK(lapis_barrier(hndl, LAPIS_WORLD));
    OK(LAPI_Amsend(hndl, (me + 1) % tasks, (void *)1, NULL, 0, NULL, 0, NULL, NULL, NULL));
    while (!handled)
        OK(LAPI_Probe(hndl));
    OK(lapis_barrier(hndl, LAPIS_WORLD));
    mismatches();
    finish();
    return 0;
}
