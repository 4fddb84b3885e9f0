/* Lengths of plan and compare: tables of sequences, or plain lists. */
#ifndef BL_LENGTHS_H
#define BL_LENGTHS_H

#include "cmd/cmd.h"
#include "plan/options.h"
#include "store/sequences.h"

struct bl_length_source {
    const char *list, *group_by; /* options */
    struct bl_sequences table;
};

extern const struct bl_option bl_length_source_options[]; /* over struct bl_length_source */

/* Reads what was named: the operands, or --lengths; one of them must be. */
int bl_length_source_read(struct bl_length_source *lengths, struct bl_cmd *cmd);

/* Turns durations in the options into steps by the table's rate. BL_EUSAGE where its steps have none. */
int bl_lengths_resolve(const struct bl_sequences *table, struct bl_plan_options *options, struct bl_error *e);

/* BL_EFAIL where a sequence is longer than T and nothing is said about those: names it by its id. */
int bl_lengths_check(const struct bl_sequences *table, const struct bl_plan_options *options, struct bl_error *e);

/* -T must have been given. */
int bl_lengths_require_T(struct bl_cmd *cmd);

#endif
