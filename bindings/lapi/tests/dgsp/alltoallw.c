/*
 * lapis_alltoallw: each part in a layout of its own, of lengths that differ, from nothing to more than the shared areas hold;
 * plain bytes beside layouts; a member with layouts and one without.
 * tasks: 3
 */
#include "program.h"

#include <lapis.h>

enum { MOST = 1 << 19, MEMBERS = 3, GAP = 0xee };

static unsigned char from[MEMBERS][MOST], to[MEMBERS][MOST];
static struct program p;
static lapi_dg_handle_t wide, odd;

static ulong length(int giver, int getter, int round)
{
    switch ((giver + 2 * getter + round) % 4) {
    case 0: return 0;
    case 1: return 15 + giver;
    case 2: return 4999;
    default: return 70001 + getter;
    }
}

static unsigned char byte_of(int giver, int getter, ulong i)
{
    return (unsigned char)(giver * 31 + getter * 7 + i * 3 + i / 251);
}

/* Where byte i of a part is: plain, four bytes in nine, or three in seven, backwards within. */
static ulong place(lapi_dg_handle_t layout, ulong i)
{
    static const ulong threes[] = {5, 0, 1};
    if (layout == wide)
        return i / 4 * 9 + i % 4;
    if (layout == odd)
        return i / 3 * 7 + threes[i % 3];
    return i;
}

static void swap(int round)
{
    ulong give[MEMBERS], get[MEMBERS], give_at[MEMBERS], get_at[MEMBERS], i;
    lapi_dg_handle_t all[] = {NULL, wide, odd}, gives[MEMBERS], gets[MEMBERS];
    int m;
    memset(from, GAP, sizeof from);
    memset(to, GAP, sizeof to);
    for (m = 0; m < tasks; m++) {
        give[m] = length(me, m, round);
        get[m] = length(m, me, round);
        give_at[m] = (ulong)m * MOST;
        get_at[m] = (ulong)m * MOST + m;
        gives[m] = all[(me + m + round) % 3];
        gets[m] = all[(me + 2 * m + round) % 3];
        for (i = 0; i < give[m]; i++)
            from[m][place(gives[m], i)] = byte_of(me, m, i);
    }
    OK(lapis_alltoallw(hndl, LAPIS_WORLD, from, give, give_at, gives, to, get, get_at, gets));
    for (m = 0; m < tasks; m++) {
        ulong seen = 0, bytes = 0;
        for (i = 0; i < get[m]; i++)
            CHECK(to[m][m + place(gets[m], i)] == byte_of(m, me, i));
        /* And nothing else was written. */
        for (i = 0; i < get[m]; i++)
            seen += to[m][m + place(gets[m], i)] != GAP;
        for (i = 0; i < MOST; i++)
            bytes += to[m][i] != GAP;
        CHECK(bytes == seen);
    }
}

/* Task 0 has plain parts alone, and no layouts to name. */
static void meet(void)
{
    ulong bytes[MEMBERS], at[MEMBERS], i;
    lapi_dg_handle_t layouts[] = {wide, odd, wide};
    int m;
    for (m = 0; m < tasks; m++) {
        bytes[m] = 1200;
        at[m] = me == 0 ? (ulong)m * 1200 : (ulong)m * MOST;
    }
    for (m = 0; m < tasks; m++)
        for (i = 0; i < 1200; i++)
            (&from[0][0])[at[m] + (me == 0 ? i : place(layouts[m], i))] = byte_of(me, m, i);
    if (me == 0)
        OK(lapis_alltoallv(hndl, LAPIS_WORLD, from, bytes, at, to, bytes, at, LAPIS_U8));
    else
        OK(lapis_alltoallw(hndl, LAPIS_WORLD, from, bytes, at, layouts, to, bytes, at, layouts));
    for (m = 0; m < tasks; m++)
        for (i = 0; i < 1200; i++)
            CHECK((&to[0][0])[at[m] + (me == 0 ? i : place(layouts[m], i))] == byte_of(m, me, i));
}

int main(void)
{
    ulong none[MEMBERS] = {0}, some[MEMBERS] = {8, 8, 8};
    lapi_dg_handle_t plain[MEMBERS] = {NULL}, wrong[MEMBERS] = {NULL, (lapi_dg_handle_t)&p, NULL};
    int round;

    start();
    CHECK(tasks == MEMBERS);
    describe(&p, 4, 9, 0, 4);
    copy(&p, 0, 4);
    iterate(&p, 0);
    wide = registered(&p);
    describe(&p, 3, 7, 0, 6);
    copy(&p, 5, 1);
    copy(&p, 0, 2);
    iterate(&p, 0);
    odd = registered(&p);
    for (round = 0; round < 12; round++)
        swap(round);
    meet();
    OK(lapis_alltoallw(hndl, LAPIS_WORLD, NULL, none, none, plain, NULL, none, none, plain));
    /* What is wrong is said before anything is exchanged. */
    GIVES(LAPI_ERR_DGSP, lapis_alltoallw(hndl, LAPIS_WORLD, from, some, none, wrong, to, some, none, plain));
    GIVES(LAPIS_ERR_BUFFER, lapis_alltoallw(hndl, LAPIS_WORLD, NULL, some, none, plain, to, some, none, plain));
    GIVES(LAPIS_ERR_COUNT, lapis_alltoallw(hndl, LAPIS_WORLD, from, NULL, none, plain, to, some, none, plain));
    GIVES(LAPIS_ERR_COUNT, lapis_alltoallw(hndl, LAPIS_WORLD, from, some, none, NULL, to, some, none, plain));
    swap(round);
    finish();
    return 0;
}
