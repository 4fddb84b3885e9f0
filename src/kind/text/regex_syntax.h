/* Regular expressions as tokenizer.json has them, which are Oniguruma's in Ruby's syntax, said in PCRE2's. */
#ifndef BL_REGEX_SYNTAX_H
#define BL_REGEX_SYNTAX_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* Appends the pattern in PCRE2's syntax (for PCRE2_UTF, PCRE2_UCP and PCRE2_MULTILINE). What PCRE2 would take in
 * another sense, and cannot be told otherwise, is BL_EFAIL with its offset; what it cannot take at all it says itself.
 */
int bl_regex_translate(const char *pattern, size_t size, struct bl_buffer *out, struct bl_error *e);

/* The offset in the pattern of what became the byte at this offset of its translation. */
size_t bl_regex_origin(const char *pattern, size_t size, size_t translated);

#endif
