/* The identity of a command's work: "name: value" lines of everything that decides its result. */
#ifndef BL_IDENTITY_H
#define BL_IDENTITY_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "run/input_set.h"
#include "run/packing.h"
#include "scan/subset.h"
#include "store/manifest.h"

/* Appends the checksum of a file that decides something. path NULL: there is none, and no line. */
int bl_identity_file(const char *name, const char *path, struct bl_buffer *out, struct bl_error *e);

/* Appends the identity besides the options: the sources if sources is set, the extra fields, and what the kind's
 * options refer to. */
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

/* Finds out whether dir holds a complete dataset whose identity contains these lines. *partial: some of its inputs were
 * unusable or only partly usable. BL_EUSAGE: it has another configuration. */
int bl_identity_find(const char *dir, const char *lines, bool *found, bool *partial, struct bl_fault_counts *faults,
                     struct bl_error *e);

/* Appends "inputs: 1000 (0123456789abcdef)": the number of files, and a digest of their names in order. */
int bl_identity_files(const struct bl_files *files, struct bl_buffer *out, struct bl_error *e);

#endif
