#include "cmd/identity.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "store/checksum.h"

int bl_identity_file(const char *name, const char *path, struct bl_buffer *out, struct bl_error *e)
{
    int64_t bytes;
    uint64_t checksum;
    char digest[BL_DIGEST_SIZE];
    if (!path)
        return BL_OK;
    int code = bl_checksum_file(path, &bytes, &checksum, e);
    if (code)
        return code;
    bl_checksum_format(checksum, digest);
    bl_buffer_printf(out, "%s: %s\n", name, digest);
    return BL_OK;
}

void bl_identity_inputs(const struct bl_inputs *inputs, bool sources, struct bl_buffer *out)
{
    for (int s = 0; s < inputs->sources && sources; s++) {
        const struct bl_source *source = &inputs->source[s];
        bl_buffer_text(out, "source ");
        bl_buffer_int(out, s + 1);
        bl_buffer_text(out, ": ");
        bl_text_escape(out, source->path, strlen(source->path));
        if (source->kind)
            bl_buffer_printf(out, " (%s)", source->kind->name);
        bl_buffer_byte(out, '\n');
    }
    for (int f = 0; f < inputs->config.fields; f++)
        bl_further_identify(&inputs->config.field[f], out);
    if (inputs->kind && inputs->kind->identify)
        inputs->kind->identify(inputs->kind_config, out);
}

/* What the lists of inputs say is part of the configuration: a line of one may change, and no file's size. */
static int add_lists(const struct bl_inputs *inputs, struct bl_buffer *out, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = 0; i < inputs->files.count && !code; i++) {
        const struct bl_file *file = &inputs->files.file[i];
        if (!bl_kind_is_list(inputs->kind, file->path) || strcmp(file->path, "-") == 0)
            continue;
        char *path = bl_input_path(inputs->base, file->path);
        struct bl_buffer name = {0};
        bl_buffer_text(&name, "list ");
        bl_text_escape(&name, file->path, strlen(file->path));
        code = path ? bl_buffer_check(&name, e) : bl_error_memory(e);
        if (!code && access(path, F_OK) == 0)
            code = bl_identity_file(name.data, path, out, e);
        bl_buffer_free(&name);
        free(path);
    }
    return code;
}

int bl_identity_tables(const struct bl_inputs *inputs, struct bl_buffer *out, struct bl_error *e)
{
    int code = bl_identity_file("attributes", inputs->table.path, out, e);
    return code ? code : add_lists(inputs, out, e);
}

int bl_identity_scan(const struct bl_options *options, const struct bl_inputs *inputs, struct bl_buffer *out,
                     struct bl_error *e)
{
    bl_options_identity_of(options, BL_AFFECTS_LENGTHS, out);
    bl_identity_inputs(inputs, true, out);
    int code = bl_identity_tables(inputs, out, e);
    return code ? code : bl_buffer_check(out, e);
}

int bl_identity_files(const struct bl_files *files, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_checksum_state state;
    char digest[BL_DIGEST_SIZE];
    bl_checksum_begin(&state);
    for (size_t i = 0; i < files->count; i++) {
        const struct bl_file *file = &files->file[i];
        const int64_t id = file->id - file->path; /* where it begins in the path */
        bl_checksum_add(&state, &id, sizeof id);
        bl_checksum_add(&state, file->path, strlen(file->path) + 1);
    }
    bl_checksum_format(bl_checksum_end(&state), digest);
    bl_buffer_printf(out, "inputs: %zu (%s)\n", files->count, digest);
    return bl_buffer_check(out, e);
}
