/*
 * The last task is killed and restarted, at another UDP port; the others purge it, tell LAPI where it is now, resume it, and
 * go on with it. recover.sh plays the part of whoever watches over the tasks.
 *
 *     lapicc recover.c -o recover
 *     SAMPLE_PORTS=7001,7002,7003,7004 sh recover.sh 3 ./recover
 *
 * The new process gets the port behind those of all tasks. It takes part in no collective call, for the others are past theirs.
 */
#include "by_udp.h"
#include <unistd.h>

enum { DEATH = 1, BACK, OUT };

static lapi_cntr_t replies;
static volatile int alive_again = -1;
static volatile int still_inside;

static void *on_out(lapi_handle_t *h, void *uhdr, uint *len, ulong *size, compl_hndlr_t **done, void **arg)
{
    (void)h, (void)uhdr, (void)len, (void)size, (void)arg;
    still_inside--;
    *done = NULL;
    return NULL;
}

static void *on_death(lapi_handle_t *h, void *uhdr, uint *len, ulong *size, compl_hndlr_t **done, void **arg)
{
    (void)h, (void)uhdr, (void)len, (void)size, (void)arg;
    *done = NULL;
    return NULL;
}

static void *on_back(lapi_handle_t *h, void *uhdr, uint *len, ulong *size, compl_hndlr_t **done, void **arg)
{
    (void)h, (void)len, (void)size, (void)arg;
    memcpy((void *)&alive_again, uhdr, sizeof alive_again);
    *done = NULL;
    return NULL;
}

static void begin(int again)
{
    lapi_info_t info;
    lapi_extend_t extend;
    int n = atoi(getenv("MP_PROCS"));
    lapi_udp_t *list = malloc(n * sizeof *list);
    memset(&info, 0, sizeof info);
    memset(&extend, 0, sizeof extend);
    for (int i = 0; i < n; i++)
        list[i] = place(again && i == n - 1 ? n : i);
    extend.add_udp_addrs = list;
    info.add_info = &extend;
    info.lib_vers = LAST_LIB;
    MUST(LAPI_Init(&hndl, &info));
    free(list);
    MUST(LAPI_Qenv(hndl, TASK_ID, &task));
    MUST(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
    MUST(LAPI_Addr_set(hndl, (void *)on_death, DEATH));
    MUST(LAPI_Addr_set(hndl, (void *)on_back, BACK));
    MUST(LAPI_Addr_set(hndl, (void *)on_out, OUT));
    still_inside = tasks - 1;
    MUST(LAPI_Setcntr(hndl, &replies, 0));
}

/* The task that is killed, in its first life. */
static void wait_for_death(void)
{
    MUST(LAPI_Gfence(hndl));
    /* Others may still be in the fence, which ends with an error when a new process takes the place of a member. */
    while (still_inside > 0)
        MUST(LAPI_Probe(hndl));
    printf("task %d waits for its death\n", task);
    fflush(stdout);
    for (;;)
        pause();
}

/* The same in its second life. */
static void come_back(void)
{
    for (int to = 0; to < tasks - 1; to++)
        MUST(LAPI_Amsend(hndl, to, (void *)BACK, &task, sizeof task, NULL, 0, NULL, NULL, &replies));
    MUST(LAPI_Waitcntr(hndl, &replies, tasks - 1, NULL));
    printf("task %d was answered by all\n", task);
}

static void go_on(void)
{
    uint victim = tasks - 1, list[1] = {victim};
    int status[1], left;
    char line[16];
    lapi_util_t util;
    lapi_udp_t now = place(tasks);

    MUST(LAPI_Gfence(hndl));
    MUST(LAPI_Amsend(hndl, victim, (void *)OUT, NULL, 0, NULL, 0, NULL, NULL, NULL));
    /* recover.sh has killed it when it writes the line. */
    if (!fgets(line, sizeof line, stdin))
        exit(1);

    /* A call whose answer will never come: the purge ends the wait, and the list tells who did not answer. */
    MUST(LAPI_Setcntr_wstatus(hndl, &replies, 1, list, status));
    MUST(LAPI_Amsend(hndl, victim, (void *)DEATH, NULL, 0, NULL, 0, NULL, NULL, &replies));
    MUST(LAPI_Purge_totask(hndl, victim));
    if (LAPI_Nopoll_wait(hndl, &replies, 1, &left) != LAPI_ERR_TGT_PURGED || status[0] != LAPI_MSG_PURGED)
        exit(1);
    printf("task %d has purged task %u\n", task, victim);

    memset(&util, 0, sizeof util);
    util.Udp.Util_type = LAPI_ADD_UDP_DEST_PORT;
    util.Udp.tgt = victim;
    util.Udp.udp_port = &now;
    util.Udp.instance_no = 0;
    MUST(LAPI_Util(hndl, &util));
    MUST(LAPI_Resume_totask(hndl, victim));

    while (alive_again < 0)
        MUST(LAPI_Probe(hndl));
    printf("task %d goes on with task %d\n", task, alive_again);
}

int main(int argc, char **argv)
{
    int again = argc > 1 && strcmp(argv[1], "again") == 0;
    begin(again);
    if (task < tasks - 1)
        go_on();
    else if (again)
        come_back();
    else
        wait_for_death();
    MUST(LAPI_Term(hndl));
    return 0;
}
