#include "run/manifest_draft.h"

#include <string.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "bload.h"
#include "store/codec.h"
#include "store/seekable.h"

struct version_sink {
    struct bl_manifest *manifest;
    struct bl_error *e;
    int code;
};

/* The fields of a composite kind may share libraries. */
static void draft_add_version(void *sink_, const char *name, const char *version)
{
    struct version_sink *sink = sink_;
    struct bl_manifest_pairs *known = &sink->manifest->libraries;
    for (size_t i = 0; i < known->count && !sink->code; i++) {
        if (strcmp(known->pair[i].name, name) == 0)
            return;
    }
    if (!sink->code)
        sink->code = bl_manifest_pair(known, name, version, sink->e);
}

static int draft_describe_field(const struct bl_manifest_draft *draft, int i, struct bl_manifest *m, struct bl_error *e)
{
    struct bl_buffer made = {0};
    draft->kind->read->describe(draft->config, &draft->format->fields.field[i], &made);
    int code = bl_buffer_check(&made, e);
    if (!code)
        code = bl_manifest_text(&m->made[i], made.data, e);
    bl_buffer_free(&made);
    return code;
}

static int draft_add_versions(const struct bl_manifest_draft *draft, struct bl_manifest *m, struct bl_error *e)
{
    struct version_sink sink = {m, e, BL_OK};
    if (draft->kind->read->versions) {
        int code = draft->kind->read->versions(draft->config, draft->env, draft_add_version, &sink, e);
        if (code)
            return code;
    }
    if (draft->format->compressed)
        draft_add_version(&sink, "zstd", bl_compressor_version());
    if (bl_format_encodes(draft->format, BL_ENCODING_JPEG))
        draft_add_version(&sink, "libjpeg-turbo", bl_jpeg_version());
    return sink.code;
}

int bl_manifest_draft_make(const struct bl_manifest_draft *draft, struct bl_manifest *m, struct bl_error *e)
{
    *m = (struct bl_manifest){.format = *draft->format, .plan_info = *draft->plan_info};
    int code = bl_manifest_text(&m->tool, BLOAD_VERSION, e);
    if (code)
        goto out;
    code = bl_manifest_text(&m->simd, draft->simd, e);
    for (int i = 0; i < draft->format->fields.count && !code; i++)
        code = draft_describe_field(draft, i, m, e);
    if (code)
        goto out;
    code = draft_add_versions(draft, m, e);
    if (code)
        goto out;
    code = bl_manifest_configure(m, draft->identity, e);
out:
    if (code)
        bl_manifest_free(m);
    return code;
}

int bl_manifest_draft_publish(const struct bl_state *state, struct bl_manifest *manifest, bool alone,
                              struct bl_error *e)
{
    struct bl_buffer path = {0}, text = {0};
    bool begun = true;
    int code = bl_state_path(state, BL_STATE_DRAFT, &path, e);
    if (code)
        goto out;
    code = bl_manifest_format(manifest, &text, e);
    if (code)
        goto out;
    if (alone)
        code = bl_state_has_shards(state, &begun, e);
    if (code)
        goto out;
    if (!begun) {
        code = bl_output_replace(path.data, text.data, text.size, e);
        goto out;
    }
    code = bl_state_publish(state, BL_STATE_DRAFT, &text, e);
    if (code)
        bl_error_prefix(e, "%s was begun with other versions of bload or its libraries: use those, or another -o",
                        state->dir);
out:
    bl_buffer_free(&path);
    bl_buffer_free(&text);
    return code;
}

int bl_manifest_draft_find(const struct bl_state *state, bool *found, struct bl_error *e)
{
    struct bl_buffer path = {0};
    int code = bl_state_path(state, BL_STATE_DRAFT, &path, e);
    *found = false;
    if (!code)
        code = bl_fs_exists(path.data, found, e);
    bl_buffer_free(&path);
    return code;
}

int bl_manifest_draft_read(const struct bl_state *state, struct bl_manifest *manifest, struct bl_error *e)
{
    struct bl_buffer path = {0}, text = {0};
    bool sound = false;
    *manifest = (struct bl_manifest){0};
    int code = bl_state_path(state, BL_STATE_DRAFT, &path, e);
    bool exists = false;
    if (!code)
        code = bl_fs_exists(path.data, &exists, e);
    if (!code && !exists)
        code = bl_error_set(e, BL_EUSAGE, "%s: nothing has been packed there yet", state->dir);
    if (code)
        goto out;
    code = bl_regular_check(path.data, e);
    if (!code)
        code = bl_io_read_file(path.data, BL_MANIFEST_SIZE_MAX, &text, e);
    if (code)
        goto out;
    code = bl_manifest_parse(manifest, text.data ? text.data : "", text.size, &sound, e);
    if (code)
        goto out;
    if (!sound) {
        bl_manifest_free(manifest);
        code = bl_error_set(e, BL_EDATA, "its checksum is wrong: it is damaged, or was edited");
    }
out:
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", path.data);
    bl_buffer_free(&path);
    bl_buffer_free(&text);
    return code;
}
