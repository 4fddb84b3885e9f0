/* Writes objects on condition that they are new, and compares those that are there. */
#include "remote/once.h"

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

/* Writes an object once. record: NULL for none. *was_there: it was there with these bytes. */
static int object_write_once(struct bl_remote *remote, const char *url, const struct bl_payload *payload,
                             const struct bl_remote_record *record, bool *was_there, struct bl_error *e)
{
    const struct bl_remote_condition is_new = {.is_new = true};
    for (int i = 0; i < TRIES; i++) {
        struct bl_remote_written written = {0};
        enum bl_payload_match match = BL_MATCH_ABSENT;
        if (payload->data)
            BL_TRY(bl_remote_put(remote, url, payload->data, (size_t)payload->size, &is_new, &written, e));
        else
            BL_TRY(bl_remote_upload(remote, url, payload->fd, payload->size, &is_new, &written, e));
        *was_there = written.outcome == BL_REMOTE_CONFLICT;
        bl_remote_written_free(&written);
        if (!*was_there)
            return BL_OK;
        if (record) {
            const struct bl_payload told = {.data = record->data, .fd = -1, .size = (int64_t)record->size};
            BL_TRY(bl_payload_match(remote, record->url, &told, &match, e));
        }
        if (match == BL_MATCH_SAME)
            BL_TRY(object_match_size(remote, url, payload->size, &match, e));
        else
            BL_TRY(bl_payload_match(remote, url, payload, &match, e));
        if (match == BL_MATCH_SAME)
            return BL_OK;
        if (match == BL_MATCH_OTHER)
            return bl_error_set(e, BL_EFAIL, "%s: another run has written other bytes", url);
    }
    return bl_error_set(e, BL_EFAIL, "%s: cannot be written: it was there and removed %d times", url, TRIES);
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
