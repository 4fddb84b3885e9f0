/* Translates the regular expressions of tokenizer.json, which are Oniguruma's in Ruby's syntax, for PCRE2. */
#ifndef BL_REGEX_SYNTAX_H
#define BL_REGEX_SYNTAX_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* Appends the pattern in PCRE2's syntax (for PCRE2_UTF, PCRE2_UCP and PCRE2_MULTILINE). BL_EDATA, with the offset: a
 * part has another meaning in PCRE2 and cannot be translated. What PCRE2 does not support is left to PCRE2 to refuse.
 */
int bl_regex_translate(const char *pattern, size_t size, struct bl_buffer *out, struct bl_error *e);

/* The offset in the pattern from which the byte at an offset of its translation comes. */
size_t bl_regex_origin(const char *pattern, size_t size, size_t translated);

#endif
