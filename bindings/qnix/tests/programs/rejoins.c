/*
 * A process that joins and leaves again and again keeps no descriptors and no mappings of clusters that have ended, but for the last one's.
 * tasks: 2
 */
#define _GNU_SOURCE
#include "qcheck.h"
#include <dirent.h>

#define ROUNDS 12
#define FIRST 3

static int descriptors(void)
{
    int count = 0;
    DIR *all = opendir("/proc/self/fd");
    CHECK(all != NULL);
    while (readdir(all))
        count++;
    closedir(all);
    return count;
}

static int mappings(void)
{
    int count = 0;
    char line[600];
    FILE *all = fopen("/proc/self/maps", "r");
    CHECK(all != NULL);
    while (fgets(line, sizeof line, all))
        count += strstr(line, "memfd:lapis") != NULL;
    fclose(all);
    return count;
}

int main(void)
{
    int open = 0, mapped = 0;
    qx_hps_t *first = NULL;
    for (int round = 1; round <= ROUNDS; round++) {
        start();
        if (!first)
            first = hps;
        int next[2] = {me[0], (me[1] + 1) % size}, before[2] = {me[0], (me[1] + size - 1) % size};
        buffer in = make(100000);
        int receive = receive_of(before, round, &in), send = send_of(next, round, &in, in.len);
        OK(qx_send(send));
        GIVES(100000, qx_poll_for_receive(receive));
        done(send);
        OK(qx_buffer_unlock(in.data, in.len));
        barrier(me[0], size);
        leave();
        if (round == FIRST) {
            open = descriptors();
            mapped = mappings();
        }
    }
    /* A few are opened only when they are needed: fewer than one for each job. */
    CHECK(descriptors() < open + ROUNDS - FIRST);
    CHECK(mappings() < mapped + ROUNDS - FIRST);
    /* The structure stays. */
    CHECK(first->proc_name[0] == me[0] && first->proc_name[1] == me[1] && first->group_size == size);
    return 0;
}
