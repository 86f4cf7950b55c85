/*
 * Two applications in one job, groups across both, broadcast, multicast and barriers in them.
 * tasks: 5
 * env: QX_APPLICATIONS=7:2,3:3
 */
#include "qcheck.h"

#define ALL 100
#define MIXED 101

static int all[5][2] = {{3, 0}, {3, 1}, {3, 2}, {7, 0}, {7, 1}};
static buffer in, out;

/* One member after the other sends to all members of a group. */
static void broadcasts(int group, int (*members)[2], int n, long len)
{
    for (int root = 0; root < n; root++) {
        if (memcmp(members[root], me, sizeof me) == 0) {
            fill(out.data, len, root + group);
            int send = send_of(NULL, root, &out, len);
            OK(qx_broadcast(send, group));
            done(send);
        } else {
            memset(in.data, 0, len);
            int receive = receive_of(members[root], root, &in);
            GIVES((int)len, qx_poll_for_receive(receive));
            CHECK(holds(in.data, len, root + group));
        }
    }
}

/* (3, 1) sends to two of each application, the others get nothing; the short form as well. */
static void multicasts(void)
{
    static int sender[2] = {3, 1};
    int *list[3] = {all[4], all[0], all[3]};
    if (memcmp(me, sender, sizeof me) == 0) {
        for (int i = 0; i < 50; i++) {
            long len = i * 601;
            fill(out.data, len, i);
            int send = send_of(NULL, 1000, &out, len);
            OK(qx_multicast(send, 3, list));
            done(send);
            unsigned long value = i;
            send = INDEX(qx_send_context(NULL, 1000, 1, 0, sizeof value, -1, &value));
            OK(qx_multicast_short(send, 3, list));
            done(send);
            /* Between them, one to one: the order holds across all kinds. */
            if (i % 5 == 0)
                short_to(all[0], 1000, "between", 7);
        }
    } else if (!(me[0] == 3 && me[1] == 2)) {
        for (int i = 0; i < 50; i++) {
            GIVES(i * 601, qx_poll_for_receive(receive_of(sender, 1000, &in)));
            CHECK(holds(in.data, i * 601, i));
            GIVES(8, qx_poll_for_receive(receive_of(sender, 1000, &in)));
            CHECK(*(unsigned long *)in.data == (unsigned long)i);
            if (i % 5 == 0 && me[0] == 3) {
                GIVES(7, qx_poll_for_receive(receive_of(sender, 1000, &in)));
                CHECK(memcmp(in.data, "between", 7) == 0);
            }
        }
    }
}

/*= QNIX API, qx_barrier, ends when all members have come */
/* Nobody leaves a barrier before all have come. */
static void barriers(int group, int n, int place)
{
    static unsigned long came[5];
    for (int round = 0; round < 40; round++) {
        if (round % n == place)
            usleep(1500);
        came[place] = round + 1;
        /* Each tells all others before the barrier; afterwards all of it must be there at once. */
        for (int other = 0; other < n; other++)
            if (other != place)
                short_to(group == ALL ? all[other] : NULL, 2000 + round, &came[place], 8);
        barrier(group, n);
        for (int other = 0; other < n; other++)
            if (other != place) {
                GIVES(8, qx_poll_for_receive(receive_of(all[other], 2000 + round, &in)));
                CHECK(*(unsigned long *)in.data == (unsigned long)round + 1);
            }
    }
    /* Several under way. */
    int contexts[10];
    for (int i = 0; i < 10; i++) {
        contexts[i] = command_context();
        OK(qx_barrier(contexts[i], group, n));
    }
    for (int i = 9; i >= 0; i--)
        done(contexts[i]);
}

static int place_of(void)
{
    for (int i = 0; i < 5; i++)
        if (memcmp(all[i], me, sizeof me) == 0)
            return i;
    return -1;
}

int main(void)
{
    start();
    CHECK((me[0] == 7 && size == 2) || (me[0] == 3 && size == 3));
    in = make(300000);
    out = make(300000);
    int mine = me[0];
    /* Applications are groups from the beginning; another one's can be written to, but is none to wait in. */
    broadcasts(mine, mine == 3 ? all : all + 3, size, 70000);
    int context = command_context();
    GIVES(QX_ERR_MEMBER, qx_barrier(context, 10 - mine, 5 - size));
    barrier(mine, size);
    join(ALL, 5);
    GIVES(QX_ERR_GROUP_EXISTS, qx_join_group(context, ALL, 5));
    broadcasts(ALL, all, 5, 100);
    broadcasts(ALL, all, 5, 300000);
    barriers(ALL, 5, place_of());
    multicasts();
    /* Three of both, in any order. */
    static int mixed[3][2] = {{3, 0}, {3, 2}, {7, 1}};
    int member = (me[0] == 3 && me[1] != 1) || (me[0] == 7 && me[1] == 1);
    if (member) {
        usleep(1000 * (me[0] + me[1]));
        join(MIXED, 3);
        broadcasts(MIXED, mixed, 3, 20000);
        barrier(MIXED, 3);
    } else {
        GIVES(QX_ERR_GROUP, qx_barrier(context, MIXED, 3));
    }
    /*= QNIX API, qx_join_group, a group is complete with as many processes as its size says */
    /* Two who disagree about the size: the later one is refused, the group comes about nevertheless. */
    if (me[0] == 7) {
        int joins = command_context();
        if (me[1] == 1)
            barrier(7, 2);
        OK(qx_join_group(joins, 555, me[1] == 0 ? 1 : 2));
        if (me[1] == 0) {
            done(joins);
            barrier(7, 2);
        } else {
            GIVES(QX_ERR_GROUP_EXISTS, qx_poll_for_send(joins));
        }
    }
    barrier(ALL, 5);
    leave();
    return 0;
}
