/* The lengths that bload plan and bload compare read: from tables of sequences, or from plain lists. */
#ifndef BL_CMD_COMPARE_H
#define BL_CMD_COMPARE_H

#include "cmd/cmd.h"
#include "plan/options.h"
#include "scan/subset.h"
#include "store/sequences.h"

/* The sources of the lengths, and the table that was read from them. Initialize with {0}; the caller closes the table.
 */
struct bl_length_source {
    const char *list, *group_by;     /* options: --lengths and --group-by; NULL: not given */
    struct bl_subset_options subset; /* options: which sequences of the tables are planned */
    struct bl_sequences table;       /* what bl_length_source_read has read */
};

extern const struct bl_option bl_length_source_options[]; /* over struct bl_length_source */

/* Checks that the operands and --lengths are files which may be tables. BL_EUSAGE says what to do with others. */
int bl_length_source_check(const struct bl_length_source *lengths, struct bl_cmd *cmd);

/* Reads the operands or --lengths; one of them must be given. options: the planning options that name columns. Shows
 * the progress of choosing a subset, also when SIGUSR2 asks for it, and prints how many sequences the subset leaves
 * out. BL_EUSAGE: the options contradict each other. BL_EDATA: a table is damaged. */
int bl_length_source_read(struct bl_length_source *lengths, const struct bl_plan_options *options, struct bl_cmd *cmd);

/* Checks that -T is given, which has no useful initial value. BL_EUSAGE. */
int bl_length_source_require_T(struct bl_cmd *cmd);

#endif
