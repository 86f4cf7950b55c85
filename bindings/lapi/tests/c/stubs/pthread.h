/* A stand-in for compiling lapi.h without the system's headers. */
typedef unsigned long pthread_t;
typedef struct { char opaque[32]; } pthread_attr_t;
