/* The manifest in memory: its sources, strings and lists. manifest_json.c reads and writes the file. */
#include "store/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/input_file.h"
#include "base/io.h"
#include "base/text.h"
#include "store/index.h"
#include "store/plan_info.h"
#include "store/sequences.h"
#include "store/shard_table.h"

/* --- sources of a view -------------------------------------------------------------------------------------------- */

/* By enum bl_view_source_file. */
static const char *const file_names[BL_VIEW_SOURCE_FILES] = {BL_INDEX_FILE, BL_SEQUENCES_FILE, BL_SHARDS_FILE};

const char *bl_view_source_file_name(enum bl_view_source_file file)
{
    return file_names[file];
}

int bl_view_source_identify(struct bl_view_source *source, const struct bl_manifest *manifest, struct bl_error *e)
{
    for (int f = 0; f < BL_VIEW_SOURCE_FILES; f++) {
        const struct bl_manifest_file *file = bl_manifest_find_file(manifest, file_names[f]);
        if (!file)
            return bl_error_set(e, BL_EDATA, BL_MANIFEST_FILE " does not list %s", file_names[f]);
        source->checksum[f] = file->checksum;
    }
    source->blocks = manifest->format.blocks;
    return BL_OK;
}

int bl_view_source_compare(const struct bl_view_source *source, const struct bl_manifest *manifest, const char *dir,
                           struct bl_error *e)
{
    struct bl_view_source there = {0};
    BL_TRY(bl_view_source_identify(&there, manifest, e));
    for (int f = 0; f < BL_VIEW_SOURCE_FILES; f++) {
        if (there.checksum[f] != source->checksum[f])
            return bl_error_set(e, BL_EDATA,
                                "the dataset at %s is not the one that the view was made of: its %s has the checksum "
                                "%016" PRIx64 ", not %016" PRIx64 "; make the view again",
                                dir, file_names[f], there.checksum[f], source->checksum[f]);
    }
    if (there.blocks != source->blocks)
        return bl_error_set(e, BL_EDATA, "%s has %" PRId64 " blocks, the view says %" PRId64, dir, there.blocks,
                            source->blocks);
    return BL_OK;
}

/* Appends the relative path from directory `from` to directory `to`, if they share a directory below the root, and
 * otherwise the path `to`. Both are absolute and without symbolic links. For example, from /data/view to /data/web is
 * ../web. */
static void path_append_relative(const char *from, const char *to, struct bl_buffer *out)
{
    size_t common = 0, i = 0;
    for (; from[i] && from[i] == to[i]; i++) {
        if (from[i] == '/')
            common = i;
    }
    /* /data/web is no folder of /data/web2: a common part must end at a slash, or at the end of both. */
    if ((!from[i] || from[i] == '/') && (!to[i] || to[i] == '/'))
        common = i;
    if (!common) {
        bl_buffer_text(out, to);
        return;
    }
    /* One ".." leads out of each folder of `from` that `to` does not share. */
    const char *mark = "";
    for (const char *rest = from + common; *rest; rest++) {
        if (*rest == '/') {
            bl_buffer_printf(out, "%s..", mark);
            mark = "/";
        }
    }
    if (to[common])
        bl_buffer_printf(out, "%s%s", mark, to + common + 1);
    else if (!*mark)
        bl_buffer_byte(out, '.');
}

int bl_view_source_make_path(const char *view, const char *dir, char **path, struct bl_error *e)
{
    if (bl_far_is(dir)) {
        *path = strdup(dir);
        return *path ? BL_OK : bl_error_memory(e);
    }
    struct bl_buffer out = {0};
    char *from = realpath(view, NULL), *to = from ? realpath(dir, NULL) : NULL;
    int code = BL_OK;
    if (!to)
        code = bl_error_errno(e, BL_EFAIL, "cannot resolve %s", from ? dir : view);
    else
        path_append_relative(from, to, &out);
    if (!code)
        code = bl_buffer_check(&out, e);
    *path = code ? NULL : strdup(out.data);
    if (!code && !*path)
        code = bl_error_memory(e);
    bl_buffer_free(&out);
    free(from);
    free(to);
    return code;
}

/* Binary search: first_row of source[low] is at most row, and that of source[high] is greater. */
const struct bl_view_source *bl_view_source_of_row(const struct bl_view_source *source, size_t count, int64_t row)
{
    size_t low = 0, high = count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (source[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return &source[low];
}

char **bl_view_source_tables(const struct bl_manifest *view, const char *dir)
{
    char **path = calloc(view->sources, sizeof *path);
    bool is_complete = path != NULL;
    for (size_t s = 0; s < view->sources && is_complete; s++) {
        char *source = bl_path_join(dir, view->source[s].path);
        path[s] = source ? bl_path_join(source, BL_SEQUENCES_FILE) : NULL;
        is_complete = path[s] != NULL;
        free(source);
    }
    if (is_complete)
        return path;
    bl_path_free_all(path, view->sources);
    return NULL;
}

/* --- manifest ----------------------------------------------------------------------------------------------------- */

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
    BL_TRY(BL_ARRAY_RESIZE(pairs->pair, pairs->count + 1, e));
    struct bl_manifest_pair *pair = &pairs->pair[pairs->count++];
    *pair = (struct bl_manifest_pair){strdup(name), strdup(value)};
    return pair->name && pair->value ? BL_OK : bl_error_memory(e);
}

/* A line without a colon is an option without a value. */
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
    if (!code)
        bl_manifest_set_recorded(manifest);
    free(copy);
    return code;
}

int bl_manifest_note(struct bl_manifest *manifest, const char *text, struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESIZE(manifest->note, manifest->notes + 1, e));
    char **note = &manifest->note[manifest->notes++];
    *note = NULL;
    return bl_manifest_text(note, text, e);
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

void bl_manifest_set_recorded(struct bl_manifest *manifest)
{
    const char *align = bl_manifest_option(manifest, "align");
    /* An alignment of 1 aligns nothing: it counts as not given. */
    if (!bl_text_to_int(align, strlen(align), 2, BL_T_MAX, &manifest->align))
        manifest->align = 2 * manifest->plan_info.cp;
    manifest->format.padded_to = manifest->plan_info.cp ? manifest->align : 0;
    manifest->format.pad_repeat = strcmp(bl_manifest_option(manifest, "pad"), "repeat") == 0;
}

/* The kind "audio" describes fields by texts such as "samples at 16000 Hz, mixed by swresample in float". */
int64_t bl_manifest_sample_rate(const struct bl_manifest *manifest, int f)
{
    const struct bl_field *field = &manifest->format.fields.field[f];
    const char *made = manifest->made[f];
    int64_t rate;
    bool is_sound = strcmp(field->kind, "audio") == 0 && field->rank <= 1 && !strstr(made, " in frames of ");
    return is_sound && sscanf(made, "samples at %" SCNd64 " Hz", &rate) == 1 ? rate : 0;
}

/* The text is "for each step 640 samples ..." where a step of another field, such as a video frame, has a chunk of
 * audio. A shape of another size belongs to a damaged manifest. */
int64_t bl_manifest_step_samples(const struct bl_manifest *manifest, int f)
{
    const struct bl_field *field = &manifest->format.fields.field[f];
    int64_t samples;
    bool has_several = strcmp(field->kind, "audio") == 0 && field->rank &&
                       sscanf(manifest->made[f], "for each step %" SCNd64 " samples", &samples) == 1;
    return has_several && samples == field->shape[0] ? samples : 1;
}

bool bl_manifest_is_view(const struct bl_manifest *manifest)
{
    return manifest->sources > 0;
}

bool bl_manifest_is_blend(const struct bl_manifest *manifest)
{
    return bl_manifest_is_view(manifest) && manifest->source[0].weight > 0;
}

int bl_manifest_index_fields(const struct bl_manifest *manifest)
{
    return bl_manifest_is_view(manifest) ? 0 : manifest->format.fields.count;
}

void bl_manifest_append_paths(const struct bl_manifest *manifest, struct bl_buffer *out)
{
    for (size_t s = 0; s < manifest->sources; s++)
        bl_buffer_printf(out, "%s%s", s ? ", " : "", manifest->source[s].path);
}

struct bl_view_source *bl_manifest_append_source(struct bl_manifest *manifest, struct bl_error *e)
{
    if (BL_ARRAY_RESIZE(manifest->source, manifest->sources + 1, e))
        return NULL;
    manifest->source[manifest->sources] = (struct bl_view_source){0};
    return &manifest->source[manifest->sources++];
}

struct bl_manifest_file *bl_manifest_append_file(struct bl_manifest *manifest, const char *name, struct bl_error *e)
{
    if (BL_ARRAY_RESIZE(manifest->file, manifest->files + 1, e))
        return NULL;
    struct bl_manifest_file *file = &manifest->file[manifest->files++];
    *file = (struct bl_manifest_file){.name = strdup(name)};
    if (!file->name)
        bl_error_memory(e);
    return file->name ? file : NULL;
}

struct bl_manifest_file *bl_manifest_find_file(const struct bl_manifest *manifest, const char *name)
{
    for (size_t i = 0; i < manifest->files; i++) {
        if (strcmp(manifest->file[i].name, name) == 0)
            return &manifest->file[i];
    }
    return NULL;
}

int bl_manifest_add_file(struct bl_manifest *manifest, const char *dir, const char *name, struct bl_error *e)
{
    struct bl_manifest_file *file = bl_manifest_append_file(manifest, name, e);
    if (!file)
        return BL_EFAIL;
    char *path = bl_path_join(dir, name);
    int code = path ? bl_checksum_file(path, &file->bytes, &file->checksum, e) : bl_error_memory(e);
    free(path);
    return code;
}

/* Frees the pairs, but not the struct, which is a member of a manifest. */
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
    pairs_free(&manifest->counts);
    pairs_free(&manifest->libraries);
    pairs_free(&manifest->configuration);
    for (size_t i = 0; i < manifest->notes; i++)
        free(manifest->note[i]);
    free(manifest->note);
    for (size_t i = 0; i < manifest->sources; i++) {
        free(manifest->source[i].name);
        free(manifest->source[i].path);
    }
    free(manifest->source);
    for (size_t i = 0; i < manifest->files; i++)
        free(manifest->file[i].name);
    free(manifest->file);
    *manifest = (struct bl_manifest){0};
}

void bl_untrained_describe(const struct bl_untrained *untrained, struct bl_buffer *out)
{
    char a[BL_PLURAL_SIZE];
    if (untrained->pieces)
        bl_buffer_printf(
            out, "%s no trained token",
            bl_text_plural(a, untrained->pieces, "sequence, or part of one, has|sequences, or parts of them, have"));
    if (untrained->blocks)
        bl_buffer_printf(out, "%s%s no trained token%s: a mean loss is NaN there", untrained->pieces ? ", and " : "",
                         bl_text_plural(a, untrained->blocks, "block has|blocks have"),
                         untrained->pieces ? " at all" : "");
    bl_buffer_text(out, untrained->pieces ? " (--min-trained 1 leaves out sequences without any)" : "");
}
