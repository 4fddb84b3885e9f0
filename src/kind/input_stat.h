/* Whether an input is still the one that was scanned: the digest of its content, what the file system says of it, and
 * the check of a file around each piece that is read. */
#ifndef BL_INPUT_STAT_H
#define BL_INPUT_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/kind.h"

/* --- content digest ----------------------------------------------------------------------------------------------- */

/* The digest of an input's content, in 64 bits: the column content of the table, by which a file that was replaced by
 * one of the same size is noticed. It depends on bytes alone, not on times or inodes, and is the same on every machine.
 *
 * For a file: XXH3 of its size (8 bytes, little-endian) and its first and last 64 KiB, or all of it if it has at most
 * 128 KiB. For a folder of images: XXH3 of the names and these digests. For a document within a file: XXH3 of the
 * document. 0: not known. */

/* The digest of a file, by two reads; 0 if it cannot be opened. BL_EFAIL: the system fails. */
int bl_content_hash_file(const char *path, uint64_t *content, struct bl_error *e);

/* The digest of bytes in memory; size may be 0. */
uint64_t bl_content_hash(const void *data, size_t size);

/* Appends 16 hexadecimal digits, or nothing for 0. */
void bl_content_format(uint64_t content, struct bl_buffer *out);

/* Parses that; false: malformed. */
bool bl_content_parse(const char *text, uint64_t *content);

/* --- size and time ------------------------------------------------------------------------------------------------ */

/* What the file system says of an input: its size and time, and whether they have changed. kind may be NULL: one whose
 * inputs are files. */

/* Sets size and time of the file at input->path, or size and content of the folder if the kind takes folders.
 * *unusable: why it cannot be read, or NULL. BL_EFAIL: the system fails. */
int bl_input_stat(const struct bl_kind *kind, struct bl_input *input, const char **unusable, struct bl_error *e);

/* The same with the content of files. One that cannot be opened has none: its kind reports why. */
int bl_input_stat_content(const struct bl_kind *kind, struct bl_input *input, const char **unusable,
                          struct bl_error *e);

/* BL_EFAIL: the input changed while it was scanned. */
int bl_input_report_changed(const struct bl_input *input, struct bl_error *e);

/* Checks an input that was counted: BL_EFAIL if its size or time has changed. Nothing was read of a folder but what its
 * content is made of. */
int bl_input_recheck(const struct bl_kind *kind, const struct bl_input *input, struct bl_error *e);

/* --- check of files ----------------------------------------------------------------------------------------------- */

/* Checks before and after a piece of a file is read whether it is the file that was scanned. */

/* The state of one reader; initialize with {0}. It holds the last file whose content was right: that is not read again
 * while size and time stay the same. */
struct bl_file_check {
    struct bl_buffer path;
    int64_t bytes, modified;
    uint64_t content;
};

void bl_file_check_free(struct bl_file_check *check);

/* Calls reader->piece. BL_EFAIL also: the file changed while it was read, or is not the one that was scanned. Kinds
 * with a spool, or with folders, check that themselves. */
int bl_file_check_read(struct bl_file_check *check, const struct bl_kind *kind, struct bl_reader *reader,
                       const struct bl_request *request, struct bl_note *note, struct bl_error *e);

#endif
