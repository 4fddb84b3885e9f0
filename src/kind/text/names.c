#include "kind/text/names.h"

#include <stdlib.h>

#include "base/text.h"
#include "base/utf8.h"

#define MEMBER_BYTES 16 /* of a name and its id, or more */
#define SHOWN 80        /* bytes of a name in a message */

static int name_add(struct bl_vocabulary *names, const struct bl_json_value *name, const struct bl_json_value *value,
                    uint8_t *taken, struct bl_error *e)
{
    int shown = (int)(name->size < SHOWN ? name->size : SHOWN);
    int64_t id;
    if (value->type != BL_JSON_NUMBER || !bl_text_to_int(value->text, value->size, 0, BL_ID_MAX, &id))
        return bl_error_set(e, BL_EFAIL, "the id of \"%.*s\" is not an integer from 0 to %d", shown, name->text,
                            BL_ID_MAX);
    if (taken[id / 8] >> id % 8 & 1)
        return bl_error_set(e, BL_EFAIL, "the id %d of \"%.*s\" is also that of another token", (int)id, shown,
                            name->text);
    taken[id / 8] |= (uint8_t)(1 << id % 8);
    return bl_vocabulary_append(names, name->text, name->size, (int32_t)id, e);
}

static int names_index(struct bl_vocabulary *names, struct bl_error *e)
{
    int64_t twice;
    int code = bl_vocabulary_index(names, &twice, e);
    if (code || twice < 0)
        return code;
    uint32_t size = names->token[twice].size;
    return bl_error_set(e, BL_EFAIL, "\"%.*s\" is there twice", (int)(size < SHOWN ? size : SHOWN),
                        (const char *)bl_vocabulary_bytes(names, (size_t)twice));
}

int bl_names_read(struct bl_vocabulary *names, const struct bl_json_value *object, struct bl_error *e)
{
    struct bl_json_value member, value, name;
    struct bl_buffer plain = {0};
    uint8_t *taken = calloc(BL_ID_MAX / 8 + 1, 1);
    if (!taken)
        return bl_error_memory(e);
    /* Pages that are not written to take no memory. */
    int code = bl_vocabulary_reserve(names, object->size / MEMBER_BYTES, object->size / 2, e);
    for (size_t at = 0; !code && bl_json_next_member(object, &at, &member, &value);) {
        bool is_text = bl_json_text(&member, &plain, &name) && bl_utf8_valid(name.text, name.size) == name.size;
        code = bl_buffer_check(&plain, e);
        if (!code && !is_text)
            code = bl_error_set(e, BL_EFAIL, "entry %zu: the token is not UTF-8", names->count);
        if (!code)
            code = name_add(names, &name, &value, taken, e);
    }
    bl_buffer_free(&plain);
    free(taken);
    return code ? code : names_index(names, e);
}
