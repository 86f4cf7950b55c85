/*
 * Single elements that one process moves between lists to which another one appends elements, and
 * takes them away again: the one that is moved is all that is moved, whatever comes or goes behind
 * it.
 * tasks: 2
 */
#define ACP_RELEASE 3
#include "acheck.h"

#define ROUNDS 500

int main(int argc, char **argv)
{
    join(&argc, &argv);
    acp_ga_t scratch = acp_malloc(64, me), theirs[64];
    uint64_t *word = acp_query_address(scratch);
    acp_element_t element = {scratch, sizeof *word};
    acp_list_t one, other;
    *word = me;
    exchange(me == 0 ? acp_create_list(0).ga : 0, theirs);
    one.ga = theirs[0];
    exchange(me == procs - 1 ? acp_create_list(me).ga : 0, theirs);
    other.ga = theirs[procs - 1];
    volatile uint64_t *over = mine();
    *over = 0;
    if (me == 0)
        acp_push_back_list(one, element, 0);
    OK(acp_sync());
    if (me == 0) {
        acp_list_it_t moved = acp_begin_list(one);
        for (int round = 0; round < ROUNDS; round++) {
            ACP_ERRNO = 0;
            acp_splice_list(acp_end_list(other), moved);
            OK(ACP_ERRNO);
            moved.list = other;
            GIVES(1, acp_size_list(other));
            acp_splice_list(acp_begin_list(other), moved);
            /* The end of a list is there whatever comes and goes. */
            acp_splice_list(acp_end_list(one), moved);
            OK(ACP_ERRNO);
            moved.list = one;
            OK(acp_size_list(other));
        }
        *word = 1;
        for (int rank = 1; rank < procs; rank++)
            acp_complete(started(acp_copy(starter(rank), scratch, 8, ACP_HANDLE_NULL)));
    } else
        while (*over == 0) {
            acp_list_it_t mine = acp_insert_list(acp_end_list(one), element, me);
            GIVES(one.ga, mine.list.ga);
            ACP_ERRNO = 0;
            acp_erase_list(mine);
            OK(ACP_ERRNO);
        }
    OK(acp_sync());
    GIVES(1, acp_size_list(one));
    OK(acp_sync());
    if (me == 0) {
        acp_destroy_list(one);
        acp_destroy_list(other);
    }
    OK(acp_sync());
    OK(acp_finalize());
    return 0;
}
