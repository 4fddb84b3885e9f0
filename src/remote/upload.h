/* Writes objects to stores (s3:// and gs://): small ones from memory, files in parts, on condition that there is no
 * object yet, or that it is the one the caller knows.
 *
 * A connection may break after a store has done what was asked, and the same request, sent again, then finds the
 * condition no longer met. So where an answer was lost, the object is compared with the bytes that were to be written:
 * if they are its content, it counts as written. Writers that must know which of them wrote, as of a claim, therefore
 * write bytes that no other writes: with a random number in them.
 *
 * Errors: BL_EUSAGE for what the user can change: a malformed URL, no credentials, and from bl_remote_probe_conditional
 * and bl_remote_list_uploads also what the store refuses. BL_EFAIL for everything else; BL_ECANCEL. A message begins
 * with the URL. */
#ifndef BL_UPLOAD_H
#define BL_UPLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "remote/remote.h"

/* When an object may be written. */
struct bl_remote_condition {
    bool is_new;     /* there must be no object */
    const char *tag; /* the object must have this tag, as struct bl_remote_object has it; NULL: any, or none */
};

enum bl_remote_outcome {
    BL_REMOTE_WRITTEN,  /* the object has these bytes now */
    BL_REMOTE_CONFLICT, /* the condition is not met: there is an object, or another one, or none. It is as it was */
};

/* Free with bl_remote_written_free. */
struct bl_remote_written {
    enum bl_remote_outcome outcome;
    char *tag; /* of the object that was written; NULL after a conflict */
};

void bl_remote_written_free(struct bl_remote_written *written);

/* Files of at most this size are written by one request, others in parts of at least this size. */
#define BL_REMOTE_PART_BYTES ((int64_t)8 << 20)

/* Writes an object from memory, by one request. condition: NULL for none. */
int bl_remote_put(struct bl_remote *remote, const char *url, const void *data, size_t size,
                  const struct bl_remote_condition *condition, struct bl_remote_written *written, struct bl_error *e);

/* Does the same for the end of a run: by one try, which neither a cancel nor bl_remote_end stops. */
int bl_remote_put_last(struct bl_remote *remote, const char *url, const void *data, size_t size,
                       const struct bl_remote_condition *condition, struct bl_remote_written *written,
                       struct bl_error *e);

/* Returns the memory that the upload of a file of this size takes: a part of it, since a store takes 10,000 parts. */
int64_t bl_remote_part_bytes(int64_t size);

/* Writes a file of this size as an object. It must not change meanwhile. The condition is compared when all parts are
 * there; some stores that pass bl_remote_probe_conditional ignore a tag then. If the upload fails, or is cancelled, its
 * parts are removed. */
int bl_remote_upload(struct bl_remote *remote, const char *url, int fd, int64_t size,
                     const struct bl_remote_condition *condition, struct bl_remote_written *written,
                     struct bl_error *e);

/* Removes an object; it is no error if there is none. */
int bl_remote_delete(struct bl_remote *remote, const char *url, struct bl_error *e);

/* An upload in parts that was begun, and neither completed nor ended: of a process that was killed, or one that runs.
 * Stores keep its parts, and charge for them. */
struct bl_remote_upload_left {
    const char *url, *id;
    int64_t begun; /* seconds since 1970 by the store's clock; 0: unknown */
};

/* BL_OK: go on. */
typedef int bl_remote_left_emit(void *context, const struct bl_remote_upload_left *left, struct bl_error *e);

/* Lists such uploads of objects whose URLs begin with this one. MinIO lists them only for the URL of one object. */
int bl_remote_list_uploads(struct bl_remote *remote, const char *url, bl_remote_left_emit *emit, void *context,
                           struct bl_error *e);

/* Ends such an upload of this object, and removes its parts; it is no error if it has ended. */
int bl_remote_abort_upload(struct bl_remote *remote, const char *url, const char *id, struct bl_error *e);

/* Ends those below a URL that began before a time, in seconds since 1970 by the store's clock; 0: all. *count: how many
 * were ended. An upload that runs and is ended begins anew, and gives up after three times. */
int bl_remote_clear_uploads(struct bl_remote *remote, const char *url, int64_t before, int64_t *count,
                            struct bl_error *e);

/* Tries, with an object of its own below a URL that ends with a slash, whether the store compares conditions: for new
 * objects, by one request and in parts, and for known ones, by one request. BL_EUSAGE: it ignores one, and the message
 * says which, or nothing may be written there. */
int bl_remote_probe_conditional(struct bl_remote *remote, const char *url, struct bl_error *e);

#endif
