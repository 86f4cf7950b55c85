/*
 * Channels: order, sizes, many at once, either side first, and their ends.
 * tasks: 3
 */
#include "acheck.h"

#define MANY 300
#define LONGEST 200000

static size_t length(int i)
{
    static const size_t lengths[] = {0, 1, 8, 1000, 4096, 4097, 9000, LONGEST};
    return lengths[(unsigned)i * 7 % 8];
}

/* Every pair of processes, both ways: messages of all lengths, posted ahead or late. */
static void pairs(void)
{
    acp_ch_t out[8], in[8];
    for (int rank = 0; rank < procs; rank++)
        if (rank != me) {
            CHECK((out[rank] = acp_create_ch(me, rank)) != ACP_CH_NULL);
            CHECK((in[rank] = acp_create_ch(rank, me)) != ACP_CH_NULL);
        }
    enum { COUNT = 60 };
    static acp_request_t sends[8][COUNT], receives[8][COUNT];
    static unsigned char *sent[8][COUNT], *got[8][COUNT];
    for (int i = 0; i < COUNT; i++)
        for (int rank = 0; rank < procs; rank++) {
            if (rank == me)
                continue;
            sent[rank][i] = malloc(length(i) + 1);
            fill(sent[rank][i], length(i), me * 100 + rank + i);
            sends[rank][i] = acp_nbsend_ch(out[rank], sent[rank][i], length(i));
            CHECK(sends[rank][i] != ACP_REQUEST_NULL);
        }
    if (me % 2)
        usleep(20000);
    for (int i = 0; i < COUNT; i++)
        for (int rank = 0; rank < procs; rank++) {
            if (rank == me)
                continue;
            /* Sometimes too short, sometimes too long. */
            size_t room = i % 5 == 0 ? length(i) / 2 : length(i) + 10;
            got[rank][i] = malloc(room + 1);
            memset(got[rank][i], 0xee, room + 1);
            receives[rank][i] = acp_nbrecv_ch(in[rank], got[rank][i], room);
            CHECK(receives[rank][i] != ACP_REQUEST_NULL);
        }
    for (int i = COUNT - 1; i >= 0; i--)
        for (int rank = 0; rank < procs; rank++) {
            if (rank == me)
                continue;
            size_t room = i % 5 == 0 ? length(i) / 2 : length(i) + 10;
            size_t expected = room < length(i) ? room : length(i);
            GIVES(expected, acp_wait_ch(receives[rank][i]));
            CHECK(holds(got[rank][i], expected, rank * 100 + me + i));
            CHECK(got[rank][i][expected] == 0xee);
            CHECK(acp_wait_ch(sends[rank][i]) != (size_t)-1);
            /* What was sent within its call has no request that could end. */
            if (length(i) > 176)
                FAILS((size_t)-1, EBADF, acp_wait_ch(sends[rank][i]));
            FAILS((size_t)-1, EBADF, acp_wait_ch(receives[rank][i]));
            free(sent[rank][i]);
            free(got[rank][i]);
        }
    for (int rank = 0; rank < procs; rank++)
        if (rank != me) {
            acp_request_t freed[2] = {acp_nbfree_ch(out[rank]), acp_nbfree_ch(in[rank])};
            CHECK(freed[0] != ACP_REQUEST_NULL && freed[1] != ACP_REQUEST_NULL);
            FAILS(0, EBADF, acp_nbsend_ch(out[rank], "x", 1));
            OK(acp_waitall_ch(freed, 2, NULL));
        }
}

/* Channels of the same two processes are apart. */
static void many(void)
{
    static acp_ch_t channels[MANY];
    static acp_request_t requests[MANY];
    static int values[MANY];
    size_t sizes[MANY];
    if (me > 1)
        return;
    for (int i = 0; i < MANY; i++)
        CHECK((channels[i] = acp_create_ch(0, 1)) != ACP_CH_NULL);
    for (int n = 0; n < MANY; n++) {
        int i = me ? n : MANY - 1 - n;
        values[i] = me ? -1 : i;
        requests[i] = me ? acp_nbrecv_ch(channels[i], &values[i], sizeof(int))
                         : acp_nbsend_ch(channels[i], &values[i], sizeof(int));
    }
    OK(acp_waitall_ch(requests, MANY, sizes));
    for (int i = 0; i < MANY; i++) {
        GIVES(i, values[i]);
        if (me)
            GIVES(sizeof(int), sizes[i]);
    }
    for (int i = 0; i < MANY; i++)
        OK(acp_free_ch(channels[i]));
}

/* Short messages far ahead of their receives, which are all there before anybody waits; and a
 * sender that waits for nothing of the channel while its messages wait for room. */
static void ahead(void)
{
    enum { COUNT = 1000 };
    static acp_request_t requests[COUNT];
    static uint64_t values[COUNT][4];
    if (me > 1)
        return;
    acp_ch_t channel = acp_create_ch(0, 1), back = acp_create_ch(1, 0);
    for (int turn = 0; turn < 2; turn++) {
        if (me && turn)
            usleep(20000);
        for (uint64_t i = 0; i < COUNT; i++) {
            size_t len = 1 + i % sizeof values[i];
            memset(values[i], me ? 0xee : (int)(i % 251), sizeof values[i]);
            requests[i] = me ? acp_nbrecv_ch(channel, values[i], sizeof values[i])
                             : acp_nbsend_ch(channel, values[i], len);
            CHECK(requests[i] != ACP_REQUEST_NULL);
        }
        /* The receiver says when it has all, and only then the sender waits for its own. */
        char done = 0;
        if (me == 0)
            GIVES(1, acp_wait_ch(acp_nbrecv_ch(back, &done, 1)));
        for (uint64_t i = 0; i < COUNT; i++) {
            size_t len = 1 + i % sizeof values[i];
            GIVES(len, acp_wait_ch(requests[i]));
            for (size_t at = 0; me && at < sizeof values[i]; at++)
                CHECK(((unsigned char *)values[i])[at] == (at < len ? i % 251 : 0xee));
        }
        if (me == 1)
            GIVES(1, acp_wait_ch(acp_nbsend_ch(back, &done, 1)));
    }
    acp_request_t freed[] = {acp_nbfree_ch(channel), acp_nbfree_ch(back)};
    OK(acp_waitall_ch(freed, 2, NULL));
}

/* A receiver that has waited long enough to sleep is woken, whichever way the message comes. */
static void asleep(void)
{
    if (me > 1)
        return;
    acp_ch_t channel = acp_create_ch(0, 1);
    for (int i = 0; i < 5; i++) {
        static char data[8192];
        size_t len = i % 2 ? sizeof data : 8;
        if (me == 0) {
            usleep(30000);
            CHECK(acp_wait_ch(acp_nbsend_ch(channel, data, len)) != (size_t)-1);
        } else {
            GIVES(len, acp_wait_ch(acp_nbrecv_ch(channel, data, len)));
        }
    }
    OK(acp_free_ch(channel));
}

/* More channels at once than the memory for lanes serves, again and again. */
static void crowd(void)
{
    enum { CROWD = 3000 };
    static acp_ch_t channels[CROWD];
    static acp_request_t freed[CROWD];
    if (me > 1)
        return;
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < CROWD; i++)
            CHECK((channels[i] = acp_create_ch(0, 1)) != ACP_CH_NULL);
        for (int i = 0; i < CROWD; i++) {
            int value = me ? -1 : i;
            acp_request_t request = me ? acp_nbrecv_ch(channels[i], &value, sizeof value)
                                       : acp_nbsend_ch(channels[i], &value, sizeof value);
            GIVES(sizeof value, acp_wait_ch(request));
            GIVES(i, value);
        }
        for (int i = 0; i < CROWD; i++)
            CHECK((freed[i] = acp_nbfree_ch(channels[i])) != ACP_REQUEST_NULL);
        OK(acp_waitall_ch(freed, CROWD, NULL));
    }
}

int main(int argc, char **argv)
{
    join(&argc, &argv);
    if (procs < 2) {
        FAILS(0, EINVAL, acp_create_ch(0, 0));
        OK(acp_finalize());
        return 0;
    }
    pairs();
    many();
    ahead();
    asleep();
    crowd();
    OK(acp_sync());

    FAILS(0, EINVAL, acp_create_ch(me, me));
    FAILS(0, EINVAL, acp_create_ch(me, procs));
    FAILS(0, EINVAL, acp_create_ch(-1, me));
    if (procs > 2)
        FAILS(0, EINVAL, acp_create_ch((me + 1) % procs, (me + 2) % procs));
    FAILS(0, EBADF, acp_nbsend_ch(ACP_CH_NULL, NULL, 0));
    FAILS(0, EBADF, acp_nbrecv_ch((acp_ch_t)77777777, NULL, 0));
    FAILS((size_t)-1, EBADF, acp_wait_ch(ACP_REQUEST_NULL));
    FAILS(-1, EBADF, acp_free_ch(ACP_CH_NULL));
    FAILS(0, EBADF, acp_nbfree_ch(ACP_CH_NULL));
    FAILS(-1, EINVAL, acp_waitall_ch(NULL, -1, NULL));
    FAILS(-1, EFAULT, acp_waitall_ch(NULL, 1, NULL));

    /* The receiver frees its end: what is not received fails, what was received does not. */
    if (me < 2) {
        static unsigned char data[LONGEST];
        acp_ch_t channel = acp_create_ch(0, 1);
        if (me == 0) {
            FAILS(0, EBADF, acp_nbrecv_ch(channel, data, 1));
            FAILS(0, EFAULT, acp_nbsend_ch(channel, NULL, 1));
            acp_request_t first = acp_nbsend_ch(channel, data, LONGEST);
            acp_request_t second = acp_nbsend_ch(channel, data, LONGEST);
            CHECK(acp_wait_ch(first) != (size_t)-1);
            FAILS((size_t)-1, EBADF, acp_wait_ch(second));
        } else {
            GIVES(LONGEST, acp_wait_ch(acp_nbrecv_ch(channel, data, LONGEST)));
        }
        OK(acp_free_ch(channel));
    }
    OK(acp_finalize());
    return 0;
}
