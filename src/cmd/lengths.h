/* Lengths of plan and compare: tables of sequences, or plain lists. */
#ifndef BL_LENGTHS_H
#define BL_LENGTHS_H

#include "cmd/cmd.h"
#include "plan/options.h"
#include "store/sequences.h"

struct bl_lengths {
    const char *list; /* option */
    struct bl_sequences table;
};

extern const struct bl_option bl_lengths_option_table[]; /* over struct bl_lengths */

/* Reads what was named: the operands, or --lengths; one of them must be. */
int bl_lengths_read(struct bl_lengths *lengths, struct bl_cmd *cmd);

/* -T must have been given. */
int bl_cmd_require_T(struct bl_cmd *cmd);

#endif
