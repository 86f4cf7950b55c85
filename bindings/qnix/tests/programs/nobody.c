/*
 * A job whose other process never comes.
 * tasks: 1
 */
#include "qcheck.h"

int main(void)
{
    OK(qx_whoami(me, &size));
    CHECK(me[1] == 0 && size == 2);
    CHECK(qx_init(me, me[0], size) == NULL);
    GIVES(QX_ERR_JOB, qx_last_error());
    GIVES(QX_ERR_NOT_INITIALIZED, qx_end(me));
    return 0;
}
