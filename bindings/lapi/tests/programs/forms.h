/* The forms in which a collective of lapis.h is called, and what each one's caller does. */
#ifndef FORMS_H
#define FORMS_H

#include "check.h"

#include <lapis.h>

/* How a collective is called. */
enum form { WAITED, BEGUN, TESTED, COUNTED, TOLD, KEPT, FORMS };

static int form;
static volatile int told;

static inline void tell(lapi_handle_t *h, void *arg)
{
    CHECK(*h == hndl && arg == &told);
    told++;
}

/* Ends what was begun, in one of the forms between WAITED and KEPT. */
static inline void end(lapis_request_t request)
{
    int ended = 0, before = told;
    lapi_cntr_t cntr;
    switch (form) {
    case BEGUN:
        OK(lapis_wait(hndl, &request));
        break;
    case TESTED:
        while (!ended)
            OK(lapis_test(hndl, &request, &ended));
        break;
    case COUNTED:
        OK(LAPI_Setcntr(hndl, &cntr, 0));
        OK(lapis_request_count(hndl, &request, &cntr));
        OK(LAPI_Waitcntr(hndl, &cntr, 1, NULL));
        break;
    case TOLD:
        OK(lapis_request_then(hndl, &request, tell, (void *)&told));
        while (told == before)
            OK(LAPI_Probe(hndl));
        break;
    }
    CHECK(request == LAPIS_NO_REQUEST);
    OK(lapis_wait(hndl, &request));
}

#endif
