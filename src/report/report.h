/* Reports of a dataset, a view or a table of sequences, and the counts that they and other commands show. */
#ifndef BL_REPORT_H
#define BL_REPORT_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "kind/kind.h"
#include "report/card.h"
#include "report/tally.h"
#include "run/plan.h"
#include "store/info.h"
#include "store/sequences.h"

/* --- table of ranks ----------------------------------------------------------------------------------------------- */

/* What each rank gets in the steps of training: sequences, steps of them, and what attention costs, the sum of the
 * squared lengths. Rank r has block r of a step's blocks, and every world_size-th after it. */

/* Over the steps of training. */
struct bl_rank_range {
    int64_t least, most;
    double sum;
};

struct bl_rank {
    struct bl_rank_range sequences, steps, cost;
    int64_t present[3]; /* the same, of the present step of training */
};

/* Begin with bl_rank_table_open, end with bl_rank_table_free. */
struct bl_rank_table {
    int64_t world_size, batch_size;
    struct bl_rank *rank;   /* [world_size] */
    int64_t blocks;         /* added */
    int64_t steps;          /* of training, that all ranks have */
    double max_cost, costs; /* sums over steps: of the cost of the most expensive rank, and of the mean cost */
};

int bl_rank_table_open(struct bl_rank_table *ranks, int64_t world_size, int64_t batch_size, struct bl_error *e);
void bl_rank_table_free(struct bl_rank_table *ranks);

/* Adds the next block: its sequences and their steps, and the sum of the squares. */
void bl_rank_table_add(struct bl_rank_table *ranks, int64_t sequences, int64_t steps, int64_t cost);

/* Returns how much more the most expensive rank of a step costs than the mean of the ranks: 0.02 is 2 %. */
double bl_rank_table_imbalance(const struct bl_rank_table *ranks);

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Opens the table of a dataset, or the tables of the sources of a view as one table. Rows can be read. */
int bl_report_open_rows(const char *dir, const struct bl_manifest *manifest, struct bl_sequences *table,
                        struct bl_error *e);

/* --- reports ------------------------------------------------------------------------------------------------------ */

/* What `bload report` shows, gathered from the manifest, the tables and the index; of the shards only blocks that are
 * drawn are read. Memory: that of the table and one plan, bounded tallies, and the pictures. */

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
    struct bl_rank_table ranks;        /* of a dataset or view with several ranks; otherwise empty */
    struct bl_tally reasons;           /* status, tab, reason with "N" for numbers */
    struct bl_tally folders, sources;  /* rows by folder, and by file */
    struct bl_tally made;              /* ok rows by kind, tab, sampling, tab, decoder */
    struct bl_card card;               /* ok rows by label, language, and so on */
    int64_t sheets;                    /* blocks to draw; of a table none */
    struct bl_error damage;            /* the first that drawing them found; code 0: none */
};

/* Reads it. path: a directory, or a table. BL_EFAIL: it is none of them, unfinished, or cannot be read. Free with
 * bl_report_free, also after errors. */
int bl_report_read(struct bl_report *report, const char *path, bool is_table, struct bl_error *e);
void bl_report_free(struct bl_report *report);

/* Appends the page: HTML with inline style and pictures, without scripts and requests. Sets damage. */
int bl_report_format(struct bl_report *report, const struct bl_cancel *cancel, struct bl_buffer *out,
                     struct bl_error *e);

/* --- table as JSON ------------------------------------------------------------------------------------------------ */

/* A table of sequences summed up as JSON, for programs. */

/* Reads the table and appends {"table", "kind", "files", "bytes", "sequences", "steps", "longest", "hours", "skipped",
 * "empty", "failed", "damaged", "dropped", "fault_count", "totals", "reasons": [{"status", "reason", "rows", "first"}],
 * "run"}. run: the member, which it frees. Errors as of bl_sequences_open. */
struct json_t;
int bl_table_json(const char *path, struct json_t *run, struct bl_buffer *out, struct bl_error *e);

/* Sums of columns other than 0, as in the summary: {COLUMN: {"sum", "rows"}}. NULL: out of memory. */
struct json_t *bl_totals_json(const struct bl_totals *totals);

#endif
