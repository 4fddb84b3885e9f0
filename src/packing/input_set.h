/* The inputs of a dataset: files and the tables joined to their rows, and the parts of a table that the tasks of a scan
 * made. */
#ifndef BL_INPUT_SET_H
#define BL_INPUT_SET_H

#include "base/json.h"
#include "base/option.h"
#include "run/state.h"
#include "scan/attributes.h"
#include "scan/selection.h"
#include "scan/sources.h"
#include "scan/subset.h"
#include "store/sequences.h"

/* --- sets of inputs ----------------------------------------------------------------------------------------------- */

/* The inputs of a dataset, ready to be scanned or packed: files, their kind, and the tables joined to their rows. */

struct bl_input_set {
    struct bl_source *source; /* as the user named them */
    int sources;
    const char *base; /* for relative paths; NULL: the working directory */
    struct bl_files files;
    const struct bl_kind *kind; /* NULL: unknown; composite if the user adds fields */
    void *kind_config;
    int64_t decoder_memory;           /* bytes that decoding one input may take */
    struct bl_buffer fields_identity; /* identity lines of the added fields */
    const char *attributes_path;      /* the table of attributes, or NULL */
    struct bl_attributes *attributes; /* read from it; a user that no longer needs it may close it */
    struct bl_exclusion *exclusion;   /* sequences to leave out, or NULL */
    struct bl_isolation *isolation;   /* of kinds that decode in processes of their own; NULL: none do */
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

/* Call after the table of attributes is joined. Appends "labels.csv: 2 rows belong to no sequence, ...", if any. */
int bl_input_set_unused(const struct bl_input_set *set, struct bl_buffer *text, struct bl_error *e);

/* Call after all sequences are read. Appends "--exclude ID: no sequence has that id, ...", if any. */
void bl_input_set_unmatched(const struct bl_input_set *set, struct bl_buffer *text);

/* --- parts of a scan ---------------------------------------------------------------------------------------------- */

/* The parts that the tasks of bload scan wrote to DIR/.bload; together they form the table of the dataset
 * (scan/merge.h). */

/* Checks that all tasks run the same scan of the same inputs, which must be listed and their kind in use. The first
 * task writes the identity. BL_EUSAGE: this scan differs; the message says how. */
int bl_parts_agree(const struct bl_state *state, int64_t tasks, const struct bl_options *options,
                   const struct bl_input_set *inputs, const struct bl_subset_options *subset, struct bl_error *e);

struct bl_parts {
    int64_t tasks;   /* that share the scan; 0: there is no such scan */
    int64_t missing; /* the first task without a part; -1: none */
};

int bl_parts_find(const struct bl_state *state, struct bl_parts *parts, struct bl_error *e);

/* BL_EFAIL names a missing part, and the command that makes it. */
int bl_parts_require(const struct bl_state *state, const struct bl_parts *parts, struct bl_error *e);

/* Checks that the options of the subset, and the datasets that they name, are those that the scan's tasks were given,
 * for a process that does not list the inputs. BL_EUSAGE names one that differs. */
int bl_parts_check_subset(const struct bl_state *state, const struct bl_options *options,
                          const struct bl_subset_options *subset, struct bl_error *e);

#endif
