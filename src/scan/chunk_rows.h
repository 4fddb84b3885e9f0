/* Collects the rows of a chunk of a scan, in memory or in a file, and checks that steps have one format. */
#ifndef BL_CHUNK_ROWS_H
#define BL_CHUNK_ROWS_H

#include "base/buffer.h"
#include "base/error.h"
#include "kind/kind.h"
#include "kind/row.h"
#include "scan/attributes.h"
#include "scan/chunks.h"
#include "scan/selection.h"
#include "scan/files.h"
#include "scan/part.h"

/* --- formats of steps --------------------------------------------------------------------------------------------- */

/* A format is the type and shape of a step, such as "F32 [3]", for kinds that do not define them. All rows must have
 * the format of the first row; the others are skipped. So formats are compared in the order of the rows: at the end of
 * a scan, or in the merge of its parts.
 *
 * A row that has own fields (kind/own) has a format for each of them that has steps, behind a tab: "F32 [3]\tpatches U8
 * [16, 3]". Each is compared with that of the first row which has one. */

struct bl_step_format {
    char *field;     /* the name of an own field; "": of the steps of sequences */
    char *form, *id; /* format and id of the first row */
};

/* Initialize with {0}. */
struct bl_step_formats {
    struct bl_step_format *first;
    size_t count, capacity;
};

/* Compares the formats of the next row with the first ones. If they differ, the row becomes a skipped row. text holds
 * the reason, so it must live as long as the row. */
int bl_step_formats_check(struct bl_step_formats *forms, const char *form, struct bl_row *row, struct bl_buffer *text,
                          struct bl_error *e);
void bl_step_formats_free(struct bl_step_formats *forms);

/* --- spilling rows to a file -------------------------------------------------------------------------------------- */

/* A spill is text that is kept in memory up to 1 MiB, and beyond that in an unnamed file. One input may have many
 * millions of rows, which must not fill the memory while they wait to be written. Data that is read back is compared
 * with checksums. */

/* One write to the file. */
struct bl_spill_part {
    size_t bytes;
    uint64_t checksum;
};

struct bl_spill {
    const char *dir; /* directory of the file; NULL: $TMPDIR or /tmp */
    int fd;          /* -1: all text is in memory */
    int64_t written; /* bytes in the file, before those in memory */
    struct bl_spill_part *part;
    size_t parts, parts_capacity;
    struct bl_buffer tail;
};

/* Makes an empty spill. dir: the directory of its file, or NULL; it must outlive the spill. */
void bl_spill_init(struct bl_spill *spill, const char *dir);
/* Moves the text to the file if it is long. Call it from time to time after appending to spill->tail. */
int bl_spill_flush(struct bl_spill *spill, struct bl_error *e);
/* Returns the bytes of the whole text. */
int64_t bl_spill_size(const struct bl_spill *spill);
/* Passes the whole text to write, in order. Returns BL_EFAIL if the file cannot be read or has another checksum. */
int bl_spill_drain(struct bl_spill *spill, int (*write)(void *sink, const void *data, size_t size, struct bl_error *e),
                   void *sink, struct bl_error *e);
void bl_spill_free(struct bl_spill *spill);

/* --- rows of a chunk ---------------------------------------------------------------------------------------------- */

/* The rows of one chunk. Each row that the kind finds is completed, joined with attributes, excluded if requested, and
 * counted. The rows wait as lines of the table until all earlier chunks are written. */

/* The parameters that all rows of a scan share. */
struct bl_row_rules {
    const struct bl_kind *kind;
    const void *config;
    struct bl_buffer sampling;
    struct bl_buffer columns;         /* names of extra columns, a tab before each */
    struct bl_buffer missing;         /* the values of a row without extra columns: a tab for each */
    struct bl_attributes *attributes; /* or NULL */
    struct bl_exclusion *exclusion;   /* or NULL */
    bool keeps_claims;                /* collect the line numbers of claimed attributes, for a part */
    const char *temporary;            /* directory for spills, or NULL: $TMPDIR */
};

struct bl_chunk_fault {
    enum bl_row_status status;
    int64_t length;
    char *id, *path, *reason;
};

struct bl_chunk_rows {
    const struct bl_row_rules *rules;
    const struct bl_chunk_files *files;
    const struct bl_kind_env *env; /* of the worker that counts the chunk; set before the first row */
    struct bl_counter *counter;    /* of the same worker, or NULL */
    struct bl_scan_progress found;
    struct bl_spill lines;  /* of the table */
    struct bl_spill claims; /* line numbers of the attributes, one a line */
    struct bl_row held; /* a row whose format is compared when all earlier chunks are written; form NULL: no such row */
    char *form, *reason, *extra; /* texts of that row */
    struct bl_chunk_fault *fault;
    size_t faults, capacity;
    struct bl_buffer id, joined, text, extra_text; /* scratch */
    struct bl_completion completion;               /* the same */
};

/* The rules and the files must outlive the rows. */
void bl_chunk_rows_init(struct bl_chunk_rows *rows, const struct bl_row_rules *rules,
                        const struct bl_chunk_files *files);
void bl_chunk_rows_free(struct bl_chunk_rows *rows);

/* Compares the format of the held row with that of the first row of the scan and adds the row to the lines. forms NULL:
 * it is not compared. Without a held row the function does nothing. */
int bl_chunk_rows_release(struct bl_chunk_rows *rows, struct bl_step_formats *forms, struct bl_error *e);

/* Adds a row that the kind found. The function is a bl_row_emit whose sink is the struct bl_chunk_rows. */
int bl_chunk_rows_emit(void *sink, int input, const struct bl_row *given, struct bl_error *e);

/* Calls fault for each collected fault, in order, until it returns an error. */
int bl_chunk_rows_report(const struct bl_chunk_rows *rows, bl_scan_fault *fault, void *sink, struct bl_error *e);

#endif
