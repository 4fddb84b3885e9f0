/* Reads the model of a tokenizer.json, and decides in which alphabet its words are.
 *
 * The models are BPE, WordPiece, WordLevel and Unigram. The lists "vocab" and "merges" have hundreds of thousands of
 * entries, so they are scanned as text (t->lists); the tree of jansson has the rest of the file. Steps and vocabulary
 * must agree on the alphabet: bl_json_read_alphabet comes first, then the steps, then bl_json_read_model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "kind/text/bpe_characters.h"
#include "kind/text/tokenizer_json.h"

/* --- type and tokens ---------------------------------------------------------------------------------------------- */

/* Returns the type of the model: "BPE", "WordPiece", "WordLevel" or "Unigram". Old files have no member "type", and
 * only some models have the members "merges", a list "vocab" and "continuing_subword_prefix". */
static const char *model_type(const json_t *model)
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
    /* A Unigram model has no list of names: its pieces are found by their bytes. The number of a piece is its id. */
    int64_t id = -1;
    struct bl_buffer decoded = {0};
    if (bl_alphabet_decode(&t->tokenizer->alphabet, text, size, &decoded) && !decoded.failed) {
        uint32_t piece = bl_trie_find(&t->tokenizer->unigram.trie, decoded.data, decoded.size);
        id = piece == BL_TRIE_NONE ? -1 : (int64_t)piece;
    }
    bl_buffer_free(&decoded);
    return id;
}

/* --- alphabet ----------------------------------------------------------------------------------------------------- */

/* The words of a tokenizer.json are in one of three alphabets:
 *
 *     bytes   if the last step is ByteLevel.
 *     spaces  if all spaces become U+2581 in the end, as in Llama 2. The token U+2581 "the" is then kept as " the", and
 *             the text keeps its spaces, which saves a copy of the text. A U+2581 of the text, which is rare, becomes a
 *             space. The steps that follow must not tell the two apart.
 *     text    otherwise: words and tokens are as the file writes them. */

/* Returns true if a member of object is the string value. */
static bool member_is(const json_t *object, const char *name, const char *value)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text && !strcmp(text, value);
}

/* Returns true if the pattern of object is the literal text value, not an expression. */
static bool literal_pattern_is(const json_t *object, const char *value)
{
    bool literal;
    const json_t *pattern = bl_json_pattern(object, &literal);
    return pattern && literal && json_string_length(pattern) == strlen(value) &&
           !strcmp(json_string_value(pattern), value);
}

static bool type_is(const json_t *object, const char *type)
{
    return !strcmp(bl_json_type(object), type);
}

/* Returns true if a pre-tokenizer splits at the same places with spaces in place of U+2581. */
static bool split_keeps_marks(const json_t *s)
{
    if (type_is(s, "Split"))
        return (literal_pattern_is(s, " ") || literal_pattern_is(s, BL_METASPACE)) &&
               !json_is_true(json_object_get(s, "invert"));
    return type_is(s, "Digits") || type_is(s, "Punctuation") ||
           (type_is(s, "Metaspace") && member_is(s, "replacement", BL_METASPACE));
}

/* Returns true if all spaces are U+2581 after the last step, and no step depends on which of the two they are. */
static bool spaces_are_marked(const struct bl_json_tokenizer *t)
{
    const json_t *added = json_object_get(t->root, "added_tokens"), *item;
    bool marked = false;
    size_t number;
    for (size_t i = 0; i < t->normalizers.count; i++) {
        const json_t *n = t->normalizers.step[i];
        /* Only Prepend is known to give the same result with spaces in place of U+2581. A text with a space would be
         * marked or not, depending on the alphabet. */
        const char *prepended = json_string_value(json_object_get(n, "prepend"));
        if (marked && (!type_is(n, "Prepend") || !prepended || strchr(prepended, ' ')))
            return false;
        /* A normalizer that replaces all spaces by U+2581. */
        marked =
            marked || (type_is(n, "Replace") && literal_pattern_is(n, " ") && member_is(n, "content", BL_METASPACE));
    }
    /* Added tokens are found between the normalizers and the pre-tokenizers. One that is looked for in normalised text
     * may include the white space beside it. A space is white space and U+2581 is not, so the alphabet of spaces would
     * change such tokens. */
    json_array_foreach(added, number, item)
    {
        const json_t *normalized = json_object_get(item, "normalized");
        bool strips = json_is_true(json_object_get(item, "lstrip")) || json_is_true(json_object_get(item, "rstrip"));
        if (marked && strips &&
            (normalized ? json_is_true(normalized) : !json_is_true(json_object_get(item, "special"))))
            return false;
    }
    for (size_t i = 0; i < t->splits.count; i++) {
        const json_t *s = t->splits.step[i];
        /* Metaspace marks the spaces of its pieces itself. */
        bool marks = type_is(s, "Metaspace") && member_is(s, "replacement", BL_METASPACE);
        if (marked && !split_keeps_marks(s))
            return false;
        marked = marked || marks;
    }
    return marked;
}

/* Returns true if a token has a space. Such a token could not be told from one with U+2581. The piece of a Unigram
 * model may also write the space as \u0020. */
static bool tokens_have_spaces(const struct bl_json_tokenizer *t)
{
    const struct bl_json_value *list = &t->lists->vocab;
    struct bl_json_value item, piece;
    /* One search over all names, which lie one after the other. */
    if (t->names.count && memchr(t->names.bytes.data, ' ', t->names.bytes.size))
        return true;
    for (size_t at = 0; list->type == BL_JSON_ARRAY && bl_json_next(list, &at, &item);) {
        size_t in_item = 0;
        if (item.type != BL_JSON_ARRAY || !bl_json_next(&item, &in_item, &piece))
            continue;
        if (memchr(piece.text, ' ', piece.size) || (piece.escaped && memmem(piece.text, piece.size, "\\u0020", 6)))
            return true;
    }
    return false;
}

/* Returns the number of ByteLevel steps. */
static size_t count_byte_level(const struct bl_json_steps *steps)
{
    size_t count = 0;
    for (size_t i = 0; i < steps->count; i++)
        count += type_is(steps->step[i], "ByteLevel");
    return count;
}

int bl_json_read_alphabet(struct bl_json_tokenizer *t, struct bl_error *e)
{
    const char *type = model_type(t->model);
    struct bl_buffer bytes = {0};
    struct bl_alphabet *alphabet = &t->tokenizer->alphabet;
    const char *suffix = json_string_value(json_object_get(t->model, "end_of_word_suffix"));
    int code = bl_json_steps_add(&t->normalizers, json_object_get(t->root, "normalizer"), "normalizers", "normalizer",
                                 &t->unsupported, e);
    if (!code)
        code = bl_json_steps_add(&t->splits, json_object_get(t->root, "pre_tokenizer"), "pretokenizers",
                                 "pre-tokenizer", &t->unsupported, e);
    if (code)
        return code;
    /* With all bytes as tokens, no character is unknown. */
    size_t byte_level = count_byte_level(&t->normalizers) + count_byte_level(&t->splits);
    t->covered = byte_level > 0;
    /* Every byte that occurs in UTF-8 must be a token of the byte-level alphabet: all but C0, C1 and F5 to FF. */
    for (int i = 0; i < 0xf5 && t->covered && !code; i++) {
        bl_buffer_clear(&bytes);
        bl_alphabet_append_bytes(&(char){(char)i}, 1, &bytes);
        code = bl_buffer_check(&bytes, e);
        t->covered = code || i == 0xc0 || i == 0xc1 || bl_names_find(&t->names, bytes.data, bytes.size) >= 0;
    }
    bl_buffer_free(&bytes);
    if (code)
        return code;
    bool last = t->splits.count && type_is(t->splits.step[t->splits.count - 1], "ByteLevel");
    if (!strcmp(type, "BPE") && last && byte_level == 1 && t->covered)
        alphabet->kind = BL_ALPHABET_BYTES;
    else if (strcmp(type, "WordPiece") != 0 && spaces_are_marked(t) && !tokens_have_spaces(t))
        alphabet->kind = BL_ALPHABET_SPACES;
    /* Only BPE has a suffix of words, such as "</w>". */
    if (strcmp(type, "BPE") != 0 || !suffix)
        return BL_OK;
    if (strlen(suffix) > BL_SUFFIX_MAX)
        bl_unsupported_add(&t->unsupported, "an end_of_word_suffix of more than %d bytes", BL_SUFFIX_MAX);
    else
        strcpy(alphabet->suffix, suffix);
    return BL_OK;
}

/* --- Unigram ------------------------------------------------------------------------------------------------------ */

/* Returns the double that is nearest to a power of ten, or infinity. pow() may differ in the last bit. */
static double power_of_ten(int exponent)
{
    char text[16];
    snprintf(text, sizeof text, "1e%d", exponent);
    return strtod(text, NULL);
}

/* Returns a JSON number as serde_json reads it, from which `tokenizers` has its scores: digits that fit 64 bits, then
 * one multiplication or division by a power of ten. The result can differ from the nearest double in the last bit, and
 * then another split of a word may have the highest score. */
static double serde_number(const char *text, size_t size)
{
    const char *end = text + size;
    /* The text is a number of JSON, which the scanner checked. */
    bool negative = text < end && *text == '-', full = false;
    uint64_t digits = 0;
    int exponent = 0;
    text += negative;
    for (bool point = false; text < end && *text != 'e' && *text != 'E'; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (*text == '.') {
            point = true;
            /* Further digits do not count, except that those before the point shift it. */
        } else if (full || digits > (UINT64_MAX - digit) / 10) {
            full = true;
            exponent += !point;
        } else {
            digits = digits * 10 + digit;
            exponent -= point;
        }
    }
    if (text < end) {
        /* The bound keeps the sum of exponents in an int; beyond it every number is 0 or infinite. */
        long given = strtol(text + 1, NULL, 10);
        exponent += given > 1000 ? 1000 : given < -1000 ? -1000 : (int)given;
    }
    double number = (double)digits;
    if (number == 0) /* also with an exponent whose power of ten is infinite */
        exponent = 0;
    /* No double is larger than 1e308, so a division by a larger power takes several steps. */
    for (; exponent < -308; exponent += 308)
        number /= 1e308;
    number = exponent < 0 ? number / power_of_ten(-exponent) : number * power_of_ten(exponent);
    return negative ? -number : number;
}

/* The pieces that were read so far. Their bytes are in the buffer of the vocabulary, which never moves: it has its
 * final size from the beginning. */
struct pieces {
    struct bl_unigram_piece *piece;
    size_t count, capacity;
    struct bl_buffer plain, decoded; /* the current piece without escapes, and its bytes */
};

/* Reads all pieces, each an entry [piece, score], such as ["the", -3.5]. A piece that the alphabet cannot decode gets
 * the size 0: it keeps its number, which is its id, and never occurs. BL_EFAIL: an entry is malformed, or the list is
 * empty. */
static int pieces_read(struct bl_json_tokenizer *t, struct pieces *p, struct bl_error *e)
{
    const struct bl_json_value *list = &t->lists->vocab;
    struct bl_buffer *bytes = &t->tokenizer->vocabulary.bytes;
    struct bl_json_value item, side[2], text, more;
    /* No piece is longer than its text in the file, so the pointers of pieces stay valid. */
    if (!bl_buffer_reserve(bytes, list->size + 1))
        return bl_error_memory(e);
    for (size_t at = 0; bl_json_next(list, &at, &item);) {
        size_t in = 0;
        if (item.type != BL_JSON_ARRAY || !bl_json_next(&item, &in, &side[0]) || !bl_json_next(&item, &in, &side[1]) ||
            bl_json_next(&item, &in, &more) || !bl_json_text(&side[0], &p->plain, &text) ||
            side[1].type != BL_JSON_NUMBER)
            return bl_error_set(e, BL_EFAIL, "\"model.vocab\", entry %zu, is not [piece, score]", p->count);
        if (p->count == BL_VOCABULARY_MAX)
            return bl_error_set(e, BL_EFAIL, "\"model.vocab\" has more than %d pieces", BL_VOCABULARY_MAX);
        BL_TRY(BL_ARRAY_RESERVE(p->piece, p->capacity, p->count + 1, e));
        bool there = bl_alphabet_decode(&t->tokenizer->alphabet, text.text, text.size, &p->decoded);
        p->piece[p->count++] = (struct bl_unigram_piece){.bytes = (uint8_t *)bytes->data + bytes->size,
                                                         .size = there ? p->decoded.size : 0,
                                                         .score = serde_number(side[1].text, side[1].size)};
        bl_buffer_append(bytes, p->decoded.data, there ? p->decoded.size : 0);
        BL_TRY(bl_buffer_check(&p->decoded, e));
    }
    return p->count ? BL_OK : bl_error_set(e, BL_EFAIL, "\"model.vocab\" is empty");
}

/* Reads a Unigram model. Without "unk_id", unknown characters have the id -1. */
static int unigram_read(struct bl_json_tokenizer *t, struct bl_error *e)
{
    static const char *const known[] = {"type", "unk_id", "byte_fallback", "vocab", NULL};
    /* unk_id is a number, not a text as in the other models. */
    const json_t *unknown = json_object_get(t->model, "unk_id");
    bool fallback = false;
    const struct bl_json_flag flags[] = {{"byte_fallback", &fallback, false}, {0}};
    struct pieces p = {0};
    int64_t id = json_is_integer(unknown) ? json_integer_value(unknown) : -1;
    int code = bl_json_members_check(t->model, "the model Unigram", known, &t->unsupported, e);
    if (!code)
        code = bl_json_members_read_flags(t->model, "the model Unigram", flags, e);
    if (!code && t->lists->vocab.type != BL_JSON_ARRAY)
        code = bl_error_set(e, BL_EFAIL, "\"model.vocab\" is not a list of pieces");
    if (!code)
        code = pieces_read(t, &p, e);
    if (!code && ((unknown && !json_is_null(unknown) && id < 0) || id >= (int64_t)p.count))
        code = bl_error_set(e, BL_EFAIL, "\"model.unk_id\" is not the number of a piece");
    if (!code)
        code = bl_unigram_build(&t->tokenizer->unigram, p.piece, p.count, (int32_t)id, fallback, e);
    t->tokenizer->model = BL_MODEL_UNIGRAM;
    t->tokenizer->size = (int64_t)p.count;
    t->pieces = p.count;
    free(p.piece);
    bl_buffer_free(&p.plain);
    bl_buffer_free(&p.decoded);
    return code;
}

/* --- models ------------------------------------------------------------------------------------------------------- */

/* Bytes of a merge in the file, at least. Reserved room takes no memory before it is written. */
#define MERGE_BYTES 16

/* Returns true if a member has no effect: missing, null or "". */
static bool member_is_unset(const json_t *member)
{
    return !member || json_is_null(member) || (json_is_string(member) && !json_string_length(member));
}

/* The options of the BPE model on which ids depend. */
struct bpe_options {
    struct bl_bpe_options characters;
    bool direct; /* ignore_merges: a word that is a token gets its id */
};

/* Reads the members of a BPE model except its lists. Options that bload does not have are added to t->unsupported. */
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
    const struct bl_json_flag flags[] = {{"ignore_merges", &options->direct, false},
                                         {"fuse_unk", &options->characters.fused, false},
                                         {"byte_fallback", &options->characters.byte_fallback, false},
                                         {0}};
    *options = (struct bpe_options){.characters = {.alphabet = t->tokenizer->alphabet, .unknown = -1}};
    int code = bl_json_members_check(t->model, "the model BPE", known, &t->unsupported, e);
    if (!code)
        code = bl_json_members_read_flags(t->model, "the model BPE", flags, e);
    if (code)
        return code;
    /* Random merges are for training; ids of a dataset must not change. */
    const json_t *dropout = json_object_get(t->model, "dropout"), *unknown = json_object_get(t->model, "unk_token");
    if (!member_is_unset(dropout) && !(json_is_number(dropout) && json_number_value(dropout) == 0))
        bl_unsupported_add(&t->unsupported, "\"dropout\" of the model BPE (ids would be random)");
    if (!member_is_unset(json_object_get(t->model, "continuing_subword_prefix")))
        bl_unsupported_add(&t->unsupported, "\"continuing_subword_prefix\" of the model BPE");
    if (options->direct && *options->characters.alphabet.suffix)
        bl_unsupported_add(&t->unsupported, "\"ignore_merges\" with \"end_of_word_suffix\"");
    if (!json_is_string(unknown))
        return BL_OK;
    /* The unknown token must be in the vocabulary; otherwise the id is -1, as without "unk_token". */
    int64_t id = bl_json_model_find(t, json_string_value(unknown), json_string_length(unknown));
    options->characters.unknown = (int32_t)id;
    return BL_OK;
}

/* The merges read so far, and buffers for the names of a merge without their escapes. */
struct reading {
    struct bl_merges merges;
    struct bl_buffer plain[2];
};

/* Refuses merges of tokens that mean unknown characters or bytes, such as <0x0A>: they would join tokens that bload
 * keeps apart. first: the index of the first merge of the file. */
static void merges_check(struct bl_json_tokenizer *t, const struct bl_merges *merges, size_t first)
{
    const struct bl_vocabulary *v = &t->tokenizer->vocabulary;
    const char *unknown = json_string_value(json_object_get(t->model, "unk_token"));
    int64_t token = unknown ? bl_vocabulary_find(v, unknown, strlen(unknown)) : -1;
    for (size_t i = first; i < merges->count; i++) {
        const uint32_t side[2] = {merges->merge[i].left, merges->merge[i].right};
        for (int j = 0; j < 2; j++) {
            const uint8_t *text = bl_vocabulary_bytes(v, side[j]);
            /* "<0x0A>" has six bytes. */
            bool byte = v->token[side[j]].size == 6 && !memcmp(text, "<0x", 3) && text[5] == '>';
            if (side[j] != token && !byte)
                continue;
            bl_unsupported_add(&t->unsupported, "a merge of the token \"%.*s\"", (int)v->token[side[j]].size,
                               (const char *)text);
            return;
        }
    }
}

/* Reads "model.merges". A merge is the string "th e" in older files, or the array ["th", "e"] in newer ones. An error
 * names the entry. */
static int merges_read(struct bl_json_tokenizer *t, struct reading *r, struct bl_error *e)
{
    struct bl_json_value item, side[2], text[2], more;
    /* A BPE model without merges would have bytes or characters as its only words. */
    if (t->lists->merges.type != BL_JSON_ARRAY)
        return bl_error_set(e, BL_EFAIL, "\"model.merges\" is missing, or not an array");
    /* One allocation instead of a growing list. */
    int code = BL_ARRAY_RESERVE(r->merges.merge, r->merges.capacity, t->lists->merges.size / MERGE_BYTES, e);
    size_t count = 0;
    for (size_t at = 0; !code && bl_json_next(&t->lists->merges, &at, &item); count++) {
        size_t in = 0;
        r->merges.place = count;
        /* Texts with escapes are decoded into r->plain. */
        if (item.type == BL_JSON_STRING && bl_json_text(&item, &r->plain[0], text))
            code = bl_merges_add_line(&r->merges, text->text, text->size, e);
        else if (item.type != BL_JSON_ARRAY || !bl_json_next(&item, &in, &side[0]) ||
                 !bl_json_next(&item, &in, &side[1]) || bl_json_next(&item, &in, &more) ||
                 !bl_json_text(&side[0], &r->plain[0], &text[0]) || !bl_json_text(&side[1], &r->plain[1], &text[1]))
            code = bl_error_set(e, BL_EFAIL, "is not a merge: \"left right\" or [\"left\", \"right\"]");
        else
            code = bl_merges_add(&r->merges, text[0].text, text[0].size, text[1].text, text[1].size, e);
    }
    if (!code)
        code = bl_merges_finish(&r->merges, e);
    if (code)
        bl_error_prefix(e, "\"model.merges\", entry %zu", r->merges.place);
    return code;
}

/* Reads a BPE model. The merges of bytes to characters come first in the list, then those of the file. */
static int bpe_read(struct bl_json_tokenizer *t, struct bl_error *e)
{
    struct bl_tokenizer *tokenizer = t->tokenizer;
    struct bpe_options options;
    struct reading r = {0};
    size_t first = 0;
    BL_TRY(bpe_read_options(t, &options, e));
    int code = bl_merges_open(&r.merges, tokenizer, &t->names, e);
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
    /* `tokenizers` drops such characters silently; the warning lets the user notice it. */
    else if (tokenizer->bpe.known && tokenizer->bpe.unknown < 0 && !t->covered)
        code = bl_tokenizer_warn(tokenizer, e, "characters that are no tokens are left out: it has no unknown token");
out:
    bl_merges_free(&r.merges);
    bl_buffer_free(&r.plain[0]);
    bl_buffer_free(&r.plain[1]);
    return code;
}

/* Reads a WordPiece model; missing members have the defaults of BERT. */
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

/* Reads a WordLevel model: a word is a token, or the unknown token. */
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

int bl_json_read_model(struct bl_json_tokenizer *t, struct bl_error *e)
{
    static const struct {
        const char *type;
        int (*read)(struct bl_json_tokenizer *t, struct bl_error *e);
    } types[] = {
        {"BPE", bpe_read}, {"WordPiece", wordpiece_read}, {"WordLevel", wordlevel_read}, {"Unigram", unigram_read}};
    struct bl_tokenizer *tokenizer = t->tokenizer;
    if (!json_is_object(t->model))
        return bl_error_set(e, BL_EFAIL, "\"model\" is missing, or not an object");
    const char *type = model_type(t->model);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].type, type) != 0)
            continue;
        BL_TRY(types[i].read(t, e));
        /* A tokenizer without pre-tokenizer gets a split. The text of a BPE model is split where no merge joins two
         * bytes, so that the cache of words can work; otherwise the text is one word. Only the last step decides about
         * the words. */
        struct bl_split *last = tokenizer->splits ? &tokenizer->split[tokenizer->splits - 1] : NULL;
        bool merges = tokenizer->model == BL_MODEL_BPE && bl_bpe_can_split(&tokenizer->bpe);
        if (last && last->kind == BL_SPLIT_NONE && merges)
            last->kind = BL_SPLIT_MERGES;
        if (!last)
            tokenizer->split[tokenizer->splits++] =
                (struct bl_split){.kind = merges ? BL_SPLIT_MERGES : BL_SPLIT_GRAMMAR, .grammar = BL_GRAMMAR_WHOLE};
        return BL_OK;
    }
    bl_unsupported_add(&t->unsupported, "the model \"%.80s\"", type);
    return BL_OK;
}
