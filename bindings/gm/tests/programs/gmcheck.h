/* What the test programs share. */
#ifndef GMCHECK_H
#define GMCHECK_H
#define _GNU_SOURCE
#include <gm.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(a)                                                                                   \
    do {                                                                                           \
        if (!(a)) {                                                                                \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #a);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static __inline__ void same(const char *file, int line, long got, long wanted) {
    if (got != wanted) {
        fprintf(stderr, "%s:%d: %ld where %ld was expected (status: %s)\n", file, line, got, wanted,
                gm_strerror((gm_status_t)got));
        exit(1);
    }
}
#define IS(got, wanted) same(__FILE__, __LINE__, (long)(got), (long)(wanted))

/* Random numbers, the same for the same seed. */
static __inline__ uint32_t rnd(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 16);
}

static __inline__ struct gm_port *port_of(unsigned number) {
    struct gm_port *p = NULL;
    IS(gm_open(&p, 0, number, "test", GM_API_VERSION), GM_SUCCESS);
    return p;
}

/* Ends of sends: how many, and the last status. */
struct ends {
    int count;
    gm_status_t last;
};
static __attribute__((unused)) void ended(struct gm_port *p, void *context, gm_status_t status) {
    struct ends *ends = (struct ends *)context;
    (void)p;
    ends->count++;
    ends->last = status;
}

static __inline__ int is_receive(gm_recv_event_t *e) {
    int type = GM_RECV_EVENT_TYPE(e);
    return type >= GM_RECV_EVENT && type <= GM_FAST_HIGH_PEER_RECV_EVENT;
}

/* The bytes of a message that was received. */
static __inline__ char *bytes_of(gm_recv_event_t *e) {
    int fast = GM_RECV_EVENT_TYPE(e) >= GM_FAST_RECV_EVENT;
    return (char *)gm_ntohp(fast ? e->recv.message : e->recv.buffer);
}

/* The next message; everything else goes to gm_unknown. */
static __inline__ gm_recv_event_t *next_message(struct gm_port *p) {
    for (;;) {
        gm_recv_event_t *e = gm_blocking_receive(p);
        if (is_receive(e)) return e;
        gm_unknown(p, e);
    }
}

/* Goes on until so many sends have ended; messages are an error. */
static __inline__ void until(struct gm_port *p, struct ends *ends, int count) {
    while (ends->count < count) {
        gm_recv_event_t *e = gm_blocking_receive(p);
        CHECK(!is_receive(e));
        gm_unknown(p, e);
    }
}
#endif
