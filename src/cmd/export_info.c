#include "cmd/export_info.h"

#include "base/fs.h"
#include "base/text.h"
#include "export/description.h"
#include "export/verify.h"
#include "run/state.h"

static void export_info_format(const struct bl_export_info *info, struct bl_buffer *out)
{
    const struct bl_export_description *d = &info->description;
    const struct bl_export_configuration *c = &info->configuration;
    char blocks[32], files[BL_PLURAL_SIZE], size[32];
    bl_buffer_printf(out, "export      %s, read by %s\ndataset     ", c->format->name, c->format->reader);
    bl_text_append_masked(out, d->dataset);
    bl_buffer_printf(out, ", its manifest's checksum is %s\n", c->source);
    if (*c->field) {
        bl_buffer_text(out, "field       ");
        bl_text_append_masked(out, c->field);
        bl_buffer_byte(out, '\n');
    }
    bl_buffer_printf(out, "blocks      %s%s in %s\n", bl_text_count(blocks, d->blocks),
                     c->ids ? " with the ids of their sequences" : "", bl_text_plural(files, d->parts, "file"));
    bl_buffer_printf(out, "size        %s, ", bl_text_size(size, d->bytes));
    if (c->compress.on)
        bl_buffer_printf(out, "zstd level %d: %s\n", c->compress.level, bl_text_size(size, d->file_bytes));
    else
        bl_buffer_text(out, "not compressed\n");
    bl_buffer_text(out, "made by     bload ");
    bl_text_append_masked(out, d->tool);
    bl_buffer_byte(out, '\n');
}

/* Appends nothing if dir holds no packed Parquet. */
static int packed_info(const char *dir, bool json, bool *found, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_packed_parquet packed;
    char a[BL_PLURAL_SIZE], b[32];
    int code = bl_packed_parquet_read(&packed, dir, found, e);
    if (!code && *found && json) {
        code = bl_packed_parquet_json(&packed, out, e);
    } else if (!code && *found) {
        bl_buffer_text(out, "export      packed Parquet, read by " BL_PACKED_PARQUET_READER
                            "\ndataset     its manifest's checksum is ");
        bl_text_append_masked(out, packed.dataset);
        bl_buffer_text(out, "\nfield       ");
        bl_text_append_masked(out, packed.field);
        bl_buffer_printf(out, "\nblocks      T = %s, in %s of ", bl_text_count(b, packed.T),
                         bl_text_plural(a, packed.files, "file"));
        bl_buffer_printf(out, "%s\n", bl_text_size(b, packed.bytes));
    }
    bl_packed_parquet_free(&packed);
    return code == BL_EDATA ? BL_EFAIL : code;
}

int bl_cmd_export_info(const char *dir, bool json, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_export_info info;
    bool found;
    int code = bl_fs_find(dir, BL_EXPORT_FILE, &found, e);
    if (!code && !found)
        code = packed_info(dir, json, &found, out, e);
    if (code || out->size)
        return code;
    if (!found)
        return bl_cmd_refuse_unfinished_export(dir, e);
    code = bl_export_info_read(&info, dir, e);
    if (!code && json)
        code = bl_export_info_json(&info, out, e);
    else if (!code)
        export_info_format(&info, out);
    bl_export_info_free(&info);
    return code == BL_EDATA ? BL_EFAIL : code;
}

int bl_cmd_refuse_unfinished_export(const char *dir, struct bl_error *e)
{
    struct bl_buffer to = {0};
    int code = bl_state_recorded(dir, "to", &to, e);
    if (!code && to.size)
        code =
            bl_error_set(e, BL_EFAIL, "%s is an export to %s, not finished yet: the same bload export command goes on",
                         dir, to.data);
    bl_buffer_free(&to);
    return code;
}
