/*
 * There and back by active messages: the even task sends numbers, the odd one adds its own to them and sends them back, all of
 * it in handlers. The user header says what to add; the completion handler's parameter carries that on.
 */
//= LAPI Guide, table 32, user header data
//= LAPI Guide, table 32, completion handler parameter
//= LAPI Guide, table 32, LAPI communication API calls from within a completion handler
//= type=test
#include "../sample.h"

#define COUNT 5

struct work {
    int from, add;
};

static int numbers[COUNT];
static void **headers;
static volatile int back;

static void completed(lapi_handle_t *h, void *parameter)
{
    struct work *work = parameter;
    if (task % 2) {
        for (int i = 0; i < COUNT; i++)
            numbers[i] += work->add;
        struct work answer = {task, 0};
        lapi_cntr_t org;
        MUST(LAPI_Setcntr(*h, &org, 0));
        MUST(LAPI_Amsend(*h, work->from, headers[work->from], &answer, sizeof answer, numbers, sizeof numbers, NULL, &org, NULL));
        MUST(LAPI_Waitcntr(*h, &org, 1, NULL));
    } else {
        back = 1;
    }
    free(work);
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)h, (void)msg_len;
    struct work *work = malloc(sizeof *work);
    memcpy(work, uhdr, *uhdr_len);
    *done = completed;
    *info = work;
    return numbers;
}

int main(void)
{
    begin_sample();
    headers = addresses_of((void *)header);
    /* Handlers use the table: nobody sends before all have it. */
    MUST(LAPI_Gfence(hndl));
    if (task % 2 == 0) {
        struct work work = {task, 1000};
        int sent[COUNT];
        for (int i = 0; i < COUNT; i++)
            sent[i] = i;
        MUST(LAPI_Amsend(hndl, buddy, headers[buddy], &work, sizeof work, sent, sizeof sent, NULL, NULL, NULL));
        while (!back)
            MUST(LAPI_Probe(hndl));
        printf("task %d got back %d to %d\n", task, numbers[0], numbers[COUNT - 1]);
    }
    end_sample();
    return 0;
}
