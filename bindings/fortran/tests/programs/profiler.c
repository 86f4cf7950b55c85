/* A profiling library for Fortran programs: replaces either the C names, which the Fortran ones call, or these. */
//= LAPI Guide, chapter 9, LAPI_* may be replaced and PLAPI_* called
//= type=test
#include <lapi.h>
#include <stdio.h>

static int inits, puts_;

#ifdef IN_C
#define NAME "C"

int LAPI_Init(lapi_handle_t *h, lapi_info_t *info)
{
    inits++;
    return PLAPI_Init(h, info);
}

int LAPI_Put(lapi_handle_t h, uint tgt, ulong len, void *tgt_addr, void *org_addr, lapi_cntr_t *tgt_cntr,
             lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
    puts_++;
    return PLAPI_Put(h, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr);
}
#else
#define NAME "Fortran"

extern void plapi_init_(void *h, void *info, int *err);
extern void plapi_put_(void *h, void *tgt, void *len, void *tgt_addr, void *org_addr, void *tgt_cntr, void *org_cntr,
                       void *cmpl_cntr, int *err);

void lapi_init_(void *h, void *info, int *err)
{
    inits++;
    plapi_init_(h, info, err);
}

void lapi_put_(void *h, void *tgt, void *len, void *tgt_addr, void *org_addr, void *tgt_cntr, void *org_cntr,
               void *cmpl_cntr, int *err)
{
    puts_++;
    plapi_put_(h, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr, err);
}
#endif

__attribute__((destructor)) static void report(void)
{
    if (inits)
        printf("%s: init %d put %d\n", NAME, inits, puts_);
}
