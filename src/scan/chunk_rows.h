/* Chunks of a scan: the rows that are found in a chunk, which may wait in a file, and the form that all rows share. */
#ifndef BL_CHUNK_ROWS_H
#define BL_CHUNK_ROWS_H

#include "base/buffer.h"
#include "base/error.h"
#include "kind/row.h"
#include "scan/attributes.h"
#include "scan/chunks.h"
#include "scan/selection.h"
#include "scan/files.h"
#include "scan/part.h"

/* --- forms of steps ----------------------------------------------------------------------------------------------- */

/* Forms: type and shape of a step, of kinds that do not define them. The first row's form is that of all; rows of
 * another form are skipped. Rows must come in their order: at the end of a scan, or in the merge of many. */

/* Initialised to {0}. */
struct bl_forms {
    char *form, *id; /* of the first row; NULL: none yet */
};

/* Compares the form of the next row in order. Where it differs from the first, the row becomes skipped. text: holds the
 * reason. */
int bl_forms_check(struct bl_forms *forms, const char *form, struct bl_row *row, struct bl_buffer *text,
                   struct bl_error *e);
void bl_forms_free(struct bl_forms *forms);

/* --- spilling rows to a file -------------------------------------------------------------------------------------- */

/* A spill: text that grows in memory, and beyond 1 MiB in an unnamed file. A file may have many millions of rows, which
 * must not fill the memory while they wait to be written. What is read from the file is compared with its checksum. */

/* What was written at once. */
struct bl_spill_part {
    size_t bytes;
    uint64_t checksum;
};

struct bl_spill {
    const char *dir; /* of the file; NULL: $TMPDIR or /tmp */
    int fd;          /* -1: all of it is in memory */
    int64_t written; /* bytes in the file, before those in memory */
    struct bl_spill_part *part;
    size_t parts, parts_capacity;
    struct bl_buffer tail;
};

void bl_spill_init(struct bl_spill *spill, const char *dir);
/* To be called from time to time after appending to spill->tail. */
int bl_spill_flush(struct bl_spill *spill, struct bl_error *e);
/* In bytes. */
int64_t bl_spill_size(const struct bl_spill *spill);
/* Passes all of it to write. */
int bl_spill_drain(struct bl_spill *spill, int (*write)(void *sink, const void *data, size_t size, struct bl_error *e),
                   void *sink, struct bl_error *e);
void bl_spill_free(struct bl_spill *spill);

/* --- rows of a chunk ---------------------------------------------------------------------------------------------- */

/* The rows of one chunk. Each row that the kind finds is completed with what the scan knows, joined with attributes,
 * excluded or not, and counted. The rows wait as lines of the table until it is the turn of their chunk. */

/* What is the same for all rows of a scan. */
struct bl_row_rules {
    const struct bl_kind *kind;
    struct bl_buffer sampling;
    struct bl_buffer columns;         /* names of extra columns, a tab before each */
    struct bl_buffer missing;         /* their values in a row without any: a tab for each */
    struct bl_attributes *attributes; /* or NULL */
    struct bl_exclusion *exclusion;   /* or NULL */
    bool keeps_claims;                /* the lines of the attributes that were claimed are wanted */
    const char *temporary;            /* directory for what does not fit in memory, or NULL: $TMPDIR */
};

struct bl_chunk_fault {
    enum bl_row_status status;
    int64_t length;
    char *id, *path, *reason;
};

struct bl_chunk_rows {
    const struct bl_row_rules *rules;
    const struct bl_chunk_files *files;
    struct bl_scan_progress found;
    struct bl_spill lines;  /* of the table */
    struct bl_spill claims; /* line numbers of the attributes, one a line */
    struct bl_row held;     /* its form decides, or is compared, when the chunk's turn comes; form NULL: no such row */
    char *form, *reason, *extra; /* of that row */
    struct bl_chunk_fault *fault;
    size_t faults, capacity;
    struct bl_buffer id, joined, text, extra_text; /* scratch */
};

/* The rules and the files must outlive the rows. */
void bl_chunk_rows_init(struct bl_chunk_rows *rows, const struct bl_row_rules *rules,
                        const struct bl_chunk_files *files);
void bl_chunk_rows_free(struct bl_chunk_rows *rows);

/* The row that is held takes its place, after its form was compared with that of the scan's first row; forms NULL: it
 * is not compared. Does nothing where none is held. */
int bl_chunk_rows_release(struct bl_chunk_rows *rows, struct bl_forms *forms, struct bl_error *e);

/* A bl_row_emit; sink: the rows. */
int bl_chunk_rows_emit(void *sink, int input, const struct bl_row *given, struct bl_error *e);

/* Reports the faults. */
int bl_chunk_rows_report(const struct bl_chunk_rows *rows, bl_scan_fault *fault, void *sink, struct bl_error *e);

#endif
