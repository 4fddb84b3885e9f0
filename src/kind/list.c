#include "kind/list.h"

#include <inttypes.h>
#include <string.h>

#include "kind/clip.h"
#include "kind/kind.h"

bool bl_list_has_name(const char *path)
{
    static const char *const extensions[] = {"csv",       "tsv",        "jsonl",   "json",     "ndjson",
                                             "txt",       "csv.gz",     "tsv.gz",  "jsonl.gz", "json.gz",
                                             "ndjson.gz", "txt.gz",     "csv.zst", "tsv.zst",  "jsonl.zst",
                                             "json.zst",  "ndjson.zst", "txt.zst", NULL};
    return bl_extensions_match(extensions, path);
}

void bl_list_path_free(struct bl_list_path *path)
{
    bl_buffer_free(&path->path);
    bl_buffer_free(&path->open_path);
}

int bl_list_path_set(struct bl_list_path *out, const struct bl_chunk *chunk, const char *path, bool from_list,
                     struct bl_error *e)
{
    const char *list = chunk->input->name, *slash = strrchr(list, '/');
    size_t folder = from_list && *path != '/' && slash ? (size_t)(slash + 1 - list) : 0;
    bl_buffer_clear(&out->path);
    bl_buffer_clear(&out->open_path);
    if (chunk->base && (folder ? *list : *path) != '/')
        bl_buffer_printf(&out->open_path, "%s/", chunk->base);
    if (folder)
        bl_buffer_append(&out->path, list, folder);
    bl_buffer_text(&out->path, path);
    bl_buffer_text(&out->open_path, out->path.data ? out->path.data : "");
    int code = bl_buffer_check(&out->path, e);
    return code ? code : bl_buffer_check(&out->open_path, e);
}

int bl_list_names_of_clip(const struct bl_chunk *chunk, const struct bl_line *line, bl_list_take *take, void *sink,
                          struct bl_error *e)
{
    struct bl_clip clip = {0};
    struct bl_list_path path = {0};
    struct bl_error unusable = {0};
    int code = bl_clip_parse(&clip, line->text, line->size, &unusable);
    if (code && code != BL_EDATA) {
        bl_error_set(e, code, "%s", unusable.text);
        goto out;
    }
    const char *id = clip.path && *clip.path ? clip.id.data : NULL;
    if (code) {
        code = take(sink, id, NULL, NULL, e);
        goto out;
    }
    code = bl_list_path_set(&path, chunk, clip.path, true, e);
    if (!code)
        code = take(sink, id, path.path.data, path.open_path.data, e);
out:
    bl_clip_free(&clip);
    bl_list_path_free(&path);
    return code;
}

static int list_count_line(const struct bl_list_counting *c, const struct bl_chunk *chunk, const struct bl_line *line,
                           bl_row_emit *emit, void *sink, struct bl_error *e)
{
    struct bl_error unusable = {0};
    struct bl_row row = {.stream = -1, .offset = line->number, .reason = c->reason};
    c->reason[0] = '\0';
    int code = line->unusable ? bl_error_set(&unusable, BL_EDATA, "%.*s", (int)line->size, line->text)
                              : c->fill(c->counter, chunk, line, &row, &unusable);
    if (code && code != BL_EDATA)
        return bl_error_set(e, code, "%s", unusable.text);
    if (code) {
        if (row.path)
            bl_error_prefix(&unusable, "%s", row.path);
        if (row.id) /* the list's own, which does not name list and line */
            bl_error_prefix(&unusable, "%s:%" PRId64, chunk->input->name, line->number);
        row.status = BL_ROW_SKIPPED;
        row.reason = unusable.text;
        row.length = 0;
    }
    return emit(sink, 0, &row, e);
}

int bl_list_count(const struct bl_list_counting *counting, const struct bl_kind_env *env, const struct bl_chunk *chunk,
                  bl_row_emit *emit, void *sink, struct bl_error *e)
{
    for (int i = 0; i < chunk->lines; i++) {
        if (bl_cancelled(env->cancel))
            return BL_ECANCEL;
        int code = list_count_line(counting, chunk, &chunk->line[i], emit, sink, e);
        if (code)
            return code;
    }
    if (!chunk->fault)
        return BL_OK;
    struct bl_row row = {.status = BL_ROW_SKIPPED, .stream = -1, .offset = -1, .reason = chunk->fault};
    return emit(sink, 0, &row, e);
}
