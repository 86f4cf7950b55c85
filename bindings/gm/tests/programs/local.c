/* What takes no message: the yellow pages, the mapper, copies from another process, alarms that are
 * asked for early, and what is printed. */
#include "gmcheck.h"
#include <sys/mman.h>
#include <sys/wait.h>

static struct gm_port *a;
static unsigned node;

static void yellow_pages(void) {
    unsigned other = GM_NO_SUCH_NODE_ID, len = 7;
    char answer[GM_MAX_YP_STRING_LEN], mapper[6], board[6], route[8];
    gm_u32_t right;
    IS(gm_yp(a, 1000, &other, "hostname", "right", NULL), GM_SUCCESS);
    right = other;
    CHECK(right != node && right != GM_NO_SUCH_NODE_ID);
    IS(gm_yp(a, 1000, &other, "hostname", NULL, &answer), GM_SUCCESS);
    CHECK(strcmp(answer, "right") == 0 && other == right);
    IS(gm_yp(a, 1000, &other, "hostname", "right", &answer), GM_SUCCESS);
    IS(gm_yp(a, 1000, &other, "hostname", "left", &answer), GM_YP_NO_MATCH);
    IS(other, right);
    IS(gm_yp(a, 1000, &other, "colour", NULL, &answer), GM_YP_NO_MATCH);
    other = GM_NO_SUCH_NODE_ID;
    IS(gm_yp(a, 1000, &other, "hostname", "nobody", NULL), GM_YP_NO_MATCH);
    IS(gm_yp(a, 1000, &other, "hostname", NULL, NULL), GM_INVALID_PARAMETER);
    IS(gm_yp(a, 1000, &other, NULL, NULL, NULL), GM_INVALID_PARAMETER);
    IS(gm_yp(a, 1000, NULL, "hostname", NULL, NULL), GM_INVALID_PARAMETER);
    other = 1000;
    IS(gm_yp(a, 1000, &other, "hostname", NULL, &answer), GM_YP_NO_MATCH);
    IS(gm_get_mapper_unique_id(a, mapper), GM_SUCCESS);
    IS(gm_get_unique_board_id(a, board), GM_SUCCESS);
    CHECK(memcmp(mapper, board, 6) == 0);
    IS(gm_get_mapper_unique_id(a, NULL), GM_INVALID_PARAMETER);
    IS(_gm_get_route(a, right, route, &len), GM_SUCCESS);
    IS(len, 0);
    IS(_gm_get_route(a, 1000, route, &len), GM_NO_MATCH);
    /* Board 1 is on another network. */
    IS(gm_host_name_to_node_id_ex(a, 0, "right:1", &other), GM_SUCCESS);
    IS(_gm_get_route(a, other, route, &len), GM_SEND_TARGET_NODE_UNREACHABLE);
}

/* A child has a port open, and its memory is read as long as it does. */
static void direct_copy(void) {
    int ready[2], enough[2], status;
    static char there[100000], here[100000];
    char byte = 0;
    pid_t child;
    size_t i;
    CHECK(pipe(ready) == 0 && pipe(enough) == 0);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        struct gm_port *mine = port_of(6);
        for (i = 0; i < sizeof there; i++) there[i] = (char)(i * 7 + 1);
        CHECK(write(ready[1], &byte, 1) == 1);
        CHECK(read(enough[0], &byte, 1) == 1);
        gm_close(mine);
        _exit(0);
    }
    CHECK(child > 0 && read(ready[0], &byte, 1) == 1);
    /* The child is this program's image: its memory lies at the same addresses. */
    IS(gm_directcopy_get(a, there, here, sizeof there, 0, 6), GM_SUCCESS);
    for (i = 0; i < sizeof there; i++) CHECK(here[i] == (char)(i * 7 + 1) && there[i] == 0);
    IS(gm_directcopy_get(a, there, here, sizeof there, 1, 6), GM_NO_MATCH);
    IS(gm_directcopy_get(a, there, here, sizeof there, 0, 7), GM_NO_MATCH);
    IS(gm_directcopy_get(a, NULL, here, 8, 0, 6), GM_MEMORY_FAULT);
    IS(gm_directcopy_get(a, there, NULL, 8, 0, 6), GM_INVALID_PARAMETER);
    IS(gm_directcopy_get(NULL, there, here, 8, 0, 6), GM_INVALID_PARAMETER);
    CHECK(write(enough[1], &byte, 1) == 1);
    CHECK(waitpid(child, &status, 0) == child);
    IS(status, 0);
    IS(gm_directcopy_get(a, there, here, 8, 0, 6), GM_NO_MATCH);
}

static int rings;
static void ring(void *context) {
    (void)context;
    rings++;
}

/* An alarm is asked for before its time, and after it. */
static void flushed_alarms(void) {
    gm_alarm_t alarm;
    gm_recv_event_t *e;
    gm_flush_alarm(a);
    e = gm_receive(a);
    IS(GM_RECV_EVENT_TYPE(e), _GM_FLUSHED_ALARM_EVENT);
    IS(gm_ntoh_u32(e->flushed_alarm.usecs_remaining), 0);
    gm_unknown(a, e);
    gm_initialize_alarm(&alarm);
    gm_set_alarm(a, &alarm, 3600000000u, ring, NULL);
    gm_flush_alarm(a);
    IS(gm_next_event_peek(a, NULL), _GM_FLUSHED_ALARM_EVENT);
    e = gm_receive(a);
    CHECK(gm_ntoh_u32(e->flushed_alarm.usecs_remaining) > 3000000000u);
    gm_unknown(a, e);
    CHECK(rings == 0 && alarm.state == GM_ALARM_SET);
    gm_set_alarm(a, &alarm, 0, ring, NULL);
    gm_flush_alarm(a);
    while (rings == 0) gm_unknown(a, gm_blocking_receive(a));
    CHECK(rings == 1 && alarm.state == GM_ALARM_FREE);
    gm_handle_put_notification(a, gm_receive(a));
    CHECK(rings == 1);
    gm_flush_alarm(NULL);
}

static void printed(void) {
    char bytes[] = "GM's bytes\n\1\2, shown";
    int buffers[2];
    gm_hex_dump(bytes, 20);
    gm_hex_dump(NULL, 20);
    gm_register_buffer((void *)0x1000, 12);
    gm_register_buffer((void *)0x2000, 13);
    IS(gm_unregister_buffer((void *)0x1000, 12), 0);
    IS(gm_unregister_buffer((void *)0x1000, 12), -1);
    gm_dump_buffers();
    GM_VAR_MAY_BE_UNUSED(buffers);
}

int main(void) {
    IS(gm_init(), GM_SUCCESS);
    a = port_of(2);
    IS(gm_get_node_id(a, &node), GM_SUCCESS);
    yellow_pages();
    direct_copy();
    flushed_alarms();
    printed();
    gm_close(a);
    gm_finalize();
    puts("done");
    return 0;
}
