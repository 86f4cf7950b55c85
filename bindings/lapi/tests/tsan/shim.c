/*
 * What code that LLVM has instrumented calls and the sanitizer's library of GCC lacks; and volatile variables, by which the test
 * programs tell one thread of another: they are not looked at.
 */
#include <string.h>

void *__tsan_memcpy(void *to, const void *from, size_t len)
{
    return memcpy(to, from, len);
}

void *__tsan_memmove(void *to, const void *from, size_t len)
{
    return memmove(to, from, len);
}

void *__tsan_memset(void *at, int byte, size_t len)
{
    return memset(at, byte, len);
}

#define VOLATILE(size) \
    void __tsan_volatile_read##size(void *at) \
    { \
        (void)at; \
    } \
    void __tsan_volatile_write##size(void *at) \
    { \
        (void)at; \
    }
VOLATILE(1)
VOLATILE(2)
VOLATILE(4)
VOLATILE(8)
VOLATILE(16)
