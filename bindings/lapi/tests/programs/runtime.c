/*
 * What runtimes of other people do, all in one program. Header handlers are named by the address that they have here, without
 * any exchange; requests run in completion handlers, which get their data with LAPI_Get
 * and wait for it; interrupts go off around loops that poll; the shared lock is held across calls; nobody calls LAPI_Term.
 * tasks: 3
 */
//= LAPI Guide, LAPI_Amsend, the address of the header handler
//= LAPI Guide, Completion handlers, may call any LAPI function
//= LAPI Guide, LAPI_Util, LAPI_GET_THREAD_FUNC
//= type=test
#include "check.h"
#include <pthread.h>

#define ROUNDS 60
#define LONGEST 20000

/* A request: where the data is at the origin, and the counters that wait there. */
typedef struct {
    ulong data, len, fetched, answer;
    lapi_cntr_t *answered;
    int from, round;
} request_t;

static lapi_cntr_t done[8], fetched, answered;
static char data[8][LONGEST];
static int sums[8], served, spawned;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

/* Runs where it may block: fetches what the request is about, and answers. */
static void serve(lapi_handle_t *h, void *saved)
{
    request_t *request = saved;
    char *copy = malloc(request->len);
    lapi_cntr_t got, gone;
    OK(LAPI_Setcntr(*h, &got, 0));
    OK(LAPI_Setcntr(*h, &gone, 0));
    OK(LAPI_Get(*h, request->from, request->len, (void *)request->data, copy, (lapi_cntr_t *)request->fetched, &got));
    OK(LAPI_Waitcntr(*h, &got, 1, NULL));
    int sum = 0;
    for (ulong i = 0; i < request->len; i++)
        sum += (unsigned char)copy[i];
    OK(LAPI_Put(*h, request->from, sizeof sum, (void *)request->answer, &sum, request->answered, &gone, NULL));
    OK(LAPI_Waitcntr(*h, &gone, 1, NULL));
    pthread_mutex_lock(&guard);
    served++;
    pthread_mutex_unlock(&guard);
    free(copy);
    free(request);
}

static void *asked(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **completion, void **saved)
{
    (void)h, (void)msg_len;
    CHECK(*uhdr_len == sizeof(request_t));
    *saved = memcpy(malloc(*uhdr_len), uhdr, *uhdr_len);
    *completion = (compl_hndlr_t *)serve;
    return NULL;
}

static void *counted(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **completion, void **saved)
{
    (void)h, (void)msg_len, (void)saved;
    /* Runtimes lay structures over the user header, however many messages came in one datagram. */
    CHECK((uintptr_t)uhdr % 8 == 0 && *uhdr_len == 12 && ((int *)uhdr)[2] == 'c');
    __atomic_fetch_add(&spawned, 1, __ATOMIC_RELAXED);
    *completion = NULL;
    return NULL;
}

/* A handler for vectors, whose message goes by another way. */
static lapi_vec_t *into;
static lapi_vec_t *scattered(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *len_vec[], compl_hndlr_t **completion, void **saved)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)len_vec, (void)saved;
    *completion = NULL;
    return into;
}

int main(void)
{
    start();
    lapi_thread_func_t lock;
    memset(&lock, 0, sizeof lock);
    lock.Util_type = LAPI_GET_THREAD_FUNC;
    OK(LAPI_Util(hndl, (lapi_util_t *)&lock));
    for (int i = 0; i < 8; i++)
        OK(LAPI_Setcntr(hndl, &done[i], 0));
    OK(LAPI_Setcntr(hndl, &fetched, 0));
    OK(LAPI_Setcntr(hndl, &answered, 0));
    char there[64], here[64] = {0};
    memset(there, '1' + me, sizeof there);
    void *target_info[2] = {here, here + 40}, *origin_info[2] = {there, there + 24};
    ulong lens[2] = {24, 8};
    lapi_vec_t target = {LAPI_GEN_IOVECTOR, 2, target_info, lens}, origin = {LAPI_GEN_IOVECTOR, 2, origin_info, lens};
    into = &target;
    OK(LAPI_Gfence(hndl));

    int other = (me + 1) % tasks, interrupts = -1;
    for (int round = 0; round < ROUNDS; round++) {
        ulong len = round % 3 ? 100 + round : LONGEST;
        for (int to = 0; to < tasks; to++) {
            memset(data[to], round + to, len);
            request_t request = {(ulong)data[to], len, (ulong)&fetched, (ulong)&sums[to], &answered, me, round};
            OK(LAPI_Qenv(hndl, INTERRUPT_SET, &interrupts));
            OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
            /* Nothing but the own function's address; the lock is held across the calls. */
            OK(lock.mutex_lock(hndl));
            OK(LAPI_Amsend(hndl, to, (void *)asked, &request, sizeof request, NULL, 0, NULL, NULL, &done[to]));
            int mark[3] = {round, to, 'c'};
            for (int i = 0; i < 3; i++)
                OK(LAPI_Amsend(hndl, to, (void *)counted, mark, sizeof mark, NULL, 0, NULL, NULL, NULL));
            OK(lock.mutex_unlock(hndl));
            OK(LAPI_Senv(hndl, INTERRUPT_SET, interrupts));
        }
        /* Answers: polled for with interrupts off in even rounds, waited for in odd ones. */
        if (round % 2 == 0) {
            OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
            while (value_of(&answered) < tasks)
                OK(LAPI_Probe(hndl));
            OK(LAPI_Senv(hndl, INTERRUPT_SET, 1));
        }
        OK(LAPI_Waitcntr(hndl, &answered, tasks, NULL));
        OK(LAPI_Waitcntr(hndl, &fetched, tasks, NULL));
        for (int to = 0; to < tasks; to++) {
            OK(LAPI_Waitcntr(hndl, &done[to], 1, NULL));
            CHECK(sums[to] == (int)len * (round + to));
        }
    }
    OK(LAPI_Gfence(hndl));
    CHECK(served == ROUNDS * tasks);
    CHECK(spawned == 3 * ROUNDS * tasks);

    OK(LAPI_Amsendv(hndl, other, (vhdr_hndlr_t *)scattered, NULL, 0, &origin, NULL, NULL, &done[0]));
    OK(LAPI_Waitcntr(hndl, &done[0], 1, NULL));
    OK(LAPI_Gfence(hndl));
    int before = (me + tasks - 1) % tasks;
    CHECK(here[0] == '1' + before && here[23] == '1' + before && here[24] == 0);
    CHECK(here[39] == 0 && here[40] == '1' + before && here[47] == '1' + before && here[48] == 0);
    return 0;
}
