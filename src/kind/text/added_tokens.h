/* Added tokens: texts that are tokens wherever they occur. They are looked for before the text is split into words.
 *
 * The search is that of `tokenizers`: from left to right, the longest token at each position. A plain token (a special
 * one that is to be treated as text) is found as well, and skipped as text. */
#ifndef BL_ADDED_TOKENS_H
#define BL_ADDED_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct bl_added_token {
    size_t offset, size; /* of its text */
    int32_t id;
    int32_t next;        /* token with the same first byte, longest first; -1: none */
    bool plain;          /* treated as text */
    bool lstrip, rstrip; /* includes the white space before, after it */
    bool single_word;    /* only where no word character is before or after it */
};

struct bl_added {
    struct bl_buffer text;
    struct bl_added_token *token;
    size_t count, capacity, wanted; /* wanted: number of those that are not plain */
    int32_t first[256];             /* by first byte */
    uint64_t begins[65536 / 64];    /* bit set of the first two bytes of all of them */
};

/* A token found in the text, and where: [start, stop). */
struct bl_added_match {
    size_t start, stop;
    int32_t id;
};

void bl_added_init(struct bl_added *added);
/* Adds a token with this text, which is not empty. BL_EFAIL: it was added before, or out of memory. */
int bl_added_add(struct bl_added *added, const char *text, size_t size, const struct bl_added_token *token,
                 struct bl_error *e);
/* The id of the token with this text, or -1. */
int32_t bl_added_find(const struct bl_added *added, const char *text, size_t size);
/* Finds the next token at or after *at, and advances *at; false: there is none. taken: where the last match ended. */
bool bl_added_next(const struct bl_added *added, const uint8_t *text, size_t size, size_t *at, size_t taken,
                   struct bl_added_match *match);
/* The number of plain tokens in the text. */
int64_t bl_added_count_plain(const struct bl_added *added, const uint8_t *text, size_t size);
/* The size of the longest token that text begins with, or 0. */
size_t bl_added_size_at(const struct bl_added *added, const uint8_t *text, size_t size);
void bl_added_free(struct bl_added *added);

#endif
