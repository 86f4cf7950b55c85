/*
 * Random copies and atomic operations of each process on its own part of everybody's memory, with
 * random orders, beside a model that does them one after the other. Only operations that touch a
 * word which an earlier one touches wait for that.
 *
 * A file may be named whose bytes decide what is done: every process takes those at its rank, and
 * each so many further ones as there are processes. The program is as long as they last.
 * tasks: 4
 */
#include "acheck.h"

#define PART 128 /* words of each process's part */
#define ROUNDS 3000

static unsigned random_state;
static unsigned char *choices;
static long choices_len, next_choice;

static int over(int round)
{
    return choices ? next_choice >= choices_len : round == ROUNDS;
}

static unsigned choice(void)
{
    unsigned byte = next_choice < choices_len ? choices[next_choice] : 0;
    next_choice += procs;
    return byte;
}

static unsigned number(unsigned below)
{
    if (choices)
        return (below > 256 ? choice() << 8 | choice() : choice()) % below;
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % below;
}

static void read_choices(const char *name)
{
    FILE *file = fopen(name, "rb");
    CHECK(file != NULL);
    choices = malloc(1 << 16);
    choices_len = (long)fread(choices, 1, 1 << 16, file);
    next_choice = me;
    fclose(file);
}

/* By kind of memory, process and word: the model, and who touched it last. */
static uint64_t model[2][8][PART];
static acp_handle_t last[2][8][PART];
static acp_ga_t ga[2][64];

static acp_ga_t place(int kind, int rank, int word)
{
    return ga[kind][rank] + (me * PART + word) * 8;
}

/* The order after everything that touched these words. Handles grow, and ends are in order. */
static acp_handle_t after(int kind, int rank, int word, int words, acp_handle_t so_far)
{
    for (int i = 0; i < words; i++)
        if (last[kind][rank][word + i] > so_far)
            so_far = last[kind][rank][word + i];
    return so_far;
}

static acp_handle_t order_of(acp_handle_t needed)
{
    switch (number(4)) {
    case 0: return ACP_HANDLE_ALL;
    case 1: return ACP_HANDLE_CONT;
    default: return needed;
    }
}

static void touch(int kind, int rank, int word, int words, acp_handle_t handle)
{
    for (int i = 0; i < words; i++)
        last[kind][rank][word + i] = handle;
}

static void copy(void)
{
    int words = number(5) ? 1 + number(4) : 1 + number(PART / 2);
    int kind[2] = {number(2), number(2)}, rank[2] = {number(procs), number(procs)};
    int word[2] = {number(PART - words + 1), number(PART - words + 1)};
    acp_handle_t needed = after(kind[0], rank[0], word[0], words, ACP_HANDLE_NULL);
    needed = after(kind[1], rank[1], word[1], words, needed);
    acp_handle_t handle = started(acp_copy(place(kind[1], rank[1], word[1]), place(kind[0], rank[0], word[0]),
                                           words * 8, order_of(needed)));
    touch(kind[0], rank[0], word[0], words, handle);
    touch(kind[1], rank[1], word[1], words, handle);
    memmove(&model[kind[1]][rank[1]][word[1]], &model[kind[0]][rank[0]][word[0]], words * 8);
}

static void atomic(void)
{
    int kind[2] = {number(2), number(2)}, rank = number(procs), word[2] = {number(PART), number(PART)};
    uint64_t *variable = &model[kind[0]][rank][word[0]], *result = &model[kind[1]][me][word[1]];
    if (variable == result)
        return;
    acp_handle_t needed = after(kind[0], rank, word[0], 1, ACP_HANDLE_NULL);
    acp_handle_t order = order_of(after(kind[1], me, word[1], 1, needed)), handle;
    acp_ga_t dst = place(kind[1], me, word[1]), src = place(kind[0], rank, word[0]);
    uint64_t value = ((uint64_t)number(1 << 24) << 40) ^ number(1 << 24), was = *variable;
    switch (number(6)) {
    case 0: handle = acp_add8(dst, src, value, order); *variable += value; break;
    case 1: handle = acp_xor8(dst, src, value, order); *variable ^= value; break;
    case 2: handle = acp_or8(dst, src, value, order); *variable |= value; break;
    case 3: handle = acp_and8(dst, src, value, order); *variable &= value; break;
    case 4: handle = acp_swap8(dst, src, value, order); *variable = value; break;
    default: {
        uint64_t expected = number(2) ? was : value;
        handle = acp_cas8(dst, src, expected, value + 1, order);
        if (was == expected)
            *variable = value + 1;
    }
    }
    *result = was;
    touch(kind[0], rank, word[0], 1, started(handle));
    touch(kind[1], me, word[1], 1, handle);
}

int main(int argc, char **argv)
{
    join(&argc, &argv);
    size_t size = (size_t)procs * PART * 8;
    acp_atkey_t key;
    exchange(registered(calloc(1, size), size, &key), ga[0]);
    acp_ga_t given = acp_malloc(size, me);
    memset(acp_query_address(given), 0, size);
    exchange(given, ga[1]);
    random_state = 12345 + me;
    if (argc > 1)
        read_choices(argv[1]);
    for (int round = 0; !over(round); round++) {
        if (number(3))
            copy();
        else
            atomic();
        if (number(200) == 0)
            acp_complete(ACP_HANDLE_ALL);
        if (number(500) == 0)
            GIVES(0, acp_inquire(ACP_HANDLE_NULL));
    }
    acp_complete(ACP_HANDLE_ALL);
    OK(acp_sync());
    static uint64_t seen[PART];
    acp_ga_t here = registered(seen, sizeof seen, &key);
    for (int kind = 0; kind < 2; kind++)
        for (int rank = 0; rank < procs; rank++) {
            acp_complete(started(acp_copy(here, place(kind, rank, 0), sizeof seen, ACP_HANDLE_NULL)));
            for (int word = 0; word < PART; word++)
                CHECK(seen[word] == model[kind][rank][word]);
        }
    OK(acp_finalize());
    return 0;
}
