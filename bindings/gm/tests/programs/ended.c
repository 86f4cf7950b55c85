/* A port whose program was written for GM 1 and provides no buffers is closed by the time-out.
 *
 * Run with LAPIS_GM_TIMEOUT and LAPIS_GM_OPEN_WAIT of less than a second. */
#include "gmcheck.h"

static struct gm_port *a, *b, *c;
static char bytes[70000], room[70000], taken[512];

static void both_until(struct ends *ends, int count) {
    while (ends->count < count) {
        gm_unknown(a, gm_receive(a));
        gm_unknown(b, gm_receive(b));
    }
}

int main(void) {
    struct ends own = {0, GM_SUCCESS}, late = {0, GM_SUCCESS}, first = {0, GM_FAILURE}, after = {0, GM_SUCCESS};
    gm_recv_event_t *e;
    unsigned node;
    IS(gm_init(), GM_SUCCESS);
    IS(gm_open(&a, 0, 2, "old", GM_API_VERSION_1_6), GM_SUCCESS);
    b = port_of(4);
    c = port_of(5);
    IS(gm_get_node_id(b, &node), GM_SUCCESS);
    /* One message is received well, which changes nothing. */
    gm_provide_receive_buffer(a, room, 9, GM_LOW_PRIORITY);
    gm_send_with_callback(b, bytes, 9, 7, GM_LOW_PRIORITY, node, 2, ended, &first);
    do gm_unknown(b, gm_receive(b));
    while (!is_receive(e = gm_receive(a)));
    IS(gm_ntoh_u32(e->recv.length), 7);
    both_until(&first, 1);
    IS(first.last, GM_SUCCESS);
    gm_send_with_callback(b, bytes, 9, 11, GM_HIGH_PRIORITY, node, 2, ended, &late);
    for (int i = 0; i < 100000 && late.count == 0; i++) {
        gm_unknown(a, gm_receive(a));
        gm_unknown(b, gm_receive(b));
    }
    /* Nobody calls the target of this one, so that it does not time out as well. */
    gm_send_with_callback(a, bytes, 17, 66000, GM_LOW_PRIORITY, node, 5, ended, &own);
    both_until(&late, 1);
    IS(late.last, GM_SEND_TIMED_OUT);
    /* The port is closed: its own message fails, and whatever it sends from now on. */
    both_until(&own, 1);
    IS(own.last, GM_SEND_PORT_CLOSED);
    gm_send_with_callback(a, bytes, 9, 1, GM_LOW_PRIORITY, node, 4, ended, &own);
    both_until(&own, 2);
    IS(own.last, GM_SEND_PORT_CLOSED);
    gm_datagram_send(a, bytes, 9, 1, GM_LOW_PRIORITY, node, 4, ended, &own);
    both_until(&own, 3);
    IS(own.last, GM_SEND_PORT_CLOSED);
    /* Nothing comes to it any more, and no call waits for that. */
    gm_provide_receive_buffer(a, taken, 9, GM_LOW_PRIORITY);
    IS(GM_RECV_EVENT_TYPE(gm_blocking_receive(a)), GM_NO_RECV_EVENT);
    gm_send_with_callback(b, bytes, 9, 1, GM_LOW_PRIORITY, node, 2, ended, &after);
    both_until(&after, 1);
    IS(after.last, GM_SEND_TARGET_PORT_CLOSED);
    /* The number is free; the port that has it next is a new one. */
    gm_close(a);
    a = port_of(2);
    gm_provide_receive_buffer(a, taken, 9, GM_LOW_PRIORITY);
    gm_resume_sending(b, GM_LOW_PRIORITY, node, 2, ended, &after);
    gm_send_with_callback(b, bytes, 9, 5, GM_LOW_PRIORITY, node, 2, ended, &after);
    for (;;) {
        e = gm_receive(a);
        gm_unknown(b, gm_receive(b));
        if (is_receive(e)) break;
        gm_unknown(a, e);
    }
    IS(gm_ntoh_u32(e->recv.length), 5);
    both_until(&after, 3);
    IS(after.last, GM_SUCCESS);
    gm_close(a);
    gm_close(b);
    gm_close(c);
    puts("done");
    gm_finalize();
    return 0;
}
