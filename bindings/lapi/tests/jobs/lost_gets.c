/*
 * A get of vectors whose target dies ("death") or purges this task ("purge") before it has answered in full. Fences don't wait for the
 * rest. Usage: lost_gets death|purge fence|gfence
 */
//= LAPI Guide, LAPI_Fence, waits for the data of all operations
//= LAPI Guide, LAPI_Gfence, fences and synchronizes all tasks
//= LAPI Guide, LAPI_Purge_totask, cancels messages to a task
//= type=test
#include "../programs/check.h"
#include <signal.h>

/* So much that a few calls of the target's can't send it. */
#define LONG (256ul << 20)

static lapi_cntr_t got, told;
static char *mine;

static void ignore(lapi_handle_t *h, int *code, lapi_err_t *type, int *task, int *source)
{
    (void)h, (void)code, (void)type, (void)task, (void)source;
}

static void get(char *from, ulong len)
{
    ulong lens[2] = {len / 2, len / 2};
    void *at[2] = {from, from + len / 2}, *to[2] = {mine, mine + len / 2};
    lapi_vec_t source = {LAPI_GEN_IOVECTOR, 2, at, lens}, into = {LAPI_GEN_IOVECTOR, 2, to, lens};
    OK(LAPI_Getv(hndl, 1, &source, &into, NULL, &got));
}

/* The request arrives, and the answer begins. */
static void target(int dies, void **counters)
{
    for (int i = 0; i < 20; i++) {
        OK(LAPI_Probe(hndl));
        usleep(10000);
    }
    if (dies)
        kill(getpid(), SIGKILL);
    OK(LAPI_Purge_totask(hndl, 0));
    OK(LAPI_Resume_totask(hndl, 0));
    /* Task 0 learns of it. */
    OK(LAPI_Put(hndl, 0, 0, NULL, NULL, counters[0], NULL, NULL));
}

int main(int argc, char **argv)
{
    lapi_info_t info;
    CHECK(argc == 3);
    int dies = strcmp(argv[1], "death") == 0;
    int (*fence)(lapi_handle_t) = strcmp(argv[2], "fence") == 0 ? LAPI_Fence : LAPI_Gfence;
    int lost = dies ? LAPI_ERR_NO_CONNECTIVITY : LAPI_ERR_TGT_PURGED;
    memset(&info, 0, sizeof info);
    info.err_hndlr = (void *)ignore;
    OK(LAPI_Init(&hndl, &info));
    OK(LAPI_Qenv(hndl, TASK_ID, &me));
    OK(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
    OK(LAPI_Setcntr(hndl, &got, 0));
    OK(LAPI_Setcntr(hndl, &told, 0));
    mine = calloc(1, LONG);
    CHECK(mine);
    void **memory = exchange(mine), **counters = exchange(&told);
    OK(LAPI_Gfence(hndl));
    if (me == 1) {
        target(dies, counters);
    } else {
        get(memory[1], LONG);
        GIVES(lost, fence(hndl));
        CHECK(value_of(&got) == 0);
        if (dies) {
            /* Every fence says so until the program gives the task up. */
            GIVES(lost, fence(hndl));
            OK(LAPI_Purge_totask(hndl, 1));
            OK(LAPI_Fence(hndl));
            printf("went on\n");
            fflush(NULL);
            _exit(0);
        }
        OK(LAPI_Waitcntr(hndl, &told, 1, NULL));
        OK(LAPI_Fence(hndl));
    }
    /* Gets are answered again. */
    OK(LAPI_Gfence(hndl));
    if (me == 0) {
        get(memory[1], 1000);
        OK(LAPI_Fence(hndl));
        OK(LAPI_Waitcntr(hndl, &got, 1, NULL));
    }
    printf("went on\n");
    finish();
    return 0;
}
