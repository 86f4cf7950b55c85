/*
 * A lesson in active messages. (LAPI Guide, chapter 7.)
 *
 *     lapicc am_lesson.c -o am_lesson && lapirun -n 2 ./am_lesson
 *
 * Every even task sends ten numbers to the odd task after it. The odd task did not ask for them and makes no call to receive
 * them: the message itself says what is to be done with it, by naming a function of the receiver.
 */
#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 10

/* Any call may fail. This says which one did, and why. */
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

static int numbers[COUNT];

/*
 * Step 4, at the receiver. The COMPLETION HANDLER runs when the last byte is in place, in a thread of LAPI's. It may take its
 * time, print, even communicate.
 */
static void all_is_here(lapi_handle_t *hndl, void *info)
{
    int sum = 0;
    (void)hndl;
    for (int i = 0; i < COUNT; i++)
        sum += numbers[i];
    printf("%s: the numbers are here, their sum is %d\n", (char *)info, sum);
}

/*
 * Step 3, at the receiver. The HEADER HANDLER runs when the first packet arrives, and answers three questions:
 * where do the data go (the value it returns), what shall run when they are there (*done), and what shall that be given
 * (*info). It is in the way of all other messages meanwhile: be quick here, and make no LAPI call.
 */
static void *where_to_put(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)hndl, (void)uhdr, (void)uhdr_len;
    if (*msg_len > sizeof numbers)
        return NULL; /* Too much for us: NULL means that the data are thrown away. */
    *done = all_is_here;
    *info = "completion handler";
    return numbers;
}

int main(void)
{
    lapi_handle_t hndl;
    lapi_info_t info;
    lapi_cntr_t done;
    int task, tasks;

    memset(&info, 0, sizeof info);
    MUST(LAPI_Init(&hndl, &info));
    MUST(LAPI_Qenv(hndl, TASK_ID, &task));
    MUST(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
    if (tasks % 2 != 0) {
        fprintf(stderr, "am_lesson needs an even number of tasks, not %d\n", tasks);
        exit(1);
    }

    /*
     * Step 1, everywhere. A function has different addresses in different tasks. All tasks tell each other theirs; that takes
     * part of all of them, and afterwards handlers[t] is what task t calls where_to_put.
     */
    void **handlers = malloc(tasks * sizeof *handlers);
    MUST(LAPI_Address_init(hndl, (void *)where_to_put, handlers));

    if (task % 2 == 0) {
        int partner = task + 1;
        for (int i = 0; i < COUNT; i++)
            numbers[i] = (i + 1) * partner;

        /*
         * Step 2, at the sender. The call returns at once. Three counters could tell how far the message is: one at the
         * target when it has arrived, one here when `numbers` may be changed again, one here when the completion handler has
         * returned there. The last is what we want to know.
         */
        MUST(LAPI_Setcntr(hndl, &done, 0));
        MUST(LAPI_Amsend(hndl, partner, handlers[partner], NULL, 0, numbers, sizeof numbers, NULL, NULL, &done));

        /* Step 5. The counter reaches 1, and the wait takes that 1 off again. */
        MUST(LAPI_Waitcntr(hndl, &done, 1, NULL));
        printf("task %d: task %d has worked through my message\n", task, partner);
    }

    /* Nobody leaves while others may still need an answer. */
    MUST(LAPI_Gfence(hndl));
    free(handlers);
    MUST(LAPI_Term(hndl));
    return 0;
}
