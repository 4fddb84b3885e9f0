/* Tokens and their ids: the growing array, the hash table over the bytes of tokens, the alphabets of tokenizer files
 * and the names of special tokens.
 *
 * The bytes of all tokens lie in one buffer, one behind the other, and a token has its offset there: a vocabulary of
 * 200,000 tokens takes three allocations. A hash of 64 bits gives the place of a token in the table; the bytes decide.
 * An example of the byte-level alphabet: the token " the" is written "\u0120the" in a file, as byte 0x20 is the
 * character U+0100 + 0x20. */
#include "kind/text/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/json.h"
#include "base/text.h"

/* --- ids ---------------------------------------------------------------------------------------------------------- */

/* The limit is compared with the ids that are there, so that a caller may pass it by what one call adds. */
int bl_ids_reserve(struct bl_ids *ids, size_t more, struct bl_error *e)
{
    if (more > SIZE_MAX - ids->count)
        return bl_error_memory(e);
    if (ids->limit && ids->count > ids->limit) {
        ids->is_over = true;
        return bl_error_set(e, BL_EFAIL, "more than %zu ids", ids->limit);
    }
    return BL_ARRAY_RESERVE(ids->id, ids->capacity, ids->count + more, e);
}

void bl_ids_free(struct bl_ids *ids)
{
    free(ids->id);
    *ids = (struct bl_ids){0};
}

/* --- vocabulary --------------------------------------------------------------------------------------------------- */

/* Tokens whose places in the table are fetched together: enough to hide the time of a memory access, and few enough for
 * the first-level cache. */
#define BATCH 64

/* Two tokens may have the same hash, so the bytes decide. */
int64_t bl_vocabulary_find_hash(const struct bl_vocabulary *v, const void *bytes, size_t size, uint64_t hash)
{
    size_t number;
    for (struct bl_hash_probe probe = bl_hash_begin(&v->table, hash); bl_hash_next(&v->table, &probe, &number);) {
        const struct bl_token *token = &v->token[number];
        if (token->size == size && !memcmp(v->bytes.data + token->offset, bytes, size))
            return (int64_t)number;
    }
    return -1;
}

int bl_vocabulary_reserve(struct bl_vocabulary *v, size_t count, size_t bytes, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(v->token, v->capacity, count, e);
    return code || bl_buffer_reserve(&v->bytes, bytes) ? code : bl_error_memory(e);
}

/* The offset of a token has 32 bits. */
int bl_vocabulary_append(struct bl_vocabulary *v, const void *bytes, size_t size, int32_t id, struct bl_error *e)
{
    if (v->count == BL_VOCABULARY_MAX)
        return bl_error_set(e, BL_EFAIL, "more than %d tokens", BL_VOCABULARY_MAX);
    if (size > UINT32_MAX - v->bytes.size)
        return bl_error_set(e, BL_EFAIL, "the tokens have more than 4 GiB");
    BL_TRY(BL_ARRAY_RESERVE(v->token, v->capacity, v->count + 1, e));
    v->token[v->count++] = (struct bl_token){(uint32_t)v->bytes.size, (uint32_t)size, id};
    bl_buffer_append(&v->bytes, bytes, size);
    return bl_buffer_check(&v->bytes, e);
}

/* All hashes of a batch are computed and prefetched before the first look-up: the table is larger than the caches, and
 * each look-up would wait for memory. */
int bl_vocabulary_index(struct bl_vocabulary *v, int64_t *twice, struct bl_error *e)
{
    uint64_t hash[BATCH];
    *twice = -1;
    int code = bl_hash_reserve(&v->table, v->count, e);
    for (size_t first = v->table.count, n; first < v->count && !code; first += n) {
        n = v->count - first < BATCH ? v->count - first : BATCH;
        for (size_t i = 0; i < n; i++) {
            hash[i] = bl_vocabulary_hash(bl_vocabulary_bytes(v, first + i), v->token[first + i].size);
            bl_hash_prefetch(&v->table, hash[i]);
        }
        for (size_t i = 0; i < n && !code; i++) {
            const uint8_t *bytes = bl_vocabulary_bytes(v, first + i);
            if (*twice < 0 && bl_vocabulary_find_hash(v, bytes, v->token[first + i].size, hash[i]) >= 0)
                *twice = (int64_t)(first + i);
            code = bl_hash_add(&v->table, hash[i], first + i, e);
        }
    }
    return code;
}

/* A vocabulary with appended tokens is indexed first, so that `known` is right. */
int bl_vocabulary_add(struct bl_vocabulary *v, const void *bytes, size_t size, int32_t id, int64_t *known,
                      struct bl_error *e)
{
    uint64_t hash = bl_vocabulary_hash(bytes, size);
    BL_TRY(v->table.count < v->count ? bl_vocabulary_index(v, known, e) : BL_OK);
    *known = bl_vocabulary_find_hash(v, bytes, size, hash);
    if (*known >= 0)
        return BL_OK;
    BL_TRY(bl_vocabulary_append(v, bytes, size, id, e));
    return bl_hash_add(&v->table, hash, v->count - 1, e);
}

/* Appended tokens that have no place in the table yet are compared one by one. */
int64_t bl_vocabulary_find(const struct bl_vocabulary *v, const void *bytes, size_t size)
{
    for (size_t i = v->table.count; i < v->count; i++) {
        if (v->token[i].size == size && !memcmp(bl_vocabulary_bytes(v, i), bytes, size))
            return (int64_t)i;
    }
    return bl_vocabulary_find_hash(v, bytes, size, bl_vocabulary_hash(bytes, size));
}

void bl_vocabulary_free(struct bl_vocabulary *v)
{
    bl_buffer_free(&v->bytes);
    free(v->token);
    bl_hash_free(&v->table);
    *v = (struct bl_vocabulary){0};
}

/* --- alphabets ---------------------------------------------------------------------------------------------------- */

#define OTHERS 0x100 /* the character of the first byte that is not written as itself */

/* Returns the byte of a character of the byte-level alphabet, or -1. The bytes that are not written as themselves are
 * 00-20, 7F-A0 and AD: 33 + 34 + 1 = 68 of them, in this order from U+0100 to U+0143. */
static int character_to_byte(uint32_t c)
{
    if ((c >= 0x21 && c <= 0x7e) || (c >= 0xa1 && c <= 0xac) || (c >= 0xae && c <= 0xff))
        return (int)c;
    uint32_t place = c - OTHERS;
    if (c < OTHERS || place > 67)
        return -1;
    return place <= 0x20 ? (int)place : place < 67 ? (int)(place - 0x21 + 0x7f) : 0xad;
}

/* The inverse of character_to_byte. */
static uint32_t byte_to_character(uint8_t byte)
{
    if (byte <= 0x20)
        return OTHERS + byte;
    if (byte >= 0x7f && byte <= 0xa0)
        return OTHERS + 0x21U + byte - 0x7f;
    return byte == 0xad ? OTHERS + 67 : byte;
}

void bl_alphabet_append_bytes(const char *text, size_t size, struct bl_buffer *out)
{
    char character[BL_UTF8_MAX];
    for (size_t i = 0; i < size; i++)
        bl_buffer_append(out, character, bl_utf8_encode(byte_to_character((uint8_t)text[i]), character));
}

/* Appends the bytes of a token of the byte-level alphabet. False: a character is not in the alphabet. A token has at
 * least one character for each byte, so that size bytes are enough. */
static bool decode_bytes(const char *text, size_t size, struct bl_buffer *out)
{
    if (!bl_buffer_reserve(out, size))
        return true; /* the buffer remembers it */
    char *to = out->data + out->size;
    for (size_t at = 0; at < size;) {
        uint32_t c = (uint8_t)text[at];
        if (c >= 0x80 && !bl_utf8_length(text + at, size - at))
            return false;
        at += c >= 0x80 ? bl_utf8_decode(text + at, &c) : 1;
        int byte = character_to_byte(c);
        if (byte < 0)
            return false;
        *to++ = (char)byte;
    }
    *to = '\0';
    out->size = (size_t)(to - out->data);
    return true;
}

/* The suffix is written in the file's alphabet, so it is removed before decoding and becomes BL_WORD_END behind it.
 * With a suffix, a token that has the byte FF could be taken for the end of a word, and is refused. */
bool bl_alphabet_decode(const struct bl_alphabet *alphabet, const char *text, size_t size, struct bl_buffer *out)
{
    static const size_t mark = sizeof BL_METASPACE - 1;
    /* last: the token ends a word. */
    size_t suffix = strlen(alphabet->suffix);
    bool last = suffix && size >= suffix && !memcmp(text + size - suffix, alphabet->suffix, suffix), known = true;
    size -= last ? suffix : 0;
    bl_buffer_clear(out);
    if (alphabet->kind == BL_ALPHABET_BYTES)
        known = decode_bytes(text, size, out);
    else if (alphabet->kind == BL_ALPHABET_TEXT)
        bl_buffer_append(out, text, size);
    else
        known = !memchr(text, ' ', size); /* no word has a space as itself */
    /* U+2581 becomes a space. */
    for (size_t at = 0; alphabet->kind == BL_ALPHABET_SPACES && known && at < size;) {
        bool space = size - at >= mark && !memcmp(text + at, BL_METASPACE, mark);
        bl_buffer_byte(out, space ? ' ' : text[at]);
        at += space ? mark : 1;
    }
    /* A byte FF in the token itself is not the end of a word. */
    if (suffix && out->size && memchr(out->data, BL_WORD_END, out->size))
        return false;
    if (last)
        bl_buffer_byte(out, (char)BL_WORD_END);
    return known;
}

/* --- names of special tokens -------------------------------------------------------------------------------------- */

/* Bytes of a tokenizer_config.json: some list all added tokens, in a few MiB. */
#define FILE_MAX ((size_t)16 << 20)

/* Looks the key up in one file: its value is the name, or has it as "content". A key that cannot be parsed, or is not
 * in the file, leaves *found false. */
static int vocabulary_read_names(const char *path, const char *key, struct bl_buffer *name, bool *found,
                                 struct bl_error *e)
{
    struct bl_buffer text = {0};
    char content[64];
    /* The value of the key itself, and its "content". */
    struct bl_json_key keys[2];
    struct bl_json_value value[2];
    struct bl_json_fault fault;
    size_t lone;
    int code = bl_io_read_file(path, FILE_MAX, &text, e);
    if (code)
        goto out;
    snprintf(content, sizeof content, "%s.content", key);
    if (!bl_json_key_parse(&keys[0], key, strlen(key)) || !bl_json_key_parse(&keys[1], content, strlen(content)))
        goto out;
    if (!bl_json_scan(text.data, text.size, keys, 2, value, &fault)) {
        code = bl_error_set(e, BL_EFAIL, "%s: not JSON at byte %zu: %s", path, fault.at, fault.what);
        goto out;
    }
    /* "eos_token": "</s>", or "eos_token": {"content": "</s>", ...}. */
    const struct bl_json_value *token = value[0].type == BL_JSON_STRING ? &value[0] : &value[1];
    *found = token->type == BL_JSON_STRING;
    bl_buffer_clear(name);
    if (*found)
        bl_json_unescape(token, name, &lone);
    bl_buffer_text(name, "");
    code = bl_buffer_check(name, e);
out:
    bl_buffer_free(&text);
    return code;
}

/* The first file that names the token counts: tokenizer_config.json, as the released package reads it first. */
int bl_special_name_find(const char *path, const char *key, struct bl_buffer *name, bool *found, struct bl_error *e)
{
    static const char *const files[] = {"tokenizer_config.json", "special_tokens_map.json"};
    char *folder = bl_path_parent(path);
    int code = folder ? BL_OK : bl_error_memory(e);
    *found = false;
    for (size_t i = 0; i < sizeof files / sizeof *files && !code && !*found; i++) {
        char *file = bl_path_join(folder, files[i]);
        bool exists = false;
        code = file ? bl_fs_exists(file, &exists, e) : bl_error_memory(e);
        if (!code && exists)
            code = vocabulary_read_names(file, key, name, found, e);
        free(file);
    }
    free(folder);
    return code;
}
