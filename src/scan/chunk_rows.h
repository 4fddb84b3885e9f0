/* Chunks of a scan: the rows that are found in a chunk, the form that all rows share, and the batches of chunks that a
 * worker counts. */
#ifndef BL_CHUNK_ROWS_H
#define BL_CHUNK_ROWS_H

#include "base/buffer.h"
#include "base/error.h"
#include "kind/row.h"
#include "scan/attributes.h"
#include "scan/chunks.h"
#include "scan/condition.h"
#include "scan/files.h"
#include "scan/part.h"
#include "scan/scan.h"

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

/* Reports the faults. */
int bl_chunk_rows_report(const struct bl_chunk_rows *rows, bl_scan_fault *fault, void *sink, struct bl_error *e);

/* --- batches of chunks -------------------------------------------------------------------------------------------- */

/* Batches of chunks: what a worker gets at once. Most have one chunk. Files that are a chunk each are passed on several
 * at a time, since waking a worker and its decoder process takes as long as counting a short file.
 *
 * Chunks and their rows do not depend on the batch that they are in. */

/* A chunk and what was found in it. */
struct bl_batch_chunk {
    struct bl_chunk_files files;
    struct bl_part_chunk place; /* its number, where it begins and ends */
    struct bl_chunk_rows rows;
    bool counted; /* by the kind: there is something to be kept in the spool */
};

struct bl_batch {
    int chunks;
    int done;            /* chunks that were counted */
    int code;            /* BL_OK, or why the next one was not */
    int64_t needed;      /* bytes, by the worker's reservation */
    const char *slowest; /* path of the file that took longest, of those that were counted alone; or NULL */
    double slowest_seconds;
    struct bl_error error;         /* of the code */
    struct bl_batch_chunk chunk[]; /* [capacity] */
};

/* Returns NULL where memory runs out. The chunks are the caller's to fill in. */
struct bl_batch *bl_batch_make(int capacity);
void bl_batch_drop_last(struct bl_batch *batch);
void bl_batch_free(struct bl_batch *batch);

/* How many chunks a batch may have, so that each worker gets many. */
int bl_batch_capacity(const struct bl_scan *scan);

/* Counts the chunks. env: the worker's. meter: where their progress is reported; its size and weight are set for them,
 * by the weights of the scan. */
void bl_batch_count(struct bl_batch *batch, const struct bl_scan *scan, const struct bl_kind_env *env,
                    struct bl_counter *counter, const struct bl_meter *meter, struct bl_weights *weights);

#endif
