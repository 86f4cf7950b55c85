/* Sends from one of its ports to the other until a send fails, which must be because an adapter is
 * down; and then until one arrives again. */
#include "gmcheck.h"

int main(void) {
    struct gm_port *a = port_of(2), *b = port_of(5);
    struct ends ends = {0, GM_SUCCESS}, word = {0, GM_SUCCESS};
    char bytes[8] = "hello", buffer[64];
    unsigned node;
    int sent = 0, again = 0;
    IS(gm_get_node_id(a, &node), GM_SUCCESS);
    gm_provide_receive_buffer(a, buffer, 5, GM_LOW_PRIORITY);
    for (;;) {
        gm_recv_event_t *e = gm_receive(a);
        if (is_receive(e)) gm_provide_receive_buffer(a, buffer, 5, GM_LOW_PRIORITY);
        gm_unknown(b, gm_receive(b));
        if (sent > ends.count) continue;
        if (ends.last != GM_SUCCESS) {
            IS(ends.last, GM_SEND_TARGET_NODE_UNREACHABLE);
            if (!again++) puts("cut off");
            gm_drop_sends(b, GM_LOW_PRIORITY, node, 2, ended, &word);
            until(b, &word, again);
            ends.last = GM_SUCCESS;
        } else if (again && sent) {
            break;
        }
        gm_send_with_callback(b, bytes, 5, 8, GM_LOW_PRIORITY, node, 2, ended, &ends);
        if (!sent++) puts("sends");
        fflush(stdout);
    }
    puts("back");
    gm_close(b);
    gm_close(a);
    return 0;
}
