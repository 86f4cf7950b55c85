/*
 * Task 0 of two, whose program tells the addresses: what it may not tell, and where its packets go. Task 1 is a socket.
 */
//= LAPI Guide, LAPI_Util, LAPI_ERR_UDP_PORT_INFO
//= LAPI Guide, LAPI_Util, LAPI_ADD_UDP_DEST_PORT, table 21
//= type=test
#include "../programs/check.h"
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* A socket of this machine, and its address as LAPI wants it. */
static int place(lapi_udp_t *at)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = 20};
    socklen_t length = sizeof name;
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(s >= 0 && bind(s, (struct sockaddr *)&name, sizeof name) == 0);
    CHECK(getsockname(s, (struct sockaddr *)&name, &length) == 0);
    CHECK(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
    at->ip_addr = name.sin_addr.s_addr;
    at->port_no = name.sin_port;
    return s;
}

/* Forgets what came, has LAPI say something to task 1, and waits until it arrives. */
static void expect_at(int s)
{
    char bytes[2048];
    while (recv(s, bytes, sizeof bytes, MSG_DONTWAIT) >= 0)
        ;
    for (int tries = 0; tries < 2000; tries++) {
        OK(LAPI_Probe(hndl));
        if (recv(s, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
            return;
        usleep(10000);
    }
    CHECK(!"nothing came");
}

static int offered_only(lapi_handle_t *h, lapi_udp_t *local, lapi_udp_t *list, lapi_udpinfo_t *about)
{
    (void)h, (void)list;
    CHECK(local->port_no != 0 && local->ip_addr != 0 && about->instance_no == 0);
    return 0;
}

int main(void)
{
    lapi_info_t info;
    lapi_extend_t extend;
    lapi_udp_t list[4], elsewhere, wrong;
    lapi_util_t util;
    int first, second, own;

    memset(&info, 0, sizeof info);
    memset(&extend, 0, sizeof extend);
    memset(list, 0, sizeof list);
    info.add_info = &extend;
    info.lib_vers = LAST_LIB;

    /* A handler that tells of nobody else, a list of nobody, one that has no place for all, one without a port. */
    extend.udp_hndlr = offered_only;
    GIVES(LAPI_ERR_UDP_PORT_INFO, LAPI_Init(&hndl, &info));
    extend.udp_hndlr = NULL;
    extend.add_udp_addrs = list;
    GIVES(LAPI_ERR_UDP_PORT_INFO, LAPI_Init(&hndl, &info));
    own = place(&list[0]);
    first = place(&list[1]);
    second = place(&elsewhere);
    extend.num_udp_addr = 3;
    GIVES(LAPI_ERR_UDP_PORT_INFO, LAPI_Init(&hndl, &info));
    extend.num_udp_addr = 2;
    wrong = list[1];
    list[1].port_no = 0;
    GIVES(LAPI_ERR_UDP_PORT_INFO, LAPI_Init(&hndl, &info));
    list[1] = wrong;

    /* Nobody is met, so that task 1 need not be there. */
    close(own);
    OK(LAPI_Init(&hndl, &info));
    OK(LAPI_Amsend(hndl, 1, (void *)1, NULL, 0, NULL, 0, NULL, NULL, NULL));
    expect_at(first);

    /* What is refused changes nothing. */
    memset(&util, 0, sizeof util);
    util.Udp.Util_type = LAPI_ADD_UDP_DEST_PORT;
    util.Udp.tgt = 1;
    util.Udp.udp_port = &wrong;
    wrong.port_no = 0;
    GIVES(LAPI_ERR_UDP_PORT_INFO, LAPI_Util(hndl, &util));
    wrong = elsewhere;
    wrong.ip_addr = 0;
    GIVES(LAPI_ERR_UDP_PORT_INFO, LAPI_Util(hndl, &util));
    wrong = elsewhere;
    util.Udp.instance_no = 1;
    GIVES(LAPI_ERR_UDP_PORT_INFO, LAPI_Util(hndl, &util));
    expect_at(first);

    /* Its own address is nothing to talk to; task 1 has moved. */
    util.Udp.instance_no = 0;
    util.Udp.tgt = 0;
    OK(LAPI_Util(hndl, &util));
    util.Udp.tgt = 1;
    OK(LAPI_Util(hndl, &util));
    expect_at(second);
    return 0;
}
