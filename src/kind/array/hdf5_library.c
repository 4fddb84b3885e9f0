/* Loads HDF5's library, and registers a file driver with it that reads through a descriptor.
 *
 * HDF5's own drivers open files by their names. A decoder process may open none: it gets descriptors from its worker.
 * So HDF5 gets the driver below, which reads an input file at the offsets that HDF5 asks for. A driver is a table of
 * functions; two versions of that table exist, and the names of the libraries say which one is right. */
#include "kind/array/hdf5_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- driver ------------------------------------------------------------------------------------------------------- */

#define ADDRESS_MAX (((uint64_t)1 << 63) - 1) /* the largest address, HADDR_MAX */
#define CLOSE_STRONG 3                        /* closing a file closes what is open in it */
#define FEATURES                                                                                                       \
    0xc /* read metadata ahead, and gather small reads of elements (ACCUMULATE_METADATA_READ, DATA_SIEVE) */
#define MEMORY_TYPES 7 /* uses of space in a file */
#define DRIVER_NAME "bload"
#define HEAD_BYTES 256 /* what HDF5 keeps of an open file has 80 bytes, in every version */

/* An open file. HDF5 fills in the head. */
struct driver_file {
    _Alignas(16) uint8_t head[HEAD_BYTES];
    struct bl_hdf5_source source;
    uint64_t end; /* of the addresses in use, as HDF5 sets it */
};

/* Opens nothing: the source comes with the access list. A link to another file comes here too, with its name. */
static void *driver_open(const char *name, unsigned flags, bl_h5_id access, uint64_t most);

static int driver_close(void *file)
{
    free(file);
    return 0;
}

static int driver_query(const void *file, unsigned long *flags)
{
    (void)file;
    *flags = FEATURES;
    return 0;
}

static uint64_t driver_get_end(const void *file, int type)
{
    (void)type;
    return ((const struct driver_file *)file)->end;
}

static int driver_set_end(void *file, int type, uint64_t end)
{
    (void)type;
    ((struct driver_file *)file)->end = end;
    return 0;
}

static uint64_t driver_get_size(const void *file, int type)
{
    (void)type;
    return (uint64_t)((const struct driver_file *)file)->source.bytes;
}

/* Reads exactly size bytes. */
static int driver_read(void *opened, int type, bl_h5_id transfer, uint64_t at, size_t size, void *data)
{
    const struct bl_hdf5_source *source = &((const struct driver_file *)opened)->source;
    uint64_t bytes = (uint64_t)source->bytes;
    (void)type, (void)transfer;
    if (at > bytes || size > bytes - at)
        return -1;
    bl_cancel_beat(source->cancel);
    errno = ECANCELED;
    ssize_t got = bl_cancelled(source->cancel) ? -1 : bl_input_file_pread(source->input, data, size, (int64_t)at);
    if (got == (ssize_t)size)
        return 0;
    *source->system_errno = got < 0 ? errno : ESTALE;
    return -1;
}

/* HDF5 requires the function. Files are opened for reading only. */
static int driver_write(void *file, int type, bl_h5_id transfer, uint64_t at, size_t size, const void *data)
{
    (void)file, (void)type, (void)transfer, (void)at, (void)size, (void)data;
    return -1;
}

typedef void driver_absent(void);

/* The members that both versions of H5FD_class_t have, in the same order. */
#define DRIVER_NAMES                                                                                                   \
    const char *name;                                                                                                  \
    uint64_t address_max;                                                                                              \
    int close_degree;                                                                                                  \
    driver_absent *terminate, *superblock[3];                                                                          \
    size_t source_size; /* HDF5 copies so many bytes of what H5Pset_driver gets */                                     \
    driver_absent *source[3];                                                                                          \
    size_t transfer_size;                                                                                              \
    driver_absent *transfer[2];                                                                                        \
    void *(*open)(const char *, unsigned, bl_h5_id, uint64_t);                                                         \
    int (*close)(void *);                                                                                              \
    driver_absent *compare;                                                                                            \
    int (*query)(const void *, unsigned long *);                                                                       \
    driver_absent *get_type_map, *allocate, *free;                                                                     \
    uint64_t (*get_end)(const void *, int);                                                                            \
    int (*set_end)(void *, int, uint64_t);                                                                             \
    uint64_t (*get_size)(const void *, int);                                                                           \
    driver_absent *get_handle;                                                                                         \
    int (*read)(void *, int, bl_h5_id, uint64_t, size_t, void *);                                                      \
    int (*write)(void *, int, bl_h5_id, uint64_t, size_t, const void *);

/* H5FD_class_t of HDF5 1.10. */
struct driver_old {
    DRIVER_NAMES
    driver_absent *flush, *truncate, *lock, *unlock;
    int memory_map[MEMORY_TYPES];
};

/* H5FD_class_t since HDF5 1.14. H5FDregister compares its version. */
struct driver_new {
    unsigned version;
    int value;
    DRIVER_NAMES
    driver_absent *vectors[4], *flush, *truncate, *lock, *unlock, *remove, *control;
    int memory_map[MEMORY_TYPES];
};

#define DRIVER_VERSION 1
#define DRIVER_VALUE 512 /* of a driver that no file names */
#define DRIVER_FUNCTIONS                                                                                               \
    .name = DRIVER_NAME, .address_max = ADDRESS_MAX, .close_degree = CLOSE_STRONG,                                     \
    .source_size = sizeof(struct bl_hdf5_source), .open = driver_open, .close = driver_close, .query = driver_query,   \
    .get_end = driver_get_end, .set_end = driver_set_end, .get_size = driver_get_size, .read = driver_read,            \
    .write = driver_write

static const struct driver_old driver_of_1_10 = {DRIVER_FUNCTIONS};
static const struct driver_new driver_of_1_14 = {.version = DRIVER_VERSION, .value = DRIVER_VALUE, DRIVER_FUNCTIONS};

/* --- library ------------------------------------------------------------------------------------------------------ */

/* The names of the library: Debian's and Ubuntu's, then those of other systems. */
static const struct library_name {
    const char *file;
    unsigned major, minor;
    const void *driver;
} library_names[] = {
    {"libhdf5_serial.so.103", 1, 10, &driver_of_1_10}, {"libhdf5_serial.so.310", 1, 14, &driver_of_1_14},
    {"libhdf5_serial.so.320", 2, 0, &driver_of_1_14},  {"libhdf5.so.103", 1, 10, &driver_of_1_10},
    {"libhdf5.so.310", 1, 14, &driver_of_1_14},        {"libhdf5.so.320", 2, 0, &driver_of_1_14},
};

#define BL_H5_SYMBOL(result, name, parameters) {#name, offsetof(struct bl_hdf5_library, name)},

static const struct {
    const char *name;
    size_t at; /* of the pointer in the struct */
} library_functions[] = {BL_H5_FUNCTIONS(BL_H5_SYMBOL)};

/* The library of this process, and where it comes from. All of it is set by bl_hdf5_load, under its caller's lock. */
static struct bl_hdf5_library library_loaded;
static const struct library_name *library_source;

/* The file HDF5 wants is the one of the access list, which is called DRIVER_NAME. A link to another file has another
 * name, and is refused. */
static void *driver_open(const char *name, unsigned flags, bl_h5_id access, uint64_t most)
{
    const struct bl_hdf5_source *source = library_loaded.H5Pget_driver_info(access);
    (void)flags, (void)most;
    struct driver_file *file = source && strcmp(name, DRIVER_NAME) == 0 ? calloc(1, sizeof *file) : NULL;
    if (file)
        file->source = *source;
    return file;
}

/* Finds the functions. POSIX has pointers to functions and to data in one size, and dlsym depends on it. */
static int library_resolve(void *handle, struct bl_hdf5_library *library, struct bl_error *e)
{
    for (size_t i = 0; i < sizeof library_functions / sizeof *library_functions; i++) {
        const char *name = library_functions[i].name;
        void *symbol = NULL;
        if (strcmp(name, "H5Literate") == 0)
            symbol = dlsym(handle, "H5Literate2");
        if (!symbol)
            symbol = dlsym(handle, name);
        if (!symbol)
            return bl_error_set(e, BL_EUSAGE, "%s has no function %s: another build of HDF5 is needed",
                                library_source->file, name);
        memcpy((char *)library + library_functions[i].at, &symbol, sizeof symbol);
    }
    return BL_OK;
}

/* Prepares the library: no plugins, which are files that run, and bload's driver. */
static int library_begin(void *handle, struct bl_hdf5_library *library, struct bl_error *e)
{
    unsigned major = 0, minor = 0, release = 0;
    BL_TRY(library_resolve(handle, library, e));
    bool good = library->H5dont_atexit() >= 0 && library->H5open() >= 0 &&
                library->H5get_libversion(&major, &minor, &release) >= 0;
    if (!good || major != library_source->major || minor != library_source->minor)
        return bl_error_set(e, BL_EUSAGE, "%s is HDF5 %u.%u.%u, and %u.%u was expected", library_source->file, major,
                            minor, release, library_source->major, library_source->minor);
    const bl_h5_id *file_access = dlsym(handle, "H5P_CLS_FILE_ACCESS_ID_g"),
                   *dataset_access = dlsym(handle, "H5P_CLS_DATASET_ACCESS_ID_g");
    library->driver = library->H5FDregister(library_source->driver);
    if (!file_access || !dataset_access || library->driver < 0 || library->H5PLset_loading_state(0) < 0)
        return bl_error_set(e, BL_EUSAGE, "%s does not take a file driver", library_source->file);
    library->file_access = *file_access;
    library->dataset_access = *dataset_access;
    return BL_OK;
}

/* Opens the first of the libraries that is installed; NULL: none is. It stays loaded, as others may need it. */
static void *library_open(void)
{
    for (size_t i = 0; i < sizeof library_names / sizeof *library_names; i++) {
        void *handle = dlopen(library_names[i].file, RTLD_NOW | RTLD_LOCAL);
        library_source = &library_names[i];
        if (handle)
            return handle;
    }
    library_source = NULL;
    return NULL;
}

int bl_hdf5_load(const struct bl_hdf5_library **out, struct bl_error *e)
{
    *out = &library_loaded;
    if (library_loaded.driver > 0)
        return BL_OK;
    void *handle = library_open();
    if (!handle)
        return bl_error_set(e, BL_EUSAGE,
                            "HDF5 files need HDF5's library, which is not installed (Debian, Ubuntu: apt install "
                            "libhdf5-103-1, or libhdf5-310; others: hdf5 1.10, 1.14 or 2.0)");
    struct bl_hdf5_library library = {.driver = -1};
    BL_TRY(library_begin(handle, &library, e));
    library_loaded = library;
    return BL_OK;
}

int bl_hdf5_describe(struct bl_buffer *out, struct bl_error *e)
{
    const struct bl_hdf5_library *library;
    unsigned version[3] = {0};
    BL_TRY(bl_hdf5_load(&library, e));
    (void)library->H5get_libversion(&version[0], &version[1], &version[2]);
    bl_buffer_printf(out, "%u.%u.%u (%s)", version[0], version[1], version[2], library_source->file);
    return bl_buffer_check(out, e);
}
