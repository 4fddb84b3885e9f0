/* Records of a text that other programs wrote: CSV by RFC 4180, or TSV with the escapes of our own tables.
 *
 * CSV: values that hold a comma, a quote or a line's end stand in quotes, with each of their quotes doubled; lines end
 * in \n or \r\n. A byte order mark before the first value and lines with nothing in them are passed over. The whole
 * text is in memory; values are unquoted in place. */
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

struct bl_csv {
    struct bl_buffer text;
    size_t at; /* of the next record */
    bool tsv;
    int64_t line;      /* on which the record returned last begins, from 1 */
    int64_t next_line; /* on which the next one does */
    char **value;      /* of the record returned last, NUL-terminated; valid as long as the object */
    size_t values, capacity;
};

/* Reads the file, which may be gzip or zstd, and looks at all of it: BL_EDATA names the line of a zero byte or of what
 * is not UTF-8. A name in .tsv (or .tsv.gz, .tsv.zst) says TSV, any other CSV. cancel: as in base/instream.h. On error
 * the object is empty. */
int bl_csv_open(struct bl_csv *records, const char *path, const struct bl_cancel *cancel, struct bl_error *e);

/* 1: the next record is in value; 0: there is none. BL_EDATA says which line breaks the rules, and how. */
int bl_csv_next(struct bl_csv *records, struct bl_error *e);
void bl_csv_close(struct bl_csv *records);

#endif
