/* Sends one message to port 2 of the host that its argument names, and prints how that ended. */
#include "gmcheck.h"

int main(int argc, char **argv) {
    struct gm_port *p = port_of(6);
    struct ends ends = {0, GM_SUCCESS};
    unsigned node = GM_NO_SUCH_NODE_ID;
    CHECK(argc == 2);
    IS(gm_host_name_to_node_id_ex(p, 1000000, argv[1], &node), GM_SUCCESS);
    gm_send_with_callback(p, argv[1], 9, 5, GM_LOW_PRIORITY, node, 2, ended, &ends);
    puts("sent");
    fflush(stdout);
    until(p, &ends, 1);
    printf("status %d\n", ends.last);
    gm_close(p);
    return 0;
}
