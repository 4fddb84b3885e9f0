/* Records of a text from other programs: CSV by RFC 4180, or TSV.
 *
 * CSV: values that contain a comma, a quote or a line end are quoted, and each quote in them is doubled. Lines end with
 * \n or \r\n. Where the first line has no comma but a semicolon or a tab, that is the mark between values. A TSV has
 * neither quotes nor escapes, but for a table of sequences of bload's own, which has the escapes of base/text.h. A byte
 * order mark at the start and empty lines are skipped. Only some MiB of the text are in memory; values are unquoted in
 * place. */
#ifndef BL_CSV_H
#define BL_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"

#define BL_CSV_MAX ((size_t)1 << 32)        /* bytes, decompressed */
#define BL_CSV_RECORD_MAX ((size_t)1 << 20) /* bytes of one record */

struct bl_instream;

struct bl_csv {
    struct bl_instream *stream;
    struct bl_buffer text; /* the part of the text that has been read and is not done */
    size_t at;             /* offset in it of the next record */
    size_t before;         /* bytes of the text before it */
    bool end;              /* nothing follows it */
    size_t checked;        /* bytes of it that are valid text */
    int64_t checked_line;  /* the line after these */
    bool tsv;
    bool escapes;      /* of a TSV: it is bload's own */
    char mark;         /* between two values */
    int64_t line;      /* where the last returned record begins, from 1 */
    int64_t next_line; /* where the next record begins */
    char **value;      /* of the last returned record, NUL-terminated; valid up to the next record */
    size_t values, capacity;
};

/* Opens the file, which may be gzip or zstd. A name that ends in .tsv (or .tsv.gz, .tsv.zst) means TSV, any other CSV.
 * cancel: as in base/instream.h. Errors are those of bl_csv_next, too; then the object is empty. path must outlive it.
 */
int bl_csv_open(struct bl_csv *records, const char *path, const struct bl_cancel *cancel, struct bl_error *e);

/* *found: value holds the next record; false at the end. BL_EDATA names the line that is malformed and says why; a zero
 * byte or invalid UTF-8 is told some MiB before its record. */
int bl_csv_next(struct bl_csv *records, bool *found, struct bl_error *e);

/* Bytes of the file read so far, compressed bytes if it is compressed. */
int64_t bl_csv_file_bytes(const struct bl_csv *records);
void bl_csv_close(struct bl_csv *records);

#endif
