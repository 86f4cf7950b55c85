/*
 * Two applications compute pi together, as one group: each process sums its part of the integral of 4 / (1 + x * x), the first member adds
 * the parts up and tells all.
 *
 * QX_APPLICATIONS=1:2,2:3 lapirun -n 5 ./pi
 */
#include <qx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP 31
#define STEPS 1000000

/* The processes of both applications. */
static int members[][2] = {{1, 0}, {1, 1}, {2, 0}, {2, 1}, {2, 2}};
#define MEMBERS ((int)(sizeof members / sizeof *members))

static void must(int code, const char *what)
{
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", what, qx_strerror(code));
        exit(1);
    }
}
#define MUST(call) must((call), #call)

static unsigned long table[3];
static double number;

static void receive(int *from)
{
    int context;
    MUST(context = qx_recv_context(from, 0, 1, 2, sizeof number, -1, table));
    MUST(qx_receive(context));
    MUST(qx_poll_for_receive(context));
}

int main(void)
{
    int me[2], size, place = 0, context;
    double sum = 0;
    MUST(qx_whoami(me, &size));
    if (!qx_init(me, me[0], size))
        must(qx_last_error(), "qx_init");
    MUST(qx_buffer_lock((char *)&number, sizeof number));
    MUST(qx_buffer_translate((char *)&number, sizeof number, table));
    MUST(context = qx_send_context(NULL, 0, 1, 0, 0, -1, NULL));
    MUST(qx_join_group(context, GROUP, MEMBERS));
    MUST(qx_poll_for_send(context));

    while (memcmp(members[place], me, sizeof me) != 0)
        place++;
    for (int i = place; i < STEPS; i += MEMBERS) {
        double x = (i + 0.5) / STEPS;
        sum += 4 / (1 + x * x) / STEPS;
    }
    if (place == 0) {
        for (int other = 1; other < MEMBERS; other++) {
            receive(members[other]);
            sum += number;
        }
        MUST(context = qx_send_context(NULL, 0, 1, 0, sizeof sum, -1, (unsigned long *)&sum));
        MUST(qx_broadcast_short(context, GROUP));
        MUST(qx_poll_for_send(context));
    } else {
        MUST(context = qx_send_context(members[0], 0, 1, 0, sizeof sum, -1, (unsigned long *)&sum));
        MUST(qx_send_short(context));
        MUST(qx_poll_for_send(context));
        receive(members[0]);
        sum = number;
    }
    printf("(%d, %d): pi is %.8f\n", me[0], me[1], sum);
    MUST(context = qx_send_context(NULL, 0, 1, 0, 0, -1, NULL));
    MUST(qx_barrier(context, GROUP, MEMBERS));
    MUST(qx_poll_for_send(context));
    MUST(qx_end(me));
    return 0;
}
