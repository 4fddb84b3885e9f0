/* Datasets of HDF5 files by HDF5's library: finding them, their types and shapes, and their elements.
 *
 * Elements keep the bytes that the file has, and bload swaps them like those of other arrays, so that HDF5 converts
 * nothing. A read takes consecutive elements in the order of the file, which is C order; it is cut into boxes, because
 * HDF5 selects boxes. Elements 3 to 17 of the shape (5, 4) are the boxes [0, 3:4], [1:4, 0:4] and [4, 0:2].
 *
 * The library is not safe for threads in every build, so that a lock allows one call at a time. Decoder processes have
 * one thread, and never wait for it. */
#include "kind/array/hdf5.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "base/fs.h"
#include "kind/array/choice.h"
#include "kind/array/hdf5_library.h"

#define SIGNATURE "\x89HDF\r\n\x1a\n"
#define SIGNATURE_SIZE 8
#define MATLAB "MATLAB 7.3 MAT-file"
#define CACHE_MAX ((int64_t)64 << 20) /* bytes of chunks that are held, or one chunk if that is larger */
#define CHUNK_MAX ((int64_t)1 << 30)  /* bytes of a chunk that is read */
#define AT_ONCE ((int64_t)8 << 20)    /* bytes that one call reads, so that a cancel takes effect soon */
#define DEFLATE_RATIO 1032            /* bytes that one deflated byte can become. Source: zlib, Technical Details */
#define GROUPS_MAX 32                 /* groups in each other; links can lead back up */
#define CLOSE_ALL 3                   /* closing a file closes what is open in it */

static pthread_mutex_t hdf5_lock = PTHREAD_MUTEX_INITIALIZER; /* of all calls of the library */

struct bl_hdf5 {
    const struct bl_hdf5_library *library;
    const char *path; /* for messages; the caller's */
    struct bl_input_file input;
    struct bl_hdf5_source source;
    int system_errno; /* of a read that failed, or 0 */
    bool is_matlab;
    bl_h5_id file, dataset, type, space; /* -1: not open */
    struct bl_buffer name;               /* of the dataset */
    int rank;
    bl_h5_size size[BL_H5_RANK_MAX];
    int64_t element; /* bytes */
    int64_t memory;
};

bool bl_hdf5_is(const uint8_t *head, size_t size)
{
    return (size >= SIGNATURE_SIZE && memcmp(head, SIGNATURE, SIGNATURE_SIZE) == 0) ||
           (size >= strlen(MATLAB) && memcmp(head, MATLAB, strlen(MATLAB)) == 0);
}

bool bl_hdf5_has_name(const char *path)
{
    static const char *const extensions[] = {"h5", "hdf5", "mat", NULL};
    char file[PATH_MAX];
    const char *name = bl_member_file(path, file);
    return name && bl_path_has_extension(name, extensions);
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

/* Takes the first text of the stack, which says what went wrong in the innermost function. */
static int hdf5_take_text(unsigned number, const struct bl_h5_error *error, void *sink)
{
    const char **text = sink;
    (void)number;
    if (!*text)
        *text = error->text;
    return 0;
}

/* Reports the failure of the last call: a cancel, a failing system, or otherwise a damaged file. */
static int hdf5_error_set(const struct bl_hdf5 *f, const char *what, struct bl_error *e)
{
    const char *text = NULL;
    if (bl_cancelled(f->source.cancel))
        return bl_error_set(e, BL_ECANCEL, "cancelled");
    if (f->system_errno) {
        errno = f->system_errno;
        return bl_input_file_fail(f->path, "cannot be read", e);
    }
    (void)f->library->H5Ewalk2(0, 0, hdf5_take_text, &text);
    return bl_error_set(e, BL_EDATA, "%s: HDF5 says: %s", what, text ? text : "it fails");
}

/* --- file --------------------------------------------------------------------------------------------------------- */

/* Closes what is open. The caller has the lock. */
static void hdf5_close_all(struct bl_hdf5 *f)
{
    /* Nothing can be lost by closing a file that was only read. */
    if (f->space >= 0)
        (void)f->library->H5Sclose(f->space);
    if (f->type >= 0)
        (void)f->library->H5Tclose(f->type);
    if (f->dataset >= 0)
        (void)f->library->H5Dclose(f->dataset);
    if (f->file >= 0)
        (void)f->library->H5Fclose(f->file);
    f->space = f->type = f->dataset = f->file = -1;
}

/* Opens the file for reading, through bload's driver. The caller has the lock. */
static int hdf5_open_file(struct bl_hdf5 *f, const struct bl_input_file *input, int64_t bytes,
                          const struct bl_cancel *cancel, struct bl_error *e)
{
    uint8_t head[sizeof MATLAB] = {0};
    f->file = f->dataset = f->type = f->space = -1;
    struct bl_error fault = {0};
    /* Without the library the run cannot go on: it is not about this file. */
    if (bl_hdf5_load(&f->library, &fault))
        return bl_error_pass(e, BL_EFAIL, &fault);
    f->input = *input;
    f->source =
        (struct bl_hdf5_source){.input = &f->input, .bytes = bytes, .cancel = cancel, .system_errno = &f->system_errno};
    f->is_matlab = bl_input_file_pread(input, head, strlen(MATLAB), 0) == (ssize_t)strlen(MATLAB) &&
                   memcmp(head, MATLAB, strlen(MATLAB)) == 0;
    const struct bl_hdf5_library *h = f->library;
    /* HDF5 would print errors. The setting belongs to a thread. */
    (void)h->H5Eset_auto2(0, NULL, NULL);
    bl_h5_id access = h->H5Pcreate(h->file_access);
    bool ready = access >= 0 && h->H5Pset_driver(access, h->driver, &f->source) >= 0 &&
                 h->H5Pset_fclose_degree(access, CLOSE_ALL) >= 0;
    f->file = ready ? h->H5Fopen("bload", 0, access) : -1;
    int code = f->file >= 0 ? BL_OK : hdf5_error_set(f, "damaged or truncated", e);
    if (access >= 0)
        (void)h->H5Pclose(access);
    return code;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* The walk through the groups of a file. */
struct hdf5_walk {
    const struct bl_hdf5 *file;
    struct bl_buffer path; /* of the object that is visited */
    int depth;
    bl_array_take *take;
    void *sink;
    int code;
    struct bl_error *e;
};

static int hdf5_visit_group(struct hdf5_walk *w, bl_h5_id group);

/* Visits an object of a group: a dataset is taken, a group visited. Links by name lead to the same objects, or to other
 * files, and are left out. Returns 0, or -1 after an error, which ends the walk. */
static int hdf5_visit_link(bl_h5_id group, const char *name, const void *about, void *sink)
{
    struct hdf5_walk *w = sink;
    const struct bl_hdf5_library *h = w->file->library;
    size_t above = w->path.size;
    int link;
    memcpy(&link, about, sizeof link);
    /* MATLAB keeps the contents of cells in the group #refs#, and more of its own in #subsystem#. */
    if (link || (w->file->is_matlab && w->depth == 1 && name[0] == '#'))
        return 0;
    bl_buffer_printf(&w->path, "%s%s", above ? "/" : "", name);
    w->code = bl_buffer_check(&w->path, w->e);
    bl_h5_id object = w->code ? -1 : h->H5Oopen(group, name, 0);
    int type = object >= 0 ? h->H5Iget_type(object) : -1;
    if (!w->code && object < 0)
        w->code = hdf5_error_set(w->file, w->path.data, w->e);
    else if (type == BL_H5_DATASET)
        w->code = w->take(w->sink, w->path.data, w->e);
    else if (type == BL_H5_GROUP)
        w->code = hdf5_visit_group(w, object);
    if (object >= 0)
        (void)h->H5Oclose(object);
    w->path.size = above;
    return w->code ? -1 : 0;
}

/* Visits the links of a group, in the order of their names. */
static int hdf5_visit_group(struct hdf5_walk *w, bl_h5_id group)
{
    bl_h5_size at = 0;
    if (w->depth == GROUPS_MAX)
        return bl_error_set(w->e, BL_EDATA, "%s: more than %d groups in each other", w->path.data, GROUPS_MAX);
    w->depth++;
    int done = w->file->library->H5Literate(group, BL_H5_BY_NAME, BL_H5_INCREASING, &at, hdf5_visit_link, w);
    w->depth--;
    return w->code || done >= 0 ? w->code : hdf5_error_set(w->file, "a damaged group", w->e);
}

/* Passes the names of all datasets to take. The caller has the lock. */
static int hdf5_walk_file(const struct bl_hdf5 *f, bl_array_take *take, void *sink, struct bl_error *e)
{
    struct hdf5_walk w = {.file = f, .take = take, .sink = sink, .e = e};
    int code = hdf5_visit_group(&w, f->file);
    bl_buffer_free(&w.path);
    return code;
}

/* The search for the dataset that is meant. */
struct hdf5_search {
    struct bl_array_choice choice;
    struct bl_buffer *found;
};

static int hdf5_search_take(void *sink, const char *name, struct bl_error *e)
{
    struct hdf5_search *s = sink;
    if (bl_array_choice_offer(&s->choice, name, strlen(name))) {
        bl_buffer_clear(s->found);
        bl_buffer_text(s->found, name);
    }
    return bl_buffer_check(s->found, e);
}

/* Opens the dataset of that name. Without a name, or with a pattern, the file is searched; and also for the names in a
 * message. The caller has the lock. */
static int hdf5_open_dataset(struct bl_hdf5 *f, const char *name, struct bl_error *e)
{
    const char *wanted = name && *name == '/' ? name + 1 : name; /* "/x" is "x" */
    struct hdf5_search s = {.choice = {.name = wanted,
                                       .is_pattern = bl_array_name_is_pattern(wanted),
                                       .one = "an HDF5 file",
                                       .file = "the file"},
                            .found = &f->name};
    bl_buffer_text(&f->name, wanted ? wanted : "");
    BL_TRY(bl_buffer_check(&f->name, e));
    f->dataset = wanted ? f->library->H5Dopen2(f->file, wanted, 0) : -1;
    if (f->dataset >= 0)
        return BL_OK;
    int code = hdf5_walk_file(f, hdf5_search_take, &s, e);
    if (!code)
        code = bl_array_choice_check(&s.choice, e);
    if (!code) {
        f->dataset = f->library->H5Dopen2(f->file, f->name.data, 0);
        code = f->dataset >= 0 ? BL_OK : hdf5_error_set(f, f->name.data, e);
    }
    bl_array_choice_free(&s.choice);
    return code;
}

/* --- elements ----------------------------------------------------------------------------------------------------- */

/* Returns the type of a float in IEEE's formats, or -1. */
static int hdf5_float_type(const struct bl_hdf5 *f)
{
    static const struct {
        size_t bytes, sign, exponent, exponent_size, mantissa, mantissa_size, bias;
        enum bl_dtype type;
    } formats[] = {{2, 15, 10, 5, 0, 10, 15, BL_F16},
                   {2, 15, 7, 8, 0, 7, 127, BL_BF16},
                   {4, 31, 23, 8, 0, 23, 127, BL_F32},
                   {8, 63, 52, 11, 0, 52, 1023, BL_F64}};
    const struct bl_hdf5_library *h = f->library;
    size_t sign, exponent, exponent_size, mantissa, mantissa_size, bytes = h->H5Tget_size(f->type);
    if (h->H5Tget_fields(f->type, &sign, &exponent, &exponent_size, &mantissa, &mantissa_size) < 0)
        return -1;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (formats[i].bytes == bytes && formats[i].sign == sign && formats[i].exponent == exponent &&
            formats[i].exponent_size == exponent_size && formats[i].mantissa == mantissa &&
            formats[i].mantissa_size == mantissa_size && formats[i].bias == h->H5Tget_ebias(f->type))
            return (int)formats[i].type;
    }
    return -1;
}

/* Returns the type of an integer, or -1. */
static int hdf5_integer_type(const struct bl_hdf5 *f)
{
    static const enum bl_dtype types[2][9] = {{[1] = BL_U8, [2] = BL_U16, [4] = BL_U32, [8] = BL_U64},
                                              {[1] = BL_I8, [2] = BL_I16, [4] = BL_I32, [8] = BL_I64}};
    size_t bytes = f->library->H5Tget_size(f->type);
    int sign = f->library->H5Tget_sign(f->type);
    if ((bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) || (sign != BL_H5_UNSIGNED && sign != BL_H5_SIGNED))
        return -1;
    return (int)types[sign][bytes];
}

/* Returns BL_BOOL for h5py's booleans, which are an enumeration of 0 and 1 in a byte, or -1. */
static int hdf5_enum_type(const struct bl_hdf5 *f)
{
    int8_t value[2] = {-1, -1};
    bool is = f->library->H5Tget_size(f->type) == 1 && f->library->H5Tget_nmembers(f->type) == 2;
    for (unsigned i = 0; i < 2 && is; i++)
        is = f->library->H5Tget_member_value(f->type, i, &value[i]) >= 0;
    return is && value[0] + value[1] == 1 && value[0] * value[1] == 0 ? (int)BL_BOOL : -1;
}

/* Sets the type of the elements. */
static int hdf5_set_type(struct bl_hdf5 *f, struct bl_npy *npy, struct bl_error *e)
{
    static const char *const names[] = {"integers",     "floats",       "times",      "texts",
                                        "bits",         "opaque bytes", "structures", "references",
                                        "enumerations", "sequences",    "arrays"};
    f->type = f->library->H5Dget_type(f->dataset);
    int class = f->type >= 0 ? f->library->H5Tget_class(f->type) : -1;
    if (class < 0)
        return hdf5_error_set(f, "the type of its elements", e);
    int type = class == BL_H5_INTEGER ? hdf5_integer_type(f)
               : class == BL_H5_FLOAT ? hdf5_float_type(f)
               : class == BL_H5_ENUM  ? hdf5_enum_type(f)
                                      : -1;
    int order = type >= 0 ? f->library->H5Tget_order(f->type) : BL_H5_LITTLE;
    size_t bytes = f->library->H5Tget_size(f->type);
    bool whole = class == BL_H5_ENUM || type < 0 || f->library->H5Tget_precision(f->type) == 8 * bytes;
    if (type < 0 || !whole || (order != BL_H5_LITTLE && order != BL_H5_BIG && bytes > 1))
        return bl_error_set(e, BL_EDATA,
                            "its elements are %s of %zu bytes: booleans, integers of 8 to 64 bits and "
                            "floats of 16 to 64 can be read",
                            class < (int)(sizeof names / sizeof *names) ? names[class] : "of an unknown type", bytes);
    npy->dtype = (enum bl_dtype)type;
    npy->big_endian = order == BL_H5_BIG && bytes > 1;
    f->element = (int64_t)bytes;
    return BL_OK;
}

/* Reads the text of a MATLAB attribute; "" if there is none. */
static void hdf5_read_attribute(const struct bl_hdf5 *f, const char *name, char *text, size_t size)
{
    const struct bl_hdf5_library *h = f->library;
    memset(text, 0, size);
    bl_h5_id attribute = h->H5Aexists(f->dataset, name) > 0 ? h->H5Aopen(f->dataset, name, 0) : -1;
    bl_h5_id type = attribute >= 0 ? h->H5Aget_type(attribute) : -1;
    /* The text has a fixed size; anything else, or a longer one, is none of MATLAB's. */
    if (type >= 0 && h->H5Tget_class(type) == BL_H5_STRING && h->H5Tget_size(type) < size)
        (void)h->H5Aread(attribute, type, text);
    text[size - 1] = '\0';
    if (type >= 0)
        (void)h->H5Tclose(type);
    if (attribute >= 0)
        (void)h->H5Aclose(attribute);
}

/* Refuses what MATLAB stores as numbers and are none: texts, and empty arrays, of which the file has the shape. */
static int hdf5_check_matlab(const struct bl_hdf5 *f, struct bl_error *e)
{
    static const char *const numbers[] = {"",      "double", "single", "logical", "int8",  "uint8",
                                          "int16", "uint16", "int32",  "uint32",  "int64", "uint64"};
    char class[32];
    bool known = false;
    if (!f->is_matlab)
        return BL_OK;
    hdf5_read_attribute(f, "MATLAB_class", class, sizeof class);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        known |= strcmp(class, numbers[i]) == 0;
    if (!known)
        return bl_error_set(e, BL_EDATA, "a %s of MATLAB: only numbers can be read", class);
    if (f->library->H5Aexists(f->dataset, "MATLAB_empty") > 0)
        return bl_error_set(e, BL_EDATA, "an empty array of MATLAB");
    return BL_OK;
}

/* --- shape -------------------------------------------------------------------------------------------------------- */

/* Sets rank, shape and bytes. MATLAB's arrays have their first axis innermost, and HDF5 has its axes outermost first:
 * the shape is reversed, and the order is Fortran's. */
static int hdf5_set_shape(struct bl_hdf5 *f, struct bl_npy *npy, struct bl_error *e)
{
    const struct bl_hdf5_library *h = f->library;
    int64_t bytes = f->element;
    bool empty = false;
    f->space = h->H5Dget_space(f->dataset);
    f->rank = f->space >= 0 ? h->H5Sget_simple_extent_ndims(f->space) : -1;
    if (f->rank < 0 || f->rank > BL_H5_RANK_MAX || h->H5Sget_simple_extent_dims(f->space, f->size, NULL) < 0)
        return hdf5_error_set(f, "its shape", e);
    if (h->H5Sget_simple_extent_type(f->space) == BL_H5_NULL_SPACE)
        return bl_error_set(e, BL_EDATA, "a dataset without elements");
    npy->rank = f->rank;
    for (int i = 0; i < f->rank; i++) {
        bl_h5_size size = f->size[i];
        if (size > INT64_MAX || (size && bytes > INT64_MAX / (int64_t)size))
            return bl_error_set(e, BL_EDATA, "an impossible shape");
        npy->shape[f->is_matlab ? f->rank - 1 - i : i] = (int64_t)size;
        bytes *= size ? (int64_t)size : 1;
        empty |= !size;
    }
    npy->fortran = f->is_matlab;
    npy->bytes = empty ? 0 : bytes;
    return BL_OK;
}

/* --- storage ------------------------------------------------------------------------------------------------------ */

/* Checks that the library has the filters. *packs: there are some. */
static int hdf5_check_filters(const struct bl_hdf5 *f, bl_h5_id list, bool *packs, struct bl_error *e)
{
    const struct bl_hdf5_library *h = f->library;
    int filters = h->H5Pget_nfilters(list);
    *packs = false;
    for (int i = 0; i < filters; i++) {
        char name[64] = "";
        unsigned flags, config;
        size_t values = 0;
        int filter = h->H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, sizeof name, name, &config);
        if (filter < 0)
            return hdf5_error_set(f, "its filters", e);
        if (h->H5Zfilter_avail(filter) <= 0)
            return bl_error_set(e, BL_EDATA,
                                "compressed by the filter %d%s%s%s, which HDF5's library does not have: rewrite it "
                                "(h5repack -f GZIP=4, where the filter is installed)",
                                filter, *name ? " (" : "", name, *name ? ")" : "");
        *packs = true;
    }
    return filters < 0 ? hdf5_error_set(f, "its filters", e) : BL_OK;
}

/* Opens a dataset of chunks again, with room for those that a read in order needs: all that lie side by side along the
 * first axis. Otherwise every row of elements would inflate its chunks again. */
static int hdf5_set_cache(struct bl_hdf5 *f, bl_h5_id list, struct bl_error *e)
{
    const struct bl_hdf5_library *h = f->library;
    bl_h5_size size[BL_H5_RANK_MAX];
    int64_t chunk = f->element, cache;
    if (h->H5Pget_chunk(list, BL_H5_RANK_MAX, size) != f->rank)
        return hdf5_error_set(f, "its chunks", e);
    for (int i = 0; i < f->rank; i++) {
        if (!size[i] || size[i] > (bl_h5_size)(CHUNK_MAX / chunk))
            return bl_error_set(e, BL_EDATA, "chunks of more than 1 GiB: rewrite it (h5repack -l CHUNK=...)");
        chunk *= (int64_t)size[i];
    }
    cache = chunk;
    for (int i = 1; i < f->rank && cache < CACHE_MAX; i++) {
        bl_h5_size beside = (f->size[i] + size[i] - 1) / size[i];
        cache = beside < (bl_h5_size)(CACHE_MAX / cache + 1) ? cache * (int64_t)(beside ? beside : 1) : CACHE_MAX;
    }
    cache = cache > chunk ? cache : chunk;
    f->memory = cache + 3 * chunk; /* a filter has its input and its output */
    bl_h5_id access = h->H5Pcreate(h->dataset_access);
    /* Ten slots for each chunk keep two of them from the same slot; HDF5 advises a hundred. */
    bool ready =
        access >= 0 && h->H5Pset_chunk_cache(access, (size_t)(10 * (cache / chunk)) + 521, (size_t)cache, 1) >= 0;
    (void)h->H5Dclose(f->dataset);
    f->dataset = ready ? h->H5Dopen2(f->file, f->name.data, access) : -1;
    int code = f->dataset >= 0 ? BL_OK : hdf5_error_set(f, "its chunks", e);
    if (access >= 0)
        (void)h->H5Pclose(access);
    return code;
}

/* Checks that the elements are in this file, that the library can decompress them, and that so many can be there. */
static int hdf5_check_storage(struct bl_hdf5 *f, const struct bl_npy *npy, struct bl_error *e)
{
    const struct bl_hdf5_library *h = f->library;
    bool packs = false;
    int64_t stored = (int64_t)h->H5Dget_storage_size(f->dataset);
    bl_h5_id list = h->H5Dget_create_plist(f->dataset);
    int layout = list >= 0 ? h->H5Pget_layout(list) : -1, code = BL_OK;
    if (layout < 0)
        code = hdf5_error_set(f, "its layout", e);
    else if (layout == BL_H5_VIRTUAL || (layout == BL_H5_CONTIGUOUS && h->H5Pget_external_count(list) != 0))
        code = bl_error_set(e, BL_EDATA, "its elements are in other files, which are not read: copy it by h5repack");
    if (!code)
        code = hdf5_check_filters(f, list, &packs, e);
    /* A file of some kilobytes may state terabytes of which nothing was written. */
    if (!code && npy->bytes / (packs ? DEFLATE_RATIO : 1) > stored)
        code =
            bl_error_set(e, BL_EDATA, "truncated: its shape is that of %" PRId64 " bytes, and %" PRId64 " are stored",
                         npy->bytes, stored);
    if (!code && layout == BL_H5_CHUNKED)
        code = hdf5_set_cache(f, list, e);
    if (list >= 0)
        (void)h->H5Pclose(list);
    return code;
}

/* --- open and read ------------------------------------------------------------------------------------------------ */

/* Opens file and dataset; the caller closes what is open. */
static int hdf5_open(struct bl_hdf5 *f, const struct bl_input_file *input, int64_t bytes, const char *name,
                     const struct bl_cancel *cancel, struct bl_npy *npy, struct bl_error *e)
{
    *npy = (struct bl_npy){0};
    BL_TRY(hdf5_open_file(f, input, bytes, cancel, e));
    BL_TRY(hdf5_open_dataset(f, name, e));
    BL_TRY(hdf5_check_matlab(f, e));
    BL_TRY(hdf5_set_type(f, npy, e));
    BL_TRY(hdf5_set_shape(f, npy, e));
    return BL_OK;
}

int bl_hdf5_open(struct bl_hdf5 **file, const struct bl_input_file *input, int64_t bytes, const char *path,
                 const char *name, const struct bl_cancel *cancel, struct bl_npy *npy, struct bl_error *e)
{
    struct bl_hdf5 *f = calloc(1, sizeof *f);
    if (!f)
        return bl_error_memory(e);
    f->path = path;
    pthread_mutex_lock(&hdf5_lock);
    int code = hdf5_open(f, input, bytes, name, cancel, npy, e);
    if (!code && npy->bytes)
        code = hdf5_check_storage(f, npy, e);
    if (code && f->library)
        hdf5_close_all(f);
    pthread_mutex_unlock(&hdf5_lock);
    if (code) {
        bl_buffer_free(&f->name);
        free(f);
    } else {
        *file = f;
    }
    return code;
}

void bl_hdf5_close(struct bl_hdf5 *f)
{
    pthread_mutex_lock(&hdf5_lock);
    hdf5_close_all(f);
    pthread_mutex_unlock(&hdf5_lock);
    bl_buffer_free(&f->name);
    free(f);
}

int64_t bl_hdf5_memory(const struct bl_hdf5 *f)
{
    return f->memory;
}

/* Reads the largest box that begins with element `first` and has at most `count`. Returns its elements, or 0 after an
 * error. */
static int64_t hdf5_read_box(struct bl_hdf5 *f, int64_t first, int64_t count, void *data, struct bl_error *e)
{
    const struct bl_hdf5_library *h = f->library;
    bl_h5_size start[BL_H5_RANK_MAX] = {0}, extent[BL_H5_RANK_MAX] = {0}, elements;
    int64_t inside = 1, rest = first; /* elements of one entry along the axis */
    int axis = f->rank - 1;
    /* Whole entries along an outer axis make a larger box. */
    while (axis > 0 && first % (inside * (int64_t)f->size[axis]) == 0 && count >= inside * (int64_t)f->size[axis])
        inside *= (int64_t)f->size[axis--];
    for (int i = f->rank - 1; i >= 0; i--) {
        start[i] = (bl_h5_size)rest % f->size[i];
        extent[i] = i > axis ? f->size[i] : 1;
        rest /= (int64_t)f->size[i];
    }
    int64_t left = (int64_t)(f->size[axis] - start[axis]), entries = count / inside;
    extent[axis] = (bl_h5_size)(entries < left ? entries : left);
    elements = extent[axis] * (bl_h5_size)inside;
    bl_h5_id memory = h->H5Screate_simple(1, &elements, NULL);
    bool good = memory >= 0 && h->H5Sselect_hyperslab(f->space, 0, start, NULL, extent, NULL) >= 0 &&
                h->H5Dread(f->dataset, f->type, memory, f->space, 0, data) >= 0;
    if (!good)
        (void)hdf5_error_set(f, "damaged", e);
    if (memory >= 0)
        (void)h->H5Sclose(memory);
    return good ? (int64_t)elements : 0;
}

int bl_hdf5_read(struct bl_hdf5 *f, void *data, size_t size, int64_t offset, struct bl_error *e)
{
    int64_t most = AT_ONCE / f->element, done = 0, count = (int64_t)size / f->element, box = 1;
    pthread_mutex_lock(&hdf5_lock);
    while (done < count && box && !bl_cancelled(f->source.cancel)) {
        int64_t wanted = count - done < most ? count - done : most;
        box = hdf5_read_box(f, offset / f->element + done, wanted, (uint8_t *)data + done * f->element, e);
        done += box;
    }
    pthread_mutex_unlock(&hdf5_lock);
    if (done == count)
        return BL_OK;
    return box ? bl_error_set(e, BL_ECANCEL, "cancelled") : e->code;
}

int bl_hdf5_list(const struct bl_input_file *input, int64_t bytes, const char *path, const struct bl_cancel *cancel,
                 bl_array_take *take, void *sink, struct bl_error *e)
{
    struct bl_hdf5 f = {.path = path};
    pthread_mutex_lock(&hdf5_lock);
    int code = hdf5_open_file(&f, input, bytes, cancel, e);
    if (!code)
        code = hdf5_walk_file(&f, take, sink, e);
    if (f.library)
        hdf5_close_all(&f);
    pthread_mutex_unlock(&hdf5_lock);
    return code;
}

int bl_hdf5_prepare(struct bl_error *e)
{
    const struct bl_hdf5_library *library;
    pthread_mutex_lock(&hdf5_lock);
    int code = bl_hdf5_load(&library, e);
    pthread_mutex_unlock(&hdf5_lock);
    return code;
}

int bl_hdf5_append_version(struct bl_buffer *out, struct bl_error *e)
{
    pthread_mutex_lock(&hdf5_lock);
    int code = bl_hdf5_describe(out, e);
    pthread_mutex_unlock(&hdf5_lock);
    return code;
}
