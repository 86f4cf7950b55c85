/* Addresses: exchanged as pointers and as 64-bit numbers, and kept in the table of handlers. */
//= LAPI Guide, table 32, address manipulation in LAPI
//= type=test
#include "../sample.h"

int main(void)
{
    static int here, wide;
    void *kept = NULL;
    begin_sample();
    void **pointers = addresses_of(&here);
    lapi_long_t *numbers = malloc(tasks * sizeof *numbers);
    MUST(LAPI_Address_init64(hndl, (lapi_long_t)(unsigned long)&wide, numbers));
    MUST(LAPI_Addr_set(hndl, &here, 1));
    MUST(LAPI_Addr_get(hndl, &kept, 1));
    int good = pointers[task] == &here && numbers[task] == (lapi_long_t)(unsigned long)&wide && kept == &here;
    printf("task %d: my addresses came back %s\n", task, good ? "unchanged" : "CHANGED");
    end_sample();
    return !good;
}
