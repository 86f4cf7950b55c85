/*
 * A Lapis transport in C: what a task sends to itself comes back. The shortest plugin that keeps every promise it makes,
 * with a variable of its own, LAPIS_ECHO_SLOTS.
 * docs/plugin-abi.md explains the table; build it with make.
 */
#include <stdlib.h>
#include <string.h>

#include "lapis_transport.h"

#define SLOTS 256   /* messages under way at most, and unless the user says otherwise */
#define LONGEST 512 /* bytes in one */

struct echo {
    const lapis_host_table *host;
    uint32_t task;
    int connected;
    /* Messages sent, handed out by poll, and freed by the poll after that: each count only grows. */
    uint64_t sent, seen, freed;
    uint64_t slots; /* LAPIS_ECHO_SLOTS: messages under way at most */
    uint32_t len[SLOTS];
    uint8_t bytes[SLOTS][LONGEST];
};

/* Says why a set-up call fails: people will read it. */
static int32_t fail(lapis_error_text *error, int32_t status, const char *why)
{
    if (error) {
        size_t len = strlen(why);
        if (len > error->capacity)
            len = error->capacity;
        memcpy(error->buf, why, len);
        error->len = (uint32_t)len;
    }
    return status;
}

/* Core has refused what is not in the range that is declared below, before it opens anything. */
static uint64_t slots(const lapis_host_table *host)
{
    static const char name[] = "LAPIS_ECHO_SLOTS";
    uint8_t text[8] = {0};
    ptrdiff_t len = host->option((const uint8_t *)name, sizeof name - 1, text, sizeof text - 1);
    long slots = len > 0 && len < (ptrdiff_t)sizeof text ? strtol((const char *)text, NULL, 10) : SLOTS;
    return slots > 0 && slots < SLOTS ? (uint64_t)slots : SLOTS;
}

static int32_t echo_open(const lapis_host_table *host, const lapis_open_params *params, void **instance,
                         lapis_error_text *error)
{
    static const char target[] = "echo", text[] = "an echo is open";
    struct echo *echo = calloc(1, sizeof *echo);
    if (!echo)
        return fail(error, LAPIS_EXHAUSTED, "no memory for the echo's slots");
    echo->host = host;
    echo->task = params->task;
    echo->slots = slots(host);
    if (host->log_enabled(4, (const uint8_t *)target, sizeof target - 1))
        host->log(4, (const uint8_t *)target, sizeof target - 1, (const uint8_t *)text, sizeof text - 1);
    *instance = echo;
    return LAPIS_DONE;
}

static void echo_close(void *instance)
{
    free(instance);
}

static int32_t echo_attributes(void *instance, lapis_attributes *out, lapis_error_text *note)
{
    (void)instance;
    memset(out, 0, sizeof *out);
    out->caps = LAPIS_CAP_AM_SHORT | LAPIS_CAP_RELIABLE | LAPIS_CAP_ORDERED | LAPIS_CAP_SELF_ONLY;
    out->limits.max_short = LONGEST;
    out->limits.max_peers = 1;
    return fail(note, LAPIS_DONE, "written in C");
}

/* The address is the task's number. */
static int32_t echo_address(void *instance, uint8_t *buf, uint32_t capacity)
{
    struct echo *echo = instance;
    if (capacity < sizeof echo->task)
        return LAPIS_INVALID;
    memcpy(buf, &echo->task, sizeof echo->task);
    return sizeof echo->task;
}

static int32_t echo_connect(void *instance, uint32_t peer, const uint8_t *address, uint32_t len,
                            lapis_error_text *error)
{
    struct echo *echo = instance;
    if (peer != echo->task || len != sizeof echo->task || memcmp(address, &echo->task, len) != 0)
        return fail(error, LAPIS_UNREACHABLE, "an echo reaches only the task itself");
    echo->connected = 1;
    return LAPIS_DONE;
}

static int32_t echo_progress_connect(void *instance, lapis_error_text *error)
{
    (void)instance, (void)error;
    return LAPIS_DONE;
}

static void echo_disconnect(void *instance, uint32_t peer)
{
    struct echo *echo = instance;
    if (peer == echo->task) {
        echo->connected = 0;
        echo->seen = echo->sent; /* what is under way is dropped */
    }
}

static void echo_mem_release(void *instance, uint64_t id)
{
    (void)instance, (void)id;
}

static int32_t echo_am_short(void *instance, uint32_t peer, const uint8_t *head, uint32_t head_len,
                             const uint8_t *body, uint32_t body_len)
{
    struct echo *echo = instance;
    uint64_t len = (uint64_t)head_len + body_len;
    uint8_t *slot = echo->bytes[echo->sent % SLOTS];
    if (peer != echo->task || !echo->connected || len > LONGEST)
        return LAPIS_INVALID;
    if (echo->sent - echo->freed == echo->slots)
        return LAPIS_AGAIN; /* full: the host polls and tries again */
    /* An empty part may come with any pointer, even one memcpy doesn't allow. */
    if (head_len)
        memcpy(slot, head, head_len);
    if (body_len)
        memcpy(slot + head_len, body, body_len);
    echo->len[echo->sent % SLOTS] = (uint32_t)len;
    echo->sent++;
    return LAPIS_DONE;
}

static int32_t echo_poll(void *instance, lapis_event *events, uint32_t capacity)
{
    struct echo *echo = instance;
    uint32_t n = 0;
    /* The host is done with the bytes of the last poll's events. */
    echo->freed = echo->seen;
    while (n < capacity && echo->seen < echo->sent) {
        uint64_t slot = echo->seen++ % SLOTS;
        memset(&events[n], 0, sizeof events[n]);
        events[n].kind = LAPIS_EVENT_MESSAGE;
        events[n].peer = echo->task;
        events[n].data = echo->bytes[slot];
        events[n].len = echo->len[slot];
        n++;
    }
    return (int32_t)n;
}

static void echo_nothing(void *instance)
{
    (void)instance;
}

static void echo_set_interrupts(void *instance, int32_t on)
{
    (void)instance, (void)on;
}

/* What lapis-info shows and core checks. */
static const lapis_variable variables[] = {
    {
        .name = LAPIS_TEXT("LAPIS_ECHO_SLOTS"),
        .default_value = LAPIS_TEXT("256"),
        .help = LAPIS_TEXT("How many messages an echo holds"),
        .more = LAPIS_TEXT("More wait until some have been handled."),
        .min = 1,
        .max = SLOTS,
        .kind = LAPIS_KIND_NUMBER,
        .unit = LAPIS_UNIT_COUNT,
    },
};

/* Used where the user names it: the cost counts only beside others. */
static const lapis_declaration declaration = {
    .struct_size = sizeof declaration,
    .variable_size = sizeof variables[0],
    .cost_ns = 60,
    .usage = LAPIS_USE_NAMED,
    .variables = variables,
    .count = sizeof variables / sizeof variables[0],
};

/* Entries that are not named are null, as they must be: their capability bits are not set. */
static const lapis_transport_ops table = {
    .head = {
        .magic = LAPIS_TRANSPORT_MAGIC,
        .abi_major = LAPIS_ABI_MAJOR,
        .abi_minor = LAPIS_ABI_MINOR,
        .struct_size = sizeof table,
        .layout_hash = LAPIS_LAYOUT_HASH,
        .name = "echo",
        .version = "0.1.0",
    },
    .caps = LAPIS_CAP_AM_SHORT | LAPIS_CAP_RELIABLE | LAPIS_CAP_ORDERED | LAPIS_CAP_SELF_ONLY,
    .open = echo_open,
    .close = echo_close,
    .attributes = echo_attributes,
    .address = echo_address,
    .connect = echo_connect,
    .progress_connect = echo_progress_connect,
    .disconnect = echo_disconnect,
    .mem_release = echo_mem_release,
    .am_short = echo_am_short,
    .poll = echo_poll,
    .disarm = echo_nothing,
    .set_interrupts = echo_set_interrupts,
    .declaration = &declaration,
};

int32_t lapis_transport_echo_v1(const lapis_host_table *host, const lapis_transport_ops **out);

int32_t lapis_transport_echo_v1(const lapis_host_table *host, const lapis_transport_ops **out)
{
    if (host->abi_major != LAPIS_ABI_MAJOR)
        return LAPIS_UNSUPPORTED;
    *out = &table;
    return LAPIS_DONE;
}
