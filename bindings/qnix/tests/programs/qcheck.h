/* What the test programs share: checks that say where they failed, and short ways to frequent sequences of calls. */
#ifndef QCHECK_H
#define QCHECK_H

#include <qx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int me[2] = {-1, -1}, size;
static qx_hps_t *hps;

static inline void failed(const char *file, int line, const char *what, int got)
{
    fprintf(stderr, "(%d, %d): %s:%d: %s: %d %s\n", me[0], me[1], file, line, what, got, qx_strerror(got));
    fflush(NULL);
    _exit(3);
}

#define CHECK(condition) \
    do { \
        if (!(condition)) \
            failed(__FILE__, __LINE__, #condition " does not hold", 0); \
    } while (0)

#define GIVES(value, call) \
    do { \
        int got_ = (call); \
        if (got_ != (value)) \
            failed(__FILE__, __LINE__, #call " should give " #value, got_); \
    } while (0)

#define OK(call) GIVES(0, call)

/* A call that gives an index. */
static inline int index_of(const char *file, int line, const char *what, int got)
{
    if (got < 0)
        failed(file, line, what, got);
    return got;
}
#define INDEX(call) index_of(__FILE__, __LINE__, #call, (call))

/* OWN_NAME=AI:PI:size stands for what a program knows of itself: it asks for nothing then. */
static inline void start(void)
{
    const char *own = getenv("OWN_NAME");
    if (own)
        CHECK(sscanf(own, "%d:%d:%d", &me[0], &me[1], &size) == 3);
    else
        OK(qx_whoami(me, &size));
    hps = qx_init(me, me[0], size);
    if (!hps)
        failed(__FILE__, __LINE__, "qx_init", qx_last_error());
    CHECK(hps->proc_name[0] == me[0] && hps->proc_name[1] == me[1] && hps->group_name == me[0] && hps->group_size == size);
}

static inline void done(int context)
{
    OK(qx_poll_for_send(context));
}

static inline int command_context(void)
{
    return INDEX(qx_send_context(NULL, 0, 1, 0, 0, -1, NULL));
}

static inline void barrier(int group, int members)
{
    int context = command_context();
    OK(qx_barrier(context, group, members));
    done(context);
}

static inline void join(int group, int members)
{
    int context = command_context();
    OK(qx_join_group(context, group, members));
    done(context);
}

/* Memory with the addresses of its pages. */
typedef struct {
    char *data;
    long len;
    unsigned long *table;
    int pages;
} buffer;

static inline buffer make(long len)
{
    /* Not at the beginning of a page, and with its neighbour's pages shared. */
    buffer b = {(char *)malloc(len + 64) + 24, len, NULL, 0};
    b.table = calloc(len / hps->page_size + 3, sizeof *b.table);
    OK(qx_buffer_lock(b.data, len));
    OK(qx_buffer_translate(b.data, len, b.table));
    b.pages = (int)(((unsigned long)b.data % hps->page_size + len + hps->page_size - 1) / hps->page_size);
    return b;
}

static inline int send_of(int *to, int tag, buffer *b, long len)
{
    return INDEX(qx_send_context(to, tag, 1, QX_PACKETS(len), len, -1, b->table));
}

static inline int receive_of(int *from, int tag, buffer *b)
{
    int context = INDEX(qx_recv_context(from, tag, 1, b->pages, b->len, -1, b->table));
    OK(qx_receive(context));
    return context;
}

static inline void short_to(int *to, int tag, const void *data, long len)
{
    int context = INDEX(qx_send_context(to, tag, 1, 0, len, -1, (unsigned long *)data));
    OK(qx_send_short(context));
    done(context);
}

static inline void fill(char *data, long len, unsigned seed)
{
    for (long i = 0; i < len; i++)
        data[i] = (char)(seed * 131 + i * 7 + (i >> 9));
}

static inline int holds(const char *data, long len, unsigned seed)
{
    for (long i = 0; i < len; i++)
        if (data[i] != (char)(seed * 131 + i * 7 + (i >> 9)))
            return 0;
    return 1;
}

static inline void leave(void)
{
    OK(qx_end(me));
    GIVES(QX_ERR_NOT_INITIALIZED, qx_end(me));
}

#endif
