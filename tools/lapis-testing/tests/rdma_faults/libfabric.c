/*
 * libfabric with faults: loaded in libfabric's place, it hands every call on to the real one, whose
 * path is REAL, and has chosen calls fail.
 *
 * LAPIS_TEST_FAULTS is a list of WHAT:FROM:COUNT:ERROR[:TO], separated by commas. The COUNT calls
 * of the kind WHAT from number FROM on (the first one is 1; COUNT 0 means all) fail with that error.
 * With TO only calls count whose peer was the TO-th, from 0 on, to be made known; messages and
 * transfers have peers. The list holds for the task that LAPIS_TEST_FAULTS_TASK names, or all.
 *
 *   domain, queue, endpoint        opening one
 *   register                       a registration
 *   post                           a receive buffer
 *   greet                          injecting a header alone, of which connecting takes any number
 *   inject, send, write, read      beginning one
 *   lose                           an injected message is taken and not sent
 *   sent, moved                    a message or transfer that has ended well is said to have failed
 *   poll                           a look at the completion queue
 *   cut                            beginning anything with a peer, and for COUNT ms from then on nothing ends or
 *                                  arrives either, on any rail
 *
 * Each list entry says on standard error when it has its first effect.
 */
#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* HEADER: bytes of transports/rdma/src/header.rs */
enum { MOST = 8, ANYBODY = -1, HEADER = 24 };

static struct fault {
    char what[16];
    long from, count, error, to, calls;
} faults[MOST];
static int fault_count;

/* One endpoint of each process has faults: the objects' own tables, as they were. */
static struct fi_ops_fabric fabric_ops, *real_fabric;
static struct fi_ops_domain domain_ops, *real_domain;
static struct fi_ops_mr mr_ops, *real_mr;
static struct fi_ops_msg msg_ops, *real_msg;
static struct fi_ops_rma rma_ops, *real_rma;
static struct fi_ops_cq cq_ops, *real_cq;
static struct fi_ops_av av_ops, *real_av;
static fi_addr_t known[64];
static long known_count;
/* What is said to have failed, until it is asked for. */
static struct fi_cq_err_entry failed;
static int has_failed;

static void *real(const char *name) {
    static void *library;
    void *found;
    if (library == NULL)
        library = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
    found = library == NULL ? NULL : dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "faults: %s: no %s\n", REAL, name);
        abort();
    }
    return found;
}

static void read_faults(void) {
    const char *text = getenv("LAPIS_TEST_FAULTS"), *task = getenv("LAPIS_TEST_FAULTS_TASK");
    const char *me = getenv("LAPIS_TASK");
    if (text == NULL || fault_count > 0 || (task != NULL && (me == NULL || strcmp(task, me) != 0)))
        return;
    while (fault_count < MOST) {
        struct fault *f = &faults[fault_count];
        f->to = ANYBODY;
        if (sscanf(text, "%15[a-z]:%ld:%ld:%ld:%ld", f->what, &f->from, &f->count, &f->error, &f->to) < 4) {
            fprintf(stderr, "faults: %s is no list of faults\n", text);
            abort();
        }
        fault_count++;
        if ((text = strchr(text, ',')) == NULL)
            return;
        text++;
    }
}

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The error number of calls while the cables are pulled, or 0; `counts`: whether this call may begin that. */
static int cut(int counts) {
    static long ends[MOST];
    int i, error = 0;
    for (i = 0; i < fault_count; i++) {
        struct fault *f = &faults[i];
        if (strcmp(f->what, "cut") != 0)
            continue;
        if (counts && ++f->calls == f->from) {
            fprintf(stderr, "faults: cut %ld of process %ld begins\n", f->calls, (long)getpid());
            ends[i] = now_ms() + f->count;
        }
        if (f->calls >= f->from && now_ms() < ends[i])
            error = (int)f->error;
    }
    return error;
}

/* Counts a call; the error number that it is to fail with, or 0. */
static int fault(const char *what, fi_addr_t to) {
    int i, error = 0;
    for (i = 0; i < fault_count; i++) {
        struct fault *f = &faults[i];
        if (strcmp(f->what, what) != 0)
            continue;
        if (f->to != ANYBODY && (f->to >= known_count || known[f->to] != to))
            continue;
        f->calls++;
        if (f->calls < f->from || (f->count > 0 && f->calls >= f->from + f->count))
            continue;
        if (f->calls == f->from)
            fprintf(stderr, "faults: %s %ld of process %ld fails\n", what, f->calls, (long)getpid());
        error = (int)f->error;
    }
    return error;
}

static ssize_t faulty_inject(struct fid_ep *ep, const void *bytes, size_t len, fi_addr_t to) {
    int greets = len <= HEADER, error = fault(greets ? "greet" : "inject", to);
    if (error == 0)
        error = cut(1);
    if (error != 0)
        return -error;
    if (!greets && fault("lose", to) != 0)
        return 0;
    return real_msg->inject(ep, bytes, len, to);
}

static ssize_t faulty_send(struct fid_ep *ep, const void *bytes, size_t len, void *desc, fi_addr_t to, void *context) {
    int error = fault("send", to);
    if (error == 0)
        error = cut(1);
    return error != 0 ? -error : real_msg->send(ep, bytes, len, desc, to, context);
}

static ssize_t faulty_receive(struct fid_ep *ep, const struct fi_msg *message, uint64_t flags) {
    int error = fault("post", FI_ADDR_UNSPEC);
    return error != 0 ? -error : real_msg->recvmsg(ep, message, flags);
}

static ssize_t faulty_write(struct fid_ep *ep, const struct fi_msg_rma *message, uint64_t flags) {
    int error = fault("write", message->addr);
    if (error == 0)
        error = cut(1);
    return error != 0 ? -error : real_rma->writemsg(ep, message, flags);
}

static ssize_t faulty_read(struct fid_ep *ep, const struct fi_msg_rma *message, uint64_t flags) {
    int error = fault("read", message->addr);
    if (error == 0)
        error = cut(1);
    return error != 0 ? -error : real_rma->readmsg(ep, message, flags);
}

static ssize_t faulty_poll(struct fid_cq *cq, void *entries, size_t count) {
    struct fi_cq_data_entry *entry = entries;
    int error;
    ssize_t n;
    /* libfabric's own look, before a sleep */
    if (count == 0)
        return real_cq->read(cq, entries, count);
    error = fault("poll", FI_ADDR_UNSPEC);
    if (error != 0)
        return -error;
    if (cut(0) != 0)
        return -FI_EAGAIN;
    if (has_failed)
        return -FI_EAVAIL;
    if (fault_count == 0)
        return real_cq->read(cq, entries, count);
    n = real_cq->read(cq, entries, 1);
    if (n != 1)
        return n;
    if (entry->flags & FI_RMA)
        error = fault("moved", FI_ADDR_UNSPEC);
    else if (entry->flags & FI_SEND)
        error = fault("sent", FI_ADDR_UNSPEC);
    if (error == 0)
        return 1;
    memset(&failed, 0, sizeof failed);
    failed.op_context = entry->op_context;
    failed.flags = entry->flags;
    failed.err = error;
    has_failed = 1;
    return -FI_EAVAIL;
}

static ssize_t faulty_poll_error(struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags) {
    if (!has_failed)
        return real_cq->readerr(cq, entry, flags);
    *entry = failed;
    has_failed = 0;
    return 1;
}

static int faulty_insert(struct fid_av *av, const void *address, size_t count, fi_addr_t *to, uint64_t flags, void *context) {
    int n = real_av->insert(av, address, count, to, flags, context);
    if (n == 1 && known_count < 64)
        known[known_count++] = *to;
    return n;
}

static int faulty_register(struct fid *fid, const void *at, size_t len, uint64_t access, uint64_t offset, uint64_t key,
                           uint64_t flags, struct fid_mr **mr, void *context) {
    int error = fault("register", FI_ADDR_UNSPEC);
    return error != 0 ? -error : real_mr->reg(fid, at, len, access, offset, key, flags, mr, context);
}

/* Puts a copy of a table in its place and keeps the table. */
#define REPLACE(place, table, kept)                                                                                    \
    if ((place) != &(table))                                                                                           \
    do {                                                                                                               \
        size_t copied = (place)->size < sizeof(table) ? (place)->size : sizeof(table);                                 \
        (kept) = (place);                                                                                              \
        memcpy(&(table), (place), copied);                                                                             \
        (table).size = copied;                                                                                         \
        (place) = &(table);                                                                                            \
    } while (0)

static int faulty_cq(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context) {
    int error = fault("queue", FI_ADDR_UNSPEC);
    if (error == 0)
        error = -real_domain->cq_open(domain, attr, cq, context);
    if (error == 0) {
        REPLACE((*cq)->ops, cq_ops, real_cq);
        cq_ops.read = faulty_poll;
        cq_ops.readerr = faulty_poll_error;
    }
    return -error;
}

static int faulty_av(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context) {
    int result = real_domain->av_open(domain, attr, av, context);
    if (result == 0) {
        REPLACE((*av)->ops, av_ops, real_av);
        av_ops.insert = faulty_insert;
    }
    return result;
}

static int faulty_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context) {
    int error = fault("endpoint", FI_ADDR_UNSPEC);
    if (error == 0)
        error = -real_domain->endpoint(domain, info, ep, context);
    if (error == 0) {
        REPLACE((*ep)->msg, msg_ops, real_msg);
        msg_ops.inject = faulty_inject;
        msg_ops.send = faulty_send;
        msg_ops.recvmsg = faulty_receive;
        REPLACE((*ep)->rma, rma_ops, real_rma);
        rma_ops.writemsg = faulty_write;
        rma_ops.readmsg = faulty_read;
    }
    return -error;
}

static int faulty_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void *context) {
    int error = fault("domain", FI_ADDR_UNSPEC);
    if (error == 0)
        error = -real_fabric->domain(fabric, info, domain, context);
    if (error == 0) {
        REPLACE((*domain)->ops, domain_ops, real_domain);
        domain_ops.cq_open = faulty_cq;
        domain_ops.av_open = faulty_av;
        domain_ops.endpoint = faulty_endpoint;
        REPLACE((*domain)->mr, mr_ops, real_mr);
        mr_ops.reg = faulty_register;
    }
    return -error;
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context) {
    int (*open_real)(struct fi_fabric_attr *, struct fid_fabric **, void *) = real("fi_fabric");
    int result = open_real(attr, fabric, context);
    read_faults();
    if (result == 0) {
        REPLACE((*fabric)->ops, fabric_ops, real_fabric);
        fabric_ops.domain = faulty_domain;
    }
    return result;
}

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
               struct fi_info **info) {
    int (*call)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *, struct fi_info **) =
        real("fi_getinfo");
    return call(version, node, service, flags, hints, info);
}

void fi_freeinfo(struct fi_info *info) {
    void (*call)(struct fi_info *) = real("fi_freeinfo");
    call(info);
}

struct fi_info *fi_dupinfo(const struct fi_info *info) {
    struct fi_info *(*call)(const struct fi_info *) = real("fi_dupinfo");
    return call(info);
}

const char *fi_strerror(int error) {
    const char *(*call)(int) = real("fi_strerror");
    return call(error);
}

uint32_t fi_version(void) {
    uint32_t (*call)(void) = real("fi_version");
    return call();
}
