/* LAPI_Init must give the code that is the first argument. Others say what is to be in its way. */
//= LAPI Guide, Setting environment variables, MP_MSG_API=mpi does not provide for LAPI
//= LAPI Guide, LAPI_Init, LAPI_ERR_NO_UDP_HNDLR
//= LAPI Guide, Standalone initialization, a user handler wins over a user list
//= LAPI Guide, LAPI_Init, LAPI_ERR_SHM_KE_NOT_LOADED and LAPI_ERR_SHM_SETUP
//= type=test
#define _GNU_SOURCE
#include "../programs/check.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static int calls;

static int failing(lapi_handle_t *h, lapi_udp_t *local, lapi_udp_t *list, lapi_udpinfo_t *about)
{
    (void)h, (void)local;
    CHECK(list != NULL && (about->num_tasks == 1 || about->num_tasks == 2) && about->task_id == 0);
    calls++;
    return 5;
}

static void filter(struct sock_filter *code, unsigned short len)
{
    struct sock_fprog program = {len, code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* No UDP sockets from now on. */
static void without_datagrams(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 6),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 15),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_DGRAM, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    filter(code, sizeof code / sizeof *code);
}

/* Nothing that tasks could share. */
static void without_memory(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    filter(code, sizeof code / sizeof *code);
}

int main(int argc, char **argv)
{
    lapi_info_t info;
    lapi_extend_t extend;
    lapi_udp_t list[2];
    CHECK(argc >= 2);
    memset(&info, 0, sizeof info);
    memset(&extend, 0, sizeof extend);
    memset(list, 0, sizeof list);
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "persistent") == 0)
            info.adapter_name = "ml0";
        if (strcmp(argv[i], "nobody") == 0)
            CHECK(setuid(65534) == 0);
        if (strcmp(argv[i], "without-datagrams") == 0)
            without_datagrams();
        if (strcmp(argv[i], "without-memory") == 0)
            without_memory();
        /* A network of its own, in which nothing is up. */
        if (strcmp(argv[i], "unplugged") == 0)
            CHECK(unshare(CLONE_NEWNET) == 0);
        if (strcmp(argv[i], "extend") == 0)
            info.add_info = &extend;
        /* A list whose length is what follows. */
        if (strncmp(argv[i], "list=", 5) == 0) {
            extend.add_udp_addrs = list;
            extend.num_udp_addr = atoi(argv[i] + 5);
        }
        if (strncmp(argv[i], "instance=", 9) == 0)
            info.instance_no = atoi(argv[i] + 9);
        if (strcmp(argv[i], "handler") == 0) {
            extend.udp_hndlr = failing;
            extend.add_udp_addrs = list;
        }
    }
    GIVES(atoi(argv[1]), LAPI_Init(&hndl, &info));
    /* It is not asked about addresses that its structures have no room for, nor where none are needed. */
    CHECK(calls == (atoi(argv[1]) == LAPI_ERR_USER_UDP_HNDLR_FAIL));
    if (atoi(argv[1]) == LAPI_SUCCESS && info.adapter_name) {
        void *table[1];
        lapi_long_t table64[1];
        GIVES(LAPI_ERR_COLLECTIVE_PSS, LAPI_Address_init(hndl, NULL, table));
        GIVES(LAPI_ERR_COLLECTIVE_PSS, LAPI_Address_init64(hndl, 0, table64));
    }
    return 0;
}
