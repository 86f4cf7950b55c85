/*
 * acp_abort ends the whole job and says why.
 * tasks: 3
 */
#include "acheck.h"

int main(int argc, char **argv)
{
    join(&argc, &argv);
    if (me == 1) {
        acp_query_rank(ACP_GA_NULL);
        acp_abort("nothing more to do");
    }
    acp_sync();
    sleep(100);
    return 0;
}
