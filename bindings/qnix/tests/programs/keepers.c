/*
 * Whoever keeps the list of a group that others join need not be a member: it may leave before, meanwhile and afterwards.
 * tasks: 4
 */
/*= QNIX API, qx_join_group, a group is complete with as many processes as its size says */
#include "qcheck.h"

/* Names lead to processes by their remainder: of these, to the third and the last process. */
#define THIRD 402
#define LAST 803
#define BEFORE 1203

int main(void)
{
    start();
    CHECK(size == 4);
    int other[2] = {me[0], 1 - me[1]}, joins = -1;
    buffer in = make(100);
    if (me[1] < 2)
        join(BEFORE, 2);
    barrier(me[0], size);
    if (me[1] == 0) {
        /* The list has one name when its keeper leaves. */
        joins = command_context();
        OK(qx_join_group(joins, LAST, 2));
    }
    barrier(me[0], size);
    if (me[1] == 3) {
        leave();
        return 0;
    }
    /* Those that are left know that it has gone. */
    int last[2] = {me[0], 3};
    GIVES(QX_ERR_PEER, qx_poll_for_receive(receive_of(last, 1, &in)));
    if (me[1] == 1)
        join(LAST, 2);
    if (me[1] == 0)
        done(joins);
    if (me[1] == 2) {
        /* A name that was complete before stays so, whoever keeps it. */
        joins = command_context();
        OK(qx_join_group(joins, BEFORE, 2));
        GIVES(QX_ERR_GROUP_EXISTS, qx_poll_for_send(joins));
        leave();
        return 0;
    }
    barrier(LAST, 2);
    /* Whether the third one has gone is not known: its name leads to it or to somebody else. */
    join(THIRD, 2);
    barrier(THIRD, 2);
    join(THIRD + 4, 2);
    for (int i = 0; i < 10; i++) {
        short_to(other, 7, &i, sizeof i);
        GIVES((int)sizeof i, qx_poll_for_receive(receive_of(other, 7, &in)));
    }
    barrier(THIRD + 4, 2);
    leave();
    return 0;
}
