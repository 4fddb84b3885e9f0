/* Decodes token ids to text (detokenizer.h).
 *
 * Opening copies the texts of all ids into one buffer, in the form in which they are joined, so that decoding an id
 * is one look-up. An id may have a text in several tables of a tokenizer: the first table that is read wins, in the
 * order byte model, unknown piece of SentencePiece, added tokens, vocabulary. */
#include "kind/text/detokenizer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kind/text/tokenizer_parts.h"
#include "kind/text/vocabulary.h"

#define UNKNOWN_TEXT " \xe2\x81\x87 " /* U+2047: SentencePiece decodes the unknown id to it */

/* The text of an id: its place in bl_detokenizer.bytes. The size -1 is an id without a text. */
struct id_text {
    size_t offset;
    int64_t size;
};

struct bl_detokenizer {
    int64_t ids;                          /* ids are below it */
    struct id_text *text;                 /* [ids] */
    struct bl_buffer bytes;               /* the texts of all ids */
    bool is_marked;                       /* the tokenizer puts a space before every text */
    int64_t unknown;                      /* id of UNKNOWN_TEXT, whose first space stays; -1: none */
    bool is_wordpiece;                    /* tokens are words or, with the prefix, continue one */
    bool is_words;                        /* tokens are words */
    bool is_suffixed;                     /* the last token of a word ends with BL_WORD_END */
    bool is_word_end;                     /* the last token did */
    char prefix[BL_WORDPIECE_PREFIX_MAX]; /* of WordPiece, "##" */
    size_t prefix_size;
    bool began; /* an id of the text was decoded */
};

/* Sets the text of an id, unless the id has one. texts_make checks the buffer once, after all texts. */
static void texts_set(struct bl_detokenizer *d, int64_t id, const void *bytes, size_t size)
{
    if (id < 0 || id >= d->ids || d->text[id].size >= 0)
        return;
    d->text[id] = (struct id_text){d->bytes.size, (int64_t)size};
    bl_buffer_append(&d->bytes, bytes, size);
}

/* Sets the texts of added tokens, which are written as they are in the text. */
static void texts_set_added(struct bl_detokenizer *d, const struct bl_added *added)
{
    for (size_t i = 0; i < added->count; i++)
        texts_set(d, added->token[i].id, added->text.data + added->token[i].offset, added->token[i].size);
}

/* Sets the texts of the pieces of Unigram, which are stored in a trie only. The loop goes from the node of a piece
 * to the root (node 0), and collects the bytes from the last to the first: the child of p by byte b is base(p) ^ b. */
static void texts_set_pieces(struct bl_detokenizer *d, const struct bl_trie *trie)
{
    struct bl_buffer piece = {0};
    for (size_t i = 1; i < trie->count; i++) {
        if (trie->node[i].parent == BL_TRIE_NONE || trie->node[i].value == BL_TRIE_NONE)
            continue;
        bl_buffer_clear(&piece);
        for (size_t n = i; n; n = trie->node[n].parent)
            bl_buffer_byte(&piece, (char)(n ^ trie->node[trie->node[n].parent].base));
        for (size_t a = 0, b = piece.size; a + 1 < b; a++) {
            char byte = piece.data[a];
            piece.data[a] = piece.data[--b];
            piece.data[b] = byte;
        }
        texts_set(d, trie->node[i].value, piece.data, piece.size);
    }
    d->bytes.failed |= piece.failed;
    bl_buffer_free(&piece);
}

/* Replaces the names of bytes, such as "<0x0A>", with the bytes, where the tokenizer encodes unknown characters as
 * bytes. The byte 80 is no character, so a model with an id for it has byte fallback. */
static void texts_set_bytes(struct bl_detokenizer *d, const struct bl_tokenizer *t)
{
    int64_t high = bl_vocabulary_find(&t->vocabulary, "\x80", 1);
    bool is_used =
        t->model == BL_MODEL_UNIGRAM ? t->unigram.byte != NULL : high >= 0 && t->vocabulary.token[high].id >= 0;
    for (int64_t id = 0; is_used && id < d->ids; id++) {
        char *text = d->bytes.data + d->text[id].offset;
        if (d->text[id].size != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>')
            continue;
        int upper = bl_text_hex_digit(text[3]), lower = bl_text_hex_digit(text[4]);
        if (upper < 0 || lower < 0)
            continue;
        *text = (char)(upper * 16 + lower);
        d->text[id].size = 1;
    }
}

/* Returns true if a step of the pre-tokenizer rewrites text in the byte-level alphabet. The model's own alphabet is
 * then plain text, and its tokens are characters of the other alphabet. */
static bool tokenizer_rewrites_bytes(const struct bl_tokenizer *t)
{
    for (int i = 0; i < t->splits; i++) {
        if (t->split[i].rewrite == BL_REWRITE_BYTES)
            return true;
    }
    return false;
}

/* Sets the texts of the vocabulary, in bytes. A token that is not in the byte-level alphabet keeps its text. */
static void texts_set_vocabulary(struct bl_detokenizer *d, const struct bl_tokenizer *t)
{
    const struct bl_alphabet bytes = {.kind = BL_ALPHABET_BYTES};
    const bool is_rewritten = t->alphabet.kind == BL_ALPHABET_TEXT && tokenizer_rewrites_bytes(t);
    struct bl_buffer token = {0};
    for (size_t i = 0; i < t->vocabulary.count; i++) {
        const void *text = bl_vocabulary_bytes(&t->vocabulary, i);
        size_t size = t->vocabulary.token[i].size;
        if (is_rewritten && bl_alphabet_decode(&bytes, text, size, &token))
            texts_set(d, t->vocabulary.token[i].id, token.data, token.size);
        else
            texts_set(d, t->vocabulary.token[i].id, text, size);
    }
    d->bytes.failed |= token.failed;
    bl_buffer_free(&token);
}

/* Fills d with the texts of all ids. BL_EFAIL: out of memory; the caller closes d. */
static int texts_make(struct bl_detokenizer *d, const struct bl_tokenizer *t, struct bl_error *e)
{
    d->ids = t->size;
    d->text = malloc((size_t)(t->size + 1) * sizeof *d->text);
    if (!d->text)
        return bl_error_memory(e);
    for (int64_t id = 0; id < d->ids; id++)
        d->text[id] = (struct id_text){.size = -1};
    for (int i = 0; t->model == BL_MODEL_BYTES && i < 256; i++)
        texts_set(d, i, &(uint8_t){(uint8_t)i}, 1);
    d->unknown = -1;
    /* SentencePiece decodes the unknown id to U+2047, not to the name "<unk>" of its piece. */
    if (t->normalizers && t->normalizer[0].kind == BL_NORMALIZER_SENTENCEPIECE) {
        d->unknown = t->model == BL_MODEL_UNIGRAM     ? t->unigram.unknown
                     : t->model == BL_MODEL_WORDLEVEL ? t->unknown
                                                      : t->bpe.unknown;
        texts_set(d, d->unknown, UNKNOWN_TEXT, sizeof UNKNOWN_TEXT - 1);
    }
    if (t->model != BL_MODEL_BYTES) {
        texts_set_added(d, &t->raw);
        texts_set_added(d, &t->normal);
    }
    if (t->model == BL_MODEL_UNIGRAM)
        texts_set_pieces(d, &t->unigram.trie);
    else
        texts_set_vocabulary(d, t);
    /* Only SentencePiece and models converted from it write bytes as names. */
    if (t->alphabet.kind == BL_ALPHABET_SPACES)
        texts_set_bytes(d, t);
    return bl_buffer_check(&d->bytes, e);
}

int bl_detokenizer_open(struct bl_detokenizer **out, const struct bl_tokenizer *t, struct bl_error *e)
{
    bool is_spaced = t->alphabet.kind == BL_ALPHABET_SPACES, is_marked = false;
    bool is_sentencepiece = t->normalizers && t->normalizer[0].kind == BL_NORMALIZER_SENTENCEPIECE;
    const char *refusal = NULL;
    *out = NULL;
    /* treat_whitespace_as_suffix of SentencePiece: a space follows a word, and the text ends with one. */
    if (is_sentencepiece && t->normalizer[0].sentencepiece->suffix)
        refusal = "its tokens have the mark of a word at the end";
    /* Text-level tokens without marks do not show where a word begins. */
    else if (!is_spaced && (t->model == BL_MODEL_UNIGRAM ||
                            (t->model == BL_MODEL_BPE && t->bpe.known && !tokenizer_rewrites_bytes(t))))
        refusal = "its tokens have neither bytes nor marks for spaces";
    if (refusal)
        return bl_error_set(e, BL_EUSAGE, "the ids of %s cannot be decoded here: %s (bload cat --as ids writes them)",
                            bl_tokenizer_name(t), refusal);
    struct bl_detokenizer *d = calloc(1, sizeof *d);
    int code = d ? texts_make(d, t, e) : bl_error_memory(e);
    if (code) {
        bl_detokenizer_close(d);
        return code;
    }
    /* A normalizer, or a step that splits, may put a space before every text. */
    for (int i = 0; i < t->normalizers; i++) {
        const struct bl_normalizer *n = &t->normalizer[i];
        is_marked = is_marked || n->kind == BL_NORMALIZER_PREPEND ||
                    (n->kind == BL_NORMALIZER_SENTENCEPIECE && n->sentencepiece->prefix);
    }
    for (int i = 0; i < t->splits; i++)
        is_marked = is_marked || t->split[i].prefix != BL_PREFIX_NEVER || t->split[i].rewrite == BL_REWRITE_WORDS;
    d->is_marked = is_spaced && is_marked;
    d->is_words = t->model == BL_MODEL_WORDLEVEL && !is_spaced;
    d->is_suffixed = *t->alphabet.suffix != '\0';
    d->is_wordpiece = t->model == BL_MODEL_WORDPIECE;
    d->prefix_size = t->wordpiece.prefix_size;
    memcpy(d->prefix, t->wordpiece.prefix, sizeof d->prefix);
    *out = d;
    return BL_OK;
}

void bl_detokenizer_close(struct bl_detokenizer *d)
{
    if (!d)
        return;
    bl_buffer_free(&d->bytes);
    free(d->text);
    free(d);
}

void bl_detokenizer_restart(struct bl_detokenizer *d)
{
    d->began = d->is_word_end = false;
}

/* Returns true if no space comes before a token of WordPiece. The list is that of the decoder WordPiece of
 * `tokenizers` with cleanup, which removes the space before these texts. */
static bool word_is_close(const char *word, size_t size)
{
    static const char *const close[] = {".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re"};
    for (size_t i = 0; i < sizeof close / sizeof *close; i++) {
        size_t length = strlen(close[i]);
        if (size >= length && !memcmp(word, close[i], length))
            return true;
    }
    return false;
}

int bl_detokenizer_append(struct bl_detokenizer *d, int64_t id, struct bl_buffer *out, struct bl_error *e)
{
    if (id < 0 || id >= d->ids || d->text[id].size < 0)
        return bl_error_set(e, BL_EDATA, "the tokenizer has no token with the id %" PRId64, id);
    const char *text = d->bytes.data + d->text[id].offset;
    size_t size = (size_t)d->text[id].size, left_out = 0;
    /* The prefix of the first token stays: there is no word that this token continues. */
    bool goes_on = d->is_wordpiece && size >= d->prefix_size && !memcmp(text, d->prefix, d->prefix_size);
    if (goes_on && d->began)
        left_out = d->prefix_size;
    else if (d->is_wordpiece && d->began && !word_is_close(text, size))
        bl_buffer_byte(out, ' ');
    else if (d->is_marked && !d->began && size && *text == ' ' && id != d->unknown)
        left_out = 1;
    else if (d->began && (d->is_words || d->is_word_end))
        bl_buffer_byte(out, ' ');
    /* The mark of the end of a word is no text: the next token writes a space instead of it. */
    d->is_word_end = d->is_suffixed && size && text[size - 1] == (char)BL_WORD_END;
    d->began = true;
    bl_buffer_append(out, text + left_out, size - left_out - d->is_word_end);
    return bl_buffer_check(out, e);
}
