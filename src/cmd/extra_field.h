/* Fields that a user names: the extra fields of a YAML file, and the field of a dataset that --field chooses. */
#ifndef BL_EXTRA_FIELD_H
#define BL_EXTRA_FIELD_H

#include "base/error.h"
#include "kind/composite/composite.h"
#include "kind/own/own.h"
#include "kind/row.h"

/* --- extra fields ------------------------------------------------------------------------------------------------- */

/* An extra field is an entry of the list `fields` of a YAML file: files beside the inputs, such as labels, whose steps
 * go into blocks of their own. Each has a kind and that kind's options. A field with `steps: own` is an own field
 * (kind/own), and others share the steps of the sequences. The calls for an entry are, in this order, begin, the
 * options set that bl_extra_field_is_early names, use_kind, all others set, check. */

struct bl_extra_field {
    const char *name, *path, *kind_name, *dtype; /* options; NULL: not given. The configuration owns the texts */
    int stream;                                  /* option, as of bl_option_stream_number */
    int64_t tolerance;                           /* option: steps by which the lengths of two files may differ */
    bool per_step;                               /* option, for kinds that support it */
    const char *steps, *capacity, *storage, *column, *key, *missing; /* options of own fields; NULL: not given */
    struct bl_own_field own;                                         /* the own field; set by check */
    struct bl_option *own_table;                                     /* options of own texts; owned */
    const struct bl_kind *kind;                                      /* after use_kind */
    void *config;                                                    /* options of the kind; owned */
    struct bl_options options;                                       /* the options above, and those of the kind */
    struct bl_clip_list clips; /* the clips, if path is that of a list of clips; the user of the field reads it */
    bool prepared;             /* the kind's options are prepared, so that bl_extra_field_free releases them */
};

/* Adds the options that every field has. Initialize the field with {0}. BL_EFAIL: out of memory. */
int bl_extra_field_begin(struct bl_extra_field *field, struct bl_error *e);

/* Returns whether the option must be set before the kind is found. */
bool bl_extra_field_is_early(const char *option);

/* Returns whether the field has steps of its own. */
bool bl_extra_field_is_own(const struct bl_extra_field *field);

/* Refuses an option of the kind that an own field cannot have. BL_EUSAGE. */
int bl_extra_field_refuse(const struct bl_extra_field *field, const char *option, struct bl_error *e);

/* Finds the kind by its name or by the path's extension, and adds its options. BL_EUSAGE: there is no such kind, or it
 * cannot be a field. */
int bl_extra_field_use_kind(struct bl_extra_field *field, struct bl_error *e);

/* Checks the values, and copies dtype and stream to the kind's options. BL_EUSAGE. */
int bl_extra_field_check(struct bl_extra_field *field, struct bl_error *e);

void bl_extra_field_free(struct bl_extra_field *field);

/* Returns whether the path is that of a list of clips, a line for each sequence, instead of one file for each. */
bool bl_extra_field_has_clips(const struct bl_extra_field *field);

/* Returns the field, whose steps are those of sequences, as a part of a composite kind. The part points into it. */
struct bl_composite_part bl_extra_field_part(struct bl_extra_field *field);

/* Appends a "field NAME option: value" line for each option that affects something; lengths: that affects the table of
 * sequences. */
void bl_extra_field_identify(const struct bl_extra_field *field, bool lengths, struct bl_buffer *out);

/* As bl_options_next, for the options that a YAML file may contain. */
bool bl_extra_field_next(const struct bl_extra_field *field, struct bl_option_match *match);

/* --- choice of a field -------------------------------------------------------------------------------------------- */

/* Sets *found to the index of the field with the name that --field gives; with name NULL, to the index of the only
 * field. BL_EUSAGE: there is no field of that name, or name is NULL and there are several. The message has all
 * names. */
int bl_field_choose(const struct bl_fields *fields, const char *name, int *found, struct bl_error *e);

#endif
