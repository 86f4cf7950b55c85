/*
 * Completion handlers that send replies: inline while that is possible at once, on a handler thread when replies have to wait.
 * tasks: 2
 */
//= LAPI Guide, The enhanced header handler interface, LAPI_SEND_REPLY falls back to the handler thread
//= type=test
#include "check.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#define MANY 4000
/* After so many task 0 stops to listen until task 1 gets no further. */
#define BATCH 500
/* So long that the replies to a batch never fit what lies between the two. */
#define LONG 30000
static volatile int inlined, threaded;
static int received;
static __thread int dispatching;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char text[LONG], box[LONG];
static lapi_cntr_t tgt;
static void **headers, **counters;
/* What task 1 tells task 0 past the library: its replies, and those that had to wait. Both are children of the launcher. */
static volatile struct { int answered, waited; } *told;

static void share(void)
{
    char name[64];
    snprintf(name, sizeof name, "/lapis-replies-%d", (int)getppid());
    int file = shm_open(name, O_RDWR | O_CREAT, 0600);
    CHECK(file >= 0 && ftruncate(file, sizeof *told) == 0);
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(told != MAP_FAILED);
    close(file);
    OK(LAPI_Gfence(hndl));
    if (me == 0)
        shm_unlink(name);
}

/* Task 0 does not listen until task 1 gets no further: a second without a reply, however busy the machine is. */
static void stop_to_listen(void)
{
    for (int still = 0, before = -1; still < 1000 && !told->waited; still++) {
        if (told->answered != before)
            still = 0;
        before = told->answered;
        usleep(1000);
    }
}

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
        told->waited = ++threaded;
    told->answered++;
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
    share();
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
            if (i % BATCH == BATCH - 1)
                stop_to_listen();
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
