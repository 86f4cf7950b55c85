/*
 * Whoever keeps the names of complete groups dies, and the next one leaves: the members tell who keeps them then that nobody can join any
 * more.
 * tasks: 5
 * env: LAPIS_TIMEOUT=10
 */
#include "qcheck.h"
#include <signal.h>

/* Names lead to processes by their remainder: these to the first one. */
#define COMPLETE 500
#define BEGUN 505
#define NEW 510

static int name[5][2];

static void ends_for(int victim, int tag)
{
    buffer in = make(8);
    GIVES(QX_ERR_PEER, qx_poll_for_receive(receive_of(name[victim], tag, &in)));
}

static void comes_too_late(void)
{
    int joins = command_context();
    OK(qx_join_group(joins, COMPLETE, 2));
    GIVES(QX_ERR_GROUP_EXISTS, qx_poll_for_send(joins));
}

int main(void)
{
    int begun = -1, word = 0;
    start();
    CHECK(size == 5);
    for (int i = 0; i < 5; i++)
        name[i][0] = me[0], name[i][1] = i;
    buffer in = make(8);
    if (me[1] == 2 || me[1] == 3)
        join(COMPLETE, 2);
    barrier(me[0], size);
    if (me[1] == 4) {
        begun = command_context();
        OK(qx_join_group(begun, BEGUN, 2));
    }
    barrier(me[0], size);
    if (me[1] == 0)
        kill(getpid(), SIGKILL);
    /* At once: some may not have heard of the death yet, and the list of the next one is begun before the members tell it. */
    ends_for(0, 1);
    if (me[1] == 4) {
        GIVES(QX_ERR_PEER, qx_poll_for_send(begun));
        comes_too_late();
        short_to(name[1], 2, &word, sizeof word);
    }
    if (me[1] == 1) {
        GIVES((int)sizeof word, qx_poll_for_receive(receive_of(name[4], 2, &in)));
        comes_too_late();
        leave();
        return 0;
    }
    ends_for(1, 3);
    if (me[1] == 4)
        comes_too_late();
    else
        barrier(COMPLETE, 2);
    /* What is new comes about. */
    join(NEW, 3);
    barrier(NEW, 3);
    leave();
    puts("as it should be");
    return 0;
}
