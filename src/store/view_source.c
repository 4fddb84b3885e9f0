#include "store/view_source.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/path.h"
#include "store/index_layout.h"
#include "store/manifest.h"
#include "store/sequences.h"
#include "store/shard_table.h"

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
    int code = bl_view_source_identify(&there, manifest, e);
    for (int f = 0; f < BL_VIEW_SOURCE_FILES && !code; f++) {
        if (there.checksum[f] != source->checksum[f])
            code = bl_error_set(e, BL_EDATA,
                                "the dataset at %s is not the one that the view was made of: its %s has the checksum "
                                "%016" PRIx64 ", not %016" PRIx64 "; make the view again",
                                dir, file_names[f], there.checksum[f], source->checksum[f]);
    }
    if (!code && there.blocks != source->blocks)
        code = bl_error_set(e, BL_EDATA, "%s has %" PRId64 " blocks, the view says %" PRId64, dir, there.blocks,
                            source->blocks);
    return code;
}

/* Appends the way from directory `from` to directory `to`, both absolute and without links, if they have a directory
 * in common below the root; else `to`. */
static void path_append_relative(const char *from, const char *to, struct bl_buffer *out)
{
    size_t common = 0, i = 0;
    for (; from[i] && from[i] == to[i]; i++) {
        if (from[i] == '/')
            common = i;
    }
    if ((!from[i] || from[i] == '/') && (!to[i] || to[i] == '/'))
        common = i;
    if (!common) {
        bl_buffer_text(out, to);
        return;
    }
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
    bool whole = path != NULL;
    for (size_t s = 0; s < view->sources && whole; s++) {
        char *source = bl_path_join(dir, view->source[s].path);
        path[s] = source ? bl_path_join(source, BL_SEQUENCES_FILE) : NULL;
        whole = path[s] != NULL;
        free(source);
    }
    if (whole)
        return path;
    bl_path_free_all(path, view->sources);
    return NULL;
}

void bl_view_source_free(struct bl_view_source *source)
{
    free(source->name);
    free(source->path);
    *source = (struct bl_view_source){0};
}
