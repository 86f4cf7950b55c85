/*
 * Vectors so many that the list of their lengths takes several packets: the header handler runs when the list is there, with the lock
 * held, and what it asks for is done as for a short list. A message that it drops comes again, with all of its data.
 * tasks: 2
 */
//= LAPI Guide, The enhanced header handler interface, ret_flags and ctl_flags
//= LAPI Guide, LAPI_Amsendv, the header handler returns a vector
//= type=test
#include "check.h"
#include <pthread.h>

#define MANY 20000
#define DROPS 3

static lapi_cntr_t tgt, cmpl;
static lapi_thread_func_t locks;
static int here[MANY], there[MANY];
static void *from[MANY], *to[MANY];
static ulong lens[MANY];
static lapi_vec_t source = {LAPI_GEN_IOVECTOR, MANY, from, lens}, target = {LAPI_GEN_IOVECTOR, MANY, to, lens};
static volatile int calls, handled;
static pthread_t received, completed;

static void done(lapi_handle_t *h, void *argument)
{
    (void)h;
    CHECK(argument == &tgt && here[0] == there[MANY - 1]);
    completed = pthread_self();
    handled++;
}

static lapi_vec_t *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong **len_vec, compl_hndlr_t **completion, void **info)
{
    lapi_return_info_t *back = (lapi_return_info_t *)len_vec;
    char *kind = uhdr;
    int task;
    pthread_t owner;
    (void)h;
    CHECK(*uhdr_len == 8 && kind[1] == '!');
    CHECK((*len_vec)[0] == sizeof *here && (*len_vec)[MANY - 1] == sizeof *here);
    CHECK(back->bytes == sizeof here && back->udata_one_pkt_ptr == NULL);
    OK(locks.mutex_getowner(hndl, &owner));
    CHECK(pthread_equal(owner, pthread_self()));
    OK(locks.mutex_lock(hndl));
    OK(locks.mutex_unlock(hndl));
    OK(LAPI_Qenv(hndl, TASK_ID, &task));
    CHECK(task == me);
    received = pthread_self();
    calls++;
    *completion = done;
    *info = &tgt;
    switch (kind[0]) {
    case 'i':
        back->ret_flags = LAPI_LOCAL_STATE;
        break;
    case 'r':
        back->ret_flags = LAPI_SEND_REPLY;
        break;
    case 'b':
        back->ctl_flags = LAPI_BURY_MSG;
        break;
    case 'd':
        if (calls <= DROPS) {
            back->ctl_flags = LAPI_DROP_PKT;
            *completion = NULL;
            /* What it does to the user header is forgotten, too. */
            kind[1] = '?';
        }
        break;
    }
    return kind[0] == 'b' ? NULL : &target;
}

static void check(char kind)
{
    CHECK(calls == (kind == 'd' ? 1 + DROPS : 1));
    CHECK(handled == 1);
    for (int i = 0; i < MANY; i++)
        CHECK(there[MANY - 1 - i] == (kind == 'b' ? 0 : here[i]));
    if (kind == 'i')
        CHECK(pthread_equal(received, completed));
    if (kind == 'n')
        CHECK(!pthread_equal(received, completed));
}

int main(void)
{
    start();
    CHECK(tasks == 2);
    locks.Util_type = LAPI_GET_THREAD_FUNC;
    OK(LAPI_Util(hndl, (lapi_util_t *)&locks));
    OK(LAPI_Setcntr(hndl, &tgt, 0));
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    for (int i = 0; i < MANY; i++) {
        lens[i] = sizeof *here;
        from[i] = &here[i];
        to[i] = &there[MANY - 1 - i];
    }
    void **headers = exchange((void *)header), **counters = exchange(&tgt);
    static const char kinds[] = "nirbdi";
    for (int to_task = 1; to_task >= 0; to_task--) {
        for (const char *kind = kinds; *kind; kind++) {
            char uhdr[8] = {*kind, '!'};
            for (int i = 0; i < MANY; i++)
                here[i] = *kind == 'b' ? 0 : i * 7 + *kind;
            memset(there, 0, sizeof there);
            calls = handled = 0;
            OK(LAPI_Gfence(hndl));
            if (me == 0) {
                OK(LAPI_Amsendv(hndl, to_task, headers[to_task], uhdr, 8, &source, counters[to_task], NULL, &cmpl));
                OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
            }
            if (me == to_task) {
                OK(LAPI_Waitcntr(hndl, &tgt, 1, NULL));
                check(*kind);
            }
            OK(LAPI_Gfence(hndl));
        }
    }
    finish();
    return 0;
}
