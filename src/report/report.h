/* What `bload report` shows of a dataset, a view or a table of sequences, gathered from the manifest, the tables and
 * the index; of the shards only blocks that are drawn are read. Memory: that of the table and one plan, bounded
 * tallies, and the pictures. */
#ifndef BL_REPORT_H
#define BL_REPORT_H

#include "base/cancel.h"
#include "kind/kind.h"
#include "packing/compare_row.h"
#include "report/rank_table.h"
#include "report/tally.h"
#include "store/info.h"
#include "store/sequences.h"

#define BL_REPORT_FILLS 20                     /* ranges of a block's fill */
#define BL_REPORT_ROWS (BL_STRATEGY_BLOCK + 1) /* strategies of the paper */

struct bl_report {
    const char *path;
    bool is_table; /* sequences.tsv alone: of info only plan_info, hours, the histogram and counts are set */
    struct bl_info
        info; /* plan_info: of a table by the strategy block with T longest; without blocks if no row is ok */
    int64_t rows, by_status[4]; /* of the table, by enum bl_row_status */
    int64_t empty;              /* skipped rows that are not faults */
    struct bl_totals totals;    /* of the ok rows' columns, by the kind of the last */
    int64_t files, file_bytes;  /* of the sources: rows of one file that follow each other count once */
    struct bl_plan_info row[BL_REPORT_ROWS];
    int rows_compared;                 /* 0: of views, whose plans take parts of their sources */
    int64_t fill[BL_REPORT_FILLS + 1]; /* blocks by their steps of T: range i of 20, and those that are full */
    struct bl_rank_table ranks;        /* of a dataset or view with several; else without ranks */
    struct bl_tally reasons;           /* status, tab, reason with "N" for numbers */
    struct bl_tally folders, sources;  /* rows by folder, and by file */
    struct bl_tally made;              /* ok rows by kind, tab, sampling, tab, decoder */
    int64_t sheets;                    /* blocks to draw; of a table none */
    struct bl_error damage;            /* the first that drawing them found; code 0: none */
};

/* Reads it. path: a directory, or a table. BL_EFAIL: it is none of them, unfinished, or cannot be read. Free with
 * bl_report_free, also after errors. */
int bl_report_read(struct bl_report *report, const char *path, bool is_table, struct bl_error *e);
void bl_report_free(struct bl_report *report);

/* How long the ok rows of a table last, if they have a rate; else 0. */
double bl_report_hours(const struct bl_sequences *table);

/* Appends the page: HTML with inline style and pictures, without scripts and requests. Sets damage. */
int bl_report_format(struct bl_report *report, const struct bl_cancel *cancel, struct bl_buffer *out,
                     struct bl_error *e);

#endif
