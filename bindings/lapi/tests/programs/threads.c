/*
 * Several threads on one handle, several handles in one process, waits on different counters at once.
 * tasks: 2
 */
//= LAPI Guide, Making wait on counter calls, two threads cannot wait on the same counter
//= LAPI Guide, Making global fence calls, calls of several threads are serialized
//= LAPI Guide, LAPI_Init, initializes a context
//= LAPI Guide, LAPI_Init, instance_no is 1 to 16
//= type=test
#include "check.h"
#include <pthread.h>

#define THREADS 4
#define ROUNDS 300

static lapi_handle_t second;
static long boxes[THREADS][64];
static lapi_cntr_t tgt[THREADS], org[THREADS], shared;
static void **far_boxes[THREADS], **far_counters[THREADS];
static volatile int in_wait;

static void *worker(void *argument)
{
    long number = (long)argument, mine[64];
    lapi_handle_t handle = number % 2 ? second : hndl;
    int to = (me + 1) % tasks;
    for (long round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 64; i++)
            mine[i] = round * 1000 + number * 100 + i;
        OK(LAPI_Put(handle, to, sizeof mine, far_boxes[number][to], mine, far_counters[number][to], &org[number], NULL));
        OK(LAPI_Waitcntr(handle, &org[number], 1, NULL));
        OK(LAPI_Waitcntr(handle, &tgt[number], 1, NULL));
    }
    return NULL;
}

static void *fencer(void *argument)
{
    for (int i = 0; i < 50; i++)
        OK(LAPI_Gfence(hndl));
    return argument;
}

static void *waiter(void *argument)
{
    in_wait = 1;
    OK(LAPI_Waitcntr(hndl, &shared, 1, NULL));
    return argument;
}

static void *setter(void *argument)
{
    while (!in_wait)
        usleep(100);
    usleep(20000);
    OK(LAPI_Setcntr(hndl, &shared, 1));
    return argument;
}

/* A counter that another thread sets ends a wait, and can be waited for again. */
static void set_during_a_wait(int (*wait)(lapi_handle_t, lapi_cntr_t *, int, int *))
{
    pthread_t thread;
    OK(LAPI_Setcntr(hndl, &shared, 0));
    in_wait = 0;
    CHECK(pthread_create(&thread, NULL, setter, NULL) == 0);
    in_wait = 1;
    OK(wait(hndl, &shared, 1, NULL));
    CHECK(pthread_join(thread, NULL) == 0);
    OK(LAPI_Put(hndl, me, 0, NULL, NULL, NULL, &shared, NULL));
    OK(wait(hndl, &shared, 1, NULL));
}

int main(void)
{
    lapi_info_t info;
    start();
    memset(&info, 0, sizeof info);
    info.instance_no = 7;
    OK(LAPI_Init(&second, &info));
    CHECK(second != hndl);
    lapi_handle_t third;
    GIVES(LAPI_ERR_SET_VAL, LAPI_Init(&third, &info));
    info.instance_no = 17;
    GIVES(LAPI_ERR_SET_VAL, LAPI_Init(&third, &info));
    for (int i = 0; i < THREADS; i++) {
        OK(LAPI_Setcntr(hndl, &tgt[i], 0));
        OK(LAPI_Setcntr(hndl, &org[i], 0));
        far_boxes[i] = exchange(boxes[i]);
        far_counters[i] = exchange(&tgt[i]);
    }
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Gfence(second));
    for (int i = 0; i < THREADS; i++)
        CHECK(boxes[i][63] == (ROUNDS - 1) * 1000L + i * 100 + 63);

    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, fencer, NULL) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);

    /* The second of two threads that wait for one counter is told so. */
    OK(LAPI_Senv(hndl, ERROR_CHK, 1));
    OK(LAPI_Setcntr(hndl, &shared, 0));
    CHECK(pthread_create(&threads[0], NULL, waiter, NULL) == 0);
    while (!in_wait)
        usleep(100);
    usleep(20000);
    GIVES(LAPI_ERR_MULTIPLE_WAITERS, LAPI_Waitcntr(hndl, &shared, 1, NULL));
    OK(LAPI_Put(hndl, me, 0, NULL, NULL, NULL, &shared, NULL));
    CHECK(pthread_join(threads[0], NULL) == 0);
    set_during_a_wait(LAPI_Waitcntr);
    set_during_a_wait(LAPI_Nopoll_wait);

    OK(LAPI_Gfence(second));
    OK(LAPI_Term(second));
    finish();
    return 0;
}
