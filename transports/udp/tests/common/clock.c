/*
 * To be preloaded: a task's second process has a clock that is off by CLOCK_SHIFT seconds, or every process once there is a file
 * CLOCK_WHEN. Which process is the second one is told by a file in the folder CLOCK_LIVES.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long shift, later;
static const char *when;

__attribute__((constructor)) static void begin(void)
{
    const char *task = getenv("LAPIS_TASK"), *lives = getenv("CLOCK_LIVES"), *by = getenv("CLOCK_SHIFT");
    char path[4096];
    when = getenv("CLOCK_WHEN");
    if (when && by)
        later = atol(by);
    if (!task || !lives || !by)
        return;
    snprintf(path, sizeof path, "%s/%s", lives, task);
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd >= 0)
        close(fd);
    else
        shift = atol(by);
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    int failed = (int)syscall(SYS_clock_gettime, id, time);
    if (!failed && id == CLOCK_REALTIME)
        time->tv_sec += later && !access(when, F_OK) ? later : shift;
    return failed;
}
