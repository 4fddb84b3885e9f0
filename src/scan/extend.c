/* Looks rows up in the tables of earlier datasets.
 *
 * For each stored row, the index has a hash of its id, for the look-up, and a hash of its content, for the comparison.
 * The row itself is read again only where the content differs, as two ids may have the same hash. */
#include "scan/extend.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/text.h"
#include "scan/compare.h"
#include "store/manifest.h"

#define NAMED 3 /* ids in a note */

#define LOOKED_UP UINT64_C(1) /* in content */

/* --- the datasets ----------------------------------------------------------------------------------------------- */

/* Finds the table of dataset i in its manifest. *path: of the table, to be freed by the caller. *file: its size and
 * checksum. BL_EUSAGE: the directory is a view, whose datasets must be named instead. */
static int extend_find_table(const struct bl_subset_options *o, int i, char **path, struct bl_manifest_file *file,
                             struct bl_error *e)
{
    const char *name = o->extend.text[i];
    struct bl_manifest m = {0};
    char *dir = bl_path_join(o->extend_base, name);
    int code = dir ? bl_manifest_read(&m, dir, e) : bl_error_memory(e);
    if (code)
        bl_error_prefix(e, "--extend");
    /* A view stores no sequences: its datasets do. */
    if (!code && bl_manifest_is_view(&m)) {
        struct bl_buffer names = {0};
        bl_manifest_append_paths(&m, &names);
        code = bl_buffer_check(&names, e);
        if (!code)
            code = bl_error_set(e, BL_EUSAGE, "--extend %s is a view: name its datasets instead (from there: %s)", name,
                                names.data);
        bl_buffer_free(&names);
    }
    const struct bl_manifest_file *listed = code ? NULL : bl_manifest_find_file(&m, BL_SEQUENCES_FILE);
    if (!code && !listed)
        code = bl_error_set(e, BL_EFAIL, "--extend %s: its manifest does not list " BL_SEQUENCES_FILE, name);
    if (!code) {
        /* The caller needs size and checksum only, and the manifest is freed. */
        *file = (struct bl_manifest_file){.bytes = listed->bytes, .checksum = listed->checksum};
        *path = bl_path_join(dir, BL_SEQUENCES_FILE);
        code = *path ? BL_OK : bl_error_memory(e);
    }
    bl_manifest_free(&m);
    free(dir);
    return code;
}

/* Checks that a dataset has the kind of the sources. A table without kinds, of another program, is taken as it is. */
static int extend_check_kind(const char *name, const char *there, const char *kind, struct bl_error *e)
{
    if (!kind || !*kind || !*there || strcmp(there, kind) == 0)
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE, "--extend %s: its sequences are %s, those of the sources %s", name, there, kind);
    /* The kind is NULL if the sources have no usable sequence. */
}

/* Checks all datasets before a scan that may take hours. Only the first lines of the tables are read. */
int bl_extend_check(const struct bl_subset_options *o, const char *kind, struct bl_error *e)
{
    int code = BL_OK;
    for (int i = 0; i < o->extend.count && !code; i++) {
        struct bl_buffer header = {0}, there = {0};
        struct bl_manifest_file file;
        char *path = NULL;
        code = extend_find_table(o, i, &path, &file, e);
        if (!code)
            code = bl_sequences_peek(path, &header, &there, e);
        if (!code)
            code = extend_check_kind(o->extend.text[i], there.data, kind, e);
        bl_buffer_free(&header);
        bl_buffer_free(&there);
        free(path);
    }
    return code;
}

/* Appends a line for each dataset, "extend 1: old (DIGEST)", by which a resumed run notices another dataset. */
int bl_extend_identify(const struct bl_subset_options *o, struct bl_buffer *lines, struct bl_error *e)
{
    char digest[BL_DIGEST_SIZE];
    for (int i = 0; i < o->extend.count; i++) {
        struct bl_manifest_file file;
        char *path = NULL;
        int code = extend_find_table(o, i, &path, &file, e);
        free(path);
        if (code)
            return code;
        bl_checksum_format(file.checksum, digest);
        bl_buffer_printf(lines, "extend %d: ", i + 1);
        bl_text_escape(lines, o->extend.text[i], strlen(o->extend.text[i]));
        bl_buffer_printf(lines, " (%s)\n", digest);
        BL_TRY(bl_buffer_check(lines, e));
    }
    return BL_OK;
}

/* --- the rows of the datasets ----------------------------------------------------------------------------------- */

/* Returns a hash of the content that additional fields have: the digests in the columns NAME.content and the ends of
 * clips in NAME.clip_begin and NAME.clip_end. A row whose audio has changed differs although its video is the same. */
static uint64_t row_hash_fields(const struct bl_row *row)
{
    static const char *const ends[] = {".content", ".clip_begin", ".clip_end"};
    uint64_t hash = 0;
    const char *name = row->columns, *value = row->extra;
    /* Each name of a column stands after a tab, and so does each value. */
    while (name && value && *name && *value) {
        size_t size = strcspn(++name, "\t"), bytes = strcspn(++value, "\t");
        bool is_of_content = false;
        for (size_t i = 0; i < sizeof ends / sizeof *ends && bytes; i++) {
            size_t least = strlen(ends[i]);
            is_of_content |= size > least && memcmp(name + size - least, ends[i], least) == 0;
        }
        if (is_of_content) {
            /* The previous hash is a part of the next one, so that the order of the columns matters. */
            const uint64_t parts[] = {hash, XXH3_64bits(name, size), XXH3_64bits(value, bytes)};
            hash = XXH3_64bits(parts, sizeof parts);
        }
        name += size;
        value += bytes;
    }
    return hash;
}

/* Returns a hash of id and content, never 0, with the bit LOOKED_UP clear: the number in the index is 0 for a row
 * that is not stored. The size of the file counts only where the file is the sequence: documents stay the same when
 * others are added to their file. */
static uint64_t row_hash(const struct bl_row *row)
{
    bool is_document = row->content && bl_same_content_is_document(row);
    const uint64_t parts[] = {XXH3_64bits(row->id, strlen(row->id)), is_document ? 0 : (uint64_t)row->bytes,
                              bl_same_content_hash(row), row_hash_fields(row)};
    return (XXH3_64bits(parts, sizeof parts) | 2 * LOOKED_UP) & ~LOOKED_UP;
}

/* Returns the number of the dataset that has the row: the last one whose first row is not after it. */
static int extend_dataset(const struct bl_extend *x, size_t row)
{
    int f = x->table.files - 1;
    while (f && x->table.file[f].first > row)
        f--;
    return f;
}

/* Adds the stored rows of the datasets to the index. BL_EUSAGE: a dataset has another kind. */
static int extend_add_rows(struct bl_extend *x, const char *kind, const struct bl_cancel *cancel, struct bl_error *e)
{
    if (x->table.count >= UINT32_MAX) /* the table's numbers */
        return bl_error_set(e, BL_EFAIL, "--extend: the datasets have too many rows");
    x->content = calloc(x->table.count + 1, sizeof *x->content);
    if (!x->content)
        return bl_error_memory(e);
    for (size_t i = 0; i < x->table.count; i++) {
        /* A length of 0 means that the row is not stored. */
        if (!x->table.length[i])
            continue;
        if (cancel && bl_cancelled(cancel))
            return BL_ECANCEL;
        const struct bl_row *row = &x->text.row;
        BL_TRY(bl_row_reader_read(&x->table, i, &x->text, e));
        /* Tables that were opened by path have no options, and so no names of datasets for a message. */
        if (x->options)
            BL_TRY(extend_check_kind(x->options->extend.text[extend_dataset(x, i)], row->kind, kind, e));
        x->content[i] = row_hash(row);
        BL_TRY(bl_hash_add(&x->ids, XXH3_64bits(row->id, strlen(row->id)), i, e));
    }
    return BL_OK;
}

/* Reads the tables at `count` paths, and makes the index of their rows. kind: NULL checks none. */
static int extend_read_tables(struct bl_extend *x, const char *const *path, int count, const char *kind,
                              const struct bl_cancel *cancel, struct bl_error *e)
{
    const struct bl_sequences_columns columns = {.may_repeat = true};
    x->count = count;
    x->found = calloc((size_t)count, sizeof *x->found);
    if (!x->found)
        return bl_error_memory(e);
    BL_TRY(bl_sequences_open_columns(&x->table, path, count, &columns, e));
    return extend_add_rows(x, kind, cancel, e);
}

/* Opens the tables of the datasets of --extend. The caller closes x, also after errors. BL_EFAIL: a table differs
 * from its manifest. */
int bl_extend_open(struct bl_extend *x, const struct bl_subset_options *o, const char *kind,
                   const struct bl_cancel *cancel, struct bl_error *e)
{
    size_t count = (size_t)o->extend.count;
    char **path = calloc(count, sizeof *path);
    int code = path ? BL_OK : bl_error_memory(e);
    x->options = o;
    for (int i = 0; i < o->extend.count && !code; i++) {
        struct bl_manifest_file listed;
        int64_t bytes;
        uint64_t checksum;
        code = extend_find_table(o, i, &path[i], &listed, e);
        if (!code)
            code = bl_checksum_file(path[i], &bytes, &checksum, e);
        /* An edited table would hold sequences that the dataset does not store. */
        if (!code && (bytes != listed.bytes || checksum != listed.checksum)) /* an edited table */
            code = bl_error_set(e, BL_EFAIL, "--extend %s: its " BL_SEQUENCES_FILE " is not that of its manifest",
                                o->extend.text[i]);
    }
    if (!code)
        code = extend_read_tables(x, (const char *const *)path, o->extend.count, kind, cancel, e);
    bl_path_free_all(path, count);
    return code;
}

int bl_extend_open_tables(struct bl_extend *x, const char *const *path, int count, const struct bl_cancel *cancel,
                          struct bl_error *e)
{
    return extend_read_tables(x, path, count, NULL, cancel, e);
}

void bl_extend_close(struct bl_extend *x)
{
    for (int i = 0; x->found && i < x->count; i++) {
        bl_buffer_free(&x->found[i].changed.ids);
        bl_buffer_free(&x->found[i].vanished.ids);
    }
    free(x->found);
    free(x->content);
    bl_hash_free(&x->ids);
    bl_sequences_close(&x->table);
    bl_row_reader_free(&x->text);
    *x = (struct bl_extend){0};
}

/* --- looking up ------------------------------------------------------------------------------------------------- */

/* Counts a row, and keeps the first ids for a note: a note with thousands of ids helps nobody. */
static int rows_add(struct bl_extend_rows *rows, const char *id, struct bl_error *e)
{
    if (rows->count++ >= NAMED)
        return BL_OK;
    bl_buffer_text(&rows->ids, rows->ids.size ? ", " : "");
    bl_text_escape(&rows->ids, id, strlen(id));
    return bl_buffer_check(&rows->ids, e);
}

/* Looks a row up. *dataset: the first dataset that stores it with the same content, or -1. A row with a known id and
 * other content counts as changed. */
int bl_extend_find(struct bl_extend *x, const struct bl_row *row, int *dataset, struct bl_error *e)
{
    const uint64_t content = row_hash(row);
    const bool is_usable = row->status == BL_ROW_OK;
    int other = -1;
    size_t i;
    *dataset = -1;
    struct bl_hash_probe probe = bl_hash_begin(&x->ids, XXH3_64bits(row->id, strlen(row->id)));
    while (bl_hash_next(&x->ids, &probe, &i)) {
        /* Equal hashes of id and content, 64 bits each, count as equal rows without reading them. */
        bool same = is_usable && (x->content[i] & ~LOOKED_UP) == content;
        if (!same) {
            BL_TRY(bl_row_reader_read(&x->table, i, &x->text, e));
            if (strcmp(x->text.row.id, row->id) != 0)
                continue; /* only the hashes of the ids are equal */
        }
        x->content[i] |= LOOKED_UP;
        int at = extend_dataset(x, i);
        /* If several datasets have the row, the first one counts. */
        if (same && (*dataset < 0 || at < *dataset))
            *dataset = at;
        other = at > other ? at : other;
    }
    if (*dataset >= 0) {
        x->found[*dataset].held++;
        x->no_content += !row->content;
    } else if (is_usable && other >= 0) {
        return rows_add(&x->found[other].changed, row->id, e);
    }
    return BL_OK;
}

/* --- messages --------------------------------------------------------------------------------------------------- */

/* Appends a note such as "changed since old was packed: a.mp4, b.mp4, c.mp4 and 1,231 more". after: the words behind
 * the name. */
static void rows_note(const struct bl_extend_rows *rows, const char *what, const char *name, const char *after,
                      struct bl_buffer *notes)
{
    char a[32];
    if (!rows->count)
        return;
    bl_buffer_printf(notes, "%s%s %s%s: %s", notes->size ? "\n" : "", what, name, after, rows->ids.data);
    if (rows->count > NAMED)
        bl_buffer_printf(notes, " and %s more", bl_text_count(a, rows->count - NAMED));
}

/* Appends the notes. Stored rows that no look-up found have vanished from the sources. */
int bl_extend_note(struct bl_extend *x, struct bl_buffer *notes, struct bl_error *e)
{
    char a[BL_PLURAL_SIZE];
    for (size_t i = 0; i < x->table.count; i++) {
        /* The row is not stored, or was looked up. */
        if (!x->content[i] || x->content[i] & LOOKED_UP)
            continue;
        struct bl_extend_rows *rows = &x->found[extend_dataset(x, i)].vanished;
        if (rows->count < NAMED)
            BL_TRY(bl_row_reader_read(&x->table, i, &x->text, e));
        BL_TRY(rows_add(rows, x->text.row.id, e));
    }
    for (int i = 0; i < x->options->extend.count; i++) {
        const char *name = x->options->extend.text[i];
        bl_buffer_printf(notes, "%sheld by %s: %s", notes->size ? "\n" : "", name,
                         bl_text_plural(a, x->found[i].held, "sequence"));
        rows_note(&x->found[i].changed, "changed since", name, " was packed", notes);
        rows_note(&x->found[i].vanished, "no longer among the sources, but in", name, "", notes);
    }
    if (x->no_content)
        bl_buffer_printf(notes, "\n--extend: %s, and held by id and size",
                         bl_text_plural(a, x->no_content, "sequence has no digest|sequences have no digest"));
    return bl_buffer_check(notes, e);
}
