/* A stand-in for compiling lapi.h without the system's headers. */
#define __GLIBC__ 2
