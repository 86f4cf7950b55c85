/* Random messages of all sizes and both priorities, in both directions at once, against a model:
 * each side knows the other's random numbers, and so what is to come in which order.
 *
 * arguments: the other's host name, this side's seed, the other's seed, how many messages */
#include "gmcheck.h"
#include <sys/mman.h>

#define LARGEST 19

/* Both sides have memory for the other to get at this address. */
#define SHARED ((unsigned char *)0x200000000000)
enum { SHARED_LEN = 1 << 17 };

static struct gm_port *p;
static int free_tokens, sent_ended, gets, gets_ended;

struct message {
    unsigned priority, size;
    gm_size_t len;
    uint32_t mark;
};

static struct message make(uint64_t *state) {
    static const gm_size_t limits[] = {9, 130, 1000, 5000, 17000, 40000, 500000};
    struct message m;
    m.priority = rnd(state) & 1;
    m.len = rnd(state) % limits[rnd(state) % GM_NUM_ELEM(limits)];
    m.size = gm_min_size_for_length(m.len) + (rnd(state) % 4 == 0);
    m.mark = rnd(state);
    return m;
}

static void fill(unsigned char *to, const struct message *m) {
    gm_size_t i;
    for (i = 0; i < m->len; i++) to[i] = (unsigned char)((m->mark >> (i & 15)) + i * 7);
}

static void check(const unsigned char *got, const struct message *m) {
    gm_size_t i;
    for (i = 0; i < m->len; i++) CHECK(got[i] == (unsigned char)((m->mark >> (i & 15)) + i * 7));
}

static void done(struct gm_port *port, void *context, gm_status_t status) {
    CHECK(port == p);
    IS(status, GM_SUCCESS);
    free(context);
    free_tokens++;
    sent_ended++;
}

/* A get of a part of the other's memory. */
struct get {
    gm_size_t at, len;
    unsigned char bytes[];
};

static unsigned char shared_byte(gm_size_t at) { return (unsigned char)(at * 11 + (at >> 8)); }

static void share(void) {
    gm_size_t i;
    unsigned char *at = mmap(SHARED, SHARED_LEN, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    CHECK(at == SHARED);
    for (i = 0; i < SHARED_LEN; i++) at[i] = shared_byte(i);
    IS(gm_register_memory(p, at, SHARED_LEN), GM_SUCCESS);
    IS(gm_allow_remote_memory_access(p), GM_SUCCESS);
}

static void got(struct gm_port *port, void *context, gm_status_t status) {
    struct get *get = context;
    gm_size_t i;
    CHECK(port == p);
    IS(status, GM_SUCCESS);
    for (i = 0; i < get->len; i++) CHECK(get->bytes[i] == shared_byte(get->at + i));
    free(get);
    free_tokens++;
    gets_ended++;
}

/* The message that follows with the same priority comes when the get has been served: so the other
 * side is there for it. */
static void get_some(uint64_t *random, unsigned priority, unsigned node) {
    gm_size_t len = rnd(random) % (rnd(random) & 1 ? 300 : 70000);
    struct get *get = calloc(1, sizeof *get + len + 1);
    get->len = len;
    get->at = rnd(random) % (SHARED_LEN - len);
    free_tokens--;
    gets++;
    gm_get(p, (gm_remote_ptr_t)(unsigned long)(SHARED + get->at), get->bytes, len, priority, node, 4,
           got, get);
}

int main(int argc, char **argv) {
    uint64_t mine, theirs[2], own_delay = 77, own_gets;
    unsigned node = 0, size, priority;
    /* How many gets go before the next message: which it is depends on no time. */
    int before;
    int count, sent = 0, received = 0;
    struct message next[2];
    struct { void *at; unsigned size, priority, tag; int when; } withheld[256];
    int kept = 0, loops = 0;

    CHECK(argc == 5);
    IS(gm_init(), GM_SUCCESS);
    p = port_of(4);
    IS(gm_host_name_to_node_id_ex(p, 1000000, argv[1], &node), GM_SUCCESS);
    mine = strtoull(argv[2], NULL, 10);
    theirs[0] = theirs[1] = strtoull(argv[3], NULL, 10);
    own_gets = mine ^ 77;
    before = rnd(&own_gets) % 4 == 0;
    count = atoi(argv[4]);
    share();
    free_tokens = (int)gm_num_send_tokens(p);
    for (priority = 0; priority < 2; priority++) {
        for (size = 3; size <= LARGEST + 1; size++) {
            int n = size < 14 ? 3 : 1;
            while (n-- > 0)
                gm_provide_receive_buffer_with_tag(p, gm_dma_malloc(p, gm_max_length_for_size(size)),
                                                   size, priority, size * 2 + priority);
        }
        do next[priority] = make(&theirs[priority]);
        while (next[priority].priority != priority);
    }
    while (sent_ended < count || received < count || gets_ended < gets) {
        gm_recv_event_t *e;
        int i;
        loops++;
        if (sent < count && free_tokens > before) {
            struct message m = make(&mine);
            unsigned char *bytes = malloc(m.len + 1);
            fill(bytes, &m);
            if (before) get_some(&own_delay, m.priority, node);
            before = rnd(&own_gets) % 4 == 0;
            free_tokens--;
            sent++;
            if (rnd(&own_delay) & 1)
                gm_send_with_callback(p, bytes, m.size, m.len, m.priority, node, 4, done, bytes);
            else
                gm_send_to_peer_with_callback(p, bytes, m.size, m.len, m.priority, node, done, bytes);
        }
        /* Nobody waits who has something to do. */
        e = kept > 0 || (sent < count && free_tokens > before) ? gm_receive(p) : gm_blocking_receive_no_spin(p);
        if (is_receive(e)) {
            unsigned pr = GM_RECV_EVENT_TYPE(e) & 1 ? 0 : 1; /* odd kinds are of low priority */
            struct message *m = &next[pr];
            IS(gm_ntoh_u32(e->recv.length), m->len);
            IS(gm_ntoh_u8(e->recv.size), m->size);
            IS(gm_ntoh_u8(e->recv.tag), m->size * 2 + pr);
            IS(gm_ntoh_u16(e->recv.sender_node_id), node);
            IS(gm_ntoh_u8(e->recv.sender_port_id), 4);
            check((unsigned char *)bytes_of(e), m);
            received++;
            do *m = make(&theirs[pr]);
            while (m->priority != pr);
            CHECK(kept < 256);
            withheld[kept].at = gm_ntohp(e->recv.buffer);
            withheld[kept].size = gm_ntoh_u8(e->recv.size);
            withheld[kept].priority = pr;
            withheld[kept].tag = gm_ntoh_u8(e->recv.tag);
            withheld[kept++].when = loops + (int)(rnd(&own_delay) % 8 ? 0 : rnd(&own_delay) % 60);
        } else {
            gm_unknown(p, e);
        }
        for (i = 0; i < kept; i++) {
            if (withheld[i].when > loops) continue;
            gm_provide_receive_buffer_with_tag(p, withheld[i].at, withheld[i].size,
                                               withheld[i].priority, withheld[i].tag);
            withheld[i--] = withheld[--kept];
        }
    }
    CHECK(gets > count / 8);
    gm_close(p);
    gm_finalize();
    printf("sent %d received %d\n", sent, received);
    return 0;
}
