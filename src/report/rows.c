#include "report/rows.h"

#include <ctype.h>
#include <string.h>

#include "base/member.h"
#include "kind/kinds.h"
#include "kind/left_out.h"
#include "store/row_reader.h"

struct rows_reading {
    struct bl_report *report;
    struct bl_row_reader text;
    struct bl_buffer key, last; /* last: path of the row before */
};

/* Appends a reason with "N" for every number, so that those which differ in numbers alone are one. Names such as h264
 * are no numbers, and what was asked for is the same for all rows. */
static void rows_append_reason(struct bl_buffer *out, const char *reason)
{
    bool is_name = false;
    if (strncmp(reason, BL_LEFT_OUT, strlen(BL_LEFT_OUT)) == 0) {
        bl_buffer_text(out, reason);
        return;
    }
    for (char last = ' '; *reason; last = *reason++) {
        if (!isalnum((unsigned char)last))
            is_name = isalpha((unsigned char)*reason);
        if (is_name || !isdigit((unsigned char)*reason)) {
            bl_buffer_byte(out, *reason);
            continue;
        }
        while (isdigit((unsigned char)reason[1]) ||
               ((reason[1] == '.' || reason[1] == ',') && isdigit((unsigned char)reason[2])))
            reason++;
        bl_buffer_byte(out, 'N');
    }
}

/* Cuts a text that would fill the page. */
static void rows_cut_text(struct bl_buffer *text)
{
    enum { BYTES_MAX = 400 };
    if (text->size <= BYTES_MAX)
        return;
    text->size = BYTES_MAX;
    while (text->size && (text->data[text->size] & 0xc0) == 0x80)
        text->size--;
    bl_buffer_text(text, "…");
}

/* Counts why a row was not used, or not all of it. */
static int rows_add_reason(struct rows_reading *r, const struct bl_row *row, struct bl_error *e)
{
    struct bl_tally_entry *entry;
    if ((row->status == BL_ROW_OK && !*row->reason) || bl_row_is_held(row))
        return BL_OK;
    bl_buffer_clear(&r->key);
    bl_buffer_printf(&r->key, "%s\t", row->status == BL_ROW_OK ? "damaged" : bl_row_status_name(row->status));
    size_t begin = r->key.size;
    rows_append_reason(&r->key, row->reason);
    bool has_numbers = !r->key.failed && strcmp(r->key.data + begin, row->reason) != 0;
    rows_cut_text(&r->key);
    int code = bl_buffer_check(&r->key, e);
    if (!code)
        code = bl_tally_add(&r->report->reasons, r->key.data, &entry, e);
    if (code || entry->examples == BL_TALLY_EXAMPLES)
        return code;
    bl_buffer_clear(&r->key);
    bl_buffer_printf(&r->key, "%s%s%s", row->id, has_numbers ? ": " : "", has_numbers ? row->reason : "");
    rows_cut_text(&r->key);
    code = bl_buffer_check(&r->key, e);
    return code ? code : bl_tally_add_example(entry, r->key.data, e);
}

static int rows_add_place(struct bl_tally *tally, const char *key, const struct bl_row *row, int64_t bytes,
                          struct bl_error *e)
{
    struct bl_tally_entry *entry;
    int code = bl_tally_add(tally, key, &entry, e);
    if (code)
        return code;
    entry->steps += row->status == BL_ROW_OK ? row->length : 0;
    entry->bytes += bytes;
    return BL_OK;
}

/* Counts a row under its file and its folder, which for a member of a tar is the tar. */
static int rows_add_source(struct rows_reading *r, const struct bl_row *row, int64_t bytes, struct bl_error *e)
{
    const char *path = *row->path ? row->path : row->id, *slash = strrchr(path, '/');
    struct bl_member member;
    bl_buffer_clear(&r->key);
    if (bl_member_parse(path, &member))
        bl_buffer_append(&r->key, path, member.tar);
    else
        bl_buffer_append(&r->key, slash ? path : ".", slash ? (size_t)(slash - path) + (slash == path) : 1);
    int code = bl_buffer_check(&r->key, e);
    if (!code)
        code = rows_add_place(&r->report->folders, r->key.data, row, bytes, e);
    return code || !*row->path ? code : rows_add_place(&r->report->sources, path, row, bytes, e);
}

/* Counts an ok row under what its steps were made by. */
static int rows_add_made(struct rows_reading *r, const struct bl_row *row, int64_t bytes, struct bl_error *e)
{
    struct bl_tally_entry *entry;
    const struct bl_kind *kind = bl_kind_find(row->kind);
    if (row->status != BL_ROW_OK)
        return BL_OK;
    if (kind)
        bl_kind_add_totals(kind, row, false, &r->report->totals);
    bl_buffer_clear(&r->key);
    bl_buffer_printf(&r->key, "%s\t%s\t", *row->kind ? row->kind : "not known", row->sampling);
    if (row->extra && row->columns)
        bl_row_get_value(row, "decoder", &r->key);
    int code = bl_buffer_check(&r->key, e);
    if (!code)
        code = bl_tally_add(&r->report->made, r->key.data, &entry, e);
    if (code)
        return code;
    entry->steps += row->length;
    entry->bytes += bytes;
    return BL_OK;
}

static int rows_count_row(struct rows_reading *r, const struct bl_row *row, struct bl_error *e)
{
    bool is_new = !*row->path || !r->last.size || strcmp(r->last.data, row->path) != 0;
    int64_t bytes = is_new && row->bytes > 0 ? row->bytes : 0;
    if (is_new) {
        bl_buffer_clear(&r->last);
        bl_buffer_text(&r->last, row->path);
        r->report->files += *row->path != '\0';
        r->report->file_bytes += bytes;
    }
    int code = bl_buffer_check(&r->last, e);
    if (!code)
        code = rows_add_source(r, row, bytes, e);
    if (!code)
        code = rows_add_made(r, row, bytes, e);
    return code ? code : rows_add_reason(r, row, e);
}

int bl_report_read_rows(struct bl_report *report, const struct bl_sequences *table, struct bl_error *e)
{
    struct rows_reading r = {.report = report};
    int code = BL_OK;
    for (size_t i = 0; i < table->count && !code; i++) {
        code = bl_row_reader_read(table, i, &r.text, e);
        if (!code)
            code = rows_count_row(&r, &r.text.row, e);
    }
    bl_tally_sort(&report->reasons);
    bl_tally_sort(&report->folders);
    bl_tally_sort(&report->sources);
    bl_tally_sort(&report->made);
    bl_row_reader_free(&r.text);
    bl_buffer_free(&r.key);
    bl_buffer_free(&r.last);
    return code;
}
