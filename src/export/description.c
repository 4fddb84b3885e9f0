#include "export/description.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/io.h"
#include "store/jansson.h"
#include "store/manifest.h"

/* --- description -------------------------------------------------------------------------------------------------- */

#define DESCRIPTION_MAX ((size_t)1 << 30) /* bytes: a line for each part */

int64_t bl_export_file_bytes(const struct bl_export_record *record)
{
    return record->zip_bytes ? record->zip_bytes : record->bytes;
}

uint64_t bl_export_file_checksum(const struct bl_export_record *record)
{
    return record->zip_bytes ? record->zip_checksum : record->checksum;
}

static json_t *checksum_text(uint64_t checksum)
{
    char digest[BL_DIGEST_SIZE];
    bl_checksum_format(checksum, digest);
    return json_string(digest);
}

/* NULL: out of memory. */
static json_t *part_entry(const struct bl_export_job *job, int64_t part)
{
    const struct bl_export_record *record = &job->record[part];
    char name[BL_EXPORT_NAME_MAX];
    json_t *entry = json_object();
    job->format->name_part(job, part, name);
    bl_jansson_set(&entry, "name", json_string(name));
    bl_jansson_set(&entry, "bytes", json_integer(record->bytes));
    bl_jansson_set(&entry, "checksum", checksum_text(record->checksum));
    if (record->zip_bytes) {
        bl_jansson_set(&entry, "compressed_bytes", json_integer(record->zip_bytes));
        bl_jansson_set(&entry, "compressed_checksum", checksum_text(record->zip_checksum));
    }
    return entry;
}

int bl_export_description_write(const struct bl_export_job *job, const char *configuration, const char *dataset,
                                const char *tool, struct bl_error *e)
{
    struct bl_buffer text = {0};
    char *path;
    int code = bl_view_source_make_path(job->output, dataset, &path, e);
    if (code)
        return code;
    json_t *object = json_object(), *parts = json_array();
    for (int64_t part = 0; part < job->parts; part++)
        bl_jansson_push(&parts, part_entry(job, part));
    bl_jansson_set(&object, "bload", json_string(tool));
    bl_jansson_set(&object, "dataset", bl_jansson_escaped(path));
    bl_jansson_set(&object, "configuration", bl_jansson_escaped(configuration));
    bl_jansson_set(&object, "blocks", json_integer(job->arrays.format.blocks));
    bl_jansson_set(&object, "files", parts);
    code = bl_jansson_append(object, &text, e);
    if (!code)
        code = bl_export_write_file(job, BL_EXPORT_FILE, &text, e);
    bl_buffer_free(&text);
    free(path);
    return code;
}

static int part_read(struct bl_export_description *d, int64_t part, const json_t *entry, struct bl_error *e)
{
    struct bl_export_record *record = &d->record[part];
    const char *name;
    int code = bl_jansson_get_text(entry, "name", &name, e);
    if (!code && (!*name || *name == '.' || strchr(name, '/') || strlen(name) >= BL_EXPORT_NAME_MAX))
        code = bl_error_set(e, BL_EDATA, "the name of a file is invalid");
    if (!code)
        snprintf(d->name[part], BL_EXPORT_NAME_MAX, "%s", name);
    if (!code)
        code = bl_jansson_get_integer(entry, "bytes", 1, INT64_MAX, &record->bytes, e);
    if (!code)
        code = bl_jansson_get_checksum(entry, "checksum", &record->checksum, e);
    if (code || !json_object_get(entry, "compressed_bytes"))
        return code;
    code = bl_jansson_get_integer(entry, "compressed_bytes", 1, INT64_MAX, &record->zip_bytes, e);
    return code ? code : bl_jansson_get_checksum(entry, "compressed_checksum", &record->zip_checksum, e);
}

/* Reads what is not about a file. */
static int description_read_words(struct bl_export_description *d, const json_t *object, struct bl_error *e)
{
    const json_t *configuration = json_object_get(object, "configuration"),
                 *dataset = json_object_get(object, "dataset");
    const char *tool;
    if (!json_is_string(configuration) || !json_is_string(dataset))
        return bl_error_set(e, BL_EDATA, "it has no configuration, or no dataset");
    int code = bl_jansson_unescaped(configuration, &d->configuration, e);
    if (!code)
        code = bl_jansson_unescaped(dataset, &d->dataset, e);
    if (!code)
        code = bl_jansson_get_integer(object, "blocks", 1, INT64_MAX, &d->blocks, e);
    if (!code)
        code = bl_jansson_get_text(object, "bload", &tool, e);
    if (code)
        return code;
    d->tool = strdup(tool);
    return d->tool ? BL_OK : bl_error_memory(e);
}

static int description_read_parts(struct bl_export_description *d, const json_t *files, struct bl_error *e)
{
    int code = BL_OK;
    if (!json_array_size(files))
        return bl_error_set(e, BL_EDATA, "it has no files");
    d->parts = (int64_t)json_array_size(files);
    d->name = calloc((size_t)d->parts, sizeof *d->name);
    d->record = calloc((size_t)d->parts, sizeof *d->record);
    if (!d->name || !d->record)
        return bl_error_memory(e);
    for (int64_t part = 0; part < d->parts && !code; part++) {
        code = part_read(d, part, json_array_get(files, (size_t)part), e);
        if (!code && (__builtin_add_overflow(d->bytes, d->record[part].bytes, &d->bytes) ||
                      __builtin_add_overflow(d->file_bytes, bl_export_file_bytes(&d->record[part]), &d->file_bytes)))
            code = bl_error_set(e, BL_EDATA, "its files have more bytes than there can be");
    }
    return code;
}

int bl_export_description_parse(struct bl_export_description *d, const char *text, size_t size, struct bl_error *e)
{
    json_error_t why;
    json_t *object = json_loadb(text, size, 0, &why);
    *d = (struct bl_export_description){.parts = 0};
    int code =
        object ? description_read_words(d, object, e) : bl_error_set(e, BL_EDATA, "line %d: %s", why.line, why.text);
    if (!code)
        code = description_read_parts(d, json_object_get(object, "files"), e);
    if (code)
        bl_export_description_free(d);
    json_decref(object);
    return code;
}

int bl_export_description_read(struct bl_export_description *d, const char *dir, struct bl_error *e)
{
    struct bl_buffer text = {0};
    char *path = bl_path_join(dir, BL_EXPORT_FILE);
    *d = (struct bl_export_description){.parts = 0};
    int code = path ? bl_regular_check(path, e) : bl_error_memory(e);
    if (!code)
        code = bl_io_read_file(path, DESCRIPTION_MAX, &text, e);
    if (!code)
        code = bl_buffer_check(&text, e);
    if (code)
        goto out;
    code = bl_export_description_parse(d, text.data ? text.data : "", text.size, e);
    if (code)
        bl_error_prefix(e, "%s", path);
out:
    bl_buffer_free(&text);
    free(path);
    return code;
}

void bl_export_description_free(struct bl_export_description *d)
{
    free(d->configuration);
    free(d->dataset);
    free(d->tool);
    free(d->name);
    free(d->record);
    *d = (struct bl_export_description){.parts = 0};
}

/* --- info --------------------------------------------------------------------------------------------------------- */

/* A summary of a finished export, for people and programs. */

int bl_export_info_read(struct bl_export_info *info, const char *dir, struct bl_error *e)
{
    struct bl_export_description *d = &info->description;
    *info = (struct bl_export_info){.configuration = {.format = NULL}};
    int code = bl_export_description_read(d, dir, e);
    if (code)
        return code;
    code = bl_export_configuration_parse(&info->configuration, d->configuration, e);
    if (code)
        bl_error_prefix(e, "%s/" BL_EXPORT_FILE, dir);
    return code;
}

void bl_export_info_free(struct bl_export_info *info)
{
    bl_export_description_free(&info->description);
}

int bl_export_info_json(const struct bl_export_info *info, struct bl_buffer *out, struct bl_error *e)
{
    const struct bl_export_description *d = &info->description;
    const struct bl_export_configuration *c = &info->configuration;
    json_t *object = json_object();
    bl_jansson_set(&object, "export", json_string(c->format->name));
    bl_jansson_set(&object, "dataset", bl_jansson_escaped(d->dataset));
    bl_jansson_set(&object, "dataset_checksum", json_string(c->source));
    bl_jansson_set(&object, "blocks", json_integer(d->blocks));
    bl_jansson_set(&object, "files", json_integer(d->parts));
    bl_jansson_set(&object, "bytes", json_integer(d->bytes));
    bl_jansson_set(&object, "file_bytes", json_integer(d->file_bytes));
    bl_jansson_set(&object, "compress_level", c->compress.on ? json_integer(c->compress.level) : json_null());
    bl_jansson_set(&object, "field", *c->field ? bl_jansson_escaped(c->field) : json_null());
    bl_jansson_set(&object, "ids", json_boolean(c->ids));
    bl_jansson_set(&object, "reader", json_string(c->format->reader));
    bl_jansson_set(&object, "bload", json_string(d->tool));
    return bl_jansson_append(object, out, e);
}
