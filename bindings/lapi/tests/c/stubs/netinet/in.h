/* A stand-in for compiling lapi.h without the system's headers. */
typedef unsigned int in_addr_t;
typedef unsigned short in_port_t;
