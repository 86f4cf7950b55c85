/*
 * Errors say which argument of which call is wrong. The lines that are expected follow each call, from `says:` on.
 * tasks: 1
 */
#include "acheck.h"

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
    /* An argument that an earlier call was blamed for is not this one's. */
    acp_init(NULL, NULL);                   /* says: acp_init: acp_init was called before */
    printf("starter %#llx addr %#llx\n", (unsigned long long)starter(0), (unsigned long long)(uintptr_t)(memory + 8));
    OK(acp_finalize());
    return 0;
}
