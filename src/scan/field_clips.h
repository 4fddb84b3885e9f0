/* The list of clips that is the path of a field: a clip for each sequence, by id. */
#ifndef BL_FIELD_CLIPS_H
#define BL_FIELD_CLIPS_H

#include "base/cancel.h"
#include "base/error.h"
#include "kind/composite/composite.h"

struct bl_kind;

/* Reads all of it. path: to open; shown: for messages. BL_EUSAGE: it is no list of clips, is not there, has a column
 * that clips do not have, or an unusable line, which is named. */
int bl_field_clips_read(struct bl_clip_list *list, const struct bl_kind *kind, const char *path, const char *shown,
                        const struct bl_cancel *cancel, struct bl_error *e);

#endif
