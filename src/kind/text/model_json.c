/* The models of a tokenizer.json. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kind/text/bpe_characters.h"
#include "kind/text/json_tokenizer.h"
#include "kind/text/tokenizer_warning.h"

#define MERGE_BYTES 16 /* of a merge, or more; room for too many takes no memory while it is not written to */

const char *bl_json_model_type(const json_t *model)
{
    const char *type = bl_json_type(model);
    if (*type)
        return type;
    if (json_object_get(model, "merges"))
        return "BPE";
    if (json_is_array(json_object_get(model, "vocab")))
        return "Unigram";
    return json_object_get(model, "continuing_subword_prefix") ? "WordPiece" : "WordLevel";
}

size_t bl_json_model_size(const struct bl_json_tokenizer *t)
{
    return t->lists->vocab.type == BL_JSON_ARRAY ? t->pieces : t->names.count;
}

int64_t bl_json_model_find(const struct bl_json_tokenizer *t, const char *text, size_t size)
{
    if (t->lists->vocab.type != BL_JSON_ARRAY)
        return bl_names_find(&t->names, text, size);
    int64_t id = -1;
    struct bl_buffer decoded = {0};
    if (bl_alphabet_decode(&t->tokenizer->alphabet, text, size, &decoded) && !decoded.failed) {
        uint32_t piece = bl_trie_find(&t->tokenizer->unigram.trie, decoded.data, decoded.size);
        id = piece == BL_TRIE_NONE ? -1 : (int64_t)piece;
    }
    bl_buffer_free(&decoded);
    return id;
}

static bool member_is_unset(const json_t *member)
{
    return !member || json_is_null(member) || (json_is_string(member) && !json_string_length(member));
}

/* The options of the BPE model that ids depend on. */
struct bpe_options {
    struct bl_bpe_options characters;
    bool direct;
};

static int bpe_read_options(struct bl_json_tokenizer *t, struct bpe_options *options, struct bl_error *e)
{
    static const char *const known[] = {"type",
                                        "dropout",
                                        "unk_token",
                                        "continuing_subword_prefix",
                                        "end_of_word_suffix",
                                        "fuse_unk",
                                        "byte_fallback",
                                        "ignore_merges",
                                        "vocab",
                                        "merges",
                                        NULL};
    const struct bl_json_flag flags[] = {{"ignore_merges", &options->direct},
                                         {"fuse_unk", &options->characters.fused},
                                         {"byte_fallback", &options->characters.byte_fallback},
                                         {NULL, NULL}};
    *options = (struct bpe_options){.characters = {.alphabet = t->tokenizer->alphabet, .unknown = -1}};
    int code = bl_json_members_check(t->model, "the model BPE", known, &t->unsupported, e);
    if (!code)
        code = bl_json_members_read_flags(t->model, "the model BPE", flags, e);
    if (code)
        return code;
    const json_t *dropout = json_object_get(t->model, "dropout"), *unknown = json_object_get(t->model, "unk_token");
    if (!member_is_unset(dropout) && !(json_is_number(dropout) && json_number_value(dropout) == 0))
        bl_unsupported_add(&t->unsupported, "\"dropout\" of the model BPE (ids would be random)");
    if (!member_is_unset(json_object_get(t->model, "continuing_subword_prefix")))
        bl_unsupported_add(&t->unsupported, "\"continuing_subword_prefix\" of the model BPE");
    if (options->direct && *options->characters.alphabet.suffix)
        bl_unsupported_add(&t->unsupported, "\"ignore_merges\" with \"end_of_word_suffix\"");
    if (!json_is_string(unknown))
        return BL_OK;
    int64_t id = bl_json_model_find(t, json_string_value(unknown), json_string_length(unknown));
    options->characters.unknown = (int32_t)id;
    return BL_OK;
}

/* The merges read so far, and memory for texts without their escapes. */
struct reading {
    struct bl_merges merges;
    struct bl_buffer plain[2];
};

static int merge_read(struct reading *r, const struct bl_json_value *item, struct bl_error *e)
{
    struct bl_json_value side[2], text[2], more;
    size_t at = 0;
    if (item->type == BL_JSON_STRING && bl_json_text(item, &r->plain[0], text))
        return bl_merges_add_line(&r->merges, text->text, text->size, e);
    if (item->type != BL_JSON_ARRAY || !bl_json_next(item, &at, &side[0]) || !bl_json_next(item, &at, &side[1]) ||
        bl_json_next(item, &at, &more) || !bl_json_text(&side[0], &r->plain[0], &text[0]) ||
        !bl_json_text(&side[1], &r->plain[1], &text[1]))
        return bl_error_set(e, BL_EFAIL, "is not a merge: \"left right\" or [\"left\", \"right\"]");
    return bl_merges_add(&r->merges, text[0].text, text[0].size, text[1].text, text[1].size, e);
}

/* Merges of tokens that stand for unknown characters or for bytes would join what is apart here. */
static void merges_check(struct bl_json_tokenizer *t, const struct bl_merges *merges, size_t first)
{
    const struct bl_vocabulary *v = &t->tokenizer->vocabulary;
    const char *unknown = json_string_value(json_object_get(t->model, "unk_token"));
    int64_t token = unknown ? bl_vocabulary_find(v, unknown, strlen(unknown)) : -1;
    for (size_t i = first; i < merges->count; i++) {
        const uint32_t side[2] = {merges->merge[i].left, merges->merge[i].right};
        for (int j = 0; j < 2; j++) {
            const uint8_t *text = bl_vocabulary_bytes(v, side[j]);
            bool byte = v->token[side[j]].size == 6 && !memcmp(text, "<0x", 3) && text[5] == '>';
            if (side[j] != token && !byte)
                continue;
            bl_unsupported_add(&t->unsupported, "a merge of the token \"%.*s\"", (int)v->token[side[j]].size,
                               (const char *)text);
            return;
        }
    }
}

static int merges_read(struct bl_json_tokenizer *t, struct reading *r, struct bl_error *e)
{
    struct bl_json_value item;
    if (t->lists->merges.type != BL_JSON_ARRAY)
        return bl_error_set(e, BL_EFAIL, "\"model.merges\" is missing, or not an array");
    int code = BL_ARRAY_RESERVE(r->merges.merge, r->merges.capacity, t->lists->merges.size / MERGE_BYTES, e);
    size_t count = 0;
    for (size_t at = 0; !code && bl_json_next(&t->lists->merges, &at, &item); count++) {
        r->merges.place = count;
        code = merge_read(r, &item, e);
    }
    if (!code)
        code = bl_merges_finish(&r->merges, e);
    if (code)
        bl_error_prefix(e, "\"model.merges\", entry %zu", r->merges.place);
    return code;
}

static int bpe_read(struct bl_json_tokenizer *t, struct bl_error *e)
{
    struct bl_tokenizer *tokenizer = t->tokenizer;
    struct bpe_options options;
    struct reading r = {0};
    size_t first = 0;
    int code = bpe_read_options(t, &options, e);
    if (code)
        return code;
    code = bl_merges_open(&r.merges, tokenizer, &t->names, e);
    if (code) {
        bl_error_prefix(e, "\"model.vocab\"");
        goto out;
    }
    tokenizer->model = BL_MODEL_BPE;
    code = bl_bpe_add_characters(&tokenizer->bpe, &tokenizer->vocabulary, &r.merges, &options.characters, e);
    first = r.merges.count;
    if (!code)
        code = merges_read(t, &r, e);
    if (code)
        goto out;
    if (tokenizer->alphabet.kind != BL_ALPHABET_BYTES)
        merges_check(t, &r.merges, first);
    code = bl_bpe_from_merges(&tokenizer->bpe, &tokenizer->vocabulary, r.merges.merge, r.merges.count, first,
                              options.direct, e);
    if (code)
        bl_error_prefix(e, "\"model\"");
    else if (tokenizer->bpe.known && tokenizer->bpe.unknown < 0 && !t->covered)
        code = bl_tokenizer_warn(tokenizer, e, "characters that are no tokens are left out: it has no unknown token");
out:
    bl_merges_free(&r.merges);
    bl_buffer_free(&r.plain[0]);
    bl_buffer_free(&r.plain[1]);
    return code;
}

static int wordpiece_read(struct bl_json_tokenizer *t, struct bl_error *e)
{
    struct bl_tokenizer *tokenizer = t->tokenizer;
    const json_t *model = t->model;
    static const char *const known[] = {"type",  "unk_token", "continuing_subword_prefix", "max_input_chars_per_word",
                                        "vocab", NULL};
    const char *unknown = json_string_value(json_object_get(model, "unk_token"));
    const char *prefix = json_string_value(json_object_get(model, "continuing_subword_prefix"));
    const json_t *max = json_object_get(model, "max_input_chars_per_word");
    int code = bl_json_members_check(model, "the model WordPiece", known, &t->unsupported, e);
    if (code)
        goto out;
    code = bl_merges_vocabulary(tokenizer, &t->names, NULL, e);
    if (code)
        goto out;
    code = bl_wordpiece_init(&tokenizer->wordpiece, &tokenizer->vocabulary, unknown ? unknown : "[UNK]",
                             prefix ? prefix : BL_WORDPIECE_PREFIX,
                             max ? json_integer_value(max) : BL_WORDPIECE_CHARACTERS, e);
out:
    tokenizer->model = BL_MODEL_WORDPIECE;
    if (code)
        bl_error_prefix(e, "\"model\"");
    return code;
}

static int wordlevel_read(struct bl_json_tokenizer *t, struct bl_error *e)
{
    static const char *const known[] = {"type", "unk_token", "vocab", NULL};
    const json_t *unknown = json_object_get(t->model, "unk_token");
    int code = bl_json_members_check(t->model, "the model WordLevel", known, &t->unsupported, e);
    if (!code)
        code = bl_merges_vocabulary(t->tokenizer, &t->names, NULL, e);
    t->tokenizer->model = BL_MODEL_WORDLEVEL;
    t->tokenizer->unknown = -1;
    if (json_is_string(unknown))
        t->tokenizer->unknown = (int32_t)bl_json_model_find(t, json_string_value(unknown), json_string_length(unknown));
    if (code)
        bl_error_prefix(e, "\"model\"");
    return code;
}

/* Where nothing else splits the words of merges, they are split where no merge joins them. */
static void splits_complete(struct bl_tokenizer *tokenizer)
{
    struct bl_split *last = tokenizer->splits ? &tokenizer->split[tokenizer->splits - 1] : NULL;
    bool merges = tokenizer->model == BL_MODEL_BPE && bl_bpe_can_split(&tokenizer->bpe);
    if (last && last->kind == BL_SPLIT_NONE && merges)
        last->kind = BL_SPLIT_MERGES;
    if (!last)
        tokenizer->split[tokenizer->splits++] =
            (struct bl_split){.kind = merges ? BL_SPLIT_MERGES : BL_SPLIT_GRAMMAR, .grammar = BL_GRAMMAR_WHOLE};
}

int bl_json_read_model(struct bl_json_tokenizer *t, struct bl_error *e)
{
    static const struct {
        const char *type;
        int (*read)(struct bl_json_tokenizer *t, struct bl_error *e);
    } types[] = {{"BPE", bpe_read},
                 {"WordPiece", wordpiece_read},
                 {"WordLevel", wordlevel_read},
                 {"Unigram", bl_json_read_unigram}};
    if (!json_is_object(t->model))
        return bl_error_set(e, BL_EFAIL, "\"model\" is missing, or not an object");
    const char *type = bl_json_model_type(t->model);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!strcmp(types[i].type, type)) {
            int code = types[i].read(t, e);
            if (!code)
                splits_complete(t->tokenizer);
            return code;
        }
    }
    bl_unsupported_add(&t->unsupported, "the model \"%.80s\"", type);
    return BL_OK;
}
