/* Fields that a user names: the extra fields of a YAML file, and the field of a dataset that --field chooses. */
#ifndef BL_EXTRA_FIELD_H
#define BL_EXTRA_FIELD_H

#include "base/error.h"
#include "kind/composite/composite.h"
#include "kind/row.h"

/* --- extra fields ------------------------------------------------------------------------------------------------- */

/* Extra fields: the list `fields` of a YAML file. Each has a kind and that kind's options. */

struct bl_extra_field {
    const char *name, *path, *kind_name, *dtype; /* options */
    int stream;                                  /* option, as of bl_option_stream_number */
    int64_t tolerance;                           /* option */
    bool per_step;                               /* option, for kinds that support it */
    const struct bl_kind *kind;
    void *config;              /* options of the kind */
    struct bl_options options; /* the options above, and those of the kind */
    struct bl_clip_list clips; /* of the list that path names, if it does: read by the user */
    bool prepared;
};

/* Adds the options that every field has. Set "name", "path" and "kind" before the kind's options are added. */
int bl_extra_field_begin(struct bl_extra_field *field, struct bl_error *e);
/* Finds the kind by its name or by the path's extension, and adds its options. BL_EUSAGE. */
int bl_extra_field_use_kind(struct bl_extra_field *field, struct bl_error *e);
/* Checks the values. BL_EUSAGE. */
int bl_extra_field_check(struct bl_extra_field *field, struct bl_error *e);
void bl_extra_field_free(struct bl_extra_field *field);

/* Whether the path is that of a list of clips. */
bool bl_extra_field_has_clips(const struct bl_extra_field *field);

/* Returns the field as a part of a composite kind. */
struct bl_composite_part bl_extra_field_part(struct bl_extra_field *field);

/* Appends a "field NAME option: value" line for each option that affects something. */
void bl_extra_field_identify(const struct bl_extra_field *field, struct bl_buffer *out);

/* As bl_options_next, for the options that a YAML file may contain. */
bool bl_extra_field_next(const struct bl_extra_field *field, struct bl_option_match *match);

/* --- choice of a field -------------------------------------------------------------------------------------------- */

/* --field: one of the fields of a dataset. */

/* Finds it; NULL: the only one. BL_EUSAGE: there is none of that name, or several, with their names. */
int bl_field_choose(const struct bl_fields *fields, const char *name, int *found, struct bl_error *e);

#endif
