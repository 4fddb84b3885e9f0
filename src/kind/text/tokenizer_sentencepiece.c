/* The reader of .model files of SentencePiece: a message of Protocol Buffers with pieces, their scores and types, the
 * kind of the model, and the rules of its normalizer. The ids are those of the released package.
 *
 * The few types of fields that the format uses are decoded here, so that no library is needed. The piece "_a" (U+2581,
 * a) with the score -1.5 is this field of the file:
 *
 *     0a 0b                   field 1 (a piece), 11 bytes
 *       0a 04 e2 96 81 61     field 1 (its text), 4 bytes
 *       15 00 00 c0 bf        field 2 (its score), a float
 *
 * The kinds of models become models of bload: Unigram; BPE, whose merges follow from the scores; characters, which are
 * BPE without merges; and words, which are WordLevel. */
#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "kind/text/bpe_characters.h"
#include "kind/text/tokenizer_readers.h"

/* A message, or the rest of one, in the text of the file. */
struct bl_protobuf {
    const uint8_t *at, *end;
};

/* A field of a message. Its data lies in the text of the file. */
struct bl_protobuf_field {
    uint32_t number;
    uint64_t value;      /* of a number; a float's bits */
    const uint8_t *data; /* of text, bytes or a message; else NULL */
    size_t size;
};

/* --- Protocol Buffers --------------------------------------------------------------------------------------------- */

/* The fields of a Protocol Buffers message, one by one. */

/* The types of fields on the wire. The types 3 and 4, groups, are not in use. */
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

/* Reads a number of 7 bits a byte, the lowest first. False: the message ends before, or the number has more than 10
 * bytes. */
static bool varint_read(struct bl_protobuf *m, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && m->at < m->end; shift += 7) {
        uint8_t byte = *m->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* Reads a number of so many bytes, little endian. False: the message ends before. */
static bool fixed_read(struct bl_protobuf *m, size_t bytes, uint64_t *value)
{
    if ((size_t)(m->end - m->at) < bytes)
        return false;
    *value = 0;
    for (size_t i = 0; i < bytes; i++)
        *value |= (uint64_t)m->at[i] << 8 * i;
    m->at += bytes;
    return true;
}

/* Reads the next field. False: the message is at its end, or, with *damaged, it ends within a field or is no message.
 */
static bool protobuf_next(struct bl_protobuf *m, struct bl_protobuf_field *field, bool *damaged)
{
    uint64_t tag, size;
    *damaged = m->at != m->end;
    if (!*damaged || !varint_read(m, &tag) || tag >> 3 > UINT32_MAX || tag >> 3 == 0)
        return false;
    *field = (struct bl_protobuf_field){.number = (uint32_t)(tag >> 3)};
    switch (tag & 7) {
    case VARINT:
        *damaged = !varint_read(m, &field->value);
        break;
    case FIXED64:
        *damaged = !fixed_read(m, 8, &field->value);
        break;
    case FIXED32:
        *damaged = !fixed_read(m, 4, &field->value);
        break;
    case BYTES:
        if (!varint_read(m, &size) || size > (uint64_t)(m->end - m->at))
            return false;
        field->data = m->at;
        field->size = (size_t)size;
        m->at += size;
        *damaged = false;
        break;
    default:
        break;
    }
    return !*damaged;
}

/* --- models ------------------------------------------------------------------------------------------------------- */

/* The numbers of fields, types and kinds in sentencepiece_model.proto. */
enum { MODEL_PIECE = 1, MODEL_TRAINER = 2, MODEL_NORMALIZER = 3 };
enum { PIECE_TEXT = 1, PIECE_SCORE = 2, PIECE_TYPE = 3 };
enum { TRAINER_KIND = 3, TRAINER_SUFFIX = 24, TRAINER_FALLBACK = 35 };
enum { NORMALIZER_MAP = 2, NORMALIZER_PREFIX = 3, NORMALIZER_TRIMMED = 4, NORMALIZER_ESCAPED = 5 };
enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER = 4, UNUSED = 5, BYTE = 6 };
enum { UNIGRAM = 1, BPE = 2, WORD = 3, CHARACTER = 4 };

/* A piece of the model; its id is its place in the list. */
struct piece {
    const uint8_t *text; /* in the file */
    size_t size;
    float score;
    uint64_t type; /* NORMAL to BYTE */
};

/* A file that is being read. It owns the array of pieces. */
struct model {
    struct piece *piece;
    size_t count, capacity;
    uint64_t kind, fallback, suffix;   /* UNIGRAM to CHARACTER; bytes for unknown characters; U+2581 behind a word */
    uint64_t prefix, trimmed, escaped; /* normalizer: a space before the text; no spaces doubled; U+2581 for spaces */
    const uint8_t *map;                /* precompiled, in the file; map_size bytes */
    size_t map_size;
    int64_t unknown; /* id of the unknown piece, or -1 */
};

/* Reads a piece. Fields that are not known are skipped, as Protocol Buffers demands. False: it is damaged. */
static bool model_read_piece(const struct bl_protobuf_field *field, struct piece *piece)
{
    struct bl_protobuf m = {field->data, field->data + field->size};
    struct bl_protobuf_field f;
    bool damaged;
    *piece = (struct piece){.type = NORMAL};
    while (protobuf_next(&m, &f, &damaged)) {
        uint32_t bits = (uint32_t)f.value;
        if (f.number == PIECE_TEXT && f.data) {
            piece->text = f.data;
            piece->size = f.size;
        } else if (f.number == PIECE_SCORE && !f.data) {
            memcpy(&piece->score, &bits, sizeof bits);
        } else if (f.number == PIECE_TYPE && !f.data) {
            piece->type = f.value;
        }
    }
    return !damaged;
}

/* Reads the options of the training or of the normalizer, and the normalizer's map. A field that occurs twice has its
 * last value. False: the message is damaged. */
static bool options_read(const struct bl_protobuf_field *field, struct model *model)
{
    const struct {
        uint32_t message, number;
        uint64_t *value;
    } option[] = {{MODEL_TRAINER, TRAINER_KIND, &model->kind},
                  {MODEL_TRAINER, TRAINER_SUFFIX, &model->suffix},
                  {MODEL_TRAINER, TRAINER_FALLBACK, &model->fallback},
                  {MODEL_NORMALIZER, NORMALIZER_PREFIX, &model->prefix},
                  {MODEL_NORMALIZER, NORMALIZER_TRIMMED, &model->trimmed},
                  {MODEL_NORMALIZER, NORMALIZER_ESCAPED, &model->escaped}};
    if (!field->data)
        return false;
    struct bl_protobuf m = {field->data, field->data + field->size};
    struct bl_protobuf_field f;
    bool damaged;
    while (protobuf_next(&m, &f, &damaged)) {
        for (size_t i = 0; i < sizeof option / sizeof *option; i++) {
            if (field->number == option[i].message && f.number == option[i].number && !f.data)
                *option[i].value = f.value;
        }
        if (field->number == MODEL_NORMALIZER && f.number == NORMALIZER_MAP && f.data) {
            model->map = f.data;
            model->map_size = f.size;
        }
    }
    return !damaged;
}

/* Reads the message of the model. The values before the loop are the defaults of sentencepiece_model.proto. */
static int model_read(const struct bl_buffer *text, struct model *model, struct bl_error *e)
{
    struct bl_protobuf m = {(const uint8_t *)text->data, (const uint8_t *)text->data + text->size};
    struct bl_protobuf_field f;
    bool damaged, whole = true;
    /* The defaults of the format. */
    *model = (struct model){.kind = UNIGRAM, .prefix = 1, .trimmed = 1, .escaped = 1, .unknown = -1};
    while (whole && protobuf_next(&m, &f, &damaged)) {
        struct piece piece;
        if (f.number == MODEL_TRAINER || f.number == MODEL_NORMALIZER)
            whole = options_read(&f, model);
        if (f.number != MODEL_PIECE)
            continue;
        whole = f.data && model->count <= BL_VOCABULARY_MAX && model_read_piece(&f, &piece);
        BL_TRY(whole ? BL_ARRAY_RESERVE(model->piece, model->capacity, model->count + 1, e) : BL_OK);
        if (whole)
            model->piece[model->count++] = piece;
    }
    if (!whole || damaged)
        return bl_error_set(e, BL_EFAIL, "not a SentencePiece model: it is damaged near byte %zu",
                            (size_t)(m.at - (const uint8_t *)text->data));
    if (!model->count || model->count > BL_VOCABULARY_MAX)
        return bl_error_set(e, BL_EFAIL, "not a SentencePiece model: it has no pieces, or more than %d",
                            BL_VOCABULARY_MAX);
    return BL_OK;
}

/* Checks the pieces as the package does, and finds the unknown one. The package keeps pieces of text and the others in
 * two tables, so that a text may be in both. */
static int pieces_check(struct model *model, struct bl_error *e)
{
    struct bl_vocabulary seen[2] = {0}; /* pieces of text, and the others */
    size_t bytes = 0;
    int64_t known;
    int code = BL_OK;
    for (size_t i = 0; i < model->count && !code; i++) {
        const struct piece *p = &model->piece[i];
        /* Which of the two tables the package would use. */
        bool text = p->type == NORMAL || p->type == USER || p->type == UNUSED;
        if (!p->size || p->type < NORMAL || p->type > BYTE || p->score != p->score)
            code = bl_error_set(e, BL_EFAIL, "the piece %zu is empty, of an unknown type or without a score", i);
        else if (bl_utf8_valid((const char *)p->text, p->size) < p->size)
            code = bl_error_set(e, BL_EFAIL, "the piece %zu is not UTF-8", i);
        else
            code = bl_vocabulary_add(&seen[text], p->text, p->size, (int32_t)i, &known, e);
        if (!code && known >= 0)
            code =
                bl_error_set(e, BL_EFAIL, "the piece %zu is the same as the piece %d", i, seen[text].token[known].id);
        if (!code && p->type == UNKNOWN && model->unknown >= 0)
            code = bl_error_set(e, BL_EFAIL, "the pieces %d and %zu are both unknown", (int)model->unknown, i);
        if (p->type == UNKNOWN)
            model->unknown = (int64_t)i;
        bytes += p->type == BYTE;
    }
    if (!code && model->unknown < 0)
        code = bl_error_set(e, BL_EFAIL, "it has no piece for unknown characters");
    if (!code && model->fallback && bytes != 256)
        code = bl_error_set(e, BL_EFAIL, "it has %zu pieces for bytes, not 256", bytes);
    bl_vocabulary_free(&seen[0]);
    bl_vocabulary_free(&seen[1]);
    return code;
}

/* Returns the id of the piece of a byte, such as "<0x0A>", or -1. */
static int32_t byte_find(const struct model *model, unsigned byte)
{
    char text[8];
    snprintf(text, sizeof text, "<0x%02X>", byte);
    for (size_t i = 0; i < model->count; i++) {
        const struct piece *p = &model->piece[i];
        if (p->type == BYTE && p->size == 6 && !memcmp(p->text, text, 6))
            return (int32_t)i;
    }
    return -1;
}

/* Sets the normalizer of the model. User-defined pieces are kept as they are in it. */
static int rule_read(struct bl_tokenizer *tokenizer, const struct model *model, struct bl_error *e)
{
    struct bl_normalizer *n = &tokenizer->normalizer[tokenizer->normalizers++];
    struct bl_sentencepiece *rule = calloc(1, sizeof *rule);
    *n = (struct bl_normalizer){.kind = BL_NORMALIZER_SENTENCEPIECE, .sentencepiece = rule};
    if (!rule)
        return bl_error_memory(e);
    bl_added_init(&rule->kept);
    rule->prefix = model->prefix && !model->suffix;
    rule->suffix = model->prefix && model->suffix;
    rule->trimmed = model->trimmed;
    rule->spaces = tokenizer->alphabet.kind == BL_ALPHABET_SPACES;
    /* What the normalizer writes for a space. */
    rule->space = rule->spaces || !model->escaped ? " " : BL_METASPACE;
    int code = model->map_size ? bl_precompiled_open(&rule->map, model->map, model->map_size, e) : BL_OK;
    for (size_t i = 0; i < model->count && !code; i++) {
        const struct bl_added_token token = {.id = (int32_t)i};
        const struct piece *p = &model->piece[i];
        if (p->type == USER)
            code = bl_added_add(&rule->kept, (const char *)p->text, p->size, &token, e);
    }
    if (!code)
        bl_sentencepiece_finish(rule);
    return code;
}

/* --- Unigram ---------------------------------------------------------------------------------------------------- */

/* Builds the model of Unigram. Pieces that no text has stay empty, so that ids remain places in the list. The bytes of
 * pieces are in the vocabulary's buffer, which is reserved first so that pointers to it stay valid. */
static int unigram_build(struct bl_tokenizer *tokenizer, const struct model *model, struct bl_error *e)
{
    struct bl_unigram *unigram = &tokenizer->unigram;
    struct bl_unigram_piece *piece = calloc(model->count, sizeof *piece);
    struct bl_buffer *bytes = &tokenizer->vocabulary.bytes, decoded = {0};
    /* The package begins with these values, FLT_MIN included, which is the least positive number: with negative scores
     * alone, as usual, a user-defined piece has a score just below 0. */
    float lowest = FLT_MAX, largest = FLT_MIN;
    size_t size = 0;
    for (size_t i = 0; i < model->count; i++) {
        const struct piece *p = &model->piece[i];
        size += p->size;
        lowest = p->type == NORMAL && p->score < lowest ? p->score : lowest;
        largest = p->type == NORMAL && p->score > largest ? p->score : largest;
    }
    int code = piece && bl_buffer_reserve(bytes, size + 1) ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < model->count && !code; i++) {
        const struct piece *p = &model->piece[i];
        /* A user-defined piece has more than all that its bytes could get otherwise. */
        piece[i].score = p->type == USER ? (double)((float)p->size * largest) - 0.1 : (double)p->score;
        if (p->type != NORMAL && p->type != USER)
            continue;
        if (!bl_alphabet_decode(&tokenizer->alphabet, (const char *)p->text, p->size, &decoded))
            continue;
        piece[i].bytes = (uint8_t *)bytes->data + bytes->size;
        piece[i].size = decoded.size;
        bl_buffer_append(bytes, decoded.data, decoded.size);
        code = bl_buffer_check(&decoded, e);
    }
    if (!code)
        code = bl_unigram_build(unigram, piece, model->count, (int32_t)model->unknown, false, e);
    /* The package adds scores as float, and its penalty begins at the lowest score of a normal piece. */
    unigram->single = true;
    unigram->lowest = (double)lowest;
    if (!code && model->fallback) {
        unigram->byte = malloc(256 * sizeof *unigram->byte);
        code = unigram->byte ? BL_OK : bl_error_memory(e);
        for (unsigned i = 0; i < 256 && !code; i++)
            unigram->byte[i] = byte_find(model, i);
    }
    tokenizer->model = BL_MODEL_UNIGRAM;
    bl_buffer_free(&decoded);
    free(piece);
    return code;
}

/* --- BPE, and characters (BPE without merges) --------------------------------------------------------------------- */

/* Orders pointers to pieces by their scores, the highest first. */
static int score_compare(const void *a, const void *b)
{
    const struct piece *x = *(const struct piece *const *)a, *y = *(const struct piece *const *)b;
    return (x->score < y->score) - (x->score > y->score);
}

/* Whether the token is one character of UTF-8. */
static bool token_is_character(const struct bl_vocabulary *v, size_t token)
{
    const char *bytes = (const char *)bl_vocabulary_bytes(v, token);
    return bl_utf8_length(bytes, v->token[token].size) == v->token[token].size;
}

/* Sets the priority of each token: 0 is merged first. The tokens that build characters from bytes come first, then the
 * characters, then the other pieces by their scores; pieces of the same score have the same priority, since the package
 * then merges the leftmost pair. The pieces are the first count tokens. The caller frees *priority. */
static int priorities_set(const struct bl_vocabulary *v, const struct piece *const *sorted, size_t count,
                          uint32_t **priority, struct bl_error *e)
{
    *priority = malloc((v->count + 1) * sizeof **priority);
    if (!*priority)
        return bl_error_memory(e);
    const struct piece *last = NULL;
    uint32_t next = 0;
    for (size_t i = count; i < v->count; i++)
        (*priority)[i] = next++;
    for (size_t i = 0; i < count; i++) {
        if (token_is_character(v, i))
            (*priority)[i] = next++;
    }
    for (size_t i = 0; i < count; i++) {
        if (token_is_character(v, i))
            continue;
        (*priority)[i] = last && last->score == sorted[i]->score ? next - 1 : next++;
        last = sorted[i];
    }
    return BL_OK;
}

/* Builds the model of BPE, or of characters, which has only pieces of one character. */
static int model_build_bpe(struct bl_tokenizer *tokenizer, const struct model *model, struct bl_error *e)
{
    const struct piece **sorted = malloc(model->count * sizeof *sorted);
    size_t count = 0;
    int32_t byte[256];
    int64_t known;
    uint32_t point, *priority = NULL;
    struct bl_buffer decoded = {0};
    int code = sorted ? BL_OK : bl_error_memory(e);
    tokenizer->model = BL_MODEL_BPE;
    for (unsigned i = 0; i < 256; i++)
        byte[i] = model->fallback ? byte_find(model, i) : -1;
    if (code)
        goto out;
    /* The pieces that merging makes, in the order of their scores. Control, unknown and byte pieces do not result from
     * merging. */
    for (size_t i = 0; i < model->count; i++) {
        const struct piece *p = &model->piece[i];
        bool one = bl_utf8_decode((const char *)p->text, &point) == p->size;
        if (p->type == NORMAL && (one || model->kind == BPE))
            sorted[count++] = p;
    }
    qsort(sorted, count, sizeof *sorted, score_compare);
    for (size_t i = 0; i < count && !code; i++) {
        if (!bl_alphabet_decode(&tokenizer->alphabet, (const char *)sorted[i]->text, sorted[i]->size, &decoded))
            continue;
        /* Decoding the next piece clears the buffer and its failure. */
        code = bl_buffer_check(&decoded, e);
        if (!code)
            code = bl_vocabulary_add(&tokenizer->vocabulary, decoded.data, decoded.size,
                                     (int32_t)(sorted[i] - model->piece), &known, e);
    }
    if (!code)
        code = bl_bpe_add_piece_characters(&tokenizer->bpe, &tokenizer->vocabulary, byte,
                                           model->fallback ? -1 : (int32_t)model->unknown, e);
    if (!code)
        code = priorities_set(&tokenizer->vocabulary, sorted, count, &priority, e);
    if (!code)
        code = bl_bpe_from_priorities(&tokenizer->bpe, &tokenizer->vocabulary, priority, e);
out:
    bl_buffer_free(&decoded);
    free(priority);
    free(sorted);
    return code;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

/* Builds the model of words: all pieces are words. */
static int words_build(struct bl_tokenizer *tokenizer, const struct model *model, struct bl_error *e)
{
    struct bl_buffer decoded = {0};
    int64_t known;
    int code = BL_OK;
    for (size_t i = 0; i < model->count && !code; i++) {
        const struct piece *p = &model->piece[i];
        if (!bl_alphabet_decode(&tokenizer->alphabet, (const char *)p->text, p->size, &decoded))
            continue;
        /* Decoding the next piece clears the buffer and its failure. */
        code = bl_buffer_check(&decoded, e);
        if (!code)
            code = bl_vocabulary_add(&tokenizer->vocabulary, decoded.data, decoded.size, (int32_t)i, &known, e);
    }
    tokenizer->model = BL_MODEL_WORDLEVEL;
    bl_buffer_free(&decoded);
    return code;
}

/* Sets all parts of the tokenizer. The alphabet comes first, since pieces are decoded by it. */
static int parts_read(struct bl_tokenizer *tokenizer, struct model *model, struct bl_error *e)
{
    struct bl_buffer decoded = {0};
    BL_TRY(pieces_check(model, e));
    /* Words can have a space for each U+2581 if the model replaces spaces, and no piece has a space. */
    bool spaces = model->escaped;
    for (size_t i = 0; i < model->count; i++)
        spaces = spaces && !memchr(model->piece[i].text, ' ', model->piece[i].size);
    tokenizer->alphabet.kind = spaces ? BL_ALPHABET_SPACES : BL_ALPHABET_TEXT;
    tokenizer->size = (int64_t)model->count;
    tokenizer->joins_unknown = !model->fallback;
    tokenizer->unknown = (int32_t)model->unknown;
    int code = rule_read(tokenizer, model, e);
    /* The pieces that are no normal ones are added tokens. User-defined pieces are found in normalized text, except by
     * Unigram and words, where the model itself finds them; the others are there for a look-up by name alone. */
    for (size_t i = 0; i < model->count && !code; i++) {
        const struct piece *p = &model->piece[i];
        bool found = p->type == USER && model->kind != UNIGRAM && model->kind != WORD;
        const struct bl_added_token token = {.id = (int32_t)i, .plain = !found};
        if (p->type == NORMAL || !bl_alphabet_decode(&tokenizer->alphabet, (const char *)p->text, p->size, &decoded))
            continue;
        code = bl_buffer_check(&decoded, e);
        if (!code && (found || bl_added_find(&tokenizer->raw, decoded.data, decoded.size) < 0))
            code = bl_added_add(found ? &tokenizer->normal : &tokenizer->raw, decoded.data, decoded.size, &token, e);
    }
    bl_buffer_free(&decoded);
    if (!code && model->kind == UNIGRAM)
        code = unigram_build(tokenizer, model, e);
    else if (!code && model->kind == WORD)
        code = words_build(tokenizer, model, e);
    else if (!code)
        code = model_build_bpe(tokenizer, model, e);
    if (code)
        return code;
    /* The package does not split text except for words. For BPE a split at places where no merge goes across gives the
     * same ids, and lets the encoder use its cache of words. */
    struct bl_split split = {.grammar = BL_GRAMMAR_WHOLE};
    if (model->kind == WORD && spaces)
        split.kind = BL_SPLIT_SPACES;
    else if (model->kind == WORD)
        split = (struct bl_split){.kind = BL_SPLIT_CHARACTERS,
                                  .class = BL_CLASS_ONE,
                                  .one = 0x2581,
                                  .behavior = BL_BEHAVIOR_MERGED_WITH_NEXT};
    else if (model->kind != UNIGRAM && bl_bpe_can_split(&tokenizer->bpe))
        split.kind = BL_SPLIT_MERGES;
    tokenizer->split[tokenizer->splits++] = split;
    return BL_OK;
}

/* The package splits an unused piece again after merging, which the merges here cannot do, so a model of BPE that has
 * one is refused. */
int bl_tokenizer_read_sentencepiece(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                                    struct bl_error *e)
{
    struct model model;
    int code = model_read(text, &model, e);
    if (!code)
        code = parts_read(tokenizer, &model, e);
    for (size_t i = 0; i < model.count && !code; i++) {
        if (model.piece[i].type == UNUSED && model.kind == BPE)
            code =
                bl_error_set(e, BL_EFAIL, "not supported: the unused piece %zu, which would be taken apart again", i);
    }
    free(model.piece);
    if (code)
        bl_error_prefix(e, "%s", path);
    return code;
}
