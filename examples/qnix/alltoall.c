/*
 * Each process sends a row of a matrix' blocks to each: a transposition, from one buffer pool.
 *
 * lapirun -n 4 ./alltoall
 */
#include <qx.h>
#include <stdio.h>
#include <stdlib.h>

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
    int me[2], size, right = 0;
    int sends[QX_CONTEXTS], receives[QX_CONTEXTS];
    qx_hps_t *hps;
    MUST(qx_whoami(me, &size));
    hps = qx_init(me, me[0], size);
    if (!hps)
        must(qx_last_error(), "qx_init");
    /* A page for each process to send from, and one to receive into. */
    MUST(qx_buffer_pool(2 * size));
    int per_page = hps->page_size / (int)sizeof(int);
    for (int other = 0; other < size; other++) {
        int *out = (int *)(hps->buffer_pool + other * hps->page_size), name[2] = {me[0], other};
        for (int i = 0; i < per_page; i++)
            out[i] = me[1] * 1000000 + other * 10000 + i;
        MUST(receives[other] = qx_recv_context(name, 0, 1, 1, hps->page_size, size + other, NULL));
        MUST(qx_receive(receives[other]));
    }
    for (int step = 0; step < size; step++) {
        int other = (me[1] + step) % size, name[2] = {me[0], other};
        MUST(sends[other] = qx_send_context(name, 0, 1, QX_PACKETS(hps->page_size), hps->page_size, other, NULL));
        MUST(qx_send(sends[other]));
    }
    for (int other = 0; other < size; other++) {
        int *in = (int *)(hps->buffer_pool + (size + other) * hps->page_size);
        MUST(qx_poll_for_receive(receives[other]));
        for (int i = 0; i < per_page; i++)
            right += in[i] == other * 1000000 + me[1] * 10000 + i;
        MUST(qx_poll_for_send(sends[other]));
    }
    printf("process %d: %s\n", me[1], right == size * per_page ? "all blocks are right" : "blocks are wrong");
    MUST(qx_end(me));
    return 0;
}
