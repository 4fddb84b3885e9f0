/* Encodes documents (encoder.h): the cache of words, and the way of a text through the steps of a tokenizer.
 *
 * Each function hands parts of its text to the next one:
 *
 *     bl_encoder_encode   a document; finds the added tokens of the original text
 *     normal_encode       the text between them: normalizes it, finds the added tokens of normalised text
 *     piece_encode        a piece: rewrites it, splits it by one step, and calls itself for the next step
 *     batch_encode        up to 256 words of the last step: looks them up in the cache
 *     word_encode         a word that is not in the cache: calls the model
 *
 * A batch of words is looked up in two passes. The first computes the places of all words in the cache and
 * prefetches them; the second copies the ids, by which time the lines have arrived from memory. */
#include "kind/text/encoder.h"

#include <stdlib.h>
#include <xxhash.h>

#include "kind/text/huge_pages.h"
#include "kind/text/tokenizer_parts.h"

/* --- word cache --------------------------------------------------------------------------------------------------- */

#define FIRST_LOG2 9  /* 48 KiB: a short text does not pay for clearing pages that it does not use */
#define LEAST_LOG2 15 /* BL_WORD_CACHE_MIN: 2 MiB of short words, 1 MiB of long ones */

_Static_assert(((2 * sizeof(struct bl_word) + sizeof(struct bl_long_word) / 4) << LEAST_LOG2) == BL_WORD_CACHE_MIN,
               "the size that the header states");
_Static_assert((LEAST_LOG2 - FIRST_LOG2) % 2 == 0, "the cache grows by a factor of four");

/* Returns the number of entries for long words: one for every four lines. */
static size_t words_long_count(const struct bl_word_cache *words)
{
    return (size_t)1 << (words->lines_log2 - 2);
}

/* Allocates and clears both tables for words->lines_log2. The caller closes the cache after an error, too. */
static int words_alloc(struct bl_word_cache *words, struct bl_error *e)
{
    size_t bytes = ((size_t)2 << words->lines_log2) * sizeof *words->word;
    size_t long_bytes = words_long_count(words) * sizeof *words->long_word;
    words->word = bl_huge_pages_alloc(bytes);
    words->long_word = bl_huge_pages_alloc(long_bytes);
    if (!words->word || !words->long_word)
        return bl_error_memory(e);
    memset(words->word, 0, bytes);
    memset(words->long_word, 0, long_bytes);
    return BL_OK;
}

int bl_word_cache_open(struct bl_word_cache *words, struct bl_error *e)
{
    words->lines_log2 = FIRST_LOG2;
    bl_word_cache_limit(words, BL_WORD_CACHE_MAX);
    return words_alloc(words, e);
}

/* The cache grows by a factor of four, so the limit is rounded down to one of these sizes. */
void bl_word_cache_limit(struct bl_word_cache *words, int64_t bytes)
{
    words->max_log2 = LEAST_LOG2;
    for (size_t size = 4 * BL_WORD_CACHE_MIN; size <= BL_WORD_CACHE_MAX && (int64_t)size <= bytes; size *= 4)
        words->max_log2 += 2;
}

/* The upper bits of a hash select the line, so each line is spread over four new lines. The second entry of a line
 * is moved first: entries keep their order, and the newer one is first. */
int bl_word_cache_enlarge(struct bl_word_cache *words, struct bl_error *e)
{
    struct bl_word_cache old = *words;
    words->lines_log2 += 2;
    words->replaced = 0;
    int code = words_alloc(words, e);
    if (code)
        goto out;
    for (size_t line = 0; line < (size_t)1 << old.lines_log2; line++) {
        for (int i = 1; i >= 0; i--) {
            const struct bl_word *word = &old.word[2 * line + (size_t)i];
            struct bl_word *to = bl_word_cache_line(words, word->key);
            if (!word->key.high)
                continue; /* a free entry: the size of a word is in high */
            to[1] = to[0];
            to[0] = *word;
        }
    }
    for (size_t i = 0; i < words_long_count(&old); i++) {
        const struct bl_long_word *word = &old.long_word[i];
        if (word->count)
            *bl_word_cache_long(words, word->bytes, word->size) = *word;
    }
out:
    bl_word_cache_close(&old);
    return code;
}

struct bl_long_word *bl_word_cache_long(const struct bl_word_cache *words, const uint8_t *bytes, size_t size)
{
    return &words->long_word[XXH3_64bits(bytes, size) >> (64 - (words->lines_log2 - 2))];
}

void bl_word_cache_close(struct bl_word_cache *words)
{
    free(words->word);
    free(words->long_word);
    *words = (struct bl_word_cache){0};
}

/* --- encoder ------------------------------------------------------------------------------------------------------ */

#define HELD_MAX ((size_t)8 << 20) /* bytes; a larger buffer of a normalizer is freed within a document */
#define BATCH 256                  /* words that are looked up together; fewer leave no time for prefetching */

struct bl_encoder {
    const struct bl_tokenizer *tokenizer;
    struct bl_word_cache words;
    struct bl_bpe_scratch scratch;
    struct bl_buffer normal[BL_NORMALIZERS_MAX]; /* normalised text after each normalizer */
    struct bl_buffer rewritten[BL_SPLITS_MAX];   /* the piece of each step, rewritten */
    struct bl_spans spans[BL_SPLITS_MAX];        /* the parts of a piece of each step without a scanner */
    struct bl_matcher *matcher;                  /* NULL: no step has a regular expression */
    struct bl_buffer wordpiece;                  /* scratch memory of the model */
    struct bl_unigram_scratch unigram;
    const struct bl_cancel *cancel; /* or NULL */
    size_t limit, wanted;           /* see bl_encoder_limit and bl_encoder_wanted; 0: none */
};

int bl_encoder_open(struct bl_encoder **encoder, const struct bl_tokenizer *tokenizer, struct bl_error *e)
{
    /* Zeros are empty buffers and scratch memory. */
    *encoder = calloc(1, sizeof **encoder);
    if (!*encoder)
        return bl_error_memory(e);
    (*encoder)->tokenizer = tokenizer;
    int code = bl_word_cache_open(&(*encoder)->words, e);
    if (!code && bl_tokenizer_has_regex(tokenizer))
        code = bl_matcher_open(&(*encoder)->matcher, e);
    if (code) {
        bl_encoder_close(*encoder);
        *encoder = NULL;
    }
    return code;
}

void bl_encoder_set_stop(struct bl_encoder *encoder, const struct bl_cancel *cancel)
{
    encoder->cancel = cancel;
}

/* Measured for each byte of text: 5 bytes for ids, buffers and copies, and 2 more in a worker that waits. If no step
 * splits the text, the document is one word: Unigram then stores the best segmentation up to each of its bytes, and
 * merging stores its parts (32 bytes, bpe.c). */
int64_t bl_encoder_memory(const struct bl_encoder *encoder, size_t size)
{
    const struct bl_tokenizer *tokenizer = encoder->tokenizer;
    const struct bl_split *last = tokenizer->splits ? &tokenizer->split[tokenizer->splits - 1] : NULL;
    bool whole = last && last->kind == BL_SPLIT_GRAMMAR && last->grammar == BL_GRAMMAR_WHOLE;
    /* The product must not overflow. */
    int64_t bytes = size < INT64_MAX / 64 ? (int64_t)size : INT64_MAX / 64;
    return bytes * (whole ? 48 : 8);
}

void bl_encoder_limit_cache(struct bl_encoder *encoder, int64_t bytes)
{
    bl_word_cache_limit(&encoder->words, bytes);
}

void bl_encoder_limit(struct bl_encoder *encoder, size_t bytes)
{
    encoder->limit = bytes;
}

size_t bl_encoder_wanted(const struct bl_encoder *encoder)
{
    return encoder->wanted;
}

/* Frees a buffer with room for more than this many bytes. */
static inline void buffer_shrink(struct bl_buffer *buffer, size_t bytes)
{
    if (buffer->capacity > bytes)
        bl_buffer_free(buffer);
}

void bl_encoder_shrink(struct bl_encoder *encoder, size_t bytes)
{
    for (int i = 0; i < encoder->tokenizer->normalizers; i++)
        buffer_shrink(&encoder->normal[i], bytes);
    for (int i = 0; i < encoder->tokenizer->splits; i++)
        buffer_shrink(&encoder->rewritten[i], bytes);
}

/* Empties the buffer of a step and sets its limit. Frees a larger buffer, since a buffer fails only when it would
 * grow beyond the limit: the result must not depend on the room that earlier documents left. */
static inline void encoder_limit_buffer(const struct bl_encoder *encoder, struct bl_buffer *buffer)
{
    if (encoder->limit)
        buffer_shrink(buffer, encoder->limit + 1);
    buffer->limit = encoder->limit;
    buffer->size = 0;
    buffer->is_over = false;
}

/* Checks the output of a step. BL_EFAIL: it has more bytes than the limit; sets encoder->wanted to their number. */
static int encoder_check_buffer(struct bl_encoder *encoder, const struct bl_buffer *buffer, struct bl_error *e)
{
    if (!encoder->limit || (!buffer->is_over && buffer->size <= encoder->limit))
        return BL_OK;
    encoder->wanted = buffer->size + buffer->missed;
    return bl_error_set(e, BL_EFAIL, "a step of the tokenizer makes more than %zu bytes", encoder->limit);
}

/* Returns true if the run is cancelled. Called between words, since a document may have gigabytes. */
static inline bool encoder_is_stopped(const struct bl_encoder *encoder)
{
    return encoder->cancel && bl_cancelled(encoder->cancel);
}

void bl_encoder_close(struct bl_encoder *encoder)
{
    if (!encoder)
        return;
    bl_word_cache_close(&encoder->words);
    bl_bpe_scratch_free(&encoder->scratch);
    for (int i = 0; i < BL_NORMALIZERS_MAX; i++)
        bl_buffer_free(&encoder->normal[i]);
    for (int i = 0; i < BL_SPLITS_MAX; i++)
        bl_buffer_free(&encoder->rewritten[i]);
    for (int i = 0; i < BL_SPLITS_MAX; i++)
        bl_spans_free(&encoder->spans[i]);
    bl_matcher_close(encoder->matcher);
    bl_buffer_free(&encoder->wordpiece);
    bl_unigram_scratch_free(&encoder->unigram);
    free(encoder);
}

/* A word of a batch, and its place in the cache, whether it is cached or not. */
struct lookup {
    const uint8_t *bytes;
    size_t size;
    struct bl_word_key key;   /* valid for a short word */
    struct bl_word *line;     /* NULL: a long word */
    struct bl_long_word *far; /* NULL: too long for the cache, or a short word; lookup_append_long sets it for a stub */
};

/* Returns the key of a short word. Near the end of the text, fewer than 16 bytes are readable at the word, so they
 * are copied. */
static inline struct bl_word_key lookup_key(const uint8_t *word, size_t size, const uint8_t *end)
{
    uint8_t copy[16] = {0};
    if ((size_t)(end - word) >= sizeof copy)
        return bl_word_key(word, size);
    memcpy(copy, word, size);
    return bl_word_key(copy, size);
}

/* Computes the place of a word in the cache, and prefetches it. end is the end of the readable text. */
static inline void lookup_begin(const struct bl_word_cache *words, struct lookup *w, const uint8_t *word, size_t size,
                                const uint8_t *end)
{
    w->bytes = word;
    w->size = size;
    w->far = NULL;
    if (size <= BL_WORD_BYTES) {
        w->key = lookup_key(word, size, end);
        w->line = bl_word_cache_line(words, w->key);
        __builtin_prefetch(w->line);
        return;
    }
    w->line = NULL;
    /* An entry for a long word covers two lines: bytes and ids. */
    if (size <= BL_LONG_WORD_BYTES) {
        w->far = bl_word_cache_long(words, word, size);
        __builtin_prefetch(w->far);
        __builtin_prefetch(w->far->id);
    }
}

/* Returns true if a short word is in the first table, with ids or as a stub. */
static inline bool lookup_is_cached(const struct lookup *w)
{
    return bl_word_is(&w->line[0], w->key) || bl_word_is(&w->line[1], w->key);
}

/* Appends the ids of a short word and returns true if the first table has them. ids must have room for BL_WORD_IDS:
 * all four are copied, and count leaves out those that are -1. */
static inline bool lookup_append_short(const struct lookup *w, struct bl_ids *ids)
{
    const struct bl_word *word = bl_word_is(&w->line[0], w->key) ? &w->line[0] : &w->line[1];
    if (!bl_word_is(word, w->key) || word->id[0] < 0)
        return false;
    memcpy(ids->id + ids->count, word->id, sizeof word->id);
    ids->count += 1 + (word->id[1] >= 0) + (word->id[2] >= 0) + (word->id[3] >= 0);
    return true;
}

/* Appends the ids of a long word, or of a short word with a stub, and returns true if the second table has them. ids
 * must have room for BL_LONG_WORD_IDS. */
static bool lookup_append_long(const struct bl_word_cache *words, struct lookup *w, struct bl_ids *ids)
{
    if (w->line) {
        if (!lookup_is_cached(w))
            return false;
        w->far = bl_word_cache_long(words, w->bytes, w->size);
    }
    if (!w->far || !bl_long_word_is(w->far, w->bytes, w->size))
        return false;
    memcpy(ids->id + ids->count, w->far->id, sizeof w->far->id);
    ids->count += w->far->count;
    return true;
}

/* Appends the ids that the model gives to a word. */
static int word_encode(struct bl_encoder *encoder, const uint8_t *word, size_t size, struct bl_ids *ids,
                       struct bl_error *e)
{
    const struct bl_tokenizer *tokenizer = encoder->tokenizer;
    switch (tokenizer->model) {
    case BL_MODEL_WORDPIECE:
        return bl_wordpiece_encode(&tokenizer->wordpiece, &encoder->wordpiece, word, size, ids, e);
    case BL_MODEL_WORDLEVEL:
        return bl_wordlevel_encode(&tokenizer->vocabulary, tokenizer->unknown, word, size, ids, e);
    case BL_MODEL_UNIGRAM:
        return bl_unigram_encode(&tokenizer->unigram, &encoder->unigram, word, size, ids, e);
    default:
        return bl_bpe_encode(&tokenizer->bpe, &encoder->scratch, word, size, ids, e);
    }
}

/* Encodes a word that is not in the cache, and adds the word to the cache if its bytes and ids fit. */
static int lookup_encode(struct bl_encoder *encoder, const struct lookup *w, struct bl_ids *ids, struct bl_error *e)
{
    size_t before = ids->count;
    int code = word_encode(encoder, w->bytes, w->size, ids, e);
    size_t count = ids->count - before;
    /* A word without ids, whose characters are all left out, would look like a stub. */
    if (code || count > BL_LONG_WORD_IDS || !count || (!w->line && !w->far))
        return code;
    /* A stub may be there already, whose long entry another word has replaced. */
    if (w->line && !lookup_is_cached(w))
        bl_word_cache_put(&encoder->words, w->line, w->key, ids->id + before, count);
    if (!w->line || count > BL_WORD_IDS)
        bl_long_word_put(w->far ? w->far : bl_word_cache_long(&encoder->words, w->bytes, w->size), w->bytes, w->size,
                         ids->id + before, count);
    return BL_OK;
}

/* Appends the ids of n words whose places were computed by lookup_begin. Room for long words is made before each
 * word. */
static int batch_encode(struct bl_encoder *encoder, struct lookup *lookup, size_t n, struct bl_ids *ids,
                        struct bl_error *e)
{
    for (size_t i = 0; i < n; i++) {
        int code = ids->capacity - ids->count < BL_LONG_WORD_IDS ? bl_ids_reserve(ids, BL_LONG_WORD_IDS * BATCH, e) : 0;
        if (!code && (!lookup[i].line || !lookup_append_short(&lookup[i], ids)) &&
            !lookup_append_long(&encoder->words, &lookup[i], ids))
            code = lookup_encode(encoder, &lookup[i], ids, e);
        if (code)
            return code;
    }
    return BL_OK;
}

/* Encodes n consecutive words of the text, at most BATCH: the first begins at start, and word i ends at end[i]. The
 * cache may only grow before the places of the words are computed. */
static int consecutive_encode(struct bl_encoder *encoder, const uint8_t *text, size_t size, size_t start,
                              const size_t *end, size_t n, struct bl_ids *ids, struct bl_error *e)
{
    struct lookup lookup[BATCH];
    int code = bl_word_cache_make_room(&encoder->words, e);
    for (size_t i = 0, at = start; i < n && !code; at = end[i++])
        lookup_begin(&encoder->words, &lookup[i], text + at, end[i] - at, text + size);
    return code ? code : batch_encode(encoder, lookup, n, ids, e);
}

/* Encodes the words at spans of the text, in batches. Text between spans is left out. */
static int spans_encode(struct bl_encoder *encoder, const uint8_t *text, size_t size, const struct bl_spans *spans,
                        struct bl_ids *ids, struct bl_error *e)
{
    struct lookup lookup[BATCH];
    int code = BL_OK;
    for (size_t done = 0, n; done < spans->count && !code; done += n) {
        n = spans->count - done < BATCH ? spans->count - done : BATCH;
        BL_TRY(bl_word_cache_make_room(&encoder->words, e));
        for (size_t i = 0; i < n; i++) {
            const struct bl_span *span = &spans->span[done + i];
            lookup_begin(&encoder->words, &lookup[i], text + span->begin, span->end - span->begin, text + size);
        }
        code = encoder_is_stopped(encoder) ? BL_ECANCEL : batch_encode(encoder, lookup, n, ids, e);
    }
    return code;
}

/* Splits a piece by this step, and its parts by the steps that follow. head is the number of bytes at the beginning
 * of the piece that come from the first character of the document: a prefix may be added only there. */
static int piece_encode(struct bl_encoder *encoder, int step, const uint8_t *text, size_t size, size_t head,
                        struct bl_ids *ids, struct bl_error *e)
{
    const struct bl_split *split = &encoder->tokenizer->split[step];
    const bool is_last = step + 1 == encoder->tokenizer->splits;
    size_t end[BATCH];
    int code = BL_OK;
    /* A prefix, or another alphabet: the rewritten piece lies in a buffer of the step. */
    if (split->prefix != BL_PREFIX_NEVER || split->rewrite != BL_REWRITE_NONE) {
        struct bl_buffer *out = &encoder->rewritten[step];
        encoder_limit_buffer(encoder, out);
        code = bl_split_rewrite(split, &text, &size, &head, out, e);
        BL_TRY(encoder_check_buffer(encoder, out, e));
    }
    if (code)
        return code;
    /* A step without a scanner, such as a regular expression, finds all parts at once. */
    if (!bl_split_is_scanner(split)) {
        struct bl_spans *spans = &encoder->spans[step];
        spans->count = 0;
        BL_TRY(bl_split_find(split, encoder->matcher, text, size, spans, e));
        if (is_last)
            return spans_encode(encoder, text, size, spans, ids, e);
        for (size_t i = 0; i < spans->count && !code; i++) {
            size_t begin = spans->span[i].begin;
            code = piece_encode(encoder, step + 1, text + begin, spans->span[i].end - begin,
                                head > begin ? head - begin : 0, ids, e);
        }
        return code;
    }
    /* A scanner finds the words of one batch at a time, so that no step needs memory for all words of a document. */
    for (size_t at = 0, start = 0; at < size && !code; start = at) {
        if (encoder_is_stopped(encoder))
            return BL_ECANCEL;
        size_t n = bl_split_scan(split, &encoder->tokenizer->bpe, text, size, &at, end, BATCH);
        if (is_last) {
            code = consecutive_encode(encoder, text, size, start, end, n, ids, e);
            continue;
        }
        for (size_t i = 0; i < n && !code; start = end[i++])
            code =
                piece_encode(encoder, step + 1, text + start, end[i] - start, head > start ? head - start : 0, ids, e);
    }
    return code;
}

/* Encodes text between added tokens: a text_encoder. By the model of bytes, the id of each byte is its value. */
static int text_encode(struct bl_encoder *encoder, const uint8_t *text, size_t size, size_t head, struct bl_ids *ids,
                       struct bl_error *e)
{
    if (encoder->tokenizer->model != BL_MODEL_BYTES)
        return piece_encode(encoder, 0, text, size, head, ids, e);
    BL_TRY(bl_ids_reserve(ids, size, e));
    for (size_t i = 0; i < size; i++)
        ids->id[ids->count++] = text[i];
    return BL_OK;
}

/* Encodes the text between added tokens. head: as in piece_encode. */
typedef int text_encoder(struct bl_encoder *encoder, const uint8_t *text, size_t size, size_t head, struct bl_ids *ids,
                         struct bl_error *e);

/* Encodes a text: appends the ids of the added tokens in it, and calls between for the text before, between and
 * after these tokens. */
static int added_encode(struct bl_encoder *encoder, const struct bl_added *added, text_encoder *between,
                        const uint8_t *text, size_t size, size_t head, struct bl_ids *ids, struct bl_error *e)
{
    struct bl_added_match match;
    size_t at = 0, taken = 0;
    while (bl_added_next(added, text, size, &at, taken, &match)) {
        BL_TRY(taken < match.start
                   ? between(encoder, text + taken, match.start - taken, head > taken ? head - taken : 0, ids, e)
                   : BL_OK);
        BL_TRY(bl_ids_add(ids, match.id, e));
        taken = match.stop;
    }
    return taken < size ? between(encoder, text + taken, size - taken, head > taken ? head - taken : 0, ids, e) : BL_OK;
}

/* Normalizes the text between added tokens, and encodes it: a text_encoder. Each normalizer reads the output of the
 * one before, so there is a buffer for each. */
static int normal_encode(struct bl_encoder *encoder, const uint8_t *text, size_t size, size_t head, struct bl_ids *ids,
                         struct bl_error *e)
{
    const struct bl_tokenizer *tokenizer = encoder->tokenizer;
    struct bl_normal_text normal = {(const char *)text, size, head};
    for (int i = 0; i < tokenizer->normalizers; i++) {
        if (encoder_is_stopped(encoder))
            return BL_ECANCEL;
        struct bl_buffer *out = &encoder->normal[i];
        encoder_limit_buffer(encoder, out);
        int code = bl_normalizer_apply(&tokenizer->normalizer[i], encoder->matcher, &normal, out, e);
        if (encoder_check_buffer(encoder, out, e))
            return BL_EFAIL;
        if (code)
            return code;
        /* The buffers of the steps before are not needed any more; a large document would keep one for each step. */
        for (int before = 0; before < i && normal.text == out->data; before++)
            buffer_shrink(&encoder->normal[before], HELD_MAX);
    }
    return added_encode(encoder, &tokenizer->normal, text_encode, (const uint8_t *)normal.text, normal.size,
                        normal.head, ids, e);
}

int bl_encoder_encode(struct bl_encoder *encoder, const char *text, size_t size, struct bl_ids *ids, struct bl_error *e)
{
    const struct bl_tokenizer *tokenizer = encoder->tokenizer;
    size_t first = ids->count;
    encoder->wanted = 0;
    ids->is_over = false;
    /* ids may hold ids of earlier texts, which do not count. */
    ids->limit = encoder->limit ? first + encoder->limit : 0;
    int code = added_encode(encoder, &tokenizer->raw, normal_encode, (const uint8_t *)text, size, size > 0, ids, e);
    /* The array of ids may have had room for more ids than the limit. */
    if (encoder->limit && (ids->is_over || (!code && ids->count - first > encoder->limit))) {
        encoder->wanted = encoder->limit + 1;
        code = bl_error_set(e, BL_EFAIL, "the document has more than %zu ids", encoder->limit);
    }
    ids->limit = 0;
    if (code || !tokenizer->joins_unknown)
        return code;
    /* Each run of unknown ids becomes one id. */
    size_t kept = first;
    for (size_t i = first; i < ids->count; i++) {
        if (ids->id[i] != tokenizer->unknown || i == first || ids->id[i - 1] != tokenizer->unknown)
            ids->id[kept++] = ids->id[i];
    }
    ids->count = kept;
    return BL_OK;
}
