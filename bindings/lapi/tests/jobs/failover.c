/* Says when it is ready, and serves until a file appears. What an argument names is not to be had. */
//= LAPI Guide, table 33, attention messages
//= type=test
#include "../programs/check.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* No sockets of this family and with this flag in their type from now on. */
static void without(unsigned family, unsigned flag)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, family, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flag, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    /* The list of interfaces comes over a socket that blocks, the news of links over one that does not. */
    if (strcmp(argv[2], "news") == 0)
        without(AF_NETLINK, SOCK_NONBLOCK);
    if (strcmp(argv[2], "ipv6") == 0)
        without(AF_INET6, SOCK_DGRAM);
    start();
    OK(LAPI_Gfence(hndl));
    puts("ready");
    fflush(stdout);
    while (access(argv[1], F_OK) != 0) {
        OK(LAPI_Probe(hndl));
        usleep(1000);
    }
    finish();
    puts("done");
    return 0;
}
