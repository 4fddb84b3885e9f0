/* The steps by which a tokenizer splits text into words: each splits the pieces of the step before.
 *
 * Steps that take consecutive words from a text are scanners, and fast ones: most tokenizers have just one of them.
 * The others rewrite a piece, or find its parts one by one. */
#ifndef BL_PRE_TOKENIZER_H
#define BL_PRE_TOKENIZER_H

#include "base/buffer.h"
#include "kind/text/bpe.h"
#include "kind/text/grammar.h"
#include "kind/text/regex.h"

enum bl_split_kind {
    /* Scanners. */
    BL_SPLIT_GRAMMAR,
    BL_SPLIT_SPACES, /* each space begins a word */
    BL_SPLIT_MERGES, /* between bytes that no merge joins */
    /* Others. */
    BL_SPLIT_REGEX,      /* by an expression, as the behavior says */
    BL_SPLIT_CHARACTERS, /* the same by single characters */
    BL_SPLIT_WORDS,      /* runs of word characters, and of others; white space is removed */
    BL_SPLIT_BERT,
    BL_SPLIT_SCRIPTS, /* where the script changes */
    BL_SPLIT_LENGTH,  /* of so many characters each */
    BL_SPLIT_NONE     /* the piece is only rewritten */
};

/* The characters of BL_SPLIT_CHARACTERS. */
enum bl_split_class { BL_CLASS_SPACE, BL_CLASS_PUNCTUATION, BL_CLASS_ONE };

/* Which pieces get a mark (a space or U+2581) if they do not begin with it. */
enum bl_prefix { BL_PREFIX_NEVER, BL_PREFIX_FIRST, BL_PREFIX_ALWAYS };

enum bl_rewrite {
    BL_REWRITE_NONE,
    BL_REWRITE_BYTES,  /* into the byte-level alphabet */
    BL_REWRITE_MARKS,  /* spaces become the mark */
    BL_REWRITE_SPACES, /* U+2581 becomes a space */
    BL_REWRITE_WORDS   /* as BL_REWRITE_SPACES; white space is removed, and each word gets a space */
};

/* A step: first the mark, then the rest is rewritten, then it is split. Start from {0}. */
struct bl_split {
    enum bl_split_kind kind;
    enum bl_grammar grammar;
    enum bl_prefix prefix;
    enum bl_rewrite rewrite;
    uint32_t mark;          /* code point */
    struct bl_regex *regex; /* owned by the tokenizer */
    enum bl_behavior behavior;
    bool inverted;
    enum bl_split_class class;
    uint32_t one;
    size_t length;
};

static inline bool bl_split_is_scanner(const struct bl_split *split)
{
    return split->kind <= BL_SPLIT_MERGES;
}

/* Rewrites a piece (valid UTF-8, not empty), into out if it changes. *head: the bytes at its beginning that stand for
 * the first character of the document, or 0. */
int bl_split_rewrite(const struct bl_split *split, const uint8_t **text, size_t *size, size_t *head,
                     struct bl_buffer *out, struct bl_error *e);

/* Only for scanners: splits text[*at, size) into at most max words. Sets end[i] to the offset where word i ends,
 * advances *at to the end of the last word and returns the number of words. bpe: only for BL_SPLIT_MERGES. */
size_t bl_split_scan(const struct bl_split *split, const struct bl_bpe *bpe, const uint8_t *text, size_t size,
                     size_t *at, size_t *end, size_t max);

/* Only for steps that are no scanners: appends the parts of a piece, none of them empty. */
int bl_split_find(const struct bl_split *split, struct bl_matcher *matcher, const uint8_t *text, size_t size,
                  struct bl_spans *out, struct bl_error *e);

/* Appends the words of BERT's pre-tokenizer: the parts between white space, and each punctuation character alone. The
 * text is valid UTF-8. */
int bl_bert_split(const char *text, size_t size, struct bl_spans *out, struct bl_error *e);

#endif
