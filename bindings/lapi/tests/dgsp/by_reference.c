/*
 * DDM functions that a Fortran program registers, which get their numbers by reference: any number of them, one after the other,
 * and none of C's is taken for one of them.
 */
//= LAPI Guide, LAPI_Util, LAPI_REG_DDM_FUNC
//= type=test
#include "program.h"

/* As a Fortran program calls it. */
void lapi_util_(lapi_handle_t *hndl, void *command, int *ierror);

static int ran;

#define FUNCTION(n) \
    static long function_##n(void *in, void *inout, long *bytes, int *operand, int *operation) \
    { \
        CHECK(*bytes == 8 && *operand == 7 && *operation == 3); \
        memcpy(inout, in, *bytes); \
        ran = n; \
        return *bytes; \
    }
#define EACH(what) \
    what(1) what(2) what(3) what(4) what(5) what(6) what(7) what(8) what(9) what(10) what(11) what(12) what(13) what(14) \
    what(15) what(16) what(17) what(18) what(19) what(20)
#define NAME(n) (void *)function_##n,

EACH(FUNCTION)
static void *const functions[] = {EACH(NAME)};
#define FUNCTIONS (int)(sizeof functions / sizeof *functions)

static long in_c(void *in, void *inout, long bytes, int operand, int operation)
{
    CHECK(bytes == 8 && operand == 7 && operation == 3);
    memcpy(inout, in, bytes);
    ran = -1;
    return bytes;
}

static void registers(void *function)
{
    int error = -1;
    lapi_reg_ddm_t command = {.Util_type = LAPI_REG_DDM_FUNC, .ddm_func = (ddm_func_t *)function};
    lapi_util_(&hndl, &command, &error);
    GIVES(LAPI_SUCCESS, error);
    CHECK((void *)command.ddm_func == function);
}

static lapi_dg_handle_t combining(void)
{
    static struct program p;
    describe(&p, 8, 8, 0, 8);
    p.descr.atom_size = 8;
    control(&p, 3, 7);
    copy(&p, 0, 8);
    iterate(&p, 0);
    return registered(&p);
}

int main(void)
{
    start();
    lapi_dg_handle_t handle = combining();
    char from[8] = "arrives", to[8];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < FUNCTIONS; i++) {
            ulong position = 0;
            memset(to, 0, sizeof to);
            registers(functions[i]);
            OK(unpack(handle, from, 8, to, 8, 8, &position));
            CHECK(ran == i + 1 && !memcmp(from, to, 8));
        }
        ulong position = 0;
        ddm(in_c);
        OK(unpack(handle, from, 8, to, 8, 8, &position));
        CHECK(ran == -1);
        position = 0;
        registers(NULL);
        GIVES(LAPI_ERR_DGSP_CTL, unpack(handle, from, 8, to, 8, 8, &position));
    }
    OK(unreserve(hndl, handle));
    finish();
    return 0;
}
