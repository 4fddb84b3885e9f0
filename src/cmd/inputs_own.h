/* The fields of a YAML file with steps of their own (kind/own): the kind that adds them to that of the sources. */
#ifndef BL_INPUTS_OWN_H
#define BL_INPUTS_OWN_H

#include "cmd/inputs.h"

/* The functions below are steps of bl_inputs_use, in this order. */

/* Has the kind of the sources, which is not prepared yet, keep the values of which own fields are made. Lists have
 * columns of all their keys. BL_EUSAGE: the sources have no keys. */
int bl_inputs_take_keys(struct bl_inputs *inputs, struct bl_error *e);

/* Makes the kind that adds the own fields to the kind of the sources. What decodes is isolated. */
int bl_inputs_make_own(struct bl_inputs *inputs, struct bl_error *e);

/* Remembers the path of the table of attributes, to whose folder the paths in its columns are relative, before options
 * are resolved. */
int bl_inputs_note_list(struct bl_inputs *inputs, const struct bl_options *options, struct bl_error *e);

/* When attributes and lists are read: finds the table of each column, and checks that the table of sequences will have
 * the columns; one that is given is checked elsewhere. BL_EUSAGE names one that is missing. */
int bl_inputs_check_own(struct bl_inputs *inputs, struct bl_error *e);

/* Sets the capacities of the own fields of the YAML file, where --capacity does not: of a plan for which the inputs are
 * not listed. BL_EUSAGE: --capacity names no such field. */
int bl_inputs_set_capacities(const struct bl_inputs *inputs, struct bl_plan_options *options, struct bl_error *e);

#endif
