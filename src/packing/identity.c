#include "packing/identity.h"

#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/text.h"
#include "kind/input_stat.h"
#include "run/state.h"
#include "scan/extend.h"
#include "store/sequences.h"

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

void bl_identity_inputs(const struct bl_input_set *inputs, bool sources, struct bl_buffer *out)
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
    if (inputs->fields_identity.size)
        bl_buffer_append(out, inputs->fields_identity.data, inputs->fields_identity.size);
    if (inputs->kind && inputs->kind->options.identify)
        inputs->kind->options.identify(inputs->kind_config, out);
}

/* Hashes the contents of the files of each source, in order. */
static int identity_digest_sources(const struct bl_input_set *inputs, uint64_t *digest, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = 0; i < inputs->files.count && !code; i++) {
        const struct bl_file *file = &inputs->files.file[i];
        uint64_t parts[2] = {digest[file->source], 0};
        if (strcmp(file->path, "-") == 0)
            continue;
        char *path = bl_path_join(inputs->base, file->path);
        code = path ? bl_content_hash_file(path, &parts[1], e) : bl_error_memory(e);
        free(path);
        digest[file->source] = bl_content_hash(parts, sizeof parts);
    }
    return code;
}

int bl_identity_contents(const struct bl_input_set *inputs, struct bl_buffer *out, struct bl_error *e)
{
    if (!inputs->kind || !inputs->kind->spool)
        return BL_OK;
    uint64_t *digest = calloc((size_t)inputs->sources + 1, sizeof *digest);
    int code = digest ? identity_digest_sources(inputs, digest, e) : bl_error_memory(e);
    for (int s = 0; s < inputs->sources && !code; s++) {
        if (!digest[s])
            continue;
        bl_buffer_printf(out, "contents %d: ", s + 1);
        bl_text_escape(out, inputs->source[s].path, strlen(inputs->source[s].path));
        bl_buffer_text(out, " (");
        bl_content_format(digest[s], out);
        bl_buffer_text(out, ")\n");
    }
    free(digest);
    return code ? code : bl_buffer_check(out, e);
}

/* The contents of lists are part of the configuration: a line may change while the file's size stays the same. */
static int identity_add_lists(const struct bl_input_set *inputs, struct bl_buffer *out, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = 0; i < inputs->files.count && !code; i++) {
        const struct bl_file *file = &inputs->files.file[i];
        if (!bl_file_is_list(file, inputs->kind) || strcmp(file->path, "-") == 0)
            continue;
        char *path = bl_path_join(inputs->base, file->path);
        struct bl_buffer name = {0};
        bl_buffer_text(&name, "list ");
        bl_text_escape(&name, file->path, strlen(file->path));
        code = path ? bl_buffer_check(&name, e) : bl_error_memory(e);
        bool exists = false;
        if (!code)
            code = bl_fs_exists(path, &exists, e);
        if (!code && exists)
            code = bl_identity_file(name.data, path, out, e);
        bl_buffer_free(&name);
        free(path);
    }
    return code;
}

int bl_identity_tables(const struct bl_input_set *inputs, struct bl_buffer *out, struct bl_error *e)
{
    char digest[BL_DIGEST_SIZE];
    int code = bl_identity_file("attributes", inputs->attributes_path, out, e);
    if (inputs->attributes && !inputs->attributes_path) {
        bl_checksum_format(bl_attributes_digest(inputs->attributes), digest);
        bl_buffer_printf(out, "attributes of members: %s\n", digest);
    }
    if (inputs->exclusion)
        bl_exclusion_identify(inputs->exclusion, out);
    return code ? code : identity_add_lists(inputs, out, e);
}

int bl_identity_scan(const struct bl_options *options, const struct bl_input_set *inputs,
                     const struct bl_subset_options *subset, struct bl_buffer *out, struct bl_error *e)
{
    bl_options_identity_of(options, BL_AFFECTS_LENGTHS, out);
    bl_identity_inputs(inputs, true, out);
    int code = bl_identity_tables(inputs, out, e);
    if (!code)
        code = bl_extend_identify(subset, out, e);
    return code ? code : bl_buffer_check(out, e);
}

int bl_identity_files(const struct bl_files *files, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_checksum_state state;
    char digest[BL_DIGEST_SIZE];
    bl_checksum_begin(&state);
    for (size_t i = 0; i < files->count; i++) {
        const struct bl_file *file = &files->file[i];
        const int64_t id = file->id - file->path; /* offset of the id in the path */
        bl_checksum_add(&state, &id, sizeof id);
        bl_checksum_add(&state, file->path, strlen(file->path) + 1);
    }
    bl_checksum_format(bl_checksum_end(&state), digest);
    bl_buffer_printf(out, "inputs: %zu (%s)\n", files->count, digest);
    return bl_buffer_check(out, e);
}

/* Appends the manifest's lines that have the names of these lines. */
static void identity_pick_lines(const struct bl_manifest *m, const char *lines, struct bl_buffer *out)
{
    for (size_t i = 0; i < m->configuration.count; i++) {
        const struct bl_manifest_pair *pair = &m->configuration.pair[i];
        size_t size = strlen(pair->name);
        const char *at = lines;
        while (*at && !(strncmp(at, pair->name, size) == 0 && strncmp(at + size, ": ", 2) == 0)) {
            at = strchrnul(at, '\n');
            at += *at == '\n';
        }
        if (*at)
            bl_buffer_printf(out, "%s: %s\n", pair->name, pair->value);
    }
}

int bl_identity_of_manifest(const struct bl_manifest *m, struct bl_buffer *out, struct bl_error *e)
{
    bl_buffer_text(out, "");
    for (size_t i = 0; i < m->configuration.count; i++)
        bl_buffer_printf(out, "%s: %s\n", m->configuration.pair[i].name, m->configuration.pair[i].value);
    return bl_buffer_check(out, e);
}

static int identity_compare_dataset(const char *dir, const char *lines, bool *partial, struct bl_fault_counts *faults,
                                    struct bl_error *e)
{
    struct bl_buffer there = {0}, what = {0};
    struct bl_manifest m = {0};
    struct bl_sequences sequences = {0};
    bl_buffer_printf(&what, "%s holds a dataset", dir);
    bl_buffer_text(&there, "");
    int code = bl_buffer_check(&what, e);
    if (code)
        goto out;
    code = bl_manifest_read(&m, dir, e);
    if (code)
        goto out;
    identity_pick_lines(&m, lines, &there);
    code = bl_buffer_check(&there, e);
    if (code)
        goto out;
    code = bl_identity_compare(there.data, lines, what.data, e);
    if (code)
        goto out;
    code = bl_sequences_open_dataset(&sequences, dir, NULL, e);
    if (code)
        goto out;
    *partial = !bl_sequences_is_clean(&sequences);
    *faults = bl_fault_counts_of(&sequences);
out:
    bl_sequences_close(&sequences);
    bl_manifest_free(&m);
    bl_buffer_free(&there);
    bl_buffer_free(&what);
    return code;
}

int bl_identity_find(const char *dir, const char *lines, bool *found, bool *partial, struct bl_fault_counts *faults,
                     struct bl_error *e)
{
    int code = bl_fs_find(dir, BL_MANIFEST_FILE, found, e);
    return *found ? identity_compare_dataset(dir, lines, partial, faults, e) : code;
}
