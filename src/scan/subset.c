#include "scan/subset.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/input_file.h"
#include "base/io.h"
#include "base/text.h"
#include "scan/subset_choice.h"

/* --- subsets ------------------------------------------------------------------------------------------------------ */

void bl_subset_free(struct bl_subset *s)
{
    for (int i = 0; i < s->conditions; i++)
        bl_condition_free(&s->condition[i]);
    bl_buffer_free(&s->notes);
    for (size_t i = 0; i < sizeof s->repeats.file / sizeof *s->repeats.file; i++) {
        free(s->repeats.file[i].path);
        s->repeats.file[i].path = NULL;
    }
    free(s->mark);
    free(s->part);
    free(s->twin);
    s->conditions = 0;
    s->mark = s->part = NULL;
    s->twin = NULL;
}

/* --- a table in memory ------------------------------------------------------------------------------------------ */

static int subset_set_groups(const struct bl_subset *s, struct bl_sequences *t, struct bl_error *e)
{
    t->group = calloc(t->count + 1, sizeof *t->group);
    if (!t->group)
        return bl_error_memory(e);
    for (size_t i = 0; i < t->count; i++)
        t->group[i] = s->part[i];
    return BL_OK;
}

static int subset_open_paths(struct bl_subset *s, struct bl_sequences *t, const char *const *paths, int count,
                             const struct bl_sequences_columns *columns, struct bl_error *e)
{
    struct bl_sequences_columns wanted = *columns;
    struct bl_sequences whole;
    const struct bl_sequences_columns none = {.may_repeat = columns->may_repeat};
    int code = bl_sequences_open_columns(&whole, paths, count, &none, e);
    if (code)
        return code;
    bool by_part = s->options->split.parts && wanted.group_by && strcmp(wanted.group_by, BL_SUBSET_SPLIT) == 0;
    for (int f = 0; f < whole.files; f++)
        by_part &= !bl_subset_has_column(&whole.file[f].columns, BL_SUBSET_SPLIT);
    code = bl_subset_choose(s, &whole, false, e);
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
    t->repeated = repeated;
    t->repeats = repeats;
    repeated = NULL;
    if (t->count != s->count)
        code = bl_error_set(e, BL_EFAIL, "%s changed while it was being read", paths[0]);
    else if (by_part)
        code = subset_set_groups(s, t, e);
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

struct writing {
    struct bl_subset_choice choice;
    size_t twin; /* the first of the rows that follow */
    bool adds_split;
    struct bl_buffer part, reason, extra, line;
    struct bl_output *out;
};

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

static int writing_add_part(struct writing *w, struct bl_error *e)
{
    struct bl_row *row = &w->choice.text.row;
    int code = bl_subset_choice_part(&w->choice, &w->part, e);
    if (code)
        return code;
    bl_buffer_clear(&w->extra);
    bl_buffer_printf(&w->extra, "%s\t", row->extra ? row->extra : "");
    bl_text_escape(&w->extra, w->part.data, w->part.size);
    row->extra = w->extra.data;
    return bl_buffer_check(&w->extra, e);
}

static int writing_add_row(struct writing *w, size_t i, struct bl_error *e)
{
    struct bl_subset_choice *c = &w->choice;
    struct bl_subset *s = c->subset;
    int code = s->cancel && bl_cancelled(s->cancel) ? BL_ECANCEL : bl_row_reader_read(c->table, i, &c->text, e);
    if (!code && s->mark[i])
        code = writing_drop(w, i, e);
    if (code)
        return code;
    bl_scan_progress_count(&s->found, s->kind, &c->text.row);
    code = w->adds_split ? writing_add_part(w, e) : BL_OK;
    if (code)
        return code;
    bl_buffer_clear(&w->line);
    bl_row_format(&c->text.row, &w->line);
    code = bl_buffer_check(&w->line, e);
    return code ? code : bl_output_write(w->out, w->line.data, w->line.size, e);
}

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

/* The rows were taken one by one: they are right if the table still is. */
static int subset_check_whole(const struct bl_output *whole, struct bl_error *e)
{
    int64_t bytes;
    uint64_t there;
    int code = bl_checksum_file(whole->path, &bytes, &there, e);
    if (!code && there != bl_checksum_end(whole->sum))
        code = bl_error_set(e, BL_EFAIL,
                            "the table before the choice: what was read is not what was written: the disk or memory "
                            "fails");
    return code;
}

int bl_subset_run(struct bl_subset *s, const char *dir, bl_subset_fill *fill, void *context, struct bl_output *out,
                  struct bl_error *e)
{
    struct bl_output whole = {.fd = -1};
    struct bl_sequences table = {0};
    struct bl_checksum_state sum;
    if (!bl_subset_is_given(s->options))
        return fill(context, out, e);
    int code = bl_output_unnamed(&whole, dir, e);
    bl_checksum_begin(&sum);
    whole.sum = &sum;
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
    if (!code)
        code = subset_check_whole(&whole, e);
    bl_sequences_close(&table);
    bl_output_abort(&whole);
    return code;
}

/* --- options of subsets ------------------------------------------------------------------------------------------- */

#define MILLIONTHS 1000000
#define DIGITS 6

/* Parses a percentage above 0, up to 100, with at most six digits after the point. */
static bool share_parse(const char *text, size_t size, int64_t *share)
{
    int64_t whole, part = 0;
    size_t digits = strspn(text, "0123456789");
    if (!digits || size < 2 || digits >= size || text[size - 1] != '%' || !bl_text_to_int(text, digits, 0, 100, &whole))
        return false;
    if (text[digits] == '.') {
        const char *after = text + digits + 1;
        size_t places = size - 2 - digits;
        if (!places || places > DIGITS || strspn(after, "0123456789") != places ||
            !bl_text_to_int(after, places, 0, MILLIONTHS - 1, &part))
            return false;
        for (size_t i = places; i < DIGITS; i++)
            part *= 10;
    } else if (digits + 1 != size) {
        return false;
    }
    *share = whole * MILLIONTHS + part;
    return *share > 0 && *share <= BL_SHARE_ALL;
}

void bl_share_format(int64_t share, struct bl_buffer *out)
{
    int64_t part = share % MILLIONTHS;
    int places = DIGITS;
    bl_buffer_int(out, share / MILLIONTHS);
    for (; part && part % 10 == 0; part /= 10)
        places--;
    if (part)
        bl_buffer_printf(out, ".%0*" PRId64, places, part);
    bl_buffer_byte(out, '%');
}

static bool share_option_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    return share_parse(text, strlen(text), value);
}

static void share_option_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    if (*(const int64_t *)value)
        bl_share_format(*(const int64_t *)value, out);
}

/* "train=95%", which ends at end; its name must be new. */
static bool split_add(struct bl_split *split, const char *text, size_t size)
{
    const char *equals = memchr(text, '=', size);
    size_t name = equals ? (size_t)(equals - text) : 0;
    if (!name || split->parts == BL_SPLIT_PARTS_MAX)
        return false;
    for (size_t i = 0; i < name; i++) {
        if ((unsigned char)text[i] <= ' ' || text[i] == '\\')
            return false;
    }
    for (int k = 0; k < split->parts; k++) {
        if (split->part[k].size == name && memcmp(split->part[k].name, text, name) == 0)
            return false;
    }
    split->part[split->parts].name = text;
    split->part[split->parts].size = name;
    return share_parse(equals + 1, size - name - 1, &split->part[split->parts++].share);
}

static bool split_parse(const struct bl_option *option, const char *text, void *value)
{
    struct bl_split *split = value;
    int64_t sum = 0;
    (void)option;
    *split = (struct bl_split){0};
    for (;;) {
        size_t size = strcspn(text, ",");
        if (!split_add(split, text, size))
            return false;
        sum += split->part[split->parts - 1].share;
        if (!text[size])
            return sum == BL_SHARE_ALL;
        text += size + 1;
    }
}

static void split_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    const struct bl_split *split = value;
    (void)option;
    for (int k = 0; k < split->parts; k++) {
        bl_buffer_printf(out, "%s%.*s=", k ? "," : "", (int)split->part[k].size, split->part[k].name);
        bl_share_format(split->part[k].share, out);
    }
}

static bool same_text_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    return bl_same_text_parse(value, text);
}

static void same_text_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    if (((const struct bl_same_text *)value)->key)
        bl_same_text_format(value, out);
}

static const struct bl_option_type same_text_type = {
    "KEY[:nfkc,lower,space]", same_text_parse, same_text_format,
    "a key or column, and after a colon some of nfkc, lower and space (a key with colons ends with one more)"};
static const struct bl_option_type share_type = {"P%", share_option_parse, share_option_format,
                                                 "a percentage above 0%, up to 100%, such as 10% or 0.5%"};
static const struct bl_option_type split_type = {
    "NAME=P%,...", split_parse, split_format,
    "names and percentages that are 100% together, such as train=95%,val=5%, at most 16"};

const struct bl_option bl_subset_option_table[] = {
    BL_OPTION_TEXTS("extend", struct bl_subset_options, extend, BL_AFFECTS_LENGTHS,
                    "only sequences that this finished dataset does not store already, by id and content; may be given "
                    "again: none of them does",
                    .placeholder = "DIR", .unlisted = true),
    BL_OPTION_TEXTS("where", struct bl_subset_options, where, BL_AFFECTS_LENGTHS,
                    "only sequences whose column of the table fulfils this: COLUMN OP VALUE, with = != < <= > >= or ~ "
                    "(a glob), such as \"length >= 30\"; may be given again: all must hold",
                    .placeholder = "CONDITION"),
    BL_OPTION_INT("min-trained", struct bl_subset_options, min_trained, BL_AFFECTS_LENGTHS,
                  "only sequences with so many trained tokens at least, by a field loss_mask or labels",
                  .unlisted = true),
    BL_OPTION_FLAG("dedup", struct bl_subset_options, dedup, BL_AFFECTS_LENGTHS,
                   "of sequences with the same content only the first"),
    BL_OPTION_CUSTOM(
        "dedup-by", &same_text_type, struct bl_same_text, struct bl_subset_options, dedup_by, BL_AFFECTS_LENGTHS,
        "of sequences with the same text in this key of JSON, or column, only the first; compared in NFKC, "
        "in lower case, or with runs of white space as one space",
        .unlisted = true),
    BL_OPTION_CUSTOM("split", &split_type, struct bl_split, struct bl_subset_options, split, BL_AFFECTS_LENGTHS,
                     "divide the sequences into parts by a hash of the id; their names are the column split"),
    BL_OPTION_STRING("split-by", struct bl_subset_options, split_by, BL_AFFECTS_LENGTHS,
                     "hash this column instead, so that sequences with the same value are in the same part",
                     .placeholder = "COLUMN"),
    BL_OPTION_STRING("take", struct bl_subset_options, take, BL_AFFECTS_LENGTHS,
                     "only this part, of --split or of the column split that the table has", .placeholder = "NAME"),
    BL_OPTION_CUSTOM("share", &share_type, int64_t, struct bl_subset_options, share, BL_AFFECTS_LENGTHS,
                     "only about this part of the sequences, by a hash of the id: a smaller share is within a larger "
                     "one"),
    BL_OPTION_INT("first", struct bl_subset_options, first, BL_AFFECTS_LENGTHS,
                  "only so many sequences, the first of what the options above leave", .min = 1),
    {0},
};

bool bl_subset_is_given(const struct bl_subset_options *o)
{
    return o->extend.count || o->where.count || o->min_trained || o->dedup || o->dedup_by.key || o->split.parts ||
           o->take || o->share || o->first;
}

static bool split_has(const struct bl_split *split, const char *name)
{
    bool found = false;
    for (int k = 0; k < split->parts; k++)
        found |= strlen(name) == split->part[k].size && memcmp(name, split->part[k].name, split->part[k].size) == 0;
    return found;
}

int bl_subset_check(const struct bl_subset_options *o, struct bl_error *e)
{
    struct bl_buffer split = {0};
    if (o->split_by && !o->split.parts)
        return bl_error_set(e, BL_EUSAGE, "--split-by needs --split");
    split_format(NULL, &o->split, &split);
    int code = o->split.parts ? bl_buffer_check(&split, e) : BL_OK;
    if (!code && o->take && o->split.parts && !split_has(&o->split, o->take))
        code = bl_error_set(e, BL_EUSAGE, "--take %s: --split %s has no such part", o->take, split.data);
    for (int i = 0; i < o->where.count && !code; i++) {
        struct bl_condition condition;
        code = bl_condition_parse(&condition, o->where.text[i], e);
        bl_condition_free(&condition);
    }
    bl_buffer_free(&split);
    return code;
}

/* Streams of hashes: different seeds. */
enum { SEED_SHARE, SEED_SPLIT };

bool bl_share_takes(int64_t share, const char *value)
{
    return bl_share_has(share, XXH3_64bits_withSeed(value, strlen(value), SEED_SHARE));
}

int bl_split_part(const struct bl_split *split, const char *value)
{
    uint64_t hash = XXH3_64bits_withSeed(value, strlen(value), SEED_SPLIT);
    int64_t share = 0;
    int part = 0;
    for (; part + 1 < split->parts; part++) {
        share += split->part[part].share;
        if (bl_share_has(share, hash))
            break;
    }
    return part;
}
