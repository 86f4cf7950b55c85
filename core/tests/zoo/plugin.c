/*
 * The zoo of bad plugins: a transport that does nothing, and one defect chosen by -DBUG_...; -DNAME=... names it.
 */
#include <string.h>

#include "lapis_transport.h"

#define CAT_(a, b, c) a##b##c
#define CAT(a, b, c) CAT_(a, b, c)
#define STR_(x) #x
#define STR(x) STR_(x)

#ifndef MAJOR
#define MAJOR 1
#endif
#ifndef TABLE_NAME
#define TABLE_NAME STR(NAME)
#endif

static int instance_storage;

static int32_t refuse(lapis_error_text *error, const char *why)
{
    if (error) {
        size_t len = strlen(why);
        error->len = (uint32_t)(len < error->capacity ? len : error->capacity);
        memcpy(error->buf, why, error->len);
    }
    return LAPIS_IO;
}

static int32_t open_(const lapis_host_table *host, const lapis_open_params *params, void **instance,
                     lapis_error_text *error)
{
    (void)host;
    (void)params;
#ifdef BUG_OPEN
    return refuse(error, "device /dev/zoo0 is missing: load the zoo module");
#endif
    (void)refuse;
    (void)error;
    *instance = &instance_storage;
    return LAPIS_DONE;
}
static void close_(void *i) { (void)i; }
static int32_t attributes(void *i, lapis_attributes *out, lapis_error_text *note)
{
    (void)i;
    (void)note;
    memset(out, 0, sizeof *out);
    out->caps = LAPIS_CAP_AM_SHORT | LAPIS_CAP_RELIABLE;
#ifdef BUG_CAPS_GREW
    out->caps |= LAPIS_CAP_WINDOW;
#endif
    out->limits.max_short = 64;
    return LAPIS_DONE;
}
static int32_t address(void *i, uint8_t *buf, uint32_t capacity)
{
    (void)i;
    (void)buf;
#ifdef BUG_ADDRESS
    return (int32_t)capacity + 1;
#endif
    (void)capacity;
    return 0;
}
static int32_t connect_(void *i, uint32_t peer, const uint8_t *a, uint32_t len, lapis_error_text *e)
{
    (void)i, (void)peer, (void)a, (void)len, (void)e;
    return LAPIS_DONE;
}
static int32_t progress_connect(void *i, lapis_error_text *e)
{
    (void)i, (void)e;
    return LAPIS_DONE;
}
static void disconnect(void *i, uint32_t peer) { (void)i, (void)peer; }
static void mem_release(void *i, uint64_t id) { (void)i, (void)id; }
static int32_t am_short(void *i, uint32_t peer, const uint8_t *h, uint32_t hl, const uint8_t *b, uint32_t bl)
{
    (void)i, (void)peer, (void)h, (void)hl, (void)b, (void)bl;
#ifdef BUG_STATUS
    return 4711;
#endif
    return LAPIS_DONE;
}
#ifdef BUG_EXTRA_ENTRY
static int32_t window(void *i, uint32_t peer, lapis_window *out)
{
    (void)i, (void)peer, (void)out;
    return LAPIS_UNREACHABLE;
}
#endif
static int32_t poll_(void *i, lapis_event *events, uint32_t capacity)
{
    (void)i, (void)events, (void)capacity;
#ifdef BUG_POLL
    return (int32_t)capacity + 5;
#endif
    return 0;
}
static void nothing(void *i) { (void)i; }
static void set_interrupts(void *i, int32_t on) { (void)i, (void)on; }

/* A variable that -DDECLARES makes this plugin declare, at the cost COST; -DBUG_DECLARATION spoils it. */
#ifdef DECLARES
#ifndef COST
#define COST 700
#endif
static const lapis_variable variables[] = {
    {
        .name = LAPIS_TEXT("LAPIS_ZOO_CAGES"),
        .default_value = LAPIS_TEXT("3"),
        .help = LAPIS_TEXT("How many cages the zoo has"),
        .min = 1,
#ifdef BUG_DECLARATION
        .max = 2,
#else
        .max = 9,
#endif
        .kind = LAPIS_KIND_NUMBER,
        .unit = LAPIS_UNIT_COUNT,
    },
};
static const lapis_declaration declaration = {
    .struct_size = sizeof declaration,
    .variable_size = sizeof variables[0],
    .cost_ns = COST,
    .usage = LAPIS_USE_ALWAYS,
    .variables = variables,
    .count = 1,
};
#endif

/* A newer minor: two entries more than this header knows. */
static const struct {
    lapis_transport_ops ops;
    void *appended[2];
} table = {{
    .head = {
#ifdef BUG_MAGIC
        .magic = UINT64_C(0xdeadbeef),
#else
        .magic = LAPIS_TRANSPORT_MAGIC,
#endif
#ifdef BUG_MAJOR
        .abi_major = 9,
#else
        .abi_major = LAPIS_ABI_MAJOR,
#endif
#if defined BUG_SHORT
        .struct_size = 128,
#elif defined NEWER_MINOR
        .abi_minor = 7,
        .struct_size = sizeof(lapis_transport_ops) + 16,
#elif defined OLDER_MINOR
        .abi_minor = 3,
        .struct_size = offsetof(lapis_transport_ops, declaration),
#else
        .struct_size = sizeof(lapis_transport_ops),
#endif
#ifdef BUG_HASH
        .layout_hash = 1,
#else
        .layout_hash = LAPIS_LAYOUT_HASH,
#endif
        .name = TABLE_NAME,
        .version = "0.0.1",
    },
    .caps = LAPIS_CAP_AM_SHORT | LAPIS_CAP_RELIABLE
#ifdef BUG_EXTRA_BIT
        | LAPIS_CAP_PUT_ZCOPY
#endif
#ifdef NEWER_MINOR
        | (UINT64_C(1) << 20)
#endif
    ,
    .open = open_,
    .close = close_,
    .attributes = attributes,
    .address = address,
    .connect = connect_,
    .progress_connect = progress_connect,
    .disconnect = disconnect,
    .mem_release = mem_release,
    .am_short = am_short,
#ifdef BUG_EXTRA_ENTRY
    .window = window,
#endif
    .poll = poll_,
#ifndef BUG_MANDATORY
    .disarm = nothing,
#endif
    .set_interrupts = set_interrupts,
#ifdef DECLARES
    .declaration = &declaration,
#endif
}, {0, 0}};

#ifndef BUG_NO_SYMBOL
int32_t CAT(lapis_transport_, NAME, CAT(_v, MAJOR, ))(const lapis_host_table *host, const lapis_transport_ops **out)
{
    (void)host;
#ifdef BUG_ENTRY
    return LAPIS_UNSUPPORTED;
#endif
#if defined BUG_NULL_TABLE
    *out = 0;
#elif defined BUG_MISALIGNED
    *out = (const lapis_transport_ops *)((const char *)&table + 1);
#else
    *out = &table.ops;
#endif
    return LAPIS_DONE;
}
#endif

#ifdef BUG_UNRESOLVED
extern int a_function_that_no_library_has(void);
int call_it(void) { return a_function_that_no_library_has(); }
#endif
