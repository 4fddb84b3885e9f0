#include "scan/field_clips.h"

#include <inttypes.h>

#include "base/io.h"
#include "kind/kind.h"
#include "scan/list_lines.h"

static int field_clips_read_columns(struct bl_clip_columns *columns, const struct bl_kind *kind, const char *path,
                                    const char *shown, const struct bl_cancel *cancel, struct bl_error *e)
{
    int code = bl_io_check_path(path, e);
    if (!code)
        code = bl_clip_columns_add(columns, kind, path, shown, cancel, e);
    if (code)
        return code;
    if (columns->known && !columns->are_clips)
        return bl_error_set(e, BL_EUSAGE, "%s: a manifest of speech cannot be a field: write a list of clips", shown);
    if (columns->count)
        return bl_error_set(e, BL_EUSAGE,
                            "%s: the column \"%s\": the clips of a field have no attributes: put it into a table for "
                            "--attributes",
                            shown, columns->name[0]);
    return BL_OK;
}

/* Adds all lines. */
static int field_clips_add(struct bl_clip_list *list, struct bl_list_lines *lines, const char *shown,
                           struct bl_error *e)
{
    struct bl_line line;
    bool found;
    for (;;) {
        int code = bl_list_lines_next(lines, &line, &found, e);
        if (code || !found) {
            if (code == BL_EDATA)
                bl_error_prefix(e, "%s", shown);
            return code;
        }
        code = bl_clip_list_add(list, &line, e);
        if (code == BL_EDATA)
            bl_error_prefix(e, "%s:%" PRId64, shown, line.number);
        if (code)
            return code;
    }
}

int bl_field_clips_read(struct bl_clip_list *list, const struct bl_kind *kind, const char *path, const char *shown,
                        const struct bl_cancel *cancel, struct bl_error *e)
{
    struct bl_clip_columns columns = {0};
    struct bl_list_lines *lines;
    struct bl_error why = {0};
    int code = field_clips_read_columns(&columns, kind, path, shown, cancel, e);
    if (code)
        goto out;
    code = bl_list_lines_open(&lines, path, &columns, cancel, &why);
    if (code == BL_EDATA)
        bl_error_prefix(&why, "%s", shown);
    if (!code) {
        code = field_clips_add(list, lines, shown, &why);
        bl_list_lines_close(lines);
    }
    if (code) /* a part of it would leave sequences without a clip */
        code = bl_error_set(e, code == BL_EDATA ? BL_EUSAGE : code, "%s", why.text);
out:
    bl_clip_columns_free(&columns);
    return code;
}
