/* Inputs of scan and pack: sources from operands or a YAML file, the options of every kind, the files they lead to. */
#ifndef BL_INPUTS_H
#define BL_INPUTS_H

#include "cmd/cmd.h"
#include "cmd/config.h"
#include "kind/kinds.h"
#include "packing/input_set.h"

struct bl_inputs {
    struct bl_input_set set; /* what the options below lead to */
    int kind_option;         /* 0 auto, then the place in bl_kinds + 1 */
    const char *config_path; /* option */
    struct bl_config config;
    void *configs[BL_KINDS_MAX];    /* of each kind, in the order of bl_kinds */
    const struct bl_kind *own_kind; /* of the sources, once it was made ready */
    void *own_config;
    struct bl_composite joined;
    const char *dtype;                 /* option; NULL: each kind's own default */
    const char *spool;                 /* option */
    struct bl_attributes_source table; /* options: the table of attributes */
    struct bl_texts excluded;          /* option */
    int64_t empty;                     /* rows without fault and without steps that were told */
    struct bl_buffer faulty;           /* path of the file whose faults were told last */
    int64_t told, suppressed;          /* faults: of that file; of all, left out */
};

/* Adds the options of the sources and of every kind. */
int bl_inputs_add_options(struct bl_inputs *inputs, struct bl_cmd *cmd);

/* The same of a command that knows them in the YAML file alone. */
int bl_inputs_add_hidden_options(struct bl_inputs *inputs, struct bl_cmd *cmd);

/* After the command line: reads the YAML file if there is one, settles the sources, checks the kinds' options. */
int bl_inputs_resolve(struct bl_inputs *inputs, struct bl_cmd *cmd);

/* The same of a command whose operands are no sources. */
int bl_inputs_resolve_file(struct bl_inputs *inputs, struct bl_cmd *cmd);

/* A path that an option says: one from the YAML file counts from that file. option NULL: it is from no file. *out is to
 * be freed; NULL where path is. */
int bl_inputs_resolve_path(const struct bl_inputs *inputs, const struct bl_options *options, const char *option,
                           const char *path, char **out, struct bl_error *e);

/* Lists the files, which also tells their kind. */
int bl_inputs_list(struct bl_inputs *inputs, struct bl_cmd *cmd);

/* This kind is in use from now on, joined with the fields that the YAML file adds: checks that no flag concerns another
 * one alone (BL_EUSAGE), has it make ready what its options name (a tokenizer), and tells what it warns of. Reads the
 * table of attributes. */
int bl_inputs_use(struct bl_inputs *inputs, const struct bl_kind *kind, struct bl_cmd *cmd);

void bl_inputs_free(struct bl_inputs *inputs);

/* "ignored in folders: 3 .txt, 1 hidden", for the summary; nothing when nothing was. */
void bl_inputs_print_ignored(const struct bl_inputs *inputs);

/* Prints a fault of a row: "skipped a.mp4: empty file". Of rows that are merely empty, and of one file's, the first
 * ten.
 */
void bl_inputs_print_fault(struct bl_inputs *inputs, const struct bl_row *row);

/* How many sequences were left out by request, if any. */
void bl_inputs_print_excluded(int64_t excluded);

/* How many sequences have a field that was brought to their length, if any. */
void bl_inputs_print_adjusted(int64_t adjusted);

/* What the columns of the sequences that are of use tell, all in all. */
void bl_inputs_print_totals(const struct bl_totals *totals);

/* "1,234 empty documents skipped", and how many faults were not printed one by one, here or by the scan; nothing where
 * there are none. */
void bl_inputs_print_suppressed(const struct bl_inputs *inputs, int64_t empty, int64_t suppressed);

#endif
