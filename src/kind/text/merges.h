/* Builds a vocabulary and its list of BPE merges from a tokenizer file, which writes both as texts in an alphabet. */
#ifndef BL_MERGES_H
#define BL_MERGES_H

#include "kind/text/tokenizer_parts.h"
#include "kind/text/tokenizer_readers.h"

#define BL_MERGES_WAITING 64

struct bl_merge_side {
    size_t size;
    uint64_t hash;
    size_t name; /* a guess by hash, not yet compared; SIZE_MAX: none */
};

/* A merge whose names are to be looked up. */
struct bl_merge_names {
    size_t at; /* of the left name in the text; the right one follows */
    struct bl_merge_side left, right;
    size_t place;
};

struct bl_merges {
    const struct bl_vocabulary *names, *v;
    uint32_t *token; /* of each name: its number in v, or BL_NO_TOKEN: it never occurs in text */
    bool suffixed;   /* names that end words have a suffix */
    struct bl_merge *merge;
    size_t count, capacity;
    size_t place; /* in the file, of the merge that is added next, or of the one that failed: set by the caller */
    size_t last;  /* the name that the last merge made */
    /* Merges are looked up in batches, so that the table of names can be prefetched for a whole batch. */
    struct bl_merge_names wait[BL_MERGES_WAITING];
    size_t waiting;
    struct bl_buffer text; /* the names of those that wait */
};

/* Fills the tokenizer's vocabulary from names. token: see struct bl_merges; or NULL. BL_EFAIL: there are none. */
int bl_merges_vocabulary(struct bl_tokenizer *tokenizer, const struct bl_vocabulary *names, uint32_t *token,
                         struct bl_error *e);

/* The same, and begins a list of merges. names and the tokenizer outlive it; it needs bl_merges_free in any case. */
int bl_merges_open(struct bl_merges *merges, struct bl_tokenizer *tokenizer, const struct bl_vocabulary *names,
                   struct bl_error *e);
/* Adds a merge by the numbers of its tokens. */
int bl_merges_add_tokens(struct bl_merges *merges, uint32_t left, uint32_t right, uint32_t token, struct bl_error *e);
/* Adds a merge by names, at the latest with bl_merges_finish. BL_EFAIL: one of them, or both together, are not in the
 * vocabulary: merges->place says of which merge. */
int bl_merges_add(struct bl_merges *merges, const char *left, size_t left_size, const char *right, size_t right_size,
                  struct bl_error *e);
/* The same from "left right". */
int bl_merges_add_line(struct bl_merges *merges, const char *line, size_t size, struct bl_error *e);
/* Looks up the merges of the last batch. Call it after the last merge was added. */
int bl_merges_finish(struct bl_merges *merges, struct bl_error *e);
void bl_merges_free(struct bl_merges *merges);

#endif
