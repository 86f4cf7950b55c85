/*
 * Lists of release 3.0 beside arrays: random calls whose outcome both must agree on.
 * tasks: 3
 */
#define ACP_RELEASE 3
#include "acheck.h"

#define MOST 64
#define ROUNDS 1500

static unsigned random_state;

static int number(int below)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % below;
}

/* An element is a small number, so that there are equal ones, and its length is part of it. */
static struct model {
    acp_list_t list;
    int count, values[3 * MOST];
} models[2];

static acp_ga_t scratch;
static unsigned char *local;

static acp_element_t element_of(int value)
{
    acp_element_t element = {scratch, 1 + value % 3};
    memset(local, value, 4);
    return element;
}

static int value_at(acp_ga_t ga, size_t size)
{
    acp_complete(started(acp_copy(scratch + 16, ga, size, ACP_HANDLE_NULL)));
    int value = local[16];
    CHECK(size == (size_t)(1 + value % 3) && local[16 + size - 1] == value);
    return value;
}

static int compare(const acp_element_t one, const acp_element_t other)
{
    return value_at(one.ga, one.size) - value_at(other.ga, other.size);
}

static int less(const void *one, const void *other)
{
    return *(const int *)one - *(const int *)other;
}

static acp_list_it_t place(struct model *m, int at)
{
    if (number(2))
        return acp_advance_list_it(acp_begin_list(m->list), at);
    return acp_advance_list_it(acp_end_list(m->list), at - m->count);
}

static void put(struct model *m, int at, const int *values, int count)
{
    memmove(m->values + at + count, m->values + at, (m->count - at) * sizeof(int));
    memcpy(m->values + at, values, count * sizeof(int));
    m->count += count;
}

static void take(struct model *m, int at, int count)
{
    memmove(m->values + at, m->values + at + count, (m->count - at - count) * sizeof(int));
    m->count -= count;
}

static void check(struct model *m)
{
    GIVES(m->count, acp_size_list(m->list));
    GIVES(m->count == 0, acp_empty_list(m->list));
    acp_list_it_t it = acp_begin_list(m->list), end = acp_end_list(m->list);
    GIVES(m->count, acp_distance_list_it(it, end));
    for (int i = 0; i < m->count; i++, it = acp_increment_list_it(it)) {
        acp_element_t element = acp_dereference_list_it(it);
        GIVES(m->values[i], value_at(element.ga, element.size));
    }
    CHECK(it.elem == end.elem && it.list.ga == end.list.ga);
    for (int i = m->count; i-- > 0;) {
        it = acp_decrement_list_it(it);
        acp_element_t element = acp_dereference_list_it(it);
        GIVES(m->values[i], value_at(element.ga, element.size));
    }
}

static void one_list(struct model *m)
{
    int value = number(9), at = number(m->count + 1), count = number(m->count - at + 1);
    acp_list_it_t it;
    switch (number(11)) {
    case 0: acp_push_back_list(m->list, element_of(value), number(procs)); put(m, m->count, &value, 1); break;
    case 1: acp_push_front_list(m->list, element_of(value), number(procs)); put(m, 0, &value, 1); break;
    case 2:
        it = acp_insert_list(place(m, at), element_of(value), number(procs));
        put(m, at, &value, 1);
        GIVES(at, acp_distance_list_it(acp_begin_list(m->list), it));
        break;
    case 3:
        if (at < m->count) {
            it = acp_erase_list(place(m, at));
            take(m, at, 1);
            GIVES(at, acp_distance_list_it(acp_begin_list(m->list), it));
        }
        break;
    case 4: acp_erase_range_list(place(m, at), place(m, at + count / 3)); take(m, at, count / 3); break;
    case 5: acp_pop_back_list(m->list); if (m->count) take(m, m->count - 1, 1); break;
    case 6: acp_pop_front_list(m->list); if (m->count) take(m, 0, 1); break;
    case 7:
        if (number(8) == 0) {
            acp_remove_list(m->list, element_of(value));
            for (int i = m->count; i-- > 0;)
                if (m->values[i] == value)
                    take(m, i, 1);
        }
        break;
    case 8:
        acp_reverse_list(m->list);
        for (int i = 0; i < m->count / 2; i++) {
            int kept = m->values[i];
            m->values[i] = m->values[m->count - 1 - i];
            m->values[m->count - 1 - i] = kept;
        }
        break;
    case 9:
        acp_unique_list(m->list);
        for (int i = m->count; i-- > 1;)
            if (m->values[i] == m->values[i - 1])
                take(m, i, 1);
        break;
    default:
        acp_sort_list(m->list, compare);
        qsort(m->values, m->count, sizeof(int), less);
    }
}

static void two_lists(struct model *m, struct model *other)
{
    int at = number(m->count + 1), from = number(other->count + 1), count = number(other->count - from + 1);
    int values[3 * MOST];
    memcpy(values, other->values + from, count * sizeof(int));
    switch (number(6)) {
    case 0:
        if (number(4) == 0) {
            acp_assign_list(m->list, other->list);
            m->count = other->count;
            memmove(m->values, other->values, sizeof m->values);
        }
        break;
    case 1:
        acp_assign_range_list(m->list, place(other, from), place(other, from + count));
        m->count = 0;
        put(m, 0, values, count);
        break;
    case 2:
        if (m->count + count <= MOST) {
            acp_insert_range_list(place(m, at), place(other, from), place(other, from + count));
            put(m, at, values, count);
        }
        break;
    case 3:
        if (m == other) {
            at = number(m->count + 1);
            if (at > from && at < from + count)
                return;
        } else if (m->count + count > MOST) {
            return;
        }
        acp_splice_range_list(place(m, at), place(other, from), place(other, from + count));
        take(other, from, count);
        put(m, m == other && at >= from + count ? at - count : at, values, count);
        break;
    case 4:
        acp_swap_list(m->list, other->list);
        if (m != other) {
            acp_list_t one = m->list, two = other->list;
            struct model kept = *m;
            *m = *other;
            *other = kept;
            m->list = one;
            other->list = two;
        }
        break;
    default:
        if (m != other && m->count + other->count <= MOST) {
            acp_sort_list(m->list, compare);
            acp_sort_list(other->list, compare);
            acp_merge_list(m->list, other->list, compare);
            put(m, m->count, other->values, other->count);
            other->count = 0;
            qsort(m->values, m->count, sizeof(int), less);
        }
    }
}

static void bad(void)
{
    acp_list_t null = {ACP_GA_NULL}, list = acp_create_list((me + 1) % procs);
    acp_element_t element = element_of(1);
    acp_list_it_t it = acp_insert_list(acp_end_list(list), element, me), gone = it;
    FAILS(0, EFAULT, acp_begin_list(null).elem);
    FAILS(0, EINVAL, acp_create_list(procs).ga);
    FAILS(0, EINVAL, acp_insert_list(it, element, -1).elem);
    FAILS(0, EFAULT, acp_insert_list(it, (acp_element_t){ACP_GA_NULL, 3}, me).elem);
    FAILS(0, EINVAL, acp_erase_list(acp_end_list(list)).elem);
    FAILS(0, EINVAL, acp_decrement_list_it(it).elem);
    FAILS(0, EINVAL, acp_increment_list_it(acp_end_list(list)).elem);
    acp_erase_list(it);
    FAILS(0, EINVAL, acp_erase_list(gone).elem);
    FAILS(0, EINVAL, acp_dereference_list_it(gone).ga);
    FAILS(0, EINVAL, acp_dereference_list_it(acp_end_list(list)).ga);
    *acp_errno_location() = 0;
    acp_sort_list(list, NULL);
    GIVES(EFAULT, ACP_ERRNO);
    /* An iterator stays with its list. */
    acp_list_t other = acp_create_list(me);
    it = acp_insert_list(acp_end_list(list), element, me);
    acp_splice_list(acp_end_list(other), it);
    FAILS(0, EINVAL, acp_dereference_list_it(it).ga);
    it.list = other;
    CHECK(acp_dereference_list_it(it).ga != ACP_GA_NULL);
    GIVES(0, acp_size_list(list));
    acp_destroy_list(list);
    FAILS(0, EBADF, acp_begin_list(list).elem);
    FAILS(0, EBADF, acp_size_list(list));
    acp_destroy_list(other);
}

/* A copy that can't be completed leaves nothing. */
static void copied_in_vain(void)
{
    acp_list_t from = acp_create_list(me), to = acp_create_list(me);
    acp_element_t element = {scratch, 8};
    acp_list_it_t gone = acp_insert_list(acp_end_list(to), element, me);
    acp_erase_list(gone);
    for (int i = 0; i < 2; i++)
        acp_push_back_list(from, element, me);
    acp_list_it_t first = acp_begin_list(from), end = acp_end_list(from);
    FAILS(0, EINVAL, acp_insert_range_list(gone, first, end).elem);
    GIVES(0, acp_size_list(to));

    /* There is memory for one of two. */
    acp_ga_t room = acp_malloc(40, me), taken[200];
    int count = 0;
    for (size_t size = 128 << 20; size > 0; size /= 2)
        while (count < 200 && (taken[count] = acp_malloc(size, me)) != ACP_GA_NULL)
            count++;
    CHECK(count < 200);
    acp_free(room);
    FAILS(0, ENOMEM, acp_insert_range_list(acp_end_list(to), first, end).elem);
    GIVES(0, acp_size_list(to));
    CHECK(acp_begin_list(to).elem == acp_end_list(to).elem);
    GIVES(room, acp_malloc(40, me));
    acp_free(room);
    while (count > 0)
        acp_free(taken[--count]);
    acp_destroy_list(from);
    acp_destroy_list(to);
}

int main(int argc, char **argv)
{
    join(&argc, &argv);
    scratch = starter(me) + 1024;
    local = (unsigned char *)mine() + 1024;
    random_state = 99 + me;
    for (int i = 0; i < 2; i++)
        models[i].list = acp_create_list((me + i) % procs);
    for (int round = 0; round < ROUNDS; round++) {
        struct model *m = &models[number(2)];
        if (m->count >= MOST) {
            acp_clear_list(m->list);
            m->count = 0;
        } else if (number(5)) {
            one_list(m);
        } else {
            two_lists(m, &models[number(2)]);
        }
        if (number(20) == 0 || round == ROUNDS - 1)
            for (int i = 0; i < 2; i++)
                check(&models[i]);
    }
    IN_TURN(bad());
    IN_TURN(copied_in_vain());
    for (int i = 0; i < 2; i++)
        acp_destroy_list(models[i].list);
    OK(acp_finalize());
    return 0;
}
