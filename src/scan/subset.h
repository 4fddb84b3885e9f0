/* Chooses the rows of a subset, in tables in memory or on disk.
 *
 * Subsets are taken from the whole table, before it gets its name: the first N rows, and rows with equal content,
 * depend on all rows before them. So tasks, given tables and a single scan agree, and a resumed run finds the table
 * as it was. Shares and parts follow from XXH3 of the id, in exact arithmetic: they do not change when data is added,
 * and other programs can compute them. */
#ifndef BL_SUBSET_H
#define BL_SUBSET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/output.h"
#include "kind/kind.h"
#include "kind/row.h"
#include "scan/extend.h"
#include "scan/part.h"
#include "scan/selection.h"
#include "store/row_reader.h"
#include "store/sequences.h"

/* --- subsets ------------------------------------------------------------------------------------------------------ */

/* Which of the usable sequences of a table are taken. In this order: those that are not excluded by their ids, those
 * that given datasets do not hold (--extend), conditions (--where), sequences with enough trained steps
 * (--min-trained), with another content (--dedup) or text (--dedup-by) than those before, one part (--split, --take), a
 * share by a hash (--share), the first (--first). A row that is left out becomes dropped, with a reason that names the
 * option.
 *
 * The whole table must be there, since two of the options need its order: tasks that scan parts of the inputs leave the
 * subset to the process that merges their parts. Memory: two bytes a row, and with --dedup and --dedup-by up to 32 more
 * each. */

/* A row, and the first earlier row with the same content or text. */
struct bl_twin {
    size_t row, first;
};

#define BL_REPEATS_FILES 5

/* The files with the most sequences that --dedup-by leaves out. */
struct bl_repeats {
    struct bl_repeats_file {
        char *path;
        int64_t rows;
    } file[BL_REPEATS_FILES + 1]; /* the most first; the last one is that of the rows that are looked at */
    int64_t rows, files;          /* in all */
};

/* Set the first members, then call bl_subset_open or bl_subset_run; free with bl_subset_free, also after an error. */
struct bl_subset {
    const struct bl_subset_options *options;
    struct bl_exclusion *exclusion; /* ids that are left out first, or NULL */
    const char *const *source;      /* of each file of the table: a name that may be before its ids there, "SOURCE/ID";
                                       or NULL */
    const char *base;               /* directory that the table's relative paths count from, or NULL */
    const struct bl_kind *kind;     /* of the rows, for their totals; or NULL */
    const struct bl_cancel *cancel; /* or NULL */
    void (*tick)(void *sink, int64_t row, int64_t rows); /* before a row is looked at, of all with --dedup; or NULL */
    void *sink;

    struct bl_left_out_counts left_out; /* rows that these options leave out */
    struct bl_buffer
        notes; /* further messages for the user, such as values that are no numbers: lines; "" or NULL: nothing */
    struct bl_scan_progress found; /* bl_subset_run: counts of the rows that were written */

    uint8_t *mark; /* [count] why a row is left out, or 0 */
    uint8_t *part; /* [count] for --split: the part of each usable row; or NULL */
    size_t count;
    struct bl_twin *twin; /* [twins] by row */
    size_t twins, capacity;
    struct bl_condition condition[BL_TEXTS_MAX];
    int conditions;
    int64_t no_number[BL_TEXTS_MAX]; /* values that are none, of each condition */
    int64_t no_content;              /* rows without a digest, for --dedup */
    int64_t no_text, texts;          /* rows without a text, and with one, for --dedup-by */
    struct bl_repeats repeats;
};

void bl_subset_free(struct bl_subset *subset);

/* Checks that a table with this header line has the columns that the options need. name: of the table, for messages.
 * BL_EUSAGE: a column is missing; the message lists those that the table has. */
int bl_subset_check_header(const struct bl_subset_options *options, const char *header, const char *name,
                           struct bl_error *e);

/* Opens tables as bl_sequences_open_columns; rows that are left out are not ok there, and the parts of --split are the
 * groups of a column split that they lack. "-" and pipes may be among them, which are copied. Without options given it
 * only opens them. BL_EUSAGE also: a column is missing, or is another split; BL_EFAIL: no sequence is left, or files
 * cannot be compared. */
int bl_subset_open(struct bl_subset *subset, struct bl_sequences *table, const char *const *paths, int count,
                   const struct bl_sequences_columns *columns, struct bl_error *e);

/* Writes a table, header line first. */
typedef int bl_subset_fill(void *context, struct bl_output *out, struct bl_error *e);

/* Calls fill to write a table, and writes this table to out, with left-out rows as dropped rows and, for --split, with
 * the column split. If --extend leaves out rows, the result may have no usable row. dir: folder for the first table, or
 * NULL for $TMPDIR. Without given options, fill writes directly to out. Errors as of bl_subset_open. */
int bl_subset_run(struct bl_subset *subset, const char *dir, bl_subset_fill *fill, void *context, struct bl_output *out,
                  struct bl_error *e);

/* --- the choice --------------------------------------------------------------------------------------------------- */

#define BL_SUBSET_SPLIT "split" /* the column */

/* Marks are enum bl_left_out, or from here on the number of a condition, then that of a dataset. */
#define BL_SUBSET_MARK_CONDITION BL_LEFT_OUT_OPTIONS
#define BL_SUBSET_MARK_HELD (BL_SUBSET_MARK_CONDITION + BL_TEXTS_MAX)
#define BL_SUBSET_MARK_EXCLUDED UINT8_MAX /* BL_LEFT_OUT_EXCLUDE is 0, which marks nothing */

/* The state of choosing rows, one at a time. Set subset and table; free with bl_subset_choice_free. */
struct bl_subset_choice {
    struct bl_subset *subset;
    const struct bl_sequences *table;
    struct bl_row_reader text, twin;
    struct bl_buffer value, named;
    struct bl_hash seen;          /* rows by their content */
    struct bl_hash seen_text;     /* rows by their text */
    struct bl_buffer same_column; /* which has the texts, or their digests */
    bool is_digest;
    struct bl_buffer same_value[2]; /* values of the two rows that are compared */
    struct bl_same_text_buffers same[2];
    struct bl_extend extend;
    uint8_t part;                  /* part of the last row, for --split */
    struct bl_buffer bundle_value; /* of the last row in the column of --together */
    struct bl_groups bundles;
    struct bl_subset_bundle *bundle; /* [bundles.count] what was decided about the earlier rows of each bundle */
    size_t bundle_capacity;
    int64_t chosen;
};

void bl_subset_choice_free(struct bl_subset_choice *choice);

/* Returns whether the table has a column of that name. */
bool bl_subset_has_column(const struct bl_columns *columns, const char *name);

/* Returns the option of a mark. */
enum bl_left_out bl_subset_mark_option(uint8_t mark);

/* The name of the row's part: of --split, which a column of that name must confirm, or otherwise of that column.
 * Without either it is empty. BL_EUSAGE: they differ. */
int bl_subset_choice_part(struct bl_subset_choice *choice, struct bl_buffer *part, struct bl_error *e);

/* Sets the subset's marks, parts, twins, counts and notes. may_be_held: none need be left if a dataset holds some.
 * Errors as of bl_subset_open. */
int bl_subset_choose(struct bl_subset *subset, const struct bl_sequences *table, bool may_be_held, struct bl_error *e);

#endif
