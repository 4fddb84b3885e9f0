/* Collects everything about the inputs of a dataset: the files and the tables joined to their rows, their identity, the
 * parts that the tasks of a scan made, and the counts of unusable inputs. */
#ifndef BL_INPUT_SET_H
#define BL_INPUT_SET_H

#include "base/json.h"
#include "base/option.h"
#include "kind/own/own.h"
#include "run/state.h"
#include "scan/attributes.h"
#include "scan/selection.h"
#include "scan/sources.h"
#include "scan/subset.h"
#include "store/sequences.h"

/* --- sets of inputs ----------------------------------------------------------------------------------------------- */

/* The inputs of a dataset, ready to be scanned or packed: files, their kind, and the tables joined to their rows. */

struct bl_input_set {
    struct bl_source *source; /* [sources] as the user named them */
    int sources;
    const char *base; /* for relative paths; NULL: the working directory */
    struct bl_files files;
    const struct bl_kind *kind; /* NULL: unknown; composite if the user adds fields */
    void *kind_config;
    int64_t decoder_memory;           /* bytes that decoding one input may take */
    struct bl_buffer fields_identity; /* identity lines of the added fields */
    struct bl_buffer fields_lengths;  /* those among them that decide the table */
    const char *attributes_path;      /* the table of attributes, or NULL */
    struct bl_attributes *attributes; /* the content of that table; may be closed when no longer needed */
    struct bl_exclusion *exclusion;   /* sequences to leave out, or NULL */
    const struct bl_own *own;         /* the fields with steps of their own, or NULL */
    struct bl_isolation *isolation;   /* of kinds that decode in separate processes; NULL: the kinds do not */
};

/* Closes files, attributes, exclusion and the text; sources and kind belong to the caller. */
void bl_input_set_free(struct bl_input_set *set);

/* Whether standard input is one of the files. */
bool bl_input_set_has_stdin(const struct bl_input_set *set);

/* Appends the header line of the table that a scan of these inputs writes. BL_EUSAGE: two columns have the same
 * name. */
int bl_input_set_header(const struct bl_input_set *set, struct bl_buffer *header, struct bl_error *e);

/* Lists the files of a table instead of the sources. */
int bl_input_set_list_table(struct bl_input_set *set, const struct bl_sequences *sequences, struct bl_error *e);

/* Appends "labels.csv: 2 rows belong to no sequence, ...", if there are such rows. Call it after the table of
 * attributes is joined. */
int bl_input_set_unused(const struct bl_input_set *set, struct bl_buffer *text, struct bl_error *e);

/* Appends "--exclude ID: no sequence has that id, ...", if there are such ids. Call it after all sequences are read. */
void bl_input_set_unmatched(const struct bl_input_set *set, struct bl_buffer *text);

/* --- counts of faults --------------------------------------------------------------------------------------------- */

/* Counts of inputs that were unusable or only partly usable: the reason of exit status 3. */

struct bl_fault_counts {
    int64_t skipped, failed, damaged;
    int64_t failed_steps; /* steps of failed inputs, which are zeros in the blocks; 0: unknown */
};

/* Returns the counts of the faults in a table. */
struct bl_fault_counts bl_fault_counts_of(const struct bl_sequences *table);

/* Appends "2 inputs skipped, 1 failed (20 steps are zeros), 3 damaged", without counts of 0. */
void bl_fault_counts_append(struct bl_buffer *out, const struct bl_fault_counts *counts);

/* --- identity of inputs ------------------------------------------------------------------------------------------- */

/* The identity of a command's work: "name: value" lines of everything that decides its result. */

/* Appends a line with the checksum of a file that the result depends on. path NULL: appends nothing. */
int bl_identity_file(const char *name, const char *path, struct bl_buffer *out, struct bl_error *e);

/* Appends the identity of the inputs without the options: the sources if `sources` is true, the extra fields, and the
 * files that the kind's options name. */
void bl_identity_inputs(const struct bl_input_set *inputs, bool sources, struct bl_buffer *out);

/* Appends the tables that decide rows besides the inputs themselves: attributes, and lists among the inputs. */
int bl_identity_tables(const struct bl_input_set *inputs, struct bl_buffer *out, struct bl_error *e);

/* For kinds whose files hold many sequences, and whose rows do not describe the files: appends the contents of each
 * source's files, "contents 1: docs/ (0123456789abcdef)". */
int bl_identity_contents(const struct bl_input_set *inputs, struct bl_buffer *out, struct bl_error *e);

/* Appends everything that decides the table of a scan: the relevant options, the lines above, and those of the datasets
 * that the subset names. */
int bl_identity_scan(const struct bl_options *options, const struct bl_input_set *inputs,
                     const struct bl_subset_options *subset, struct bl_buffer *out, struct bl_error *e);

/* Appends the configuration in a manifest; at least an empty text. */
int bl_identity_of_manifest(const struct bl_manifest *manifest, struct bl_buffer *out, struct bl_error *e);

/* Sets *found if dir holds a complete dataset whose identity contains these lines, *partial if some of its inputs were
 * unusable or only partly usable, and *faults. BL_EUSAGE: the dataset has another configuration. */
int bl_identity_find(const char *dir, const char *lines, bool *found, bool *partial, struct bl_fault_counts *faults,
                     struct bl_error *e);

/* --- parts of a scan ---------------------------------------------------------------------------------------------- */

/* The parts that the tasks of bload scan wrote to DIR/.bload; together they form the table of the dataset
 * (scan/merge.h). */

/* Checks that all tasks run the same scan of the same inputs, which must be listed and their kind in use. The first
 * task writes the identity. BL_EUSAGE: this scan differs; the message says how. */
int bl_parts_agree(const struct bl_state *state, int64_t tasks, const struct bl_options *options,
                   const struct bl_input_set *inputs, const struct bl_subset_options *subset, struct bl_error *e);

struct bl_parts {
    int64_t tasks;   /* number of tasks that share the scan; 0: there is no such scan */
    int64_t missing; /* the first task without a part; -1: none */
};

/* Finds out which parts exist. */
int bl_parts_find(const struct bl_state *state, struct bl_parts *parts, struct bl_error *e);

/* Checks that all parts exist. BL_EFAIL: one is missing; the message has the command that makes it. */
int bl_parts_require(const struct bl_state *state, const struct bl_parts *parts, struct bl_error *e);

/* Checks that the options of the subset, and the datasets that they name, are those that the scan's tasks were given,
 * for a process that does not list the inputs. BL_EUSAGE names one that differs. */
int bl_parts_check_subset(const struct bl_state *state, const struct bl_options *options,
                          const struct bl_subset_options *subset, struct bl_error *e);

#endif
