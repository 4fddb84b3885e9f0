/* Arrays: NPY files, and one array of an NPZ archive; a step is an entry along one axis. */
#ifndef BL_ARRAY_KIND_H
#define BL_ARRAY_KIND_H

#include "kind/kind.h"

extern const struct bl_kind bl_kind_array;

#endif
