/* LAPI_Init must give the code that is the first argument; as root, a second one says to become somebody else first. */
//= LAPI Guide, Setting environment variables, MP_MSG_API=mpi does not provide for LAPI
//= LAPI Guide, LAPI_Init, LAPI_ERR_NO_UDP_HNDLR
//= LAPI Guide, Standalone initialization, a user handler wins over a user list
//= type=test
#include "../programs/check.h"

static int calls;

static int failing(lapi_handle_t *h, lapi_udp_t *local, lapi_udp_t *list, lapi_udpinfo_t *about)
{
    (void)h, (void)local;
    CHECK(list != NULL && about->num_tasks == 2 && about->task_id == 0);
    calls++;
    return 5;
}

int main(int argc, char **argv)
{
    lapi_info_t info;
    lapi_extend_t extend;
    lapi_udp_t list[2];
    CHECK(argc >= 2);
    memset(&info, 0, sizeof info);
    memset(&extend, 0, sizeof extend);
    memset(list, 0, sizeof list);
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "persistent") == 0)
            info.adapter_name = "ml0";
        if (strcmp(argv[i], "nobody") == 0)
            CHECK(setuid(65534) == 0);
        if (strcmp(argv[i], "extend") == 0)
            info.add_info = &extend;
        if (strcmp(argv[i], "handler") == 0) {
            extend.udp_hndlr = failing;
            extend.add_udp_addrs = list;
        }
    }
    GIVES(atoi(argv[1]), LAPI_Init(&hndl, &info));
    CHECK(calls == (extend.udp_hndlr != NULL));
    if (atoi(argv[1]) == LAPI_SUCCESS && info.adapter_name) {
        void *table[1];
        lapi_long_t table64[1];
        GIVES(LAPI_ERR_COLLECTIVE_PSS, LAPI_Address_init(hndl, NULL, table));
        GIVES(LAPI_ERR_COLLECTIVE_PSS, LAPI_Address_init64(hndl, 0, table64));
    }
    return 0;
}
