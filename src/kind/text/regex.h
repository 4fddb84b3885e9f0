/* Splitting text by a regular expression that is no known grammar, with PCRE2.
 *
 * PCRE2 knows the version of Unicode that the system's library was built with, which is not that of the released
 * tokenizers: bl_regex_warning says so. */
#ifndef BL_REGEX_H
#define BL_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/text/spans.h"

struct bl_regex;   /* a pattern; many threads share it */
struct bl_matcher; /* what matching needs; one for each thread, for any number of patterns */

/* What becomes of the matches, by the names and in the sense of tokenizer.json. */
enum bl_behavior {
    BL_BEHAVIOR_REMOVED,
    BL_BEHAVIOR_ISOLATED,
    BL_BEHAVIOR_MERGED_WITH_PREVIOUS,
    BL_BEHAVIOR_MERGED_WITH_NEXT,
    BL_BEHAVIOR_CONTIGUOUS
};

/* From "Isolated" and so on. BL_EFAIL: there is no such behavior. */
int bl_behavior_parse(const char *name, enum bl_behavior *behavior, struct bl_error *e);

/* literal: the pattern is the text itself, no expression. BL_EFAIL: PCRE2 cannot do it; the message has the offset. */
int bl_regex_open(struct bl_regex **regex, const char *pattern, size_t size, bool literal, struct bl_error *e);
void bl_regex_close(struct bl_regex *regex);

int bl_matcher_open(struct bl_matcher **matcher, struct bl_error *e);
void bl_matcher_close(struct bl_matcher *matcher);

/* Appends the pieces of a text (valid UTF-8), none of them empty. inverted: what does not match is taken for the
 * matches. BL_EFAIL: a match took more memory or steps than there are for it; the message has the offset in the text.
 */
int bl_regex_split(const struct bl_regex *regex, struct bl_matcher *matcher, enum bl_behavior behavior, bool inverted,
                   const char *text, size_t size, struct bl_spans *out, struct bl_error *e);

/* One sentence on PCRE2's version of Unicode. */
void bl_regex_warning(struct bl_buffer *out);

/* PCRE2's version and date. Returns out. */
#define BL_REGEX_VERSION_MAX 64
const char *bl_regex_version(char out[BL_REGEX_VERSION_MAX]);

#endif
