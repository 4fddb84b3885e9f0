/* The tokenizer of a field of token ids.
 *
 * The manifest describes such a field by a text like "tokens of gpt2 (50257 ids, digest 0123456789abcdef), ...": the
 * name of the tokenizer, and the checksum of what it does. Ids are decoded only by a tokenizer with the same digest. */
#include "store/field_tokenizer.h"

#include <stdio.h>
#include <string.h>

#include "base/checksum.h"

#define DIGEST_MARK ", digest "

/* The manifest describes the fields that accompany the tokens, such as loss masks, by the same text. These fields come
 * after the tokens, so that only the first field with the text holds ids. A field with steps of its own accompanies
 * nothing. */
bool bl_field_tokenizer_has_ids(const struct bl_manifest *m, int f)
{
    const struct bl_field *field = m->format.fields.field;
    if (strcmp(field[f].kind, "text") != 0 || field[f].rank)
        return false;
    for (int i = 0; i < f && !field[f].own; i++) {
        if (!field[i].own && strcmp(field[i].kind, "text") == 0 && strcmp(m->made[i], m->made[f]) == 0)
            return false;
    }
    return true;
}

/* Returns the text after "tokens of" in the manifest, or NULL if the field does not hold ids of a tokenizer. */
static const char *field_origin(const struct bl_manifest *m, int f)
{
    static const char begin[] = "tokens of ";
    bool is_made_so = strncmp(m->made[f], begin, sizeof begin - 1) == 0;
    return is_made_so && bl_field_tokenizer_has_ids(m, f) ? m->made[f] + sizeof begin - 1 : NULL;
}

bool bl_field_tokenizer_is_bytes(const struct bl_manifest *m, int f)
{
    static const char bytes[] = "bytes (256 ids,";
    const char *origin = field_origin(m, f);
    return origin && strncmp(origin, bytes, sizeof bytes - 1) == 0;
}

/* Returns an option of the tokens of field f, as the configuration has it: an own field has options of its own. */
static const char *tokens_option(const struct bl_manifest *m, int f, const char *option)
{
    const struct bl_field *field = &m->format.fields.field[f];
    char name[BL_FIELD_NAME_MAX + 32];
    snprintf(name, sizeof name, "field %s %s", field->name, option);
    return bl_manifest_option(m, field->own ? name : option);
}

int bl_field_tokenizer_open(const struct bl_manifest *m, int f, const char *path, struct bl_detokenizer **detokenizer,
                            struct bl_error *e)
{
    const char *origin = field_origin(m, f), *pattern = tokens_option(m, f, "pattern");
    const char *lowercase = tokens_option(m, f, "lowercase");
    const struct bl_tokenizer_options options = {.path = path ? path : "bytes",
                                                 .pattern = *pattern ? pattern : NULL,
                                                 .special = strcmp(tokens_option(m, f, "special"), "parse") == 0,
                                                 .lowercase = strcmp(lowercase, "yes") == 0  ? BL_LOWERCASE_YES
                                                              : strcmp(lowercase, "no") == 0 ? BL_LOWERCASE_NO
                                                                                             : BL_LOWERCASE_AUTO};
    struct bl_tokenizer *tokenizer = NULL;
    char digest[BL_DIGEST_SIZE];
    *detokenizer = NULL;
    if (!origin)
        return bl_error_set(
            e, BL_EUSAGE,
            "%s cannot be decoded to text: it is not recorded which tokenizer made these ids (%s); pack them with "
            "--tokenizer FILE",
            m->format.fields.field[f].name, m->made[f]);
    if (!path && !bl_field_tokenizer_is_bytes(m, f))
        return bl_error_set(e, BL_EUSAGE, "text needs --tokenizer FILE with the tokenizer that made the ids: %.*s",
                            (int)strcspn(origin, " "), origin);
    BL_TRY(bl_tokenizer_open(&tokenizer, &options, e));
    const char *listed = strstr(origin, DIGEST_MARK);
    listed = listed ? listed + sizeof DIGEST_MARK - 1 : "";
    bl_checksum_format(bl_tokenizer_digest(tokenizer), digest);
    int code = BL_OK;
    if (strncmp(listed, digest, BL_DIGEST_SIZE - 1) != 0)
        code = bl_error_set(
            e, BL_EUSAGE,
            "--tokenizer %s has the digest %s, but the tokenizer of the ids is %.*s, which has the digest %.16s",
            bl_tokenizer_name(tokenizer), digest, (int)strcspn(origin, " "), origin, listed);
    else
        code = bl_detokenizer_open(detokenizer, tokenizer, e);
    bl_tokenizer_close(tokenizer);
    return code;
}
