/* Labels: text files with one label per line; a step is a line. */
#ifndef BL_LABELS_H
#define BL_LABELS_H

#include "kind/kind.h"
#include "kind/labels/mapping.h"

struct bl_labels_config {
    const char *mapping;     /* file, or NULL: the lines are numbers */
    struct bl_mapping names; /* of that file */
};

extern const struct bl_kind bl_kind_labels;

#endif
