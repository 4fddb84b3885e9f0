/* An input: a file, or a folder for kinds whose inputs are folders. */
#ifndef BL_INPUT_H
#define BL_INPUT_H

#include <stdint.h>

struct bl_input {
    const char *path; /* to open; "-": standard input */
    const char *name; /* the path as it was given, for the table */
    int64_t bytes;
    int64_t modified;  /* nanoseconds since 1970 */
    uint64_t content;  /* digest (kind/content.h); 0: not computed */
    const char *fault; /* why it is known to be unusable; or NULL */
    const char *id;    /* what the ids of its sequences begin with */
};

#endif
