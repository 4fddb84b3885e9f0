/* Text-level vocabularies: the merges of bytes that make characters (bpe.h).
 *
 * Characters are merged from bytes, so that one engine serves byte-level and text-level vocabularies. */
#ifndef BL_BPE_CHARACTERS_H
#define BL_BPE_CHARACTERS_H

#include "kind/text/merges.h"
#include "kind/text/vocabulary.h"

/* What becomes of the characters that are no tokens. */
struct bl_bpe_options {
    struct bl_alphabet alphabet;
    bool byte_fallback; /* their bytes, written "<0x0A>", if all of these are tokens; if none is, they are unknown */
    int32_t unknown;    /* the id of the others, or -1: they are left out */
    bool fused;         /* consecutive ones have one id */
};

/* Adds what the bytes of characters merge to, as tokens without an id, and their merges; then notes in bpe which
 * characters are known. merges is empty. BL_EFAIL: some bytes for byte_fallback are missing, or an end of a word. */
int bl_bpe_add_characters(struct bl_bpe *bpe, struct bl_vocabulary *v, struct bl_merges *merges,
                          const struct bl_bpe_options *options, struct bl_error *e);

/* The same for the pieces of SentencePiece, whose merges follow from their scores: characters of pieces that are no
 * pieces merge as well. byte: ids of bytes, or -1; unknown: the id of unknown characters, or -1 where they become
 * bytes. */
int bl_bpe_add_piece_characters(struct bl_bpe *bpe, struct bl_vocabulary *v, const int32_t byte[256], int32_t unknown,
                                struct bl_error *e);

#endif
