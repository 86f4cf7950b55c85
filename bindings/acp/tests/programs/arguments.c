/*
 * Errors say which argument of which call is wrong. The lines that are expected follow each call, from `says:` on.
 * tasks: 1
 */
#include "acheck.h"

static const acp_element_t none = {ACP_GA_NULL, 8};

/* In the order of the calls, as the lines must come. */
static void sequences(acp_vector_t vector, acp_ga_t ga, acp_ga_t gone);
static void hashed(acp_ga_t ga, acp_ga_t gone);
static void buffers(void *memory, acp_ga_t gone);
static void ends(void);

int main(int argc, char **argv)
{
    join(&argc, &argv);
    static uint64_t memory[8];
    acp_atkey_t key;
    acp_ga_t ga = registered(memory, sizeof memory, &key), gone = ga;
    OK(acp_unregister_memory(key));
    ga = registered(memory, sizeof memory, &key);
    printf("gone %#llx ga %#llx\n", (unsigned long long)gone, (unsigned long long)ga);
    acp_register_memory(NULL, 8, 0);        /* says: acp_register_memory: addr 0x0: a null pointer */
    acp_register_memory(memory, 0, 0);      /* says: acp_register_memory: size 0: a size that is not possible */
    acp_register_memory(memory, 8, 7);      /* says: acp_register_memory: color 7: a colour outside */
    acp_unregister_memory(ga + 1);          /* says: acp_unregister_memory: atkey GA+1: no address translation key */
    acp_query_ga(key, memory + 8);          /* says: acp_query_ga: addr ADDR: no registered memory */
    acp_query_ga(12, memory);               /* says: acp_query_ga: atkey 0xc: no address translation key */
    acp_query_starter_ga(1);                /* says: acp_query_starter_ga: rank 1: a rank outside of the job */
    acp_query_starter_ga(-3);               /* says: acp_query_starter_ga: rank -3: a rank outside of the job */
    acp_query_rank(ACP_GA_NULL);            /* says: acp_query_rank: ga 0x0: a null pointer or null global address */
    acp_query_address(gone);                /* says: acp_query_address: ga GONE: no registered memory */
    acp_malloc(8, 4);                       /* says: acp_malloc: rank 4: a rank outside of the job */
    acp_malloc((size_t)1 << 40, 0);         /* says: acp_malloc: size 1099511627776: no memory or address space left */
    acp_ga_t block = acp_malloc(8, 0), empty = acp_malloc(0, 0);
    CHECK(block != ACP_GA_NULL && empty != ACP_GA_NULL && block != empty);
    acp_free(empty);
    acp_free(block + 8);                    /* says: acp_free: ga 0x */
    acp_free(block);
    acp_free(block);                        /* says: acp_free: ga 0x */
    acp_free(starter(0));                   /* says: acp_free: ga STARTER: no registered memory */
    acp_copy(gone, ga, 8, ACP_HANDLE_NULL); /* says: acp_copy: dst GONE: no registered memory */
    acp_copy(ga, gone, 8, ACP_HANDLE_NULL); /* says: acp_copy: src GONE: no registered memory */
    acp_copy(ga, starter(0), 65, ACP_HANDLE_NULL);  /* says: acp_copy: dst GA: no registered memory at the global address, or less */
    acp_copy(ACP_GA_NULL, ga, 8, ACP_HANDLE_NULL);  /* says: acp_copy: dst 0x0: a null pointer or null global address */
    acp_add8(ga, ga + 4, 1, ACP_HANDLE_NULL);       /* says: acp_add8: src GA+4: an atomic operation at an address */
    acp_swap4(ga + 2, ga, 1, ACP_HANDLE_NULL);      /* says: acp_swap4: dst GA+2: an atomic operation at an address */
    acp_cas8(gone, ga, 1, 2, ACP_HANDLE_NULL);      /* says: acp_cas8: dst GONE: no registered memory */
    acp_create_ch(0, 1);                    /* says: acp_create_ch: receiver 1: a rank outside of the job */
    acp_create_ch(-1, 0);                   /* says: acp_create_ch: sender -1: a rank outside of the job */
    acp_create_ch(0, 0);                    /* says: acp_create_ch: receiver 0: both ends would be this process's */
    acp_free_ch((acp_ch_t)0x77);            /* says: acp_free_ch: ch 0x77: no channel of this process */
    acp_nbsend_ch((acp_ch_t)0x77, memory, 8);       /* says: acp_nbsend_ch: ch 0x77: no channel of this process */
    acp_nbrecv_ch((acp_ch_t)0x77, NULL, 8);         /* says: acp_nbrecv_ch: buf 0x0: a null pointer */
    acp_wait_ch((acp_request_t)0x88);       /* says: acp_wait_ch: request 0x88: no request */
    acp_create_vector(1, 1, 2);             /* says: acp_create_vector: rank 2: a rank outside of the job */
    acp_vector_t vector = acp_create_vector(1, 1, 0);
    acp_swap_vector(vector, starter(0));    /* says: acp_swap_vector: the structure's address STARTER: no structure of this kind */
    acp_swap_vector(starter(0), vector);    /* says: acp_swap_vector: the structure's address STARTER: no structure of this kind */
    acp_begin_list(ACP_LIST_NULL);          /* says: acp_begin_list: the structure's address 0x0: a null pointer */
    acp_list_t list = acp_create_list(4, 0);
    acp_insert_list(list, 4711, memory, 0); /* says: acp_insert_list: it 4711: an iterator of another structure */
    acp_insert_list(list, acp_end_list(list), NULL, 0);     /* says: acp_insert_list: ptr 0x0: a null pointer */
    acp_push_back_list(list, NULL, 0);      /* says: acp_push_back_list: ptr 0x0: a null pointer */
    acp_push_back_list(list, memory, 3);    /* says: acp_push_back_list: rank 3: a rank outside of the job */
    acp_create_list(0, 0);                  /* says: acp_create_list: elsize 0: a size that is not possible */
    acp_increment_list(NULL);               /* says: acp_increment_list: list 0x0: a null pointer */
    acp_sort_list(list, NULL);              /* says: acp_sort_list: comp 0x0: a null pointer */
    acp_remove_list(list, none);            /* says: acp_remove_list: the element's address 0x0: a null pointer */
    sequences(vector, ga, gone);
    hashed(ga, gone);
    buffers(memory, gone);
    ends();
    printf("starter %#llx addr %#llx\n", (unsigned long long)starter(0), (unsigned long long)(uintptr_t)(memory + 8));
    OK(acp_finalize());
    return 0;
}

static void sequences(acp_vector_t vector, acp_ga_t ga, acp_ga_t gone)
{
    size_t huge = (size_t)1 << 40;
    acp_create_vector(1, 0, 0);             /* says: acp_create_vector: size 0: a size that is not possible */
    acp_create_vector(huge, huge, 0);       /* says: acp_create_vector: nelem 1099511627776: a size that is not possible */
    acp_duplicate_vector(vector, -1);       /* says: acp_duplicate_vector: rank -1: a rank outside of the job */
    acp_at_vector(vector, 1);               /* says: acp_at_vector: index 1: an iterator of another structure */
    acp_at_vector(vector, -1);              /* says: acp_at_vector: index -1: an iterator of another structure */
    acp_push_back_vector(vector, gone, 8);  /* says: acp_push_back_vector: ga GONE: no registered memory */
    acp_push_back_vector(vector, 0, 8);     /* says: acp_push_back_vector: ga 0x0: a null pointer */
    acp_push_back_vector(vector, ga, huge); /* says: acp_push_back_vector: size 1099511627776: no memory */
    acp_reserve_vector(vector, huge);       /* says: acp_reserve_vector: size 1099511627776: no memory */
    acp_create_deque(huge, 0);              /* says: acp_create_deque: size 1099511627776: no memory */
    acp_create_deque(8, 1);                 /* says: acp_create_deque: rank 1: a rank outside of the job */
    acp_deque_t deque = acp_create_deque(8, 0), other = acp_create_deque(8, 0);
    acp_deque_it_t it = acp_begin_deque(deque), end = acp_end_deque(deque), theirs = acp_end_deque(other);
    acp_insert_deque(it, gone, 8);          /* says: acp_insert_deque: ga GONE: no registered memory */
    acp_push_front_deque(deque, 0, 8);      /* says: acp_push_front_deque: ga 0x0: a null pointer */
    acp_erase_range_deque(end, it);         /* says: acp_erase_range_deque: the second iterator's index 0: an iterator */
    acp_erase_range_deque(it, theirs);      /* says: acp_erase_range_deque: the second iterator's structure 0x */
    acp_distance_deque_it(it, theirs);      /* says: acp_distance_deque_it: the second iterator's structure 0x */
    acp_advance_deque_it(it, -1);           /* says: acp_advance_deque_it: n -1: an iterator of another structure */
    acp_dereference_deque_it(end, 1);       /* says: acp_dereference_deque_it: index 8: an iterator of another structure */
}

static void hashed(acp_ga_t ga, acp_ga_t gone)
{
    int some[] = {0, 5};
    acp_create_set(0, some, 1, 0);          /* says: acp_create_set: num_ranks 0: a size that is not possible */
    acp_create_set(1, NULL, 1, 0);          /* says: acp_create_set: ranks 0x0: a null pointer */
    acp_create_set(2, some, 1, 0);          /* says: acp_create_set: ranks 5: a rank outside of the job */
    acp_create_set(1, some, -4, 0);         /* says: acp_create_set: num_slots -4: a size that is not possible */
    acp_create_set(1, some, 1, 9);          /* says: acp_create_set: rank 9: a rank outside of the job */
    acp_set_t set = acp_create_set(1, some, 4, 0);
    acp_map_t map = acp_create_map(1, some, 4, 0), wrong = map;
    acp_element_t key = {ga, 8}, empty = {ga, 0}, lost = {gone, 8};
    acp_pair_t pair = {key, lost};
    acp_insert_set(set, empty);             /* says: acp_insert_set: the key's size 0: a size that is not possible */
    acp_insert_set(set, lost);              /* says: acp_insert_set: the key's address GONE: no registered memory */
    acp_find_map(map, none);                /* says: acp_find_map: the key's address 0x0: a null pointer */
    acp_insert_map(map, pair);              /* says: acp_insert_map: the value's address GONE: no registered memory */
    wrong.num_slots = 5;
    acp_insert_map(wrong, pair);            /* says: acp_insert_map: the value's address GONE: no registered memory */
    pair.second = key;
    acp_insert_map(wrong, pair);            /* says: acp_insert_map: the structure's num_slots 5: no structure */
    wrong.num_slots = 4;
    wrong.num_ranks = 2;
    acp_size_map(wrong);                    /* says: acp_size_map: the structure's num_ranks 2: no structure */
    acp_increment_set_it(acp_end_set(set)); /* says: acp_increment_set_it: the iterator's element 0x0: an iterator */
    acp_dereference_map_it(acp_end_map(map));       /* says: acp_dereference_map_it: the iterator's element 0x0: an iterator */
    acp_destroy_set(set);
    acp_collapse_set(set);                  /* says: acp_collapse_set: the structure's address 0x */
}

static void buffers(void *memory, acp_ga_t gone)
{
    acp_segbuf_t never = (acp_segbuf_t)0x99;
    acp_create_src_segbuf(1, memory, 8, 1); /* says: acp_create_src_segbuf: dst_rank 1: a rank outside of the job */
    acp_create_dst_segbuf(0, memory, 8, 1); /* says: acp_create_dst_segbuf: src_rank 0: both ends would be this process's */
    acp_connect_segbuf(never);              /* says: acp_connect_segbuf: segbuf 0x99: no segmented buffer */
    acp_isready_segbuf(never);              /* says: acp_isready_segbuf: segbuf 0x99: no segmented buffer */
    acp_query_segbuf_head(never);           /* says: acp_query_segbuf_head: segbuf 0x99: no segmented buffer */
    acp_free_segbuf(never);                 /* says: acp_free_segbuf: segbuf 0x99: no segmented buffer */
    acp_setparams_ws(1, 8);                 /* says: acp_setparams_ws: proc_start 1: a rank outside of the job */
    acp_setparams_ws(0, 0);                 /* says: acp_setparams_ws: size_default 0: a size that is not possible */
    acp_create_ws(0);                       /* says: acp_create_ws: size 0: a size that is not possible */
    acp_wsd_t WSD = acp_create_ws(64);
    acp_read_ws(WSD, gone, 8, 0);           /* says: acp_read_ws: ga GONE: no registered memory */
    acp_write_ws(WSD, gone, 8, 60);         /* says: acp_write_ws: size 8: a size that is not possible */
    acp_write_ws(WSD, gone, 0, 65);         /* says: acp_write_ws: offset 65: a size that is not possible */
    acp_destroy_ws((acp_wsd_t)0xaa);        /* says: acp_destroy_ws: WSD 0xaa: no structure */
}

static void ends(void)
{
    acp_reset(1);                           /* says: acp_reset: rank 1: a rank outside of the job */
    /* An argument that an earlier call was blamed for is not this one's. */
    acp_init(NULL, NULL);                   /* says: acp_init: acp_init was called before */
}
