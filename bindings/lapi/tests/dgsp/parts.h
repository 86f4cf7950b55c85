/* Parts of collectives on layouts: how long each is, what stands in it, and where. */
#ifndef PARTS_H
#define PARTS_H

#include "program.h"

enum { MEMBERS = 3, GAP = 0xee };

static struct program p;
/* Four bytes in nine; three in seven, backwards within. */
static lapi_dg_handle_t wide, odd;

static inline void register_layouts(void)
{
    describe(&p, 4, 9, 0, 4);
    copy(&p, 0, 4);
    iterate(&p, 0);
    wide = registered(&p);
    describe(&p, 3, 7, 0, 6);
    copy(&p, 5, 1);
    copy(&p, 0, 2);
    iterate(&p, 0);
    odd = registered(&p);
}

/* Of what one member gives another one: from nothing to more than the shared areas hold. */
static inline ulong length(int giver, int getter, int round)
{
    switch ((giver + 2 * getter + round) % 4) {
    case 0: return 0;
    case 1: return 15 + giver;
    case 2: return 4999;
    default: return 70001 + getter;
    }
}

static inline unsigned char byte_of(int giver, int getter, ulong i, int run)
{
    return (unsigned char)(giver * 31 + getter * 7 + i * 3 + i / 251 + run * 5);
}

/* Where byte i of a part is. */
static inline ulong place(lapi_dg_handle_t layout, ulong i)
{
    static const ulong threes[] = {5, 0, 1};
    if (layout == wide)
        return i / 4 * 9 + i % 4;
    if (layout == odd)
        return i / 3 * 7 + threes[i % 3];
    return i;
}

#endif
