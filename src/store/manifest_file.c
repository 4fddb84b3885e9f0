/* The manifest as a file. Its checksum is computed over the text with the digits of the checksum as zeros. It is the
 * last member, so that its digits are the last occurrence of them in the text. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/regular.h"
#include "base/io.h"
#include "base/json.h"
#include "base/output.h"
#include "base/path.h"
#include "store/jansson.h"
#include "store/manifest.h"
#include "store/manifest_json.h"

/* The last occurrence of digits in the text, or NULL. */
static char *text_find_last(char *text, size_t size, const char *digits)
{
    char *found = NULL, *at = text;
    while ((at = memmem(at, size - (size_t)(at - text), digits, strlen(digits))))
        found = at++;
    return found;
}

int bl_manifest_format(struct bl_manifest *manifest, struct bl_buffer *text, struct bl_error *e)
{
    size_t begin = text->size;
    int code = bl_jansson_append(bl_manifest_to_json(manifest), text, e);
    if (code)
        return code;
    size_t size = text->size - begin;
    bl_checksum_format(bl_checksum(text->data + begin, size), manifest->digest);
    memcpy(text_find_last(text->data + begin, size, BL_MANIFEST_NO_DIGEST), manifest->digest, BL_DIGEST_SIZE - 1);
    return BL_OK;
}

int bl_manifest_write(struct bl_manifest *manifest, const char *dir, struct bl_error *e)
{
    struct bl_buffer text = {0};
    char *path = bl_path_join(dir, BL_MANIFEST_FILE);
    int code = path ? bl_manifest_format(manifest, &text, e) : bl_error_memory(e);
    if (!code)
        code = bl_output_replace(path, text.data, text.size, e);
    bl_buffer_free(&text);
    free(path);
    return code;
}

/* Whether the text has the checksum that it contains. */
static int manifest_check_digest(const json_t *object, const char *text, size_t size, char digest[BL_DIGEST_SIZE],
                                 bool *sound, struct bl_error *e)
{
    uint64_t checksum = 0;
    int code = bl_jansson_get_checksum(object, "checksum", &checksum, e);
    if (code)
        return code;
    bl_checksum_format(checksum, digest);
    char *copy = malloc(size + 1);
    if (!copy)
        return bl_error_memory(e);
    memcpy(copy, text, size);
    char *digits = text_find_last(copy, size, digest);
    if (digits)
        memcpy(digits, BL_MANIFEST_NO_DIGEST, BL_DIGEST_SIZE - 1);
    *sound = digits && bl_checksum(copy, size) == checksum;
    free(copy);
    return BL_OK;
}

int bl_manifest_parse(struct bl_manifest *manifest, const char *text, size_t size, bool *sound, struct bl_error *e)
{
    *manifest = (struct bl_manifest){0};
    json_error_t why;
    if (bl_json_marks(text, size) > BL_JSON_VALUES_MAX)
        return bl_error_set(e, BL_EDATA, "more than %zu values: not a manifest", BL_JSON_VALUES_MAX);
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    if (!object)
        return bl_error_set(e, BL_EDATA, "line %d: %s", why.line, why.text);
    int64_t version = 0;
    int code = bl_jansson_get_integer(object, "format", 1, INT64_MAX, &version, e);
    if (code)
        goto out;
    if (version != BL_FORMAT_VERSION && version != BL_FORMAT_VIEW)
        code = bl_error_set(e, BL_EDATA,
                            "format version %" PRId64 ", but this bload knows versions %d and %d: update bload",
                            version, BL_FORMAT_VERSION, BL_FORMAT_VIEW);
    if (code)
        goto out;
    code = manifest_check_digest(object, text, size, manifest->digest, sound, e);
    if (code)
        goto out;
    code = bl_manifest_from_json(object, manifest, e);
out:
    json_decref(object);
    if (code)
        bl_manifest_free(manifest);
    return code;
}

int bl_manifest_inspect(struct bl_manifest *manifest, const char *dir, bool *sound, struct bl_error *e)
{
    *manifest = (struct bl_manifest){0};
    struct bl_buffer text = {0};
    char *path = bl_path_join(dir, BL_MANIFEST_FILE);
    if (!path)
        return bl_error_memory(e);
    int code = BL_OK;
    if (access(path, F_OK) != 0)
        code = errno == ENOENT
                   ? bl_error_set(e, BL_EUSAGE, "%s is not a finished dataset: it has no " BL_MANIFEST_FILE, dir)
               : errno == ENOTDIR ? bl_error_set(e, BL_EUSAGE, "%s is a file, not the directory of a dataset", dir)
                                  : bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    if (code)
        goto out;
    code = bl_regular_check(path, e);
    if (!code)
        code = bl_io_read_file(path, BL_MANIFEST_SIZE_MAX, &text, e);
    if (code)
        goto out;
    code = bl_manifest_parse(manifest, text.data ? text.data : "", text.size, sound, e);
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", path);
out:
    bl_buffer_free(&text);
    free(path);
    return code;
}

int bl_manifest_read(struct bl_manifest *manifest, const char *dir, struct bl_error *e)
{
    bool sound = false;
    int code = bl_manifest_inspect(manifest, dir, &sound, e);
    if (code || sound)
        return code;
    bl_manifest_free(manifest);
    return bl_error_set(e, BL_EDATA, "%s/" BL_MANIFEST_FILE ": wrong checksum: the file is damaged or was edited", dir);
}
