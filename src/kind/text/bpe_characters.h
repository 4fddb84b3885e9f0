/* Adds to a text-level vocabulary the merges of bytes that make its characters (bpe.h).
 *
 * Characters are merged from bytes, so that one engine encodes byte-level and text-level vocabularies. Example: the
 * token "é" is the bytes C3 A9, so C3 and A9 become tokens without ids, and the merge C3 A9 comes before all merges
 * of the file. */
#ifndef BL_BPE_CHARACTERS_H
#define BL_BPE_CHARACTERS_H

#include "kind/text/merges.h"
#include "kind/text/vocabulary.h"

/* The alphabet of a vocabulary, and how characters that are no tokens are encoded. */
struct bl_bpe_options {
    struct bl_alphabet alphabet;
    bool byte_fallback; /* as bytes, tokens like "<0x0A>", if all of these exist; if none does, as unknown */
    int32_t unknown;    /* id of unknown characters; -1: they are left out */
    bool fused;         /* a run of unknown characters has one id */
};

/* Adds the tokens that the bytes of characters merge to, without ids, and their merges, then sets in bpe which
 * characters are known. merges must be empty; the vocabulary has the tokens of the file. BL_EFAIL: only some of the
 * tokens for byte_fallback exist, a byte has no token for the end of a word, or out of memory. */
int bl_bpe_add_characters(struct bl_bpe *bpe, struct bl_vocabulary *v, struct bl_merges *merges,
                          const struct bl_bpe_options *options, struct bl_error *e);

/* Adds the characters of the pieces of SentencePiece, whose merges follow from their scores: characters that occur
 * in pieces and are no pieces merge as well. byte has the id of each byte, or -1; unknown is the id of unknown
 * characters, or -1 if these become bytes. BL_EFAIL: out of memory. */
int bl_bpe_add_piece_characters(struct bl_bpe *bpe, struct bl_vocabulary *v, const int32_t byte[256], int32_t unknown,
                                struct bl_error *e);

#endif
