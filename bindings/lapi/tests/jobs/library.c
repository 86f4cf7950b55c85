/*
 * Header handlers of a shared library, named by the address that they have at the origin. The library is linked, or loaded before
 * LAPI_Init or after it, and lies elsewhere in each task. It may also be unloaded and loaded again, elsewhere.
 * Arguments: the library, and `after` and `again`; or nothing, if it is linked.
 */
//= LAPI Guide, LAPI_Amsend, the address of the header handler
//= type=test
#define _GNU_SOURCE
#include "../programs/check.h"
#include <dlfcn.h>
#include <sys/mman.h>

#define ROUNDS 20

static hdr_hndlr_t *header;
static const char *(*state)(int *, int *);
static char data[4096];

#ifdef LINKED
hdr_hndlr_t library_header;
const char *library_state(int *, int *);
static void load(const char *path)
{
    (void)path;
    header = library_header;
    state = library_state;
}
static void load_again(const char *path)
{
    (void)path;
}
#else
static void *library;

static void load(const char *path)
{
    /* What is mapped next lies elsewhere than in the other tasks, even where addresses are not random. */
    CHECK(mmap(NULL, (1 + atol(getenv("LAPIS_TASK"))) << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    library = dlopen(path, RTLD_NOW);
    if (!library)
        failed(__FILE__, __LINE__, "dlopen", dlerror());
    header = (hdr_hndlr_t *)dlsym(library, "library_header");
    state = (const char *(*)(int *, int *))dlsym(library, "library_state");
}

static void load_again(const char *path)
{
    long page = sysconf(_SC_PAGESIZE);
    hdr_hndlr_t *before = header;
    void *place = (void *)((uintptr_t)before / page * page);
    CHECK(dlclose(library) == 0);
    /* It is gone, and does not come back here. */
    CHECK(mmap(place, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == place);
    load(path);
    CHECK(header != before);
}
#endif

static void messages(void)
{
    /* Whoever gets a message has the library. */
    OK(LAPI_Gfence(hndl));
    lapi_cntr_t done;
    OK(LAPI_Setcntr(hndl, &done, 0));
    for (int i = 0; i < ROUNDS; i++) {
        memset(data, 'a' + i, sizeof data);
        for (int to = 0; to < tasks; to++) {
            OK(LAPI_Amsend(hndl, to, (void *)header, "library", 8, data, i % 2 ? 1 : sizeof data, NULL, NULL, &done));
            OK(LAPI_Waitcntr(hndl, &done, 1, NULL));
        }
    }
    OK(LAPI_Gfence(hndl));
    int headers, completions;
    const char *box = state(&headers, &completions);
    CHECK(headers == tasks * ROUNDS && completions == headers);
    CHECK(box[0] == 'a' + ROUNDS - 1 && box[1] == 'a' + ROUNDS - 2 && box[sizeof data - 1] == 'a' + ROUNDS - 2);
}

int main(int argc, char **argv)
{
    int late = 0, again = 0;
    for (int i = 2; i < argc; i++) {
        late |= !strcmp(argv[i], "after");
        again |= !strcmp(argv[i], "again");
    }
    if (!late)
        load(argv[1]);
    start();
    if (late)
        load(argv[1]);
    CHECK(header && state);
    printf("header %p\n", (void *)header);
    messages();
    if (again) {
        load_again(argv[1]);
        messages();
    }
    finish();
    return 0;
}
