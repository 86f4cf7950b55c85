/*
 * The halo of a three-dimensional array: each task has a box of cells with one layer of ghosts around. The tasks of a pair
 * are neighbours along the second dimension, on both sides; along the others a task is its own neighbour, as on a torus. A
 * face is one DGSP, used to gather the cells and to scatter them into the neighbour's ghosts.
 */
#include "dgsp.h"

enum { NX = 10, NY = 12, NZ = 8 }; /* Ghosts included. */

static double box[NX][NY][NZ];
static lapi_dg_handle_t faces[3];
static lapi_cntr_t arrived;

/* Where a face of a dimension begins: the inner cells, from 1 on; the one that varies is `at`. */
static double *corner(int dimension, int at)
{
    int c[3] = {1, 1, 1};
    c[dimension] = at;
    return &box[c[0]][c[1]][c[2]];
}

/* The user header says which ghosts are meant. */
static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **done, void **info)
{
    int *which = uhdr;
    (void)h, (void)uhdr_len, (void)info;
    *done = NULL;
    ((lapi_return_info_t *)msg_len)->dgsp_handle = faces[which[0]];
    return corner(which[0], which[1]);
}

static double value(int owner, int x, int y, int z)
{
    return owner * 1e6 + x * 1e4 + y * 1e2 + z;
}

int main(void)
{
    static const int n[3] = {NX, NY, NZ};
    lapi_cntr_t done;
    begin_sample();
    for (int x = 0; x < NX; x++)
        for (int y = 0; y < NY; y++)
            for (int z = 0; z < NZ; z++)
                box[x][y][z] = -1;
    for (int x = 1; x < NX - 1; x++)
        for (int y = 1; y < NY - 1; y++)
            for (int z = 1; z < NZ - 1; z++)
                box[x][y][z] = value(task, x, y, z);

    /* Across x: rows of a plane. Across y: rows, a plane apart. Across z: single cells of a plane; its extent leads to the next. */
    const long cell = sizeof(double), row = sizeof box[0][0], plane = sizeof box[0];
    faces[0] = strided_dgsp(NY - 2, (NZ - 2) * cell, row, plane);
    faces[1] = strided_dgsp(NX - 2, (NZ - 2) * cell, plane, row);
    faces[2] = strided_dgsp(NY - 2, cell, row, plane);
    const ulong bytes[3] = {(NY - 2) * (NZ - 2) * cell, (NX - 2) * (NZ - 2) * cell, (NX - 2) * (NY - 2) * cell};

    MUST(LAPI_Setcntr(hndl, &done, 0));
    MUST(LAPI_Setcntr(hndl, &arrived, 0));
    void **headers = addresses_of((void *)header);
    MUST(LAPI_Gfence(hndl));
    for (int d = 0; d < 3; d++) {
        int neighbour = d == 1 ? buddy : task;
        /* The last inner layer to the ghosts below the first one, the first to those above the last. */
        int up[2] = {d, 0}, down[2] = {d, n[d] - 1};
        send_dgsp(neighbour, headers[neighbour], faces[d], corner(d, n[d] - 2), bytes[d], up, sizeof up, &done);
        send_dgsp(neighbour, headers[neighbour], faces[d], corner(d, 1), bytes[d], down, sizeof down, &done);
    }
    MUST(LAPI_Waitcntr(hndl, &done, 6, NULL));
    MUST(LAPI_Gfence(hndl));

    int right = 0, wrong = 0;
    for (int x = 0; x < NX; x++)
        for (int y = 0; y < NY; y++)
            for (int z = 0; z < NZ; z++) {
                int c[3] = {x, y, z}, ghosts = 0, owner = task;
                for (int d = 0; d < 3; d++)
                    if (c[d] == 0 || c[d] == n[d] - 1) {
                        ghosts++;
                        owner = d == 1 ? buddy : task;
                        c[d] = c[d] == 0 ? n[d] - 2 : 1;
                    }
                /* Edges and corners have no neighbour here. */
                double expected = ghosts > 1 ? -1 : value(owner, c[0], c[1], c[2]);
                if (box[x][y][z] != expected)
                    wrong++;
                else if (ghosts == 1)
                    right++;
            }
    printf("task %d: %d ghost cells right, %d wrong\n", task, right, wrong);
    for (int d = 0; d < 3; d++)
        unreserve_dgsp(faces[d]);
    end_sample();
    return 0;
}
