#include "kind/text/tokenizer_warning.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int bl_tokenizer_warn(struct bl_tokenizer *tokenizer, struct bl_error *e, const char *format, ...)
{
    struct bl_buffer text = {0};
    va_list arguments;
    va_start(arguments, format);
    char added[400];
    vsnprintf(added, sizeof added, format, arguments);
    va_end(arguments);
    if (tokenizer->warning)
        bl_buffer_printf(&text, "%s; %s", tokenizer->warning, added);
    else
        bl_buffer_printf(&text, "%s: %s", tokenizer->path, added);
    int code = bl_buffer_check(&text, e);
    if (code) {
        bl_buffer_free(&text);
        return code;
    }
    free(tokenizer->warning);
    tokenizer->warning = text.data;
    return BL_OK;
}

int bl_tokenizer_warn_pattern(struct bl_tokenizer *tokenizer, struct bl_error *e)
{
    char version[BL_REGEX_VERSION_MAX];
    if (tokenizer->warning)
        return BL_OK;
    return bl_tokenizer_warn(tokenizer, e,
                             "its pattern is not a known one and is matched by PCRE2 with Unicode %s: characters of "
                             "later versions may be split differently than by the released tokenizers",
                             bl_regex_unicode_version(version));
}

int bl_tokenizer_warn_missing_ids(struct bl_tokenizer *tokenizer, int64_t count, int64_t first, struct bl_error *e)
{
    if (!count)
        return BL_OK;
    return bl_tokenizer_warn(tokenizer, e,
                             "%" PRId64 " of the ids up to %" PRId64 " have no token, the first is %" PRId64, count,
                             tokenizer->size - 1, first);
}

int bl_tokenizer_warn_missing_tokens(struct bl_tokenizer *tokenizer, const struct bl_vocabulary *names,
                                     const json_t *added, struct bl_error *e)
{
    const json_t *value;
    size_t i;
    uint8_t *has = calloc((size_t)tokenizer->size + 1, 1);
    int64_t count = 0, first = 0;
    if (!has)
        return bl_error_memory(e);
    memset(has, 1, tokenizer->unigram.count); /* its pieces have all ids from 0 */
    for (size_t name = 0; name < names->count; name++)
        has[names->token[name].id] = 1;
    json_array_foreach(added, i, value) has[json_integer_value(json_object_get(value, "id"))] = 1;
    for (int64_t id = tokenizer->size - 1; id >= 0; id--) {
        count += !has[id];
        first = has[id] ? first : id;
    }
    free(has);
    return bl_tokenizer_warn_missing_ids(tokenizer, count, first, e);
}
