/*
 * Initialization again and again, sixteen handles at once, fork, and no LAPI_Term at the end.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Init, initializes a context
//= LAPI Guide, LAPI_Term, terminates a context
//= LAPI Guide, LAPI_Init, protocol is set to what was initialized
//= type=test
#include "check.h"
#include <sys/wait.h>

static char box[100], data[100];
static lapi_cntr_t cmpl;

static void talk(lapi_handle_t handle)
{
    void *boxes[64];
    OK(LAPI_Setcntr(handle, &cmpl, 0));
    OK(LAPI_Address_init(handle, box, boxes));
    OK(LAPI_Put(handle, (me + 1) % tasks, sizeof data, boxes[(me + 1) % tasks], data, NULL, NULL, &cmpl));
    OK(LAPI_Waitcntr(handle, &cmpl, 1, NULL));
    OK(LAPI_Gfence(handle));
}

int main(void)
{
    lapi_handle_t handles[16], one_more;
    lapi_info_t info;
    memset(&info, 0, sizeof info);
    for (int round = 0; round < 20; round++) {
        lapi_handle_t before = hndl;
        start();
        CHECK(hndl != before);
        if (before)
            GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Probe(before));
        talk(hndl);
        finish();
        GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Term(hndl));
    }
    for (int i = 0; i < 16; i++) {
        OK(LAPI_Init(&handles[i], &info));
        CHECK(info.protocol == (tasks == 1 ? LAPI_SELF_DEV : info.protocol) && info.protocol != LAPI_NO_DEV);
        for (int k = 0; k < i; k++)
            CHECK(handles[k] != handles[i]);
    }
    GIVES(LAPI_ERR_ALL_HNDL_IN_USE, LAPI_Init(&one_more, &info));
    for (int i = 15; i >= 0; i--) {
        talk(handles[i]);
        if (i != 3)
            OK(LAPI_Term(handles[i]));
    }
    /* A forked child has no context; its end is none of the parent's. */
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Probe(handles[3]));
        GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Put(handles[3], 0, 0, NULL, NULL, NULL, NULL, NULL));
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    talk(handles[3]);
    /* Task 0 ends long before the others, without LAPI_Term; they go on. */
    if (me != 0) {
        usleep(200000);
        OK(LAPI_Probe(handles[3]));
        OK(LAPI_Fence(handles[3]));
    }
    return 0;
}
