/* Added tokens: texts that are tokens wherever they stand, looked for before the text is split into words.
 *
 * As `tokenizers` does: from left to right, the longest that begins at a place. One that is not wanted (a special one
 * that is to be plain) is found all the same, and its text is then text. */
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
    int32_t next;        /* of those with the same first byte, longest first; -1: no more */
    bool plain;          /* to be left as text */
    bool lstrip, rstrip; /* takes the blank space before, after it, too */
    bool single_word;    /* only where no character of a word stands before or after it */
};

struct bl_added {
    struct bl_buffer text;
    struct bl_added_token *token;
    size_t count, capacity, wanted; /* wanted: those that are not plain */
    int32_t first[256];             /* by first byte */
    uint64_t begins[65536 / 64];    /* bit set of the first two bytes that any of them can have */
};

/* A token found in the text, and where: [start, stop). */
struct bl_added_match {
    size_t start, stop;
    int32_t id;
};

void bl_added_init(struct bl_added *added);
/* The text is not empty. BL_EFAIL: it is there already (or out of memory). */
int bl_added_add(struct bl_added *added, const char *text, size_t size, const struct bl_added_token *token,
                 struct bl_error *e);
/* The id of the token with this text, or -1. */
int32_t bl_added_find(const struct bl_added *added, const char *text, size_t size);
/* The next token at or after *at; false when there is none. Advances *at. taken: where the last match stopped. */
bool bl_added_next(const struct bl_added *added, const uint8_t *text, size_t size, size_t *at, size_t taken,
                   struct bl_added_match *match);
void bl_added_free(struct bl_added *added);

#endif
