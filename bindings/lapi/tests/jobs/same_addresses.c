/*
 * Two tasks started by hand begin and end a context several times, each time with the same UDP addresses: told in a list, then by a handler.
 * A thread still waits in each context that ends. Without shared memory one of them begins again while the other one stays,
 * which purges and resumes it.
 */
//= LAPI Guide, Standalone initialization, a user handler wins over a user list
//= type=test
#include "../programs/check.h"
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define ROUNDS 3

static lapi_udp_t addresses[2];
static lapi_cntr_t never;
static int calls, to_other;
static volatile int came;

enum { ARRIVAL = 1 };

static int tell(lapi_handle_t *h, lapi_udp_t *local, lapi_udp_t *list, lapi_udpinfo_t *about)
{
    (void)h, (void)local;
    CHECK(about->num_tasks == 2);
    memcpy(list, addresses, sizeof addresses);
    calls++;
    return 0;
}

/* Addresses that nobody uses. */
static void find_addresses(void)
{
    int sockets[2];
    for (int i = 0; i < 2; i++) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t len = sizeof at;
        sockets[i] = socket(AF_INET, SOCK_DGRAM, 0);
        CHECK(sockets[i] >= 0 && bind(sockets[i], (struct sockaddr *)&at, sizeof at) == 0);
        CHECK(getsockname(sockets[i], (struct sockaddr *)&at, &len) == 0);
        addresses[i].ip_addr = at.sin_addr.s_addr;
        addresses[i].port_no = at.sin_port;
    }
    for (int i = 0; i < 2; i++)
        close(sockets[i]);
}

/* Both have ended their contexts: who begins again earlier finds the other one's former context. */
static void meet(void)
{
    char byte = 0;
    CHECK(write(to_other, &byte, 1) == 1 && read(to_other, &byte, 1) == 1);
}

static void *wait_for_nothing(void *argument)
{
    lapi_handle_t handle = *(lapi_handle_t *)argument;
    GIVES(LAPI_ERR_HNDL_INVALID, LAPI_Waitcntr(handle, &never, 1, NULL));
    return NULL;
}

static void begin(lapi_extend_t *extend)
{
    lapi_info_t info;
    memset(&info, 0, sizeof info);
    info.add_info = extend;
    OK(LAPI_Init(&hndl, &info));
    OK(LAPI_Qenv(hndl, TASK_ID, &me));
}

static void once(lapi_extend_t *extend)
{
    pthread_t waiting;
    begin(extend);
    OK(LAPI_Setcntr(hndl, &never, 0));
    OK(LAPI_Gfence(hndl));
    CHECK(pthread_create(&waiting, NULL, wait_for_nothing, &hndl) == 0);
    /* By then it sleeps. */
    usleep(100000);
    OK(LAPI_Term(hndl));
    CHECK(pthread_join(waiting, NULL) == 0);
    /* Another program could have the address now. */
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = addresses[me].ip_addr, .sin_port = addresses[me].port_no};
    int free_again = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(free_again >= 0 && bind(free_again, (struct sockaddr *)&at, sizeof at) == 0);
    close(free_again);
    meet();
}

static void *on_arrival(lapi_handle_t *h, void *uhdr, uint *len, ulong *size, compl_hndlr_t **done, void **arg)
{
    (void)h, (void)uhdr, (void)len, (void)size, (void)arg;
    came++;
    *done = NULL;
    return NULL;
}

/* What the other task says, while LAPI goes on. */
static void hear(void)
{
    char byte;
    while (recv(to_other, &byte, 1, MSG_DONTWAIT) != 1)
        OK(LAPI_Probe(hndl));
}

static void say(void)
{
    CHECK(write(to_other, "", 1) == 1);
}

/* Task 1 begins again, and task 0 stays. */
static void one_begins_again(lapi_extend_t *extend)
{
    lapi_cntr_t answered;
    begin(extend);
    OK(LAPI_Gfence(hndl));
    if (me == 1) {
        OK(LAPI_Term(hndl));
        begin(extend);
        OK(LAPI_Addr_set(hndl, (void *)on_arrival, ARRIVAL));
        say();
        hear();
    } else {
        OK(LAPI_Addr_set(hndl, (void *)on_arrival, ARRIVAL));
        hear();
        OK(LAPI_Purge_totask(hndl, 1));
        OK(LAPI_Resume_totask(hndl, 1));
        say();
    }
    OK(LAPI_Setcntr(hndl, &answered, 0));
    OK(LAPI_Amsend(hndl, !me, (void *)ARRIVAL, NULL, 0, NULL, 0, NULL, NULL, &answered));
    OK(LAPI_Waitcntr(hndl, &answered, 1, NULL));
    while (!came)
        OK(LAPI_Probe(hndl));
    OK(LAPI_Term(hndl));
}

int main(void)
{
    char partition[32];
    int status, ends[2];
    find_addresses();
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    snprintf(partition, sizeof partition, "same-%d", getpid());
    CHECK(setenv("MP_PARTITION", partition, 1) == 0 && setenv("MP_PROCS", "2", 1) == 0);
    pid_t other = fork();
    if (other == 0)
        CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    to_other = ends[other == 0];
    close(ends[other != 0]);
    CHECK(other >= 0 && setenv("MP_CHILD", other ? "0" : "1", 1) == 0);
    for (int round = 0; round < 2 * ROUNDS; round++) {
        lapi_extend_t extend;
        memset(&extend, 0, sizeof extend);
        if (round < ROUNDS)
            extend.add_udp_addrs = addresses;
        else
            extend.udp_hndlr = tell;
        once(&extend);
    }
    CHECK(calls == ROUNDS);
    if (strcmp(getenv("LAPI_USE_SHM"), "no") == 0) {
        lapi_extend_t extend;
        memset(&extend, 0, sizeof extend);
        extend.add_udp_addrs = addresses;
        one_begins_again(&extend);
    }
    if (other) {
        CHECK(waitpid(other, &status, 0) == other && status == 0);
    }
    return 0;
}
