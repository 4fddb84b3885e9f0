/* Splitting text with PCRE2, by a regular expression that is not a known grammar.
 *
 * PCRE2 has the version of Unicode that the system's library was built with, 14 in Debian 12. Characters are split as
 * by Unicode 16 nevertheless, which the released tokenizers have: stand_in.h. */
#ifndef BL_REGEX_H
#define BL_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/text/spans.h"

struct bl_regex;   /* a pattern; many threads share it */
struct bl_matcher; /* memory for matching: one for each thread, for any number of patterns */

/* literal: the pattern is plain text, not an expression. BL_EDATA: PCRE2 does not support it; the message has the
 * offset. */
int bl_regex_open(struct bl_regex **regex, const char *pattern, size_t size, bool literal, struct bl_error *e);
void bl_regex_close(struct bl_regex *regex);

/* False: characters that came after Unicode 14 may be split differently than by the released tokenizers, as PCRE2's
 * tables are older than that, or the pattern refers to what it matched before (\1), which stand-ins blur. */
bool bl_regex_is_exact(const struct bl_regex *regex);

/* Whether the expression matches a text without characters, which some engines find at other places than PCRE2. */
bool bl_regex_matches_empty(const struct bl_regex *regex);

int bl_matcher_open(struct bl_matcher **matcher, struct bl_error *e);
void bl_matcher_close(struct bl_matcher *matcher);

/* Going through the matches of a text; start from {0}. */
struct bl_matches {
    struct bl_span match;
    size_t at, done; /* where the search goes on, and where the last match ended */
    bool any;        /* there was one */
};

/* The text as matches are to be found in it: of the same size, and the matcher's where it is not the text itself. */
int bl_regex_see(const struct bl_regex *regex, struct bl_matcher *matcher, const char *text, size_t size,
                 const char **seen, struct bl_error *e);
/* Finds the next match in what bl_regex_see gave for a text (valid UTF-8). A match may be empty, but not right behind
 * the one before. BL_EFAIL: as below. */
int bl_regex_next(const struct bl_regex *regex, struct bl_matcher *matcher, const char *text, size_t size,
                  struct bl_matches *m, bool *found, struct bl_error *e);

/* Appends the pieces of a text (valid UTF-8), none of them empty. inverted: the text between the matches is treated as
 * the matches. BL_EFAIL: a match exceeded the limits of memory or steps; the message has the offset in the text. */
int bl_regex_split(const struct bl_regex *regex, struct bl_matcher *matcher, enum bl_behavior behavior, bool inverted,
                   const char *text, size_t size, struct bl_spans *out, struct bl_error *e);

#define BL_REGEX_VERSION_MAX 64

/* The version and date of PCRE2, and its version of Unicode. Both return out. */
const char *bl_regex_version(char out[BL_REGEX_VERSION_MAX]);
const char *bl_regex_unicode_version(char out[BL_REGEX_VERSION_MAX]);

#endif
