/* Writes objects on condition that they are new, and compares those that are there. */
#include "remote/once.h"

#include <stdlib.h>

#include "remote/payload.h"
#include "remote/upload.h"

#define TRIES 3 /* of a write that meets an object, which then is not there */

/* Compares an object whose record is there: its size is enough. */
static int object_match_size(struct bl_remote *remote, const char *url, int64_t size, enum bl_payload_match *match,
                             struct bl_error *e)
{
    struct bl_remote_object object = {0};
    struct bl_error fault = {0};
    int code = bl_remote_stat(remote, url, &object, &fault);
    *match = code ? BL_MATCH_ABSENT : object.size == size ? BL_MATCH_SAME : BL_MATCH_OTHER;
    bool is_absent = code == BL_EUSAGE && object.size < 0;
    bl_remote_object_free(&object);
    return is_absent ? BL_OK : bl_error_pass(e, code == BL_EUSAGE ? BL_EFAIL : code, &fault);
}

/* Writes an object, if there is none, or if an empty one of this tag is there. *conflict: it was not written. */
static int object_write_new(struct bl_remote *remote, const char *url, const struct bl_payload *payload,
                            const char *tag, bool *conflict, struct bl_error *e)
{
    const struct bl_remote_condition condition = {.is_new = !tag, .tag = tag};
    struct bl_remote_written written = {0};
    if (payload->data)
        BL_TRY(bl_remote_put(remote, url, payload->data, (size_t)payload->size, &condition, &written, e));
    else
        BL_TRY(bl_remote_upload(remote, url, payload->fd, payload->size, &condition, &written, e));
    *conflict = written.outcome == BL_REMOTE_CONFLICT;
    bl_remote_written_free(&written);
    return BL_OK;
}

/* Compares what is there, first the record. tag: as in bl_payload_match, of the object. */
static int object_match(struct bl_remote *remote, const char *url, const struct bl_payload *payload,
                        const struct bl_remote_record *record, enum bl_payload_match *match, char **tag,
                        struct bl_error *e)
{
    *match = BL_MATCH_ABSENT;
    if (record) {
        const struct bl_payload told = {.data = record->data, .fd = -1, .size = (int64_t)record->size};
        char *none = NULL;
        int code = bl_payload_match(remote, record->url, &told, match, &none, e);
        free(none);
        BL_TRY(code);
    }
    return *match == BL_MATCH_SAME ? object_match_size(remote, url, payload->size, match, e)
                                   : bl_payload_match(remote, url, payload, match, tag, e);
}

/* Writes an object once. record: NULL for none. *was_there: it was there with these bytes. */
static int object_write_once(struct bl_remote *remote, const char *url, const struct bl_payload *payload,
                             const struct bl_remote_record *record, bool *was_there, struct bl_error *e)
{
    char *tag = NULL;
    bool is_done = false;
    int code = BL_OK;
    for (int i = 0; i < TRIES && !code && !is_done; i++) {
        enum bl_payload_match match = BL_MATCH_SAME;
        code = object_write_new(remote, url, payload, tag, was_there, e);
        free(tag);
        tag = NULL;
        if (!code && *was_there)
            code = object_match(remote, url, payload, record, &match, &tag, e);
        if (!code && match == BL_MATCH_OTHER)
            code = bl_error_set(e, BL_EFAIL, "%s: another run has written other bytes", url);
        is_done = match == BL_MATCH_SAME;
    }
    free(tag);
    if (!code && !is_done)
        code = bl_error_set(e, BL_EFAIL, "%s: cannot be written: it was there and removed %d times", url, TRIES);
    return code;
}

int bl_remote_put_once(struct bl_remote *remote, const char *url, const void *data, size_t size, bool *was_there,
                       struct bl_error *e)
{
    const struct bl_payload payload = {.data = size ? data : "", .fd = -1, .size = (int64_t)size};
    bool found = false;
    int code = object_write_once(remote, url, &payload, NULL, &found, e);
    if (was_there)
        *was_there = found;
    return code;
}

int bl_remote_upload_once(struct bl_remote *remote, const char *url, int fd, int64_t size, struct bl_error *e)
{
    const struct bl_payload payload = {.fd = fd, .size = size};
    bool was_there;
    return object_write_once(remote, url, &payload, NULL, &was_there, e);
}

int bl_remote_upload_recorded(struct bl_remote *remote, const char *url, int fd, int64_t size,
                              const struct bl_remote_record *record, struct bl_error *e)
{
    const struct bl_payload payload = {.fd = fd, .size = size};
    bool was_there;
    BL_TRY(object_write_once(remote, url, &payload, record, &was_there, e));
    return bl_remote_put_once(remote, record->url, record->data, record->size, NULL, e);
}
