/* gm_helpers.h: what GM's programs link against beside messages. gm.h includes it. */
#ifndef _gm_helpers_h_
#define _gm_helpers_h_

/* Hash tables. Of length 0, keys or data are pointers and nothing more; otherwise they are copied. */
struct gm_hash;
#define GM_HASH_SMOOTH 1
struct gm_hash *gm_create_hash(long (*compare)(void *key1, void *key2),
                               unsigned long (*hash)(void *key), gm_size_t key_len,
                               gm_size_t data_len, gm_size_t min_entries, int flags);
void gm_destroy_hash(struct gm_hash *h);
void *gm_hash_find(struct gm_hash *h, void *key);
gm_status_t gm_hash_insert(struct gm_hash *h, void *key, void *datum);
void *gm_hash_remove(struct gm_hash *h, void *key);
void gm_hash_rekey(struct gm_hash *h, void *old_key, void *new_key);
long gm_hash_compare_strings(void *key1, void *key2);
unsigned long gm_hash_hash_string(void *key);
long gm_hash_compare_longs(void *key1, void *key2);
unsigned long gm_hash_hash_long(void *key);
long gm_hash_compare_ints(void *key1, void *key2);
unsigned long gm_hash_hash_int(void *key);
long gm_hash_compare_ptrs(void *key1, void *key2);
unsigned long gm_hash_hash_ptr(void *key);

/* Lookaside lists: entries of one length. */
struct gm_lookaside;
struct gm_lookaside *gm_create_lookaside(gm_size_t entry_len, gm_size_t min_entry_cnt);
void gm_destroy_lookaside(struct gm_lookaside *l);
void *gm_lookaside_alloc(struct gm_lookaside *l);
void *gm_lookaside_zalloc(struct gm_lookaside *l);
void gm_lookaside_free(void *ptr);

/* Zones: memory of the program's, given out in pieces. */
struct gm_zone;
struct gm_zone *gm_zone_create_zone(void *base, gm_size_t len);
void gm_zone_destroy_zone(struct gm_zone *zone);
void *gm_zone_malloc(struct gm_zone *zone, gm_size_t length);
void *gm_zone_calloc(struct gm_zone *zone, gm_size_t count, gm_size_t length);
void *gm_zone_free(struct gm_zone *zone, void *a);
int gm_zone_addr_in_zone(struct gm_zone *zone, void *p);

/* Marks: places of the program's that a set can tell from others. */
typedef gm_size_t gm_mark_t;
struct gm_mark_set;
gm_status_t gm_create_mark_set(struct gm_mark_set **set, unsigned long init_count);
void gm_destroy_mark_set(struct gm_mark_set *set);
gm_status_t gm_mark(struct gm_mark_set *set, gm_mark_t *m);
int gm_mark_is_valid(struct gm_mark_set *set, gm_mark_t *m);
void gm_unmark(struct gm_mark_set *set, gm_mark_t *m);
void gm_unmark_all(struct gm_mark_set *set);

/* Mutexes, checksums, random numbers. */
struct gm_mutex;
struct gm_mutex *gm_create_mutex(void);
void gm_destroy_mutex(struct gm_mutex *mu);
void gm_mutex_enter(struct gm_mutex *mu);
void gm_mutex_exit(struct gm_mutex *mu);
unsigned long gm_crc(void *ptr, gm_size_t len);
unsigned long gm_crc_str(const char *ptr);
int gm_rand(void);
void gm_srand(int seed);
unsigned int gm_rand_mod(unsigned int modulus);

/* Bytes on standard output, and buffers that the program has told of. */
void gm_hex_dump(const void *ptr, gm_size_t len);
void gm_dump_buffers(void);
void gm_register_buffer(void *addr, int size);
int gm_unregister_buffer(void *addr, int size);

/* What the C library has as well. */
void gm_bcopy(const void *from, void *to, gm_size_t len);
void gm_bzero(void *ptr, gm_size_t len);
void *gm_memset(void *s, int c, gm_size_t n);
int gm_memcmp(const void *a, const void *b, gm_size_t len);
gm_size_t gm_strlen(const char *text);
char *gm_strncpy(char *to, const char *from, int len);
int gm_strcmp(const char *a, const char *b);
int gm_strncmp(const char *a, const char *b, int len);
int gm_strncasecmp(const char *a, const char *b, int len);
char *gm_strdup(const char *text);
int gm_isprint(int c);
int gm_sleep(unsigned seconds);
gm_pid_t gm_getpid(void);
char *gm_strerror(gm_status_t error);
void gm_perror(const char *message, gm_status_t error);
unsigned long gm_log2_roundup(unsigned long n);
extern const unsigned char gm_log2_roundup_table[257];

/* printf, to standard output and to standard error. */
static __inline__ int gm_printf(const char *format, ...) __attribute__((format(printf, 1, 2), unused));
static __inline__ int gm_printf(const char *format, ...) {
    va_list list;
    int n;
    va_start(list, format);
    n = vprintf(format, list);
    va_end(list);
    return n;
}
static __inline__ int gm_eprintf(const char *format, ...) __attribute__((format(printf, 1, 2), unused));
static __inline__ int gm_eprintf(const char *format, ...) {
    va_list list;
    int n;
    va_start(list, format);
    n = vfprintf(stderr, format, list);
    va_end(list);
    return n;
}

#endif
