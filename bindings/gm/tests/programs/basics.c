/* One program: calls and their answers, messages to itself and between two ports of its own,
 * events of every kind, alarms, memory. */
#include "gmcheck.h"
#include <signal.h>
#include <sys/wait.h>

static struct gm_port *a, *b;
static unsigned node;
static char text[5000];

static void numbers(void) {
    unsigned n = 0, other = 0;
    int type = -1, i;
    char name[GM_MAX_HOST_NAME_LEN], board[6], same_board[6];
    char named[GM_MAX_HOST_NAME_LEN + 1];

    IS(gm_get_node_id(a, &node), GM_SUCCESS);
    CHECK(node != GM_NO_SUCH_NODE_ID);
    IS(gm_get_host_name(a, name), GM_SUCCESS);
    CHECK(strcmp(name, "left") == 0);
    IS(gm_host_name_to_node_id(a, name), node);
    IS(gm_host_name_to_node_id(a, (char *)"left.example.org"), node);
    IS(gm_host_name_to_node_id(a, (char *)"nobody"), GM_NO_SUCH_NODE_ID);
    IS(gm_host_name_to_node_id_ex(a, 1000, "nobody", &n), GM_NO_MATCH);
    IS(gm_host_name_to_node_id_ex(a, 1000, "right", &other), GM_SUCCESS);
    CHECK(other != node);
    CHECK(strcmp(gm_node_id_to_host_name(a, other), "right") == 0);
    CHECK(gm_node_id_to_host_name(a, 1000) == NULL);
    IS(gm_node_id_to_host_name_ex(a, 1000, node, &named), GM_SUCCESS);
    CHECK(strcmp(named, "left") == 0);
    IS(gm_node_id_to_host_name_ex(a, 1000, 1000, &named), GM_NO_MATCH);
    IS(gm_get_unique_board_id(a, board), GM_SUCCESS);
    IS(gm_unique_id(a, same_board), GM_SUCCESS);
    CHECK(memcmp(board, same_board, 6) == 0);
    IS(gm_node_id_to_unique_id(a, node, same_board), GM_SUCCESS);
    CHECK(memcmp(board, same_board, 6) == 0);
    IS(gm_unique_id_to_node_id(a, board, &n), GM_SUCCESS);
    IS(n, node);
    IS(gm_node_id_to_global_id(a, node, &n), GM_SUCCESS);
    IS(gm_global_id_to_node_id(a, n, &other), GM_SUCCESS);
    IS(other, node);
    IS(gm_max_node_id(a, &n), GM_SUCCESS);
    IS(gm_max_node_id_in_use(a, &other), GM_SUCCESS);
    CHECK(other >= node && other <= n);
    IS(gm_max_node_id_inuse(a, &n), GM_SUCCESS);
    IS(n, other);
    IS(gm_get_node_type(a, &type), GM_SUCCESS);
    IS(gm_get_port_id(a), 2);
    CHECK(gm_num_ports(a) >= 8 && gm_mtu(a) >= 1024);
    CHECK(gm_num_send_tokens(a) >= 16 && gm_num_receive_tokens(a) >= 16);
    for (i = 0; i < 31; i++) {
        gm_size_t len = gm_max_length_for_size((unsigned)i);
        if (i >= (int)gm_min_message_size(a)) {
            IS(len, (1L << i) - 8);
            IS(gm_min_size_for_length(len), i);
            IS(gm_min_size_for_length(len + 1), i + 1);
        }
    }
    CHECK(gm_ticks(a) > 0);
    IS(gm_get_node_id(NULL, &n), GM_INVALID_PARAMETER);
    IS(gm_get_node_id(a, NULL), GM_INVALID_PARAMETER);
}

static void refusals(void) {
    struct gm_port *p = NULL;
    unsigned reserved[] = {0, 1, 3, 16, 1000}, i;
    for (i = 0; i < GM_NUM_ELEM(reserved); i++)
        IS(gm_open(&p, 0, reserved[i], "x", GM_API_VERSION), GM_INVALID_PORT_NUMBER);
    IS(gm_open(&p, 9, 2, "x", GM_API_VERSION), GM_NO_SUCH_DEVICE);
    IS(gm_open(&p, 0, 2, "x", GM_API_VERSION), GM_BUSY);
    IS(gm_open(&p, 0, 6, "x", (enum gm_api_version)0x900), GM_INCOMPATIBLE_LIB_AND_DRIVER);
    IS(gm_open(NULL, 0, 6, "x", GM_API_VERSION), GM_INVALID_PARAMETER);
    /* Another board has ports of its own. */
    IS(gm_open(&p, 1, 2, NULL, GM_API_VERSION_1_6), GM_SUCCESS);
    gm_close(p);
    CHECK(p != NULL);
}

/* Messages of a port to itself, and from one port to another, of the lengths at which things
 * change. */
static void lengths(void) {
    static const gm_size_t all[] = {0, 1, 8, 128, 129, 2048, 2049, 4900, 16000, 16300, 16400, 100000, 3000000};
    struct gm_port *from[] = {a, b};
    struct ends ends = {0, GM_FAILURE};
    unsigned i, j, count = 0;
    for (i = 0; i < GM_NUM_ELEM(all); i++) {
        unsigned size = gm_min_size_for_length(all[i]);
        unsigned char *bytes = gm_dma_malloc(a, all[i]), *buffer = gm_dma_calloc(a, 1, gm_max_length_for_size(size));
        gm_size_t k;
        for (k = 0; k < all[i]; k++) bytes[k] = (unsigned char)(k * 31 + i);
        for (j = 0; j < 2; j++) {
            gm_recv_event_t *e;
            int type;
            gm_provide_receive_buffer_with_tag(a, buffer, size, j, 200 + j);
            gm_send_with_callback(from[j], bytes, size, all[i], j, node, 2, ended, &ends);
            count++;
            do {
                gm_recv_event_t *other = gm_receive(b);
                gm_unknown(b, other);
                e = gm_receive(a);
                if (!is_receive(e)) gm_unknown(a, e);
            } while (!is_receive(e));
            type = GM_RECV_EVENT_TYPE(e);
            if (j == 0) /* from the same port number: a peer */
                IS(type, all[i] <= 128 ? GM_FAST_PEER_RECV_EVENT : GM_PEER_RECV_EVENT);
            else
                IS(type, all[i] <= 128 ? GM_FAST_HIGH_RECV_EVENT : GM_HIGH_RECV_EVENT);
            IS(gm_ntoh_u32(e->recv.length), all[i]);
            IS(gm_ntoh_u8(e->recv.tag), 200 + j);
            IS(gm_ntoh_u8(e->recv.size), size);
            IS(gm_ntoh_u16(e->recv.sender_node_id), node);
            IS(gm_ntoh_u8(e->recv.sender_port_id), j == 0 ? 2 : 5);
            CHECK(gm_ntohp(e->recv.buffer) == buffer);
            CHECK(memcmp(gm_memorize_message(bytes_of(e), buffer, (unsigned)all[i]), bytes, all[i]) == 0);
            while (ends.count < (int)count) {
                gm_unknown(b, gm_receive(b));
                gm_unknown(a, gm_receive(a));
            }
            IS(ends.last, GM_SUCCESS);
        }
        gm_dma_free(a, bytes);
        gm_dma_free(a, buffer);
    }
}

/* A message waits for its buffer; later ones of its priority wait behind it, others do not. */
static void order(void) {
    struct ends ends = {0, GM_FAILURE};
    char buffers[3][64];
    gm_recv_event_t *e;
    gm_u16_t sender = 0;
    strcpy(text, "first");
    gm_send_with_callback(b, text, 6, 6, GM_LOW_PRIORITY, node, 2, ended, &ends);
    gm_send_with_callback(b, text, 5, 1, GM_LOW_PRIORITY, node, 2, ended, &ends);
    gm_send_with_callback(b, text, 5, 2, GM_HIGH_PRIORITY, node, 2, ended, &ends);
    gm_provide_receive_buffer(a, buffers[0], 5, GM_LOW_PRIORITY);
    gm_provide_receive_buffer(a, buffers[1], 5, GM_HIGH_PRIORITY);
    while (!gm_receive_pending(a)) gm_unknown(b, gm_receive(b));
    IS(gm_next_event_peek(a, &sender), GM_FAST_HIGH_RECV_EVENT);
    IS(sender, node);
    e = next_message(a);
    IS(gm_ntoh_u32(e->recv.length), 2);
    IS(GM_RECV_EVENT_TYPE(gm_receive(a)), GM_NO_RECV_EVENT);
    gm_provide_receive_buffer(a, buffers[2], 6, GM_LOW_PRIORITY);
    e = next_message(a);
    IS(gm_ntoh_u32(e->recv.length), 6);
    CHECK(strcmp(bytes_of(e), "first") == 0);
    e = next_message(a);
    IS(gm_ntoh_u32(e->recv.length), 1);
    until(b, &ends, 3);
    /* A message that nobody knows what to do with gives its buffer back to GM. */
    gm_unknown(a, e);
    gm_send_with_callback(b, text, 5, 3, GM_LOW_PRIORITY, node, 2, ended, &ends);
    e = next_message(a);
    IS(gm_ntoh_u32(e->recv.length), 3);
    until(b, &ends, 4);
}

/* The calls of GM 1.0, whose end an event tells. */
static void legacy(void) {
    char buffer[64];
    gm_recv_event_t *e;
    gm_up_n_t *list;
    gm_provide_receive_buffer(a, buffer, 5, GM_LOW_PRIORITY);
    gm_send(b, text, 5, 4, GM_LOW_PRIORITY, node, 2);
    next_message(a);
    while (GM_RECV_EVENT_TYPE(e = gm_receive(b)) != GM_SENT_EVENT) IS(GM_RECV_EVENT_TYPE(e), GM_NO_RECV_EVENT);
    list = gm_ntohp(e->sent.message_list);
    CHECK(gm_ntohp(list[0]) == text && gm_ntohp(list[1]) == NULL);
    /* From port to port of the same number: here to itself. */
    gm_provide_receive_buffer(a, buffer, 5, GM_HIGH_PRIORITY);
    gm_send_to_peer(a, text, 5, 4, GM_HIGH_PRIORITY, node);
    IS(GM_RECV_EVENT_TYPE(next_message(a)), GM_FAST_HIGH_PEER_RECV_EVENT);
    while (GM_RECV_EVENT_TYPE(e = gm_receive(a)) != GM_SENT_EVENT) IS(GM_RECV_EVENT_TYPE(e), GM_NO_RECV_EVENT);
    /* One that can't be. */
    gm_send(b, text, 5, 1000, GM_LOW_PRIORITY, node, 2);
    e = gm_receive(b);
    IS(GM_RECV_EVENT_TYPE(e), GM_ORPHANED_SEND_EVENT);
    CHECK(gm_ntohp(e->failed_send.message) == text);
    IS(gm_ntoh_u16(e->failed_send.target_node_id), node);
    IS(gm_ntoh_u8(e->failed_send.target_subport_id), 2);
}

static void tokens(void) {
    struct ends ends = {0, GM_SUCCESS};
    unsigned i, all = gm_num_send_tokens(b);
    gm_recv_event_t *e;
    IS(gm_alloc_send_token(b, GM_LOW_PRIORITY), 0);
    gm_free_send_tokens(b, GM_LOW_PRIORITY, 2);
    gm_free_send_token(b, GM_HIGH_PRIORITY);
    IS(gm_send_token_available(b, GM_HIGH_PRIORITY), 1);
    IS(gm_alloc_send_token(b, GM_HIGH_PRIORITY), 1);
    IS(gm_send_token_available(b, GM_HIGH_PRIORITY), 0);
    IS(gm_alloc_send_token(b, GM_LOW_PRIORITY) + gm_alloc_send_token(b, GM_LOW_PRIORITY), 2);
    IS(gm_alloc_send_token(b, GM_LOW_PRIORITY), 0);
    /* Nobody provides buffers for these. */
    for (i = 0; i < all; i++) gm_send_with_callback(b, text, 9, 9, GM_LOW_PRIORITY, node, 2, ended, &ends);
    IS(ends.count, 0);
    IS(GM_RECV_EVENT_TYPE(gm_receive(b)), GM_NO_RECV_EVENT);
    gm_send_with_callback(b, text, 9, 9, GM_LOW_PRIORITY, node, 2, ended, &ends);
    e = gm_receive(b);
    IS(GM_RECV_EVENT_TYPE(e), GM_SEND_TOKEN_VIOLATION_EVENT);
    gm_unknown(b, e);
    until(b, &ends, 1);
    IS(ends.last, GM_FAILURE);
    for (i = 0; i < all; i++) {
        gm_provide_receive_buffer(a, text + 512, 9, GM_LOW_PRIORITY);
        next_message(a);
    }
    until(b, &ends, (int)all + 1);
    IS(ends.last, GM_SUCCESS);
    for (i = 0; i < gm_num_receive_tokens(b); i++) gm_provide_receive_buffer(b, text, 7, GM_LOW_PRIORITY);
    IS(GM_RECV_EVENT_TYPE(gm_receive(b)), GM_NO_RECV_EVENT);
    gm_provide_receive_buffer(b, text, 7, GM_LOW_PRIORITY);
    IS(GM_RECV_EVENT_TYPE(gm_receive(b)), GM_RECV_TOKEN_VIOLATION_EVENT);
}

static int rung[3], order_of[3], rings;
static void ring(void *context) {
    *(int *)context = 1;
    order_of[rings++] = (int)((int *)context - rung);
}

static gm_alarm_t two[2];
static void ring_and_cancel(void *context) {
    ring(context);
    gm_cancel_alarm(&two[1]);
}

/* Two alarms are due at once, and the first takes the second back. */
static void alarm_cancels_another(void) {
    gm_recv_event_t *e;
    gm_initialize_alarm(&two[0]);
    gm_initialize_alarm(&two[1]);
    rings = rung[0] = rung[1] = 0;
    gm_set_alarm(a, &two[0], 1000, ring_and_cancel, &rung[0]);
    gm_set_alarm(a, &two[1], 2000, ring, &rung[1]);
    usleep(5000);
    while (GM_RECV_EVENT_TYPE(e = gm_receive(a)) == GM_NO_RECV_EVENT);
    IS(GM_RECV_EVENT_TYPE(e), GM_ALARM_EVENT);
    gm_unknown(a, e);
    CHECK(rings == 1 && rung[0] && !rung[1]);
    IS(two[1].state, GM_ALARM_FREE);
}

/* An alarm is one port's: that on which it was set last. Without its port it is none. */
static void alarm_moves(void) {
    gm_alarm_t alarm;
    struct gm_port *third = port_of(6);
    gm_recv_event_t *e;
    gm_initialize_alarm(&alarm);
    rings = 0;
    gm_set_alarm(b, &alarm, 1000, ring, &rung[0]);
    gm_set_alarm(a, &alarm, 1000, ring, &rung[0]);
    while (GM_RECV_EVENT_TYPE(e = gm_receive(a)) == GM_NO_RECV_EVENT);
    IS(GM_RECV_EVENT_TYPE(e), GM_ALARM_EVENT);
    gm_unknown(a, e);
    IS(rings, 1);
    usleep(5000);
    IS(GM_RECV_EVENT_TYPE(gm_receive(b)), GM_NO_RECV_EVENT);
    gm_set_alarm(third, &alarm, 1000, ring, &rung[0]);
    gm_close(third);
    gm_cancel_alarm(&alarm);
    gm_set_alarm(a, &alarm, 3600000000u, ring, &rung[0]);
    gm_cancel_alarm(&alarm);
    IS(alarm.state, GM_ALARM_FREE);
}

static void alarms(void) {
    gm_alarm_t alarm[3];
    int i;
    for (i = 0; i < 3; i++) gm_initialize_alarm(&alarm[i]);
    gm_set_alarm(a, &alarm[0], 20000, ring, &rung[0]);
    gm_set_alarm(a, &alarm[1], 50000000, ring, &rung[1]);
    gm_set_alarm(a, &alarm[1], 1000, ring, &rung[1]); /* anew */
    gm_set_alarm(a, &alarm[2], 5000, ring, &rung[2]);
    gm_cancel_alarm(&alarm[2]);
    gm_cancel_alarm(&alarm[2]);
    IS(alarm[0].state, GM_ALARM_SET);
    while (rings < 2) {
        gm_recv_event_t *e = gm_blocking_receive(a);
        IS(GM_RECV_EVENT_TYPE(e), GM_ALARM_EVENT);
        CHECK(!rung[0] || rings == 2);
        gm_unknown(a, e);
    }
    CHECK(rung[0] && rung[1] && !rung[2]);
    CHECK(order_of[0] == 1 && order_of[1] == 0);
    IS(alarm[0].state, GM_ALARM_FREE);
    gm_wake(a);
    IS(GM_RECV_EVENT_TYPE(gm_blocking_receive_no_spin(a)), GM_NO_RECV_EVENT);
}

/* Memory that is given back stays where it is, for what is still being sent from it, and is given
 * out again. */
static void memory_stays(void) {
    gm_size_t len = 3 << 20;
    char *piece = gm_dma_malloc(a, len), *other;
    piece[len - 1] = 5;
    gm_dma_free(a, piece);
    CHECK(piece[len - 1] == 5);
    other = gm_dma_malloc(a, len + 100);
    CHECK(other == piece);
    gm_dma_free(a, other);
}

static void helpers(void) {
    char *copy = gm_strdup("text"), *page = gm_page_alloc(), *pages = gm_alloc_pages(3 * GM_PAGE_LEN);
    unsigned i;
    CHECK(strcmp(copy, "text") == 0 && gm_strlen(copy) == 4 && gm_strcmp(copy, "texu") < 0);
    CHECK(gm_strncmp("abc", "abd", 2) == 0 && gm_strncasecmp("ABc", "abC", 3) == 0);
    CHECK(GM_ALIGNED(page, GM_PAGE_LEN) && GM_ALIGNED(pages, GM_PAGE_LEN));
    gm_memset(page, 7, GM_PAGE_LEN);
    gm_bzero(page, 10);
    gm_bcopy(page, page + 20, 10);
    CHECK(gm_memcmp(page, page + 20, 10) == 0 && page[19] == 7 && page[30] == 7);
    gm_page_free(page);
    gm_free_pages(pages, 3 * GM_PAGE_LEN);
    gm_free(copy);
    gm_free(gm_calloc(gm_log2_roundup(5), 4));
    gm_free(gm_malloc(9));
    for (i = 0; i <= 256; i++) {
        IS(gm_log2_roundup(i), gm_log2_roundup_table[i]);
        CHECK(i < 2 || (1u << gm_log2_roundup(i) >= i && 1u << (gm_log2_roundup(i) - 1) < i));
    }
    IS(gm_getpid(), getpid());
    CHECK(gm_isprint('a') && !gm_isprint('\n'));
    gm_strncpy(text, "abc", 10);
    CHECK(strcmp(text, "abc") == 0);
    IS(gm_sleep(0), 0);
    gm_perror("this is", GM_BUSY);
    CHECK(strstr(gm_strerror(GM_SEND_TIMED_OUT), "timed out") != NULL);
}

/* After a fork the port stays the parent's. */
static void forks(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct gm_port *mine = NULL;
        unsigned n;
        if (gm_get_node_id(a, &n) == GM_SUCCESS) _exit(1);
        gm_close(a);
        if (gm_open(&mine, 0, 2, "child", GM_API_VERSION) != GM_BUSY) _exit(2);
        if (gm_open(&mine, 0, 7, "child", GM_API_VERSION) != GM_SUCCESS) _exit(3);
        gm_close(mine);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    IS(status, 0);
    order();
    child = fork();
    if (child == 0) gm_abort();
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void bye(gm_status_t status, void *arg) {
    IS(status, GM_SUCCESS);
    puts((char *)arg);
}

int main(void) {
    IS(gm_init(), GM_SUCCESS);
    a = port_of(2);
    b = port_of(5);
    numbers();
    refusals();
    lengths();
    order();
    legacy();
    alarms();
    alarm_cancels_another();
    alarm_moves();
    memory_stays();
    helpers();
    forks();
    tokens();
    gm_close(b);
    gm_close(a);
    a = port_of(2);
    gm_close(a);
    gm_finalize();
    gm_on_exit(bye, (void *)"last");
    gm_on_exit(bye, (void *)"first");
    gm_exit(GM_SUCCESS);
    return 1;
}
