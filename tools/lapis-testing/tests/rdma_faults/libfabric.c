/*
 * libfabric with faults: loaded in libfabric's place, it hands every call on to the real one, whose
 * path is REAL, and has chosen calls fail.
 *
 * LAPIS_TEST_FAULTS is a list of [TASK/]WHAT[@RAIL]:FROM:COUNT:ERROR[:TO], separated by commas. The
 * COUNT calls of the kind WHAT from number FROM on (the first one is 1; COUNT 0 means all) fail with
 * that error. With TO only calls count whose peer was the TO-th, from 0 on, to be made known; messages
 * and transfers have peers. With RAIL only calls on that rail of the task's count, from 0 on. An entry
 * holds for the task that it names, or that LAPIS_TEST_FAULTS_TASK names, or all.
 *
 *   domain, queue, endpoint        opening one
 *   register                       a registration
 *   post                           a receive buffer
 *   greet                          injecting a header alone, of which connecting takes any number
 *   inject, send, write, read      beginning one; a message that is written to a slot is injected
 *   dead                           injecting a message, and from then on beginning anything with a peer, a
 *                                  header alone included
 *   mark                           injecting a message with most of its header beside it
 *   lose                           an injected message is taken and not sent
 *   stray                          the same of those alone that are written to slots
 *   mislay                         the same of a short put; without it, such are writes
 *   sent, moved                    a message or transfer that has ended well is said to have failed
 *   poll                           a look at the completion queue
 *   cut                            beginning anything with a peer, and for COUNT ms from then on nothing ends or
 *                                  arrives either
 *   blackout                       from beginning a write on, for all tasks that share the file of zeroes that
 *                                  LAPIS_TEST_FAULTS_SHARED names: no transfer ends, and after HOLD ms all is
 *                                  cut, for COUNT ms
 *   lone                           from when rail 0 is opened for the FROM-th time, all other rails are cut
 *   version                        no failure: libfabric says that its version is ERROR / 100 . ERROR % 100
 *
 * Each list entry says on standard error when it has its first effect.
 */
#include <dlfcn.h>
#include <fcntl.h>
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
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* HEADER: bytes of transports/rdma/src/header.rs */
enum { MOST = 8, ANYBODY = -1, ANY_RAIL = -1, HEADER = 24, HOLD = 300 };

static struct fault {
    char what[32];
    long from, count, error, to, calls, rail;
} faults[MOST];
static int fault_count;

/* Domains in their order, and endpoints and queues with the rail that they belong to. */
static void *domains[8];
static struct part {
    void *object;
    long rail;
} parts[256];
/* When cuts end, by entry. */
static long own_ends[MOST], *ends = own_ends;

/* The objects' own tables, as they were: those of one provider's objects are the same. */
static struct fi_ops_fabric fabric_ops, *real_fabric;
static struct fi_ops_domain domain_ops, *real_domain;
static struct fi_ops_mr mr_ops, *real_mr;
static struct fi_ops_msg msg_ops, *real_msg;
static struct fi_ops_rma rma_ops, *real_rma;
static struct fi_ops_cq cq_ops, *real_cq;
static struct fi_ops_av av_ops, *real_av;
static fi_addr_t known[64];
static long known_count;
/* Transfers that have ended and are not told of yet. */
static struct held {
    void *queue;
    struct fi_cq_data_entry entry;
} held[1024];
static int held_count;
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

/* The rail of a domain, an endpoint or a queue. */
static long rail_of(const void *object) {
    long i;
    for (i = 0; i < 8; i++)
        if (domains[i] == object)
            return i;
    for (i = 0; i < 256; i++)
        if (parts[i].object == object)
            return parts[i].rail;
    return ANY_RAIL;
}

/* An object of a domain's was opened, perhaps where one was that is closed. */
static void belongs(void *object, const void *domain) {
    int i;
    for (i = 0; i < 256; i++)
        if (parts[i].object == object || parts[i].object == NULL) {
            parts[i].object = object;
            parts[i].rail = rail_of(domain);
            return;
        }
}

static void share_ends(void) {
    const char *path = getenv("LAPIS_TEST_FAULTS_SHARED");
    int file = path == NULL ? -1 : open(path, O_RDWR);
    void *memory = file < 0 ? MAP_FAILED : mmap(NULL, sizeof own_ends, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED)
        ends = memory;
    else if (path != NULL)
        abort();
}

static void read_faults(void) {
    static int done;
    const char *text = getenv("LAPIS_TEST_FAULTS"), *task = getenv("LAPIS_TEST_FAULTS_TASK");
    const char *me = getenv("LAPIS_TASK");
    if (text == NULL || done || (task != NULL && (me == NULL || strcmp(task, me) != 0)))
        return;
    done = 1;
    share_ends();
    while (fault_count < MOST) {
        struct fault *f = &faults[fault_count];
        char named[32], *what = named, *mark;
        f->to = ANYBODY;
        f->rail = ANY_RAIL;
        if (sscanf(text, "%31[^:,]:%ld:%ld:%ld:%ld", named, &f->from, &f->count, &f->error, &f->to) < 4) {
            fprintf(stderr, "faults: %s is no list of faults\n", text);
            abort();
        }
        if ((mark = strchr(what, '@')) != NULL) {
            *mark = 0;
            f->rail = atol(mark + 1);
        }
        if ((mark = strchr(what, '/')) != NULL) {
            *mark = 0;
            what = me != NULL && strcmp(named, me) == 0 ? mark + 1 : NULL;
        }
        if (what != NULL) {
            snprintf(f->what, sizeof f->what, "%s", what);
            fault_count++;
        }
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

/* The error number of calls on a rail while its cable is pulled, or 0; `counts`: whether this call may begin that. */
static int cut(const void *object, int counts) {
    long rail = rail_of(object);
    int i, error = 0;
    for (i = 0; i < fault_count; i++) {
        struct fault *f = &faults[i];
        if (strcmp(f->what, "lone") == 0 && rail != 0 && f->calls >= f->from)
            error = (int)f->error;
        if (strcmp(f->what, "blackout") == 0 && now_ms() < ends[i] && now_ms() >= ends[i] - f->count)
            error = (int)f->error;
        if (strcmp(f->what, "cut") != 0 || (f->rail != ANY_RAIL && f->rail != rail))
            continue;
        if (counts && ++f->calls == f->from && ends[i] == 0) {
            fprintf(stderr, "faults: cut %ld of process %ld begins\n", f->calls, (long)getpid());
            ends[i] = now_ms() + f->count;
        }
        if (now_ms() < ends[i])
            error = (int)f->error;
    }
    return error;
}

/* Counts writes, of which one begins a blackout. */
static void count_write(void) {
    int i;
    for (i = 0; i < fault_count; i++) {
        struct fault *f = &faults[i];
        if (strcmp(f->what, "blackout") == 0 && ++f->calls == f->from && ends[i] == 0) {
            fprintf(stderr, "faults: a blackout of process %ld begins\n", (long)getpid());
            ends[i] = now_ms() + HOLD + f->count;
        }
    }
}

/* Whether no transfer may end now. */
static int holds(void) {
    int i;
    for (i = 0; i < fault_count; i++)
        if (strcmp(faults[i].what, "blackout") == 0 && now_ms() < ends[i])
            return 1;
    return 0;
}

/* What was held of a queue: given to it, or dropped with it. Whether there was any. */
static int release(const void *queue, struct fi_cq_data_entry *entry) {
    int i, found = 0;
    for (i = 0; i < held_count && !(found && entry != NULL); i++)
        if (held[i].queue == queue) {
            if (entry != NULL)
                *entry = held[i].entry;
            held[i--] = held[--held_count];
            found = 1;
        }
    return found;
}

/* Whether a call begins something with a peer. */
static int begins(const char *what) {
    static const char *const kinds[] = {"greet", "inject", "send", "write", "read"};
    size_t i;
    for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(what, kinds[i]) == 0)
            return 1;
    return 0;
}

/* Counts a call on an object; the error number that it is to fail with, or 0. */
static int fault(const char *what, const void *object, fi_addr_t to) {
    int i, error = 0;
    for (i = 0; i < fault_count; i++) {
        struct fault *f = &faults[i];
        if (strcmp(f->what, "dead") == 0 && begins(what)) {
            if (strcmp(what, "inject") == 0 && ++f->calls == f->from)
                fprintf(stderr, "faults: process %ld is dead from message %ld on\n", (long)getpid(), f->calls);
            if (f->calls >= f->from)
                error = (int)f->error;
        }
        if (strcmp(f->what, what) != 0 || (f->rail != ANY_RAIL && f->rail != rail_of(object)))
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

/* The error number with which a call that begins something with a peer is to fail, or 0. */
static int refused(const char *what, struct fid_ep *ep, fi_addr_t to) {
    return fault(what, ep, to) ?: cut(ep, 1);
}

static ssize_t faulty_inject(struct fid_ep *ep, const void *bytes, size_t len, fi_addr_t to) {
    int greets = len <= HEADER, error = refused(greets ? "greet" : "inject", ep, to);
    if (error == 0 && !greets && fault("lose", ep, to) != 0)
        return 0;
    return error != 0 ? -error : real_msg->inject(ep, bytes, len, to);
}

/* Most of the header goes beside the message; none is a greeting. */
static ssize_t faulty_injectdata(struct fid_ep *ep, const void *bytes, size_t len, uint64_t data, fi_addr_t to) {
    int error = fault("mark", ep, to) ?: refused("inject", ep, to);
    if (error == 0 && fault("lose", ep, to) != 0)
        return 0;
    return error != 0 ? -error : real_msg->injectdata(ep, bytes, len, data, to);
}

static ssize_t faulty_send(struct fid_ep *ep, const void *bytes, size_t len, void *desc, fi_addr_t to, void *context) {
    int error = refused("send", ep, to);
    return error != 0 ? -error : real_msg->send(ep, bytes, len, desc, to, context);
}

static ssize_t faulty_receive(struct fid_ep *ep, const struct fi_msg *message, uint64_t flags) {
    int error = fault("post", ep, FI_ADDR_UNSPEC);
    return error != 0 ? -error : real_msg->recvmsg(ep, message, flags);
}

/* What nobody is told the end of: short messages in slots, and, with a mark or two ranges, short puts. */
static ssize_t faulty_write_at_once(struct fid_ep *ep, const struct fi_msg_rma *message, uint64_t flags) {
    int is_put = (flags & FI_REMOTE_CQ_DATA) != 0 || message->rma_iov_count == 2;
    int error = refused(is_put ? "write" : "inject", ep, message->addr);
    if (error != 0)
        return -error;
    if (is_put ? fault("mislay", ep, message->addr) : fault("lose", ep, message->addr) || fault("stray", ep, message->addr))
        return 0;
    return real_rma->writemsg(ep, message, flags);
}

static ssize_t faulty_write(struct fid_ep *ep, const struct fi_msg_rma *message, uint64_t flags) {
    int error;
    if (message->context == NULL)
        return faulty_write_at_once(ep, message, flags);
    error = fault("write", ep, message->addr);
    count_write();
    if (error == 0)
        error = cut(ep, 1);
    return error != 0 ? -error : real_rma->writemsg(ep, message, flags);
}

static ssize_t faulty_read(struct fid_ep *ep, const struct fi_msg_rma *message, uint64_t flags) {
    int error = fault("read", ep, message->addr);
    if (error == 0)
        error = cut(ep, 1);
    return error != 0 ? -error : real_rma->readmsg(ep, message, flags);
}

static ssize_t faulty_poll(struct fid_cq *cq, void *entries, size_t count) {
    struct fi_cq_data_entry *entry = entries;
    int error;
    ssize_t n;
    /* libfabric's own look, before a sleep */
    if (count == 0)
        return real_cq->read(cq, entries, count);
    error = fault("poll", cq, FI_ADDR_UNSPEC);
    if (error != 0)
        return -error;
    if (cut(cq, 0) != 0)
        return -FI_EAGAIN;
    if (has_failed)
        return -FI_EAVAIL;
    if (fault_count == 0)
        return real_cq->read(cq, entries, count);
    n = !holds() && release(cq, entry) ? 1 : real_cq->read(cq, entries, 1);
    if (n != 1)
        return n;
    if ((entry->flags & FI_RMA) && holds() && held_count < 1024) {
        held[held_count].queue = cq;
        held[held_count++].entry = *entry;
        return -FI_EAGAIN;
    }
    if (entry->flags & FI_RMA)
        error = fault("moved", cq, FI_ADDR_UNSPEC);
    else if (entry->flags & FI_SEND)
        error = fault("sent", cq, FI_ADDR_UNSPEC);
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
    int error = fault("register", fid, FI_ADDR_UNSPEC);
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
    int error = fault("queue", domain, FI_ADDR_UNSPEC);
    if (error == 0)
        error = -real_domain->cq_open(domain, attr, cq, context);
    if (error == 0) {
        belongs(*cq, domain);
        release(*cq, NULL);
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
    int i, error = fault("endpoint", domain, FI_ADDR_UNSPEC);
    for (i = 0; i < fault_count; i++)
        if (strcmp(faults[i].what, "lone") == 0 && rail_of(domain) == 0 && ++faults[i].calls == faults[i].from)
            fprintf(stderr, "faults: rail 0 of process %ld is alone\n", (long)getpid());
    if (error == 0)
        error = -real_domain->endpoint(domain, info, ep, context);
    if (error == 0) {
        belongs(*ep, domain);
        REPLACE((*ep)->msg, msg_ops, real_msg);
        msg_ops.inject = faulty_inject;
        msg_ops.injectdata = faulty_injectdata;
        msg_ops.send = faulty_send;
        msg_ops.recvmsg = faulty_receive;
        REPLACE((*ep)->rma, rma_ops, real_rma);
        rma_ops.writemsg = faulty_write;
        rma_ops.readmsg = faulty_read;
    }
    return -error;
}

static int faulty_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void *context) {
    int error = fault("domain", fabric, FI_ADDR_UNSPEC);
    if (error == 0)
        error = -real_fabric->domain(fabric, info, domain, context);
    if (error == 0) {
        static int count;
        if (count < 8)
            domains[count++] = *domain;
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
    uint32_t (*call)(void) = real("fi_version"), version = call();
    int i;
    read_faults();
    for (i = 0; i < fault_count; i++)
        if (strcmp(faults[i].what, "version") == 0) {
            version = FI_VERSION((uint32_t)faults[i].error / 100, (uint32_t)faults[i].error % 100);
            fprintf(stderr, "faults: libfabric is said to be %u.%u\n", FI_MAJOR(version), FI_MINOR(version));
        }
    return version;
}
