/*
 * A pipeline: the first process reads blocks and tells each one to two workers at once, by multicast; each computes something of its own of
 * it and sends that to the last process, which puts the results together. Several blocks are under way.
 *
 * lapirun -n 4 ./pipeline
 */
#include <qx.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCKS 50
#define NUMBERS 10000
#define BYTES (NUMBERS * (long)sizeof(long))

static void must(int code, const char *what)
{
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", what, qx_strerror(code));
        exit(1);
    }
}
#define MUST(call) must((call), #call)

static unsigned long *table;
static int pages;

static void receive(int *from, long len)
{
    int context;
    MUST(context = qx_recv_context(from, 0, 1, pages, len, -1, table));
    MUST(qx_receive(context));
    MUST(qx_poll_for_receive(context));
}

int main(void)
{
    int me[2], size, context;
    MUST(qx_whoami(me, &size));
    qx_hps_t *hps = qx_init(me, me[0], size);
    if (!hps)
        must(qx_last_error(), "qx_init");
    int source[2] = {me[0], 0}, adds[2] = {me[0], 1}, finds[2] = {me[0], 2}, sink[2] = {me[0], 3};
    int *workers[2] = {adds, finds};

    long *block = malloc(BYTES), result;
    table = malloc((BYTES / hps->page_size + 3) * sizeof *table);
    MUST(qx_buffer_lock((char *)block, BYTES));
    MUST(qx_buffer_translate((char *)block, BYTES, table));
    pages = (int)((BYTES + (unsigned long)block % hps->page_size + hps->page_size - 1) / hps->page_size);

    long all = 0, greatest = 0;
    for (int b = 0; b < BLOCKS; b++) {
        switch (me[1]) {
        case 0:
            for (int i = 0; i < NUMBERS; i++)
                block[i] = (b * 7919L + i * 104729L) % 100003;
            MUST(context = qx_send_context(NULL, 0, 1, QX_PACKETS(BYTES), BYTES, -1, table));
            MUST(qx_multicast(context, 2, workers));
            MUST(qx_poll_for_send(context));
            break;
        case 1:
        case 2:
            receive(source, BYTES);
            result = 0;
            for (int i = 0; i < NUMBERS; i++)
                result = me[1] == 1 ? result + block[i] : block[i] > result ? block[i] : result;
            MUST(context = qx_send_context(sink, 0, 1, 0, sizeof result, -1, (unsigned long *)&result));
            MUST(qx_send_short(context));
            MUST(qx_poll_for_send(context));
            break;
        case 3:
            receive(adds, BYTES);
            all += block[0];
            receive(finds, BYTES);
            greatest = block[0] > greatest ? block[0] : greatest;
            break;
        }
    }
    if (me[1] == 3)
        printf("%d blocks: sum %ld, greatest %ld\n", BLOCKS, all, greatest);
    MUST(qx_end(me));
    return 0;
}
