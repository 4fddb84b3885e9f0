/* Bytes that are written to an object: in memory, or in a file. */
#ifndef BL_PAYLOAD_H
#define BL_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "remote/remote.h"

struct bl_payload {
    const char *data; /* or NULL: they are in the file */
    int fd;
    int64_t size;
};

/* Copies a part of the bytes. url: for messages. */
int bl_payload_read(const struct bl_payload *payload, const char *url, int64_t at, size_t size, char *to,
                    struct bl_error *e);

/* Sets whether an object has these bytes. It is fetched up to the first difference, and not kept. */
int bl_payload_compare(struct bl_remote *remote, const struct bl_remote_object *object,
                       const struct bl_payload *payload, bool *same, struct bl_error *e);

enum bl_payload_match {
    BL_MATCH_ABSENT, /* there is no object */
    BL_MATCH_SAME,
    BL_MATCH_EMPTY, /* it has no bytes, and the payload has: SeaweedFS leaves it where a writer was killed */
    BL_MATCH_OTHER
};

/* Does the same with the object that is there now. *tag: of an object that is empty; the caller frees it. NULL
 * otherwise. */
int bl_payload_match(struct bl_remote *remote, const char *url, const struct bl_payload *payload,
                     enum bl_payload_match *match, char **tag, struct bl_error *e);

#endif
