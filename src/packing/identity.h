/* What identifies the work of a command: "name: value" lines of what decides its result. */
#ifndef BL_IDENTITY_H
#define BL_IDENTITY_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "packing/fault_counts.h"
#include "packing/input_set.h"

/* A file that decides something, by the checksum of what it holds. path NULL: there is none, and no line. */
int bl_identity_file(const char *name, const char *path, struct bl_buffer *out, struct bl_error *e);

/* Beside the options: the sources, unless they are of no account, the further fields, and what the kind's options name.
 */
void bl_identity_inputs(const struct bl_input_set *inputs, bool sources, struct bl_buffer *out);

/* The tables that decide rows beside the inputs themselves: of attributes, and lists among the inputs. */
int bl_identity_tables(const struct bl_input_set *inputs, struct bl_buffer *out, struct bl_error *e);

/* Of files that hold many sequences, whose rows tell of these: what the files of each source hold, "contents 1: docs/
 * (0123456789abcdef)". */
int bl_identity_contents(const struct bl_input_set *inputs, struct bl_buffer *out, struct bl_error *e);

/* All that decides the table of a scan: the options of these that do, and the lines above. */
int bl_identity_scan(const struct bl_options *options, const struct bl_input_set *inputs, struct bl_buffer *out,
                     struct bl_error *e);

/* Whether dir holds a complete dataset, which these lines must be a part of, and whether some of its inputs could not
 * be used, or not wholly. BL_EUSAGE: it is of another configuration. */
int bl_identity_find(const char *dir, const char *lines, bool *found, bool *partial, struct bl_fault_counts *faults,
                     struct bl_error *e);

/* "inputs: 1000 (0123456789abcdef)": how many files there are, and a digest of their names in order. */
int bl_identity_files(const struct bl_files *files, struct bl_buffer *out, struct bl_error *e);

#endif
