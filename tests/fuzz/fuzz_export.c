/* Descriptions of exports: what is accepted names files in their folder, and can be told as JSON; else a message. */
#include <string.h>

#include "export/finished.h"
#include "fuzz.h"

static void check(struct bl_export_info *info)
{
    const struct bl_export_description *d = &info->description;
    struct bl_buffer text = {0};
    struct bl_error e = {0};
    never(d->parts < 1 || d->bytes < d->parts || d->file_bytes < d->parts);
    for (int64_t part = 0; part < d->parts; part++) {
        never(!*d->name[part] || *d->name[part] == '.' || strchr(d->name[part], '/') || d->record[part].bytes < 1);
    }
    int code = bl_export_configuration_parse(&info->configuration, d->configuration, &e);
    never(code ? code != BL_EDATA || !e.text[0] : !info->configuration.format || info->configuration.shard_size < 1);
    never(!code && (bl_export_info_json(info, &text, &e) || !text.size));
    bl_buffer_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_export_info info = {.configuration = {.format = NULL}};
    struct bl_error e = {0};
    int code = bl_export_description_parse(&info.description, (const char *)data, size, &e);
    if (!code)
        check(&info);
    else if (code != BL_EDATA || !e.text[0])
        abort();
    bl_export_info_free(&info);
    return 0;
}
