/* The steps by which a tokenizer splits text into words: each step splits the pieces of the step before.
 *
 * Most tokenizers have one step only, and it takes consecutive words from the text: such a step is a scanner, and fast.
 * Other steps rewrite a piece, or find its parts one by one. For example, the text "it's 42" becomes "it", "'s", " 42"
 * by the grammar of GPT-2. */
#ifndef BL_PRE_TOKENIZER_H
#define BL_PRE_TOKENIZER_H

#include "base/buffer.h"
#include "kind/text/bpe.h"
#include "kind/text/grammar.h"
#include "kind/text/regex.h"

/* How a step splits a piece. The scanners come first (bl_split_is_scanner). */
enum bl_split_kind {
    /* Scanners, whose words cover the text. */
    BL_SPLIT_GRAMMAR, /* by a known expression, which grammar.h has as code */
    BL_SPLIT_SPACES,  /* each space begins a word */
    BL_SPLIT_MERGES,  /* between bytes that no merge joins */
    /* Other steps, which may also drop parts of the text. */
    BL_SPLIT_REGEX,      /* at the matches of an expression, as the behavior says */
    BL_SPLIT_CHARACTERS, /* at single characters of a class, as the behavior says */
    BL_SPLIT_WORDS,      /* runs of word characters and of other characters; white space is removed */
    BL_SPLIT_BERT,       /* see bl_bert_split */
    BL_SPLIT_SCRIPTS,    /* where the script changes */
    BL_SPLIT_LENGTH,     /* pieces of length characters, and a shorter last one */
    BL_SPLIT_NONE        /* the piece is only rewritten */
};

/* The characters at which BL_SPLIT_CHARACTERS splits: white space, punctuation, or the character `one`. */
enum bl_split_class { BL_CLASS_SPACE, BL_CLASS_PUNCTUATION, BL_CLASS_ONE };

/* The pieces that get a mark (a space or U+2581) at their beginning if they do not begin with it: none, those with the
 * first character of the document, or all. */
enum bl_prefix { BL_PREFIX_NEVER, BL_PREFIX_FIRST, BL_PREFIX_ALWAYS };

/* How a step rewrites a piece before it splits the piece. */
enum bl_rewrite {
    BL_REWRITE_NONE,
    BL_REWRITE_BYTES,  /* the piece is written in the byte-level alphabet */
    BL_REWRITE_MARKS,  /* spaces become the mark */
    BL_REWRITE_SPACES, /* U+2581 becomes a space */
    BL_REWRITE_WORDS   /* as BL_REWRITE_SPACES; white space is removed, and each word gets a space */
};

/* A step: the mark is added first, then the rest is rewritten, then the piece is split. Start from {0}. */
struct bl_split {
    enum bl_split_kind kind;
    enum bl_grammar grammar;
    enum bl_prefix prefix;
    enum bl_rewrite rewrite;
    uint32_t mark;             /* code point: a space or the replacement of Metaspace */
    struct bl_regex *regex;    /* of BL_SPLIT_REGEX; owned by the tokenizer */
    enum bl_behavior behavior; /* of REGEX and CHARACTERS: what happens to matches */
    bool inverted;             /* of REGEX: the matches are the parts between those of the expression */
    enum bl_split_class class;
    uint32_t one;  /* code point, of BL_CLASS_ONE */
    size_t length; /* characters, of BL_SPLIT_LENGTH: at least 1 */
};

static inline bool bl_split_is_scanner(const struct bl_split *split)
{
    return split->kind <= BL_SPLIT_MERGES;
}

/* Rewrites a piece (valid UTF-8, not empty). If it changes, *text and *size are set to the new piece in out, which is
 * cleared before. *head: the bytes at the beginning of the piece that come from the first character of the document, or
 * 0; the bytes of a mark are added to it. BL_EFAIL: memory ran out. */
int bl_split_rewrite(const struct bl_split *split, const uint8_t **text, size_t *size, size_t *head,
                     struct bl_buffer *out, struct bl_error *e);

/* Splits text[*at, size) into at most max words; only for scanners. Sets end[i] to the offset at which word i ends,
 * advances *at to the end of the last word and returns the number of words. bpe: for BL_SPLIT_MERGES only. */
size_t bl_split_scan(const struct bl_split *split, const struct bl_bpe *bpe, const uint8_t *text, size_t size,
                     size_t *at, size_t *end, size_t max);

/* Appends the parts of a piece to out, none of them empty; only for steps that are no scanners. matcher: memory for
 * BL_SPLIT_REGEX. Spans are byte offsets in the piece. */
int bl_split_find(const struct bl_split *split, struct bl_matcher *matcher, const uint8_t *text, size_t size,
                  struct bl_spans *out, struct bl_error *e);

/* Appends the words of BERT's pre-tokenizer: the parts between white space, and each punctuation character by itself.
 * The text is valid UTF-8. For example, "don't" has the words "don", "'" and "t". */
int bl_bert_split(const char *text, size_t size, struct bl_spans *out, struct bl_error *e);

#endif
