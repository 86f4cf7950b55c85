/*
 * Completion handlers that send replies: inline while that is possible at once, on a handler thread when replies have to wait.
 * tasks: 2
 */
//= LAPI Guide, The enhanced header handler interface, LAPI_SEND_REPLY falls back to the handler thread
//= type=test
#include "check.h"
#include <pthread.h>

#define MANY 4000
/* So long that the replies to what task 0 asks before it sleeps never fit what lies between the two. */
#define LONG 30000
static volatile int inlined, threaded;
static int received;
static __thread int dispatching;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char text[LONG], box[LONG];
static lapi_cntr_t tgt;
static void **headers, **counters;

static void *plain(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
    received++;
    *done = NULL;
    return box;
}

static void reply(lapi_handle_t *h, void *from)
{
    int to = (int)(intptr_t)from;
    pthread_mutex_lock(&mutex);
    if (dispatching)
        inlined++;
    else
        threaded++;
    pthread_mutex_unlock(&mutex);
    dispatching = 0;
    OK(LAPI_Amsend(*h, to, headers[to], NULL, 0, text, LONG, counters[to], NULL, NULL));
}

static void *asking(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    lapi_return_info_t *more = (lapi_return_info_t *)msg_len;
    (void)h, (void)uhdr, (void)uhdr_len;
    more->ret_flags = LAPI_SEND_REPLY;
    dispatching = 1;
    *info = (void *)(intptr_t)more->src;
    *done = reply;
    return NULL;
}

int main(void)
{
    start();
    CHECK(tasks == 2);
    memset(text, 'r', sizeof text);
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    headers = exchange((void *)plain);
    counters = exchange(&tgt);
    void **askers = exchange((void *)asking);
    OK(LAPI_Gfence(hndl));
    if (me == 0) {
        /* Asked once and heard at once: inline. */
        OK(LAPI_Amsend(hndl, 1, askers[1], NULL, 0, NULL, 0, NULL, NULL, NULL));
        OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
    }
    OK(LAPI_Gfence(hndl));
    CHECK(me == 0 || (inlined == 1 && threaded == 0));
    /* From now on task 0 listens only when it has to; what it is sent meanwhile does not fit what lies between the two. */
    OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
    OK(LAPI_Gfence(hndl));
    if (me == 1) {
        OK(LAPI_Senv(hndl, INTERRUPT_SET, 1));
        OK(LAPI_Gfence(hndl));
        while (inlined + threaded < MANY + 1)
            usleep(1000);
    } else {
        OK(LAPI_Gfence(hndl));
        for (int i = 0; i < MANY; i++) {
            OK(LAPI_Amsend(hndl, 1, askers[1], NULL, 0, NULL, 0, NULL, NULL, NULL));
            if (i % 500 == 0)
                usleep(20000);
        }
        OK(LAPI_Waitcntr(hndl, &tgt, MANY, NULL));
        CHECK(received == MANY + 1 && box[0] == 'r' && box[LONG - 1] == 'r');
    }
    OK(LAPI_Gfence(hndl));
    if (me == 1) {
        fprintf(stderr, "%d replies inline, %d on the handler thread\n", inlined, threaded);
        CHECK(inlined + threaded == MANY + 1 && threaded > 0);
    }
    finish();
    return 0;
}
