/*
 * A process that leaves and joins again: what it had locked is still locked, and its pool is where it was.
 * tasks: 2
 */
#include "qcheck.h"

int main(void)
{
    static char memory[3 << 12];
    start();
    OK(qx_buffer_pool(4));
    char *pool = hps->buffer_pool;
    strcpy(pool, "kept");
    OK(qx_buffer_lock(memory, sizeof memory));
    barrier(me[0], size);
    leave();
    start();
    CHECK(hps->buffer_pool == pool && hps->buffer_pool_pages == 4 && strcmp(pool, "kept") == 0);
    GIVES(QX_ERR_POOL, qx_buffer_pool(4));
    OK(qx_buffer_unlock(memory, sizeof memory));
    GIVES(QX_ERR_LOCK, qx_buffer_unlock(memory, sizeof memory));
    barrier(me[0], size);
    leave();
    return 0;
}
