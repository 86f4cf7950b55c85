/*
 * Initialisation of tasks that are started by hand and speak UDP: by a user list, or with the argument `handler` by a user
 * handler. Nobody distributes the addresses but the program.
 *
 *     lapicc init.c -o init
 *     SAMPLE_PORTS=7001,7002 LAPI_USE_SHM=no sh ../by_hand.sh 2 ./init list
 */
#include "by_udp.h"

static int number_of_tasks(void)
{
    /* Before LAPI is initialised it can't be asked. */
    return atoi(getenv("MP_PROCS"));
}

/* Called by LAPI_Init, which allocates and frees the list. */
static int tell(lapi_handle_t *h, lapi_udp_t *local, lapi_udp_t *list, lapi_udpinfo_t *about)
{
    (void)h, (void)local;
    for (uint i = 0; i < about->num_tasks; i++)
        list[i] = place(i);
    return 0;
}

int main(int argc, char **argv)
{
    lapi_info_t info;
    lapi_extend_t extend;
    lapi_udp_t *list = NULL;
    memset(&info, 0, sizeof info);
    memset(&extend, 0, sizeof extend);
    if (argc > 1 && strcmp(argv[1], "handler") == 0) {
        extend.udp_hndlr = tell;
    } else {
        list = malloc(number_of_tasks() * sizeof *list);
        for (int i = 0; i < number_of_tasks(); i++)
            list[i] = place(i);
        extend.add_udp_addrs = list;
    }
    info.add_info = &extend;
    MUST(LAPI_Init(&hndl, &info));
    free(list);
    MUST(LAPI_Qenv(hndl, TASK_ID, &task));
    MUST(LAPI_Qenv(hndl, NUM_TASKS, &tasks));

    /* Everybody puts its number into a table of everybody. */
    int *table = calloc(tasks, sizeof *table), sum = 0;
    void **tables = addresses_of(table);
    for (int to = 0; to < tasks; to++)
        MUST(LAPI_Put(hndl, to, sizeof task, (int *)tables[to] + task, &task, NULL, NULL, NULL));
    MUST(LAPI_Gfence(hndl));
    for (int i = 0; i < tasks; i++)
        sum += table[i];
    printf("task %d of %d over %s: sum %d\n", task, tasks, info.protocol == LAPI_UDP_DEV ? "UDP" : "something else", sum);
    end_sample();
    return 0;
}
