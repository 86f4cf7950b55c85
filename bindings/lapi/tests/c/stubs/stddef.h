/* A stand-in for compiling lapi.h without the system's headers. */
#define offsetof(type, member) __builtin_offsetof(type, member)
