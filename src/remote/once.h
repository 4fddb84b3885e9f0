/* Writes objects once: of several runs that write the same bytes, one writes, and the others find them there.
 *
 * Errors as in upload.h. BL_EFAIL also where there is an object with other bytes: "another run has written other
 * bytes". */
#ifndef BL_ONCE_H
#define BL_ONCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "remote/remote.h"

/* Writes an object from memory, unless it is there with these bytes. *was_there: it was, or NULL. */
int bl_remote_put_once(struct bl_remote *remote, const char *url, const void *data, size_t size, bool *was_there,
                       struct bl_error *e);

/* Does the same with a file of this size, in parts. An object that is there is fetched, and compared with it. */
int bl_remote_upload_once(struct bl_remote *remote, const char *url, int fd, int64_t size, struct bl_error *e);

/* A small object that is written after a large one, and says what that one has, as by a checksum. */
struct bl_remote_record {
    const char *url;
    const void *data;
    size_t size;
};

/* Does the same, and then writes its record once. Where the file's object is there, and its record too, the record
 * alone is compared, since it says that another run has written these bytes. */
int bl_remote_upload_recorded(struct bl_remote *remote, const char *url, int fd, int64_t size,
                              const struct bl_remote_record *record, struct bl_error *e);

#endif
