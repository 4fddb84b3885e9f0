#include "store/view_source_json.h"

#include <inttypes.h>
#include <string.h>

json_t *bl_view_sources_to_json(const struct bl_manifest *manifest)
{
    json_t *sources = json_array();
    for (size_t i = 0; i < manifest->sources; i++) {
        const struct bl_view_source *source = &manifest->source[i];
        json_t *files = json_object();
        for (int f = 0; f < BL_VIEW_SOURCE_FILES; f++) {
            char digest[BL_DIGEST_SIZE];
            bl_checksum_format(source->checksum[f], digest);
            bl_jansson_set(&files, bl_view_source_file_name((enum bl_view_source_file)f), json_string(digest));
        }
        bl_jansson_push(&sources,
                        json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:f, s:o, s:o}", "name",
                                  bl_jansson_escaped(source->name), "path", bl_jansson_escaped(source->path), "rows",
                                  (json_int_t)source->rows, "first_row", (json_int_t)source->first_row, "blocks",
                                  (json_int_t)source->blocks, "sequences", (json_int_t)source->sequences, "steps",
                                  (json_int_t)source->steps, "share", source->share, "weight",
                                  source->weight > 0 ? json_real(source->weight) : json_null(), "files", files));
    }
    return sources;
}

static int source_read_text(const json_t *object, const char *name, char **out, struct bl_error *e)
{
    const char *text;
    int code = bl_jansson_get_text(object, name, &text, e);
    if (!code && (!*text || strstr(text, "\\x00")))
        code = bl_error_set(e, BL_EDATA, "\"%s\" of a source is empty, or holds a zero byte", name);
    return code ? code : bl_jansson_unescaped(json_object_get(object, name), out, e);
}

static int source_read(const json_t *object, struct bl_view_source *source, struct bl_error *e)
{
    const json_t *share = json_object_get(object, "share"), *weight = json_object_get(object, "weight");
    const json_t *files = json_object_get(object, "files");
    const struct {
        const char *name;
        int64_t least, *value;
    } numbers[] = {{"rows", 0, &source->rows},
                   {"first_row", 0, &source->first_row},
                   {"blocks", 1, &source->blocks},
                   {"sequences", 0, &source->sequences},
                   {"steps", 0, &source->steps}};
    int code = source_read_text(object, "name", &source->name, e);
    if (!code)
        code = source_read_text(object, "path", &source->path, e);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !code; i++)
        code = bl_jansson_get_integer(object, numbers[i].name, numbers[i].least, INT64_MAX, numbers[i].value, e);
    for (int f = 0; f < BL_VIEW_SOURCE_FILES && !code; f++)
        code = bl_jansson_get_checksum(files, bl_view_source_file_name((enum bl_view_source_file)f),
                                       &source->checksum[f], e);
    if (code)
        return code;
    if (source->steps > INT64_MAX / 2 || source->rows > BL_SEQUENCES_MAX || source->blocks > INT64_MAX / BL_T_MAX)
        return bl_error_set(e, BL_EDATA, "\"rows\", \"blocks\" or \"steps\" of a source are impossible");
    if (!json_is_number(share) || !(json_is_null(weight) || json_is_number(weight)))
        return bl_error_set(e, BL_EDATA, "\"share\" or \"weight\" of a source is missing or invalid");
    source->share = json_number_value(share);
    source->weight = json_number_value(weight); /* null: 0 */
    return BL_OK;
}

int bl_view_sources_from_json(const json_t *object, struct bl_manifest *manifest, struct bl_error *e)
{
    const json_t *sources = json_object_get(object, "sources");
    int code = bl_jansson_get_integer(object, "rows", 1, BL_SEQUENCES_MAX, &manifest->rows, e);
    int64_t rows = 0;
    manifest->format.blocks_per_shard = manifest->format.blocks; /* there are none to divide */
    if (!code && json_array_size(sources) < 1)
        code = bl_error_set(e, BL_EDATA, "\"sources\" is missing, or not a list");
    for (size_t i = 0; i < json_array_size(sources) && !code; i++) {
        struct bl_view_source *source = bl_manifest_append_source(manifest, e);
        code = source ? source_read(json_array_get(sources, i), source, e) : BL_EFAIL;
        if (!code && (source->first_row != rows || source->rows > manifest->rows - rows))
            code = bl_error_set(e, BL_EDATA, "the rows of the source %s do not follow those before", source->name);
        if (!code)
            rows += source->rows;
    }
    if (!code && rows != manifest->rows)
        code = bl_error_set(e, BL_EDATA, "the sources have %" PRId64 " rows, not %" PRId64, rows, manifest->rows);
    return code;
}
