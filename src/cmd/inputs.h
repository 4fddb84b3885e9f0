/* The inputs of scan and pack: sources from operands or a YAML file, the options of every kind, and the files found. */
#ifndef BL_INPUTS_H
#define BL_INPUTS_H

#include "cmd/cmd.h"
#include "cmd/config.h"
#include "cmd/summary.h"
#include "kind/isolated/isolation.h"
#include "kind/kinds.h"
#include "run/input_set.h"
#include "plan/plan.h"
#include "run/state_files.h"
#include "scan/subset.h"

struct bl_inputs {
    struct bl_input_set set; /* the inputs that the options below describe */
    int kind_option;         /* 0: auto; otherwise the index in bl_kinds + 1 */
    const char *config_path; /* option */
    struct bl_config config;
    void *configs[BL_KINDS_MAX];    /* options of each kind, in the order of bl_kinds */
    const struct bl_kind *own_kind; /* the kind of the sources, once it is ready */
    void *own_config;
    struct bl_composite joined;
    struct bl_isolation isolation;
    const char *dtype;                      /* option; NULL: each kind's own default */
    int stream;                             /* option, as of bl_option_stream_number */
    const char *spool;                      /* option */
    struct bl_attributes_source attributes; /* options: the table of attributes */
    const char *shared;                     /* of tasks: the dataset's directory, where they share listings; or NULL */
    const struct bl_task *task;             /* with shared */
    const char *member;                     /* option: of tars, the extensions of sequences */
    char member_name[BL_FIELD_NAME_MAX];    /* of the field, by the member */
    const char *columns;                    /* option: names of the columns of lists */
    const char *attributes_members;         /* option: of tars, the extensions of members that columns are made of */
    struct bl_texts kept;                   /* extensions of members that become fields or columns */
    struct bl_texts excluded;               /* option */
    struct bl_kind_wanted wanted;           /* columns that the subset compares (bl_inputs_want) */
    struct bl_fault_lines faults;           /* printed so far */
};

/* Adds the options of the sources and of every kind. */
int bl_inputs_add_options(struct bl_inputs *inputs, struct bl_cmd *cmd);

/* The same for a command that accepts them only in the YAML file. */
int bl_inputs_add_hidden_options(struct bl_inputs *inputs, struct bl_cmd *cmd);

/* Call after the command line is parsed: reads the YAML file if one is given, sets the sources, checks the options of
 * the kinds. */
int bl_inputs_resolve(struct bl_inputs *inputs, struct bl_cmd *cmd);

/* The same for a command whose operands are not sources. */
int bl_inputs_resolve_file(struct bl_inputs *inputs, struct bl_cmd *cmd);

/* Call before bl_inputs_use: has the scan add the columns that the subset compares. plan says what will be cut off. */
void bl_inputs_want(struct bl_inputs *inputs, const struct bl_subset_options *subset,
                    const struct bl_plan_options *plan);

/* The directory that relative paths of an option count from: that of the YAML file if they come from there, or NULL. */
const char *bl_inputs_base(const struct bl_inputs *inputs, const struct bl_options *options, const char *option);

/* Resolves the path that an option gives: relative to the YAML file if it comes from there. option NULL: the path is
 * not from a file. The caller frees *out, which is NULL if path is. */
int bl_inputs_resolve_path(const struct bl_inputs *inputs, const struct bl_options *options, const char *option,
                           const char *path, char **out, struct bl_error *e);

/* Lists the files and finds their kind. */
int bl_inputs_list(struct bl_inputs *inputs, struct bl_cmd *cmd);

/* Selects the kind, joined with the fields of the YAML file. Checks that no flag is only for another kind (BL_EUSAGE),
 * lets the kind load what its options name (a tokenizer), prints its warnings, and reads the table of attributes. */
int bl_inputs_use(struct bl_inputs *inputs, const struct bl_kind *kind, struct bl_cmd *cmd);

void bl_inputs_free(struct bl_inputs *inputs);

/* Prints "ignored in folders: 3 .txt, 1 hidden" for the summary, if anything was ignored. */
void bl_inputs_print_ignored(const struct bl_inputs *inputs);

#endif
