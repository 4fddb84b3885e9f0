/* Counts the segments of a list: a line names some rows of an array, and becomes a sequence.
 *
 * Only the header of an array is read. The lines of one file follow each other in most lists, so the counter keeps what
 * it found in the last file. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kind/array/array.h"
#include "kind/input_stat.h"
#include "kind/list.h"

/* The state of one worker. */
struct segment_counter {
    struct bl_list_counter list;
    const struct bl_array_config *config;
    /* The last file, and its array: */
    char *path; /* NULL: there is none */
    int64_t bytes;
    uint64_t content;
    struct bl_array_layout layout;
    int64_t trailing; /* bytes after the array */
    int code;         /* BL_OK, or BL_EDATA with the reason */
    struct bl_error fault;
};

int64_t bl_segment_row(double seconds, struct bl_rational rate)
{
    const double tie = 1e-9; /* rows: decimals of times are not exact in binary */
    return (int64_t)floor(seconds * (double)rate.num / (double)rate.den + 0.5 + tie);
}

/* Forgets the last file. */
static void segments_leave(struct segment_counter *c)
{
    free(c->path);
    c->path = NULL;
    c->bytes = 0;
    c->content = 0;
    c->trailing = 0;
    bl_error_clear(&c->fault);
}

/* Finds the layout of the array at path, and the size and the content of its file. BL_EDATA: there is no usable array.
 */
static int segments_enter(struct segment_counter *c, const char *path, struct bl_error *e)
{
    if (!c->path || strcmp(c->path, path) != 0) {
        struct bl_input input = {.path = path};
        const char *unusable;
        segments_leave(c);
        BL_TRY(bl_input_stat_content(NULL, &input, &unusable, e));
        c->code = unusable ? bl_error_set(&c->fault, BL_EDATA, "%s", unusable)
                           : bl_array_file_layout(c->config, c->list.env, path, input.bytes, &c->layout, &c->trailing,
                                                  &c->fault);
        if (c->code && c->code != BL_EDATA)
            return bl_error_pass(e, c->code, &c->fault);
        c->path = strdup(path);
        if (!c->path)
            return bl_error_memory(e);
        c->bytes = input.bytes;
        c->content = input.content;
    }
    return bl_error_pass(e, c->code, &c->fault);
}

/* Sets one end of a segment from a value of start or end; below 0, there is none, and the end stays. Without a rate the
 * value is the number of a row. BL_EDATA: it is no whole number. */
static int segments_set_end(const struct segment_counter *c, double value, int64_t *row, struct bl_error *e)
{
    const struct bl_rational rate = c->config->step_rate;
    if (value < 0)
        return BL_OK;
    if (rate.den) {
        *row = bl_segment_row(value, rate);
        return BL_OK;
    }
    *row = (int64_t)value;
    if (c->list.clip.clock || floor(value) < value)
        return bl_error_set(e, BL_EDATA,
                            "\"start\" and \"end\" are numbers of rows: for times, give --step-rate, the rows of a "
                            "second");
    return BL_OK;
}

/* Finds the rows [*begin, *end) of the clip. A segment may end behind the array's end, which is noted in the row.
 * BL_EDATA: the array has none of these rows. */
static int segments_find_rows(struct segment_counter *c, int64_t *begin, int64_t *end, struct bl_error *e)
{
    const struct bl_clip *clip = &c->list.clip;
    const int64_t steps = c->layout.steps;
    int64_t first = clip->first < 0 ? 0 : clip->first, behind = clip->behind < 0 ? steps : clip->behind;
    if (clip->by_time) {
        BL_TRY(segments_set_end(c, clip->start, &first, e));
        BL_TRY(segments_set_end(c, clip->end, &behind, e));
    }
    if (first >= steps)
        return bl_error_set(e, BL_EDATA, "begins with row %" PRId64 ", and the array has %" PRId64, first, steps);
    if (behind <= first)
        return bl_error_set(e, BL_EDATA, "no row lies between its start and its end");
    if (behind > steps)
        BL_LIST_REASON(&c->list, "ends %" PRId64 " rows behind the array's end: so many are missing", behind - steps);
    *begin = first;
    *end = behind < steps ? behind : steps;
    return BL_OK;
}

/* Fills in the members of a segment's row that come from its file, for struct bl_list_counter. */
static int segments_fill_row(struct bl_list_counter *counter, struct bl_row *row, struct bl_error *e)
{
    struct segment_counter *c = (struct segment_counter *)counter;
    int code = segments_enter(c, counter->path.open_path.data, e);
    row->bytes = c->bytes;
    row->content = c->content;
    if (code)
        return code;
    bool whole = bl_clip_is_whole(&counter->clip); /* such a segment is read like a file that no list names */
    int64_t begin = 0, end = c->layout.steps;
    if (!whole)
        BL_TRY(segments_find_rows(c, &begin, &end, e));
    if (c->trailing > 0)
        BL_LIST_REASON(counter, "%" PRId64 " bytes follow the array: left out", c->trailing);
    row->length = end - begin;
    row->clip_begin = whole ? 0 : begin;
    row->clip_end = whole ? 0 : end;
    return BL_OK;
}

static void segments_counter_close(struct bl_counter *counter)
{
    struct segment_counter *c = (struct segment_counter *)counter;
    segments_leave(c);
    bl_list_counter_free(&c->list);
    free(c);
}

int bl_segments_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                             struct bl_error *e)
{
    struct segment_counter *c = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    c->config = config;
    c->list = (struct bl_list_counter){
        .base.close = segments_counter_close, .env = env, .fill_clip = segments_fill_row, .unusable = ""};
    *counter = &c->list.base;
    return BL_OK;
}
