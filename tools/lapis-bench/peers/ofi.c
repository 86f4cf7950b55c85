/* Two forked processes over libfabric's messages, writes and reads, measured as lapis-perf measures Lapis. TRANSPORT is
 * the provider.
 */
#include "measure.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_SIZE = 4 << 20, NAME = 512, WINDOW = 64, RECEIVES = 64 };

/* What the two exchange outside of libfabric: names, and rank 0's decisions. */
struct exchange {
    _Alignas(128) atomic_long turn[2];
    _Alignas(128) atomic_long value;
    char name[2][NAME];
    uint64_t address[2], key[2]; /* of the memory that the other one writes and reads */
};

static struct exchange *shared;
static int me;
static struct fi_info *info;
static struct fid_ep *endpoint;
static struct fid_cq *queue;
static fi_addr_t peer;
static char *out, *in;
static struct fi_context2 receives[RECEIVES], sends[WINDOW];
static int unused[WINDOW], unused_count;
static long arrived, expected;
static struct fid_mr *window;

static void check(long result, const char *what) {
    if (result < 0) {
        fprintf(stderr, "libfabric: %s: %s\n", what, fi_strerror((int)-result));
        exit(1);
    }
}

static void progress(void);

static void post(int at) {
    ssize_t result;
    while ((result = fi_recv(endpoint, in, MAX_SIZE, NULL, FI_ADDR_UNSPEC, &receives[at])) == -FI_EAGAIN)
        progress();
    check(result, "receive");
}

static void progress(void) {
    struct fi_cq_entry done[16];
    ssize_t i, n = fi_cq_read(queue, done, 16);
    if (n == -FI_EAGAIN)
        return;
    if (n == -FI_EAVAIL) {
        struct fi_cq_err_entry error = {0};
        check(fi_cq_readerr(queue, &error, 0), "completions");
        check(-error.err, "operation");
    }
    check(n, "completions");
    for (i = 0; i < n; i++) {
        struct fi_context2 *which = done[i].op_context;
        if (which >= receives && which < receives + RECEIVES) {
            arrived++;
            post((int)(which - receives));
        } else {
            unused[unused_count++] = (int)(which - sends);
        }
    }
}

/* Both wait for each other, making progress; then rank 0's value holds. */
static long agree(int rank, long value) {
    int meeting;
    if (rank == 0)
        atomic_store_explicit(&shared->value, value, memory_order_relaxed);
    /* the second time: rank 0 may not overwrite a value that rank 1 has not read */
    for (meeting = 0; meeting < 2; meeting++) {
        long turn = atomic_load_explicit(&shared->turn[rank], memory_order_relaxed) + 1;
        atomic_store_explicit(&shared->turn[rank], turn, memory_order_release);
        while (atomic_load_explicit(&shared->turn[1 - rank], memory_order_acquire) < turn)
            if (endpoint != NULL)
                progress();
        if (meeting == 0)
            value = atomic_load_explicit(&shared->value, memory_order_relaxed);
    }
    return value;
}

static void send_message(long size) {
    ssize_t result;
    if ((size_t)size <= info->tx_attr->inject_size) {
        while ((result = fi_inject(endpoint, out, size, peer)) == -FI_EAGAIN)
            progress();
    } else {
        int at;
        while (unused_count == 0)
            progress();
        at = unused[--unused_count];
        while ((result = fi_send(endpoint, out, size, NULL, peer, &sends[at])) == -FI_EAGAIN)
            progress();
    }
    check(result, "send");
}

static void await(long count) {
    expected += count;
    while (arrived < expected)
        progress();
}

static void am_lat(int rank, long count, long size) {
    for (; count > 0; count--) {
        if (rank == 0)
            send_message(size);
        await(1);
        if (rank == 1)
            send_message(size);
    }
}

static void am_stream(int rank, long count, long size) {
    if (rank == 0) {
        for (; count > 0; count--)
            send_message(size);
        await(1);
    } else {
        await(count);
        send_message(1);
    }
    while (unused_count < WINDOW)
        progress();
}

/* Starts a write of rank 1's memory that ends when it is there, or a read. */
static void start(int is_write, long size) {
    struct iovec here = {.iov_base = is_write ? out : in, .iov_len = size};
    struct fi_rma_iov there = {.addr = shared->address[1], .len = size, .key = shared->key[1]};
    struct fi_msg_rma message = {
        .msg_iov = &here, .iov_count = 1, .addr = peer, .rma_iov = &there, .rma_iov_count = 1};
    ssize_t result;
    while (unused_count == 0)
        progress();
    message.context = &sends[unused[--unused_count]];
    while ((result = is_write ? fi_writemsg(endpoint, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE)
                              : fi_readmsg(endpoint, &message, FI_COMPLETION)) == -FI_EAGAIN)
        progress();
    check(result, is_write ? "write" : "read");
}

/* Rank 0 has so many transfers under way at a time; rank 1 makes progress until it is told that all are over. */
static void transfers(int rank, long count, long size, int is_write, int at_a_time) {
    if (rank == 1) {
        await(1);
        return;
    }
    for (; count > 0; count--) {
        start(is_write, size);
        while (WINDOW - unused_count >= at_a_time)
            progress();
    }
    while (unused_count < WINDOW)
        progress();
    send_message(1);
    while (unused_count < WINDOW)
        progress();
}

/* Starts a write that nobody is told of: libfabric copies it during the call. */
static void write_word(long size) {
    ssize_t result;
    while ((result = fi_inject_write(endpoint, out, size, peer, shared->address[1 - me], shared->key[1 - me])) == -FI_EAGAIN)
        progress();
    check(result, "write");
}

static void put_each(int rank, long count, long size) {
    transfers(rank, count, size, 1, 1);
}

/* A word that one side writes and the other one sees and writes back. */
static void put_seen(int rank, long count, long size) {
    static uint64_t turn;
    volatile uint64_t *here = (volatile uint64_t *)in;
    for (; count > 0; count--) {
        turn++;
        if (rank == 1)
            while (*here != turn)
                progress();
        *(uint64_t *)out = turn;
        write_word(size);
        if (rank == 0)
            while (*here != turn)
                progress();
    }
}

static void put_many(int rank, long count, long size) {
    transfers(rank, count, size, 1, WINDOW + 1);
}

static void get_each(int rank, long count, long size) {
    transfers(rank, count, size, 0, 1);
}

static void get_many(int rank, long count, long size) {
    transfers(rank, count, size, 0, WINDOW + 1);
}

/* Messages come first: some providers have nothing else. */
enum { MESSAGES = 5 };
static const struct bench benches[] = {
    {"am_lat", HALF_NS, am_lat, 0, MAX_SIZE, "fi_send, fi_recv"},
    {"am_rate", MILLIONS, am_stream, 0, 4096, "fi_send, fi_recv, 64 under way"},
    {"am_bw", GIGABYTES, am_stream, 1, MAX_SIZE, "fi_send, fi_recv, 64 under way"},
    {"am_copy_lat", HALF_NS, am_lat, 0, MAX_SIZE, "fi_send, fi_recv"},
    {"am_copy_bw", GIGABYTES, am_stream, 1, MAX_SIZE, "fi_send, fi_recv, 64 under way"},
    {"put_lat", NS, put_each, 1, MAX_SIZE, "fi_writemsg, delivered"},
    {"put_seen", HALF_NS, put_seen, 8, 8, "fi_inject_write until the target sees it"},
    {"put_rate", MILLIONS, put_many, 1, 4096, "fi_writemsg, delivered, 64 under way"},
    {"put_bw", GIGABYTES, put_many, 1, MAX_SIZE, "fi_writemsg, delivered, 64 under way"},
    {"get_lat", NS, get_each, 1, MAX_SIZE, "fi_readmsg"},
    {"get_bw", GIGABYTES, get_many, 1, MAX_SIZE, "fi_readmsg, 64 under way"},
};

static void open_endpoint(int rank, const char *provider) {
    struct fi_info *hints = fi_allocinfo();
    struct fi_av_attr table = {.type = FI_AV_UNSPEC};
    struct fi_cq_attr completions = {.format = FI_CQ_FORMAT_CONTEXT, .size = 4096};
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *addresses;
    struct fid_ep *ready;
    /* memory that is shared has no addresses */
    const char *source = strcmp(provider, "shm") == 0 ? NULL : "127.0.0.1";
    uint64_t flags = source == NULL ? 0 : FI_SOURCE;
    size_t length = NAME;
    int i;
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    hints->fabric_attr->prov_name = strdup(provider);
    if (fi_getinfo(FI_VERSION(1, 9), source, NULL, flags, hints, &info) != 0) {
        hints->caps = FI_MSG;
        hints->tx_attr->op_flags = 0;
        check(fi_getinfo(FI_VERSION(1, 9), source, NULL, flags, hints, &info), "provider");
    }
    info->tx_attr->op_flags = 0; /* messages need not be delivered to have been sent */
    check(fi_fabric(info->fabric_attr, &fabric, NULL), "fabric");
    check(fi_domain(fabric, info, &domain, NULL), "domain");
    check(fi_av_open(domain, &table, &addresses, NULL), "addresses");
    check(fi_cq_open(domain, &completions, &queue, NULL), "completion queue");
    check(fi_endpoint(domain, info, &ready, NULL), "endpoint");
    check(fi_ep_bind(ready, &addresses->fid, 0), "binding addresses");
    check(fi_ep_bind(ready, &queue->fid, FI_TRANSMIT | FI_RECV), "binding completions");
    check(fi_enable(ready), "enabling");
    if (hints->caps & FI_RMA) {
        int by_address = (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
        check(fi_mr_reg(domain, in, MAX_SIZE, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &window, NULL), "registration");
        shared->key[rank] = fi_mr_key(window);
        shared->address[rank] = by_address ? (uint64_t)(uintptr_t)in : 0;
    }
    check(fi_getname(&ready->fid, shared->name[rank], &length), "name");
    agree(rank, 0);
    if (fi_av_insert(addresses, shared->name[1 - rank], 1, &peer, 0, NULL) != 1)
        check(-FI_EINVAL, "peer's name");
    endpoint = ready;
    for (i = 0; i < RECEIVES; i++)
        post(i);
    for (i = 0; i < WINDOW; i++)
        unused[unused_count++] = i;
}

int main(int argc, char **argv) {
    struct arguments a = read_arguments(argc, argv);
    pid_t child;
    int rank, status = 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || (child = fork()) < 0) {
        perror("libfabric");
        return 1;
    }
    rank = me = child == 0;
    alarm(120);
    if (rank == 1)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin_to(rank);
    out = written_memory(MAX_SIZE);
    in = written_memory(MAX_SIZE);
    open_endpoint(rank, a.transport);
    measure_all(&a, benches, window == NULL ? MESSAGES : sizeof benches / sizeof *benches, rank);
    agree(rank, 0);
    fflush(stdout);
    if (rank == 1) /* closing down is not measured */
        _exit(0);
    waitpid(child, &status, 0);
    return status != 0;
}
