/* The library of library.c: handlers that its own functions hand out. */
#include <lapi.h>
#include <string.h>

static char box[5000];
static int headers, completions;

static void completed(lapi_handle_t *hndl, void *argument)
{
    (void)hndl;
    __atomic_fetch_add((int *)argument, 1, __ATOMIC_RELAXED);
}

void *library_header(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    (void)hndl;
    if (*uhdr_len != 8 || memcmp(uhdr, "library", 8) || *msg_len > sizeof box)
        return NULL;
    __atomic_fetch_add(&headers, 1, __ATOMIC_RELAXED);
    *done = completed;
    *info = &completions;
    return box;
}

/* What became of messages: calls of both handlers, and the last data. */
const char *library_state(int *seen_headers, int *seen_completions)
{
    *seen_headers = __atomic_load_n(&headers, __ATOMIC_RELAXED);
    *seen_completions = __atomic_load_n(&completions, __ATOMIC_RELAXED);
    return box;
}
