/* What the programs of crowds share: the table that random accesses change, and the numbers that say where. */
#ifndef LAPIS_BENCH_CROWD_H
#define LAPIS_BENCH_CROWD_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { TABLE = 1 << 14, MAX_BLOCK = 256 << 10 };

static uint64_t table[TABLE];

struct random {
    uint64_t state;
};

static struct random random_of(int rank) {
    struct random r = {0x9e3779b97f4a7c15u * (rank + 1)};
    return r;
}

static uint64_t next_random(struct random *r) {
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return r->state;
}

/* All changes were made twice: every word is 0 again. */
static void verify(int rank) {
    int i;
    for (i = 0; i < TABLE; i++)
        if (table[i] != 0) {
            fprintf(stderr, "crowd: task %d: word %d is %llx instead of 0\n", rank, i, (unsigned long long)table[i]);
            exit(1);
        }
}

#endif
