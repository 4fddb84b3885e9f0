/* Subsets: the options that choose sequences of a table, and their application to tables in memory or on disk. */
#ifndef BL_SUBSET_H
#define BL_SUBSET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option.h"
#include "base/output.h"
#include "kind/kind.h"
#include "kind/row.h"
#include "kind/text/normal_form.h"
#include "scan/condition.h"
#include "scan/part.h"
#include "store/sequences.h"

/* --- options of subsets ------------------------------------------------------------------------------------------- */

/* The options of subsets and splits, as flags and YAML keys. */

#define BL_SPLIT_PARTS_MAX 16
#define BL_SHARE_ALL 100000000 /* 100 % in millionths of a percent */

struct bl_split {
    struct {
        const char *name; /* of size bytes, within the text of the option */
        size_t size;
        int64_t share; /* in millionths of a percent; all are BL_SHARE_ALL together */
    } part[BL_SPLIT_PARTS_MAX];
    int parts;
};

struct bl_subset_options {
    struct bl_texts extend;
    const char *extend_base; /* directory that these count from where they are relative; NULL: the working directory */
    struct bl_texts where;
    int64_t min_trained; /* 0: not given */
    bool dedup;
    struct bl_same_text dedup_by; /* without a key: not given */
    struct bl_split split;
    const char *split_by, *take;
    int64_t share; /* in millionths of a percent; 0: not given */
    int64_t first; /* 0: not given */
};

extern const struct bl_option bl_subset_option_table[];

/* Whether one of them is given. */
bool bl_subset_is_given(const struct bl_subset_options *options);

/* Checks what can be checked without a table: the conditions, and that --take names a part of --split. BL_EUSAGE. */
int bl_subset_check(const struct bl_subset_options *options, struct bl_error *e);

/* Whether a hash is within a share of all hashes. */
static inline bool bl_share_has(int64_t share, uint64_t hash)
{
    return (unsigned __int128)hash * BL_SHARE_ALL < (unsigned __int128)share << 64;
}

/* The part of a value of the column that is split by. */
int bl_split_part(const struct bl_split *split, const char *value);

/* Whether a value of the column that is shared by is in the share. */
bool bl_share_takes(int64_t share, const char *value);

/* Appends a share: "12.5%". */
void bl_share_format(int64_t share, struct bl_buffer *out);

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

/* A row, and the earlier one with the same content, or text. */
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
        notes; /* what else is to be told, such as values that are no numbers: lines; "" or NULL: nothing */
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
 * BL_EUSAGE: it lacks one; the message lists what it has. */
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

/* Has a table written, and writes it to out with the rows that are left out as dropped ones, and for --split with the
 * column split. If --extend leaves out some, none need be left. dir: where the first table may wait, or NULL: $TMPDIR.
 * Without options given, fill writes to out. Errors as above. */
int bl_subset_run(struct bl_subset *subset, const char *dir, bl_subset_fill *fill, void *context, struct bl_output *out,
                  struct bl_error *e);

#endif
