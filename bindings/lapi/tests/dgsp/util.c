/*
 * DGSPs without communication: registration and its counts, the cached description, packing and unpacking, every code of
 * LAPI_Util by just the condition that the guide names.
 */
//= LAPI Guide, LAPI_Util, LAPI_REGISTER_DGSP
//= LAPI Guide, LAPI_Util, LAPI_RESERVE_DGSP
//= LAPI Guide, LAPI_Util, LAPI_UNRESERVE_DGSP
//= LAPI Guide, LAPI_Util, C examples 2 and 3
//= LAPI Guide, LAPI_Util, LAPI_DGSP_PACK
//= LAPI Guide, LAPI_Util, LAPI_DGSP_UNPACK
//= LAPI Guide, LAPI_Util, LAPI_ERR_DGSP
//= LAPI Guide, LAPI_Util, LAPI_ERR_DGSP_FREE
//= LAPI Guide, LAPI_Util, LAPI_ERR_DGSP_ATOM, LAPI_ERR_DGSP_BRANCH, LAPI_ERR_DGSP_COPY_SZ, LAPI_ERR_DGSP_OPC, LAPI_ERR_DGSP_STACK
//= LAPI Guide, LAPI_Util, hndl is not checked for the commands that register and reserve
//= LAPI Guide, appendix C, LAPI_ERR_PACK_SZ
//= LAPI Guide, table 38, LAPI_VERIFY_DGSP
//= type=test
#include "program.h"

static struct program p;
static lapi_dg_handle_t handle;

/* Two characters out of five, three times, then one: "ab", "fg", "kl", "z" of a template of 20. */
static void sieve(void)
{
    describe(&p, 7, 20, 0, 20);
    lapi_dgsm_gosub_t *rows = gosub(&p, 3, 0, 5);
    copy(&p, 19, 1);
    iterate(&p, 0);
    routine_of(&p, rows);
    int start = p.descr.code_size;
    copy(&p, 0, 2);
    iterate(&p, start);
    p.descr.depth = 2;
}

/* A program of one copy, as an example of the guide has it. */
static void simple(void)
{
    describe(&p, 4, 8, 0, 4);
    copy(&p, 0, 4);
    iterate(&p, 0);
}

static void expect_both(int code, int verified)
{
    setenv("LAPI_VERIFY_DGSP", "no", 1);
    GIVES(code, registration(hndl, &p, &handle));
    if (code == LAPI_SUCCESS)
        OK(unreserve(hndl, handle));
    setenv("LAPI_VERIFY_DGSP", "yes", 1);
    GIVES(verified, registration(hndl, &p, &handle));
    if (verified == LAPI_SUCCESS)
        OK(unreserve(hndl, handle));
    unsetenv("LAPI_VERIFY_DGSP");
}

#define ALWAYS(code) expect_both(code, code)
#define VERIFIED(code) expect_both(LAPI_SUCCESS, code)

static void registration_codes(void)
{
    lapi_reg_dgsp_t none = {.Util_type = LAPI_REGISTER_DGSP, .idgsp = NULL};
    GIVES(LAPI_ERR_DGSP, LAPI_Util(hndl, (lapi_util_t *)&none));

    sieve();
    ALWAYS(LAPI_SUCCESS);
    simple();
    ALWAYS(LAPI_SUCCESS);

    /* What is checked without being asked. */
    int most;
    if (hndl != 0) {
        OK(LAPI_Qenv(hndl, MAX_ATOM_SIZE, &most));
        simple();
        p.descr.atom_size = most;
        ALWAYS(LAPI_SUCCESS);
        p.descr.atom_size = most + 1;
        ALWAYS(LAPI_ERR_DGSP_ATOM);
    }
    simple();
    p.descr.atom_size = -1;
    ALWAYS(LAPI_ERR_DGSP_ATOM);
    simple();
    p.descr.code_size = 0;
    ALWAYS(LAPI_ERR_DGSP_OTHER);
    simple();
    p.descr.code_size = -3;
    ALWAYS(LAPI_ERR_DGSP_OTHER);
    simple();
    p.descr.code = NULL;
    ALWAYS(LAPI_ERR_DGSP_OTHER);

    /* What is checked in validation mode. */
    sieve();
    ((lapi_dgsm_gosub_t *)p.code)->to_loc = 1000;
    VERIFIED(LAPI_ERR_DGSP_BRANCH);
    sieve();
    ((lapi_dgsm_gosub_t *)p.code)->to_loc = -1;
    VERIFIED(LAPI_ERR_DGSP_BRANCH);
    sieve();
    ((lapi_dgsm_gosub_t *)p.code)->ret_loc = 1 << 30;
    VERIFIED(LAPI_ERR_DGSP_BRANCH);
    simple();
    p.code[LAPI_DGSM_COPY_SIZE + 1] = -100;
    VERIFIED(LAPI_ERR_DGSP_BRANCH);
    simple();
    p.descr.code_size = LAPI_DGSM_COPY_SIZE; /* No ITERATE. */
    VERIFIED(LAPI_ERR_DGSP_BRANCH);
    simple();
    ((lapi_dgsm_copy_t *)p.code)->bytes = -1;
    VERIFIED(LAPI_ERR_DGSP_COPY_SZ);
    describe(&p, 4, 8, 0, 8);
    lapi_dgsm_block_t *blocks = mcopy(&p, 2);
    blocks[0] = (lapi_dgsm_block_t){0, 8};
    blocks[1] = (lapi_dgsm_block_t){8, -4};
    iterate(&p, 0);
    VERIFIED(LAPI_ERR_DGSP_COPY_SZ);
    simple();
    p.code[0] = 99;
    VERIFIED(LAPI_ERR_DGSP_OPC);
    sieve();
    ((lapi_dgsm_gosub_t *)p.code)->reps = -1;
    VERIFIED(LAPI_ERR_DGSP_REPS);
    sieve();
    p.descr.depth = 1;
    VERIFIED(LAPI_ERR_DGSP_STACK);
    simple();
    p.descr.depth = 0;
    VERIFIED(LAPI_ERR_DGSP_STACK);
    p.descr.depth = -1;
    VERIFIED(LAPI_ERR_DGSP_STACK);
    describe(&p, 4, 8, 0, 4);
    control(&p, LAPI_DGSM_NO_CTL - 1, 0);
    copy(&p, 0, 4);
    iterate(&p, 0);
    VERIFIED(LAPI_ERR_DGSP_CTL);
    describe(&p, 4, 8, 0, 4);
    control(&p, 1, 0);
    copy(&p, 0, 4);
    iterate(&p, 0);
    ALWAYS(LAPI_SUCCESS);
    p.descr.density = LAPI_DGSM_CONTIG;
    VERIFIED(LAPI_ERR_DGSP_CTL);
    simple();
    p.descr.size = 5;
    VERIFIED(LAPI_ERR_DGSP_OTHER);
    simple();
    p.descr.rext = 3;
    VERIFIED(LAPI_ERR_DGSP_OTHER);
    sieve();
    p.descr.density = LAPI_DGSM_UNIT;
    VERIFIED(LAPI_ERR_DGSP_OTHER);
    simple();
    p.descr.density = 7;
    VERIFIED(LAPI_ERR_DGSP_OTHER);
}

/* A stale handle is refused, and takes no user from the DGSP whose handle a registration left beside it. */
static void stale_in_a_union(lapi_handle_t with)
{
    lapi_util_t u;
    memset(&u, 0, sizeof u);
    sieve();
    OK(registration(with, &p, &handle));
    simple();
    u.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
    u.RegDgsp.idgsp = &p.descr;
    OK(LAPI_Util(with, &u));
    lapi_dg_handle_t other = u.RegDgsp.dgsp_handle;
    u.DrefDgsp.Util_type = LAPI_UNRESERVE_DGSP;
    u.DrefDgsp.dgsp_handle = handle;
    OK(LAPI_Util(with, &u));
    GIVES(LAPI_ERR_DGSP_FREE, LAPI_Util(with, &u));
    u.ResvDgsp.Util_type = LAPI_RESERVE_DGSP;
    GIVES(LAPI_ERR_DGSP, LAPI_Util(with, &u));
    OK(unreserve(with, other));
    GIVES(LAPI_ERR_DGSP_FREE, unreserve(with, other));
}

static void counts(lapi_handle_t with)
{
    int words[64];
    sieve();
    memcpy(words, p.code, p.descr.code_size * sizeof(int));
    OK(registration(with, &p, &handle));
    lapi_dgsp_descr_t asked = p.descr, *cached = handle;
    memset(&p, 0xee, sizeof p);
    CHECK(cached != &p.descr && cached->code != p.code);
    CHECK(cached->code_size == asked.code_size && memcmp(cached->code, words, asked.code_size * sizeof(int)) == 0);
    CHECK(cached->depth == 2 && cached->density == LAPI_DGSM_SPARSE && cached->size == 7 && cached->extent == 20);
    CHECK(cached->lext == 0 && cached->rext == 20 && cached->atom_size == 0);

    /* One unreserve for the registration and one for each reserve. */
    OK(reserve(with, handle));
    OK(reserve(with, handle));
    for (int i = 0; i < 3; i++) {
        CHECK(cached->size == 7);
        OK(unreserve(with, handle));
    }
    GIVES(LAPI_ERR_DGSP_FREE, unreserve(with, handle));
    GIVES(LAPI_ERR_DGSP, reserve(with, handle));

    GIVES(LAPI_ERR_DGSP, reserve(with, NULL));
    GIVES(LAPI_ERR_DGSP_FREE, unreserve(with, NULL));
    GIVES(LAPI_ERR_DGSP, reserve(with, &p.descr));
    GIVES(LAPI_ERR_DGSP_FREE, unreserve(with, &p.descr));

    /* As the guide's examples have it: the structure of the registration goes on to be used. */
    sieve();
    lapi_reg_dgsp_t again;
    memset(&again, 0, sizeof again);
    again.Util_type = LAPI_REGISTER_DGSP;
    again.idgsp = &p.descr;
    OK(LAPI_Util(with, (lapi_util_t *)&again));
    again.Util_type = LAPI_RESERVE_DGSP;
    OK(LAPI_Util(with, (lapi_util_t *)&again));
    again.Util_type = LAPI_UNRESERVE_DGSP;
    OK(LAPI_Util(with, (lapi_util_t *)&again));
    OK(LAPI_Util(with, (lapi_util_t *)&again));
    GIVES(LAPI_ERR_DGSP_FREE, LAPI_Util(with, (lapi_util_t *)&again));
    again.Util_type = LAPI_RESERVE_DGSP;
    GIVES(LAPI_ERR_DGSP, LAPI_Util(with, (lapi_util_t *)&again));

    stale_in_a_union(with);

    /* More than fit anything fixed; handles are told apart. */
    enum { MANY = 1000 };
    static lapi_dg_handle_t all[MANY];
    for (int i = 0; i < MANY; i++) {
        describe(&p, i + 1, i + 1, 0, i + 1);
        copy(&p, 0, i + 1);
        iterate(&p, 0);
        OK(registration(with, &p, &all[i]));
    }
    for (int i = 0; i < MANY; i++)
        CHECK(((lapi_dgsp_descr_t *)all[i])->size == i + 1);
    for (int i = 0; i < MANY; i++)
        OK(unreserve(with, all[i]));
    for (int i = 0; i < MANY; i++)
        GIVES(LAPI_ERR_DGSP_FREE, unreserve(with, all[i]));
}

static void packing(void)
{
    char text[64] = "ab...fg...kl.......zAB...FG...KL.......Z", packed[32], back[64];
    ulong position = 3;
    sieve();
    lapi_dg_handle_t sieve = registered(&p);
    simple();
    lapi_dg_handle_t simple = registered(&p);

    /* A series: each call begins its program anew, at the position that the one before left. */
    memset(packed, '_', sizeof packed);
    OK(pack(sieve, text, 14, packed, sizeof packed, &position));
    CHECK(position == 17);
    OK(pack(simple, text + 1, 6, packed, sizeof packed, &position));
    CHECK(position == 23);
    OK(pack(sieve, text, 3, packed, sizeof packed, &position));
    CHECK(position == 26);
    OK(pack(sieve, text, 0, packed, sizeof packed, &position));
    CHECK(memcmp(packed, "___abfgklzABFGKLZb....kabf______", sizeof packed) == 0);

    position = 3;
    memset(back, '-', sizeof back);
    OK(unpack(sieve, packed, sizeof packed, back, 14, sizeof back, &position));
    CHECK(position == 17);
    CHECK(memcmp(back, "ab---fg---kl-------zAB---FG---KL-------Z------------------------", 64) == 0);
    OK(unpack(simple, packed, sizeof packed, back, 6, sizeof back, &position));
    CHECK(position == 23 && memcmp(back, packed + 17, 4) == 0 && memcmp(back + 8, packed + 21, 2) == 0);

    /* Codes. Nothing moves then, the position least of all. */
    char before[sizeof packed];
    memcpy(before, packed, sizeof packed);
    position = 30;
    GIVES(LAPI_ERR_PACK_SZ, pack(sieve, text, 3, packed, sizeof packed, &position));
    CHECK(position == 30);
    OK(pack(sieve, text, 2, packed, sizeof packed, &position));
    CHECK(position == 32 && memcmp(packed + 30, "ab", 2) == 0);
    position = 33;
    GIVES(LAPI_ERR_PACK_SZ, pack(sieve, text, 0, packed, sizeof packed, &position));
    position = (ulong)-4;
    GIVES(LAPI_ERR_PACK_SZ, pack(sieve, text, 7, packed, sizeof packed, &position));
    position = 28;
    GIVES(LAPI_ERR_PACK_SZ, unpack(sieve, packed, sizeof packed, back, 5, sizeof back, &position));
    CHECK(position == 28 && memcmp(packed, before, 30) == 0);

    /* The output of unpack has an end, too: 14 bytes need 40. */
    position = 0;
    memset(back, '-', sizeof back);
    GIVES(LAPI_ERR_PACK_SZ, unpack(sieve, packed, sizeof packed, back, 14, 39, &position));
    CHECK(position == 0 && back[0] == '-');
    OK(unpack(sieve, packed, sizeof packed, back, 13, 39, &position));
    CHECK(position == 13 && back[39] == '-');
    position = 0;
    OK(unpack(sieve, packed, sizeof packed, back, 14, 40, &position));

    position = 0;
    GIVES(LAPI_ERR_DGSP, pack(NULL, text, 3, packed, sizeof packed, &position));
    GIVES(LAPI_ERR_DGSP, pack(&p.descr, text, 3, packed, sizeof packed, &position));
    GIVES(LAPI_ERR_DGSP, unpack(NULL, packed, sizeof packed, back, 3, sizeof back, &position));
    OK(unreserve(hndl, sieve));
    GIVES(LAPI_ERR_DGSP, pack(sieve, text, 3, packed, sizeof packed, &position));
    GIVES(LAPI_ERR_DGSP, unpack(sieve, packed, sizeof packed, back, 3, sizeof back, &position));
    OK(unreserve(hndl, simple));

    /* Faults of programs that nobody verified show when they run, and run no further than the fault. */
    describe(&p, 4, 8, 0, 4);
    control(&p, 1, 0);
    copy(&p, 0, 4);
    iterate(&p, 0);
    lapi_dg_handle_t wrong = registered(&p);
    GIVES(LAPI_ERR_DGSP_CTL, pack(wrong, text, 4, packed, sizeof packed, &position));
    GIVES(LAPI_ERR_DGSP_CTL, unpack(wrong, packed, sizeof packed, back, 4, sizeof back, &position));
    OK(unreserve(hndl, wrong));
    describe(&p, 4, 8, 0, 4);
    copy(&p, 0, 4);
    p.code[emit(&p, 1) - p.code] = 77;
    wrong = registered(&p);
    OK(pack(wrong, text, 4, packed, sizeof packed, &position));
    position = 0;
    GIVES(LAPI_ERR_DGSP_OPC, pack(wrong, text, 5, packed, sizeof packed, &position));
    GIVES(LAPI_ERR_DGSP_OPC, unpack(wrong, packed, sizeof packed, back, 5, sizeof back, &position));
    OK(unreserve(hndl, wrong));
    describe(&p, 0, 8, 0, 0);
    iterate(&p, 0);
    wrong = registered(&p);
    GIVES(LAPI_ERR_DGSP_OTHER, pack(wrong, text, 4, packed, sizeof packed, &position));
    GIVES(LAPI_ERR_DGSP_OTHER, unpack(wrong, packed, sizeof packed, back, 4, sizeof back, &position));
    CHECK(position == 0);
    OK(unreserve(hndl, wrong));
}

int main(void)
{
    /* Before LAPI_Init, with no handle at all: the handle is not looked at. */
    counts(0);
    registration_codes();
    sieve();
    lapi_dg_handle_t kept = registered(&p);

    start();
    counts(hndl);
    counts(12345);
    registration_codes();
    packing();
    char text[20] = "ab...fg...kl.......z", packed[7];
    ulong position = 0;
    OK(pack(kept, text, 7, packed, 7, &position));
    CHECK(memcmp(packed, "abfgklz", 7) == 0);

    /* Packing needs a handle; ending it leaves DGSPs alone. */
    lapi_pack_dgsp_t command = {.Util_type = LAPI_DGSP_PACK, .dgsp_handle = kept};
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Util(12345, (lapi_util_t *)&command));
    finish();
    OK(reserve(hndl, kept));
    OK(unreserve(hndl, kept));
    start();
    position = 0;
    OK(pack(kept, text, 7, packed, 7, &position));
    OK(unreserve(hndl, kept));
    finish();
    return 0;
}
