/* Names of file systems. */
#ifndef BL_FILE_SYSTEM_TYPE_H
#define BL_FILE_SYSTEM_TYPE_H

#include <stdbool.h>
#include <stdint.h>

struct bl_file_system_type {
    int64_t magic; /* f_type of statfs */
    const char *name;
    const char *note;   /* what a dataset on it has to do with, or NULL */
    bool may_be_memory; /* where files are */
};

/* NULL: it is not known here. */
const struct bl_file_system_type *bl_file_system_type(int64_t magic);

#endif
