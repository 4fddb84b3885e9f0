/* Further fields: what the list `fields` of a YAML file says, each with the options of a kind of its own. */
#ifndef BL_EXTRA_FIELD_H
#define BL_EXTRA_FIELD_H

#include "kind/composite/composite.h"

struct bl_extra_field {
    const char *name, *path, *kind_name, *dtype; /* options */
    int64_t tolerance;                           /* option */
    bool per_step;                               /* option, of kinds that can be cut so */
    const struct bl_kind *kind;
    void *config;              /* of that kind */
    struct bl_options options; /* these, and the kind's */
    bool prepared;
};

/* The options that every field has; "name", "path" and "kind" must be set before the kind's own are there. */
int bl_extra_field_begin(struct bl_extra_field *field, struct bl_error *e);
/* Finds the kind by its name or by the path's extension, and adds its options. BL_EUSAGE. */
int bl_extra_field_use_kind(struct bl_extra_field *field, struct bl_error *e);
/* Checks what was set. BL_EUSAGE. */
int bl_extra_field_check(struct bl_extra_field *field, struct bl_error *e);
void bl_extra_field_free(struct bl_extra_field *field);

/* Its part of a joined kind. */
struct bl_composite_part bl_extra_field_part(const struct bl_extra_field *field);

/* "field NAME option: value" lines of what affects something. */
void bl_extra_field_identify(const struct bl_extra_field *field, struct bl_buffer *out);

/* For each option that a YAML file may say. */
int bl_extra_field_each(const struct bl_extra_field *field, bl_option_visit *visit, void *context);

#endif
