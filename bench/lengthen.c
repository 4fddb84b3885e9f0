/* A long text from a short one, with as many new words in each MB as the short one has at its end:
 *
 *     lengthen length|jsonl BYTES SOURCE... > documents
 *
 * The sources are written again and again, each a megabyte further in turn, up to so many bytes of text. By Good and
 * Turing (Good 1953), the share of new words in what follows a text is the share of words that are in it once. So from
 * the second time on, each word that a source has once is another word: the beginning of this one and the end of one
 * near it, cut at random; digits are drawn. So are as many of its other rare words as its last tenth asks for, since a
 * text changes its subjects, and some of what is drawn was there before. Tokenizers with a cache profit from what is
 * repeated as they would from the text, if it went on. Documents are some 4 KB of lines, each after its size as
 * little-endian u32, or lines of JSON. At the end it says on stderr how many new words a MB there were: of the last
 * tenth of the sources, and of the output's. */
#include <ctype.h>
#include <endian.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buffer.h"

#define DOCUMENT 4096
#define TURN (1 << 20)
#define NEAR 256 /* replaced words, among which the other one is drawn: of the same language */
#define RARE 4   /* how often a word is there at most that may be replaced */

/* Hashes of words; 0: free. */
struct words {
    uint64_t *hash;
    uint8_t *often; /* up to RARE + 1 */
    size_t count, capacity;
};

struct word {
    size_t begin, end;
};

struct source {
    struct bl_buffer text;
    struct words words;
    struct word *replaced; /* in order */
    size_t count, at, next;
    bool again;
    double rate; /* new words a MB in its last tenth */
};

struct output {
    struct bl_buffer document;
    struct words words;
    bool json;
    uint64_t random;
    int64_t bytes, max, late_from, late_words; /* late: in the last tenth */
};

static void fail(const char *what)
{
    fprintf(stderr, "lengthen: %s\n", what);
    exit(1);
}

static uint64_t draw(struct output *o)
{
    uint64_t x = o->random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static size_t words_place(const struct words *w, uint64_t hash)
{
    size_t at = hash & (w->capacity - 1);
    while (w->hash[at] && w->hash[at] != hash)
        at = (at + 1) & (w->capacity - 1);
    return at;
}

static void words_grow(struct words *w)
{
    struct words larger = {.capacity = w->capacity ? 2 * w->capacity : 1 << 16, .count = w->count};
    larger.hash = calloc(larger.capacity, sizeof *larger.hash);
    larger.often = calloc(larger.capacity, 1);
    if (!larger.hash || !larger.often)
        fail("out of memory");
    for (size_t i = 0; i < w->capacity; i++) {
        if (!w->hash[i])
            continue;
        size_t at = words_place(&larger, w->hash[i]);
        larger.hash[at] = w->hash[i];
        larger.often[at] = w->often[i];
    }
    free(w->hash);
    free(w->often);
    *w = larger;
}

/* Adds a word; true: it is new. */
static bool words_add(struct words *w, const char *text, size_t size)
{
    if (2 * w->count >= w->capacity)
        words_grow(w);
    uint64_t hash = XXH3_64bits(text, size) | 1;
    size_t at = words_place(w, hash);
    bool new = !w->hash[at];
    w->count += new;
    w->hash[at] = hash;
    w->often[at] = (uint8_t)(new ? 1 : w->often[at] + (w->often[at] <= RARE));
    return new;
}

/* The next word from at on: digits, or letters and what is not ASCII, but for its punctuation of East Asia. */
static bool word_next(const struct bl_buffer *text, size_t at, struct word *word)
{
    const unsigned char *s = (const unsigned char *)text->data;
    for (size_t i = at; i < text->size; i++) {
        bool digits = isdigit(s[i]);
        word->begin = i;
        while (i < text->size && (digits ? isdigit(s[i]) != 0 : isalpha(s[i]) || s[i] >= 0x80)) {
            if (i + 2 < text->size && ((s[i] == 0xe3 && s[i + 1] == 0x80) || (s[i] == 0xef && s[i + 1] == 0xbc)))
                break;
            i++;
        }
        word->end = i;
        if (word->end > word->begin)
            return true;
        i += s[i] >= 0x80 ? 2 : 0;
    }
    return false;
}

static void source_read(struct source *s, const char *path)
{
    char part[1 << 16];
    size_t got;
    FILE *file = fopen(path, "rb");
    if (!file)
        fail("a source cannot be read");
    while ((got = fread(part, 1, sizeof part, file)) > 0)
        bl_buffer_append(&s->text, part, got);
    if (ferror(file) || s->text.failed || !s->text.size)
        fail("a source cannot be read");
    fclose(file);
}

static unsigned source_often(const struct source *s, struct word word)
{
    return s->words.often[words_place(&s->words, XXH3_64bits(s->text.data + word.begin, word.end - word.begin) | 1)];
}

/* Chooses the words to be replaced: all that are there once, and a share of the other rare ones. */
static void source_choose(struct source *s, struct output *o)
{
    struct word word;
    size_t late = s->text.size / 10 * 9, new = 0, words = 0, times[RARE + 2] = {0};
    for (size_t at = 0; word_next(&s->text, at, &word); at = word.end, words++)
        new += words_add(&s->words, s->text.data + word.begin, word.end - word.begin) && word.begin >= late;
    for (size_t i = 0; i < s->words.capacity; i++)
        times[s->words.often[i]] += s->words.often[i];
    s->rate = (double)new / ((double)(s->text.size - late) / 1e6);
    size_t others = 0;
    for (int i = 2; i <= RARE; i++)
        others += times[i];
    double asked = 1.1 * s->rate * (double)s->text.size / 1e6 - (double)times[1], share = asked / (double)(others + 1);
    s->replaced = malloc((words + 1) * sizeof *s->replaced);
    if (!s->replaced)
        fail("out of memory");
    for (size_t at = 0; word_next(&s->text, at, &word); at = word.end) {
        unsigned often = source_often(s, word);
        if (often == 1 || (often <= RARE && (double)(draw(o) >> 11) < share * 0x1p53))
            s->replaced[s->count++] = word;
    }
}

/* The offset of the character of a word at a share of its bytes. */
static size_t word_cut(const struct bl_buffer *text, struct word word, unsigned share)
{
    size_t at = word.begin + ((word.end - word.begin) * share + 128) / 256;
    while (at > word.begin && at < word.end && ((unsigned char)text->data[at] & 0xc0) == 0x80)
        at--;
    return at;
}

/* Another word than a replaced one. */
static void word_write(struct output *o, const struct source *s, size_t which)
{
    struct word word = s->replaced[which], other = s->replaced[(which + 1 + draw(o) % NEAR) % s->count];
    struct bl_buffer *out = &o->document;
    unsigned share = 64 + draw(o) % 128;
    if (isdigit((unsigned char)s->text.data[word.begin])) {
        for (size_t i = word.begin; i < word.end; i++)
            bl_buffer_byte(out, (char)('0' + draw(o) % 10));
        return;
    }
    if (isdigit((unsigned char)s->text.data[other.begin]))
        other = word;
    size_t from = word_cut(&s->text, other, share);
    bl_buffer_append(out, s->text.data + word.begin, word_cut(&s->text, word, share) - word.begin);
    bl_buffer_append(out, s->text.data + from, other.end - from);
}

static void json_write(const struct bl_buffer *text)
{
    fputs("{\"text\": \"", stdout);
    for (size_t i = 0; i < text->size; i++) {
        unsigned char c = (unsigned char)text->data[i];
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            c == '\n' ? fputs("\\n", stdout) : c == '\t' ? fputs("\\t", stdout) : printf("\\u%04x", c);
        else
            putchar_unlocked(c);
    }
    fputs("\"}\n", stdout);
}

static void document_write(struct output *o)
{
    struct word word;
    struct bl_buffer *text = &o->document;
    if (text->failed)
        fail("out of memory");
    for (size_t at = 0; word_next(text, at, &word); at = word.end)
        o->late_words +=
            words_add(&o->words, text->data + word.begin, word.end - word.begin) && o->bytes >= o->late_from;
    uint32_t size = htole32((uint32_t)text->size);
    if (o->json)
        json_write(text);
    else if (fwrite(&size, sizeof size, 1, stdout) != 1 || fwrite(text->data, text->size, 1, stdout) != 1)
        fail("cannot write");
    o->bytes += (int64_t)text->size;
    bl_buffer_clear(text);
}

/* Writes the next document of a source: lines of 4 KB. */
static void source_write(struct source *s, struct output *o)
{
    while (o->document.size < DOCUMENT && s->at < s->text.size) {
        const char *newline = memchr(s->text.data + s->at, '\n', s->text.size - s->at);
        size_t end = newline ? (size_t)(newline - s->text.data) + 1 : s->text.size;
        for (; s->again && s->next < s->count && s->replaced[s->next].end <= end; s->next++) {
            struct word word = s->replaced[s->next];
            bl_buffer_append(&o->document, s->text.data + s->at, word.begin - s->at);
            word_write(o, s, s->next);
            s->at = word.end;
        }
        bl_buffer_append(&o->document, s->text.data + s->at, end - s->at);
        s->at = end;
    }
    document_write(o);
    if (s->at == s->text.size) {
        s->at = s->next = 0;
        s->again = true;
    }
}

int main(int argc, char **argv)
{
    struct output o = {.max = argc > 2 ? atoll(argv[2]) : 0, .json = argc > 1 && !strcmp(argv[1], "jsonl")};
    int sources = argc - 3;
    if (sources < 1 || o.max <= 0 || (!o.json && strcmp(argv[1], "length") != 0))
        fail("use: lengthen length|jsonl BYTES SOURCE...");
    struct source *source = calloc((size_t)sources, sizeof *source);
    if (!source)
        fail("out of memory");
    double rate = 0;
    for (int i = 0; i < sources; i++) {
        source_read(&source[i], argv[3 + i]);
        source_choose(&source[i], &o);
        rate += source[i].rate / sources;
    }
    o.late_from = o.max / 10 * 9;
    for (int i = 0; o.bytes < o.max; i = (i + 1) % sources) {
        for (int64_t begin = o.bytes; o.bytes < o.max && o.bytes - begin < TURN;)
            source_write(&source[i], &o);
    }
    if (fflush(stdout) != 0)
        fail("cannot write");
    fprintf(stderr, "new words a MB: %.0f in the last tenth of the sources, %.0f in that of the output\n", rate,
            (double)o.late_words / ((double)(o.bytes - o.late_from) / 1e6));
    return 0;
}
