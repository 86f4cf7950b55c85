/*
 * One structure of each kind that all processes change at a time, while they read it: no call's
 * work is lost, and what is read is always whole.
 * tasks: 4
 */
#define ACP_RELEASE 3
#include "acheck.h"

#define ROUNDS 60

int main(int argc, char **argv)
{
    join(&argc, &argv);
    acp_ga_t made[3] = {ACP_GA_NULL}, theirs[64];
    acp_vector_t vector;
    acp_deque_t deque;
    acp_list_t list;
    for (int kind = 0; kind < 3; kind++) {
        int maker = kind % procs;
        if (me == maker)
            made[kind] = kind == 0   ? acp_create_vector(0, procs - 1).ga
                         : kind == 1 ? acp_create_deque(0, 0).ga
                                     : acp_create_list(procs / 2).ga;
        exchange(made[kind], theirs);
        made[kind] = theirs[maker];
    }
    vector.ga = made[0];
    deque.ga = made[1];
    list.ga = made[2];

    acp_ga_t scratch = starter(me) + 1024;
    uint64_t *local = (uint64_t *)((char *)mine() + 1024);
    for (int round = 0; round < ROUNDS; round++) {
        *local = (uint64_t)me << 32 | round;
        acp_element_t element = {scratch, sizeof *local};
        acp_push_back_vector(vector, scratch, sizeof *local);
        if (round % 2)
            acp_push_back_deque(deque, scratch, sizeof *local);
        else
            acp_push_front_deque(deque, scratch, sizeof *local);
        acp_push_back_list(list, element, round % procs);
        GIVES(0, acp_size_vector(vector) % 8);
        GIVES(0, acp_size_deque(deque) % 8);
        CHECK(acp_size_list(list) > (size_t)round);
    }
    OK(acp_sync());
    GIVES(procs * ROUNDS, acp_size_list(list));
    GIVES(procs * ROUNDS * 8, acp_size_vector(vector));
    GIVES(procs * ROUNDS * 8, acp_size_deque(deque));
    /* Of each process all, in its order. */
    int next[64] = {0}, in_list[64] = {0}, in_deque = 0;
    acp_list_it_t it = acp_begin_list(list);
    for (int at = 0; at < procs * ROUNDS; at++, it = acp_increment_list_it(it)) {
        acp_complete(started(acp_copy(scratch, acp_at_vector(vector, at * 8), 8, ACP_HANDLE_NULL)));
        GIVES(next[*local >> 32]++, *local & 0xffffffff);
        acp_complete(started(acp_copy(scratch, acp_dereference_list_it(it).ga, 8, ACP_HANDLE_NULL)));
        GIVES(in_list[*local >> 32]++, *local & 0xffffffff);
        acp_complete(started(acp_copy(scratch, acp_at_deque(deque, at * 8), 8, ACP_HANDLE_NULL)));
        in_deque += *local & 0xffffffff;
    }
    GIVES(procs * (ROUNDS * (ROUNDS - 1) / 2), in_deque);
    OK(acp_sync());

    /* All take away until nothing is left. */
    for (int round = 0; round < ROUNDS; round++) {
        acp_pop_front_list(list);
        acp_pop_back_vector(vector, 8);
        acp_pop_front_deque(deque, 8);
    }
    OK(acp_sync());
    CHECK(acp_empty_list(list) && acp_empty_vector(vector) && acp_empty_deque(deque));
    OK(acp_sync());
    if (me == 0) {
        acp_destroy_list(list);
        acp_destroy_vector(vector);
        acp_destroy_deque(deque);
    }
    OK(acp_sync());
    FAILS(0, EBADF, acp_size_list(list));
    OK(acp_finalize());
    return 0;
}
