/*
 * A message to and fro between two processes: 8 bytes in registers, then a megabyte in pages.
 *
 * lapirun -n 2 ./pingpong
 */
#include <qx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 1000
#define LONG (1 << 20)

static void must(int code, const char *what)
{
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", what, qx_strerror(code));
        exit(1);
    }
}
#define MUST(call) must((call), #call)

int main(void)
{
    int me[2], size, other[2], context, sum = 0;
    unsigned long word;
    qx_hps_t *hps;
    MUST(qx_whoami(me, &size));
    hps = qx_init(me, me[0], size);
    if (!hps)
        must(qx_last_error(), "qx_init");
    other[0] = me[0];
    other[1] = 1 - me[1];

    char *data = malloc(LONG);
    unsigned long *table = malloc((LONG / hps->page_size + 3) * sizeof *table);
    MUST(qx_buffer_lock(data, LONG));
    MUST(qx_buffer_translate(data, LONG, table));
    int pages = (int)((LONG + (unsigned long)data % hps->page_size + hps->page_size - 1) / hps->page_size);

    for (int round = 0; round < ROUNDS; round++) {
        for (int turn = 0; turn < 2; turn++) {
            if (me[1] == turn) {
                word = round;
                MUST(context = qx_send_context(other, 1, 1, 0, sizeof word, -1, &word));
                MUST(qx_send_short(context));
                MUST(qx_poll_for_send(context));
            } else {
                MUST(context = qx_recv_context(other, 1, 1, pages, LONG, -1, table));
                MUST(qx_receive(context));
                MUST(qx_poll_for_receive(context));
                memcpy(&word, data, sizeof word);
                sum += word == (unsigned long)round;
            }
        }
    }
    printf("process %d received %d short messages in order\n", me[1], sum);

    sum = 0;
    for (int turn = 0; turn < 2; turn++) {
        if (me[1] == turn) {
            memset(data, 'a' + turn, LONG);
            MUST(context = qx_send_context(other, 2, 1, QX_PACKETS(LONG), LONG, -1, table));
            MUST(qx_send(context));
            MUST(qx_poll_for_send(context));
        } else {
            MUST(context = qx_recv_context(other, 2, 1, pages, LONG, -1, table));
            MUST(qx_receive(context));
            MUST(qx_poll_for_receive(context));
            for (int i = 0; i < LONG; i++)
                sum += data[i] == 'a' + turn;
        }
    }
    printf("process %d received %d bytes as they were sent\n", me[1], sum);
    MUST(qx_end(me));
    return 0;
}
