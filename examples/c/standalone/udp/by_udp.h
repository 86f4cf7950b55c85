/*
 * How the samples of this folder tell LAPI where the tasks are: SAMPLE_PORTS lists UDP ports of this machine, task 0's first.
 */
#ifndef BY_UDP_H
#define BY_UDP_H

#include "../../sample.h"
#include <arpa/inet.h>
#include <stdlib.h>

/* The address of entry `at` of SAMPLE_PORTS, in network byte order. */
static inline lapi_udp_t place(int at)
{
    lapi_udp_t udp;
    const char *ports = getenv("SAMPLE_PORTS");
    while (ports && at-- > 0) {
        ports = strchr(ports, ',');
        if (ports)
            ports++;
    }
    if (!ports) {
        fprintf(stderr, "SAMPLE_PORTS must list ports, separated by commas\n");
        exit(1);
    }
    memset(&udp, 0, sizeof udp);
    udp.ip_addr = inet_addr("127.0.0.1");
    udp.port_no = htons(atoi(ports));
    return udp;
}

#endif
