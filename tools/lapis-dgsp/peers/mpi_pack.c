/*
 * Times MPI_Pack and MPI_Unpack of the shapes of `lapis-dgsp time` (tools/lapis-dgsp/src/shapes.rs), whose sizes and index
 * lists these are. Build and use:
 *
 *     mpicc.mpich   -O3 -o pack-mpich   mpi_pack.c
 *     mpicc.openmpi -O3 -o pack-openmpi mpi_pack.c
 *     lapis-dgsp time --peer mpich=./pack-mpich --peer openmpi=./pack-openmpi
 *
 * It reads lines "pack|unpack SHAPE MICROSECONDS" and answers each with the nanoseconds of one call, so that the caller can
 * interleave measurements. With an argument that is a number it needs no caller: it takes medians over so many rounds and
 * prints a JSON line for each shape.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

struct shape {
    const char *name;
    MPI_Datatype type;
    int count;
    size_t memory;
};

static uint32_t state;

static size_t step(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static int *unordered(int chosen, int of, int sort)
{
    int *all = malloc(of * sizeof *all);
    for (int i = 0; i < of; i++)
        all[i] = i;
    state = 12345;
    for (int i = 0; i < chosen; i++) {
        int j = i + (int)(step() % (size_t)(of - i)), t = all[i];
        all[i] = all[j];
        all[j] = t;
    }
    if (sort)
        qsort(all, chosen, sizeof *all, by_value);
    return all;
}

/* The same box of several arrays, one behind the other. */
static struct shape boxes(const char *name, int arrays, const int *size, const int *sub, const int *start, MPI_Datatype old,
                          size_t element)
{
    struct shape s = { name, MPI_DATATYPE_NULL, 1, 0 };
    MPI_Datatype one;
    size_t each = (size_t)size[0] * size[1] * size[2] * element;
    MPI_Type_create_subarray(3, size, sub, start, MPI_ORDER_C, old, &one);
    MPI_Type_create_hvector(arrays, 1, (MPI_Aint)each, one, &s.type);
    s.memory = each * arrays;
    return s;
}

static struct shape strided(const char *name, int count, int len, int stride, MPI_Datatype old, size_t element)
{
    struct shape s = { name, MPI_DATATYPE_NULL, 1, (size_t)count * stride * element };
    MPI_Type_vector(count, len, stride, old, &s.type);
    return s;
}

static struct shape atoms(const char *name, const int *sizes, const MPI_Datatype *olds, int fields)
{
    enum { CHOSEN = 3000, ATOMS = 10000 };
    struct shape s = { name, MPI_DATATYPE_NULL, 1, 0 };
    int *index = unordered(CHOSEN, ATOMS, 1);
    MPI_Datatype types[8];
    MPI_Aint disps[8];
    int ones[8];
    for (int i = 0; i < fields; i++) {
        MPI_Type_create_indexed_block(CHOSEN, 1, index, olds[i], &types[i]);
        disps[i] = (MPI_Aint)s.memory;
        ones[i] = 1;
        s.memory += (size_t)ATOMS * sizes[i];
    }
    MPI_Type_create_struct(fields, ones, disps, types, &s.type);
    free(index);
    return s;
}

static struct shape points(const char *name, int arrays, int chosen, int of, MPI_Datatype old, size_t element)
{
    struct shape s = { name, MPI_DATATYPE_NULL, 1, (size_t)arrays * of * element };
    int *index = unordered(chosen, of, 0);
    MPI_Datatype one, wide;
    MPI_Type_create_indexed_block(chosen, 1, index, old, &one);
    MPI_Type_create_resized(one, 0, (MPI_Aint)(of * element), &wide);
    MPI_Type_contiguous(arrays, wide, &s.type);
    free(index);
    return s;
}

static struct shape fft2(void)
{
    struct shape s = { "fft2", MPI_DATATYPE_NULL, 1, 64 * 256 * 16 };
    MPI_Datatype column, narrow;
    MPI_Type_vector(64, 1, 256, MPI_C_DOUBLE_COMPLEX, &column);
    MPI_Type_create_resized(column, 0, 16, &narrow);
    MPI_Type_contiguous(64, narrow, &s.type);
    return s;
}

static struct shape triangle(void)
{
    enum { N = 256 };
    struct shape s = { "lower_triangle", MPI_DATATYPE_NULL, 1, N * N * 8 };
    int lens[N], disps[N];
    for (int i = 0; i < N; i++) {
        lens[i] = i + 1;
        disps[i] = i * N;
    }
    MPI_Type_indexed(N, lens, disps, MPI_DOUBLE, &s.type);
    return s;
}

static struct shape int_char(void)
{
    struct shape s = { "int_char", MPI_DATATYPE_NULL, 16384, 16384 * 8 };
    int ones[2] = { 1, 1 };
    MPI_Aint disps[2] = { 0, 4 };
    MPI_Datatype types[2] = { MPI_INT, MPI_CHAR }, packed;
    MPI_Type_create_struct(2, ones, disps, types, &packed);
    MPI_Type_create_resized(packed, 0, 8, &s.type);
    return s;
}

static struct shape shapes[32];
static int nshapes;

static void add(struct shape s)
{
    MPI_Type_commit(&s.type);
    shapes[nshapes++] = s;
}

static void make_shapes(void)
{
    int wrf[3] = { 48, 28, 72 }, wx[3] = { 40, 20, 3 }, wxs[3] = { 4, 4, 3 }, wy[3] = { 3, 20, 64 }, wys[3] = { 4, 4, 4 };
    int mg[3] = { 66, 66, 66 }, mx[3] = { 64, 64, 1 }, my[3] = { 64, 1, 64 }, mz[3] = { 1, 64, 64 }, ms[3] = { 1, 1, 1 };
    int sizes[6] = { 24, 4, 4, 4, 8, 4 };
    MPI_Datatype three_doubles, su3, three_floats;
    MPI_Type_contiguous(3, MPI_DOUBLE, &three_doubles);
    MPI_Type_contiguous(6, MPI_FLOAT, &su3);
    MPI_Type_contiguous(3, MPI_FLOAT, &three_floats);
    MPI_Datatype olds[6] = { three_doubles, MPI_INT, MPI_INT, MPI_INT, MPI_DOUBLE, MPI_INT };
    add(boxes("wrf_x", 4, wrf, wx, wxs, MPI_FLOAT, 4));
    add(boxes("wrf_y", 4, wrf, wy, wys, MPI_FLOAT, 4));
    add(strided("milc_su3_zd", 16, 128, 2048, su3, 24));
    add(strided("nas_lu_x", 1, 510, 510, MPI_DOUBLE, 8));
    add(strided("nas_lu_y", 102, 5, 510, MPI_DOUBLE, 8));
    add(boxes("nas_mg_x", 1, mg, mx, ms, MPI_DOUBLE, 8));
    add(boxes("nas_mg_y", 1, mg, my, ms, MPI_DOUBLE, 8));
    add(boxes("nas_mg_z", 1, mg, mz, ms, MPI_DOUBLE, 8));
    add(atoms("lammps_full", sizes, olds, 6));
    add(atoms("lammps_atomic", sizes, olds, 4));
    add(points("specfem3d_oc", 1, 8192, 40000, MPI_FLOAT, 4));
    add(points("specfem3d_cm", 2, 4096, 20000, three_floats, 12));
    add(fft2());
    add(strided("column", 1024, 1, 1024, MPI_DOUBLE, 8));
    add(triangle());
    add(int_char());
    add(points("random_index", 1, 8192, 65536, MPI_DOUBLE, 8));
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct buffers {
    const struct shape *shape;
    char *mem, *packed;
    int bytes;
};

static void call(struct buffers *b, int pack)
{
    int position = 0;
    if (pack)
        MPI_Pack(b->mem, b->shape->count, b->shape->type, b->packed, b->bytes, &position, MPI_COMM_SELF);
    else
        MPI_Unpack(b->packed, b->bytes, &position, b->mem, b->shape->count, b->shape->type, MPI_COMM_SELF);
    if (position == 0) {
        fprintf(stderr, "%s: nothing was packed\n", b->shape->name);
        exit(1);
    }
}

static double run(struct buffers *b, int pack, double calls)
{
    double start = now();
    for (double i = 0; i < calls; i++)
        call(b, pack);
    return now() - start;
}

/* Calls are repeated until they take long enough to time, and then once more, which counts: by then the caches are our own. */
static double measure(struct buffers *b, int pack, double least)
{
    double calls = 1;
    run(b, pack, 1);
    for (;;) {
        double took = run(b, pack, calls);
        if (took >= least)
            return run(b, pack, calls) / calls;
        double scale = least / (took < 1 ? 1 : took) * 1.2;
        calls = (double)(long)(calls * (scale < 1.5 ? 1.5 : scale > 100 ? 100 : scale) + 1);
    }
}

/*
 * Memory stays allocated between requests for one shape, as it does on the other side; it lies on huge pages, the packed
 * buffer at the same distance as there, so that both meet the same cache sets.
 */
static struct buffers *buffers_of(const char *name)
{
    static struct buffers b;
    if (b.shape && strcmp(b.shape->name, name) == 0)
        return &b;
    free(b.mem);
    b.shape = NULL;
    for (int i = 0; i < nshapes; i++) {
        if (strcmp(shapes[i].name, name) == 0) {
            b.shape = &shapes[i];
            MPI_Pack_size(b.shape->count, b.shape->type, MPI_COMM_SELF, &b.bytes);
            size_t huge = 2u << 20, buf = (b.shape->memory + 4095) / 4096 * 4096 + 2112;
            size_t size = (buf + b.bytes + huge - 1) / huge * huge;
            b.mem = aligned_alloc(huge, size);
            madvise(b.mem, size, MADV_HUGEPAGE);
            memset(b.mem, 1, size);
            b.packed = b.mem + buf;
        }
    }
    return b.shape ? &b : NULL;
}

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void all_alone(int rounds)
{
    double *times = malloc(rounds * sizeof *times);
    for (int i = 0; i < nshapes; i++) {
        for (int pack = 1; pack >= 0; pack--) {
            int size;
            MPI_Type_size(shapes[i].type, &size);
            for (int r = 0; r < rounds; r++)
                times[r] = measure(buffers_of(shapes[i].name), pack, 2e5);
            qsort(times, rounds, sizeof *times, by_time);
            printf("{\"shape\":\"%s\",\"direction\":\"%s\",\"bytes\":%ld,\"ns\":%.1f}\n", shapes[i].name,
                   pack ? "pack" : "unpack", (long)size * shapes[i].count, times[rounds / 2]);
        }
    }
    free(times);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    make_shapes();
    if (argc > 1 && atoi(argv[1]) > 0) {
        all_alone(atoi(argv[1]));
    } else {
        char direction[16], name[64];
        double micros;
        while (scanf("%15s %63s %lf", direction, name, &micros) == 3) {
            struct buffers *b = buffers_of(name);
            if (b)
                printf("%.2f\n", measure(b, strcmp(direction, "pack") == 0, micros * 1e3));
            else
                printf("unknown shape %s\n", name);
            fflush(stdout);
        }
    }
    MPI_Finalize();
    return 0;
}
