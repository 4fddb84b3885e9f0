/* The rows of one chunk. Each row that the kind finds is completed with what the scan knows, joined with attributes,
 * excluded or not, and counted; as lines of the table the rows wait until it is their chunk's turn. */
#ifndef BL_CHUNK_ROWS_H
#define BL_CHUNK_ROWS_H

#include "scan/attributes.h"
#include "scan/chunks.h"
#include "scan/exclusion.h"
#include "scan/forms.h"
#include "scan/progress.h"
#include "scan/spill.h"

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

/* A bl_row_emit; sink: the rows. */
int bl_chunk_rows_emit(void *sink, int input, const struct bl_row *row, struct bl_error *e);

/* The row that is held takes its place, after its form was compared with that of the scan's first row; forms NULL: it
 * is not compared. Does nothing where none is held. */
int bl_chunk_rows_release(struct bl_chunk_rows *rows, struct bl_forms *forms, struct bl_error *e);

/* Reports the faults. */
int bl_chunk_rows_report(const struct bl_chunk_rows *rows, bl_scan_fault *fault, void *sink, struct bl_error *e);

#endif
