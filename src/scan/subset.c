/* Applies a choice of sequences to a table: in memory, for a plan, or on disk, for the table of a new dataset.
 *
 * The rows that are left out stay in a new table as dropped rows, each with the option that left it out as its reason,
 * such as "left out by --where split=train". */
#include "scan/subset.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/input_file.h"
#include "base/io.h"
#include "base/text.h"

/* --- a table in memory ------------------------------------------------------------------------------------------ */

/* Reads the tables twice: once to choose rows, and once for the columns of the chosen rows. Keeping the texts of all
 * rows between the passes would need far more memory. */
static int subset_open_paths(struct bl_subset *s, struct bl_sequences *t, const char *const *paths, int count,
                             const struct bl_sequences_columns *columns, struct bl_error *e)
{
    struct bl_sequences_columns wanted = *columns;
    struct bl_sequences whole;
    /* The first pass needs no columns, only the texts of rows where options look. */
    const struct bl_sequences_columns none = {.may_repeat = columns->may_repeat};
    BL_TRY(bl_sequences_open_columns(&whole, paths, count, &none, e));
    /* Grouping by the column split, where the column comes from --split and stands in no table: the parts of the
     * choice are the groups. */
    bool by_part = s->options->split.parts && wanted.group_by && strcmp(wanted.group_by, BL_SUBSET_SPLIT) == 0;
    for (int f = 0; f < whole.files; f++)
        by_part &= !bl_subset_has_column(&whole.file[f].columns, BL_SUBSET_SPLIT);
    int code = bl_subset_choose(s, &whole, false, e);
    /* The first pass has found repeated ids. They do not depend on the choice, so they replace those of the second
     * pass. */
    int64_t *repeated = whole.repeated; /* ids do not depend on what is left out */
    size_t repeats = whole.repeats;
    whole.repeated = NULL;
    bl_sequences_close(&whole);
    if (code)
        goto out;
    wanted.left_out = s->mark;
    wanted.rows = s->count;
    wanted.group_by = by_part ? NULL : wanted.group_by;
    code = bl_sequences_open_columns(t, paths, count, &wanted, e);
    if (code)
        goto out;
    /* The repeated ids have moved to t, which frees them. */
    t->repeated = repeated;
    t->repeats = repeats;
    repeated = NULL;
    /* The marks belong to the rows by number: a table that grew or shrank meanwhile would be mixed up. */
    if (t->count != s->count)
        code = bl_error_set(e, BL_EFAIL, "%s changed while it was being read", paths[0]);
    if (!code && by_part) {
        t->group = calloc(t->count + 1, sizeof *t->group);
        code = t->group ? BL_OK : bl_error_memory(e);
        for (size_t i = 0; i < t->count && !code; i++)
            t->group[i] = s->part[i];
    }
    if (code)
        bl_sequences_close(t);
out:
    free(repeated);
    return code;
}

int bl_subset_open(struct bl_subset *s, struct bl_sequences *t, const char *const *paths, int count,
                   const struct bl_sequences_columns *columns, struct bl_error *e)
{
    if (!bl_subset_is_given(s->options) && !s->exclusion)
        return bl_sequences_open_columns(t, paths, count, columns, e);
    /* A pipe can be read only once, so a table that is a pipe is copied to a temporary file. Messages name the pipe. */
    struct bl_pipe_copy *copy = calloc((size_t)count, sizeof *copy);
    const char **path = calloc((size_t)count, sizeof *path);
    int copies = 0, code = copy && path ? BL_OK : bl_error_memory(e);
    for (; copies < count && !code; copies++) {
        code = bl_pipe_copy_open(&copy[copies], paths[copies], e);
        path[copies] = bl_pipe_copy_path(&copy[copies], paths[copies]);
    }
    if (!code)
        code = subset_open_paths(s, t, path, count, columns, e);
    for (int i = 0; i < copies; i++) {
        bl_pipe_copy_fix_error(&copy[i], e);
        bl_pipe_copy_close(&copy[i]);
    }
    free(copy);
    free(path);
    return code;
}

/* --- a table on disk -------------------------------------------------------------------------------------------- */

/* The writing of a table: the buffers live here, as each row needs them again. */
struct writing {
    struct bl_subset_choice choice;
    size_t twin; /* the first of the rows that follow */
    bool adds_split;
    struct bl_buffer part, reason, extra, line;
    struct bl_output *out;
};

/* Turns row i, which was just read, into a dropped row. The reason has the option and its value, such as "left out
 * by --first 100". */
static int writing_drop(struct writing *w, size_t i, struct bl_error *e)
{
    struct bl_subset_choice *c = &w->choice;
    const struct bl_subset *s = c->subset;
    const struct bl_subset_options *o = s->options;
    struct bl_row *row = &c->text.row;
    uint8_t mark = s->mark[i];
    enum bl_left_out by = bl_subset_mark_option(mark);
    int code = BL_OK;
    bl_buffer_clear(&w->reason);
    /* The mark has the number of the dataset or of the condition, so that the reason names the right one. */
    bl_buffer_printf(&w->reason, BL_LEFT_OUT "%s", bl_left_out_option(by));
    if (by == BL_LEFT_OUT_EXTEND)
        bl_buffer_printf(&w->reason, " %s", o->extend.text[mark - BL_SUBSET_MARK_HELD]);
    else if (by == BL_LEFT_OUT_WHERE)
        bl_buffer_printf(&w->reason, " %s", o->where.text[mark - BL_SUBSET_MARK_CONDITION]);
    else if (by == BL_LEFT_OUT_TAKE)
        bl_buffer_printf(&w->reason, " %s", o->take);
    else if (by == BL_LEFT_OUT_FIRST)
        bl_buffer_printf(&w->reason, " %" PRId64, o->first);
    else if (by == BL_LEFT_OUT_MIN_TRAINED)
        bl_buffer_printf(&w->reason, " %" PRId64, o->min_trained);
    if (by == BL_LEFT_OUT_SHARE) {
        bl_buffer_byte(&w->reason, ' ');
        bl_share_format(o->share, &w->reason);
    }
    if (by == BL_LEFT_OUT_DEDUP_BY) {
        bl_buffer_byte(&w->reason, ' ');
        bl_same_text_format(&o->dedup_by, &w->reason);
    }
    /* A duplicate names the row that is kept. The twins are in the order of the rows, so that w->twin advances with
     * them. */
    if (by == BL_LEFT_OUT_DEDUP || by == BL_LEFT_OUT_DEDUP_BY) {
        code = bl_row_reader_read(c->table, s->twin[w->twin++].first, &c->twin, e);
        if (!code)
            bl_buffer_printf(&w->reason, ": the %s of %s", by == BL_LEFT_OUT_DEDUP ? "content" : "text",
                             c->twin.row.id);
    }
    row->status = BL_ROW_DROPPED;
    row->length = 0;
    row->reason = w->reason.data;
    return code ? code : bl_buffer_check(&w->reason, e);
}

/* Writes row i of the table, with the name of its part if --split is given and the table has no column split.
 * BL_ECANCEL: the run was cancelled. */
static int writing_add_row(struct writing *w, size_t i, struct bl_error *e)
{
    struct bl_subset_choice *c = &w->choice;
    struct bl_subset *s = c->subset;
    /* A table of 10^8 rows takes minutes, so cancelling is tested for each row. */
    int code = s->cancel && bl_cancelled(s->cancel) ? BL_ECANCEL : bl_row_reader_read(c->table, i, &c->text, e);
    if (!code && s->mark[i])
        code = writing_drop(w, i, e);
    if (code)
        return code;
    bl_scan_progress_count(&s->found, s->kind, &c->text.row);
    if (w->adds_split) {
        struct bl_row *row = &c->text.row;
        BL_TRY(bl_subset_choice_part(c, &w->part, e));
        bl_buffer_clear(&w->extra);
        bl_buffer_printf(&w->extra, "%s\t", row->extra ? row->extra : "");
        bl_text_escape(&w->extra, w->part.data, w->part.size);
        row->extra = w->extra.data;
        BL_TRY(bl_buffer_check(&w->extra, e));
    }
    bl_buffer_clear(&w->line);
    bl_row_format(&c->text.row, &w->line);
    BL_TRY(bl_buffer_check(&w->line, e));
    return bl_output_write(w->out, w->line.data, w->line.size, e);
}

/* Writes the header and all rows of the table, chosen or dropped, to out. */
static int subset_write(struct bl_subset *s, const struct bl_sequences *t, struct bl_output *out, struct bl_error *e)
{
    struct writing w = {.choice = {.subset = s, .table = t}, .out = out};
    const struct bl_columns *columns = &t->file[0].columns;
    w.adds_split = s->options->split.parts && !bl_subset_has_column(columns, BL_SUBSET_SPLIT);
    bl_buffer_printf(&w.line, BL_SEQUENCES_COLUMNS "%s%s\n", columns->extra, w.adds_split ? "\t" BL_SUBSET_SPLIT : "");
    int code = bl_buffer_check(&w.line, e);
    if (!code)
        code = bl_output_write(out, w.line.data, w.line.size, e);
    for (size_t i = 0; i < t->count && !code; i++)
        code = writing_add_row(&w, i, e);
    bl_subset_choice_free(&w.choice);
    bl_buffer_free(&w.part);
    bl_buffer_free(&w.reason);
    bl_buffer_free(&w.extra);
    bl_buffer_free(&w.line);
    return code;
}

int bl_subset_run(struct bl_subset *s, const char *dir, bl_subset_fill *fill, void *context, struct bl_output *out,
                  struct bl_error *e)
{
    struct bl_output whole = {.fd = -1};
    struct bl_sequences table = {0};
    struct bl_checksum_state sum;
    /* Without options, the rows go directly to their final place. */
    if (!bl_subset_is_given(s->options))
        return fill(context, out, e);
    /* The whole table has no name in the folder, so that a crash leaves nothing behind. */
    int code = bl_output_unnamed(&whole, dir, e);
    bl_checksum_begin(&sum);
    whole.sum = &sum;
    /* The caller writes the rows of the scan into this file. */
    if (!code)
        code = fill(context, &whole, e);
    if (!code)
        code = bl_output_flush(&whole, e);
    if (!code)
        code = bl_sequences_open(&table, &(const char *){whole.path}, 1, false, e);
    if (!code)
        code = bl_subset_choose(s, &table, true, e);
    if (!code)
        code = subset_write(s, &table, out, e);
    int64_t bytes;
    uint64_t there;
    /* The rows were read one by one, without a check: they are right if the checksum of the table still is. */
    if (!code)
        code = bl_checksum_file(whole.path, &bytes, &there, e);
    if (!code && there != bl_checksum_end(whole.sum))
        code = bl_error_set(e, BL_EFAIL,
                            "the table before the choice: what was read is not what was written: the disk or memory "
                            "fails");
    bl_sequences_close(&table);
    bl_output_abort(&whole);
    return code;
}
