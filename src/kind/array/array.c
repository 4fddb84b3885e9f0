/* The kind of arrays: a reader of pieces, the layout of an array's elements, and the entry in the list of kinds.
 *
 * numpy arrays come in any axis order, and a step of a block has its elements in C order without the axis of time. The
 * layout says where each element of the file belongs. Example: shape (3, 100, 2) with --time-axis 1 has 100 steps of
 * shape [3, 2]; elements [0, t, 0] and [1, t, 0] lie 200 elements apart in the file, and 2 apart in step t:
 *
 *     axes (size, stride):  (3, 2)  time (100, 6)  (2, 1)       outer 3, inner 2
 *
 * Arrays whose time axis comes first in C order need no rearrangement and are read straight into the block. */
#include "kind/array/array.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "base/buffer.h"
#include "base/text.h"
#include "kind/array/hdf5.h"
#include "kind/array/inflated.h"
#include "kind/array/listing.h"
#include "kind/array/npz.h"
#include "kind/reservation.h"

/* Prints the type and shape of a step, which all sequences of a dataset share: "F32 [25, 3]". Returns out. 128 bytes
 * hold the name of a type and BL_FIELD_RANK_MAX numbers of up to 19 digits. */
#define BL_ARRAY_FORM_MAX 128
char *bl_array_form_print(char out[BL_ARRAY_FORM_MAX], enum bl_dtype dtype, int rank, const int64_t *shape);

#define BL_ARRAY_READER_MEMORY ((int64_t)4 << 20) /* bytes: a tile of 1 MiB, and the state of libzip and zlib */

/* --- reader ------------------------------------------------------------------------------------------------------- */

/* A file that was split into pieces stays open while its pieces are read. The reader of a deflated array continues
 * where the last piece ended, or reads from a copy of the array (inflated.h). */

#define TILE ((int64_t)1 << 20) /* bytes of the file: fits the processor's cache, between reading and scattering */

/* The state of one worker. env, config and field belong to the caller and outlive the reader. */
struct array_reader {
    struct bl_reader base;
    const struct bl_array_config *config;
    const struct bl_kind_env *env;
    const struct bl_field *field;
    char *path; /* of the open file, or NULL */
    struct bl_array_file file;
    struct bl_array_layout layout;
    uint8_t *tile;
    int64_t overflows; /* values of this piece that became infinite */
};

/* Closes the open file, if any. */
static void array_reader_leave(struct array_reader *r)
{
    /* Nothing can be lost by closing a file that was only read. */
    if (r->path)
        bl_array_file_close(&r->file);
    free(r->path);
    r->path = NULL;
}

static void array_reader_close(struct bl_reader *reader)
{
    struct array_reader *r = (struct array_reader *)reader;
    array_reader_leave(r);
    free(r->tile);
    free(r);
}

/* --- opening a file ----------------------------------------------------------------------------------------------- */

/* Opens the row's file in place of the open one, and checks that it still is what the scan has counted. After
 * BL_EDATA the file may stay open: array_reader_piece closes it. */
static int array_reader_enter(struct array_reader *r, const struct bl_row *row, struct bl_error *e)
{
    array_reader_leave(r);
    char *path = strdup(row->path);
    if (!path)
        return bl_error_memory(e);
    int code = bl_array_file_open(&r->file, path, row->bytes, r->config->member, r->env->cancel, e);
    if (code) {
        free(path);
        return code;
    }
    r->path = path;
    if (r->file.hdf5)
        BL_TRY(bl_reservation_need(r->env->reservation, BL_ARRAY_READER_MEMORY + bl_hdf5_memory(r->file.hdf5), e));
    BL_TRY(bl_array_layout_make(&r->layout, &r->file.npy, r->config, e));
    /* The array must have the dataset's form. */
    const struct bl_array_layout *l = &r->layout;
    const struct bl_field *field = r->field;
    char here[BL_ARRAY_FORM_MAX], wanted[BL_ARRAY_FORM_MAX];
    if (l->dtype != field->dtype || l->rank != field->rank ||
        memcmp(l->shape, field->shape, (size_t)l->rank * sizeof *l->shape) != 0)
        return bl_error_set(e, BL_EDATA, "its steps are %s, those of the dataset %s",
                            bl_array_form_print(here, l->dtype, l->rank, l->shape),
                            bl_array_form_print(wanted, field->dtype, field->rank, field->shape));
    return BL_OK;
}

/* Checks that the open array has the steps of the row, which may be a segment of it. */
static int array_reader_check_length(const struct array_reader *r, const struct bl_row *row, struct bl_error *e)
{
    const int64_t steps = r->layout.steps;
    if (row->clip_end > steps)
        return bl_error_set(e, BL_EDATA, "the segment ends with row %" PRId64 ", the array has %" PRId64,
                            row->clip_end - 1, steps);
    if ((row->clip_end ? row->clip_end - row->clip_begin : steps) != row->length)
        return bl_error_set(e, BL_EDATA, "the scan counted %" PRId64 " rows, the header says %" PRId64, row->length,
                            steps);
    return BL_OK;
}

/* --- elements --------------------------------------------------------------------------------------------------- */

/* Swaps the bytes of `count` elements in place. The copies by memcpy are free, and data need not be aligned. */
#define SWAP_ALL(type, swap)                                                                                           \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        type value;                                                                                                    \
        memcpy(&value, data + i * (int64_t)sizeof value, sizeof value);                                                \
        value = swap(value);                                                                                           \
        memcpy(data + i * (int64_t)sizeof value, &value, sizeof value);                                                \
    }

static void elements_swap(uint8_t *data, int64_t count, size_t size)
{
    /* Single bytes have no order. */
    if (size == 2)
        SWAP_ALL(uint16_t, __builtin_bswap16)
    else if (size == 4)
        SWAP_ALL(uint32_t, __builtin_bswap32)
    else if (size == 8)
        SWAP_ALL(uint64_t, __builtin_bswap64)
}

/* Rounds F64 to F32 in place, to the nearest value. The narrow elements lie before the wide ones that are still to be
 * read. Finite values beyond the range of F32 become infinite; returns how many. */
static int64_t elements_narrow(uint8_t *data, int64_t count)
{
    int64_t overflows = 0;
    for (int64_t i = 0; i < count; i++) {
        double value;
        memcpy(&value, data + 8 * i, sizeof value);
        /* The compiler's conversion rounds to nearest, ties to even, on every processor (IEEE 754). */
        float nearest = (float)value;
        overflows += isinf(nearest) && !isinf(value);
        memcpy(data + 4 * i, &nearest, sizeof nearest);
    }
    return overflows;
}

/* Turns elements as the file has them into elements of the field. */
static void array_reader_decode(struct array_reader *r, uint8_t *data, int64_t count)
{
    const struct bl_array_layout *l = &r->layout;
    if (l->swap)
        elements_swap(data, count, bl_dtype_size(l->stored));
    if (l->dtype != l->stored)
        r->overflows += elements_narrow(data, count);
}

/* --- pieces ----------------------------------------------------------------------------------------------------- */

/* Reads `count` elements that are consecutive in the file from `first` on, tile by tile, and puts each at its place in
 * out, which begins with the step `start`. */
static int array_reader_read_region(struct array_reader *r, int64_t first, int64_t count, int64_t start, uint8_t *out,
                                    struct bl_error *e)
{
    const struct bl_array_layout *l = &r->layout;
    int64_t size = (int64_t)bl_dtype_size(l->stored);
    while (count > 0) {
        /* A tile has only complete elements. */
        int64_t part = count < TILE / size ? count : TILE / size;
        BL_TRY(bl_array_file_read(&r->file, r->tile, (size_t)(part * size), first * size, e));
        array_reader_decode(r, r->tile, part);
        bl_array_scatter(l, first, part, start, bl_dtype_size(l->dtype), r->tile, out);
        first += part;
        count -= part;
    }
    return BL_OK;
}

/* Reads a piece through the tile. A piece that is the whole array is one region of the file; another piece is one
 * region for each entry of the axes before time. In the example above, steps 10..19 lie in three regions. */
static int array_reader_read_tiles(struct array_reader *r, int64_t start, int64_t steps, uint8_t *out,
                                   struct bl_error *e)
{
    const struct bl_array_layout *l = &r->layout;
    if (steps == l->steps)
        return array_reader_read_region(r, 0, l->outer * steps * l->inner, start, out, e);
    for (int64_t o = 0; o < l->outer; o++) {
        BL_TRY(array_reader_read_region(r, (o * l->steps + start) * l->inner, steps * l->inner, start, out, e));
    }
    return BL_OK;
}

/* Reads a piece straight into the block, where the file has the elements of steps in the block's order. */
static int array_reader_read_contiguous(struct array_reader *r, int64_t start, int64_t steps, uint8_t *out,
                                        struct bl_error *e)
{
    int64_t size = r->layout.inner * (int64_t)bl_dtype_size(r->layout.stored);
    int code = bl_array_file_read(&r->file, out, (size_t)(steps * size), start * size, e);
    if (!code)
        array_reader_decode(r, out, steps * r->layout.inner);
    return code;
}

/* Finds the inflated copy of a deflated array where a forward read is not possible: the array is opened again for a
 * further piece, or the piece begins before the current position. Without a copy every piece would inflate the array
 * from its beginning, which is quadratic in the number of pieces. */
static int array_reader_find_copy(struct array_reader *r, const struct bl_request *request, bool at_hand,
                                  struct bl_error *e)
{
    struct bl_array_file *f = &r->file;
    int64_t start = request->row.clip_begin + request->source_start;
    int64_t first = start * r->layout.inner * (int64_t)bl_dtype_size(r->layout.stored);
    bool whole = !request->row.clip_end && request->steps == request->row.length;
    if (f->copy || whole || !bl_array_file_is_deflated(f))
        return BL_OK;
    if (at_hand && f->position <= f->npy.begin + first)
        return BL_OK;
    return bl_inflated_find(r->config->inflated, f, r->env->spool, &f->copy, e);
}

static int array_reader_read_piece(struct array_reader *r, const struct bl_request *request, bool last,
                                   struct bl_error *e)
{
    const struct bl_row *row = &request->row;
    const struct bl_array_layout *l = &r->layout;
    /* The next piece of the same file finds it open; its size shows that it is the same version. */
    bool at_hand = r->path && strcmp(r->path, row->path) == 0 && r->file.bytes == row->bytes;
    BL_TRY(at_hand ? BL_OK : array_reader_enter(r, row, e));
    BL_TRY(array_reader_check_length(r, row, e));
    BL_TRY(array_reader_find_copy(r, request, at_hand, e));
    int64_t start = row->clip_begin + request->source_start;
    int code = l->contiguous && l->dtype == l->stored
                   ? array_reader_read_contiguous(r, start, request->steps, request->out[0], e)
                   : array_reader_read_tiles(r, start, request->steps, request->out[0], e);
    /* After the last piece the rest of the archive's member is read, whose checksum covers all of it. A segment reads
     * its own rows alone. */
    if (code || !last || row->clip_end)
        return code;
    return bl_array_file_verify(&r->file, e);
}

/* Reads one piece. The file stays open for the next piece, unless this was the last one or a fault was found. */
static int array_reader_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                              struct bl_error *e)
{
    struct array_reader *r = (struct array_reader *)reader;
    bool last = request->source_start + request->steps == request->row.length;
    r->overflows = 0;
    note->text[0] = '\0';
    /* Notes are for the row: values that overflowed are no fault, and the user should know of them. */
    int code = array_reader_read_piece(r, request, last, e);
    if (r->overflows)
        snprintf(note->text, sizeof note->text, "%" PRId64 " values are beyond F32: made infinite", r->overflows);
    /* Other segments of the file may follow. */
    if (code || (last && !request->row.clip_end))
        array_reader_leave(r);
    return code;
}

/* Makes a reader with its tile. The caller closes it by its `close`. */
static int array_reader_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                             struct bl_reader **reader, struct bl_error *e)
{
    struct array_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    *r = (struct array_reader){.base = {array_reader_piece, array_reader_close},
                               .config = config,
                               .env = env,
                               .field = &fields->field[0],
                               .tile = malloc(TILE)};
    if (!r->tile) {
        array_reader_close(&r->base);
        return bl_error_memory(e);
    }
    *reader = &r->base;
    return BL_OK;
}

/* --- layout ------------------------------------------------------------------------------------------------------- */

/* Layout: where the elements of an array belong in its steps. A pure function of the array's header and the options. */

#define STEP_BYTES_MAX ((int64_t)1 << 40) /* products of step size and steps stay far below 2^63 */

char *bl_array_form_print(char out[BL_ARRAY_FORM_MAX], enum bl_dtype dtype, int rank, const int64_t *shape)
{
    int used = snprintf(out, BL_ARRAY_FORM_MAX, "%s [", bl_dtype_name(dtype));
    for (int i = 0; i < rank; i++)
        used += snprintf(out + used, (size_t)(BL_ARRAY_FORM_MAX - used), "%s%" PRId64, i ? ", " : "", shape[i]);
    snprintf(out + used, (size_t)(BL_ARRAY_FORM_MAX - used), "]");
    return out;
}

/* Rejects an array. The message ends with the array's shape as Python writes it: "(3,)" has a comma, "(3, 4)" none. */
static int npy_reject(const struct bl_npy *npy, const char *why, struct bl_error *e)
{
    struct bl_buffer shape = {0};
    for (int i = 0; i < npy->rank; i++)
        bl_buffer_printf(&shape, "%s%" PRId64, i ? ", " : "", npy->shape[i]);
    int code = bl_buffer_check(&shape, e);
    if (code)
        goto out;
    code = bl_error_set(e, BL_EDATA, "%s: its shape is (%s%s)", why, shape.size ? shape.data : "",
                        npy->rank == 1 ? "," : "");
out:
    bl_buffer_free(&shape);
    return code;
}

/* Sets the shape of a step, and for each axis of the array its stride in consecutive steps in C order. The loop runs
 * from the last axis, whose stride is 1; the axis of time comes last, with the stride of a complete step. */
static int layout_set_shape(struct bl_array_layout *l, const struct bl_npy *npy, int time, bool squeeze,
                            int64_t stride[BL_NPY_RANK_MAX], struct bl_error *e)
{
    l->elements = 1;
    for (int i = npy->rank - 1; i >= 0; i--) {
        stride[i] = l->elements;
        if (i == time || (squeeze && npy->shape[i] == 1))
            continue;
        if (l->rank == BL_FIELD_RANK_MAX)
            return npy_reject(npy, "more than 4 axes beside time (--squeeze drops those of size 1)", e);
        memmove(l->shape + 1, l->shape, (size_t)l->rank * sizeof *l->shape);
        l->shape[0] = npy->shape[i];
        l->rank++;
        l->elements *= npy->shape[i]; /* cannot overflow: the bytes of the whole array fit an int64_t */
    }
    stride[time] = l->elements;
    /* A division by 8, the largest element, keeps the bytes of a step within the limit. */
    return l->elements <= STEP_BYTES_MAX / 8 ? BL_OK : npy_reject(npy, "steps too large", e);
}

/* Adds an axis, outermost first. Axes that are neighbours in the file and in a step are merged, so that scatter copies
 * longer runs: (4, 6), (6, 1) becomes (24, 1). The axis of time stays by itself, because pieces divide it. */
static void layout_add_axis(struct bl_array_layout *l, struct bl_array_axis axis, bool is_time)
{
    struct bl_array_axis *last = l->axes ? &l->axis[l->axes - 1] : NULL;
    if (axis.size == 1 && !is_time)
        return;
    if (last && !is_time && l->time != l->axes - 1 && last->stride == axis.size * axis.stride) {
        last->size *= axis.size;
        last->stride = axis.stride;
        return;
    }
    if (is_time)
        l->time = l->axes;
    l->axis[l->axes++] = axis;
}

/* Sets the types of an element in the file and in the field, which differ only where --dtype f32 rounds F64. */
static int layout_set_types(struct bl_array_layout *l, const struct bl_npy *npy, bool narrow, struct bl_error *e)
{
    l->stored = l->dtype = npy->dtype;
    l->swap = npy->big_endian;
    if (!narrow || npy->dtype == BL_F32)
        return BL_OK;
    if (npy->dtype != BL_F64)
        return bl_error_set(e, BL_EDATA, "an array of %s: --dtype f32 takes F64 and F32", bl_dtype_name(npy->dtype));
    l->dtype = BL_F32;
    return BL_OK;
}

int bl_array_layout_make(struct bl_array_layout *l, const struct bl_npy *npy, const struct bl_array_config *config,
                         struct bl_error *e)
{
    int64_t stride[BL_NPY_RANK_MAX];
    /* -1 is the last axis, as in numpy. */
    int time = (int)config->time_axis + (config->time_axis < 0 ? npy->rank : 0);
    *l = (struct bl_array_layout){.time = -1, .outer = 1, .inner = 1};
    if (npy->rank == 0)
        return bl_error_set(e, BL_EDATA, "a single number: there is no axis of steps");
    if (time < 0 || time >= npy->rank)
        return npy_reject(npy, "no such axis (--time-axis)", e);
    l->steps = npy->shape[time];
    if (config->takes_empty && !l->steps)
        return BL_OK;
    if (npy->bytes == 0)
        return npy_reject(npy, l->steps ? "steps without elements" : "no steps", e);
    if (l->steps > INT32_MAX)
        return npy_reject(npy, "too long: at most 2147483647 steps can be used", e);
    BL_TRY(layout_set_types(l, npy, config->common.dtype == BL_ARRAY_F32, e));
    BL_TRY(layout_set_shape(l, npy, time, config->squeeze, stride, e));
    /* In Fortran order the first axis varies fastest, so that the axes are taken from the last one to the first. */
    for (int i = 0; i < npy->rank; i++) {
        int a = npy->fortran ? npy->rank - 1 - i : i;
        layout_add_axis(l, (struct bl_array_axis){npy->shape[a], stride[a]}, a == time);
    }
    for (int i = 0; i < l->axes; i++) {
        l->outer *= i < l->time ? l->axis[i].size : 1;
        l->inner *= i > l->time ? l->axis[i].size : 1;
    }
    /* Time is outermost, and the other axes have merged into one run of elements with stride 1. */
    l->contiguous = l->time == 0 && (l->axes == 1 || (l->axes == 2 && l->axis[1].stride == 1));
    return BL_OK;
}

/* --- scattering ------------------------------------------------------------------------------------------------- */

/* memcpy of a constant size is one load and one store. */
#define COPY_RUN(type)                                                                                                 \
    for (int64_t i = 0; i < count; i++)                                                                                \
    memcpy(out + i * stride * (int64_t)sizeof(type), from + i * (int64_t)sizeof(type), sizeof(type))

/* Copies consecutive elements to places that are `stride` elements apart. The four loops differ in the size alone,
 * which the compiler must know. */
static void elements_copy(const uint8_t *from, uint8_t *out, int64_t count, int64_t stride, size_t size)
{
    if (stride == 1)
        memcpy(out, from, (size_t)count * size);
    else if (size == 1)
        COPY_RUN(uint8_t);
    else if (size == 2)
        COPY_RUN(uint16_t);
    else if (size == 4)
        COPY_RUN(uint32_t);
    else
        COPY_RUN(uint64_t);
}

/* Walks the elements in the file's order like an odometer: `at` holds the index along each axis, and `to` the place in
 * out. One turn copies a run along the innermost axis, then carries into the outer ones. */
void bl_array_scatter(const struct bl_array_layout *l, int64_t first, int64_t count, int64_t start, size_t size,
                      const uint8_t *from, uint8_t *out)
{
    int64_t at[BL_NPY_RANK_MAX], rest = first, to = -start * l->axis[l->time].stride;
    int last = l->axes - 1;
    for (int i = last; i >= 0; i--) {
        at[i] = rest % l->axis[i].size;
        rest /= l->axis[i].size;
        to += at[i] * l->axis[i].stride;
    }
    while (count > 0) {
        const struct bl_array_axis *axis = &l->axis[last];
        int64_t run = axis->size - at[last] < count ? axis->size - at[last] : count;
        elements_copy(from, out + to * (int64_t)size, run, axis->stride, size);
        from += run * (int64_t)size;
        count -= run;
        /* Each axis that is complete returns to its start, and the next outer one advances by 1. */
        at[last] += run;
        to += run * axis->stride;
        for (int i = last; i > 0 && at[i] == l->axis[i].size; i--) {
            to += l->axis[i - 1].stride - l->axis[i].size * l->axis[i].stride;
            at[i] = 0;
            at[i - 1]++;
        }
    }
}

/* --- kind --------------------------------------------------------------------------------------------------------- */

/* A folder of .npy files is a source of arrays, because array comes before text in the list of kinds; --kind text reads
 * such files as token ids. */
static const char *const extensions[] = {"npz", "npy", "safetensors", "h5", "hdf5", "mat", NULL};

/* In the order of enum bl_array_dtype. */
static const char *const dtypes[] = {"same", "f32", NULL};

static const struct bl_option options[] = {
    BL_OPTION_STRING("array", struct bl_array_config, member, BL_AFFECTS_LENGTHS,
                     "array of a file that has several (.npz, .safetensors, .h5, .mat); * in it means any characters",
                     .placeholder = "NAME"),
    BL_OPTION_INT("time-axis", struct bl_array_config, time_axis, BL_AFFECTS_LENGTHS,
                  "axis of the steps in the file; -1: the last", .initial = "0", .min = -BL_NPY_RANK_MAX,
                  .max = BL_NPY_RANK_MAX - 1, .placeholder = "N"),
    BL_OPTION_FLAG("squeeze", struct bl_array_config, squeeze, BL_AFFECTS_LENGTHS, "drop other axes of size 1"),
    BL_OPTION_RATIONAL("step-rate", struct bl_array_config, step_rate, BL_AFFECTS_LENGTHS,
                       "rows per second: start and end of lists are then times, and the length of the data is known",
                       .unlisted = true),
    BL_OPTION_STRING("name", struct bl_array_config, name, BL_AFFECTS_BYTES, "name of the field in the shards",
                     .initial = "array", .placeholder = "NAME"),
    {0},
};

/* The name becomes a key in the headers of shards and a part of file names, so that its characters are limited. */
static int array_config_check(const void *values, struct bl_error *e)
{
    const struct bl_array_config *config = values;
    static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t size = strlen(config->name);
    if (!size || size >= BL_FIELD_NAME_MAX || strspn(config->name, known) != size)
        return bl_error_set(e, BL_EUSAGE, "--name expects 1 to %d letters, digits, _, . or -, not \"%s\"",
                            BL_FIELD_NAME_MAX - 1, config->name);
    return BL_OK;
}

/* The set of inflated copies lives as long as the options, because all readers of a run share it. */
static int array_config_prepare(void *values, struct bl_buffer *warning, struct bl_error *e)
{
    (void)warning;
    return bl_inflated_make(&((struct bl_array_config *)values)->inflated, e);
}

static void array_config_release(void *values)
{
    struct bl_array_config *config = values;
    bl_inflated_free(config->inflated);
    config->inflated = NULL;
}

/* Parts of the column sampling, which ends with the member. */
#define RATE " step-rate="
#define MEMBER " array="

/* Writes what decides the steps of an array, such as "axis=0 squeeze f32 array=x": the column sampling. */
static void array_config_sampling(const void *values, struct bl_buffer *out)
{
    const struct bl_array_config *config = values;
    bl_buffer_printf(out, "axis=%" PRId64 "%s%s", config->time_axis, config->squeeze ? " squeeze" : "",
                     config->common.dtype == BL_ARRAY_F32 ? " f32" : "");
    if (config->step_rate.den)
        bl_buffer_printf(out, RATE "%" PRId64 "/%" PRId64, config->step_rate.num, config->step_rate.den);
    bl_buffer_printf(out, "%s%s", config->member ? MEMBER : "", config->member ? config->member : "");
}

/* Finds the rate in the column sampling. */
static bool array_config_rate(const char *sampling, int64_t *num, int64_t *den)
{
    const char *member = strstr(sampling, MEMBER), *rate = strstr(sampling, RATE);
    if (!rate || (member && member < rate)) /* a part of the member's name */
        return false;
    const char *text = rate + strlen(RATE), *slash = strchr(text, '/');
    return slash && bl_text_to_int(text, (size_t)(slash - text), 1, INT64_MAX, num) &&
           bl_text_to_int(slash + 1, strcspn(slash + 1, " "), 1, INT64_MAX, den);
}

/* Lists the arrays of files that hold several. Lists of inputs may name HDF5 files, too. */
static int array_expand(void *values, const char *const *path, size_t count, const struct bl_cancel *cancel,
                        bl_expand_take *take, void *sink, struct bl_error *e)
{
    struct bl_array_config *config = values;
    BL_TRY(bl_array_list(config->member, path, count, cancel, take, sink, &config->decodes, e));
    config->listed = true;
    for (size_t i = 0; i < count; i++)
        config->decodes |= bl_kind_is_list(&bl_kind_array, path[i]);
    return BL_OK;
}

/* HDF5's library decodes files of these names; all others are read in the tool. Without a list of inputs, as where a
 * table has them, each may be one. */
static bool array_decodes_file(const void *values, const char *path)
{
    const struct bl_array_config *config = values;
    return path ? bl_hdf5_has_name(path) : !config->listed || config->decodes;
}

int bl_array_file_layout(const struct bl_array_config *config, const struct bl_kind_env *env, const char *path,
                         int64_t bytes, struct bl_array_layout *layout, int64_t *trailing, struct bl_error *e)
{
    /* Only the header is read; the reader opens the file again when it reads a piece. */
    struct bl_array_file file;
    BL_TRY(bl_array_file_open(&file, path, bytes, config->member, env->cancel, e));
    int code = bl_array_layout_make(layout, &file.npy, config, e);
    *trailing = file.trailing;
    bl_array_file_close(&file);
    return code;
}

/* Counts a file by its header alone: it is one sequence. A fault makes a skipped row, and bytes behind the array make a
 * note in the row's reason. */
static int array_file_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                            struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    if (chunk->list)
        return bl_list_count((struct bl_list_counter *)counter, chunk, emit, sink, e);
    struct bl_array_layout layout;
    struct bl_error fault = {0};
    char form[BL_ARRAY_FORM_MAX], reason[128] = "";
    int64_t trailing = 0;
    struct bl_row row = {.reason = reason, .stream = -1, .offset = -1};
    int code = bl_array_file_layout(config, env, chunk->input->path, -1, &layout, &trailing, &fault);
    if (code)
        return bl_chunk_emit_row(emit, sink, &row, code, &fault, e);
    if (trailing > 0)
        snprintf(reason, sizeof reason, "%" PRId64 " bytes follow the array: left out", trailing);
    row.length = layout.steps;
    row.form = !row.length ? NULL : bl_array_form_print(form, layout.dtype, layout.rank, layout.shape);
    return emit(sink, 0, &row, e);
}

/* The first file decides the type and shape of the dataset's field. */
static int array_fields(const void *values, const struct bl_kind_env *env, const struct bl_row *row,
                        struct bl_fields *out, struct bl_error *e)
{
    const struct bl_array_config *config = values;
    struct bl_array_layout layout;
    int64_t trailing;
    if (!row)
        return bl_error_set(e, BL_EDATA, "the form of steps is the first array's");
    BL_TRY(bl_array_file_layout(config, env, row->path, row->bytes, &layout, &trailing, e));
    *out = (struct bl_fields){.count = 1};
    out->field[0] = (struct bl_field){.kind = "array", .dtype = layout.dtype, .rank = layout.rank};
    snprintf(out->field[0].name, sizeof out->field[0].name, "%s", config->name);
    memcpy(out->field[0].shape, layout.shape, sizeof layout.shape);
    return BL_OK;
}

static void array_config_describe(const void *values, const struct bl_field *field, struct bl_buffer *out)
{
    (void)field;
    const struct bl_array_config *config = values;
    bl_buffer_printf(out, "arrays as they are, steps along axis %" PRId64, config->time_axis);
    if (config->member)
        bl_buffer_printf(out, ", \"%s\" of archives", config->member);
    bl_buffer_text(out, config->squeeze ? ", other axes of size 1 dropped" : "");
    bl_buffer_text(out, config->common.dtype == BL_ARRAY_F32 ? ", F64 rounded to F32" : "");
}

/* libzip inflates, so that its version is recorded. */
static int array_versions(const void *config, const struct bl_kind_env *env, bl_version_emit *emit, void *sink,
                          struct bl_error *e)
{
    (void)config, (void)env, (void)e;
    emit(sink, "libzip", zip_libzip_version());
    return BL_OK;
}

static const struct bl_kind_scan array_scan = {
    .sampling = array_config_sampling,
    .expand = array_expand,
    .rate = array_config_rate,
    .lists = &bl_clip_lists,
    .open = bl_segments_counter_open,
    .count = array_file_count,
};

static const struct bl_kind_read array_read = {
    .memory = BL_ARRAY_READER_MEMORY,
    .first_file_decides = true,
    .fields = array_fields,
    .open = array_reader_open,
    .describe = array_config_describe,
    .versions = array_versions,
};

const struct bl_kind bl_kind_array = {
    .name = "array",
    .title = "Arrays",
    .steps = "rows",
    .extensions = extensions,
    .is_fallback = true,
    .decodes_file = array_decodes_file,
    .load = bl_hdf5_prepare,
    .options = {.table = options,
                .config_size = sizeof(struct bl_array_config),
                .dtypes = dtypes,
                .check = array_config_check,
                .prepare = array_config_prepare,
                .release = array_config_release},
    .scan = &array_scan,
    .read = &array_read,
};
