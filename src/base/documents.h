/* Documents: a file's text, cut at lines, blank lines or a separator, or whole; streamed, with no more in memory than
 * one document. Bytes stay as they are: only what separates documents is left out. */
#ifndef BL_DOCUMENTS_H
#define BL_DOCUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"

enum bl_division {
    BL_DIVISION_FILE,       /* all of it is one document */
    BL_DIVISION_LINE,       /* each line, without its \n */
    BL_DIVISION_BLANK_LINE, /* what lies between blank lines (nothing, or \r, before the \n), without its last \n */
    BL_DIVISION_SEPARATOR,  /* what lies between occurrences of a text; behind the last one at the end nothing begins */
};

#define BL_SEPARATOR_MAX 4096 /* bytes */

struct bl_division_rule {
    enum bl_division by;
    const char *separator;
    size_t separator_size;
};

struct bl_document {
    const char *text; /* valid until the next call */
    size_t size;
    int64_t offset; /* of its first byte in the (decompressed) file */
    bool too_long;  /* longer than allowed: no text */
    bool ended;     /* by what separates; false for the last one where the file simply ends */
};

struct bl_documents;

/* The documents that begin at bytes begin <= offset < end of path; other begins than 0 only of plain files, and not
 * where a file is a document. max: bytes of a document. cancel: as bl_instream_open. path and the rule's texts outlive
 * it. Codes as bl_instream_open.
 */
int bl_documents_open(struct bl_documents **documents, const char *path, const struct bl_division_rule *rule,
                      int64_t begin, int64_t end, int64_t max, const struct bl_cancel *cancel, struct bl_error *e);
void bl_documents_close(struct bl_documents *documents);

/* 1 and a document, 0 at the end, or a code as bl_instream_read. */
int bl_documents_next(struct bl_documents *documents, struct bl_document *document, struct bl_error *e);

/* Bytes of the file that were read so far, from its beginning: of a compressed one, compressed. */
int64_t bl_documents_read(const struct bl_documents *documents);

/* As bl_instream_drain. */
int bl_documents_drain(struct bl_documents *documents, uint64_t *checksum, struct bl_error *e);

/* Where the next document begins, or would. */
int64_t bl_documents_offset(const struct bl_documents *documents);

#endif
