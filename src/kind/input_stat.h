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
 * document. For an object of a store: that of its size and ETag. 0: not known. */

/* Computes the digest of a file by two reads; 0 if the file cannot be opened. BL_EFAIL: the system fails. */
int bl_content_hash_file(const char *path, uint64_t *content, struct bl_error *e);

/* Returns the digest of bytes in memory; size may be 0. */
uint64_t bl_content_hash(const void *data, size_t size);

/* Appends 16 hexadecimal digits, or nothing for 0. */
void bl_content_format(uint64_t content, struct bl_buffer *out);

/* Parses the digits, or an empty text as 0. Returns false if the text is malformed. */
bool bl_content_parse(const char *text, uint64_t *content);

/* --- size and time ------------------------------------------------------------------------------------------------ */

/* The size and time of inputs, and whether they have changed. kind may be NULL: the input is a file. */

#define BL_REASON_MISSING "file not found" /* *unusable below, where there is no such file */

/* Sets size and time of the file at input->path, or size and content of the folder if the kind takes folders.
 * *unusable: the reason why it cannot be read, or NULL. BL_EFAIL: the system fails. */
int bl_input_stat(const struct bl_kind *kind, struct bl_input *input, const char **unusable, struct bl_error *e);

/* Does the same, and computes the content of files. A file that cannot be opened has none, and its kind reports why. */
int bl_input_stat_content(const struct bl_kind *kind, struct bl_input *input, const char **unusable,
                          struct bl_error *e);

/* Records and returns BL_EFAIL: the input changed while it was scanned. */
int bl_input_report_changed(const struct bl_input *input, struct bl_error *e);

/* Checks an input after it was counted: BL_EFAIL if its size or time has changed. Folders are not checked, since
 * counting reads only the files from which the content is computed. */
int bl_input_recheck(const struct bl_kind *kind, const struct bl_input *input, struct bl_error *e);

/* --- check of files ----------------------------------------------------------------------------------------------- */

/* A check around each piece of a file: the file must be the one that was scanned. */

/* The state of one reader; initialize with {0}. It holds the last file whose content was right. The content of that
 * file is not read again while its size and time stay the same. */
struct bl_file_check {
    struct bl_buffer path;
    int64_t bytes, modified;
    uint64_t content;
};

void bl_file_check_free(struct bl_file_check *check);

/* Calls reader->piece, with its errors. BL_EFAIL also: the file changed while it was read, or is not the one that was
 * scanned. Kinds with a spool or with folders check their files themselves. */
int bl_file_check_read(struct bl_file_check *check, const struct bl_kind *kind, struct bl_reader *reader,
                       const struct bl_request *request, struct bl_note *note, struct bl_error *e);

#endif
