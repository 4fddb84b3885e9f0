#include "export/info.h"

#include "store/jansson.h"

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
