/* The layout is that of huggingface_hub: models--OWNER--NAME/refs/main has the name of a folder in snapshots/. */
#include "kind/text/model_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"

#define REVISION_MAX 256 /* bytes of the name of a revision */

/* OWNER/NAME or NAME, of letters, digits and ._- */
static bool name_is_repository(const char *name)
{
    static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *slash = strchr(name, '/');
    size_t first = strspn(name, known);
    if (!first || *name == '.' || (slash && (slash != name + first || !slash[1] || slash[1] == '.')))
        return false;
    return slash ? slash[1 + strspn(slash + 1, known)] == '\0' : name[first] == '\0';
}

static bool cache_append_root(struct bl_buffer *out)
{
    static const struct {
        const char *variable, *below;
    } places[] = {{"HF_HUB_CACHE", ""},
                  {"HF_HOME", "/hub"},
                  {"XDG_CACHE_HOME", "/huggingface/hub"},
                  {"HOME", "/.cache/huggingface/hub"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *value = getenv(places[i].variable);
        if (!value || !*value)
            continue;
        bl_buffer_printf(out, "%s%s", value, places[i].below);
        return true;
    }
    return false;
}

static void cache_append_repository(const char *name, struct bl_buffer *out)
{
    bl_buffer_text(out, "/models--");
    for (; *name; name++)
        bl_buffer_text(out, *name == '/' ? "--" : (const char[]){*name, '\0'});
}

int bl_model_cache_find(const char *name, struct bl_buffer *folder, bool *found, struct bl_error *e)
{
    struct bl_buffer revision = {0};
    struct stat status;
    *found = false;
    bl_buffer_clear(folder);
    if (!name_is_repository(name) || !cache_append_root(folder))
        return BL_OK;
    cache_append_repository(name, folder);
    size_t size = folder->size;
    bl_buffer_text(folder, "/refs/main");
    int code = bl_buffer_check(folder, e);
    if (code)
        return code;
    if (stat(folder->data, &status) != 0)
        return bl_errno_is_system(errno) ? bl_error_errno(e, BL_EFAIL, "cannot stat %s", folder->data) : BL_OK;
    code = bl_io_read_file(folder->data, REVISION_MAX, &revision, e);
    if (code)
        goto out;
    size_t end = strcspn(revision.data, " \r\n");
    if (end == 0 || memchr(revision.data, '/', end) || *revision.data == '.') {
        code = bl_error_set(e, BL_EFAIL, "%s has no name of a revision", folder->data);
        goto out;
    }
    folder->size = size;
    bl_buffer_printf(folder, "/snapshots/%.*s", (int)end, revision.data);
    code = bl_buffer_check(folder, e);
    *found = !code;
out:
    bl_buffer_free(&revision);
    return code;
}
