/* Records of a text from other programs: CSV by RFC 4180, or TSV with the escapes of bload's own tables.
 *
 * CSV: values that contain a comma, a quote or a line end are quoted, and each quote in them is doubled. Lines end with
 * \n or \r\n. A byte order mark at the start and empty lines are skipped. The whole text is in memory; values are
 * unquoted in place. */
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
    size_t at; /* offset of the next record */
    bool tsv;
    int64_t line;      /* where the last returned record begins, from 1 */
    int64_t next_line; /* where the next record begins */
    char **value;      /* of the last returned record, NUL-terminated; valid as long as the object */
    size_t values, capacity;
};

/* Reads the file, which may be gzip or zstd, and checks all of it. BL_EDATA names the line of a zero byte or of invalid
 * UTF-8. A name that ends in .tsv (or .tsv.gz, .tsv.zst) means TSV, any other CSV. cancel: as in base/instream.h. On
 * error the object is empty. */
int bl_csv_open(struct bl_csv *records, const char *path, const struct bl_cancel *cancel, struct bl_error *e);

/* *found: value holds the next record; false at the end. BL_EDATA names the line that is malformed and says why. */
int bl_csv_next(struct bl_csv *records, bool *found, struct bl_error *e);
void bl_csv_close(struct bl_csv *records);

#endif
