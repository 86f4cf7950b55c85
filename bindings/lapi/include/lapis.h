/*
 * lapis.h: what Lapis offers C programs beside LAPI. Programs that use it run with Lapis alone.
 */
#ifndef LAPIS_H
#define LAPIS_H

#include <lapi.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Allocates len bytes of zeroed memory which every task reaches as directly as the transports allow: a task of the same machine
 * puts, gets and changes it by loads and stores of its own, without a message and without this task's help. Any address in it
 * is a target address of LAPI_Put, LAPI_Get, LAPI_Rmw and their relatives, at any time and from any task; counters may lie in it.
 * It begins at a multiple of 64. May be called from any thread and from handlers.
 *
 * Gives LAPI_SUCCESS; LAPI_ERR_HNDL_INVALID; LAPI_ERR_RET_PTR_NULL for an addr of NULL; LAPI_ERR_MEMORY_EXHAUSTED where there is no
 * room: one line on standard error then says why, and which variable makes more (LAPIS_SHM_HEAP). *addr is NULL after an error.
 */
int lapis_alloc(lapi_handle_t hndl, unsigned long len, void **addr);

/*
 * Gives back what lapis_alloc gave in the same context; NULL does nothing. No operation may still use the memory, at any task. What is
 * not given back goes with LAPI_Term.
 *
 * Gives LAPI_SUCCESS, LAPI_ERR_HNDL_INVALID, or LAPI_ERR_TGT_ADDR_NULL for an address that lapis_alloc did not give.
 */
int lapis_free(lapi_handle_t hndl, void *addr);

#ifdef __cplusplus
}
#endif

#endif
