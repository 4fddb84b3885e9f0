/* Splitting text by the regular expressions of tokenizers, with PCRE2. The sections are the spans that are the result,
 * the stand-ins by which PCRE2 splits as by Unicode 16, the matching, and the translation of the expressions to PCRE2's
 * syntax.
 *
 * PCRE2 gets older code points in the place of those of Unicode 15 and 16, and noncharacters in the place of later
 * ones: ranges instead of properties would make it many times slower, and its own tables are as old as the system.
 *
 * A tokenizer calls bl_regex_open once for a pattern. Each thread calls bl_matcher_open once and bl_regex_split for
 * each text: "a1b" by "\d" with the behavior Isolated becomes the spans 0-1, 1-2, 2-3. */
#ifndef BL_REGEX_H
#define BL_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* --- spans -------------------------------------------------------------------------------------------------------- */

/* The spans of a text that a pre-tokenizer splits it into, in order. */

struct bl_span {
    size_t begin, end; /* bytes */
};

/* Start from {0}; set count to 0 to use it again. */
struct bl_spans {
    struct bl_span *span;
    size_t count, capacity;
};

/* Appends a span, which may be empty. BL_EFAIL: out of memory. */
int bl_spans_add(struct bl_spans *spans, size_t begin, size_t end, struct bl_error *e);
void bl_spans_free(struct bl_spans *spans);

/* What happens to the matches of a pattern, by the names of tokenizer.json and with their meaning. By "-", "a--b"
 * becomes: Removed: a b; Isolated: a - - b; MergedWithPrevious: a- - b; MergedWithNext: a - -b; Contiguous: a -- b. */
enum bl_behavior {
    BL_BEHAVIOR_REMOVED,
    BL_BEHAVIOR_ISOLATED,
    BL_BEHAVIOR_MERGED_WITH_PREVIOUS,
    BL_BEHAVIOR_MERGED_WITH_NEXT,
    BL_BEHAVIOR_CONTIGUOUS
};

/* Parses the name of a behavior, such as "Isolated". BL_EFAIL: there is no such behavior. */
int bl_behavior_parse(const char *name, enum bl_behavior *behavior, struct bl_error *e);

/* Splitting a text by matches: what the behavior makes of the pieces, which are added in order. */
struct bl_splitting {
    enum bl_behavior behavior;
    struct bl_spans *out;
    size_t first;  /* index in out of the first span of this text */
    bool previous; /* the last piece was a match */
};

/* Adds the next piece of the text: a match, or the text before, between or behind matches. BL_EFAIL: out of memory. */
int bl_splitting_add(struct bl_splitting *s, size_t begin, size_t end, bool match, struct bl_error *e);

/* --- stand-ins ---------------------------------------------------------------------------------------------------- */

/* Stand-ins: PCRE2 has the version of Unicode that the system's library was built with (14 in Debian 12), the released
 * tokenizers have Unicode 16 (tokenizers 0.23: Oniguruma 6.9.10; tiktoken 0.14: Rust's regex crates). So PCRE2 does not
 * see a code point that came with Unicode 15 or 16, but an older one of the same properties in its place, of as many
 * bytes. Where the matches are is the same. Nor does a newer PCRE2 see what came after Unicode 16, but noncharacters.
 *
 * A pattern may have a code point itself, or as the limit of a range, and so treat points of the same properties
 * differently: the stand-in of a point lies on the same side of each such limit. A few points have no older one of the
 * same script; the difference shows only in patterns with the name of that script. */

/* The code points that a pattern has in its own text, in no order. newer: PCRE2 has a later Unicode than 16. Start from
 * {0}. */
struct bl_pattern_points {
    uint32_t *point;
    size_t count, capacity;
    bool newer;
};

/* Collects the code points of a pattern in PCRE2's syntax, as bl_regex_translate writes it. */
int bl_pattern_points_read(struct bl_pattern_points *points, const char *pattern, size_t size, struct bl_error *e);
void bl_pattern_points_free(struct bl_pattern_points *points);

/* Sets *seen to what PCRE2 gets of a text (valid UTF-8): the text itself, or a copy of the same size in the buffer, if
 * a code point has a stand-in. */
int bl_stand_in_apply(const struct bl_pattern_points *points, const char *text, size_t size, struct bl_buffer *copy,
                      const char **seen, struct bl_error *e);

/* --- regular expressions ------------------------------------------------------------------------------------------ */

/* Splitting text with PCRE2, by a regular expression that is not a known grammar. Characters are split as by Unicode
 * 16, whatever version PCRE2 has, by the stand-ins. */

struct bl_regex;   /* a pattern; many threads share it */
struct bl_matcher; /* memory for matching: one for each thread, for any number of patterns */

/* Compiles a pattern of size bytes. literal: the pattern is plain text, not an expression. BL_EDATA: PCRE2 does not
 * support it; the message has the offset. */
int bl_regex_open(struct bl_regex **regex, const char *pattern, size_t size, bool literal, struct bl_error *e);
void bl_regex_close(struct bl_regex *regex);

/* Returns false if characters newer than Unicode 14 may be split differently than by the released tokenizers: PCRE2's
 * tables are older than that, or the pattern has a back-reference (\1), which takes two characters with the same
 * stand-in as equal. */
bool bl_regex_is_exact(const struct bl_regex *regex);

/* Whether the expression matches a text without characters: some engines find such matches at other places than PCRE2.
 */
bool bl_regex_matches_empty(const struct bl_regex *regex);

/* Allocates the memory for matching of one thread. BL_EFAIL: out of memory. */
int bl_matcher_open(struct bl_matcher **matcher, struct bl_error *e);
void bl_matcher_close(struct bl_matcher *matcher);

/* Going through the matches of a text; start from {0}. */
struct bl_matches {
    struct bl_span match;
    size_t at, done; /* where the search goes on, and where the last match ended */
    bool any;        /* there was one */
};

/* Sets *seen to the text in which bl_regex_next finds matches: it has the same size, and it is the matcher's where it
 * is not the text itself. */
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

/* --- translation of Oniguruma's syntax ---------------------------------------------------------------------------- */

/* Translates the regular expressions of tokenizer.json, which are Oniguruma's in Ruby's syntax, for PCRE2. */

/* Appends the pattern in PCRE2's syntax (for PCRE2_UTF, PCRE2_UCP and PCRE2_MULTILINE). BL_EDATA, with the offset: a
 * part has another meaning in PCRE2 and cannot be translated. What PCRE2 does not support is left to PCRE2 to refuse.
 */
int bl_regex_translate(const char *pattern, size_t size, struct bl_buffer *out, struct bl_error *e);

/* Returns the offset in the pattern of the element from which the byte at an offset of its translation comes. */
size_t bl_regex_origin(const char *pattern, size_t size, size_t translated);

#endif
