/*
 * Task 0 of two, whose program says that task 1 is at the address of its argument. What counts is what the library says of it.
 */
#include "../programs/check.h"
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    lapi_info_t info;
    lapi_extend_t extend;
    lapi_udp_t list[2];
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;

    CHECK(argc == 2);
    CHECK(s >= 0 && bind(s, (struct sockaddr *)&name, sizeof name) == 0);
    CHECK(getsockname(s, (struct sockaddr *)&name, &length) == 0);
    close(s);
    memset(&info, 0, sizeof info);
    memset(&extend, 0, sizeof extend);
    memset(list, 0, sizeof list);
    list[0].ip_addr = name.sin_addr.s_addr;
    list[0].port_no = name.sin_port;
    list[1].ip_addr = inet_addr(argv[1]);
    list[1].port_no = htons(9);
    info.add_info = &extend;
    info.lib_vers = LAST_LIB;
    extend.add_udp_addrs = list;
    extend.num_udp_addr = 2;
    /* There may be no way to task 1 on this machine. */
    (void)LAPI_Init(&hndl, &info);
    return 0;
}
