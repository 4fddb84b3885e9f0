/* What the parts of `bload pack` share: the command itself (pack.c), the table of its inputs (pack_table.c), what makes
 * a dataset the same as the one that is there (pack_identity.c), what it lacks (pack_repair.c), plan and format
 * (pack_plan.c), and attributes (pack_attributes.c). */
#ifndef BL_PACKING_H
#define BL_PACKING_H

#include "base/output.h"
#include "base/pipe_copy.h"
#include "cmd/cmd.h"
#include "cmd/inputs.h"
#include "run/finish.h"
#include "run/options.h"
#include "run/progress.h"
#include "run/state.h"
#include "run/task.h"
#include "store/format.h"
#include "store/missing.h"
#include "store/manifest.h"
#include "store/sequences.h"
#include "store/attribute_values.h"

struct bl_packing {
    bool print_config;
    struct bl_task task;
    struct bl_pack_options options;
    struct bl_plan_options plan_options;
    struct bl_inputs inputs;
    char *output; /* the dataset's directory as it is to be opened */
    char *sequences_path, *plan_path;
    char *table_given; /* what --sequences said; the path above is that of what is held of it, if anything is */
    struct bl_pipe_copy held;
    struct bl_buffer identity;
    struct bl_kind_env env;
    bool simd_unset; /* the level was not said: whoever begins the dataset decides */
    struct bl_state state;
    char *spool;        /* directory of --spool, or the state's own: owned only in the first case */
    int64_t suppressed; /* faults of the scan that were not told one by one */
    struct bl_sequences table;
    struct bl_plan plan;
    struct bl_plan_info plan_info; /* of the plan: its own, where one was given */
    struct bl_format format;
    struct bl_manifest manifest;    /* the draft of it */
    int64_t shard_begin, shard_end; /* this task's, or all */
    bool repair;                    /* --repair */
    bool repairing;                 /* the dataset is finished, but lacks shards: */
    struct bl_missing missing;
    struct bl_attribute_values values; /* of the format's attributes */
    struct bl_buffer attributes_said;  /* which columns became attributes, for the summary */
    int workers, slots;
    int64_t memory; /* that is left for the page cache */
    struct bl_progress progress;
    struct bl_heartbeat heartbeat;
    int64_t useless; /* inputs of no use so far: skipped or failed */
    uint8_t *failed; /* a bit per sequence: it has been told, for an earlier piece */
    bool partial;    /* decides the status that BL_OK ends with */
    struct bl_finished finished;
    struct bl_progress run; /* all of it, for its rate: never shown */
    int64_t steps;          /* read in this run */
};

/* Shows how it goes, to who looks on and in the heartbeat, if it is time to. */
void bl_packing_tick(struct bl_packing *p);

/* Whether the options that do not depend on the inputs agree, and -T is given. BL_EUSAGE. */
int bl_packing_check_options(struct bl_cmd *cmd, const struct bl_packing *p);

/* Settles which kind is in use, by the files or by the table that was given. None: the table does not say. */
int bl_packing_kind(struct bl_cmd *cmd, struct bl_packing *p);

/* Gets the table of the scan in DIR/.bload: made now, copied from --sequences, or found there and compared with the
 * inputs. It must be of one kind, and scanned as the options say. */
int bl_packing_table(struct bl_cmd *cmd, struct bl_packing *p);

/* Makes the plan, or takes the one that was given or that others left in DIR/.bload; a task leaves its own there.
 * BL_EUSAGE: the one that was given is not what the options say. */
int bl_packing_plan(struct bl_cmd *cmd, struct bl_packing *p);

/* The layout of the shards. */
int bl_packing_format(struct bl_packing *p, struct bl_error *e);

/* The draft of the manifest, which lies in DIR/.bload from then on. */
int bl_packing_draft(struct bl_packing *p, struct bl_error *e);

/* No column of the table of attributes may be called like a tensor that the shards will have. BL_EUSAGE. */
int bl_packing_check_attributes(const struct bl_packing *p, struct bl_error *e);

/* Makes attributes of the format out of those columns of the table of attributes that are numbers, once the table is
 * there. */
int bl_packing_attributes(struct bl_packing *p, struct bl_error *e);

/* Which they are, and which columns are text, for the summary. */
void bl_packing_print_attributes(const struct bl_packing *p);

/* An input was found to be of no use, or damaged: BL_EFAIL when that is one too many, by --on-error and --max-failed.
 */
int bl_packing_tolerate(struct bl_packing *p, const struct bl_row *row, const char *reason, int64_t inputs,
                        struct bl_error *e);
int bl_packing_tolerate_damage(const struct bl_packing *p, const struct bl_row *row, const char *reason,
                               struct bl_error *e);

/* Chooses the SIMD level and applies it: --simd, or what a dataset here began with, or the best of this machine. */
int bl_packing_simd(struct bl_packing *p, struct bl_error *e);

/* Standard input (pack_stdin.c): whether it is an input; what the scan found is kept, a checksum (0: it is none); where
 * a table is there already, all of it is read, and must be what was scanned, or the table goes, as long as no shard is
 * finished. BL_EUSAGE: it is another. */
bool bl_packing_reads_stdin(const struct bl_packing *p);
int bl_packing_keep_stdin(struct bl_packing *p, uint64_t sum, struct bl_error *e);
int bl_packing_check_stdin(struct bl_packing *p, struct bl_error *e);

/* Of a finished dataset: takes the line of standard input out of the configuration's lines; adds it to this
 * run's, or compares it. */
void bl_packing_extract_stdin(struct bl_buffer *lines, struct bl_buffer *digest);
int bl_packing_add_stdin(struct bl_packing *p, const char *digest, struct bl_error *e);
int bl_packing_compare_stdin(const struct bl_packing *p, const struct bl_buffer *there, const char *what,
                             struct bl_error *e);

/* Whether the inputs are those of the table: BL_EDATA says which is not, and how. */
int bl_packing_compare(const struct bl_packing *p, const struct bl_sequences *table, struct bl_error *e);

/* Opens DIR/.bload with this configuration, for this run alone or, with a task, along with others. */
int bl_packing_enter(struct bl_cmd *cmd, struct bl_packing *p);

/* Sets p->identity: everything that decides the dataset's bytes beside the contents of the inputs and the versions. */
int bl_packing_identify(struct bl_cmd *cmd, struct bl_packing *p);

/* 1 when the output holds this very dataset, complete; 0 when it holds none, or lacks shards of it (p->repairing);
 * BL_EUSAGE when it holds another. */
int bl_packing_find(struct bl_cmd *cmd, struct bl_packing *p);

/* Looks what a finished dataset lacks of the shards that are this task's: 1 when there is something to be made again.
 */
int bl_packing_find_missing(struct bl_cmd *cmd, struct bl_packing *p, const struct bl_manifest *manifest);

/* Writes the scan's table as it can be told of the finished one. */
int bl_packing_restore_table(const struct bl_packing *p, struct bl_output *out, struct bl_error *e);

/* Whether the draft is that of the finished dataset: made by the same versions, of the same plan. BL_EFAIL. */
int bl_packing_compare_made(const struct bl_packing *p, struct bl_error *e);

/* Takes the shards of a finished dataset that lost its manifest, as many as can be, before the others are packed. */
struct bl_pack;
int bl_packing_reclaim(struct bl_cmd *cmd, struct bl_packing *p, struct bl_pack *job);

void bl_packing_print_repaired(const struct bl_packing *p);

#endif
