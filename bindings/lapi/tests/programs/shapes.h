/*
 * Random shapes of data: layouts of DGSPs and vectors, which tasks draw alike from the same numbers; and what each of them
 * moves, so that it can be done without LAPI. No two bytes of a shape are at the same place.
 */
#ifndef SHAPES_H
#define SHAPES_H

#include "../dgsp/program.h"
#include "random.h"

/* A block's place is relative to where the shape is put. */
struct block {
    long at;
    ulong len;
};

/* Blocks in the order of the stream, which is applied again and again, each time an extent further. */
struct shape {
    struct block *block;
    uint blocks;
    ulong size; /* of one application */
    long extent;
    ulong most; /* bytes, before places come again */
    lapi_dg_handle_t handle;
    lapi_dgsp_descr_t descr; /* to register it once more */
};

static inline void add_block(struct shape *s, long at, ulong len)
{
    s->block = realloc(s->block, (s->blocks + 1) * sizeof *s->block);
    s->block[s->blocks++] = (struct block){at, len};
    s->size += len;
}

/* Runs over the blocks of the first bytes of a shape. */
struct walk {
    ulong left;
    uint next;
    long base;
};

static inline int step(const struct shape *s, struct walk *w, struct block *found)
{
    do {
        if (w->left == 0)
            return 0;
        if (w->next == s->blocks) {
            w->next = 0;
            w->base += s->extent;
        }
        *found = s->block[w->next++];
        found->at += w->base;
        found->len = found->len < w->left ? found->len : w->left;
    } while (found->len == 0);
    w->left -= found->len;
    return 1;
}

/* The first byte and the one behind the last of so many bytes. */
static inline void bounds(const struct shape *s, ulong len, long *low, long *high)
{
    struct walk w = {len, 0, 0};
    struct block b;
    *low = *high = 0;
    for (int first = 1; step(s, &w, &b); first = 0) {
        *low = first || b.at < *low ? b.at : *low;
        *high = first || b.at + (long)b.len > *high ? b.at + (long)b.len : *high;
    }
}

static inline void gather(const struct shape *s, const unsigned char *base, ulong len, unsigned char *flat)
{
    struct walk w = {len, 0, 0};
    struct block b;
    for (; step(s, &w, &b); flat += b.len)
        memcpy(flat, base + b.at, b.len);
}

static inline void scatter(const struct shape *s, const unsigned char *flat, ulong len, unsigned char *base)
{
    struct walk w = {len, 0, 0};
    struct block b;
    for (; step(s, &w, &b); flat += b.len)
        memcpy(base + b.at, flat, b.len);
}

/* A place for the first bytes of a shape in room, and fewer bytes if they do not fit. */
static inline long any_place(uint64_t *random, const struct shape *s, ulong room, ulong *len)
{
    long low, high;
    *len = *len < s->most ? *len : s->most;
    for (bounds(s, *len, &low, &high); high - low > (long)room; bounds(s, *len, &low, &high))
        *len /= 2;
    return (long)any(random, (uint)(room - (high - low)) + 1) - low;
}

enum form { UNIT, GAPS, NESTED, COLUMNS, BLOCKS, FORMS };

static inline long either_way(uint64_t *random, long distance)
{
    return chance(random, 30) ? -distance : distance;
}

/* A routine with one block. */
static inline void routine_of_block(struct program *p, lapi_dgsm_gosub_t *from, long bytes)
{
    routine_of(p, from);
    int start = p->descr.code_size;
    copy(p, 0, bytes);
    iterate(p, start);
}

/* Loops in a loop, with a block behind them: the blocks of the inner one, and where the outer one's are. */
static inline void nest(uint64_t *random, struct program *p, struct shape *s)
{
    long bytes = 1 + any(random, 40), inner = 1 + any(random, 6), outer = 1 + any(random, 6);
    long inner_stride = either_way(random, bytes + any(random, 20));
    long span = inner * labs(inner_stride) + bytes;
    long outer_stride = either_way(random, span + any(random, 50));
    long offset = any(random, 100), tail = chance(random, 50) ? 1 + any(random, 100) : 0;
    long beyond = offset + (outer + 1) * labs(outer_stride) + span;
    lapi_dgsm_gosub_t *first = gosub(p, outer, offset, outer_stride);
    if (tail)
        copy(p, beyond, tail);
    iterate(p, 0);
    routine_of(p, first);
    int start_of_inner = p->descr.code_size;
    lapi_dgsm_gosub_t *second = gosub(p, inner, 0, inner_stride);
    iterate(p, start_of_inner);
    routine_of_block(p, second, bytes);
    p->descr.depth = 3;
    for (long i = 0; i < outer; i++)
        for (long j = 0; j < inner; j++)
            add_block(s, offset + i * outer_stride + j * inner_stride, bytes);
    if (tail)
        add_block(s, beyond, tail);
}

/* A column of a matrix; the next application is the next column. */
static inline void column(uint64_t *random, struct program *p, struct shape *s)
{
    long element = 1 + any(random, 16), columns = 2 + any(random, 40), rows = 2 + any(random, 60);
    lapi_dgsm_gosub_t *loop = gosub(p, rows, 0, element * columns);
    iterate(p, 0);
    routine_of_block(p, loop, element);
    p->descr.depth = 2;
    for (long i = 0; i < rows; i++)
        add_block(s, i * element * columns, element);
    s->extent = element;
    s->most = s->size * columns;
}

/* Blocks that follow each other with gaps, in any order; some are empty. */
static inline void scattered(uint64_t *random, struct shape *s, uint count, ulong longest)
{
    long at = 0;
    for (uint i = 0; i < count; i++) {
        at += any(random, 30);
        add_block(s, at, chance(random, 10) ? 0 : 1 + any(random, (uint)longest));
        at += s->block[i].len;
    }
    for (uint i = count; i > 1 && s->size; i--) {
        uint other = any(random, i);
        struct block b = s->block[other];
        s->block[other] = s->block[i - 1];
        s->block[i - 1] = b;
    }
}

static inline void draw_layout(uint64_t *random, struct shape *s)
{
    static struct program p;
    enum form form = any(random, FORMS);
    long offset = chance(random, 50) ? any(random, 64) : 0, bytes = 1 + any(random, chance(random, 30) ? 5000 : 64);
    memset(s, 0, sizeof *s);
    describe(&p, 0, 0, 0, 0);
    s->most = ~0ul >> 1;
    if (form == UNIT || form == GAPS) {
        copy(&p, offset, bytes);
        iterate(&p, 0);
        add_block(s, offset, bytes);
        s->extent = form == UNIT ? bytes : either_way(random, bytes + 1 + any(random, 100));
        p.descr.density = form == UNIT ? LAPI_DGSM_UNIT : LAPI_DGSM_CONTIG;
    } else if (form == COLUMNS) {
        column(random, &p, s);
    } else if (form == NESTED) {
        nest(random, &p, s);
    } else {
        do {
            s->blocks = 0;
            scattered(random, s, 1 + any(random, 40), 60);
        } while (s->size == 0);
        lapi_dgsm_block_t *block = mcopy(&p, (int)s->blocks);
        for (uint i = 0; i < s->blocks; i++)
            block[i] = (lapi_dgsm_block_t){s->block[i].at, (long)s->block[i].len};
        iterate(&p, 0);
    }
    long low, high;
    bounds(s, s->size, &low, &high);
    if (s->extent == 0)
        s->extent = either_way(random, high - low + any(random, 50));
    p.descr.size = (long)s->size;
    p.descr.extent = s->extent;
    p.descr.lext = low;
    p.descr.rext = high;
    p.descr.atom_size = chance(random, 20) ? 1 + (int)any(random, 64) : 0;
    s->descr = p.descr;
    s->descr.code = memcpy(malloc(sizeof p.code), p.code, sizeof p.code);
    s->handle = registered(&p);
}

/* Another handle of the same layout. */
static inline lapi_dg_handle_t registered_anew(const struct shape *s)
{
    struct program p = {.descr = s->descr};
    lapi_dg_handle_t handle;
    OK(registration(hndl, &p, &handle));
    return handle;
}

/* The vector of a shape that is put somewhere; whoever gets it frees its two lists. */
static inline lapi_vec_t vector_of(const struct shape *s, lapi_vectype_t type, unsigned char *base)
{
    lapi_vec_t vec = {type, s->blocks, malloc((s->blocks + 3) * sizeof(void *)), malloc((s->blocks + 1) * sizeof(ulong))};
    for (uint i = 0; i < s->blocks; i++) {
        vec.info[i] = base + s->block[i].at;
        vec.len[i] = s->block[i].len;
    }
    if (type == LAPI_GEN_STRIDED_XFER) {
        vec.info[0] = base + s->block[0].at;
        vec.info[1] = (void *)s->block[0].len;
        vec.info[2] = (void *)(s->blocks > 1 ? s->block[1].at - s->block[0].at : (long)s->block[0].len);
    }
    return vec;
}

#define MOST_PIECES 400

/*
 * A vector of at most so many bytes. The lengths come from one sequence of numbers, and the places from another one: so that
 * the two sides have the same lengths.
 */
static inline void draw_vector(uint64_t lengths, uint64_t places, lapi_vectype_t type, ulong len, struct shape *s)
{
    ulong sizes[MOST_PIECES];
    memset(s, 0, sizeof *s);
    s->most = ~0ul >> 1;
    if (type == LAPI_GEN_STRIDED_XFER) {
        uint count = 1 + any(&lengths, chance(&lengths, 20) ? MOST_PIECES : 12);
        ulong block = len / count;
        long stride = (long)(block + any(&places, chance(&places, 30) ? 1 : 40));
        for (uint i = 0; i < count; i++)
            add_block(s, i * stride, block);
        return;
    }
    uint count = cut(&lengths, len, chance(&lengths, 20) ? MOST_PIECES : 12, sizes);
    long at = 0;
    for (uint i = 0; i < count; i++) {
        at += any(&places, chance(&places, 30) ? 1 : 20);
        add_block(s, at, sizes[i]);
        at += (long)sizes[i];
    }
    /* Sometimes in the opposite order. */
    if (chance(&places, 30))
        for (uint i = 0; i < count; i++)
            s->block[i].at = at - s->block[i].at - (long)sizes[i];
}

#define LAYOUTS 24 /* every task has the same */
#define FLAT (-1)  /* no layout: the bytes lie one behind the other */

static struct shape layouts[LAYOUTS], flat;

static inline void draw_layouts(uint64_t *random)
{
    for (int i = 0; i < LAYOUTS; i++)
        draw_layout(random, &layouts[i]);
    flat.most = ~0ul >> 1;
    add_block(&flat, 0, flat.most);
}

/* Both sides of a transfer. */
struct sides {
    const struct shape *here, *there;
    int layout; /* at the target, or FLAT */
    struct shape drawn[2]; /* vectors */
    uint64_t lengths[2], places[2];
    lapi_vectype_t type;
    ulong vector, len;
    long at_here, at_there;
};

static inline void draw_places(uint64_t *random, struct sides *s, ulong room)
{
    s->at_there = any_place(random, s->there, room, &s->len);
    s->at_here = any_place(random, s->here, room, &s->len);
}

static inline ulong any_length(uint64_t *random, ulong most)
{
    return chance(random, 5) ? 0 : chance(random, 30) ? most : any(random, (uint)most + 1);
}

static inline void draw_vectors(uint64_t *random, struct sides *s, int may_differ, ulong room)
{
    static const lapi_vectype_t types[] = {LAPI_GEN_IOVECTOR, LAPI_GEN_STRIDED_XFER, LAPI_GEN_GENERIC};
    memset(s, 0, sizeof *s);
    s->layout = FLAT;
    s->type = types[any(random, may_differ ? 3 : 2)];
    for (int i = 0; i < 2; i++) {
        s->places[i] = 1 + any(random, 1 << 30);
        s->lengths[i] = i == 0 || s->type == LAPI_GEN_GENERIC ? 1 + any(random, 1 << 30) : s->lengths[0];
    }
    int fits = 0;
    for (s->vector = any_length(random, room); !fits; s->vector /= fits ? 1 : 2) {
        fits = 1;
        for (int i = 0; i < 2; i++) {
            long low, high;
            free(s->drawn[i].block);
            draw_vector(s->lengths[i], s->places[i], s->type, s->vector, &s->drawn[i]);
            bounds(&s->drawn[i], s->drawn[i].size, &low, &high);
            fits &= high - low <= (long)room;
        }
    }
    s->here = &s->drawn[0];
    s->there = &s->drawn[1];
    s->len = s->here->size;
    CHECK(s->there->size == s->len);
    draw_places(random, s, room);
}

/* Sides without vectors: at the origin a layout if so wished, at the target one or none if there may be one. */
static inline void draw_layouts_of(uint64_t *random, struct sides *s, int here, int may_there, ulong room)
{
    memset(s, 0, sizeof *s);
    s->len = any_length(random, room);
    s->layout = may_there && chance(random, here ? 70 : 40) ? (int)any(random, LAYOUTS) : FLAT;
    s->here = here ? &layouts[any(random, LAYOUTS)] : &flat;
    s->there = s->layout == FLAT ? &flat : &layouts[s->layout];
    draw_places(random, s, room);
}

#endif
