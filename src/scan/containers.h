/* Replaces files that hold several sequences by these (bl_kind_scan.expand). */
#ifndef BL_CONTAINERS_H
#define BL_CONTAINERS_H

#include "base/cancel.h"
#include "base/error.h"
#include "scan/files.h"

/* Replaces each file by the sequences that its kind finds in it: PATH becomes PATH#/NAME, and its id ID#/NAME. Files in
 * which none is found stay. configs: the options of each kind, in the order of bl_kinds. base: directory that relative
 * paths count from, or NULL. Errors are those of expand. */
int bl_containers_expand(struct bl_files *files, void *const *configs, const char *base, const struct bl_cancel *cancel,
                         struct bl_error *e);

#endif
