/* Makes the characters of text-level vocabularies from bytes (bpe_characters.h).
 *
 * Every byte becomes a token first, mostly without an id. Then each character gets a chain of merges from left to
 * right, whose intermediate tokens have no ids either: "€" (E2 82 AC) gets the merges E2 + 82 and E2 82 + AC. */
#include "kind/text/bpe_characters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define POINTS 0x110000 /* code points of Unicode; a bit set of them has 136 KiB */

/* Returns true if the byte occurs in valid UTF-8: C0 and C1 would begin overlong forms, F5 and above code points
 * beyond U+10FFFF. */
static bool byte_is_in_utf8(int byte)
{
    return byte != 0xc0 && byte != 0xc1 && byte < 0xf5;
}

/* Adds a token for every byte, with the given id or -1. A byte that is a token already keeps its id. */
static int bytes_add(struct bl_vocabulary *v, const int32_t id[256], struct bl_error *e)
{
    int64_t known = -1;
    int code = BL_OK;
    for (int i = 0; i < 256 && !code; i++)
        code = bl_vocabulary_add(v, &(uint8_t){(uint8_t)i}, 1, id[i], &known, e);
    return code;
}

/* Adds the merges that make a token of size bytes from left to right, and its first bytes as tokens without ids.
 * merges may be NULL: then only tokens are added. All single bytes must be tokens. */
static int chain_add(struct bl_vocabulary *v, struct bl_merges *merges, const uint8_t *bytes, size_t size,
                     struct bl_error *e)
{
    int64_t left = bl_vocabulary_find(v, bytes, 1), known = -1;
    int code = BL_OK;
    for (size_t i = 1; i < size && !code; i++) {
        int64_t right = bl_vocabulary_find(v, bytes + i, 1);
        code = bl_vocabulary_add(v, bytes, i + 1, -1, &known, e);
        int64_t both = known < 0 ? (int64_t)v->count - 1 : known;
        /* A shorter token that existed before got its merge with an earlier chain. */
        if (!code && merges && (known < 0 || i + 1 == size))
            code = bl_merges_add_tokens(merges, (uint32_t)left, (uint32_t)right, (uint32_t)both, e);
        left = both;
    }
    return code;
}

/* Adds a code point to a bit set. */
static void points_add(uint64_t *points, uint32_t point)
{
    points[point / 64] |= (uint64_t)1 << point % 64;
}

/* Adds the chains byte + BL_WORD_END of a byte-level vocabulary with an end of a word. BL_EFAIL: a byte of UTF-8 has
 * no token, alone or with the end, so that some words would have no ids. */
static int byte_ends_add(struct bl_vocabulary *v, struct bl_merges *merges, struct bl_error *e)
{
    int64_t known = -1;
    int code = bl_vocabulary_add(v, &(uint8_t){BL_WORD_END}, 1, -1, &known, e);
    for (int i = 0; i < 256 && !code; i++) {
        uint8_t bytes[2] = {(uint8_t)i, BL_WORD_END};
        /* No text has the other bytes, so vocabularies may leave them out. */
        if (!byte_is_in_utf8(i))
            continue;
        if (bl_vocabulary_find(v, bytes, 2) < 0 || bl_vocabulary_find(v, bytes, 1) < 0)
            return bl_error_set(e, BL_EFAIL, "the byte 0x%02X has no token %s", i,
                                bl_vocabulary_find(v, bytes, 1) < 0 ? "" : "for the end of a word");
        code = chain_add(v, merges, bytes, 2, e);
    }
    return code;
}

/* Adds the chains of the characters of all pieces, which are valid UTF-8. A character that is no token itself gets the
 * id of unknown characters, if there is one, since it merges like a known one. v->count grows in the loop: only the
 * pieces of the file have characters to add. */
int bl_bpe_add_piece_characters(struct bl_bpe *bpe, struct bl_vocabulary *v, const int32_t byte[256], int32_t unknown,
                                struct bl_error *e)
{
    size_t count = v->count;
    bpe->unknown = unknown;
    bpe->known = unknown < 0 ? NULL : calloc(POINTS / 64, sizeof *bpe->known);
    if (unknown >= 0 && !bpe->known)
        return bl_error_memory(e);
    int code = bytes_add(v, byte, e);
    for (size_t piece = 0; piece < count && !code; piece++) {
        for (size_t at = 0, size; at < v->token[piece].size && !code; at += size) {
            uint8_t bytes[BL_UTF8_MAX];
            uint32_t point;
            size = bl_utf8_decode((const char *)bl_vocabulary_bytes(v, piece) + at, &point);
            memcpy(bytes, bl_vocabulary_bytes(v, piece) + at, size);
            if (bpe->known)
                points_add(bpe->known, point);
            code = chain_add(v, NULL, bytes, size, e);
            int64_t token = code ? -1 : bl_vocabulary_find(v, bytes, size);
            if (token >= 0 && v->token[token].id < 0 && unknown >= 0)
                v->token[token].id = unknown;
        }
    }
    return code;
}

int bl_bpe_add_characters(struct bl_bpe *bpe, struct bl_vocabulary *v, struct bl_merges *merges,
                          const struct bl_bpe_options *options, struct bl_error *e)
{
    int32_t id[256];
    size_t count = v->count;
    int found = 0, missing = -1;
    bpe->suffixed = *options->alphabet.suffix;
    /* Tokens that are bytes need merges only for the end of a word. */
    if (options->alphabet.kind == BL_ALPHABET_BYTES)
        return bpe->suffixed ? byte_ends_add(v, merges, e) : BL_OK;
    /* With byte_fallback, the bytes have the ids of the tokens "<0x00>" to "<0xFF>". If only some of the bytes of UTF-8
     * have one, neither bytes nor unknown ids encode all characters. */
    for (int i = 0; i < 256; i++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", (unsigned)i & 0xff);
        int64_t token = options->byte_fallback ? bl_vocabulary_find(v, text, 6) : -1;
        id[i] = token < 0 ? -1 : v->token[token].id;
        found += token >= 0;
        if (token < 0 && byte_is_in_utf8(i))
            missing = i;
    }
    if (found && missing >= 0)
        return bl_error_set(e, BL_EFAIL, "byte_fallback without a token \"<0x%02X>\" is not supported", missing);
    bool fallback = missing < 0;
    if (fallback && bpe->suffixed)
        return bl_error_set(e, BL_EFAIL, "byte_fallback with end_of_word_suffix is not supported");
    /* With byte fallback, the bytes of an unknown character have ids, and every character is known. */
    if (!fallback) {
        bpe->known = calloc(POINTS / 64, sizeof *bpe->known);
        bpe->known_last = calloc(POINTS / 64, sizeof *bpe->known_last);
        if (!bpe->known || !bpe->known_last)
            return bl_error_memory(e);
        bpe->unknown = options->unknown;
        bpe->fused = options->fused;
    }
    int code = bytes_add(v, id, e);
    /* The chains of the tokens that are single characters, with or without the end of a word. Tokens of several
     * characters get their merges from the file. chain_add appends tokens, so v->count grows meanwhile. */
    for (size_t i = 0; i < count && !code; i++) {
        uint8_t bytes[BL_UTF8_MAX + 1];
        size_t size = v->token[i].size;
        if (size > sizeof bytes)
            continue;
        memcpy(bytes, bl_vocabulary_bytes(v, i), size);
        bool last = bpe->suffixed && size > 1 && bytes[size - 1] == BL_WORD_END;
        uint32_t point;
        if (bl_utf8_length((const char *)bytes, size) != size - last)
            continue;
        bl_utf8_decode((const char *)bytes, &point);
        if (bpe->known)
            points_add(last ? bpe->known_last : bpe->known, point);
        code = chain_add(v, merges, bytes, size, e);
    }
    return code;
}
