/* The inputs of scan and pack: sources from operands or a YAML file, the options of every kind, and the files found.
 *
 * bload plan and bload slurm accept the same YAML file, but no options of sources on their command lines. */
#ifndef BL_INPUTS_H
#define BL_INPUTS_H

#include "cmd/cmd.h"
#include "cmd/config.h"
#include "cmd/remote.h"
#include "cmd/summary.h"
#include "kind/isolated/isolation.h"
#include "kind/kinds.h"
#include "run/input_set.h"
#include "plan/plan.h"
#include "run/state_files.h"
#include "scan/subset.h"

/* Initialize with {0}, and free with bl_inputs_free in any case. */
struct bl_inputs {
    struct bl_input_set set;                /* the inputs that the options below describe */
    int kind_option;                        /* 0: auto; otherwise the index in bl_kinds + 1 */
    const char *config_path;                /* option: the YAML file, or NULL */
    struct bl_config config;                /* the YAML file */
    void *configs[BL_KINDS_MAX];            /* options of each kind, in the order of bl_kinds */
    const struct bl_kind *own_kind;         /* the kind of the sources, once it is ready */
    void *own_config;                       /* its options; set.kind_config may be those of a composite kind instead */
    struct bl_composite joined;             /* the kind that joins own_kind and the fields, if there are fields */
    struct bl_own own;                      /* the kind that adds own fields to that, if there are some */
    char *own_list;                         /* the path of the table of attributes, relative as those of sources */
    struct bl_isolation isolation;          /* the processes in which kinds decode */
    const char *dtype;                      /* option; NULL: each kind's own default */
    int stream;                             /* option, as of bl_option_stream_number */
    const char *spool;                      /* option: folder for tokens and inflated arrays; NULL: in the output */
    struct bl_attributes_source attributes; /* options: the table of attributes */
    const char *shared;                     /* of tasks: the dataset's directory, where they share listings; or NULL */
    const struct bl_task *task;             /* with shared */
    const char *member;                     /* option: of tars, the extensions of sequences */
    char member_name[BL_FIELD_NAME_MAX];    /* of the field, by the member */
    const char *columns;                    /* option: names of the columns of lists */
    const char *attributes_members;         /* option: of tars, the extensions of members from which columns are made */
    struct bl_texts kept;                   /* extensions of members that become fields or columns */
    struct bl_texts excluded;               /* option: ids and @FILE of --exclude */
    struct bl_kind_wanted wanted;           /* columns that the subset compares (bl_inputs_want) */
    struct bl_fault_lines faults;           /* the faults of inputs that are printed so far */
    struct bl_cmd_remote remote;            /* options: how URLs are read; open from bl_inputs_list or _use on */
    bool shows_urls; /* set before options are added: the options of URLs are shown although those of sources are not */
};

/* Adds the options of the sources and of every kind, before the command line is parsed. hidden: the command accepts
 * them only in the YAML file, and --help does not show them. */
int bl_inputs_add_options(struct bl_inputs *inputs, struct bl_cmd *cmd, bool hidden);

/* Call after the command line is parsed: reads the YAML file if one is given, sets the sources, and checks the options
 * of the kinds. The sources are the operands, if there are any, and those of the file otherwise; a single operand that
 * ends in .yaml or .yml is the file. A command whose operands are not sources passes none. BL_EUSAGE. */
int bl_inputs_resolve(struct bl_inputs *inputs, const char *const *operand, int operands, struct bl_cmd *cmd);

/* Call before bl_inputs_use: has the scan add the columns that the subset compares. The plan's options say how many
 * steps of a long sequence will be cut off, and so do not count as trained. */
void bl_inputs_want(struct bl_inputs *inputs, const struct bl_subset_options *subset,
                    const struct bl_plan_options *plan);

/* Sets the capacities of the own fields of the YAML file, where --capacity does not: of a plan for which the inputs are
 * not listed. BL_EUSAGE: --capacity names no such field. */
int bl_inputs_set_capacities(const struct bl_inputs *inputs, struct bl_plan_options *options, struct bl_error *e);

/* Returns the directory to which relative paths of an option are relative: that of the YAML file if the option comes
 * from there, or NULL for the working directory. */
const char *bl_inputs_base(const struct bl_inputs *inputs, const struct bl_options *options, const char *option);

/* Resolves the path that an option gives, which is relative to the YAML file if the option comes from there. option
 * NULL: the path is not from a file. The caller frees *out, which is NULL if path is. */
int bl_inputs_resolve_path(const struct bl_inputs *inputs, const struct bl_options *options, const char *option,
                           const char *path, char **out, struct bl_error *e);

/* Lists the files of the sources and finds their kind, in inputs->set.files. Prints which folders have no input.
 * BL_EFAIL or BL_EUSAGE: there is no input; the message says why. */
int bl_inputs_list(struct bl_inputs *inputs, struct bl_cmd *cmd);

/* Selects the kind, joined with the fields of the YAML file, and sets inputs->set.kind and kind_config. Checks that no
 * flag is only for another kind (BL_EUSAGE), lets the kind load what its options name (a tokenizer), prints its
 * warnings, isolates what decodes, and reads the table of attributes. */
int bl_inputs_use(struct bl_inputs *inputs, const struct bl_kind *kind, struct bl_cmd *cmd);

void bl_inputs_free(struct bl_inputs *inputs);

/* Prints "ignored in folders: 3 .txt, 1 hidden" for the summary, if anything was ignored. */
void bl_inputs_print_ignored(const struct bl_inputs *inputs);

/* --- own fields --------------------------------------------------------------------------------------------------- */

/* The steps of bl_inputs_use for fields of the YAML file with steps of their own (inputs_own.c), in this order. */

/* Has the kind of the sources, which is not prepared yet, keep the values of which own fields are made. Lists have
 * columns of all their keys. BL_EUSAGE: the sources have no keys. */
int bl_inputs_take_keys(struct bl_inputs *inputs, struct bl_error *e);

/* Makes the kind that adds the own fields to the kind of the sources. What decodes is isolated. */
int bl_inputs_make_own(struct bl_inputs *inputs, struct bl_error *e);

/* Remembers the path of the table of attributes, to whose folder the paths in its columns are relative, before options
 * are resolved. */
int bl_inputs_note_list(struct bl_inputs *inputs, const struct bl_options *options, struct bl_error *e);

/* When attributes and lists are read: finds the table of each column, and checks that the table of sequences will have
 * the columns; one that is given is checked elsewhere. BL_EUSAGE names one that is missing. */
int bl_inputs_check_own(struct bl_inputs *inputs, struct bl_error *e);

/* Has a kind load what its options name, for example a tokenizer, and prints its warning. */
int bl_inputs_prepare_kind(struct bl_inputs *inputs, const struct bl_options *options, const struct bl_kind *kind,
                           void *config, struct bl_error *e);

#endif
