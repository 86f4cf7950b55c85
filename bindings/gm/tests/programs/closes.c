/* An alarm that closes its port: no other alarm of that runs.
 *
 * Run with MALLOC_PERTURB_, so that memory which was freed is no port any more. */
#include "gmcheck.h"

static struct gm_port *port;
static int ran;

static void rings(void *context) {
    (void)context;
    if (ran++ == 0) gm_close(port);
}

int main(void) {
    gm_alarm_t alarms[2];
    IS(gm_init(), GM_SUCCESS);
    port = port_of(2);
    for (int i = 0; i < 2; i++) {
        gm_initialize_alarm(&alarms[i]);
        gm_set_alarm(port, &alarms[i], 0, rings, NULL);
    }
    while (ran == 0) gm_unknown(port, gm_receive(port));
    IS(ran, 1);
    /* Its port is closed: nothing happens. */
    for (int i = 0; i < 2; i++) gm_cancel_alarm(&alarms[i]);
    puts("done");
    gm_finalize();
    return 0;
}
