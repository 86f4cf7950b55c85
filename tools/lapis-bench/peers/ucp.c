/* Two forked processes over UCP, measured as lapis-perf measures Lapis. */
#include "measure.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

enum { MAX_SIZE = 64 << 20, BLOB = 8192, WINDOW = 64, MESSAGE = 1, STREAM = 2, COPY = 3, COPY_STREAM = 4 };

/* What the two exchange outside of UCP: addresses, keys, and rank 0's decisions. */
struct exchange {
    _Alignas(128) atomic_long turn[2];
    _Alignas(128) atomic_long value;
    struct {
        size_t address_length, key_length;
        uint64_t memory;
        char address[BLOB], key[BLOB];
    } of[2];
};

static struct exchange *shared;
static ucp_worker_h worker;
static ucp_ep_h peer;
static ucp_rkey_h key;
static uint64_t peer_memory;
static char *buffer, *sink;
static volatile long arrived, streamed;
static long under_way;

static void check(ucs_status_t status, const char *what) {
    if (status != UCS_OK) {
        fprintf(stderr, "ucp: %s: %s\n", what, ucs_status_string(status));
        exit(1);
    }
}

/* Both wait for each other, making progress; then rank 0's value holds. */
static long agree(int rank, long value) {
    long turn = atomic_load_explicit(&shared->turn[rank], memory_order_relaxed) + 1;
    if (rank == 0)
        atomic_store_explicit(&shared->value, value, memory_order_relaxed);
    atomic_store_explicit(&shared->turn[rank], turn, memory_order_release);
    while (atomic_load_explicit(&shared->turn[1 - rank], memory_order_acquire) < turn)
        ucp_worker_progress(worker);
    value = atomic_load_explicit(&shared->value, memory_order_relaxed);
    /* a second meeting: rank 0 may not overwrite a value that rank 1 has not read */
    atomic_store_explicit(&shared->turn[rank], turn + 1, memory_order_release);
    while (atomic_load_explicit(&shared->turn[1 - rank], memory_order_acquire) < turn + 1)
        ucp_worker_progress(worker);
    return value;
}

static void finish(ucs_status_ptr_t request, const char *what) {
    if (request == NULL)
        return;
    if (UCS_PTR_IS_ERR(request))
        check(UCS_PTR_STATUS(request), what);
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
        ucp_worker_progress(worker);
    check(ucp_request_check_status(request), what);
    ucp_request_free(request);
}

static void flush(void) {
    static const ucp_request_param_t none;
    finish(ucp_ep_flush_nbx(peer, &none), "flush");
}

static void received(void *request, ucs_status_t status, size_t length, void *data) {
    (void)length;
    check(status, "receive");
    ++*(volatile long *)data;
    ucp_request_free(request);
}

static ucs_status_t on_message(void *counter, const void *header, size_t header_length, void *data, size_t length,
                               const ucp_am_recv_param_t *param) {
    ucp_request_param_t fetch = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA};
    ucs_status_ptr_t request;
    (void)header, (void)header_length;
    if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
        ++*(volatile long *)counter;
        return UCS_OK;
    }
    fetch.cb.recv_am = received;
    fetch.user_data = counter;
    request = ucp_am_recv_data_nbx(worker, data, buffer, length, &fetch);
    if (UCS_PTR_IS_ERR(request))
        check(UCS_PTR_STATUS(request), "receive");
    if (request == NULL)
        ++*(volatile long *)counter;
    return UCS_OK;
}

/* The same with short messages stored, too. */
static ucs_status_t on_copy(void *counter, const void *header, size_t header_length, void *data, size_t length,
                            const ucp_am_recv_param_t *param) {
    if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV))
        memcpy(sink, data, length);
    return on_message(counter, header, header_length, data, length, param);
}

static void sent(void *request, ucs_status_t status, void *data) {
    (void)data;
    check(status, "send");
    under_way--;
    ucp_request_free(request);
}

static void send_message(unsigned id, long size) {
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK};
    ucs_status_ptr_t request;
    param.cb.send = sent;
    request = ucp_am_send_nbx(peer, id, NULL, 0, buffer, size, &param);
    if (UCS_PTR_IS_ERR(request))
        check(UCS_PTR_STATUS(request), "send");
    if (request != NULL)
        under_way++;
    while (under_way >= WINDOW)
        ucp_worker_progress(worker);
}

static void wait_for(volatile long *counter, long count) {
    while (*counter < count)
        ucp_worker_progress(worker);
}

static void ping_pong(int rank, long count, long size, unsigned id) {
    for (; count > 0; count--) {
        long next = arrived + 1;
        if (rank == 0)
            send_message(id, size);
        wait_for(&arrived, next);
        if (rank == 1)
            send_message(id, size);
    }
}

static void stream(int rank, long count, long size, unsigned id) {
    static long total;
    total += count;
    if (rank == 0) {
        long next = arrived + 1;
        for (; count > 0; count--)
            send_message(id, size);
        wait_for(&arrived, next);
    } else {
        wait_for(&streamed, total);
        send_message(MESSAGE, 0);
    }
    while (under_way > 0)
        ucp_worker_progress(worker);
}

static void am_lat(int r, long n, long s) { ping_pong(r, n, s, MESSAGE); }
static void am_stream(int r, long n, long s) { stream(r, n, s, STREAM); }
static void am_copy_lat(int r, long n, long s) { ping_pong(r, n, s, COPY); }
static void am_copy_stream(int r, long n, long s) { stream(r, n, s, COPY_STREAM); }

static void one_sided(int rank, long count, long size, int each, ucs_status_ptr_t (*operation)(long size)) {
    if (rank != 0)
        return; /* progress goes on in agree() */
    for (; count > 0; count--) {
        ucs_status_ptr_t request = operation(size);
        if (each) {
            finish(request, "operation");
            flush();
        } else if (UCS_PTR_IS_PTR(request)) {
            ucp_request_free(request);
            ucp_worker_progress(worker);
        } else {
            finish(request, "operation");
        }
    }
    flush();
}

static ucs_status_ptr_t put(long size) {
    static const ucp_request_param_t none;
    return ucp_put_nbx(peer, buffer, size, peer_memory, key, &none);
}

static ucs_status_ptr_t get(long size) {
    static const ucp_request_param_t none;
    return ucp_get_nbx(peer, buffer, size, peer_memory, key, &none);
}

static ucs_status_ptr_t fetch_add(long size) {
    static uint64_t one = 1, old;
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER};
    (void)size;
    param.datatype = ucp_dt_make_contig(8);
    param.reply_buffer = &old;
    return ucp_atomic_op_nbx(peer, UCP_ATOMIC_OP_ADD, &one, 1, peer_memory, key, &param);
}

static void put_each(int r, long n, long s) { one_sided(r, n, s, 1, put); }
static void put_many(int r, long n, long s) { one_sided(r, n, s, 0, put); }
static void get_each(int r, long n, long s) { one_sided(r, n, s, 1, get); }
static void get_many(int r, long n, long s) { one_sided(r, n, s, 0, get); }
static void fadd_each(int r, long n, long s) { one_sided(r, n, s, 1, fetch_add); }

static const struct bench benches[] = {
    {"am_lat", HALF_NS, am_lat, 0, MAX_SIZE, "ucp_am_send_nbx"},
    {"am_rate", MILLIONS, am_stream, 0, 4096, "ucp_am_send_nbx, 64 under way"},
    {"am_bw", GIGABYTES, am_stream, 1, MAX_SIZE, "ucp_am_send_nbx, 64 under way"},
    {"am_copy_lat", HALF_NS, am_copy_lat, 0, MAX_SIZE, "ucp_am_send_nbx, copied out"},
    {"am_copy_bw", GIGABYTES, am_copy_stream, 1, MAX_SIZE, "ucp_am_send_nbx, 64 under way, copied out"},
    {"put_lat", NS, put_each, 1, MAX_SIZE, "ucp_put_nbx, flush"},
    {"put_rate", MILLIONS, put_many, 1, 4096, "ucp_put_nbx, one flush"},
    {"put_bw", GIGABYTES, put_many, 1, MAX_SIZE, "ucp_put_nbx, one flush"},
    {"get_lat", NS, get_each, 1, MAX_SIZE, "ucp_get_nbx, flush"},
    {"get_bw", GIGABYTES, get_many, 1, MAX_SIZE, "ucp_get_nbx, one flush"},
    {"fadd", NS, fadd_each, 8, 8, "ucp_atomic_op_nbx, flush"},
};

static void set_handler(unsigned id, ucp_am_recv_callback_t call, volatile long *counter) {
    ucp_am_handler_param_t handler = {0};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = id;
    handler.cb = call;
    handler.arg = (void *)counter;
    check(ucp_worker_set_am_recv_handler(worker, &handler), "handler");
}

static void publish(const void *from, size_t length, char *to, size_t *to_length, const char *what) {
    if (length > BLOB) {
        fprintf(stderr, "ucp: %s of %zu bytes, room for %d\n", what, length, BLOB);
        exit(1);
    }
    memcpy(to, from, length);
    *to_length = length;
}

static void connect_to_peer(int rank, ucp_context_h context) {
    ucp_worker_params_t single = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE, .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucp_mem_map_params_t map = {0};
    ucp_mem_attr_t where = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
    ucp_ep_params_t to = {0};
    ucp_address_t *address;
    ucp_mem_h memory;
    size_t length;
    void *packed;
    check(ucp_worker_create(context, &single, &worker), "worker");
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
    map.length = MAX_SIZE;
    map.flags = UCP_MEM_MAP_ALLOCATE;
    check(ucp_mem_map(context, &map, &memory), "memory");
    check(ucp_mem_query(memory, &where), "memory");
    memset(where.address, 0, MAX_SIZE);
    shared->of[rank].memory = (uint64_t)(uintptr_t)where.address;
    check(ucp_rkey_pack(context, memory, &packed, &length), "key");
    publish(packed, length, shared->of[rank].key, &shared->of[rank].key_length, "key");
    check(ucp_worker_get_address(worker, &address, &length), "address");
    publish(address, length, shared->of[rank].address, &shared->of[rank].address_length, "address");
    set_handler(MESSAGE, on_message, &arrived);
    set_handler(STREAM, on_message, &streamed);
    set_handler(COPY, on_copy, &arrived);
    set_handler(COPY_STREAM, on_copy, &streamed);
    agree(rank, 0);
    to.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    to.address = (const ucp_address_t *)shared->of[1 - rank].address;
    check(ucp_ep_create(worker, &to, &peer), "endpoint");
    check(ucp_ep_rkey_unpack(peer, shared->of[1 - rank].key, &key), "key");
    peer_memory = shared->of[1 - rank].memory;
}

int main(int argc, char **argv) {
    struct arguments a = read_arguments(argc, argv);
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                           .features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO64};
    ucp_context_h context;
    pid_t child;
    int rank, status = 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || (child = fork()) < 0) {
        perror("ucp");
        return 1;
    }
    rank = child == 0;
    alarm(120);
    if (rank == 1)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin_to(rank);
    buffer = written_memory(MAX_SIZE);
    sink = written_memory(MAX_SIZE);
    check(ucp_init(&params, NULL, &context), "init");
    connect_to_peer(rank, context);
    measure_all(&a, benches, sizeof benches / sizeof *benches, rank);
    agree(rank, 0);
    fflush(stdout);
    if (rank == 1) /* closing down is not measured; two processes that only end need no orderly close */
        _exit(0);
    waitpid(child, &status, 0);
    return status != 0;
}
