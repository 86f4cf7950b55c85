/*
 * The macros that take a type as their argument name the call of that type, for any type.
 * tasks: 1
 */
#include "acheck.h"

/* The call of a type that programs may have of their own. */
#define CALL(name) static int name##_mine(int number, int other) { return number * 100 + other; }
#define NAMES(call) GIVES(700 + __LINE__ % 50, call)

CALL(acp_assign)
CALL(acp_assign_range)
CALL(acp_at)
CALL(acp_back)
CALL(acp_begin)
CALL(acp_bucket)
CALL(acp_bucket_count)
CALL(acp_bucket_size)
CALL(acp_capacity)
CALL(acp_clear)
CALL(acp_count)
CALL(acp_create)
CALL(acp_destroy)
CALL(acp_empty)
CALL(acp_end)
CALL(acp_erase)
CALL(acp_erase_range)
CALL(acp_find)
CALL(acp_front)
CALL(acp_insert)
CALL(acp_insert_range)
CALL(acp_merge)
CALL(acp_pop_back)
CALL(acp_pop_front)
CALL(acp_push_back)
CALL(acp_push_front)
CALL(acp_remove)
CALL(acp_reserve)
CALL(acp_reverse)
CALL(acp_size)
CALL(acp_sort)
CALL(acp_splice)
CALL(acp_swap)
CALL(acp_unique)
CALL(acp_advance)
CALL(acp_decrement)
CALL(acp_dereference)
CALL(acp_dereference_value)
CALL(acp_distance)
CALL(acp_increment)
CALL(acp_size_value)
CALL(acp_duplicate)
CALL(acp_splice_range)

int main(int argc, char **argv)
{
    join(&argc, &argv);
    NAMES(acp_assign(mine, 7, __LINE__ % 50));
    NAMES(acp_assign_range(mine, 7, __LINE__ % 50));
    NAMES(acp_at(mine, 7, __LINE__ % 50));
    NAMES(acp_back(mine, 7, __LINE__ % 50));
    NAMES(acp_begin(mine, 7, __LINE__ % 50));
    NAMES(acp_bucket(mine, 7, __LINE__ % 50));
    NAMES(acp_bucket_count(mine, 7, __LINE__ % 50));
    NAMES(acp_bucket_size(mine, 7, __LINE__ % 50));
    NAMES(acp_capacity(mine, 7, __LINE__ % 50));
    NAMES(acp_clear(mine, 7, __LINE__ % 50));
    NAMES(acp_count(mine, 7, __LINE__ % 50));
    NAMES(acp_create(mine, 7, __LINE__ % 50));
    NAMES(acp_destroy(mine, 7, __LINE__ % 50));
    NAMES(acp_empty(mine, 7, __LINE__ % 50));
    NAMES(acp_end(mine, 7, __LINE__ % 50));
    NAMES(acp_erase(mine, 7, __LINE__ % 50));
    NAMES(acp_erase_range(mine, 7, __LINE__ % 50));
    NAMES(acp_find(mine, 7, __LINE__ % 50));
    NAMES(acp_front(mine, 7, __LINE__ % 50));
    NAMES(acp_insert(mine, 7, __LINE__ % 50));
    NAMES(acp_insert_range(mine, 7, __LINE__ % 50));
    NAMES(acp_merge(mine, 7, __LINE__ % 50));
    NAMES(acp_pop_back(mine, 7, __LINE__ % 50));
    NAMES(acp_pop_front(mine, 7, __LINE__ % 50));
    NAMES(acp_push_back(mine, 7, __LINE__ % 50));
    NAMES(acp_push_front(mine, 7, __LINE__ % 50));
    NAMES(acp_remove(mine, 7, __LINE__ % 50));
    NAMES(acp_reserve(mine, 7, __LINE__ % 50));
    NAMES(acp_reverse(mine, 7, __LINE__ % 50));
    NAMES(acp_size(mine, 7, __LINE__ % 50));
    NAMES(acp_sort(mine, 7, __LINE__ % 50));
    NAMES(acp_splice(mine, 7, __LINE__ % 50));
    NAMES(acp_swap(mine, 7, __LINE__ % 50));
    NAMES(acp_unique(mine, 7, __LINE__ % 50));
    NAMES(acp_advance(mine, 7, __LINE__ % 50));
    NAMES(acp_decrement(mine, 7, __LINE__ % 50));
    NAMES(acp_dereference(mine, 7, __LINE__ % 50));
    NAMES(acp_dereference_value(mine, 7, __LINE__ % 50));
    NAMES(acp_distance(mine, 7, __LINE__ % 50));
    NAMES(acp_increment(mine, 7, __LINE__ % 50));
    NAMES(acp_size_value(mine, 7, __LINE__ % 50));
    NAMES(acp_duplicate(mine, 7, __LINE__ % 50));
    NAMES(acp_splice_range(mine, 7, __LINE__ % 50));
    /* And of those that there are. */
    acp_deque_t deque = acp_create(deque, 16, me);
    GIVES(16, acp_size(deque, deque));
    GIVES(16, acp_distance(deque_it, acp_begin(deque, deque), acp_end(deque, deque)));
    acp_destroy(deque, deque);
    OK(acp_finalize());
    return 0;
}
