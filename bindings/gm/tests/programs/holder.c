/* Opens port 2 of board 0 and keeps it; the exit code is the status if it can't be opened. */
#include "gmcheck.h"

int main(void) {
    struct gm_port *p = NULL;
    gm_status_t status = gm_open(&p, 0, 2, "holder", GM_API_VERSION);
    if (status != GM_SUCCESS) return (int)status;
    puts("open");
    fflush(stdout);
    for (;;) gm_unknown(p, gm_blocking_receive(p));
}
