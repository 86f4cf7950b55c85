/* What the test programs share: checks that say where they failed, and a context with its task numbers. */
#ifndef CHECK_H
#define CHECK_H

#include <lapi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int me = -1, tasks = -1;
static lapi_handle_t hndl;

static inline void failed(const char *file, int line, const char *what, const char *detail)
{
    fprintf(stderr, "task %d: %s:%d: %s: %s\n", me, file, line, what, detail);
    fflush(NULL);
    _exit(3);
}

static inline const char *text_of(int code)
{
    static __thread char text[LAPI_MAX_ERR_STRING];
    LAPI_Msg_string(code, text);
    return text;
}

/* A condition that must hold. */
#define CHECK(condition) \
    do { \
        if (!(condition)) \
            failed(__FILE__, __LINE__, #condition, "does not hold"); \
    } while (0)

/* A call that must give this code. */
#define GIVES(code, call) \
    do { \
        int code_ = (call); \
        if (code_ != (code)) \
            failed(__FILE__, __LINE__, #call " should give " #code, text_of(code_)); \
    } while (0)

/* A call that must succeed. */
#define OK(call) GIVES(LAPI_SUCCESS, call)

static inline void start(void)
{
    lapi_info_t info;
    memset(&info, 0, sizeof info);
    info.lib_vers = LAST_LIB;
    OK(LAPI_Init(&hndl, &info));
    OK(LAPI_Qenv(hndl, TASK_ID, &me));
    OK(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
}

static inline void finish(void)
{
    OK(LAPI_Gfence(hndl));
    OK(LAPI_Term(hndl));
}

/* Everybody's address of something. */
static inline void **exchange(void *mine)
{
    void **table = malloc(tasks * sizeof *table);
    OK(LAPI_Address_init(hndl, mine, table));
    return table;
}

static inline int value_of(lapi_cntr_t *cntr)
{
    int value;
    OK(LAPI_Getcntr(hndl, cntr, &value));
    return value;
}

#endif
