/* Reads the bytes that are written to objects, and compares objects with them. */
#include "remote/payload.h"

#include <string.h>

#include "base/io.h"

#define STEP_BYTES ((size_t)16 << 10) /* that are read of a file at once, to be compared */

int bl_payload_read(const struct bl_payload *payload, const char *url, int64_t at, size_t size, char *to,
                    struct bl_error *e)
{
    if (payload->data) {
        memcpy(to, payload->data + at, size);
        return BL_OK;
    }
    int code = bl_io_pread(payload->fd, to, size, at, "the file that is uploaded", e);
    if (code)
        bl_error_prefix(e, "%s", url);
    return code;
}

/* A comparison in progress. */
struct comparison {
    const struct bl_payload *payload;
    const char *url;
    int64_t at; /* bytes that are equal so far */
    bool differs;
};

/* Compares the next bytes of the object. Another result than BL_OK ends the fetch, also where they differ. */
static int comparison_take(void *context, const void *data, size_t size, struct bl_error *e)
{
    struct comparison *c = context;
    char room[STEP_BYTES];
    for (size_t done = 0; done < size;) {
        size_t left = size - done, step = left < STEP_BYTES ? left : STEP_BYTES;
        BL_TRY(bl_payload_read(c->payload, c->url, c->at, step, room, e));
        c->differs = memcmp((const char *)data + done, room, step) != 0;
        if (c->differs)
            return BL_EDATA;
        done += step;
        c->at += (int64_t)step;
    }
    return BL_OK;
}

int bl_payload_compare(struct bl_remote *remote, const struct bl_remote_object *object,
                       const struct bl_payload *payload, bool *same, struct bl_error *e)
{
    struct comparison c = {.payload = payload, .url = object->url};
    bool lacks_ranges;
    *same = object->size == payload->size;
    if (!*same || !payload->size)
        return BL_OK;
    int code = bl_remote_fetch(remote, object, 0, 0, comparison_take, &c, &lacks_ranges, e);
    *same = !code;
    return c.differs ? BL_OK : code;
}

int bl_payload_match(struct bl_remote *remote, const char *url, const struct bl_payload *payload,
                     enum bl_payload_match *match, char **tag, struct bl_error *e)
{
    struct bl_remote_object object = {0};
    struct bl_error fault = {0};
    bool same = false;
    int code = bl_remote_stat(remote, url, &object, &fault);
    *match = BL_MATCH_ABSENT;
    *tag = NULL;
    if (code)
        return object.size < 0 ? BL_OK : bl_error_pass(e, code == BL_EUSAGE ? BL_EFAIL : code, &fault);
    code = bl_payload_compare(remote, &object, payload, &same, e);
    *match = same ? BL_MATCH_SAME : object.size ? BL_MATCH_OTHER : BL_MATCH_EMPTY;
    if (*match == BL_MATCH_EMPTY) {
        *tag = object.tag;
        object.tag = NULL;
    }
    bl_remote_object_free(&object);
    /* It may have been removed between the two requests. */
    if (code == BL_EFAIL && bl_remote_stat(remote, url, &object, &fault) && object.size < 0) {
        *match = BL_MATCH_ABSENT;
        bl_error_clear(e);
        code = BL_OK;
    }
    bl_remote_object_free(&object);
    return code;
}
