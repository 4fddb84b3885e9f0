/* Templates of --columns: the path or the id of a clip, made of the columns of its line.
 *
 *     path=train/{youtube_id}_{time_start:06}_{time_end:06}.mp4,id={youtube_id}
 *
 * {NAME} is the value of the column, {NAME:06} or {NAME:06d} a whole number with zeros in front, at least six digits.
 */
#ifndef BL_CLIP_TEMPLATE_H
#define BL_CLIP_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* A text without a zero byte at its end, such as the name of a column. */
struct bl_clip_name {
    const char *text;
    size_t size;
};

/* A part of a template: text, or the value of a column. */
struct bl_clip_part {
    struct bl_clip_name name; /* the text, or the name of the column */
    bool is_column;
    int digits; /* the least, of a whole number; 0: the value as it is */
};

/* Whether the COLUMN of a pair is a template: it has a brace. */
bool bl_clip_template_is(struct bl_clip_name column);

/* Checks the syntax of a template. BL_EUSAGE: a brace without its partner, or something else within braces. */
int bl_clip_template_check(struct bl_clip_name column, struct bl_error *e);

/* Sets the next part, and moves the rest of the template, which was checked, behind it. False: the end. */
bool bl_clip_template_next(struct bl_clip_name *rest, struct bl_clip_part *part);

/* Whether the template has the value of this column. */
bool bl_clip_template_has(struct bl_clip_name rest, const char *column, size_t size);

/* Appends the value of a column as the part has it. False: it is no whole number, where the part needs one. */
bool bl_clip_part_append(const struct bl_clip_part *part, const char *value, size_t size, struct bl_buffer *out);

#endif
