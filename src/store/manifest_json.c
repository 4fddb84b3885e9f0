/* The manifest as JSON, and as a file: writing and reading.
 *
 * Reading trusts nothing: each member is checked for its type and range, and the format and the numbers of shards and
 * blocks for being possible, before any of them is used as a size or a path. A manifest begins like this:
 *
 *   {"format": 1, "tool": "0.2.0", "strategy": "block", "fill": "best", "T": 4096, "seed": 0, ... */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "store/dataset_file.h"
#include "base/json.h"
#include "base/output.h"
#include "base/text.h"
#include "store/index.h"
#include "store/manifest.h"
#include "store/plan_info.h"
#include "store/sequences.h"
#include "store/shard_table.h"

#define SHARD_ROW_MIN 61 /* bytes: the name of a shard, three numbers, a checksum, tabs and the line's end */
#define NO_DIGEST "0000000000000000" /* stands for the checksum while it is computed */

/* --- sources of a view -------------------------------------------------------------------------------------------- */

/* The sources of a view in its manifest: "rows" and "sources". */

/* Returns the list of sources; NULL: memory ran out. */
static json_t *view_sources_to_json(const struct bl_manifest *manifest)
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

/* Reads a string of a source, which is a name or a path: it must not be empty, and must not hold a zero byte. */
static int source_read_text(const json_t *object, const char *name, char **out, struct bl_error *e)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (text && (!*text || strstr(text, "\\x00")))
        return bl_error_set(e, BL_EDATA, "\"%s\" of a source is empty, or holds a zero byte", name);
    return bl_jansson_get_unescaped(object, name, out, e);
}

/* Reads "rows" and "sources". BL_EDATA: invalid, or the rows of the sources do not follow each other. */
static int view_sources_from_json(const json_t *object, struct bl_manifest *manifest, struct bl_error *e)
{
    const json_t *sources = json_object_get(object, "sources");
    BL_TRY(bl_jansson_get_integer(object, "rows", 1, BL_SEQUENCES_MAX, &manifest->rows, e));
    int64_t rows = 0;
    manifest->format.blocks_per_shard = manifest->format.blocks; /* a view has no shards to divide */
    if (json_array_size(sources) < 1)
        return bl_error_set(e, BL_EDATA, "\"sources\" is missing, or not a list");
    for (size_t i = 0; i < json_array_size(sources); i++) {
        const json_t *entry = json_array_get(sources, i), *files = json_object_get(entry, "files");
        const json_t *share = json_object_get(entry, "share"), *weight = json_object_get(entry, "weight");
        struct bl_view_source *source = bl_manifest_append_source(manifest, e);
        if (!source)
            return BL_EFAIL;
        const struct bl_jansson_integer numbers[] = {{"rows", 0, &source->rows},
                                                     {"first_row", 0, &source->first_row},
                                                     {"blocks", 1, &source->blocks},
                                                     {"sequences", 0, &source->sequences},
                                                     {"steps", 0, &source->steps}};
        BL_TRY(source_read_text(entry, "name", &source->name, e));
        BL_TRY(source_read_text(entry, "path", &source->path, e));
        BL_TRY(bl_jansson_get_integers(entry, numbers, sizeof numbers / sizeof *numbers, e));
        for (int f = 0; f < BL_VIEW_SOURCE_FILES; f++)
            BL_TRY(bl_jansson_get_checksum(files, bl_view_source_file_name((enum bl_view_source_file)f),
                                           &source->checksum[f], e));
        if (source->steps > INT64_MAX / 2 || source->rows > BL_SEQUENCES_MAX || source->blocks > INT64_MAX / BL_T_MAX)
            return bl_error_set(e, BL_EDATA, "\"rows\", \"blocks\" or \"steps\" of a source are impossible");
        if (!json_is_number(share) || !(json_is_null(weight) || json_is_number(weight)))
            return bl_error_set(e, BL_EDATA, "\"share\" or \"weight\" of a source is missing or invalid");
        source->share = json_number_value(share);
        source->weight = json_number_value(weight); /* null: 0 */
        if (source->first_row != rows || source->rows > manifest->rows - rows)
            return bl_error_set(e, BL_EDATA, "the rows of the source %s do not follow the rows of the source before it",
                                source->name);
        rows += source->rows;
    }
    if (rows != manifest->rows)
        return bl_error_set(e, BL_EDATA, "the sources have %" PRId64 " rows, not %" PRId64, rows, manifest->rows);
    return BL_OK;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* Returns pairs as an object of strings: {"align": "8", "pad": "repeat"}. */
static json_t *manifest_pairs_json(const struct bl_manifest_pairs *pairs)
{
    json_t *object = json_object();
    for (size_t i = 0; i < pairs->count; i++)
        bl_jansson_set(&object, pairs->pair[i].name, bl_jansson_escaped(pairs->pair[i].value));
    return object;
}

/* Returns the fields: [{"name": "tokens", "kind": "text", "dtype": "U16", "shape": [], "encoding": "raw", ...}]. */
static json_t *manifest_fields_json(const struct bl_manifest *manifest)
{
    const struct bl_format *format = &manifest->format;
    json_t *fields = json_array();
    for (int f = 0; f < format->fields.count; f++) {
        const struct bl_field *field = &format->fields.field[f];
        char encoding[BL_ENCODING_NAME_MAX];
        json_t *shape = json_array();
        for (int i = 0; i < field->rank; i++)
            bl_jansson_push(&shape, json_integer(field->shape[i]));
        json_t *entry =
            json_pack("{s:s, s:s, s:s, s:o, s:s, s:o}", "name", field->name, "kind", field->kind, "dtype",
                      bl_dtype_name(field->dtype), "shape", shape, "encoding",
                      bl_encoding_name(&format->encoding[f], encoding), "made", bl_jansson_escaped(manifest->made[f]));
        if (field->pad)
            bl_jansson_set(&entry, "pad", json_integer(field->pad));
        if (field->own) {
            bl_jansson_set(&entry, "steps", json_string("own"));
            bl_jansson_set(&entry, "capacity", json_integer(field->capacity));
            bl_jansson_set(&entry, "storage", json_string(field->flat ? "flat" : "padded"));
        }
        bl_jansson_push(&fields, entry);
    }
    return fields;
}

/* Returns the files: [{"name": "index.safetensors", "bytes": 4096, "checksum": "0123456789abcdef"}, ...]. */
static json_t *manifest_files_json(const struct bl_manifest *manifest)
{
    json_t *files = json_array();
    for (size_t i = 0; i < manifest->files; i++) {
        const struct bl_manifest_file *file = &manifest->file[i];
        char digest[BL_DIGEST_SIZE];
        bl_checksum_format(file->checksum, digest);
        bl_jansson_push(&files, json_pack("{s:s, s:I, s:s}", "name", file->name, "bytes", (json_int_t)file->bytes,
                                          "checksum", digest));
    }
    return files;
}

json_t *bl_manifest_to_json(const struct bl_manifest *m, bool is_draft)
{
    const struct bl_format *format = &m->format;
    json_t *object = json_object();
    bool is_view = bl_manifest_is_view(m);
    bl_jansson_set(&object, "format", json_integer(bl_format_version(format, is_view)));
    bl_jansson_set(&object, "tool", bl_jansson_escaped(m->tool));
    bl_plan_info_to_json(&m->plan_info, is_draft, &object);
    bl_jansson_set(&object, "skipped", json_integer(m->skipped));
    bl_jansson_set(&object, "failed", json_integer(m->failed));
    bl_jansson_set(&object, "failed_steps", json_integer(m->failed_steps));
    json_t *counts = m->counts.count ? json_object() : NULL, *attributes = json_array();
    for (size_t i = 0; i < m->counts.count; i++) {
        const struct bl_manifest_pair *pair = &m->counts.pair[i];
        int64_t count = 0;
        (void)bl_text_to_int(pair->value, strlen(pair->value), 0, INT64_MAX, &count);
        bl_jansson_set(&counts, pair->name, json_integer(count));
    }
    if (m->counts.count)
        bl_jansson_set(&object, "counts", counts);
    if (m->untrained.counted == format->blocks && !is_view) {
        bl_jansson_set(&object, "untrained", json_integer(m->untrained.pieces));
        bl_jansson_set(&object, "untrained_blocks", json_integer(m->untrained.blocks));
    }
    bl_jansson_set(&object, "S", json_integer(format->S));
    bl_jansson_set(&object, "fields", manifest_fields_json(m));
    for (int a = 0; a < format->attributes; a++)
        bl_jansson_push(&attributes, json_pack("{s:s, s:s}", "name", format->attribute[a].name, "dtype",
                                               bl_dtype_name(format->attribute[a].dtype)));
    bl_jansson_set(&object, "attributes", attributes);
    bl_jansson_set(&object, "source_start", json_boolean(format->has_source_start));
    bl_jansson_set(&object, "segment_ids", json_boolean(format->has_segment_ids));
    if (is_view) {
        bl_jansson_set(&object, "rows", json_integer(m->rows));
        bl_jansson_set(&object, "sources", view_sources_to_json(m));
    } else {
        bl_jansson_set(&object, "compress", format->compressed ? json_sprintf("zstd:%d", format->level) : json_null());
        if (bl_format_frame_size(format) != BL_FRAME_MAX)
            bl_jansson_set(&object, "frame_size", json_integer((json_int_t)format->frame_size));
        bl_jansson_set(&object, "blocks_per_shard", json_integer(format->blocks_per_shard));
        bl_jansson_set(&object, "shards", json_integer(bl_format_shards(format)));
    }
    bl_jansson_set(&object, "plan_digest", json_string(format->plan_digest));
    bl_jansson_set(&object, "simd", bl_jansson_escaped(m->simd));
    bl_jansson_set(&object, "libraries", manifest_pairs_json(&m->libraries));
    bl_jansson_set(&object, "configuration", manifest_pairs_json(&m->configuration));
    json_t *notes = m->notes ? json_array() : NULL;
    for (size_t i = 0; i < m->notes; i++)
        bl_jansson_push(&notes, bl_jansson_escaped(m->note[i]));
    if (m->notes)
        bl_jansson_set(&object, "notes", notes);
    bl_jansson_set(&object, "files", manifest_files_json(m));
    bl_jansson_set(&object, "checksum", json_string(NO_DIGEST));
    return object;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

bool bl_manifest_is_object(const char *text)
{
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    bool is_object = json_is_object(object);
    json_decref(object);
    return is_object;
}

/* Reads an object of strings: "libraries" or "configuration". */
static int manifest_read_pairs(const json_t *object, const char *name, struct bl_manifest_pairs *pairs,
                               struct bl_error *e)
{
    json_t *members = json_object_get(object, name);
    if (!json_is_object(members))
        return bl_error_set(e, BL_EDATA, "\"%s\" is missing, or not an object", name);
    const char *key;
    json_t *value;
    json_object_foreach(members, key, value)
    {
        if (!json_is_string(value))
            return bl_error_set(e, BL_EDATA, "\"%s\": \"%s\" is not a string", name, key);
        BL_TRY(bl_manifest_pair(pairs, key, "", e));
        BL_TRY(bl_jansson_unescaped(value, &pairs->pair[pairs->count - 1].value, e));
    }
    return BL_OK;
}

/* Reads what a field with steps of its own has: its capacity and its storage. Other fields have no member "steps". */
static int manifest_read_own(const json_t *entry, struct bl_field *field, struct bl_error *e)
{
    const json_t *steps = json_object_get(entry, "steps");
    const char *storage;
    if (!steps)
        return BL_OK;
    if (!json_is_string(steps) || strcmp(json_string_value(steps), "own") != 0)
        return bl_error_set(e, BL_EDATA, "field \"%s\": unknown \"steps\"", field->name);
    field->own = true;
    BL_TRY(bl_jansson_get_integer(entry, "capacity", 1, BL_T_MAX, &field->capacity, e));
    BL_TRY(bl_jansson_get_text(entry, "storage", &storage, e));
    field->flat = strcmp(storage, "flat") == 0;
    if (!field->flat && strcmp(storage, "padded") != 0)
        return bl_error_set(e, BL_EDATA, "field \"%s\": unknown \"storage\"", field->name);
    return BL_OK;
}

/* Reads the list of fields, at least one. A name must obey the rules for names of fields: exports make file names from
 * it, so that a damaged manifest must not bring in a path. Older versions had only raw fields and no member "encoding".
 */
static int manifest_read_fields(const json_t *object, struct bl_manifest *manifest, struct bl_error *e)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    const json_t *fields = json_object_get(object, "fields");
    size_t count = json_array_size(fields);
    if (count < 1 || count > BL_FIELDS_MAX)
        return bl_error_set(e, BL_EDATA, "\"fields\" is missing, or not a list of 1 to %d", BL_FIELDS_MAX);
    manifest->format.fields.count = (int)count;
    for (size_t f = 0; f < count; f++) {
        const json_t *entry = json_array_get(fields, f);
        struct bl_field *field = &manifest->format.fields.field[f];
        struct bl_encoding *encoding = &manifest->format.encoding[f];
        const char *name, *kind, *dtype;
        BL_TRY(bl_jansson_get_text(entry, "name", &name, e));
        BL_TRY(bl_jansson_get_text(entry, "kind", &kind, e));
        BL_TRY(bl_jansson_get_text(entry, "dtype", &dtype, e));
        BL_TRY(bl_jansson_get_unescaped(entry, "made", &manifest->made[f], e));
        int type = bl_dtype_parse(dtype);
        size_t size = strspn(name, allowed);
        bool is_name = size && !name[size] && name[strspn(name, ".")];
        if (type < 0 || size >= sizeof field->name || strlen(kind) >= sizeof field->kind || !is_name)
            return bl_error_set(e, BL_EDATA, "a field has an invalid name, kind or dtype");
        strcpy(field->name, name);
        strcpy(field->kind, kind);
        field->dtype = (enum bl_dtype)type;
        const json_t *encoded = json_object_get(entry, "encoding"), *shape = json_object_get(entry, "shape");
        *encoding = (struct bl_encoding){.kind = BL_ENCODING_RAW};
        if (encoded && (!json_is_string(encoded) || !bl_encoding_parse(json_string_value(encoded), encoding)))
            return bl_error_set(e, BL_EDATA, "field \"%s\": unknown encoding", name);
        if (json_object_get(entry, "pad"))
            BL_TRY(bl_jansson_get_integer(entry, "pad", INT64_MIN, INT64_MAX, &field->pad, e));
        BL_TRY(manifest_read_own(entry, field, e));
        if (!json_is_array(shape) || json_array_size(shape) > BL_FIELD_RANK_MAX)
            return bl_error_set(e, BL_EDATA, "field \"%s\": \"shape\" is not a list of at most %d sizes", name,
                                BL_FIELD_RANK_MAX);
        field->rank = (int)json_array_size(shape);
        for (int i = 0; i < field->rank; i++) {
            const json_t *side = json_array_get(shape, (size_t)i);
            if (!json_is_integer(side) || json_integer_value(side) < 1)
                return bl_error_set(e, BL_EDATA, "field \"%s\": \"shape\" has an invalid size", name);
            field->shape[i] = json_integer_value(side);
        }
        /* The kinds of frames describe masks by texts such as "indices with the numbers of the files". */
        field->lossless = strncmp(manifest->made[f], "indices ", 8) == 0 && field->dtype == BL_U8 && field->rank == 3 &&
                          field->shape[2] == 1;
    }
    return BL_OK;
}

/* Reads the attributes. There are none if the member is missing. */
static int manifest_read_attributes(const json_t *object, struct bl_format *format, struct bl_error *e)
{
    const json_t *attributes = json_object_get(object, "attributes");
    size_t count = json_array_size(attributes);
    if ((attributes && !json_is_array(attributes)) || count > BL_ATTRIBUTES_MAX)
        return bl_error_set(e, BL_EDATA, "\"attributes\" is not a list of at most %d", BL_ATTRIBUTES_MAX);
    for (size_t i = 0; i < count; i++) {
        const json_t *entry = json_array_get(attributes, i);
        struct bl_attribute *attribute = &format->attribute[i];
        const char *name, *dtype;
        BL_TRY(bl_jansson_get_text(entry, "name", &name, e));
        BL_TRY(bl_jansson_get_text(entry, "dtype", &dtype, e));
        int type = bl_dtype_parse(dtype);
        if (type < 0 || strlen(name) >= sizeof attribute->name)
            return bl_error_set(e, BL_EDATA, "an attribute has an invalid name or dtype");
        strcpy(attribute->name, name);
        attribute->dtype = (enum bl_dtype)type;
    }
    format->attributes = (int)count;
    return BL_OK;
}

/* Returns true if the name is that of a file below the dataset, without parts such as "..". Jansson rejects zero
 * bytes.
 */
static bool name_is_within(const char *name)
{
    for (const char *part = name;; part++) {
        size_t size = strcspn(part, "/");
        if (!size || (size == 1 && *part == '.') || (size == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        for (size_t i = 0; i < size; i++) {
            if ((unsigned char)part[i] < ' ' || part[i] == 0x7f || part[i] == '\\')
                return false;
        }
        part += size;
        if (!*part)
            return true;
    }
}

/* Reads the list of files other than shards. */
static int manifest_read_files(const json_t *object, struct bl_manifest *manifest, struct bl_error *e)
{
    const json_t *files = json_object_get(object, "files");
    if (!json_is_array(files))
        return bl_error_set(e, BL_EDATA, "\"files\" is missing, or not a list");
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *entry = json_array_get(files, i);
        const char *name;
        BL_TRY(bl_jansson_get_text(entry, "name", &name, e));
        if (!name_is_within(name))
            return bl_error_set(e, BL_EDATA, "\"files\": \"%s\" is not a path within the dataset", name);
        struct bl_manifest_file *file = bl_manifest_append_file(manifest, name, e);
        if (!file)
            return BL_EFAIL;
        BL_TRY(bl_jansson_get_integer(entry, "bytes", 0, INT64_MAX, &file->bytes, e));
        BL_TRY(bl_jansson_get_checksum(entry, "checksum", &file->checksum, e));
    }
    return BL_OK;
}

/* Reads how the shards are divided and compressed: "compress" is null or, for example, "zstd:3". Older versions
 * wrote no "frame_size", since all their frames had BL_FRAME_MAX bytes. */
static int manifest_read_shards(const json_t *object, struct bl_format *format, struct bl_error *e)
{
    BL_TRY(bl_jansson_get_integer(object, "blocks_per_shard", 1, format->blocks, &format->blocks_per_shard, e));
    const json_t *compress = json_object_get(object, "compress");
    const char *text = json_string_value(compress);
    int64_t level = 0, size = 0;
    format->compressed = text != NULL;
    bool good = text ? strncmp(text, "zstd:", 5) == 0 && bl_text_to_int(text + 5, strlen(text + 5), -200000, 22, &level)
                     : json_is_null(compress);
    format->level = (int)level;
    if (!good)
        return bl_error_set(e, BL_EDATA, "\"compress\" is missing or unknown");
    if (json_object_get(object, "frame_size"))
        BL_TRY(bl_jansson_get_integer(object, "frame_size", 1, BL_FRAME_MAX, &size, e));
    format->frame_size = (size_t)size;
    return BL_OK;
}

/* Reads all that determines the bytes of shards, or of a view its sources, and checks it as a format. */
static int manifest_read_format(const json_t *object, struct bl_manifest *manifest, struct bl_error *e)
{
    struct bl_format *format = &manifest->format;
    const json_t *source_start = json_object_get(object, "source_start");
    const json_t *segment_ids = json_object_get(object, "segment_ids");
    format->T = manifest->plan_info.T;
    format->blocks = manifest->plan_info.blocks;
    format->has_source_start = json_is_true(source_start);
    format->has_segment_ids = json_is_true(segment_ids);
    uint64_t digest = 0;
    struct bl_error why = {0};
    if (!json_is_boolean(source_start) || !json_is_boolean(segment_ids))
        return bl_error_set(e, BL_EDATA, "\"source_start\" or \"segment_ids\" is missing, or not a boolean");
    BL_TRY(bl_jansson_get_integer(object, "S", 1, BL_T_MAX, &format->S, e));
    const json_int_t version = json_integer_value(json_object_get(object, "format"));
    bool is_view = version % 2 == 0;                /* each version of a view follows that of a dataset */
    format->padded_to = 2 * manifest->plan_info.cp; /* --align may give a multiple: see bl_manifest_set_recorded */
    BL_TRY(is_view ? view_sources_from_json(object, manifest, e) : manifest_read_shards(object, format, e));
    BL_TRY(bl_jansson_get_checksum(object, "plan_digest", &digest, e));
    bl_checksum_format(digest, format->plan_digest);
    BL_TRY(manifest_read_fields(object, manifest, e));
    BL_TRY(manifest_read_attributes(object, format, e));
    if (is_view) /* the sources of a view with delta fields are compressed, and so the view counts as compressed */
        format->compressed = bl_format_encodes(format, BL_ENCODING_DELTA);
    if (bl_format_check(format, &why))
        return bl_error_pass(e, BL_EDATA, &why);
    bool own = version == BL_FORMAT_OWN || version == BL_FORMAT_OWN_VIEW, cp = version >= BL_FORMAT_CP;
    if (cp != (manifest->plan_info.cp > 0))
        return bl_error_set(e, BL_EDATA, "format %d %s context parallelism (\"cp\")", (int)version,
                            cp ? "without" : "with");
    if (!cp && own != (bl_fields_count_own(&format->fields) > 0))
        return bl_error_set(e, BL_EDATA, "format %d %s fields with steps of their own", (int)version,
                            own ? "without" : "with");
    return BL_OK;
}

/* Checks that shards.tsv and the index are large enough for the numbers of shards and blocks. Otherwise a damaged
 * number would make the tool search for an enormous number of shards, one by one. */
static int manifest_check_size(const struct bl_manifest *manifest, struct bl_error *e)
{
    const struct {
        const char *name, *what;
        int64_t count, least; /* bytes of each */
    } lists[] = {{BL_SHARDS_FILE, "shards", bl_format_shards(&manifest->format), SHARD_ROW_MIN},
                 {BL_INDEX_FILE, "blocks", manifest->format.blocks, sizeof(int64_t)}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct bl_manifest_file *file = bl_manifest_find_file(manifest, lists[i].name);
        if (file && lists[i].count > file->bytes / lists[i].least)
            return bl_error_set(e, BL_EDATA, "%" PRId64 " %s, but only %" PRId64 " bytes of %s", lists[i].count,
                                lists[i].what, file->bytes, lists[i].name);
    }
    return BL_OK;
}

/* Reads all members except format and checksum into an empty manifest, and checks types and ranges. BL_EDATA names the
 * member that is missing or invalid. "untrained" is missing in datasets without masks; "counts", "untrained" and
 * "notes" are missing in those of older versions. Counts are kept as texts. */
static int manifest_from_json(const json_t *object, struct bl_manifest *m, struct bl_error *e)
{
    const struct bl_jansson_integer numbers[] = {
        {"skipped", 0, &m->skipped}, {"failed", 0, &m->failed}, {"failed_steps", 0, &m->failed_steps}};
    json_t *counts = json_object_get(object, "counts"), *value;
    const json_t *notes = json_object_get(object, "notes");
    const char *key;
    BL_TRY(bl_plan_info_from_json(&m->plan_info, object, e));
    BL_TRY(manifest_read_format(object, m, e));
    BL_TRY(bl_jansson_get_integers(object, numbers, sizeof numbers / sizeof *numbers, e));
    if (counts && !json_is_object(counts))
        return bl_error_set(e, BL_EDATA, "\"counts\" is not an object");
    json_object_foreach(counts, key, value)
    {
        char text[32];
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            return bl_error_set(e, BL_EDATA, "\"counts\": \"%s\" is not a number of sequences", key);
        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        BL_TRY(bl_manifest_pair(&m->counts, key, text, e));
    }
    if (json_object_get(object, "untrained")) {
        m->untrained.counted = m->format.blocks;
        BL_TRY(bl_jansson_get_integer(object, "untrained", 0, INT64_MAX, &m->untrained.pieces, e));
        BL_TRY(bl_jansson_get_integer(object, "untrained_blocks", 0, m->format.blocks, &m->untrained.blocks, e));
    }
    BL_TRY(bl_jansson_get_unescaped(object, "tool", &m->tool, e));
    BL_TRY(bl_jansson_get_unescaped(object, "simd", &m->simd, e));
    BL_TRY(manifest_read_pairs(object, "libraries", &m->libraries, e));
    BL_TRY(manifest_read_pairs(object, "configuration", &m->configuration, e));
    bl_manifest_set_recorded(m);
    if (m->plan_info.cp && (m->align % (2 * m->plan_info.cp) || m->format.T % m->align))
        return bl_error_set(e, BL_EDATA,
                            "T = %" PRId64 " and the alignment of %" PRId64 " do not suit context parallelism over "
                            "%" PRId64 " ranks (\"cp\")",
                            m->format.T, m->align, m->plan_info.cp);
    if (notes && !json_is_array(notes))
        return bl_error_set(e, BL_EDATA, "\"notes\" is not a list");
    for (size_t i = 0; i < json_array_size(notes); i++) {
        if (!json_is_string(json_array_get(notes, i)))
            return bl_error_set(e, BL_EDATA, "\"notes\" is not a list of strings");
        BL_TRY(bl_manifest_note(m, "", e));
        BL_TRY(bl_jansson_unescaped(json_array_get(notes, i), &m->note[i], e));
    }
    BL_TRY(manifest_read_files(object, m, e));
    return manifest_check_size(m, e);
}

/* --- manifest file ------------------------------------------------------------------------------------------------ */

/* The manifest as a file. Its checksum is computed over the text with the digits of the checksum as zeros. The checksum
 * is the last member, so that its digits are the last occurrence of them in the text. */

/* Returns the offset of the last occurrence of digits in the text, or size if there is none. */
static size_t text_find_last(const char *text, size_t size, const char *digits)
{
    size_t found = size;
    for (const char *at = text; (at = memmem(at, size - (size_t)(at - text), digits, strlen(digits))); at++)
        found = (size_t)(at - text);
    return found;
}

int bl_manifest_format(struct bl_manifest *manifest, bool is_draft, struct bl_buffer *text, struct bl_error *e)
{
    size_t begin = text->size;
    BL_TRY(bl_jansson_append(bl_manifest_to_json(manifest, is_draft), text, e));
    char *own = text->data + begin;
    size_t size = text->size - begin;
    bl_checksum_format(bl_checksum(own, size), manifest->digest);
    memcpy(own + text_find_last(own, size, NO_DIGEST), manifest->digest, BL_DIGEST_SIZE - 1);
    return BL_OK;
}

int bl_manifest_write(struct bl_manifest *manifest, const char *dir, struct bl_error *e)
{
    struct bl_buffer text = {0};
    char *path = bl_path_join(dir, BL_MANIFEST_FILE);
    int code = path ? bl_manifest_format(manifest, false, &text, e) : bl_error_memory(e);
    if (!code)
        code = bl_output_replace(path, text.data, text.size, e);
    bl_buffer_free(&text);
    free(path);
    return code;
}

int bl_manifest_parse(struct bl_manifest *manifest, const char *text, size_t size, bool *sound, struct bl_error *e)
{
    *manifest = (struct bl_manifest){0};
    if (bl_json_marks(text, size) > BL_JSON_VALUES_MAX)
        return bl_error_set(e, BL_EDATA, "more than %zu values: not a manifest", BL_JSON_VALUES_MAX);
    json_t *object;
    int64_t version = 0;
    uint64_t checksum = 0;
    int code = bl_jansson_parse(text, size, JSON_REJECT_DUPLICATES, &object, e);
    if (!code)
        code = bl_jansson_get_integer(object, "format", 1, INT64_MAX, &version, e);
    if (!code && version > BL_FORMAT_CP_VIEW)
        code = bl_error_set(e, BL_EDATA,
                            "format version %" PRId64 ", but this bload knows versions %d to %d: update bload", version,
                            BL_FORMAT_VERSION, BL_FORMAT_CP_VIEW);
    if (!code)
        code = bl_jansson_get_checksum(object, "checksum", &checksum, e);
    if (!code) {
        struct bl_checksum_state sum;
        bl_checksum_format(checksum, manifest->digest);
        const size_t at = text_find_last(text, size, manifest->digest), after = at + BL_DIGEST_SIZE - 1;
        bl_checksum_begin(&sum);
        bl_checksum_add(&sum, text, at);
        bl_checksum_add(&sum, NO_DIGEST, BL_DIGEST_SIZE - 1);
        if (at < size)
            bl_checksum_add(&sum, text + after, size - after);
        *sound = at < size && bl_checksum_end(&sum) == checksum;
        code = manifest_from_json(object, manifest, e);
    }
    json_decref(object);
    if (code)
        bl_manifest_free(manifest);
    return code;
}

/* Checks that there is a manifest. BL_EUSAGE: dir is no finished dataset; the message says so. */
static int manifest_check_exists(const char *dir, const char *path, struct bl_error *e)
{
    struct stat status;
    struct bl_error why = {0};
    if (!bl_far_is(path)) {
        if (access(path, F_OK) == 0)
            return BL_OK;
        return errno == ENOENT
                   ? bl_error_set(e, BL_EUSAGE, "%s is not a finished dataset: it has no " BL_MANIFEST_FILE, dir)
               : errno == ENOTDIR ? bl_error_set(e, BL_EUSAGE, "%s is a file, not the directory of a dataset", dir)
                                  : bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    }
    if (bl_input_file_stat(path, &status) == 0)
        return BL_OK;
    bool is_missing = errno == ENOENT;
    int code = bl_opener_fail("cannot open", path, BL_EFAIL, &why);
    if (!is_missing)
        return bl_error_pass(e, code, &why);
    bl_far_forgive(); /* the store has answered: "s3://bucket/key: there is no such object" */
    return bl_error_set(e, BL_EUSAGE, "%s is not a finished dataset: %s", dir, why.text);
}

int bl_manifest_inspect(struct bl_manifest *manifest, const char *dir, bool *sound, struct bl_error *e)
{
    struct bl_buffer text = {0};
    *manifest = (struct bl_manifest){0};
    char *path = bl_path_join(dir, BL_MANIFEST_FILE);
    if (!path)
        return bl_error_memory(e);
    int code = manifest_check_exists(dir, path, e);
    if (!code)
        code = bl_dataset_file_read(path, BL_MANIFEST_SIZE_MAX, &text, e);
    if (!code) {
        code = bl_manifest_parse(manifest, text.data ? text.data : "", text.size, sound, e);
        if (code == BL_EDATA)
            bl_error_prefix(e, "%s", path);
    }
    bl_buffer_free(&text);
    free(path);
    return code;
}

int bl_manifest_read(struct bl_manifest *manifest, const char *dir, struct bl_error *e)
{
    bool sound = false;
    int code = bl_manifest_inspect(manifest, dir, &sound, e);
    if (code || sound)
        return code;
    bl_manifest_free(manifest);
    return bl_error_set(e, BL_EDATA, "%s/" BL_MANIFEST_FILE ": wrong checksum: the file is damaged or was edited", dir);
}
