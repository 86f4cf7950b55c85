/* LAPI beside MPI: both agree on who is who, and neither disturbs the other. Without an argument MPI
   begins first and ends last, with `lapi-first` LAPI does, with `lapi-only` MPI never begins. */
#include <lapi.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    lapi_handle_t h;
    lapi_info_t info;
    int rank, size, me, tasks, sum, rc, lapi_first = argc > 1;
    int lapi_only = lapi_first && !strcmp(argv[1], "lapi-only");
    memset(&info, 0, sizeof info);
    if (!lapi_first) MPI_Init(&argc, &argv);
    if ((rc = LAPI_Init(&h, &info)) != LAPI_SUCCESS) {
        printf("LAPI_Init: %d\n", rc);
        return 3;
    }
    if (lapi_only) {
        if ((rc = LAPI_Gfence(h)) == LAPI_SUCCESS) rc = LAPI_Term(h);
        printf("LAPI alone: %d\n", rc);
        return rc;
    }
    if (lapi_first) MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    LAPI_Qenv(h, TASK_ID, &me);
    LAPI_Qenv(h, NUM_TASKS, &tasks);
    LAPI_Gfence(h);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    LAPI_Gfence(h);
    printf("MPI %d of %d, LAPI %d of %d, sum %d\n", rank, size, me, tasks, sum);
    if (lapi_first) MPI_Finalize();
    rc = LAPI_Term(h);
    if (!lapi_first) {
        /* MPI still talks to the launcher. */
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
    }
    return rc;
}
