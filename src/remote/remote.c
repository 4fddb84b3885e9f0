/* Reads objects and lists them: each call is a fetch (fetch.h), or several. */
#include "remote/remote.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/json.h"
#include "remote/fetch.h"
#include "remote/listing.h"

/* --- client ------------------------------------------------------------------------------------------------------- */

int bl_remote_open(struct bl_remote **out, const struct bl_remote_options *options, const struct bl_cancel *cancel,
                   struct bl_error *e)
{
    const struct bl_curl *curl;
    BL_TRY(bl_curl_load(&curl, e));
    struct bl_remote *remote = calloc(1, sizeof *remote);
    if (!remote || pthread_mutex_init(&remote->lock, NULL) != 0) {
        free(remote);
        return bl_error_memory(e);
    }
    if (bl_detours_open(&remote->detours, e)) {
        (void)pthread_mutex_destroy(&remote->lock);
        free(remote);
        return BL_EFAIL;
    }
    remote->curl = curl;
    remote->options = *options;
    remote->cancel = cancel;
    int code = bl_access_open(&remote->access, curl, options, cancel, e);
    if (code)
        bl_remote_close(remote);
    else
        *out = remote;
    return code;
}

void bl_remote_close(struct bl_remote *remote)
{
    if (!remote)
        return;
    bl_handles_free_all(remote);
    bl_access_close(remote->access);
    bl_detours_close(&remote->detours);
    (void)pthread_mutex_destroy(&remote->lock);
    free(remote);
}

void bl_remote_count_unused(struct bl_remote *remote, int64_t bytes)
{
    atomic_fetch_sub(&remote->wanted, bytes);
}

void bl_remote_end(struct bl_remote *remote)
{
    atomic_store(&remote->is_ending, true);
}

void bl_remote_count(struct bl_remote *remote, struct bl_remote_counts *counts)
{
    *counts = (struct bl_remote_counts){.requests = atomic_load(&remote->requests),
                                        .retries = atomic_load(&remote->retries),
                                        .wanted = atomic_load(&remote->wanted),
                                        .fetched = atomic_load(&remote->fetched),
                                        .sent = atomic_load(&remote->sent)};
}

/* --- one object --------------------------------------------------------------------------------------------------- */

void bl_remote_object_free(struct bl_remote_object *object)
{
    free(object->url);
    free(object->tag);
    *object = (struct bl_remote_object){0};
}

/* Asks the Hub for the commit of the URL's revision, once, so that all requests read the same one. */
static int remote_find_commit(struct bl_remote *remote, const char *name, const struct bl_url *url, struct bl_error *e)
{
    struct bl_buffer text = {0}, plain = {0};
    struct bl_json_key key;
    struct bl_json_value value, commit;
    struct bl_json_fault fault;
    if (!bl_access_lacks_commit(remote->access, url))
        return BL_OK;
    struct bl_fetch f = {.remote = remote,
                         .name = name,
                         .url = url,
                         .ask = {.method = "GET", .purpose = BL_GET_COMMIT},
                         .size = -1,
                         .is_definite = true,
                         .sink = bl_exchange_append,
                         .context = &text,
                         .text = &text};
    int code = bl_fetch_run(&f, e);
    (void)bl_json_key_parse(&key, "sha", 3);
    bool good = !code && text.size && bl_json_scan(text.data, text.size, &key, 1, &value, &fault) &&
                bl_json_text(&value, &plain, &commit);
    char *copy = good ? strndup(commit.text, commit.size) : NULL;
    if (!code) {
        code = bl_access_learn_commit(remote->access, url, copy ? copy : "", e);
        if (code)
            bl_error_prefix(e, "%s", name);
    }
    free(copy);
    bl_answer_free(&f.answer);
    bl_buffer_free(&text);
    bl_buffer_free(&plain);
    return code;
}

/* Sets an object by an answer. */
static int object_set(struct bl_remote_object *object, const char *url, const struct bl_answer *a, struct bl_error *e)
{
    bool is_linked = a->linked_size >= 0;
    int64_t size = is_linked ? a->linked_size : a->total;
    if (size < 0)
        return bl_error_set(e, BL_EUSAGE, "%s: the server does not tell its size", url);
    *object = (struct bl_remote_object){
        .url = strdup(url), .tag = strdup(is_linked && *a->linked_tag ? a->linked_tag : a->tag), .size = size};
    if (object->url && object->tag)
        return BL_OK;
    bl_remote_object_free(object);
    return bl_error_memory(e);
}

/* Asks again by a GET for the first byte, since a HEAD that fails does not say why, and some servers have none. */
static int stat_by_get(struct bl_fetch *f, struct bl_error *e)
{
    bl_answer_free(&f->answer);
    f->ask = (struct bl_ask){.method = "GET", .begin = 0, .end = 1};
    f->renewals = 0;
    struct bl_error fault = {0};
    int code = bl_fetch_run(f, &fault);
    const struct bl_answer *a = &f->answer;
    /* A server without ranges tells the size, too, and so does one whose object is empty. One that changes files while
     * it sends them knows no size: the caller says so. */
    bool is_known = a->total >= 0 && (a->status == 206 || a->status == 200 || a->status == 416);
    bool is_unknown = a->total < 0 && a->status == 200 && a->outcome == BL_REFUSED;
    return is_known || is_unknown ? BL_OK : bl_error_pass(e, code, &fault);
}

int bl_remote_stat(struct bl_remote *remote, const char *url, struct bl_remote_object *object, struct bl_error *e)
{
    struct bl_url parts;
    struct bl_error fault = {0};
    BL_TRY(bl_url_parse(&parts, url, e));
    struct bl_fetch f = {
        .remote = remote, .name = url, .url = &parts, .ask = {.method = "HEAD"}, .size = -1, .is_definite = true};
    int code = *parts.key ? remote_find_commit(remote, url, &parts, e)
                          : bl_error_set(e, BL_EUSAGE, "%s: it names no object", url);
    if (!code) {
        code = bl_fetch_run(&f, &fault);
        int status = f.answer.outcome == BL_ANSWERED ? f.answer.status : 0;
        bool is_store = parts.scheme == BL_URL_S3 || parts.scheme == BL_URL_GS;
        bool is_dumb = status == 400 || (status == 404 && is_store) || status == 403 || status == 405 ||
                       status == 501 || (!code && f.answer.total < 0 && f.answer.linked_size < 0);
        code = is_dumb ? stat_by_get(&f, e) : bl_error_pass(e, code, &fault);
    }
    bool is_missing = code && f.answer.outcome == BL_ANSWERED && f.answer.status == 404;
    if (!code)
        code = object_set(object, url, &f.answer, e);
    else
        *object = (struct bl_remote_object){.size = is_missing ? -1 : 0};
    bl_answer_free(&f.answer);
    bl_url_free(&parts);
    return code;
}

int bl_remote_fetch(struct bl_remote *remote, const struct bl_remote_object *object, int64_t begin, int64_t end,
                    bl_remote_sink *sink, void *context, bool *lacks_ranges, struct bl_error *e)
{
    struct bl_url parts;
    BL_TRY(bl_url_parse(&parts, object->url, e));
    struct bl_fetch f = {.remote = remote,
                         .name = object->url,
                         .url = &parts,
                         .size = object->size,
                         .ask = {.method = "GET", .begin = begin, .end = end, .tag = object->tag},
                         .sink = sink,
                         .context = context};
    int code = remote_find_commit(remote, object->url, &parts, e);
    if (!code) {
        atomic_fetch_add(&remote->wanted, (end ? end : object->size) - begin);
        code = bl_fetch_run(&f, e);
    }
    *lacks_ranges = code && end && f.answer.outcome == BL_REFUSED && f.answer.status == 200;
    if (*lacks_ranges)
        atomic_fetch_sub(&remote->wanted, end - begin);
    bl_answer_free(&f.answer);
    bl_url_free(&parts);
    /* Reading has begun: nothing is a mistake on the command line any more. */
    if (code == BL_EUSAGE && e)
        e->code = BL_EFAIL;
    return code == BL_EUSAGE ? BL_EFAIL : code;
}

/* Does the same for callers that report every failure alike. */
static int object_fetch(struct bl_remote *remote, const struct bl_remote_object *object, int64_t begin, int64_t end,
                        bl_exchange_sink *sink, void *context, struct bl_error *e)
{
    bool lacks_ranges;
    return bl_remote_fetch(remote, object, begin, end, sink, context, &lacks_ranges, e);
}

/* Where bytes of an object go in memory. */
static int object_copy(void *context, const void *data, size_t size, struct bl_error *e)
{
    char **to = context;
    (void)e;
    memcpy(*to, data, size);
    *to += size;
    return BL_OK;
}

int bl_remote_read(struct bl_remote *remote, const struct bl_remote_object *object, int64_t offset, size_t size,
                   void *data, struct bl_error *e)
{
    char *to = data;
    if (offset < 0 || offset > object->size || size > (uint64_t)(object->size - offset))
        return bl_error_set(e, BL_EFAIL, "%s: it ends at %lld", object->url, (long long)object->size);
    return size ? object_fetch(remote, object, offset, offset + (int64_t)size, object_copy, &to, e) : BL_OK;
}

/* A file that an object is written to. */
struct saved {
    int fd;
    const char *name;
};

static int object_write(void *context, const void *data, size_t size, struct bl_error *e)
{
    const struct saved *saved = context;
    return bl_io_write(saved->fd, data, size, saved->name, e);
}

int bl_remote_save(struct bl_remote *remote, const struct bl_remote_object *object, int fd, struct bl_error *e)
{
    struct saved saved = {fd, "the copy of an object"};
    return object->size ? object_fetch(remote, object, 0, 0, object_write, &saved, e) : BL_OK;
}

void bl_remote_text_free(struct bl_remote_text *text)
{
    bl_buffer_free(&text->text);
    free(text->tag);
    *text = (struct bl_remote_text){0};
}

int bl_remote_get(struct bl_remote *remote, const char *url, size_t max, struct bl_remote_text *out, struct bl_error *e)
{
    struct bl_url parts;
    struct bl_error fault = {0};
    struct bl_store_fault told;
    *out = (struct bl_remote_text){.age = -1};
    BL_TRY(bl_url_parse(&parts, url, e));
    struct bl_fetch f = {.remote = remote,
                         .name = url,
                         .url = &parts,
                         .size = -1,
                         .ask = {.method = "GET"},
                         .sink = bl_exchange_append,
                         .context = &out->text,
                         .text = &out->text};
    int code = bl_fetch_run(&f, &fault);
    const struct bl_answer *a = &f.answer;
    bl_store_fault_parse(&told, a->text.data ? a->text.data : "", a->text.size);
    bool is_absent = code && a->outcome == BL_ANSWERED && a->status == 404 && strcmp(told.code, "NoSuchBucket") != 0;
    out->exists = !code;
    bl_buffer_text(&out->text, "");
    if (!code)
        code = bl_buffer_check(&out->text, &fault);
    if (!code && out->text.size > max)
        code = bl_error_set(&fault, BL_EFAIL, "%s: it has more than %zu bytes", url, max);
    if (!code) {
        out->tag = strdup(strchr(a->tag, ' ') ? "" : a->tag);
        code = out->tag ? BL_OK : bl_error_memory(&fault);
    }
    if (a->date && a->modified)
        out->age = a->date > a->modified ? a->date - a->modified : 0;
    bl_answer_free(&f.answer);
    bl_url_free(&parts);
    return is_absent ? BL_OK : bl_error_pass(e, code, &fault);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* A list that is being made. */
struct remote_list {
    const struct bl_url *url;
    const char *prefix; /* the URL up to its key */
    size_t prefix_size;
    bl_remote_emit *emit;
    void *context;
    int64_t count;
};

/* Gives an object to the caller, with its URL. */
static int list_take(void *context, const struct bl_listed *listed, struct bl_error *e)
{
    struct remote_list *list = context;
    size_t size = strlen(listed->key), wanted = strlen(list->url->key);
    struct bl_buffer url = {0};
    bool is_below = strncmp(listed->key, list->url->key, wanted) == 0;
    if (!is_below && list->url->scheme != BL_URL_HF)
        return bl_error_set(e, BL_EFAIL, "the list has an object with another prefix: %s", listed->key);
    if (!is_below || (!listed->size && size && listed->key[size - 1] == '/'))
        return BL_OK;
    bl_buffer_append(&url, list->prefix, list->prefix_size);
    bl_buffer_text(&url, listed->key);
    int code = bl_buffer_check(&url, e);
    char *tag = strdup(listed->tag);
    const struct bl_remote_object object = {url.data, tag, listed->size};
    if (!code)
        code = tag ? list->emit(list->context, &object, e) : bl_error_memory(e);
    list->count++;
    free(tag);
    bl_buffer_free(&url);
    return code;
}

/* Fetches one part of a list and gives its objects to the caller. token: of the part, and then of the next one; empty:
 * there is none. */
static int list_fetch_part(struct bl_remote *remote, const char *name, struct remote_list *list,
                           struct bl_buffer *token, struct bl_error *e)
{
    struct bl_buffer text = {0}, next = {0};
    struct bl_fetch f = {.remote = remote,
                         .name = name,
                         .url = list->url,
                         .size = -1,
                         .is_definite = true,
                         .ask = {.method = "GET", .purpose = BL_GET_LISTING, .token = token->size ? token->data : NULL},
                         .sink = bl_exchange_append,
                         .context = &text,
                         .text = &text};
    int code = bl_fetch_run(&f, e);
    const char *part = text.data ? text.data : "";
    if (!code) {
        code = list->url->scheme == BL_URL_HF ? bl_tree_parse(part, text.size, list_take, list, e)
                                              : bl_listing_parse(part, text.size, list_take, list, &next, e);
        if (code)
            bl_error_prefix(e, "%s", name);
    }
    if (!code && list->url->scheme == BL_URL_HF && f.answer.next)
        bl_buffer_text(&next, f.answer.next);
    if (!code)
        code = bl_buffer_check(&next, e);
    if (!code && next.size && token->size == next.size && memcmp(token->data, next.data, next.size) == 0)
        code = bl_error_set(e, BL_EFAIL, "%s: the list does not end", name);
    bl_answer_free(&f.answer);
    bl_buffer_free(&text);
    bl_buffer_free(token);
    *token = next;
    return code;
}

/* *count: of the objects. */
static int remote_list_all(struct bl_remote *remote, const char *url, bl_remote_emit *emit, void *context,
                           int64_t *count, struct bl_error *e)
{
    struct bl_url parts;
    struct bl_buffer token = {0};
    BL_TRY(bl_url_parse(&parts, url, e));
    struct remote_list list = {
        .url = &parts, .prefix = url, .prefix_size = strlen(url) - strlen(parts.key), .emit = emit, .context = context};
    /* Of a bucket without a slash behind it. */
    struct bl_buffer prefix = {0};
    bl_buffer_append(&prefix, url, list.prefix_size);
    if (prefix.size && prefix.data[prefix.size - 1] != '/')
        bl_buffer_byte(&prefix, '/');
    int code = bl_buffer_check(&prefix, e);
    list.prefix = prefix.data;
    list.prefix_size = prefix.size;
    if (!code && parts.scheme == BL_URL_WEB)
        code = bl_error_set(e, BL_EUSAGE,
                            "%s: a web server has no list of its files: name each, or a list of them (@LIST)", url);
    if (!code)
        code = remote_find_commit(remote, url, &parts, e);
    while (!code) {
        code = list_fetch_part(remote, url, &list, &token, e);
        if (!token.size)
            break;
        if (remote->cancel && bl_cancelled(remote->cancel) && !code)
            code = bl_error_set(e, BL_ECANCEL, "%s: stopped", url);
    }
    *count = list.count;
    bl_buffer_free(&token);
    bl_buffer_free(&prefix);
    bl_url_free(&parts);
    return code;
}

int bl_remote_list(struct bl_remote *remote, const char *url, bl_remote_emit *emit, void *context, struct bl_error *e)
{
    int64_t count;
    BL_TRY(remote_list_all(remote, url, emit, context, &count, e));
    return count ? BL_OK : bl_error_set(e, BL_EUSAGE, "%s: there are no objects with this prefix", url);
}

int bl_remote_list_any(struct bl_remote *remote, const char *url, bl_remote_emit *emit, void *context,
                       struct bl_error *e)
{
    int64_t count;
    return remote_list_all(remote, url, emit, context, &count, e);
}
