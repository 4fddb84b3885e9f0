/* The inputs of a dataset, ready to be scanned or packed: files, their kind, and the tables joined to their rows. */
#ifndef BL_INPUT_SET_H
#define BL_INPUT_SET_H

#include "base/json.h"
#include "scan/attributes.h"
#include "scan/exclusion.h"
#include "scan/sources.h"
#include "store/sequences.h"

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

#define BL_INPUT_SET_ATTRIBUTES_MAX (BL_JSON_KEYS_MAX + 2 * BL_ATTRIBUTE_COLUMNS_MAX)

/* Sets the names of the columns that become attributes: those that the kind has numbers in (*kept), and where they are
 * numbers those of the lists of clips, then those of the table of attributes. Returns how many. */
int bl_input_set_attributes(const struct bl_input_set *set, const char *name[BL_INPUT_SET_ATTRIBUTES_MAX], int *kept);

/* Lists the files of a table instead of the sources. */
int bl_input_set_list_table(struct bl_input_set *set, const struct bl_sequences *sequences, struct bl_error *e);

/* Call after the table of attributes is joined. Appends "labels.csv: 2 rows belong to no sequence, ...", if any. */
int bl_input_set_unused(const struct bl_input_set *set, struct bl_buffer *text, struct bl_error *e);

/* Call after all sequences are read. Appends "--exclude ID: no sequence has that id, ...", if any. */
void bl_input_set_unmatched(const struct bl_input_set *set, struct bl_buffer *text);

#endif
