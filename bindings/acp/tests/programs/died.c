/*
 * A process is killed: whoever needs it gets an error, the others go on.
 * tasks: 4
 * env: LAPIS_TIMEOUT=10
 */
#include "acheck.h"
#include <signal.h>

int main(int argc, char **argv)
{
    join(&argc, &argv);
    static uint64_t memory[64];
    acp_atkey_t key;
    acp_ga_t ga[64];
    exchange(registered(memory, sizeof memory, &key), ga);
    acp_ch_t channel = ACP_CH_NULL;
    acp_request_t waits = ACP_REQUEST_NULL;
    static char room[16];
    if (me == 0 || me == 3)
        channel = acp_create_ch(3, 0);
    if (me == 0)
        waits = acp_nbrecv_ch(channel, room, sizeof room);
    /* A map whose keys are all with the one that dies, and a buffer from it. */
    static const int dies[] = {3};
    acp_map_t map = {ACP_GA_NULL, 1, 4};
    acp_ga_t maps[64];
    exchange(me == 0 ? acp_create_map(1, dies, 4, 0).ga : ACP_GA_NULL, maps);
    map.ga = maps[0];
    acp_pair_t pair = {{starter(me) + 2048, 8}, {starter(me) + 2056, 8}};
    if (me == 0)
        GIVES(1, acp_insert_map(map, pair));
    static char segments[64];
    acp_segbuf_t segbuf = ACP_SEGBUF_NULL;
    if (me == 0)
        segbuf = acp_create_dst_segbuf(3, segments, 16, 4);
    if (me == 3)
        segbuf = acp_create_src_segbuf(0, segments, 16, 4);
    if (segbuf != ACP_SEGBUF_NULL)
        OK(acp_connect_segbuf(segbuf));
    /* One to it, which is full. */
    static char full[64];
    acp_segbuf_t fills = ACP_SEGBUF_NULL;
    if (me == 3)
        fills = acp_create_dst_segbuf(2, full, 16, 4);
    if (me == 2)
        fills = acp_create_src_segbuf(3, full, 16, 4);
    if (fills != ACP_SEGBUF_NULL)
        OK(acp_connect_segbuf(fills));
    for (int i = 0; me == 2 && i < 4; i++)
        OK(acp_ack_segbuf(fills));
    acp_complete(ACP_HANDLE_ALL);
    /* And one that it never makes its end of. */
    if (me == 1) {
        segbuf = acp_create_dst_segbuf(3, segments, 16, 4);
        CHECK(segbuf != ACP_SEGBUF_NULL);
        FAILS(1, ENOTCONN, acp_disconnect_segbuf(segbuf));
    }
    OK(acp_sync());
    if (me == 3)
        kill(getpid(), SIGKILL);
    if (me == 0) {
        FAILS((size_t)-1, EHOSTDOWN, acp_wait_ch(waits));
        OK(acp_free_ch(channel));
    }
    /* Until the loss is known, and afterwards. */
    int failed = 0;
    for (int i = 0; i < 20000 && failed < 5; i++) {
        *acp_errno_location() = 0;
        acp_handle_t handle = acp_add8(starter(me) + 1024, ga[3], 1, ACP_HANDLE_NULL);
        if (handle != ACP_HANDLE_NULL)
            acp_complete(handle);
        failed += ACP_ERRNO == EHOSTDOWN;
        usleep(1000);
    }
    GIVES(5, failed);
    FAILS(0, EHOSTDOWN, acp_malloc(8, 3));
    /* A channel to it, or from it, would never bring or take anything, and never be freed. */
    FAILS(0, EHOSTDOWN, (intptr_t)acp_create_ch(me, 3));
    FAILS(0, EHOSTDOWN, (intptr_t)acp_create_ch(3, me));
    *acp_errno_location() = 0;
    acp_complete(started(acp_copy(ga[3], ga[(me + 1) % 3], 8, ACP_HANDLE_NULL)));
    GIVES(EHOSTDOWN, ACP_ERRNO);
    *acp_errno_location() = 0;
    acp_complete(started(acp_copy(ga[(me + 1) % 3], ga[3], 8, ACP_HANDLE_NULL)));
    GIVES(EHOSTDOWN, ACP_ERRNO);

    /* Where its memory is mapped, what was there is there; elsewhere nobody answers. */
    *acp_errno_location() = 0;
    CHECK(acp_retrieve_map(map, pair) == 8 || ACP_ERRNO == EHOSTDOWN);
    CHECK(acp_size_map(map) == 1 || ACP_ERRNO == EHOSTDOWN);
    FAILS(ACP_GA_NULL, EHOSTDOWN, acp_create_map(1, dies, 4, me).ga);
    if (me == 0) {
        FAILS(1, EHOSTDOWN, acp_isacked_segbuf(segbuf));
        OK(acp_disconnect_segbuf(segbuf));
        *acp_errno_location() = 0;
        acp_complete(ACP_HANDLE_ALL);
        OK(acp_free_segbuf(segbuf));
    }
    if (me == 2)
        FAILS(1, EHOSTDOWN, acp_isready_segbuf(fills));
    if (me == 1) {
        FAILS(1, EHOSTDOWN, acp_isconnected_segbuf(segbuf));
        FAILS(1, EHOSTDOWN, acp_connect_segbuf(segbuf));
        OK(acp_disconnect_segbuf(segbuf));
        FAILS(1, ENOTCONN, acp_disconnect_segbuf(segbuf));
        OK(acp_free_segbuf(segbuf));
        /* What can't be told of leaves nothing: the same memory is free as before. */
        acp_ga_t before = acp_malloc(32, 1);
        acp_free(before);
        FAILS(0, EHOSTDOWN, (intptr_t)acp_create_src_segbuf(3, segments, 16, 4));
        GIVES(before, acp_malloc(32, 1));
        acp_free(before);
    }

    /* The three that are left. */
    *acp_errno_location() = 0;
    memory[8 + me] = 100 + me;
    acp_ga_t next = ga[(me + 1) % 3], second = ga[(me + 2) % 3];
    acp_handle_t there = started(acp_copy(next + 8 * (20 + me), ga[me] + 8 * (8 + me), 8, ACP_HANDLE_NULL));
    there = started(acp_copy(second + 8 * (20 + me), next + 8 * (20 + me), 8, there));
    acp_complete(started(acp_copy(ga[me] + 8 * 30, second + 8 * (20 + me), 8, there)));
    GIVES(100 + me, memory[30]);
    GIVES(0, ACP_ERRNO);
    /* Nobody leaves while others work with its memory. */
    for (int rank = 0; rank < 3; rank++)
        acp_complete(started(acp_add8(starter(me) + 1024, ga[rank] + 8 * 40, 1, ACP_HANDLE_ALL)));
    while (*(volatile uint64_t *)&memory[40] < 3)
        usleep(100);
    FAILS(-1, EHOSTDOWN, acp_sync());
    done();
}
