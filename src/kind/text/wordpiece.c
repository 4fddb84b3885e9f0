/* The models of BERT's family: WordLevel, WordPiece, and the reader of a vocab.txt.
 *
 * WordPiece takes the longest token each time, from left to right, without a search for the best segmentation:
 * "unaffable" becomes "un", "##aff", "##able". Each try is a look-up in the hash table of the vocabulary, and none is
 * longer than the longest token, so that the time for a word is at most its length times that of the longest token. The
 * lines of a vocab.txt are tokens, whose ids are the numbers of the lines from 0:
 *
 *     [PAD]
 *     [UNK]
 *     un
 *     ##aff */
#include "kind/text/wordpiece.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"
#include "kind/text/skip.h"
#include "kind/text/unicode.h"

/* --- WordLevel ---------------------------------------------------------------------------------------------------- */

/* Bytes of a word in a message: a word may be a whole document. */
#define SHOWN 80

int bl_wordlevel_encode(const struct bl_vocabulary *v, int32_t unknown, const uint8_t *word, size_t size,
                        struct bl_ids *ids, struct bl_error *e)
{
    int64_t token = bl_vocabulary_find(v, word, size);
    int32_t id = token < 0 ? unknown : v->token[token].id;
    if (id < 0)
        return bl_error_set(e, BL_EDATA, "the word \"%.*s\" has no token, and the tokenizer has none for unknown words",
                            (int)(size < SHOWN ? size : SHOWN), (const char *)word);
    return bl_ids_add(ids, id, e);
}

/* --- WordPiece ---------------------------------------------------------------------------------------------------- */

int bl_wordpiece_init(struct bl_wordpiece *model, const struct bl_vocabulary *vocabulary, const char *unknown,
                      const char *prefix, int64_t characters, struct bl_error *e)
{
    int64_t token = bl_vocabulary_find(vocabulary, unknown, strlen(unknown));
    if (token < 0)
        return bl_error_set(e, BL_EFAIL, "the vocabulary has no token \"%.80s\" for unknown words", unknown);
    *model = (struct bl_wordpiece){.vocabulary = vocabulary, .prefix_size = strlen(prefix)};
    /* No final zero is stored. */
    if (model->prefix_size > sizeof model->prefix)
        return bl_error_set(e, BL_EFAIL, "a continuing_subword_prefix of more than %d bytes is not supported",
                            BL_WORDPIECE_PREFIX_MAX);
    if (characters < 0)
        return bl_error_set(e, BL_EFAIL, "max_input_chars_per_word cannot be %" PRId64, characters);
    memcpy(model->prefix, prefix, model->prefix_size);
    model->unknown = vocabulary->token[token].id;
    model->characters = (size_t)characters;
    for (size_t i = 0; i < vocabulary->count; i++) {
        if (vocabulary->token[i].size > model->longest)
            model->longest = vocabulary->token[i].size;
    }
    return 0;
}

/* Returns the number of the longest token that text begins with, or -1; *taken: its size in bytes. The first tail bytes
 * of the text are the prefix; the rest of the word follows. A token must have more than the prefix and end where a
 * character ends. */
static int64_t wordpiece_longest(const struct bl_wordpiece *model, const uint8_t *text, size_t tail, size_t size,
                                 size_t *taken)
{
    size_t end = size < model->longest ? size : model->longest;
    /* Tries the longest candidate first. */
    for (; end > tail; end--) {
        if (end < size && !bl_utf8_begins((char)text[end]))
            continue;
        int64_t token = bl_vocabulary_find(model->vocabulary, text, end);
        if (token >= 0) {
            *taken = end;
            return token;
        }
    }
    return -1;
}

/* Replaces the ids of the word by the unknown id. count: the number of ids before the word. */
static int wordpiece_add_unknown(const struct bl_wordpiece *model, size_t count, struct bl_ids *ids, struct bl_error *e)
{
    ids->count = count;
    return bl_ids_add(ids, model->unknown, e);
}

int bl_wordpiece_encode(const struct bl_wordpiece *model, struct bl_buffer *scratch, const uint8_t *word, size_t size,
                        struct bl_ids *ids, struct bl_error *e)
{
    size_t count = ids->count, prefix = model->prefix_size, characters = 0;
    /* A word with no more bytes than the model takes characters needs no counting. */
    for (size_t i = 0; size > model->characters && i < size && characters <= model->characters; i++)
        characters += bl_utf8_begins((char)word[i]);
    if (characters > model->characters)
        return wordpiece_add_unknown(model, count, ids, e);
    bl_buffer_clear(scratch);
    bl_buffer_append(scratch, model->prefix, prefix);
    bl_buffer_append(scratch, word, size);
    if (bl_buffer_check(scratch, e))
        return BL_EFAIL;
    /* The prefix overwrites the bytes that were taken, right before the rest of the word. */
    uint8_t *text = (uint8_t *)scratch->data + prefix;
    for (size_t at = 0, taken = 0; at < size; at += taken) {
        size_t tail = at ? prefix : 0;
        memcpy(text + at - tail, model->prefix, tail);
        int64_t token = wordpiece_longest(model, text + at - tail, tail, size - at + tail, &taken);
        if (token < 0)
            return wordpiece_add_unknown(model, count, ids, e);
        taken -= tail;
        BL_TRY(bl_ids_add(ids, model->vocabulary->token[token].id, e));
    }
    return 0;
}

/* Splits "TOKEN<tab>ID"; *size becomes that of the token. False: the line does not end in a tab and an id. */
static bool line_split_id(const char *line, size_t *size, int64_t *id)
{
    const char *tab = memrchr(line, '\t', *size);
    if (!tab || !bl_text_to_int(tab + 1, *size - (size_t)(tab + 1 - line), 0, BL_ID_MAX, id))
        return false;
    *size = (size_t)(tab - line);
    return true;
}

/* Adds the token of a line. number: of the line, from 0; *last: the largest id so far, or -1. Ids must ascend, so that
 * none occurs twice. If a token occurs twice, its last id counts, as in the released packages. */
static int vocabulary_read_line(struct bl_vocabulary *vocabulary, const char *token, size_t size, bool has_ids,
                                int64_t number, int64_t *last, struct bl_error *e)
{
    int64_t known = -1, id = number;
    if (bl_utf8_valid(token, size) < size)
        return bl_error_set(e, BL_EFAIL, "invalid UTF-8");
    size = bl_character_trim((const uint8_t *)token, size);
    if (size && has_ids && !line_split_id(token, &size, &id))
        return bl_error_set(e, BL_EFAIL, "no tab and id behind the token, which the first line has");
    if (!size)
        return BL_OK;
    if (id <= *last)
        return bl_error_set(e, BL_EFAIL, "the id %" PRId64 " comes after %" PRId64, id, *last);
    *last = id;
    int code = bl_vocabulary_add(vocabulary, token, size, (int32_t)id, &known, e);
    if (!code && known >= 0)
        vocabulary->token[known].id = (int32_t)id;
    return code;
}

int bl_wordpiece_vocabulary(struct bl_vocabulary *vocabulary, const struct bl_buffer *text, const char *path,
                            struct bl_error *e)
{
    const char *line;
    size_t at = 0, size, first;
    int64_t id, last = -1;
    bool has_ids = false;
    for (int64_t number = 0; bl_text_next_line(text->data, text->size, &at, &line, &size); number++) {
        if (number == 0) {
            first = bl_character_trim((const uint8_t *)line, size);
            has_ids = line_split_id(line, &first, &id);
        }
        int code = number > BL_ID_MAX ? bl_error_set(e, BL_EFAIL, "more than %d lines", BL_ID_MAX)
                                      : vocabulary_read_line(vocabulary, line, size, has_ids, number, &last, e);
        if (code) {
            bl_error_prefix(e, "%s:%" PRId64, path, number + 1);
            return code;
        }
    }
    return BL_OK;
}

/* Tokens in brackets are names of special tokens, which have upper case in uncased models, too. */
bool bl_wordpiece_uncased(const struct bl_vocabulary *vocabulary)
{
    for (size_t i = 0; i < vocabulary->count; i++) {
        const char *text = (const char *)bl_vocabulary_bytes(vocabulary, i);
        size_t size = vocabulary->token[i].size;
        if (size > 2 && ((text[0] == '[' && text[size - 1] == ']') || (text[0] == '<' && text[size - 1] == '>')))
            continue;
        for (size_t at = 0; at < size;) {
            uint32_t c;
            at += bl_utf8_decode(text + at, &c);
            if (bl_bert_class(c) & BL_BERT_UPPER)
                return false;
        }
    }
    return true;
}
