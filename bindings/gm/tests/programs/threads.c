/* Two threads use one port: one sends, the other waits for what comes and runs the callbacks. A
 * third one answers from a port of its own. */
#include "gmcheck.h"
#include <pthread.h>
#include <sched.h>

#define COUNT 20000
#define FLIGHT 48
#define BUFFERS 32
#define SIZE 6

static struct gm_port *p, *q;
static unsigned node;
static int sent, ended_sends, answered;

static int load(int *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

static void count(struct gm_port *port, void *context, gm_status_t status) {
    (void)port;
    IS(status, GM_SUCCESS);
    __atomic_fetch_add((int *)context, 1, __ATOMIC_RELEASE);
}

static void *sender(void *unused) {
    static int messages[FLIGHT];
    int number;
    for (number = 0; number < COUNT; number++) {
        while (number - load(&ended_sends) >= FLIGHT) sched_yield();
        messages[number % FLIGHT] = number;
        /* Before the call: its answer may be here before this thread goes on. */
        __atomic_store_n(&sent, number + 1, __ATOMIC_RELEASE);
        gm_send_with_callback(p, &messages[number % FLIGHT], SIZE, sizeof number, GM_LOW_PRIORITY, node, 4,
                              count, &ended_sends);
    }
    gm_wake(p);
    return unused;
}

static void *receiver(void *unused) {
    while (load(&answered) < COUNT || load(&ended_sends) < COUNT) {
        gm_recv_event_t *e = gm_blocking_receive(p);
        int number;
        if (!is_receive(e)) {
            gm_unknown(p, e);
            continue;
        }
        memcpy(&number, bytes_of(e), sizeof number);
        IS(number, answered);
        CHECK(number < load(&sent));
        gm_provide_receive_buffer(p, gm_ntohp(e->recv.buffer), SIZE, GM_HIGH_PRIORITY);
        __atomic_store_n(&answered, number + 1, __ATOMIC_RELEASE);
    }
    return unused;
}

static void answer_all(void) {
    static int answers[FLIGHT];
    int got = 0, given = 0, done = 0;
    while (done < COUNT) {
        gm_recv_event_t *e = gm_receive(q);
        if (is_receive(e)) {
            int number;
            memcpy(&number, bytes_of(e), sizeof number);
            IS(number, got);
            got++;
            gm_provide_receive_buffer(q, gm_ntohp(e->recv.buffer), SIZE, GM_LOW_PRIORITY);
        } else {
            gm_unknown(q, e);
        }
        for (; given < got && given - done < FLIGHT; given++) {
            answers[given % FLIGHT] = given;
            gm_send_with_callback(q, &answers[given % FLIGHT], SIZE, sizeof given, GM_HIGH_PRIORITY, node, 2,
                                  count, &done);
        }
    }
    IS(got, COUNT);
}

int main(void) {
    static char buffers[2][BUFFERS][64];
    pthread_t threads[2];
    int i;
    p = port_of(2);
    q = port_of(4);
    IS(gm_get_node_id(p, &node), GM_SUCCESS);
    for (i = 0; i < BUFFERS; i++) {
        gm_provide_receive_buffer(p, buffers[0][i], SIZE, GM_HIGH_PRIORITY);
        gm_provide_receive_buffer(q, buffers[1][i], SIZE, GM_LOW_PRIORITY);
    }
    IS(pthread_create(&threads[0], NULL, receiver, NULL), 0);
    IS(pthread_create(&threads[1], NULL, sender, NULL), 0);
    answer_all();
    for (i = 0; i < 2; i++) IS(pthread_join(threads[i], NULL), 0);
    gm_close(p);
    gm_close(q);
    puts("done");
    return 0;
}
