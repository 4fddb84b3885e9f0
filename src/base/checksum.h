/* Checksums, and the texts that bload compares: files that end with their own checksum, and the lines that identify a
 * dataset. */
#ifndef BL_CHECKSUM_H
#define BL_CHECKSUM_H

#define XXH_STATIC_LINKING_ONLY /* for the size of the state, so that it can live on the stack */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/option.h"

/* --- checksum ----------------------------------------------------------------------------------------------------- */

/* Checksums of files and of parts of them: XXH3, 64 bits, written as 16 hexadecimal digits. */

#define BL_DIGEST_SIZE 17 /* 16 lower-case digits and a NUL */

/* Returns the checksum of size bytes. data may be NULL if size is 0. */
uint64_t bl_checksum(const void *data, size_t size);

/* A checksum of data that comes in pieces. Aligned to 64 bytes: keep it on the stack. */
struct bl_checksum_state {
    XXH3_state_t state;
};

/* begin, any number of adds, end: the result is bl_checksum of all the pieces together. */
void bl_checksum_begin(struct bl_checksum_state *state);
void bl_checksum_add(struct bl_checksum_state *state, const void *data, size_t size);
uint64_t bl_checksum_end(const struct bl_checksum_state *state);

void bl_checksum_format(uint64_t checksum, char digest[BL_DIGEST_SIZE]);

/* False unless text is 16 lower-case hexadecimal digits. */
bool bl_checksum_parse(const char *text, uint64_t *checksum);

/* --- files that end with their checksum --------------------------------------------------------------------------- */

/* Text files that end with a line "end 0123456789abcdef", which has the checksum of all bytes before it. They are
 * bload's own state in DIR/.bload: a run must not go on from a file that was cut off or edited. */

/* Appends the line to a text that ends with a newline, or gets one. */
int bl_sealed_close(struct bl_buffer *text, struct bl_error *e);

/* Checks the line of a text that was read from path, and removes it. BL_EFAIL: the text is not the one that was
 * written. */
int bl_sealed_open(struct bl_buffer *text, const char *path, struct bl_error *e);

/* --- identity lines ----------------------------------------------------------------------------------------------- */

/* The identity of a dataset has a line "name: value" for everything that decides its bytes, such as "block-size: 1024".
 * A run is resumed, extended or refused by comparing these lines, also by later versions of bload. */

/* Appends "name: value" and a newline. The value is escaped as in a table, so that it stays on one line. */
void bl_option_identity(const struct bl_option_group *group, const struct bl_option *option, struct bl_buffer *out);

/* Returns whether the option has a line in the identity: false for a young option at its default value. out: the text
 * of the lines, which fails where memory for the comparison ran out. */
bool bl_option_is_listed(const struct bl_option_group *group, const struct bl_option *option, struct bl_buffer *out);

/* Marks the group that is bound to these values as idle: its options are not part of the identity. */
void bl_options_mark_idle(struct bl_options *o, const void *values);

/* Appends a "name: value" line for every option that affects something, except in idle groups: the identity of a
 * dataset. */
void bl_options_identity(const struct bl_options *o, struct bl_buffer *out);

/* Appends the lines of the options that affect exactly this. */
void bl_options_identity_of(const struct bl_options *o, enum bl_affects affects, struct bl_buffer *out);

/* Returns the value in the line of that name and its size; NULL: there is no such line. */
const char *bl_identity_value(const char *lines, const char *name, size_t name_size, size_t *size);

/* Compares the lines of a dataset with the wanted ones. BL_EUSAGE names the first difference. what: start of the
 * message, "DIR holds a dataset". */
int bl_identity_compare(const char *there, const char *wanted, const char *what, struct bl_error *e);

/* Compares the lines of an earlier stage, as a scan is for a run. Each line must be among the wanted ones, except
 * "inputs" and "tasks", which only that stage has. Errors as bl_identity_compare. */
int bl_identity_within(const char *there, const char *wanted, const char *what, struct bl_error *e);

#endif
