/* What goes wrong: ports that are closed, sizes that are not taken, buffers that do not come,
 * programs that are killed; and what the program may do then. Puts and gets, allowed and not.
 *
 * Run with LAPIS_GM_TIMEOUT and LAPIS_GM_OPEN_WAIT of few seconds. */
#include "gmcheck.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static struct gm_port *a, *b;
static unsigned node;
static char bytes[70000], buffer[4][70000];

static void send_a(struct ends *ends, unsigned size, gm_size_t len, unsigned priority) {
    gm_send_with_callback(b, bytes, size, len, priority, node, 2, ended, ends);
}

/* Both go on until so many of b's sends have ended; a may not receive anything. */
static void both_until(struct ends *ends, int count) {
    while (ends->count < count) {
        gm_recv_event_t *e = gm_receive(a);
        CHECK(!is_receive(e));
        gm_unknown(a, e);
        gm_unknown(b, gm_receive(b));
    }
}

static void nobody_there(void) {
    struct ends ends = {0, GM_SUCCESS}, far = {0, GM_SUCCESS};
    struct gm_port *late;
    /* No such node, board's network, port. */
    gm_send_with_callback(b, bytes, 9, 1, GM_LOW_PRIORITY, 1000, 2, ended, &ends);
    until(b, &ends, 1);
    IS(ends.last, GM_SEND_TARGET_NODE_UNREACHABLE);
    /* Nor one that has this node's number in its lower bits. */
    gm_send_with_callback(b, bytes, 9, 1, GM_LOW_PRIORITY, node + (1u << 24), 2, ended, &far);
    until(b, &far, 1);
    IS(far.last, GM_SEND_TARGET_NODE_UNREACHABLE);
    gm_drop_sends(b, GM_LOW_PRIORITY, 1000, 2, ended, &ends);
    until(b, &ends, 2);
    IS(ends.last, GM_SUCCESS);
    gm_send_with_callback(b, bytes, 9, 1, GM_LOW_PRIORITY, node, 99, ended, &ends);
    until(b, &ends, 3);
    IS(ends.last, GM_INVALID_PARAMETER);
    gm_send_with_callback(b, bytes, 9, 505, GM_LOW_PRIORITY, node, 2, ended, &ends);
    until(b, &ends, 4);
    IS(ends.last, GM_INVALID_PARAMETER);
    /* A port that is not open is waited for a while. */
    gm_send_with_callback(b, bytes, 9, 1, GM_LOW_PRIORITY, node, 6, ended, &ends);
    IS(GM_RECV_EVENT_TYPE(gm_receive(b)), GM_NO_RECV_EVENT);
    until(b, &ends, 5);
    IS(ends.last, GM_SEND_TARGET_PORT_CLOSED);
    gm_drop_sends(b, GM_LOW_PRIORITY, node, 6, ended, &ends);
    until(b, &ends, 6);
    gm_send_with_callback(b, bytes, 9, 7, GM_LOW_PRIORITY, node, 6, ended, &ends);
    late = port_of(6);
    gm_provide_receive_buffer(late, buffer[0], 9, GM_LOW_PRIORITY);
    for (;;) {
        gm_recv_event_t *e = gm_receive(late);
        if (is_receive(e)) break;
        gm_unknown(b, gm_receive(b));
    }
    until(b, &ends, 7);
    IS(ends.last, GM_SUCCESS);
    gm_close(late);
    /* One that was open and has been closed is not. */
    gm_send_with_callback(b, bytes, 9, 7, GM_LOW_PRIORITY, node, 6, ended, &ends);
    until(b, &ends, 8);
    IS(ends.last, GM_SEND_TARGET_PORT_CLOSED);
    gm_drop_sends(b, GM_LOW_PRIORITY, node, 6, ended, &ends);
    until(b, &ends, 9);
    IS(gm_set_enable_nack_down(b, 1), GM_SUCCESS);
    gm_send_with_callback(b, bytes, 9, 7, GM_LOW_PRIORITY, node, 7, ended, &ends);
    IS(GM_RECV_EVENT_TYPE(gm_receive(b)), GM_SENT_TOKENS_EVENT);
    gm_handle_sent_tokens(b, gm_receive(b));
    until(b, &ends, 9);
    gm_set_enable_nack_down(b, 0);
}

/* A size that the target does not take; the messages behind it are dropped, or sent. */
static void rejected(void) {
    struct ends first = {0, GM_SUCCESS}, rest = {0, GM_FAILURE}, word = {0, GM_FAILURE};
    int resume, i;
    IS(gm_set_acceptable_sizes(a, GM_LOW_PRIORITY, ~(1ul << 10)), GM_SUCCESS);
    IS(gm_set_acceptable_sizes(a, (enum gm_priority)2, 0), GM_INVALID_PARAMETER);
    for (resume = 0; resume < 2; resume++) {
        first.count = rest.count = word.count = 0;
        send_a(&first, 10, 20, GM_LOW_PRIORITY);
        for (i = 0; i < 3; i++) send_a(&rest, 9, 20 + i, GM_LOW_PRIORITY);
        both_until(&first, 1);
        IS(first.last, GM_SEND_REJECTED);
        send_a(&rest, 17, 66000, GM_LOW_PRIORITY);
        for (i = 0; i < 1000; i++) gm_unknown(b, gm_receive(b)), gm_unknown(a, gm_receive(a));
        IS(rest.count, 0);
        if (!resume) {
            gm_drop_sends(b, GM_LOW_PRIORITY, node, 2, ended, &word);
            both_until(&rest, 4);
            IS(rest.last, GM_SEND_DROPPED);
        } else {
            for (i = 0; i < 3; i++) gm_provide_receive_buffer(a, buffer[i], 9, GM_LOW_PRIORITY);
            gm_provide_receive_buffer(a, buffer[3], 17, GM_LOW_PRIORITY);
            gm_resume_sending(b, GM_LOW_PRIORITY, node, 2, ended, &word);
            for (i = 0; i < 4;) {
                gm_recv_event_t *e = gm_receive(a);
                gm_unknown(b, gm_receive(b));
                if (!is_receive(e)) continue;
                IS(gm_ntoh_u32(e->recv.length), i == 3 ? 66000 : 20 + i);
                i++;
            }
            both_until(&rest, 4);
            IS(rest.last, GM_SUCCESS);
        }
        both_until(&word, 1);
        IS(word.last, GM_SUCCESS);
    }
    gm_set_acceptable_sizes(a, GM_LOW_PRIORITY, ~0ul);
}

/* No buffer comes; afterwards the same way works again. */
static void timed_out(void) {
    struct ends ends = {0, GM_SUCCESS}, behind = {0, GM_FAILURE}, word = {0, GM_FAILURE};
    gm_recv_event_t *e;
    send_a(&ends, 9, 11, GM_HIGH_PRIORITY);
    send_a(&behind, 9, 12, GM_HIGH_PRIORITY);
    both_until(&ends, 1);
    IS(ends.last, GM_SEND_TIMED_OUT);
    IS(behind.count, 0);
    gm_provide_receive_buffer(a, buffer[0], 9, GM_HIGH_PRIORITY);
    for (int i = 0; i < 1000; i++) CHECK(!is_receive(gm_receive(a)));
    gm_resume_sending(b, GM_HIGH_PRIORITY, node, 2, ended, &word);
    do gm_unknown(b, gm_receive(b));
    while (!is_receive(e = gm_receive(a)));
    IS(gm_ntoh_u32(e->recv.length), 12);
    both_until(&behind, 1);
    IS(behind.last, GM_SUCCESS);
    both_until(&word, 1);
}

/* What was received before the port was closed was sent well; what was not, was not. */
static void closed_in_the_middle(void) {
    struct ends good = {0, GM_FAILURE};
    static struct ends all[40];
    int received = 0, i, fine = 0, closed = 0;
    (void)good;
    for (i = 0; i < 3; i++) gm_provide_receive_buffer(a, buffer[i], 15, GM_LOW_PRIORITY);
    for (i = 0; i < 40; i++) {
        all[i].last = GM_FAILURE;
        send_a(&all[i], 15, 1000 * (gm_size_t)(i % 30), GM_LOW_PRIORITY);
    }
    while (received < 25) {
        gm_recv_event_t *e = gm_receive(a);
        if (is_receive(e)) {
            IS(gm_ntoh_u32(e->recv.length), 1000 * (received % 30));
            received++;
            gm_provide_receive_buffer(a, gm_ntohp(e->recv.buffer), 15, GM_LOW_PRIORITY);
        }
        gm_unknown(b, gm_receive(b));
    }
    /* What arrives while it ends has arrived. */
    gm_close(a);
    while (closed == 0) {
        gm_unknown(b, gm_receive(b));
        for (i = fine = closed = 0; i < 40; i++) {
            fine += all[i].count && all[i].last == GM_SUCCESS;
            closed += all[i].count && all[i].last == GM_SEND_TARGET_PORT_CLOSED;
        }
        if (fine == 40) break;
    }
    CHECK(fine >= received);
    for (i = 0; i < fine; i++) IS(all[i].last, GM_SUCCESS);
    good.count = 0;
    gm_drop_sends(b, GM_LOW_PRIORITY, node, 2, ended, &good);
    until(b, &good, 1);
    a = port_of(2);
    /* Its next life is reached like the one before. */
    gm_provide_receive_buffer(a, buffer[0], 9, GM_LOW_PRIORITY);
    good.count = 0;
    send_a(&good, 9, 3, GM_LOW_PRIORITY);
    while (!is_receive(gm_receive(a))) gm_unknown(b, gm_receive(b));
    both_until(&good, 1);
    IS(good.last, GM_SUCCESS);
}

static void remote_memory(void) {
    struct ends ends = {0, GM_SUCCESS};
    static const gm_size_t lengths[] = {0, 1, 100, 5000, 69000};
    char *memory = gm_dma_calloc(a, 1, sizeof bytes);
    gm_remote_ptr_t there = (gm_remote_ptr_t)(unsigned long)memory;
    unsigned i;
    int n = 0;
    gm_size_t k;
    for (k = 0; k < sizeof bytes; k++) bytes[k] = (char)(k * 13 + 5);
    gm_put(b, bytes, there, 10, GM_LOW_PRIORITY, node, 2, ended, &ends);
    both_until(&ends, ++n);
    IS(ends.last, GM_PERMISSION_DENIED);
    CHECK(memory[0] == 0);
    gm_drop_sends(b, GM_LOW_PRIORITY, node, 2, ended, &ends);
    both_until(&ends, ++n);
    IS(gm_allow_remote_memory_access(a), GM_SUCCESS);
    gm_put(b, bytes, (gm_remote_ptr_t)(unsigned long)buffer, 10, GM_LOW_PRIORITY, node, 2, ended, &ends);
    both_until(&ends, ++n);
    IS(ends.last, GM_MEMORY_FAULT);
    gm_drop_sends(b, GM_LOW_PRIORITY, node, 2, ended, &ends);
    both_until(&ends, ++n);
    gm_get(b, there + sizeof bytes - 4, buffer[0], 8, GM_LOW_PRIORITY, node, 2, ended, &ends);
    both_until(&ends, ++n);
    IS(ends.last, GM_MEMORY_FAULT);
    gm_resume_sending(b, GM_LOW_PRIORITY, node, 2, ended, &ends);
    both_until(&ends, ++n);
    for (i = 0; i < GM_NUM_ELEM(lengths); i++) {
        gm_size_t len = lengths[i];
        gm_recv_event_t *e;
        memset(memory, 0, sizeof bytes);
        memset(buffer[0], 0, sizeof bytes);
        /* A message behind a put comes when the put is there; a get behind it sees it. */
        gm_provide_receive_buffer(a, buffer[1], 9, GM_LOW_PRIORITY);
        if (i & 1)
            gm_put(b, bytes, there + i, len, GM_LOW_PRIORITY, node, 2, ended, &ends);
        else
            gm_directed_send_with_callback(b, bytes, there + i, len, GM_LOW_PRIORITY, node, 2, ended, &ends);
        send_a(&ends, 9, 4, GM_LOW_PRIORITY);
        gm_get(b, there + i, buffer[0], len, GM_LOW_PRIORITY, node, 2, ended, &ends);
        n += 3;
        do gm_unknown(b, gm_receive(b));
        while (!is_receive(e = gm_receive(a)));
        CHECK(memcmp(memory + i, bytes, len) == 0);
        both_until(&ends, n);
        IS(ends.last, GM_SUCCESS);
        CHECK(memcmp(buffer[0], bytes, len) == 0);
        CHECK(buffer[0][len] == 0);
    }
    gm_directed_send(b, bytes, there, 77, GM_HIGH_PRIORITY, node, 2);
    for (;;) {
        gm_recv_event_t *e = gm_receive(b);
        CHECK(!is_receive(gm_receive(a)));
        if (GM_RECV_EVENT_TYPE(e) == GM_SENT_EVENT) break;
    }
    CHECK(memcmp(memory, bytes, 77) == 0);
    IS(gm_register_memory(a, buffer, 100), GM_SUCCESS);
    gm_get(b, (gm_remote_ptr_t)(unsigned long)buffer, buffer[2], 100, GM_HIGH_PRIORITY, node, 2, ended, &ends);
    both_until(&ends, ++n);
    IS(ends.last, GM_SUCCESS);
    IS(gm_deregister_memory(a, buffer, 100), GM_SUCCESS);
    /* Others may know it by another address. */
    IS(gm_register_memory_ex(a, memory, 60000, (void *)0x10000), GM_SUCCESS);
    IS(gm_register_memory_ex(a, memory, 60000, NULL), GM_INVALID_PARAMETER);
    for (i = 0; i < 2; i++) {
        gm_size_t len = i == 0 ? 60 : 50000;
        memset(memory, 0, 60000);
        memset(buffer[0], 0, 60000);
        gm_put(b, bytes, 0x10008, len, GM_LOW_PRIORITY, node, 2, ended, &ends);
        gm_get(b, 0x10004, buffer[0], len, GM_LOW_PRIORITY, node, 2, ended, &ends);
        both_until(&ends, n += 2);
        IS(ends.last, GM_SUCCESS);
        CHECK(memcmp(memory + 8, bytes, len) == 0 && memory[8 + len] == 0);
        CHECK(memcmp(buffer[0] + 4, bytes, len - 4) == 0);
    }
    IS(gm_deregister_memory(a, (void *)0x10000, 60000), GM_SUCCESS);
    gm_get(b, 0x10004, buffer[0], 8, GM_LOW_PRIORITY, node, 2, ended, &ends);
    both_until(&ends, ++n);
    IS(ends.last, GM_MEMORY_FAULT);
    IS(gm_deregister_memory(a, buffer, 100), GM_INVALID_PARAMETER);
    gm_dma_free(a, memory);
}

/* Datagrams that find a buffer arrive; the others leave no trace. */
static void datagrams(void) {
    struct ends ends = {0, GM_FAILURE};
    gm_recv_event_t *e;
    int i;
    gm_datagram_send(b, bytes, 9, 50, GM_LOW_PRIORITY, node, 2, ended, &ends);
    for (i = 0; i < 1000; i++) CHECK(!is_receive(gm_receive(a)));
    gm_provide_receive_buffer(a, buffer[0], 9, GM_LOW_PRIORITY);
    gm_datagram_send_4(b, 0x01010101, 9, 4, GM_LOW_PRIORITY, node, 2, ended, &ends);
    while (!is_receive(e = gm_receive(a))) gm_unknown(b, gm_receive(b));
    IS(gm_ntoh_u32(e->recv.length), 4);
    CHECK(memcmp(bytes_of(e), "\1\1\1\1", 4) == 0);
    gm_datagram_send(b, bytes, 14, gm_mtu(b) + 1, GM_LOW_PRIORITY, node, 2, ended, &ends);
    both_until(&ends, 3);
    IS(ends.last, GM_INVALID_PARAMETER);
}

/* A program that is killed: whoever has sent to it hears of it, asleep or not. */
static void killed(void) {
    volatile int *ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct ends ends = {0, GM_SUCCESS}, word = {0, GM_FAILURE};
    unsigned other;
    int life, status;
    CHECK(ready != MAP_FAILED);
    for (life = 1; life <= 2; life++) {
        pid_t child = fork();
        if (child == 0) {
            struct gm_port *mine;
            setenv("LAPIS_GM_NODE", "right", 1);
            mine = port_of(4);
            gm_provide_receive_buffer(mine, buffer[0], 9, GM_LOW_PRIORITY);
            next_message(mine);
            *ready = life;
            for (;;) gm_receive(mine);
        }
        CHECK(child > 0);
        IS(gm_host_name_to_node_id_ex(b, 0, "right", &other), GM_SUCCESS);
        ends.count = 0;
        gm_send_with_callback(b, bytes, 9, 9, GM_LOW_PRIORITY, other, 4, ended, &ends);
        if (life == 2) {
            /* The program may be there later than the first try: a port that was closed is not
             * waited for. */
            until(b, &ends, 1);
            while (ends.last == GM_SEND_TARGET_PORT_CLOSED) {
                word.count = 0;
                gm_drop_sends(b, GM_LOW_PRIORITY, other, 4, ended, &word);
                until(b, &word, 1);
                usleep(2000);
                ends.count = 0;
                gm_send_with_callback(b, bytes, 9, 9, GM_LOW_PRIORITY, other, 4, ended, &ends);
                until(b, &ends, 1);
            }
        }
        while (*ready != life) gm_unknown(b, gm_receive(b));
        until(b, &ends, 1);
        IS(ends.last, GM_SUCCESS);
        /* These wait for buffers that will not come. */
        gm_send_with_callback(b, bytes, 9, 9, GM_LOW_PRIORITY, other, 4, ended, &ends);
        gm_send_with_callback(b, bytes, 17, 66000, GM_HIGH_PRIORITY, other, 4, ended, &ends);
        if (life == 1)
            for (int i = 0; i < 1000; i++) gm_unknown(b, gm_receive(b));
        kill(child, SIGKILL);
        CHECK(waitpid(child, &status, 0) == child);
        until(b, &ends, 3);
        IS(ends.last, GM_SEND_TARGET_PORT_CLOSED);
        word.count = 0;
        gm_drop_sends(b, GM_LOW_PRIORITY, other, 4, ended, &word);
        gm_drop_sends(b, GM_HIGH_PRIORITY, other, 4, ended, &word);
        until(b, &word, 2);
    }
}

int main(void) {
    IS(gm_init(), GM_SUCCESS);
    b = port_of(5);
    IS(gm_get_node_id(b, &node), GM_SUCCESS);
    nobody_there();
    killed();
    a = port_of(2);
    rejected();
    timed_out();
    datagrams();
    closed_in_the_middle();
    remote_memory();
    gm_close(a);
    gm_close(b);
    gm_finalize();
    puts("done");
    return 0;
}
