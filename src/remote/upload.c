/* Writes objects: each call is a fetch (fetch.h), or several. */
#include "remote/upload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "remote/fetch.h"
#include "remote/listing.h"
#include "remote/payload.h"
#include "remote/write_lock.h"

#define PARTS_MAX 10000 /* of an upload */
#define LOOKS 10        /* at an object that others replace */
#define BEGINNINGS 3    /* of an upload that the store ends before its completion */

void bl_remote_written_free(struct bl_remote_written *written)
{
    free(written->tag);
    *written = (struct bl_remote_written){0};
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* Parses the URL of an object, or of a prefix, in a store that is written to. */
static int target_parse(struct bl_url *parts, const char *url, bool is_prefix, struct bl_error *e)
{
    BL_TRY(bl_url_parse(parts, url, e));
    bool is_store = parts->scheme == BL_URL_S3 || parts->scheme == BL_URL_GS;
    if (is_store && (is_prefix || *parts->key))
        return BL_OK;
    bl_url_free(parts);
    return bl_error_set(e, BL_EUSAGE,
                        is_store ? "%s: it names no object" : "%s: objects are written to s3:// and gs:// alone", url);
}

/* Returns a write that is not yet made. */
static struct bl_fetch write_begin(struct bl_remote *remote, const char *url, const struct bl_url *parts,
                                   const char *method)
{
    return (struct bl_fetch){.remote = remote,
                             .name = url,
                             .url = parts,
                             .ask = {.method = method},
                             .size = -1,
                             .verb = "written",
                             .is_write = true};
}

/* Makes a write whose answer has a body that is read. */
static int write_run_read(struct bl_fetch *f, struct bl_buffer *text, struct bl_error *e)
{
    f->sink = bl_exchange_append;
    f->context = f->text = text;
    return bl_fetch_run(f, e);
}

/* Adds a condition to a request. Another tag than one that stores compare would be left out by access.c. */
static int write_add_condition(struct bl_fetch *f, const struct bl_remote_condition *condition, struct bl_error *e)
{
    if (!condition)
        return BL_OK;
    f->ask.is_new = condition->is_new;
    f->ask.tag = condition->tag;
    if (condition->tag && (!*condition->tag || strncmp(condition->tag, "W/", 2) == 0 || strpbrk(condition->tag, " \"")))
        return bl_error_set(e, BL_EFAIL, "%s: the store gave no ETag that it compares: %s", f->name, condition->tag);
    return BL_OK;
}

static bool write_is_accepted(const struct bl_fetch *f)
{
    return f->answer.status < 300;
}

/* Records an answer that nothing explains. */
static int write_fail(const struct bl_fetch *f, struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL, "%s: cannot be %s: the server answers %d%s%s", f->name, f->verb, f->answer.status,
                        *f->fault ? " " : "", f->fault);
}

/* Returns the ETag of an answer, or "": the time of a modification is none. */
static const char *answer_tag(const struct bl_answer *answer)
{
    return strchr(answer->tag, ' ') ? "" : answer->tag;
}

/* Records that the object was written, with its tag. */
static int written_set(struct bl_remote_written *written, const char *tag, struct bl_error *e)
{
    *written = (struct bl_remote_written){BL_REMOTE_WRITTEN, strdup(tag)};
    return written->tag ? BL_OK : bl_error_memory(e);
}

/* --- lost answers ------------------------------------------------------------------------------------------------- */

/* Sets the object that is there now. *exists: there is one. */
static int target_find(struct bl_remote *remote, const char *url, const struct bl_url *parts,
                       struct bl_remote_object *object, bool *exists, struct bl_error *e)
{
    struct bl_error fault = {0};
    struct bl_fetch f = {.remote = remote, .name = url, .url = parts, .ask = {.method = "HEAD"}, .size = -1};
    int code = bl_fetch_run(&f, &fault);
    bool is_absent = code && f.answer.outcome == BL_ANSWERED && f.answer.status == 404;
    *exists = !code;
    if (!code && f.answer.total < 0)
        code = bl_error_set(&fault, BL_EFAIL, "%s: the server does not tell its size", url);
    if (!code) {
        *object = (struct bl_remote_object){strdup(url), strdup(answer_tag(&f.answer)), f.answer.total};
        code = object->url && object->tag ? BL_OK : bl_error_memory(&fault);
    }
    bl_answer_free(&f.answer);
    return is_absent ? BL_OK : bl_error_pass(e, code, &fault);
}

/* Finds out what became of a write whose answer was lost: written if the object has these bytes, otherwise a conflict.
 * Where another writer replaces the object meanwhile, it is looked at again. *exists: there is an object. */
static int write_resolve(struct bl_remote *remote, const char *url, const struct bl_url *parts,
                         const struct bl_payload *payload, struct bl_remote_written *written, bool *exists,
                         struct bl_error *e)
{
    struct bl_remote_object object = {0}, before = {0};
    bool same = false, again = true;
    int code = BL_OK;
    for (int i = 0; again; i++) {
        struct bl_error fault = {0};
        bl_remote_object_free(&before);
        before = object;
        object = (struct bl_remote_object){0};
        code = target_find(remote, url, parts, &object, exists, &fault);
        again = !code && *exists;
        if (again)
            code = bl_payload_compare(remote, &object, payload, &same, &fault);
        again = again && code == BL_EFAIL && i < LOOKS && (!before.tag || strcmp(before.tag, object.tag) != 0);
        if (!again)
            (void)bl_error_pass(e, code, &fault);
    }
    *written = (struct bl_remote_written){.outcome = BL_REMOTE_CONFLICT};
    if (!code && same)
        code = written_set(written, object.tag, e);
    bl_remote_object_free(&before);
    bl_remote_object_free(&object);
    return code;
}

/* --- conditions that the store does not compare --------------------------------------------------------------------
 */

/* Takes the lock, if writers use one, and compares the condition, which is none any more then. *met: it is. The caller
 * releases *lock when the object is written, also after an error. */
static int guard_take(struct bl_remote *remote, const char *url, const struct bl_url *parts,
                      const struct bl_remote_condition **condition, int *lock, bool *met, struct bl_error *e)
{
    const struct bl_remote_condition *c = *condition;
    struct bl_remote_object object = {0};
    bool exists = false;
    *lock = -1;
    *met = true;
    if (!c || !remote->options.lock_dir)
        return BL_OK;
    *condition = NULL;
    int code = bl_write_lock_take(remote->options.lock_dir, remote->cancel, lock, e);
    if (!code)
        code = target_find(remote, url, parts, &object, &exists, e);
    *met = !code && !(c->is_new && exists) && !(c->tag && (!exists || strcmp(c->tag, object.tag) != 0));
    bl_remote_object_free(&object);
    return code;
}

/* --- one request -------------------------------------------------------------------------------------------------- */

/* The manner of a write: PUT_DEFINITE and PUT_LAST set is_definite and is_last of its fetch. */
enum put_manner { PUT_PLAIN, PUT_DEFINITE, PUT_LAST };

/* Writes an object from memory. */
static int object_put(struct bl_remote *remote, const char *url, const struct bl_url *parts,
                      const struct bl_payload *payload, const struct bl_remote_condition *condition,
                      enum put_manner manner, struct bl_remote_written *written, struct bl_error *e)
{
    const struct bl_http_body body = {payload->data, (size_t)payload->size};
    struct bl_fetch f = write_begin(remote, url, parts, "PUT");
    bool exists, met;
    int lock;
    f.ask.body = &body;
    f.is_definite = manner == PUT_DEFINITE;
    f.is_last = manner == PUT_LAST;
    int code = guard_take(remote, url, parts, &condition, &lock, &met, e);
    if (!code)
        code = write_add_condition(&f, condition, e);
    if (!code && met)
        code = bl_fetch_run(&f, e);
    bool is_refused = f.answer.status == 412 || f.answer.status == 404;
    if (code)
        *written = (struct bl_remote_written){0};
    else if (!met)
        *written = (struct bl_remote_written){.outcome = BL_REMOTE_CONFLICT};
    else if (write_is_accepted(&f))
        code = written_set(written, answer_tag(&f.answer), e);
    else if (!condition || !is_refused)
        code = write_fail(&f, e);
    else if (f.may_be_done)
        code = write_resolve(remote, url, parts, payload, written, &exists, e);
    else
        *written = (struct bl_remote_written){.outcome = BL_REMOTE_CONFLICT};
    bl_write_lock_release(lock);
    bl_answer_free(&f.answer);
    return code;
}

/* Writes bytes as an object. */
static int memory_put(struct bl_remote *remote, const char *url, const void *data, size_t size,
                      const struct bl_remote_condition *condition, enum put_manner manner,
                      struct bl_remote_written *written, struct bl_error *e)
{
    const struct bl_payload payload = {.data = data, .fd = -1, .size = (int64_t)size};
    struct bl_url parts;
    BL_TRY(target_parse(&parts, url, false, e));
    int code = object_put(remote, url, &parts, &payload, condition, manner, written, e);
    bl_url_free(&parts);
    return code;
}

int bl_remote_put(struct bl_remote *remote, const char *url, const void *data, size_t size,
                  const struct bl_remote_condition *condition, struct bl_remote_written *written, struct bl_error *e)
{
    return memory_put(remote, url, data, size, condition, PUT_PLAIN, written, e);
}

int bl_remote_put_last(struct bl_remote *remote, const char *url, const void *data, size_t size,
                       const struct bl_remote_condition *condition, struct bl_remote_written *written,
                       struct bl_error *e)
{
    return memory_put(remote, url, data, size, condition, PUT_LAST, written, e);
}

/* Removes an object. is_definite: as of the fetch. */
static int object_delete(struct bl_remote *remote, const char *url, bool is_definite, struct bl_error *e)
{
    struct bl_url parts;
    BL_TRY(target_parse(&parts, url, false, e));
    struct bl_fetch f = write_begin(remote, url, &parts, "DELETE");
    f.verb = "removed";
    f.is_definite = is_definite;
    int code = bl_fetch_run(&f, e);
    if (!code && !write_is_accepted(&f) && f.answer.status != 404)
        code = write_fail(&f, e);
    bl_answer_free(&f.answer);
    bl_url_free(&parts);
    return code;
}

int bl_remote_delete(struct bl_remote *remote, const char *url, struct bl_error *e)
{
    return object_delete(remote, url, false, e);
}

/* --- uploads in parts --------------------------------------------------------------------------------------------- */

/* An upload in progress. */
struct upload {
    struct bl_remote *remote;
    const char *url;
    const struct bl_url *parts;
    const struct bl_payload *payload;
    const struct bl_remote_condition *condition;
    struct bl_remote_written *written;
    int64_t part_size;
    char *part;            /* room for a part of a file */
    struct bl_buffer id;   /* of the upload; empty: no upload has begun */
    struct bl_buffer list; /* the parts, as the completion names them */
    bool is_definite;
};

/* Asks the store for an upload. */
static int upload_begin(struct upload *u, struct bl_error *e)
{
    static const struct bl_pair query[] = {{"uploads", ""}};
    static const struct bl_http_body nothing = {"", 0};
    struct bl_buffer text = {0};
    struct bl_fetch f = write_begin(u->remote, u->url, u->parts, "POST");
    f.ask.query = query;
    f.ask.queries = 1;
    f.ask.body = &nothing;
    f.is_definite = u->is_definite;
    int code = write_run_read(&f, &text, e);
    if (!code && !write_is_accepted(&f)) {
        code = write_fail(&f, e);
    } else if (!code) {
        code = bl_store_member(text.data ? text.data : "", text.size, "UploadId", &u->id, e);
        if (code)
            bl_error_prefix(e, "%s", u->url);
    }
    bl_answer_free(&f.answer);
    bl_buffer_free(&text);
    return code;
}

/* Appends an ETag to the list of parts. */
static void list_append_tag(struct bl_buffer *list, int number, const char *tag)
{
    bl_buffer_printf(list, "<Part><PartNumber>%d</PartNumber><ETag>&quot;", number);
    for (; *tag; tag++) {
        if (*tag == '&' || *tag == '<' || *tag == '>')
            bl_buffer_printf(list, "&#%d;", *tag);
        else
            bl_buffer_byte(list, *tag);
    }
    bl_buffer_text(list, "&quot;</ETag></Part>");
}

/* Sends a part. *again: the store knows the upload no longer. */
static int upload_send_part(struct upload *u, int number, const struct bl_http_body *body, bool *again,
                            struct bl_error *e)
{
    char text[16];
    const struct bl_pair query[] = {{"partNumber", text}, {"uploadId", u->id.data}};
    snprintf(text, sizeof text, "%d", number);
    struct bl_fetch f = write_begin(u->remote, u->url, u->parts, "PUT");
    f.ask.query = query;
    f.ask.queries = 2;
    f.ask.body = body;
    int code = bl_fetch_run(&f, e);
    *again = !code && f.answer.status == 404;
    if (!code && !*again && !write_is_accepted(&f))
        code = write_fail(&f, e);
    const char *tag = answer_tag(&f.answer);
    if (!code && !*again && !*tag)
        code = bl_error_set(e, BL_EFAIL, "%s: the store gave no ETag for part %d", u->url, number);
    if (!code && !*again)
        list_append_tag(&u->list, number, tag);
    bl_answer_free(&f.answer);
    return code;
}

/* Sends all parts. */
static int upload_send(struct upload *u, bool *again, struct bl_error *e)
{
    const struct bl_payload *payload = u->payload;
    int code = BL_OK;
    bl_buffer_clear(&u->list);
    bl_buffer_text(&u->list, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (int64_t at = 0, number = 1; at < payload->size && !code && !*again; at += u->part_size, number++) {
        int64_t left = payload->size - at;
        struct bl_http_body body = {payload->data ? payload->data + at : u->part,
                                    (size_t)(left < u->part_size ? left : u->part_size)};
        if (!payload->data)
            code = bl_payload_read(payload, u->url, at, body.size, u->part, e);
        if (!code)
            code = upload_send_part(u, (int)number, &body, again, e);
    }
    bl_buffer_text(&u->list, "</CompleteMultipartUpload>");
    return code ? code : bl_buffer_check(&u->list, e);
}

/* Judges the answer to a completion. *again: the upload is to begin anew. */
static int upload_judge(struct upload *u, const struct bl_fetch *f, const struct bl_buffer *text, bool *again,
                        struct bl_error *e)
{
    struct bl_buffer tag = {0};
    struct bl_error fault = {0};
    int status = f->answer.status, code = BL_OK;
    bool exists = true, is_told = false;
    *u->written = (struct bl_remote_written){.outcome = BL_REMOTE_CONFLICT};
    if (write_is_accepted(f))
        is_told = bl_store_member(text->data ? text->data : "", text->size, "ETag", &tag, &fault) == BL_OK;
    if (is_told) {
        bl_tag_trim(tag.data);
        code = written_set(u->written, tag.data, e);
        bl_buffer_clear(&u->id);
    } else if (write_is_accepted(f) || f->may_be_done) {
        code = write_resolve(u->remote, u->url, u->parts, u->payload, u->written, &exists, e);
    }
    bl_buffer_free(&tag);
    if (code || u->written->outcome == BL_REMOTE_WRITTEN)
        return code;
    if (write_is_accepted(f))
        return bl_error_pass(e, BL_EFAIL, &fault);
    /* A new upload meets what is there, if somebody else came between, or ended this one. */
    bool is_ended = status == 409 || strcmp(f->fault, "NoSuchUpload") == 0;
    if (!is_ended && !u->condition)
        return write_fail(f, e);
    *again = is_ended || (u->condition->is_new && !exists);
    return BL_OK;
}

/* Completes the upload. */
static int upload_complete(struct upload *u, bool *again, struct bl_error *e)
{
    const struct bl_pair query[] = {{"uploadId", u->id.data}};
    const struct bl_http_body body = {u->list.data, u->list.size};
    struct bl_buffer text = {0};
    struct bl_fetch f = write_begin(u->remote, u->url, u->parts, "POST");
    f.ask.query = query;
    f.ask.queries = 1;
    f.ask.body = &body;
    f.is_completion = true;
    const struct bl_remote_condition *condition = u->condition;
    bool met;
    int lock, code = guard_take(u->remote, u->url, u->parts, &condition, &lock, &met, e);
    if (!code)
        code = write_add_condition(&f, condition, e);
    if (!code && met)
        code = write_run_read(&f, &text, e);
    if (!code && met)
        code = upload_judge(u, &f, &text, again, e);
    else if (!code)
        *u->written = (struct bl_remote_written){.outcome = BL_REMOTE_CONFLICT};
    bl_write_lock_release(lock);
    bl_answer_free(&f.answer);
    bl_buffer_free(&text);
    return code;
}

/* Ends an upload. is_last: the work was stopped, or failed, and one try is enough. */
static int upload_abort(struct bl_remote *remote, const char *url, const struct bl_url *parts, const char *id,
                        bool is_last, struct bl_error *e)
{
    const struct bl_pair query[] = {{"uploadId", id}};
    struct bl_fetch f = write_begin(remote, url, parts, "DELETE");
    f.ask.query = query;
    f.ask.queries = 1;
    f.verb = "ended";
    f.is_last = is_last;
    int code = bl_fetch_run(&f, e);
    if (!code && !write_is_accepted(&f) && f.answer.status != 404)
        code = write_fail(&f, e);
    bl_answer_free(&f.answer);
    return code;
}

/* Ends the upload, if there is one, after it was not completed. The first error stays. */
static void upload_clear(struct upload *u, int code)
{
    struct bl_error fault = {0};
    if (u->id.size)
        (void)upload_abort(u->remote, u->url, u->parts, u->id.data, code != BL_OK, &fault);
    bl_buffer_clear(&u->id);
}

/* Makes an upload in parts, and begins anew where the store has ended it. */
static int upload_run(struct upload *u, struct bl_error *e)
{
    int code = BL_OK;
    bool again = true;
    for (int i = 0; i < BEGINNINGS && again && !code; i++) {
        again = false;
        bl_remote_written_free(u->written);
        code = upload_begin(u, e);
        if (!code)
            code = upload_send(u, &again, e);
        if (!code && !again)
            code = upload_complete(u, &again, e);
        upload_clear(u, code);
    }
    if (!code && again)
        code =
            bl_error_set(e, BL_EFAIL, "%s: cannot be written: the store ended the upload %d times", u->url, BEGINNINGS);
    bl_buffer_free(&u->id);
    bl_buffer_free(&u->list);
    return code;
}

int64_t bl_remote_part_bytes(int64_t size)
{
    int64_t mib = (int64_t)1 << 20, least = (size / PARTS_MAX / mib + 1) * mib;
    if (size <= BL_REMOTE_PART_BYTES)
        return size;
    return least > BL_REMOTE_PART_BYTES ? least : BL_REMOTE_PART_BYTES;
}

int bl_remote_upload(struct bl_remote *remote, const char *url, int fd, int64_t size,
                     const struct bl_remote_condition *condition, struct bl_remote_written *written, struct bl_error *e)
{
    struct bl_payload payload = {.fd = fd, .size = size};
    struct bl_url parts;
    struct upload u = {.remote = remote,
                       .url = url,
                       .parts = &parts,
                       .payload = &payload,
                       .condition = condition,
                       .written = written,
                       .part_size = bl_remote_part_bytes(size)};
    BL_TRY(target_parse(&parts, url, false, e));
    *written = (struct bl_remote_written){0};
    u.part = malloc((size_t)u.part_size + 1);
    int code = u.part ? BL_OK : bl_error_memory(e);
    if (!code && size <= BL_REMOTE_PART_BYTES) {
        code = bl_payload_read(&payload, url, 0, (size_t)size, u.part, e);
        payload.data = u.part;
        if (!code)
            code = object_put(remote, url, &parts, &payload, condition, PUT_PLAIN, written, e);
    } else if (!code) {
        code = upload_run(&u, e);
    }
    free(u.part);
    bl_url_free(&parts);
    return code;
}

int bl_remote_abort_upload(struct bl_remote *remote, const char *url, const char *id, struct bl_error *e)
{
    struct bl_url parts;
    BL_TRY(target_parse(&parts, url, false, e));
    int code = upload_abort(remote, url, &parts, id, false, e);
    bl_url_free(&parts);
    return code;
}

/* --- lists of uploads --------------------------------------------------------------------------------------------- */

/* A list of uploads that is being made. */
struct left_list {
    const char *url;
    const struct bl_url *parts;
    bl_remote_left_emit *emit;
    void *context;
};

/* Gives an upload to the caller, with its URL. */
static int left_take(void *context, const struct bl_pending *upload, struct bl_error *e)
{
    const struct left_list *list = context;
    struct bl_buffer url = {0};
    if (strncmp(upload->key, list->parts->key, strlen(list->parts->key)) != 0)
        return bl_error_set(e, BL_EFAIL, "the list has an upload with another prefix: %s", upload->key);
    bl_buffer_printf(&url, "%s://%s/%s", list->parts->scheme == BL_URL_GS ? "gs" : "s3", list->parts->bucket,
                     upload->key);
    const struct bl_remote_upload_left left = {url.data, upload->id, upload->begun};
    int code = bl_buffer_check(&url, e);
    if (!code)
        code = list->emit(list->context, &left, e);
    bl_buffer_free(&url);
    return code;
}

/* Fetches one part of the list. place: where it begins, and then where the next one does; empty: there is none. */
static int left_fetch_part(struct bl_remote *remote, struct left_list *list, struct bl_pending_place *place,
                           struct bl_error *e)
{
    struct bl_buffer text = {0};
    struct bl_pending_place next = {0};
    const struct bl_pair query[] = {{"uploads", ""},
                                    {"prefix", list->parts->key},
                                    {"encoding-type", "url"},
                                    {"key-marker", place->key.data},
                                    {"upload-id-marker", place->id.data}};
    struct bl_fetch f = {.remote = remote,
                         .name = list->url,
                         .url = list->parts,
                         .size = -1,
                         .is_definite = true,
                         .ask = {.method = "GET",
                                 .purpose = BL_GET_UPLOADS,
                                 .query = query,
                                 .queries = !place->key.size  ? 3
                                            : !place->id.size ? 4
                                                              : 5},
                         .sink = bl_exchange_append,
                         .context = &text,
                         .text = &text};
    int code = bl_fetch_run(&f, e);
    if (!code) {
        code = bl_uploads_parse(text.data ? text.data : "", text.size, left_take, list, &next, e);
        if (!code && next.key.size && place->key.size && strcmp(next.key.data, place->key.data) == 0 &&
            strcmp(next.id.data, place->id.data) == 0)
            code = bl_error_set(e, BL_EFAIL, "the list of uploads does not end");
        if (code)
            bl_error_prefix(e, "%s", list->url);
    }
    bl_answer_free(&f.answer);
    bl_buffer_free(&text);
    bl_pending_place_free(place);
    *place = next;
    return code;
}

int bl_remote_list_uploads(struct bl_remote *remote, const char *url, bl_remote_left_emit *emit, void *context,
                           struct bl_error *e)
{
    struct bl_url parts;
    struct bl_pending_place place = {0};
    BL_TRY(target_parse(&parts, url, true, e));
    struct left_list list = {url, &parts, emit, context};
    int code = BL_OK;
    do {
        code = left_fetch_part(remote, &list, &place, e);
    } while (!code && place.key.size);
    bl_pending_place_free(&place);
    bl_url_free(&parts);
    return code;
}

/* Uploads that are ended. */
struct left_clearing {
    struct bl_remote *remote;
    int64_t before, count;
};

static int left_clear(void *context, const struct bl_remote_upload_left *left, struct bl_error *e)
{
    struct left_clearing *clearing = context;
    if (clearing->before && (!left->begun || left->begun >= clearing->before))
        return BL_OK;
    clearing->count++;
    return bl_remote_abort_upload(clearing->remote, left->url, left->id, e);
}

int bl_remote_clear_uploads(struct bl_remote *remote, const char *url, int64_t before, int64_t *count,
                            struct bl_error *e)
{
    struct left_clearing clearing = {.remote = remote, .before = before};
    int code = bl_remote_list_uploads(remote, url, left_clear, &clearing, e);
    *count = clearing.count;
    return code;
}

/* --- conditions --------------------------------------------------------------------------------------------------- */

/* A step of the probe: a write, and what must become of it. */
static const struct probe_step {
    const char *data; /* each step has other bytes, so that no outcome is one of another step */
    bool is_new, in_parts;
    const char *tag;     /* NULL: none; "": that of the first step */
    bool is_conflict;    /* what must come of it */
    const char *ignored; /* what the store does wrong otherwise */
} probe_steps[] = {
    {"1", true, false, NULL, false, "takes an object for one that exists"},
    {"2", true, false, NULL, true, "ignores If-None-Match"},
    {"3", true, true, NULL, true, "ignores If-None-Match where an upload in parts is completed"},
    {"4", false, false, "00000000000000000000000000000000", true, "ignores If-Match"},
    {"5", false, false, "", false, "refuses If-Match with the ETag of the object"},
};

/* Makes a step. tag: of the first one. */
static int probe_run_step(struct bl_remote *remote, const char *url, const struct bl_url *parts,
                          const struct probe_step *step, char **tag, struct bl_error *e)
{
    const struct bl_payload payload = {.data = step->data, .fd = -1, .size = 1};
    const struct bl_remote_condition condition = {step->is_new, step->tag && !*step->tag ? *tag : step->tag};
    struct bl_remote_written written = {0};
    struct upload u = {.remote = remote,
                       .url = url,
                       .parts = parts,
                       .payload = &payload,
                       .condition = &condition,
                       .written = &written,
                       .part_size = 1,
                       .is_definite = true};
    int code = step->in_parts ? upload_run(&u, e)
                              : object_put(remote, url, parts, &payload, &condition, PUT_DEFINITE, &written, e);
    if (!code && (written.outcome == BL_REMOTE_CONFLICT) != step->is_conflict)
        code = bl_error_set(e, BL_EUSAGE,
                            "%s: the store %s: without such conditions, runs and tasks that write there cannot be kept "
                            "apart (--lock-dir does it by a folder that they share)",
                            url, step->ignored);
    if (!code && !*tag) {
        *tag = written.tag;
        written.tag = NULL;
    }
    bl_remote_written_free(&written);
    return code;
}

int bl_remote_probe_conditional(struct bl_remote *remote, const char *url, struct bl_error *e)
{
    struct bl_buffer name = {0};
    struct bl_url parts;
    struct bl_error fault = {0};
    uint64_t number;
    char *tag = NULL;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        return bl_error_errno(e, BL_EFAIL, "random bytes");
    size_t size = strlen(url);
    bl_buffer_printf(&name, "%s%s.bload-probe-%016" PRIx64, url, size && url[size - 1] == '/' ? "" : "/", number);
    int code = bl_buffer_check(&name, e);
    if (!code)
        code = target_parse(&parts, name.data, false, e);
    if (code) {
        bl_buffer_free(&name);
        return code;
    }
    for (size_t i = 0; i < sizeof probe_steps / sizeof *probe_steps && !code; i++)
        code = probe_run_step(remote, name.data, &parts, &probe_steps[i], &tag, e);
    if (tag) {
        int removed = object_delete(remote, name.data, true, &fault);
        code = code ? code : bl_error_pass(e, removed, &fault);
    }
    free(tag);
    bl_url_free(&parts);
    bl_buffer_free(&name);
    return code;
}
