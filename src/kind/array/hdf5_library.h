/* HDF5's library, which is loaded when the first HDF5 file is opened: bload runs without it.
 *
 * bload declares what it calls itself, and includes no header of HDF5. One build then works with every version whose
 * binary interface is known (1.10, 1.14 and 2.0, by the names of their libraries), and needs no package to be built.
 * The interface is HDF5's public one: identifiers are 64-bit numbers since 1.10, and negative ones are errors. */
#ifndef BL_HDF5_LIBRARY_H
#define BL_HDF5_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/input_file.h"

/* --- declarations ------------------------------------------------------------------------------------------------- */

typedef int64_t bl_h5_id;
typedef unsigned long long bl_h5_size;

#define BL_H5_RANK_MAX 32 /* axes of a dataset */

/* Values of HDF5's enumerations. */
enum { BL_H5_INTEGER, BL_H5_FLOAT, BL_H5_STRING = 3, BL_H5_ENUM = 8 }; /* classes of elements */
enum { BL_H5_LITTLE, BL_H5_BIG };                                      /* orders of bytes */
enum { BL_H5_UNSIGNED, BL_H5_SIGNED };                                 /* integers */
enum { BL_H5_NULL_SPACE = 2 };                                         /* a dataset without elements or axes */
enum { BL_H5_CONTIGUOUS = 1, BL_H5_CHUNKED = 2, BL_H5_VIRTUAL = 3 };   /* layouts */
enum { BL_H5_GROUP = 2, BL_H5_DATASET = 5 };                           /* objects */
enum { BL_H5_BY_NAME, BL_H5_INCREASING = 0 };                          /* indexes of a group, and directions */

/* Called for each link of a group. about begins with the type of the link in an int: 0 is a hard link. */
typedef int bl_h5_visit(bl_h5_id group, const char *name, const void *about, void *sink);

/* An error of HDF5's stack of errors. */
struct bl_h5_error {
    bl_h5_id class, major, minor;
    unsigned line;
    const char *function, *file, *text;
};

typedef int bl_h5_walk(unsigned number, const struct bl_h5_error *error, void *sink);

/* The functions, as FUNCTION(result, name, (parameters)). Their symbols are the same in all versions, but for
 * H5Literate, whose information about links grew. */
#define BL_H5_FUNCTIONS(FUNCTION)                                                                                      \
    FUNCTION(int, H5open, (void))                                                                                      \
    FUNCTION(int, H5dont_atexit, (void))                                                                               \
    FUNCTION(int, H5get_libversion, (unsigned *major, unsigned *minor, unsigned *release))                             \
    FUNCTION(int, H5PLset_loading_state, (unsigned plugins))                                                           \
    FUNCTION(int, H5Eset_auto2, (bl_h5_id stack, void *print, void *sink))                                             \
    FUNCTION(int, H5Ewalk2, (bl_h5_id stack, int direction, bl_h5_walk *walk, void *sink))                             \
    FUNCTION(int, H5Eclear2, (bl_h5_id stack))                                                                         \
    FUNCTION(bl_h5_id, H5FDregister, (const void *driver))                                                             \
    FUNCTION(bl_h5_id, H5Pcreate, (bl_h5_id class))                                                                    \
    FUNCTION(int, H5Pclose, (bl_h5_id list))                                                                           \
    FUNCTION(int, H5Pset_driver, (bl_h5_id list, bl_h5_id driver, const void *about))                                  \
    FUNCTION(const void *, H5Pget_driver_info, (bl_h5_id list))                                                        \
    FUNCTION(int, H5Pset_fclose_degree, (bl_h5_id list, int degree))                                                   \
    FUNCTION(int, H5Pset_chunk_cache, (bl_h5_id list, size_t slots, size_t bytes, double preempt))                     \
    FUNCTION(int, H5Pget_layout, (bl_h5_id list))                                                                      \
    FUNCTION(int, H5Pget_chunk, (bl_h5_id list, int rank, bl_h5_size *size))                                           \
    FUNCTION(int, H5Pget_external_count, (bl_h5_id list))                                                              \
    FUNCTION(int, H5Pget_nfilters, (bl_h5_id list))                                                                    \
    FUNCTION(int, H5Pget_filter2,                                                                                      \
             (bl_h5_id list, unsigned number, unsigned *flags, size_t *values, unsigned *value, size_t size,           \
              char *name, unsigned *config))                                                                           \
    FUNCTION(int, H5Zfilter_avail, (int filter))                                                                       \
    FUNCTION(bl_h5_id, H5Fopen, (const char *name, unsigned flags, bl_h5_id access))                                   \
    FUNCTION(int, H5Fclose, (bl_h5_id file))                                                                           \
    FUNCTION(bl_h5_id, H5Oopen, (bl_h5_id at, const char *name, bl_h5_id access))                                      \
    FUNCTION(int, H5Oclose, (bl_h5_id object))                                                                         \
    FUNCTION(int, H5Iget_type, (bl_h5_id id))                                                                          \
    FUNCTION(int, H5Literate,                                                                                          \
             (bl_h5_id group, int index, int direction, bl_h5_size *at, bl_h5_visit *visit, void *sink))               \
    FUNCTION(bl_h5_id, H5Dopen2, (bl_h5_id at, const char *name, bl_h5_id access))                                     \
    FUNCTION(int, H5Dclose, (bl_h5_id dataset))                                                                        \
    FUNCTION(bl_h5_id, H5Dget_space, (bl_h5_id dataset))                                                               \
    FUNCTION(bl_h5_id, H5Dget_type, (bl_h5_id dataset))                                                                \
    FUNCTION(bl_h5_id, H5Dget_create_plist, (bl_h5_id dataset))                                                        \
    FUNCTION(bl_h5_size, H5Dget_storage_size, (bl_h5_id dataset))                                                      \
    FUNCTION(int, H5Dread,                                                                                             \
             (bl_h5_id dataset, bl_h5_id type, bl_h5_id space, bl_h5_id file_space, bl_h5_id transfer, void *data))    \
    FUNCTION(int, H5Sclose, (bl_h5_id space))                                                                          \
    FUNCTION(int, H5Sget_simple_extent_type, (bl_h5_id space))                                                         \
    FUNCTION(int, H5Sget_simple_extent_ndims, (bl_h5_id space))                                                        \
    FUNCTION(int, H5Sget_simple_extent_dims, (bl_h5_id space, bl_h5_size * size, bl_h5_size * most))                   \
    FUNCTION(bl_h5_id, H5Screate_simple, (int rank, const bl_h5_size *size, const bl_h5_size *most))                   \
    FUNCTION(int, H5Sselect_hyperslab,                                                                                 \
             (bl_h5_id space, int operation, const bl_h5_size *start, const bl_h5_size *stride,                        \
              const bl_h5_size *count, const bl_h5_size *block))                                                       \
    FUNCTION(int, H5Tclose, (bl_h5_id type))                                                                           \
    FUNCTION(int, H5Tget_class, (bl_h5_id type))                                                                       \
    FUNCTION(size_t, H5Tget_size, (bl_h5_id type))                                                                     \
    FUNCTION(int, H5Tget_order, (bl_h5_id type))                                                                       \
    FUNCTION(int, H5Tget_sign, (bl_h5_id type))                                                                        \
    FUNCTION(size_t, H5Tget_precision, (bl_h5_id type))                                                                \
    FUNCTION(size_t, H5Tget_ebias, (bl_h5_id type))                                                                    \
    FUNCTION(int, H5Tget_fields,                                                                                       \
             (bl_h5_id type, size_t * sign, size_t * exponent, size_t * exponent_size, size_t * mantissa,              \
              size_t * mantissa_size))                                                                                 \
    FUNCTION(int, H5Tget_nmembers, (bl_h5_id type))                                                                    \
    FUNCTION(int, H5Tget_member_value, (bl_h5_id type, unsigned number, void *value))                                  \
    FUNCTION(int, H5Aexists, (bl_h5_id object, const char *name))                                                      \
    FUNCTION(bl_h5_id, H5Aopen, (bl_h5_id object, const char *name, bl_h5_id access))                                  \
    FUNCTION(bl_h5_id, H5Aget_type, (bl_h5_id attribute))                                                              \
    FUNCTION(int, H5Aread, (bl_h5_id attribute, bl_h5_id type, void *data))                                            \
    FUNCTION(int, H5Aclose, (bl_h5_id attribute))

#define BL_H5_DECLARE(result, name, parameters) result(*name) parameters;

/* The library, once it is loaded. */
struct bl_hdf5_library {
    BL_H5_FUNCTIONS(BL_H5_DECLARE)
    bl_h5_id file_access, dataset_access; /* classes of property lists */
    bl_h5_id driver;                      /* reads through struct bl_hdf5_source */
};

#undef BL_H5_DECLARE

/* --- library ------------------------------------------------------------------------------------------------------ */

/* Loads the library, or finds that it is loaded. It stays so until the process ends. One thread at a time may call this
 * and the functions of the library. BL_EUSAGE: it is not installed, and the message says what to install; or its
 * version is none of those above. */
int bl_hdf5_load(const struct bl_hdf5_library **library, struct bl_error *e);

/* Appends the version and the name of the library that would be loaded, such as "1.10.8 (libhdf5_serial.so.103)".
 * BL_EUSAGE as above. */
int bl_hdf5_describe(struct bl_buffer *out, struct bl_error *e);

/* --- source ------------------------------------------------------------------------------------------------------- */

/* From where the driver reads a file: HDF5 would open it by its name, which a decoder process may not. It is what
 * H5Pset_driver takes, and outlives the file. */
struct bl_hdf5_source {
    const struct bl_input_file *input;
    int64_t bytes; /* of the file */
    const struct bl_cancel *cancel;
    int *system_errno; /* set by a read that fails; ESTALE: the file has become shorter */
};

#endif
