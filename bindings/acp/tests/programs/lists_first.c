/*
 * Vectors and lists of release 1.0: all calls, iterators that are numbers, and bad arguments.
 * tasks: 3
 */
#include "acheck.h"

static int value(acp_list_it_t it)
{
    acp_element_t element = acp_dereference_list(it);
    CHECK(element.ga != ACP_GA_NULL && element.size == sizeof(int));
    acp_complete(started(acp_copy(starter(me) + 2048, element.ga, sizeof(int), ACP_HANDLE_NULL)));
    return *(int *)((char *)mine() + 2048);
}

static void vectors(int other)
{
    acp_vector_t vector = acp_create_vector(100, 12, other);
    CHECK(vector != ACP_VECTOR_NULL);
    GIVES(other, acp_query_rank(vector));
    GIVES(1200, acp_size_vector(vector));
    unsigned char *local = (unsigned char *)mine() + 1024;
    fill(local, 1000, me);
    for (int at = 0; at < 1000; at += 500)
        acp_complete(started(acp_copy(acp_at_vector(vector, at), starter(me) + 1024 + at, 500, ACP_HANDLE_NULL)));
    acp_vector_t copy = acp_duplicate_vector(vector, me);
    CHECK(copy != ACP_VECTOR_NULL);
    GIVES(me, acp_query_rank(copy));
    const unsigned char *bytes = acp_query_address(acp_at_vector(copy, 0));
    CHECK(holds(bytes, 1000, me) && bytes[1000] == 0 && bytes[1199] == 0);
    acp_vector_t small = acp_create_vector(0, 8, other);
    CHECK(small != ACP_VECTOR_NULL && acp_empty_vector(small));
    acp_swap_vector(copy, small);
    GIVES(0, acp_size_vector(copy));
    GIVES(1200, acp_size_vector(small));
    acp_swap_vector(small, small);
    GIVES(1200, acp_size_vector(small));

    FAILS(0, EINVAL, acp_create_vector(1, 0, me));
    FAILS(0, EINVAL, acp_create_vector((size_t)1 << 40, (size_t)1 << 40, me));
    FAILS(0, ENOMEM, acp_create_vector(1, (size_t)1 << 40, me));
    FAILS(0, EINVAL, acp_create_vector(1, 1, procs));
    FAILS(0, EINVAL, acp_create_vector(1, 1, -1));
    FAILS(0, EFAULT, acp_duplicate_vector(ACP_VECTOR_NULL, me));
    FAILS(0, EINVAL, acp_duplicate_vector(vector, procs));
    FAILS(0, EBADF, acp_duplicate_vector(starter(other), me));
    acp_destroy_vector(vector);
    acp_destroy_vector(small);
    acp_destroy_vector(copy);
}

static void lists(int other)
{
    acp_list_t list = acp_create_list(sizeof(int), other);
    CHECK(list != ACP_LIST_NULL);
    acp_list_it_t end = acp_end_list(list);
    CHECK(end > 0 && acp_begin_list(list) == end);
    for (int i = 0; i < 10; i++)
        acp_push_back_list(list, &i, i % procs);
    GIVES(10, acp_size_list(list));
    GIVES(end, acp_end_list(list));
    acp_list_it_t it = acp_begin_list(list);
    for (int i = 0; i < 10; i++) {
        GIVES(i, value(it));
        acp_increment_list(&it);
    }
    GIVES(end, it);
    FAILS((acp_increment_list(&it), end), EINVAL, it);
    for (int i = 9; i >= 0; i--) {
        acp_decrement_list(&it);
        GIVES(i, value(it));
    }
    GIVES(acp_begin_list(list), it);
    acp_list_it_t first = it;
    FAILS((acp_decrement_list(&it), first), EINVAL, it);

    int hundred = 100;
    acp_list_it_t new = acp_insert_list(list, it, &hundred, other);
    GIVES(new, acp_begin_list(list));
    GIVES(100, value(new));
    acp_increment_list(&new);
    GIVES(it, new);
    acp_list_it_t next = acp_erase_list(list, it);
    GIVES(1, value(next));
    /* The iterator of what was erased is none any more. */
    FAILS(-1, EINVAL, acp_erase_list(list, it));
    FAILS(-1, EINVAL, acp_erase_list(list, end));
    GIVES(end, acp_insert_list(list, end, &hundred, me) ? acp_end_list(list) : 0);

    acp_list_t another = acp_create_list(sizeof(int), me);
    FAILS(-1, EINVAL, acp_insert_list(another, next, &hundred, me));
    FAILS(-1, EINVAL, acp_erase_list(another, next));
    FAILS(-1, EINVAL, acp_insert_list(list, 123456, &hundred, me));
    FAILS(-1, EINVAL, acp_insert_list(list, next, &hundred, procs));
    FAILS(-1, EFAULT, acp_insert_list(list, next, NULL, me));
    FAILS(-1, EFAULT, acp_begin_list(ACP_LIST_NULL));
    FAILS(-1, EBADF, acp_end_list(starter(other)));
    FAILS(0, EINVAL, acp_create_list(0, me));
    FAILS(0, EINVAL, acp_create_list(4, -1));
    *acp_errno_location() = 0;
    acp_increment_list(NULL);
    GIVES(EFAULT, ACP_ERRNO);
    GIVES(11, acp_size_list(list));
    acp_destroy_list(list);
    FAILS(-1, EINVAL, acp_erase_list(list, next));
    acp_destroy_list(another);
}

/* What was destroyed is found out. */
static void destroyed(int other)
{
    acp_vector_t vector = acp_create_vector(100, 12, other), small = acp_create_vector(0, 8, other);
    acp_destroy_vector(vector);
    FAILS(0, EBADF, acp_duplicate_vector(vector, me));
    *acp_errno_location() = 0;
    acp_destroy_vector(vector);
    GIVES(EBADF, ACP_ERRNO);
    *acp_errno_location() = 0;
    acp_swap_vector(small, vector);
    GIVES(EBADF, ACP_ERRNO);
    acp_destroy_vector(small);
    acp_list_t list = acp_create_list(sizeof(int), other);
    acp_destroy_list(list);
    FAILS(-1, EBADF, acp_begin_list(list));
    *acp_errno_location() = 0;
    acp_destroy_list(list);
    GIVES(EBADF, ACP_ERRNO);
}

int main(int argc, char **argv)
{
    join(&argc, &argv);
    FAILS(0, EINVAL, acp_create_list(8, procs));
    OK(acp_sync());
    for (int other = 0; other < procs; other++) {
        vectors(other);
        lists(other);
    }
    for (int other = 0; other < procs; other++)
        IN_TURN(destroyed(other));
    OK(acp_finalize());
    return 0;
}
