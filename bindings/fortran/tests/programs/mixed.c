/* Task 0 of a job whose other tasks are Fortran programs: sends each of them ten numbers and gets one from each. */
#include <lapi.h>
#include <stdio.h>
#include <string.h>

#define OR_FAIL(call) do { int code_ = (call); if (code_) { printf("%s: %d\n", #call, code_); return 1; } } while (0)

int main(void)
{
    lapi_handle_t h;
    lapi_info_t info;
    lapi_cntr_t cmpl;
    int n, at, sum = 0, numbers[10];
    void *sums[16];

    memset(&info, 0, sizeof(info));
    info.lib_vers = LAST_LIB;
    OR_FAIL(LAPI_Init(&h, &info));
    OR_FAIL(LAPI_Qenv(h, NUM_TASKS, &n));
    OR_FAIL(LAPI_Setcntr(h, &cmpl, 0));
    OR_FAIL(LAPI_Address_init(h, &sum, sums));
    for (at = 0; at < 10; at++)
        numbers[at] = at * at;
    for (at = 1; at < n; at++)
        OR_FAIL(LAPI_Amsend(h, at, (void *)1L, NULL, 0, numbers, sizeof(numbers), NULL, NULL, &cmpl));
    OR_FAIL(LAPI_Waitcntr(h, &cmpl, n - 1, NULL));
    OR_FAIL(LAPI_Gfence(h));
    printf("C: sum %d from Fortran\n", sum);
    OR_FAIL(LAPI_Term(h));
    return 0;
}
