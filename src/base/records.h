/* Records in text files: a reader of CSV and TSV, and a search for where records of JSON, CSV and TSV begin and end.
 *
 * The reader of CSV is not libcsv, since messages name the line, lone returns, zero bytes and invalid UTF-8 are
 * refused, and nothing is trimmed. */
#ifndef BL_RECORDS_H
#define BL_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"

/* --- reading CSV and TSV ------------------------------------------------------------------------------------------ */

/* Records of a text from other programs: CSV by RFC 4180, or TSV.
 *
 * CSV: values that contain a comma, a quote or a line end are quoted, and each quote in them is doubled. Lines end with
 * \n or \r\n. If the first line has no comma, and a semicolon or a tab instead, that is the mark between values. A TSV
 * has neither quotes nor escapes. A table of sequences of bload's own is an exception: it has the escapes of
 * base/text.h. A byte order mark at the start and empty lines are skipped. Only 4 MiB of the text are in memory; values
 * are unquoted in place. Example: the record
 *
 *     3,"a ""b"", c"
 *
 * has the values 3 and a "b", c. */

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

/* *found: value holds the next record; false at the end. BL_EDATA names the line that is malformed and says why. A zero
 * byte, or invalid UTF-8, is reported when it is read, which is up to 4 MiB before its record. */
int bl_csv_next(struct bl_csv *records, bool *found, struct bl_error *e);

/* Bytes of the file read so far, compressed bytes if it is compressed. */
int64_t bl_csv_file_bytes(const struct bl_csv *records);

/* Closes the file and frees all memory. An object that failed to open, or {0}, is accepted. */
void bl_csv_close(struct bl_csv *records);

/* --- bounds of records -------------------------------------------------------------------------------------------- */

/* Records: the elements of a JSON array, and the rows of CSV or TSV (RFC 4180). Where a record ends follows only from
 * where it begins, and where it begins follows only from all the text before it in the file. */

/* The scan of one record: {0} at its first byte. */
struct bl_record_scan {
    int64_t depth;        /* of brackets that are open */
    bool quoted, escaped; /* within a string; behind a backslash in it */
    int state;            /* within a row */
    int64_t lines;        /* line ends so far, of a row */
};

/* Scans an element of an array on, from text[from] up to text[size]. True: it ends before text[*stop]. A string ends
 * with its line, at the latest: JSON has no line ends in strings. */
bool bl_record_element_end(struct bl_record_scan *s, const char *text, size_t from, size_t size, size_t *stop);

/* Scans a row on. True: it ends before text[*stop], and the next may begin at text[*next]. Lines end with \n, \r\n or
 * \r; those in quotes belong to the value. */
bool bl_record_row_end(struct bl_record_scan *s, char mark, const char *text, size_t from, size_t size, size_t *stop,
                       size_t *next);

/* Returns whether the row that was scanned up to the end of the file ends with a \r that belongs to its line end. */
bool bl_record_row_has_return(const struct bl_record_scan *s);

/* Returns the mark between two values of a CSV, by the text of its first line outside quotes: a comma if there is one,
 * otherwise a semicolon, otherwise a tab, and a comma if there is none of them. */
char bl_record_find_mark(const char *text, size_t size);

struct bl_record_value {
    const char *text; /* in the row, without the quotes around it */
    size_t size;
    bool doubled;      /* there are doubled quotes in it */
    const char *fault; /* the fault of the value, with advice; or NULL */
};

/* Reads the value at *at of a row, from 0 on, and moves *at to the next one. False: there is none, as after a fault. */
bool bl_record_next_value(const char *row, size_t size, char mark, size_t *at, struct bl_record_value *value);

/* The known places at which records of files begin. A worker that looks for the first record of a part begins at the
 * last known place before the part, so that the workers of a file do not all read it from its beginning. The object has
 * a lock: many threads may use it. */
struct bl_record_places;

struct bl_record_place {
    int64_t offset; /* 0: the beginning of the file */
    int64_t line;   /* from 1; of a row */
};

/* Makes an empty set of places. BL_EFAIL: out of memory. */
int bl_record_places_open(struct bl_record_places **places, struct bl_error *e);
void bl_record_places_close(struct bl_record_places *places); /* or NULL */

/* Adds the place of a record in a file. Only the last 1,024 places are kept. */
void bl_record_places_add(struct bl_record_places *places, const char *path, const struct bl_record_place *place);

/* Returns the last place at or before offset. */
struct bl_record_place bl_record_places_find(struct bl_record_places *places, const char *path, int64_t offset);

#endif
