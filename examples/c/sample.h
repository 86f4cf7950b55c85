/*
 * What the samples of the folders share: calls that must succeed, and the set-up that all of them need. Tasks work in pairs,
 * 0 with 1, 2 with 3; the even one of a pair begins.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(call) \
    do { \
        int code_ = (call); \
        if (code_ != LAPI_SUCCESS) { \
            char why_[LAPI_MAX_ERR_STRING]; \
            LAPI_Msg_string(code_, why_); \
            fprintf(stderr, "%s: %s\n", #call, why_); \
            exit(1); \
        } \
    } while (0)

static lapi_handle_t hndl;
static int task, tasks, buddy;

static inline void begin_sample(void)
{
    lapi_info_t info;
    memset(&info, 0, sizeof info);
    info.lib_vers = LAST_LIB;
    MUST(LAPI_Init(&hndl, &info));
    MUST(LAPI_Qenv(hndl, TASK_ID, &task));
    MUST(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
    if (tasks % 2) {
        fprintf(stderr, "this sample needs an even number of tasks, not %d\n", tasks);
        exit(1);
    }
    buddy = task ^ 1;
}

/* The addresses of something, by task. */
static inline void **addresses_of(void *mine)
{
    void **table = malloc(tasks * sizeof *table);
    MUST(LAPI_Address_init(hndl, mine, table));
    return table;
}

static inline void end_sample(void)
{
    MUST(LAPI_Gfence(hndl));
    MUST(LAPI_Term(hndl));
}

#endif
