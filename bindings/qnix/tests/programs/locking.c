/*
 * Memory is locked while messages go on; and what several threads lock and unlock at once, some in vain, is locked as long as one of them
 * has it locked.
 * tasks: 2
 */
#define _GNU_SOURCE
#include "qcheck.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGES 64
#define THREADS 4
#define ROUNDS 300

static sem_t begins, ends;
static _Thread_local int waits, fails;

/* Stands for the system's, which the library calls: takes as long as is wanted, or gives up half-way. */
int mlock(const void *from, size_t len)
{
    if (waits) {
        sem_post(&begins);
        while (sem_wait(&ends) != 0)
            ;
    }
    int done = (int)syscall(SYS_mlock, from, fails ? len / 2 : len);
    if (!fails)
        return done;
    errno = EAGAIN;
    return -1;
}

static void *locks_slowly(void *memory)
{
    waits = 1;
    OK(qx_buffer_lock(memory, hps->page_size));
    return NULL;
}

/* Both processes do the same: neither's messages wait for what its other thread locks. */
static void messages_go_on(char *memory)
{
    int other[2] = {me[0], 1 - me[1]};
    buffer in = make(sizeof(int));
    unsigned long table[3];
    pthread_t thread;
    CHECK(sem_init(&begins, 0, 0) == 0 && sem_init(&ends, 0, 0) == 0);
    CHECK(pthread_create(&thread, NULL, locks_slowly, memory) == 0);
    while (sem_wait(&begins) != 0)
        ;
    for (int i = 0; i < 10; i++) {
        int receive = receive_of(other, 1, &in);
        short_to(other, 1, &i, sizeof i);
        GIVES((int)sizeof i, qx_poll_for_receive(receive));
        CHECK(memcmp(in.data, &i, sizeof i) == 0);
        OK(qx_buffer_translate(in.data, in.len, table));
        GIVES(QX_ERR_LOCK, qx_buffer_translate(memory, 1, table));
    }
    barrier(me[0], size);
    sem_post(&ends);
    CHECK(pthread_join(thread, NULL) == 0);
    OK(qx_buffer_translate(memory, hps->page_size, table));
    OK(qx_buffer_unlock(memory, hps->page_size));
    OK(qx_buffer_unlock(in.data, in.len));
}

/* Bytes of this process that are locked. */
static long locked(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[200];
    long kilobytes = -1;
    CHECK(status != NULL);
    while (fgets(line, sizeof line, status))
        sscanf(line, "VmLck: %ld kB", &kilobytes);
    fclose(status);
    CHECK(kilobytes >= 0);
    return kilobytes * 1024;
}

static char *arena;
static long before;
static pthread_barrier_t round_;
static struct {
    int from, pages;
} has[THREADS];

/* As much is locked as the threads have locked together. */
static void is_whole(void)
{
    char used[PAGES] = {0};
    long count = 0;
    unsigned long table[2];
    for (int i = 0; i < THREADS; i++)
        memset(used + has[i].from, 1, has[i].pages);
    for (int at = 0; at < PAGES; at++) {
        GIVES(used[at] ? QX_OK : QX_ERR_LOCK, qx_buffer_translate(arena + at * hps->page_size, hps->page_size, table));
        count += used[at];
    }
    if (locked() != before + count * hps->page_size)
        failed(__FILE__, __LINE__, "bytes are locked that should not be, or the other way round", (int)(locked() - before));
}

/* Each round locks something else and unlocks what the last one has locked, in either order. */
static void *locks_often(void *number)
{
    int self = (int)(long)number;
    unsigned any = 7u * self + 1;
    for (int round = 0; round < ROUNDS; round++) {
        int old_from = has[self].from, old_pages = has[self].pages, first;
        any = any * 1103515245u + 12345u;
        first = any >> 30 & 1;
        int from = any >> 8 & (PAGES - 1), pages = (int)(any >> 16 & 15) + 1;
        if (pages > PAGES - from)
            pages = PAGES - from;
        if (first && old_pages)
            OK(qx_buffer_unlock(arena + old_from * hps->page_size, old_pages * hps->page_size));
        fails = (any >> 28 & 3) == 0;
        if (fails)
            GIVES(QX_ERR_LOCK, qx_buffer_lock(arena + from * hps->page_size, pages * hps->page_size));
        else
            OK(qx_buffer_lock(arena + from * hps->page_size, pages * hps->page_size));
        if (!first && old_pages)
            OK(qx_buffer_unlock(arena + old_from * hps->page_size, old_pages * hps->page_size));
        has[self].from = from;
        has[self].pages = fails ? 0 : pages;
        pthread_barrier_wait(&round_);
        if (self == 0)
            is_whole();
        pthread_barrier_wait(&round_);
    }
    return NULL;
}

static void threads_lock_what_overlaps(void)
{
    pthread_t threads[THREADS];
    arena = mmap(NULL, PAGES * hps->page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(arena != MAP_FAILED);
    before = locked();
    CHECK(pthread_barrier_init(&round_, NULL, THREADS) == 0);
    for (long i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, locks_often, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(void)
{
    static char memory[2 << 16];
    start();
    messages_go_on(memory + hps->page_size - (unsigned long)memory % hps->page_size);
    threads_lock_what_overlaps();
    barrier(me[0], size);
    leave();
    return 0;
}
