/* There and back by vectors: a user header, a completion handler with a parameter, and a call from within it. */
#include "../sample.h"

#define COUNT 4

static int numbers[2 * COUNT];
static void *places[COUNT];
static ulong lengths[COUNT];
static lapi_vec_t vec = {LAPI_GEN_IOVECTOR, COUNT, places, lengths};
static void **headers;
static volatile int back;

static void completed(lapi_handle_t *h, void *parameter)
{
    int from = (int)(long)parameter;
    if (task % 2 == 0) {
        back = 1;
        return;
    }
    for (int i = 0; i < COUNT; i++)
        numbers[2 * i] += 1000;
    int me[2] = {task, 0};
    lapi_cntr_t org;
    MUST(LAPI_Setcntr(*h, &org, 0));
    MUST(LAPI_Amsendv(*h, from, headers[from], me, sizeof me, &vec, NULL, &org, NULL));
    MUST(LAPI_Waitcntr(*h, &org, 1, NULL));
}

static lapi_vec_t *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong **lens, compl_hndlr_t **done, void **info)
{
    (void)h, (void)uhdr_len, (void)lens;
    *done = completed;
    *info = (void *)(long)*(int *)uhdr;
    return &vec;
}

int main(void)
{
    for (int i = 0; i < COUNT; i++) {
        places[i] = &numbers[2 * i];
        lengths[i] = sizeof(int);
    }
    begin_sample();
    headers = addresses_of((void *)header);
    /* Handlers use the table: nobody sends before all have it. */
    MUST(LAPI_Gfence(hndl));
    if (task % 2 == 0) {
        int me[2] = {task, 0};
        for (int i = 0; i < COUNT; i++)
            numbers[2 * i] = i;
        MUST(LAPI_Amsendv(hndl, buddy, headers[buddy], me, sizeof me, &vec, NULL, NULL, NULL));
        while (!back)
            MUST(LAPI_Probe(hndl));
        printf("task %d got back %d to %d\n", task, numbers[0], numbers[2 * COUNT - 2]);
    }
    end_sample();
    return 0;
}
