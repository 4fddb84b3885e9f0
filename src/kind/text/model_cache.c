/* huggingface_hub's layout: models--OWNER--NAME/refs/main has the name of a folder in snapshots/. tiktoken's: a file is
 * named by the SHA-1 of the address that it came from. */
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

/* Where a cache may be: the value of a variable, and a folder below it. */
struct place {
    const char *variable, *below;
};

/* Appends the first place whose variable is set; false: none is. */
static bool cache_append_place(const struct place *places, size_t count, struct bl_buffer *out)
{
    for (size_t i = 0; i < count; i++) {
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

static int repository_find(const char *name, struct bl_buffer *folder, bool *found, struct bl_error *e)
{
    static const struct place places[] = {{"HF_HUB_CACHE", ""},
                                          {"HF_HOME", "/hub"},
                                          {"XDG_CACHE_HOME", "/huggingface/hub"},
                                          {"HOME", "/.cache/huggingface/hub"}};
    struct bl_buffer revision = {0};
    struct stat status;
    *found = false;
    bl_buffer_clear(folder);
    if (!name_is_repository(name) || !cache_append_place(places, sizeof places / sizeof *places, folder))
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

/* The file of an encoding, by the SHA-1 of https://openaipublic.blob.core.windows.net/encodings/NAME.tiktoken. */
static int encoding_find(const char *name, struct bl_buffer *path, bool *found, struct bl_error *e)
{
    static const struct {
        const char *name, *file;
    } known[] = {{"r50k_base", "0ea1e91bbb3a60f729a8dc8f777fd2fc07cd8df4"},
                 {"p50k_base", "ec7223a39ce59f226a68acc30dc1af2788490e15"},
                 {"cl100k_base", "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"},
                 {"o200k_base", "fb374d419588a4632f3f557e76b4b70aebbca790"}};
    static const struct place places[] = {
        {"TIKTOKEN_CACHE_DIR", ""}, {"DATA_GYM_CACHE_DIR", ""}, {"TMPDIR", "/data-gym-cache"}};
    struct stat status;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) != 0)
            continue;
        bl_buffer_clear(path);
        if (!cache_append_place(places, sizeof places / sizeof *places, path))
            bl_buffer_text(path, "/tmp/data-gym-cache");
        bl_buffer_printf(path, "/%s", known[i].file);
        int code = bl_buffer_check(path, e);
        if (code)
            return code;
        *found = stat(path->data, &status) == 0;
        if (!*found && bl_errno_is_system(errno))
            return bl_error_errno(e, BL_EFAIL, "cannot stat %s", path->data);
        break;
    }
    return BL_OK;
}

int bl_model_cache_find(const char *name, struct bl_buffer *path, bool *found, struct bl_error *e)
{
    int code = repository_find(name, path, found, e);
    return code || *found ? code : encoding_find(name, path, found, e);
}
