/* The checksum is computed over the text with the checksum's own digits as zeros. It is the last member, so that its
 * digits are the last place in the text where they stand. */
#include "store/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "store/jansson.h"

#define ZEROS "0000000000000000"

/* --- members ---------------------------------------------------------------------------------------------------- */

int bl_manifest_text(char **member, const char *text, struct bl_error *e)
{
    char *copy = strdup(text);
    if (!copy)
        return bl_error_memory(e);
    free(*member);
    *member = copy;
    return BL_OK;
}

int bl_manifest_pair(struct bl_manifest_pairs *pairs, const char *name, const char *value, struct bl_error *e)
{
    struct bl_manifest_pair *grown = realloc(pairs->pair, (pairs->count + 1) * sizeof *grown);
    if (!grown)
        return bl_error_memory(e);
    pairs->pair = grown;
    struct bl_manifest_pair *pair = &grown[pairs->count++];
    *pair = (struct bl_manifest_pair){0};
    int code = bl_manifest_text(&pair->name, name, e);
    return code ? code : bl_manifest_text(&pair->value, value, e);
}

int bl_manifest_configure(struct bl_manifest *manifest, const char *lines, struct bl_error *e)
{
    char *copy = strdup(lines), *rest = NULL;
    if (!copy)
        return bl_error_memory(e);
    int code = BL_OK;
    for (char *line = strtok_r(copy, "\n", &rest); line && !code; line = strtok_r(NULL, "\n", &rest)) {
        char *colon = strstr(line, ": ");
        if (colon)
            *colon = '\0';
        code = bl_manifest_pair(&manifest->configuration, line, colon ? colon + 2 : "", e);
    }
    free(copy);
    return code;
}

const char *bl_manifest_option(const struct bl_manifest *manifest, const char *name)
{
    const struct bl_manifest_pairs *pairs = &manifest->configuration;
    for (size_t i = 0; i < pairs->count; i++) {
        if (strcmp(pairs->pair[i].name, name) == 0)
            return pairs->pair[i].value;
    }
    return "";
}

int64_t bl_manifest_align(const struct bl_manifest *manifest)
{
    const char *text = bl_manifest_option(manifest, "align");
    int64_t align;
    return bl_text_to_int(text, strlen(text), 2, BL_T_MAX, &align) ? align : 0;
}

static struct bl_manifest_file *manifest_append_file(struct bl_manifest *manifest, const char *name, struct bl_error *e)
{
    struct bl_manifest_file *grown = realloc(manifest->file, (manifest->files + 1) * sizeof *grown);
    if (!grown) {
        bl_error_memory(e);
        return NULL;
    }
    manifest->file = grown;
    struct bl_manifest_file *file = &grown[manifest->files++];
    *file = (struct bl_manifest_file){0};
    return bl_manifest_text(&file->name, name, e) ? NULL : file;
}

int bl_manifest_add_file(struct bl_manifest *manifest, const char *dir, const char *name, struct bl_error *e)
{
    struct bl_buffer path = {0};
    struct bl_manifest_file *file = manifest_append_file(manifest, name, e);
    int code = file ? BL_OK : BL_EFAIL;
    bl_buffer_printf(&path, "%s/%s", dir, name);
    if (code)
        goto out;
    code = bl_buffer_check(&path, e);
    if (code)
        goto out;
    code = bl_checksum_file(path.data, &file->bytes, &file->checksum, e);
out:
    bl_buffer_free(&path);
    return code;
}

static void pairs_free(struct bl_manifest_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        free(pairs->pair[i].name);
        free(pairs->pair[i].value);
    }
    free(pairs->pair);
}

void bl_manifest_free(struct bl_manifest *manifest)
{
    free(manifest->tool);
    free(manifest->simd);
    for (int f = 0; f < BL_FIELDS_MAX; f++)
        free(manifest->made[f]);
    pairs_free(&manifest->libraries);
    pairs_free(&manifest->configuration);
    for (size_t i = 0; i < manifest->files; i++)
        free(manifest->file[i].name);
    free(manifest->file);
    *manifest = (struct bl_manifest){0};
}

/* --- writing ---------------------------------------------------------------------------------------------------- */

static json_t *manifest_pairs_json(const struct bl_manifest_pairs *pairs)
{
    json_t *object = json_object();
    for (size_t i = 0; i < pairs->count; i++) {
        if (json_object_set_new(object, pairs->pair[i].name, bl_jansson_escaped(pairs->pair[i].value))) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *manifest_field_json(const struct bl_field *field, const struct bl_encoding *encoding, const char *made)
{
    char name[BL_ENCODING_NAME_MAX];
    json_t *shape = json_array();
    int failed = 0;
    for (int i = 0; i < field->rank; i++)
        failed |= json_array_append_new(shape, json_integer(field->shape[i]));
    json_t *object = json_pack("{s:s, s:s, s:s, s:o, s:s, s:o}", "name", field->name, "kind", field->kind, "dtype",
                               bl_dtype_name(field->dtype), "shape", shape, "encoding",
                               bl_encoding_name(encoding, name), "made", bl_jansson_escaped(made));
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *manifest_fields_json(const struct bl_manifest *manifest)
{
    json_t *fields = json_array();
    for (int f = 0; f < manifest->format.fields.count; f++) {
        const struct bl_format *format = &manifest->format;
        if (json_array_append_new(
                fields, manifest_field_json(&format->fields.field[f], &format->encoding[f], manifest->made[f]))) {
            json_decref(fields);
            return NULL;
        }
    }
    return fields;
}

static json_t *manifest_attributes_json(const struct bl_format *format)
{
    json_t *attributes = json_array();
    for (int a = 0; a < format->attributes; a++) {
        const struct bl_attribute *attribute = &format->attribute[a];
        if (json_array_append_new(attributes, json_pack("{s:s, s:s}", "name", attribute->name, "dtype",
                                                        bl_dtype_name(attribute->dtype)))) {
            json_decref(attributes);
            return NULL;
        }
    }
    return attributes;
}

static json_t *manifest_files_json(const struct bl_manifest *manifest)
{
    json_t *files = json_array();
    for (size_t i = 0; i < manifest->files; i++) {
        const struct bl_manifest_file *file = &manifest->file[i];
        char digest[BL_DIGEST_SIZE];
        bl_checksum_format(file->checksum, digest);
        if (json_array_append_new(files, json_pack("{s:s, s:I, s:s}", "name", file->name, "bytes",
                                                   (json_int_t)file->bytes, "checksum", digest))) {
            json_decref(files);
            return NULL;
        }
    }
    return files;
}

static json_t *manifest_compress_json(const struct bl_format *format)
{
    return format->compressed ? json_sprintf("zstd:%d", format->level) : json_null();
}

json_t *bl_manifest_json(const struct bl_manifest *m)
{
    json_t *object = json_object();
    int failed = json_object_set_new(object, "format", json_integer(BL_FORMAT_VERSION));
    failed |= json_object_set_new(object, "tool", bl_jansson_escaped(m->tool));
    failed |= bl_plan_info_to_json(&m->plan_info, object);
    const struct {
        const char *name;
        json_t *value;
    } members[] = {
        {"skipped", json_integer(m->skipped)},
        {"failed", json_integer(m->failed)},
        {"failed_steps", json_integer(m->failed_steps)},
        {"S", json_integer(m->format.S)},
        {"fields", manifest_fields_json(m)},
        {"attributes", manifest_attributes_json(&m->format)},
        {"source_start", json_boolean(m->format.has_source_start)},
        {"segment_ids", json_boolean(m->format.has_segment_ids)},
        {"compress", manifest_compress_json(&m->format)},
        {"blocks_per_shard", json_integer(m->format.blocks_per_shard)},
        {"shards", json_integer(bl_format_shards(&m->format))},
        {"plan_digest", json_string(m->format.plan_digest)},
        {"simd", bl_jansson_escaped(m->simd)},
        {"libraries", manifest_pairs_json(&m->libraries)},
        {"configuration", manifest_pairs_json(&m->configuration)},
        {"files", manifest_files_json(m)},
        {"checksum", json_string(ZEROS)},
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        failed |= json_object_set_new(object, members[i].name, members[i].value);
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

/* The last place where the digits stand in the text, or NULL. */
static char *text_find_last(char *text, size_t size, const char *digits)
{
    char *found = NULL, *at = text;
    while ((at = memmem(at, size - (size_t)(at - text), digits, strlen(digits))))
        found = at++;
    return found;
}

int bl_manifest_format(struct bl_manifest *manifest, struct bl_buffer *text, struct bl_error *e)
{
    size_t begin = text->size;
    json_t *object = bl_manifest_json(manifest);
    int code = object ? bl_jansson_append(object, text, e) : bl_error_memory(e);
    json_decref(object);
    if (code)
        return code;
    size_t size = text->size - begin;
    bl_checksum_format(bl_checksum(text->data + begin, size), manifest->digest);
    memcpy(text_find_last(text->data + begin, size, ZEROS), manifest->digest, BL_DIGEST_SIZE - 1);
    return BL_OK;
}

int bl_manifest_write(struct bl_manifest *manifest, const char *dir, struct bl_error *e)
{
    struct bl_buffer text = {0}, path = {0};
    bl_buffer_printf(&path, "%s/" BL_MANIFEST_FILE, dir);
    int code = bl_buffer_check(&path, e);
    if (code)
        goto out;
    code = bl_manifest_format(manifest, &text, e);
    if (code)
        goto out;
    code = bl_output_replace(path.data, text.data, text.size, e);
out:
    bl_buffer_free(&text);
    bl_buffer_free(&path);
    return code;
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

/* Undoes bl_jansson_escaped; a backslash that stands for nothing stays as it is. The text is to be freed. */
static int text_unescape(const json_t *value, char **out, struct bl_error *e)
{
    char *copy = strdup(json_string_value(value));
    int64_t size = copy ? bl_text_unescape(copy, strlen(copy)) : -1;
    if (copy && size >= 0) {
        copy[size] = '\0';
    } else if (copy) {
        strcpy(copy, json_string_value(value));
    }
    free(*out);
    *out = copy;
    return copy ? BL_OK : bl_error_memory(e);
}

static int manifest_read_text(const json_t *object, const char *name, char **out, struct bl_error *e)
{
    const char *text;
    int code = bl_jansson_get_text(object, name, &text, e);
    return code ? code : text_unescape(json_object_get(object, name), out, e);
}

static int manifest_read_pairs(const json_t *object, const char *name, struct bl_manifest_pairs *pairs,
                               struct bl_error *e)
{
    json_t *members = json_object_get(object, name);
    if (!json_is_object(members))
        return bl_error_set(e, BL_EDATA, "\"%s\" is missing, or no object", name);
    const char *key;
    json_t *value;
    json_object_foreach(members, key, value)
    {
        if (!json_is_string(value))
            return bl_error_set(e, BL_EDATA, "\"%s\": \"%s\" is no text", name, key);
        int code = bl_manifest_pair(pairs, key, "", e);
        if (!code)
            code = text_unescape(value, &pairs->pair[pairs->count - 1].value, e);
        if (code)
            return code;
    }
    return BL_OK;
}

static int manifest_read_shape(const json_t *shape, struct bl_field *field, struct bl_error *e)
{
    if (!json_is_array(shape) || json_array_size(shape) > BL_FIELD_RANK_MAX)
        return bl_error_set(e, BL_EDATA, "field \"%s\": \"shape\" is no list of at most %d sizes", field->name,
                            BL_FIELD_RANK_MAX);
    field->rank = (int)json_array_size(shape);
    for (int i = 0; i < field->rank; i++) {
        const json_t *size = json_array_get(shape, (size_t)i);
        if (!json_is_integer(size) || json_integer_value(size) < 1)
            return bl_error_set(e, BL_EDATA, "field \"%s\": \"shape\" has what is no size", field->name);
        field->shape[i] = json_integer_value(size);
    }
    return BL_OK;
}

/* Raw where the member is missing, as before there were others. */
static int manifest_read_encoding(const json_t *object, const char *name, struct bl_encoding *encoding,
                                  struct bl_error *e)
{
    const json_t *member = json_object_get(object, "encoding");
    *encoding = (struct bl_encoding){.kind = BL_ENCODING_RAW};
    if (!member || (json_is_string(member) && bl_encoding_parse(json_string_value(member), encoding)))
        return BL_OK;
    return bl_error_set(e, BL_EDATA, "field \"%s\": its encoding is none that this tool knows", name);
}

static int manifest_read_field(const json_t *object, struct bl_field *field, struct bl_encoding *encoding, char **made,
                               struct bl_error *e)
{
    const char *name, *kind, *dtype;
    int code = bl_jansson_get_text(object, "name", &name, e);
    if (code)
        return code;
    code = bl_jansson_get_text(object, "kind", &kind, e);
    if (code)
        return code;
    code = bl_jansson_get_text(object, "dtype", &dtype, e);
    if (code)
        return code;
    code = manifest_read_text(object, "made", made, e);
    if (code)
        return code;
    int type = bl_dtype_parse(dtype);
    if (type < 0 || strlen(name) >= sizeof field->name || strlen(kind) >= sizeof field->kind)
        return bl_error_set(e, BL_EDATA, "a field's name, kind or dtype is none that can be");
    strcpy(field->name, name);
    strcpy(field->kind, kind);
    field->dtype = (enum bl_dtype)type;
    code = manifest_read_encoding(object, name, encoding, e);
    return code ? code : manifest_read_shape(json_object_get(object, "shape"), field, e);
}

static int manifest_read_fields(const json_t *object, struct bl_manifest *manifest, struct bl_error *e)
{
    const json_t *fields = json_object_get(object, "fields");
    size_t count = json_array_size(fields);
    if (count < 1 || count > BL_FIELDS_MAX)
        return bl_error_set(e, BL_EDATA, "\"fields\" is missing, or no list of 1 to %d", BL_FIELDS_MAX);
    int code = BL_OK;
    for (size_t i = 0; i < count && !code; i++)
        code = manifest_read_field(json_array_get(fields, i), &manifest->format.fields.field[i],
                                   &manifest->format.encoding[i], &manifest->made[i], e);
    manifest->format.fields.count = (int)count;
    return code;
}

static int manifest_read_attribute(const json_t *object, struct bl_attribute *attribute, struct bl_error *e)
{
    const char *name, *dtype;
    int code = bl_jansson_get_text(object, "name", &name, e);
    if (code)
        return code;
    code = bl_jansson_get_text(object, "dtype", &dtype, e);
    if (code)
        return code;
    int type = bl_dtype_parse(dtype);
    if (type < 0 || strlen(name) >= sizeof attribute->name)
        return bl_error_set(e, BL_EDATA, "an attribute's name or dtype is none that can be");
    strcpy(attribute->name, name);
    attribute->dtype = (enum bl_dtype)type;
    return BL_OK;
}

/* None where the member is missing. */
static int manifest_read_attributes(const json_t *object, struct bl_format *format, struct bl_error *e)
{
    const json_t *attributes = json_object_get(object, "attributes");
    size_t count = json_array_size(attributes);
    if ((attributes && !json_is_array(attributes)) || count > BL_ATTRIBUTES_MAX)
        return bl_error_set(e, BL_EDATA, "\"attributes\" is no list of at most %d", BL_ATTRIBUTES_MAX);
    int code = BL_OK;
    for (size_t i = 0; i < count && !code; i++)
        code = manifest_read_attribute(json_array_get(attributes, i), &format->attribute[i], e);
    format->attributes = (int)count;
    return code;
}

static int manifest_read_files(const json_t *object, struct bl_manifest *manifest, struct bl_error *e)
{
    const json_t *files = json_object_get(object, "files");
    if (!json_is_array(files))
        return bl_error_set(e, BL_EDATA, "\"files\" is missing, or no list");
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *entry = json_array_get(files, i);
        const char *name;
        int code = bl_jansson_get_text(entry, "name", &name, e);
        if (!code && (name[0] == '/' || strstr(name, "..")))
            code = bl_error_set(e, BL_EDATA, "\"files\": \"%s\" is no file of the dataset", name);
        struct bl_manifest_file *file = code ? NULL : manifest_append_file(manifest, name, e);
        if (!file)
            return code ? code : BL_EFAIL;
        code = bl_jansson_get_integer(entry, "bytes", 0, INT64_MAX, &file->bytes, e);
        if (!code)
            code = bl_jansson_get_checksum(entry, "checksum", &file->checksum, e);
        if (code)
            return code;
    }
    return BL_OK;
}

static int manifest_read_compress(const json_t *object, struct bl_format *format, struct bl_error *e)
{
    const json_t *value = json_object_get(object, "compress");
    const char *text = json_string_value(value);
    int64_t level = 0;
    format->compressed = text != NULL;
    bool good = text ? strncmp(text, "zstd:", 5) == 0 && bl_text_to_int(text + 5, strlen(text + 5), -200000, 22, &level)
                     : json_is_null(value);
    format->level = (int)level;
    return good ? BL_OK : bl_error_set(e, BL_EDATA, "\"compress\" is missing, or not known");
}

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
    int code = BL_OK;
    if (!json_is_boolean(source_start) || !json_is_boolean(segment_ids))
        code = bl_error_set(e, BL_EDATA, "\"source_start\" or \"segment_ids\" is missing, or neither true nor false");
    if (!code)
        code = bl_jansson_get_integer(object, "S", 1, BL_T_MAX, &format->S, e);
    if (!code)
        code = bl_jansson_get_integer(object, "blocks_per_shard", 1, format->blocks, &format->blocks_per_shard, e);
    if (!code)
        code = bl_jansson_get_checksum(object, "plan_digest", &digest, e);
    bl_checksum_format(digest, format->plan_digest);
    if (!code)
        code = manifest_read_compress(object, format, e);
    if (!code)
        code = manifest_read_fields(object, manifest, e);
    if (!code)
        code = manifest_read_attributes(object, format, e);
    struct bl_error why = {0};
    if (!code && bl_format_check(format, &why))
        code = bl_error_set(e, BL_EDATA, "%s", why.text);
    return code;
}

static int manifest_read_members(const json_t *object, struct bl_manifest *manifest, struct bl_error *e)
{
    int code = bl_plan_info_from_json(&manifest->plan_info, object, e);
    if (code)
        return code;
    code = manifest_read_format(object, manifest, e);
    if (code)
        return code;
    code = bl_jansson_get_integer(object, "skipped", 0, INT64_MAX, &manifest->skipped, e);
    if (code)
        return code;
    code = bl_jansson_get_integer(object, "failed", 0, INT64_MAX, &manifest->failed, e);
    if (code)
        return code;
    code = bl_jansson_get_integer(object, "failed_steps", 0, INT64_MAX, &manifest->failed_steps, e);
    if (code)
        return code;
    code = manifest_read_text(object, "tool", &manifest->tool, e);
    if (code)
        return code;
    code = manifest_read_text(object, "simd", &manifest->simd, e);
    if (code)
        return code;
    code = manifest_read_pairs(object, "libraries", &manifest->libraries, e);
    if (code)
        return code;
    code = manifest_read_pairs(object, "configuration", &manifest->configuration, e);
    if (code)
        return code;
    return manifest_read_files(object, manifest, e);
}

/* Whether the checksum in the text is the text's own. */
static int manifest_check_digest(const json_t *object, const char *text, size_t size, char digest[BL_DIGEST_SIZE],
                                 bool *sound, struct bl_error *e)
{
    uint64_t checksum = 0;
    int code = bl_jansson_get_checksum(object, "checksum", &checksum, e);
    if (code)
        return code;
    bl_checksum_format(checksum, digest);
    char *copy = malloc(size + 1);
    if (!copy)
        return bl_error_memory(e);
    memcpy(copy, text, size);
    char *digits = text_find_last(copy, size, digest);
    if (digits)
        memcpy(digits, ZEROS, BL_DIGEST_SIZE - 1);
    *sound = digits && bl_checksum(copy, size) == checksum;
    free(copy);
    return BL_OK;
}

int bl_manifest_parse(struct bl_manifest *manifest, const char *text, size_t size, bool *sound, struct bl_error *e)
{
    *manifest = (struct bl_manifest){0};
    json_error_t why;
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    if (!object)
        return bl_error_set(e, BL_EDATA, "line %d: %s", why.line, why.text);
    int64_t version = 0;
    int code = bl_jansson_get_integer(object, "format", 1, INT64_MAX, &version, e);
    if (code)
        goto out;
    if (version != BL_FORMAT_VERSION)
        code = bl_error_set(e, BL_EDATA, "its format is version %" PRId64 ", and this tool knows %d: update bload",
                            version, BL_FORMAT_VERSION);
    if (code)
        goto out;
    code = manifest_check_digest(object, text, size, manifest->digest, sound, e);
    if (code)
        goto out;
    code = manifest_read_members(object, manifest, e);
out:
    json_decref(object);
    if (code)
        bl_manifest_free(manifest);
    return code;
}

int bl_manifest_inspect(struct bl_manifest *manifest, const char *dir, bool *sound, struct bl_error *e)
{
    *manifest = (struct bl_manifest){0};
    struct bl_buffer path = {0}, text = {0};
    bl_buffer_printf(&path, "%s/" BL_MANIFEST_FILE, dir);
    int code = bl_buffer_check(&path, e);
    if (code)
        goto out;
    if (access(path.data, F_OK) != 0) {
        code = errno == ENOENT || errno == ENOTDIR
                   ? bl_error_set(e, BL_EUSAGE, "%s is not a finished dataset: it has no " BL_MANIFEST_FILE, dir)
                   : bl_error_errno(e, BL_EFAIL, "cannot look at %s", path.data);
    }
    if (code)
        goto out;
    code = bl_io_read_file(path.data, BL_MANIFEST_SIZE_MAX, &text, e);
    if (code)
        goto out;
    if ((code = bl_manifest_parse(manifest, text.data ? text.data : "", text.size, sound, e)) == BL_EDATA)
        bl_error_prefix(e, "%s", path.data);
out:
    bl_buffer_free(&text);
    bl_buffer_free(&path);
    return code;
}

int bl_manifest_read(struct bl_manifest *manifest, const char *dir, struct bl_error *e)
{
    bool sound = false;
    int code = bl_manifest_inspect(manifest, dir, &sound, e);
    if (code || sound)
        return code;
    bl_manifest_free(manifest);
    return bl_error_set(e, BL_EDATA, "%s/" BL_MANIFEST_FILE ": its checksum is wrong: it is damaged, or was edited",
                        dir);
}
