/* Documents: the text of a file, cut at lines, blank lines or a separator, or the entire text; or its records
 * (base/records.h).
 *
 * Documents are streamed, with at most one of them in memory. A document has no separator at its end. Documents that
 * are cut at lines or blank lines also lose the \r of each \r\n, so that they are the same on every system. Other bytes
 * stay as they are.
 *
 * A large file is read in parts, by several workers. A document belongs to the part in which its first byte lies: the
 * part [begin, end) skips the end of the document before it, and reads its last document beyond end. */
#ifndef BL_DOCUMENTS_H
#define BL_DOCUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/records.h"

enum bl_division {
    BL_DIVISION_FILE,       /* the whole file is one document */
    BL_DIVISION_LINE,       /* each line, without its end: \n or \r\n */
    BL_DIVISION_BLANK_LINE, /* text between blank lines (nothing, or \r, before the \n), without its last line end */
    BL_DIVISION_SEPARATOR,  /* text between occurrences of a separator; a final separator begins no document */
    BL_DIVISION_JSON,       /* each element of an array; where the file begins with no [, as BL_DIVISION_LINE */
    BL_DIVISION_ROW,        /* each row of CSV or TSV that is not empty: the first has the names of the columns */
};

#define BL_SEPARATOR_MAX 4096 /* bytes */

struct bl_division_rule {
    enum bl_division by;
    const char *separator;
    size_t separator_size; /* bytes, 1 to BL_SEPARATOR_MAX with BL_DIVISION_SEPARATOR */
    char mark;             /* between the values of a row; 0: it follows from the file (bl_record_find_mark) */
    struct bl_record_places *places; /* for records */
};

struct bl_document {
    const char *text; /* valid until the next call */
    size_t size;
    int64_t offset; /* of its first byte in the (decompressed) file */
    bool too_long;  /* longer than the maximum; text is missing */
    bool ended;     /* by a separator; false for a last document that ends with the file */
    bool element;   /* of an array */
    int64_t line;   /* of a row: where it begins, from 1 */
    size_t ahead;   /* bytes from its first one on that have been read, at least its size */
};

struct bl_documents;

/* Opens the documents that begin at bytes begin <= offset < end of path. begin may differ from 0 only for uncompressed
 * files and not with BL_DIVISION_FILE; then all records before it are skipped, from the last known place on. max: bytes
 * of a document. cancel and the codes are those of bl_instream_open. path and the rule's texts must outlive the object.
 */
int bl_documents_open(struct bl_documents **documents, const char *path, const struct bl_division_rule *rule,
                      int64_t begin, int64_t end, int64_t max, const struct bl_cancel *cancel, struct bl_error *e);
void bl_documents_close(struct bl_documents *documents);

/* The mark between the values of a row. */
char bl_documents_mark(const struct bl_documents *documents);

/* Reads the next document. *found: false at the end. The codes are those of bl_instream_read, and BL_EDATA for wrong
 * text between the elements of an array, after which nothing is read. A damaged file first gives the documents that end
 * before the damage, and the last one if all bytes were decoded (bl_instream_is_whole), unless the file is one
 * document. */
int bl_documents_next(struct bl_documents *documents, struct bl_document *document, bool *found, struct bl_error *e);

/* Returns the bytes of the file that were read so far: compressed bytes if the file is compressed. */
int64_t bl_documents_read(const struct bl_documents *documents);

/* Reads the rest of standard input, as bl_instream_drain does. */
int bl_documents_drain(struct bl_documents *documents, uint64_t *checksum, struct bl_error *e);

/* Returns the offset at which the next document begins, or would begin. */
int64_t bl_documents_offset(const struct bl_documents *documents);

#endif
