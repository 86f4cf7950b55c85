/* One thread sleeps in gm_blocking_receive_no_spin, with nothing to wait for. What another thread
 * does to the port meanwhile wakes it, without gm_wake. */
#include "gmcheck.h"
#include <pthread.h>

#define SIZE 6

static struct gm_port *p;
static int kind, rung, message;

static void *sleeper(void *unused) {
    gm_recv_event_t *e = gm_blocking_receive_no_spin(p);
    kind = GM_RECV_EVENT_TYPE(e);
    if (is_receive(e)) memcpy(&message, bytes_of(e), sizeof message);
    gm_unknown(p, e);
    return unused;
}

static void ring(void *context) { (*(int *)context)++; }

static void call_alarm(void) {
    static gm_alarm_t alarm;
    gm_initialize_alarm(&alarm);
    gm_set_alarm(p, &alarm, 1000, ring, &rung);
}

static void call_flush(void) { gm_flush_alarm(p); }

static void call_itself(void) {
    static int sent = 77;
    static struct ends ends;
    unsigned node;
    IS(gm_get_node_id(p, &node), GM_SUCCESS);
    gm_send_with_callback(p, &sent, SIZE, sizeof sent, GM_LOW_PRIORITY, node, 2, ended, &ends);
}

/* What a thread that sleeps is shown after this call. */
static int after(void (*call)(void)) {
    pthread_t thread;
    IS(pthread_create(&thread, NULL, sleeper, NULL), 0);
    /* Asleep by then, as a rule: if not, the call is one that it need not be woken for. */
    usleep(100000);
    call();
    IS(pthread_join(thread, NULL), 0);
    return kind;
}

int main(void) {
    static char buffer[64];
    p = port_of(2);
    gm_provide_receive_buffer(p, buffer, SIZE, GM_LOW_PRIORITY);
    IS(after(call_flush), _GM_FLUSHED_ALARM_EVENT);
    IS(after(call_alarm), GM_ALARM_EVENT);
    IS(rung, 1);
    IS(after(call_itself), GM_FAST_PEER_RECV_EVENT);
    IS(message, 77);
    gm_close(p);
    puts("done");
    return 0;
}
