/* Builds a vocabulary and its list of BPE merges from a tokenizer file, which writes both as texts in an alphabet.
 *
 * A merge such as "th e" names two tokens, and joins them to the token "the". A vocabulary with 250,000 merges needs
 * 750,000 lookups, so merges are looked up in batches: bl_merges_open, bl_merges_add for each merge, bl_merges_finish,
 * then bl_bpe_from_merges with the list, and bl_merges_free. */
#ifndef BL_MERGES_H
#define BL_MERGES_H

#include "kind/text/tokenizer_parts.h"
#include "kind/text/tokenizer_readers.h"

#define BL_MERGES_WAITING 64 /* merges of a batch: enough to hide the latency of memory */

/* The name of the left or right token of a merge. */
struct bl_merge_side {
    size_t size; /* bytes */
    uint64_t hash;
    size_t name; /* number of the name that the hash suggests, not yet compared; SIZE_MAX: none */
};

/* A merge of the batch, whose names are not looked up yet. */
struct bl_merge_names {
    size_t at; /* offset of the left name in merges->text; the right one follows */
    struct bl_merge_side left, right;
    size_t place; /* of the merge in the file, for messages */
};

/* The list of merges, while it is read. */
struct bl_merges {
    const struct bl_vocabulary *names, *v; /* tokens as the file writes them, and as bytes */
    uint32_t *token;                       /* number in v of each name; BL_NO_TOKEN: the name never occurs in text */
    bool suffixed;                         /* names that end words have a suffix */
    struct bl_merge *merge;                /* in the order of the file, which is their priority */
    size_t count, capacity;
    size_t
        place; /* number in the file of the merge to add, set by the caller; after an error, of the merge that failed */
    size_t last; /* number of the name that the last merge made */
    /* The batch: the table of names is prefetched for all its merges before the first lookup. */
    struct bl_merge_names wait[BL_MERGES_WAITING];
    size_t waiting;
    struct bl_buffer text; /* the names of the batch */
};

/* Fills the tokenizer's vocabulary from names. token: as in struct bl_merges, or NULL. BL_EFAIL: names is empty, or two
 * tokens have the same bytes. */
int bl_merges_vocabulary(struct bl_tokenizer *tokenizer, const struct bl_vocabulary *names, uint32_t *token,
                         struct bl_error *e);

/* Fills the vocabulary by bl_merges_vocabulary, and begins a list of merges. names and the tokenizer must outlive the
 * list. Call bl_merges_free also after an error. */
int bl_merges_open(struct bl_merges *merges, struct bl_tokenizer *tokenizer, const struct bl_vocabulary *names,
                   struct bl_error *e);
/* Adds a merge by the numbers of its tokens in v. */
int bl_merges_add_tokens(struct bl_merges *merges, uint32_t left, uint32_t right, uint32_t token, struct bl_error *e);
/* Adds a merge by its names, at the latest with bl_merges_finish; the names are copied. BL_EFAIL: one of them, or both
 * together, is not in the vocabulary. merges->place is then the number of that merge, which may be an earlier one. */
int bl_merges_add(struct bl_merges *merges, const char *left, size_t left_size, const char *right, size_t right_size,
                  struct bl_error *e);
/* Adds a merge from a line "left right". BL_EFAIL: the line is none, or as bl_merges_add. */
int bl_merges_add_line(struct bl_merges *merges, const char *line, size_t size, struct bl_error *e);
/* Looks up the merges of the last batch. Call it after the last merge was added. */
int bl_merges_finish(struct bl_merges *merges, struct bl_error *e);
void bl_merges_free(struct bl_merges *merges);

#endif
