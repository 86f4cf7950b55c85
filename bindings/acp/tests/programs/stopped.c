/*
 * The last rank is stopped, and does nothing any more. Each of the others waits for it in a call of its own, or in one that
 * it repeats, which ends with an error when LAPIS_TIMEOUT is over, and then in acp_sync.
 * tasks: 10
 * env: LAPIS_TIMEOUT=10
 */
#include "acheck.h"
#include <signal.h>

#define LONG (64u << 20)

static uint64_t memory[64];
static unsigned char *long_memory;
static acp_ga_t ga[64], long_ga[64];
static acp_handle_t begun;
static acp_ch_t channel = ACP_CH_NULL;
static acp_segbuf_t segbuf = ACP_SEGBUF_NULL;
static acp_list_t list;

/* What is made while the last rank still runs. */
static void prepare(int last)
{
    if (me == 0 || me == last)
        channel = acp_create_ch(last, 0);
    if (me == 6 || me == last) {
        acp_ch_t other = acp_create_ch(6, last);
        channel = me == 6 ? other : channel;
    }
    if (me == 0 || me == 6)
        CHECK(channel != ACP_CH_NULL);
    if (me == 4) {
        static char segments[64];
        segbuf = acp_create_src_segbuf(last, segments, 16, 4);
        CHECK(segbuf != ACP_SEGBUF_NULL);
    }
    if (me == 8) {
        static char segments[64];
        segbuf = acp_create_dst_segbuf(last, segments, 16, 4);
        CHECK(segbuf != ACP_SEGBUF_NULL);
    }
    acp_ga_t lists[64];
    exchange(me == 5 ? acp_create_list(8, 5) : ACP_GA_NULL, lists);
    list = lists[5];
    if (me == last) {
        /* It is stopped while it changes the list: the second word of a structure is its lock. */
        acp_complete(started(acp_cas8(starter(me) + 1024, list + 8, 0, last + 1, ACP_HANDLE_NULL)));
        GIVES(0, *(uint64_t *)((char *)mine() + 1024));
    }
}

/* A copy that can't end. */
static void copy(acp_ga_t to, acp_ga_t from)
{
    *acp_errno_location() = 0;
    acp_complete(started(acp_copy(to, from, 8, ACP_HANDLE_NULL)));
    GIVES(EHOSTDOWN, ACP_ERRNO);
}

static void wait_in_vain(int last)
{
    static char room[16];
    uint64_t element = 1;
    switch (me) {
    case 0:
        FAILS((size_t)-1, EHOSTDOWN, acp_wait_ch(acp_nbrecv_ch(channel, room, sizeof room)));
        break;
    case 1:
        FAILS(ACP_GA_NULL, EHOSTDOWN, acp_malloc(8, last));
        break;
    case 2:
        copy(ga[2], ga[last]);
        break;
    case 3:
        copy(ga[last], ga[0]);
        break;
    case 4:
        FAILS(1, EHOSTDOWN, acp_connect_segbuf(segbuf));
        break;
    case 5:
        *acp_errno_location() = 0;
        acp_push_back_list(list, &element, 5);
        GIVES(EHOSTDOWN, ACP_ERRNO);
        break;
    case 6:
        OK(acp_free_ch(channel));
        break;
    case 7:
        /* Where bytes are copied between memories, those of a process that is stopped may come all the same. */
        *acp_errno_location() = 0;
        while (acp_inquire(begun))
            usleep(1000);
        acp_complete(begun);
        CHECK(ACP_ERRNO == EHOSTDOWN || (ACP_ERRNO == 0 && long_memory[LONG - 1] == 7));
        break;
    case 8:
        do {
            *acp_errno_location() = 0;
            GIVES(1, acp_isconnected_segbuf(segbuf));
            usleep(1000);
        } while (ACP_ERRNO == 0);
        GIVES(EHOSTDOWN, ACP_ERRNO);
        break;
    }
}

int main(int argc, char **argv)
{
    join(&argc, &argv);
    if (procs == 1)
        _exit(0);
    int last = procs - 1;
    acp_atkey_t key;
    exchange(registered(memory, sizeof memory, &key), ga);
    acp_atkey_t long_key;
    size_t size = me == 7 || me == last ? LONG : 8;
    long_memory = calloc(size, 1);
    memset(long_memory, me == last ? 7 : 0, size);
    exchange(registered(long_memory, size, &long_key), long_ga);
    static acp_ga_t processes[64];
    exchange((acp_ga_t)getpid(), processes);
    prepare(last);
    OK(acp_sync());
    /* Who has come out of acp_sync may still owe others what lets them out. */
    if (me == last) {
        while (*(volatile uint64_t *)&memory[2] < (uint64_t)last)
            usleep(100);
        raise(SIGSTOP);
    }
    /* Most of this has not come when the last rank is stopped. */
    if (me == 7)
        begun = started(acp_copy(long_ga[7], long_ga[last], LONG, ACP_HANDLE_NULL));
    acp_handle_t out = started(acp_add8(starter(me) + 1024, ga[last] + 16, 1, ACP_HANDLE_NULL));
    /* To wait for it were to wait for what was begun before. */
    if (me != 7)
        acp_complete(out);
    usleep(300000);
    wait_in_vain(last);
    FAILS(-1, EHOSTDOWN, acp_sync());
    /* It is ended by rank 0 when nobody waits for it any more: a death would be heard of. */
    acp_complete(started(acp_add8(starter(me) + 1024, ga[0] + 8, 1, ACP_HANDLE_NULL)));
    while (me == 0 && *(volatile uint64_t *)&memory[1] < (uint64_t)last)
        usleep(1000);
    if (me == 0)
        CHECK(kill((pid_t)processes[last], SIGKILL) == 0);
    done();
}
