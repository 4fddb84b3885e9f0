#include "export/configuration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/identity_lines.h"
#include "base/text.h"
#include "store/manifest.h"

int bl_export_configuration_append(const struct bl_export_job *job, struct bl_buffer *lines, struct bl_error *e)
{
    bl_buffer_printf(lines, "to: %s\nsource: %s\nshard-size: %" PRId64 "\n", job->format->name,
                     bl_blocks_manifest(job->blocks)->digest, job->shard_size);
    if (job->compress.on)
        bl_buffer_printf(lines, "compress: zstd:%d\n", job->compress.level);
    if (job->field)
        bl_buffer_printf(lines, "field: %s\n", job->field);
    if (job->ids)
        bl_buffer_text(lines, "ids: true\n");
    return bl_buffer_check(lines, e);
}

/* The value of a line; "" if there is none. False: it is too long. */
static bool line_value(const char *lines, const char *name, char *out, size_t size)
{
    size_t length = 0;
    const char *value = bl_identity_value(lines, name, strlen(name), &length);
    snprintf(out, size, "%.*s", (int)length, value ? value : "");
    return length < size;
}

int bl_export_configuration_parse(struct bl_export_configuration *c, const char *lines, struct bl_error *e)
{
    char to[32], size[32], compress[32], ids[8];
    *c = (struct bl_export_configuration){.format = NULL};
    bool known = line_value(lines, "to", to, sizeof to) && line_value(lines, "shard-size", size, sizeof size) &&
                 line_value(lines, "compress", compress, sizeof compress) &&
                 line_value(lines, "field", c->field, sizeof c->field) && line_value(lines, "ids", ids, sizeof ids) &&
                 line_value(lines, "source", c->source, sizeof c->source);
    for (int f = 0; bl_export_format_names[f]; f++) {
        if (strcmp(bl_export_format_names[f], to) == 0)
            c->format = bl_export_formats[f];
    }
    c->ids = *ids;
    if (!known || !c->format || !bl_text_to_int(size, strlen(size), 1, INT64_MAX, &c->shard_size) ||
        (*compress && !bl_option_compress.parse(NULL, compress, &c->compress)))
        return bl_error_set(e, BL_EDATA, "this version does not know its configuration");
    return BL_OK;
}
