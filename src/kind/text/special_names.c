#include "kind/text/special_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/json.h"
#include "base/path.h"

#define FILE_MAX ((size_t)16 << 20) /* bytes */

static int names_read(const char *path, const char *key, struct bl_buffer *name, bool *found, struct bl_error *e)
{
    struct bl_buffer text = {0};
    char content[64];
    struct bl_json_key keys[2];
    struct bl_json_value value[2];
    struct bl_json_fault fault;
    size_t lone;
    int code = bl_io_read_file(path, FILE_MAX, &text, e);
    if (code)
        goto out;
    snprintf(content, sizeof content, "%s.content", key);
    if (!bl_json_key_parse(&keys[0], key, strlen(key)) || !bl_json_key_parse(&keys[1], content, strlen(content)))
        goto out;
    if (!bl_json_scan(text.data, text.size, keys, 2, value, &fault)) {
        code = bl_error_set(e, BL_EFAIL, "%s: not JSON at byte %zu: %s", path, fault.at, fault.what);
        goto out;
    }
    const struct bl_json_value *token = value[0].type == BL_JSON_STRING ? &value[0] : &value[1];
    *found = token->type == BL_JSON_STRING;
    bl_buffer_clear(name);
    if (*found)
        bl_json_unescape(token, name, &lone);
    bl_buffer_text(name, "");
    code = bl_buffer_check(name, e);
out:
    bl_buffer_free(&text);
    return code;
}

int bl_special_name_find(const char *path, const char *key, struct bl_buffer *name, bool *found, struct bl_error *e)
{
    static const char *const files[] = {"tokenizer_config.json", "special_tokens_map.json"};
    char *folder = bl_path_parent(path);
    int code = folder ? BL_OK : bl_error_memory(e);
    *found = false;
    for (size_t i = 0; i < sizeof files / sizeof *files && !code && !*found; i++) {
        char *file = bl_path_join(folder, files[i]);
        bool exists = false;
        code = file ? bl_fs_exists(file, &exists, e) : bl_error_memory(e);
        if (!code && exists)
            code = names_read(file, key, name, found, e);
        free(file);
    }
    free(folder);
    return code;
}
