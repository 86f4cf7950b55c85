/*
 * A PMIx server of the smallest kind, for the tasks of one job on this machine: with it Lapis's
 * client meets whatever version of PMIx this file is compiled against, without a launcher of that
 * version.
 *
 *   server TASKS PROGRAM [ARG...]     exit code: the first of the tasks' that is not 0
 *
 * Standard error says which library it is.
 */
#include <pmix.h>
#include <pmix_server.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* PMIx takes the name as an array of this size. */
static const pmix_nspace_t JOB = "lapis-test-job";

extern char **environ;

static pid_t *children;
static int tasks;

static void check(pmix_status_t status, const char *what)
{
    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "server: %s: %s (%d)\n", what, PMIx_Error_string(status), status);
        exit(125);
    }
}

/* Calls that end by a callback, made one after the other. */
static void wake(pmix_status_t status, void *ended)
{
    check(status, "a call that ends later");
    atomic_store((atomic_int *)ended, 1);
}

static void finish(pmix_status_t status, atomic_int *ended, const char *what)
{
    if (status == PMIX_OPERATION_SUCCEEDED)
        return;
    check(status, what);
    while (!atomic_load(ended))
        usleep(1000);
}

static pmix_status_t connected(const pmix_proc_t *who, void *object, pmix_op_cbfunc_t done, void *data)
{
    (void)who, (void)object;
    if (done)
        done(PMIX_SUCCESS, data);
    return PMIX_SUCCESS;
}

/* All tasks are here: what they have put is what there is. */
static pmix_status_t fence(const pmix_proc_t procs[], size_t n, const pmix_info_t info[], size_t ninfo, char *data,
                           size_t size, pmix_modex_cbfunc_t done, void *closure)
{
    (void)procs, (void)n, (void)info, (void)ninfo;
    done(PMIX_SUCCESS, data, size, closure, free, data);
    return PMIX_SUCCESS;
}

static pmix_status_t aborted(const pmix_proc_t *who, void *object, int code, const char *text, pmix_proc_t procs[],
                             size_t n, pmix_op_cbfunc_t done, void *closure)
{
    (void)object, (void)procs, (void)n;
    fprintf(stderr, "server: task %u aborts with %d: %s\n", (unsigned)who->rank, code, text ? text : "");
    if (done)
        done(PMIX_SUCCESS, closure);
    /* Those that are not started yet have no number. */
    for (int task = 0; task < tasks; task++)
        if (children[task] > 0)
            kill(children[task], SIGKILL);
    return PMIX_SUCCESS;
}

static void tell_of_the_job(void)
{
    char ranks[4096] = "", host[256] = "", *nodes, *places;
    uint32_t count = (uint32_t)tasks;
    atomic_int ended = 0;
    pmix_info_t *info;
    gethostname(host, sizeof host - 1);
    for (int task = 0; task < tasks; task++)
        sprintf(ranks + strlen(ranks), task ? ",%d" : "%d", task);
    check(PMIx_generate_regex(host, &nodes), "PMIx_generate_regex");
    check(PMIx_generate_ppn(ranks, &places), "PMIx_generate_ppn");
    PMIX_INFO_CREATE(info, 6);
    PMIX_INFO_LOAD(&info[0], PMIX_UNIV_SIZE, &count, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[1], PMIX_JOB_SIZE, &count, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[2], PMIX_LOCAL_SIZE, &count, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[3], PMIX_LOCAL_PEERS, ranks, PMIX_STRING);
    PMIX_INFO_LOAD(&info[4], PMIX_NODE_MAP, nodes, PMIX_STRING);
    PMIX_INFO_LOAD(&info[5], PMIX_PROC_MAP, places, PMIX_STRING);
    finish(PMIx_server_register_nspace(JOB, tasks, info, 6, wake, &ended), &ended, "PMIx_server_register_nspace");
    PMIX_INFO_FREE(info, 6);
}

static void start(int task, char **words)
{
    pmix_proc_t who;
    atomic_int ended = 0;
    char **env = NULL;
    memset(&who, 0, sizeof who);
    strcpy(who.nspace, JOB);
    who.rank = (pmix_rank_t)task;
    finish(PMIx_server_register_client(&who, getuid(), getgid(), NULL, wake, &ended), &ended,
           "PMIx_server_register_client");
    check(PMIx_server_setup_fork(&who, &env), "PMIx_server_setup_fork");
    children[task] = fork();
    if (children[task] == 0) {
        for (; env && *env; env++)
            putenv(*env);
        execvp(words[0], words);
        perror(words[0]);
        _exit(127);
    }
}

int main(int argc, char **argv)
{
    static pmix_server_module_t module = {
        .client_connected = connected, .client_finalized = connected, .abort = aborted, .fence_nb = fence};
    int verdict = 0, status;
    if (argc < 3 || (tasks = atoi(argv[1])) < 1 || tasks > 256)
        return 125;
    children = calloc((size_t)tasks, sizeof *children);
    check(PMIx_server_init(&module, NULL, 0), "PMIx_server_init");
    fprintf(stderr, "server: %s\n", PMIx_Get_version());
    tell_of_the_job();
    for (int task = 0; task < tasks; task++)
        start(task, argv + 2);
    while (wait(&status) > 0) {
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        verdict = verdict ? verdict : code;
    }
    check(PMIx_server_finalize(), "PMIx_server_finalize");
    return verdict;
}
