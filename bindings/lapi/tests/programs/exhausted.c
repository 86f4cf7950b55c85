/*
 * A vector of so many blocks that there is no memory for a copy of their list; afterwards all is well.
 * tasks: 2
 */
//= LAPI Guide, LAPI_Putv, LAPI_ERR_MEMORY_EXHAUSTED
//= type=test
#include "check.h"
#include <sys/resource.h>

#define BLOCKS (4u << 20)

static char box[8], byte = 'x';
static lapi_cntr_t cmpl, org;

/* The address space that is in use, in bytes. */
static rlim_t in_use(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

int main(void)
{
    start();
    OK(LAPI_Setcntr(hndl, &cmpl, 0));
    OK(LAPI_Setcntr(hndl, &org, 0));
    void **boxes = exchange(box);
    int to = (me + 1) % tasks;
    void **info = malloc(BLOCKS * sizeof *info);
    ulong *len = calloc(BLOCKS, sizeof *len);
    for (uint i = 0; i < BLOCKS; i++)
        info[i] = &byte;
    len[0] = 1;
    lapi_vec_t from = {LAPI_GEN_IOVECTOR, BLOCKS, info, len}, target = from;
    struct rlimit before, narrow;
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    narrow = before;
    narrow.rlim_cur = in_use() + (16 << 20);
    CHECK(setrlimit(RLIMIT_AS, &narrow) == 0);
    int codes[3];
    codes[0] = LAPI_Putv(hndl, to, &target, &from, NULL, NULL, &cmpl);
    codes[1] = LAPI_Getv(hndl, to, &target, &from, NULL, &org);
    codes[2] = LAPI_Amsendv(hndl, to, (void *)1, NULL, 0, &from, NULL, NULL, &cmpl);
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    for (int i = 0; i < 3; i++)
        GIVES(LAPI_ERR_MEMORY_EXHAUSTED, codes[i]);

    from.num_vecs = target.num_vecs = 1;
    target.info = &boxes[to];
    OK(LAPI_Putv(hndl, to, &target, &from, NULL, NULL, &cmpl));
    OK(LAPI_Waitcntr(hndl, &cmpl, 1, NULL));
    OK(LAPI_Gfence(hndl));
    CHECK(box[0] == 'x');
    finish();
    return 0;
}
