/* The main loop of a decoder process: it receives requests, calls the kind, and answers.
 *
 * The worker checks every answer, so this file checks little: a request that is damaged, or an answer that cannot be
 * sent, ends the process, and the flag `failed` in the shared page tells the worker that no decoder is to blame. A
 * request for a piece, for example, goes like this:
 *
 *     PIECE                      the row, the range of steps, the places of the fields in the shared block
 *       WANT -> OPENED           the kind opens another file than the one that came with the request
 *       RESERVE -> RESERVED      the kind finds that the picture needs more memory
 *     DONE                       code, text, and the steps that are not in the shared block */
#include "kind/isolated/decoder_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "pool/memory_budget.h"
#include "kind/isolated/fork_server.h"
#include "kind/isolated/messages.h"
#include "kind/media/module.h"
#include "kind/reservation.h"

/* The state of a decoder process. */
struct decoder {
    const struct bl_decoder_part *part;
    int channel;
    struct bl_cancel cancel; /* never set: the worker ends the process instead */
    struct bl_kind_env env;
    struct bl_reservation reservation;
    struct bl_shared_memory shared; /* the memory of the page */
    struct bl_progress_page *page;
    struct bl_meter meter;
    struct bl_message request, opened;   /* the current request; the worker's answer to a request of this process */
    int64_t far_bytes;                   /* of the object that the opener was asked for last, */
    uint64_t far_content;                /* and its content (bl_far_identify) */
    const char *path[BL_ISOLATED_FILES]; /* [paths] of the request's inputs; valid until the next request */
    int paths;
    const char **named; /* [names] the paths that the lines of a list name; NULL for a line without one */
    size_t named_capacity;
    int names; /* not 0: files are requested by their number in `named`, not in `path` */
    struct bl_buffer answer, queue;
    struct timespec flushed; /* when the queue was sent */
    int items;               /* items of the request; the row of the last one is sent together with the answer */
    struct bl_isolated_chunk chunk;
    struct bl_counter *counter;
    struct bl_fields fields;
    struct bl_reader *reader;
    struct bl_shared_memory block; /* the block to which pieces are written */
    struct bl_buffer beside;       /* the steps of fields that are not in the shared block; sent with the answer */
    double *times;
};

/* Ends a process that cannot answer any more. The flag tells the worker that no decoder is to blame. */
static _Noreturn void decoder_fail(const struct decoder *d)
{
    atomic_store(&d->page->failed, true);
    _exit(1);
}

/* Sends a message, after the messages in the queue; ends the process if that fails. */
static void decoder_send(struct decoder *d, int type, const struct bl_buffer *data)
{
    bool sent = !data->failed;
    if (sent && !d->queue.size) {
        sent = bl_message_send(d->channel, type, data, NULL);
    } else if (sent) {
        bl_message_append(&d->queue, type, data);
        sent = bl_message_flush(d->channel, &d->queue);
    }
    if (!sent)
        decoder_fail(d);
}

/* Sends a request to the worker, which this frees, and waits for its answer in d->opened. */
static void decoder_ask(struct decoder *d, int type, struct bl_buffer *data, int answer)
{
    decoder_send(d, type, data);
    bl_buffer_free(data);
    if (bl_message_receive(d->channel, &d->opened) != BL_RECEIVED || d->opened.type != answer)
        decoder_fail(d);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* The worker knows files by the number of a path of the request, which is the file itself or a folder that contains it,
 * and the rest of the name, "" for the path itself. It refuses number -1: the file belongs to no path. */
static int decoder_find_path(const struct decoder *d, const char *path, const char **name)
{
    const char *const *all = d->names ? d->named : d->path;
    int count = d->names ? d->names : d->paths;
    *name = "";
    for (int i = 0; i < count; i++) {
        size_t size = all[i] ? strlen(all[i]) : 0;
        if (!size || strncmp(all[i], path, size) != 0 || (path[size] && path[size] != '/'))
            continue;
        *name = path[size] ? path + size + 1 : "";
        return i;
    }
    return -1;
}

/* The opener of the process (bl_opener): returns the descriptor that came with the request, the first time that the
 * file is opened, and otherwise has the worker open the file. The system call filter forbids this process to open
 * files. The caller owns the descriptor. Returns -1 with errno. */
static int decoder_open_input(void *context, const char *path, int flags)
{
    struct decoder *d = context;
    struct bl_buffer want = {0};
    const char *name;
    int fd;
    for (int i = 0; i < d->paths; i++) {
        fd = d->request.fd[BL_ISOLATED_FILE + i];
        if (fd < 0 || strcmp(d->path[i], path) != 0)
            continue;
        d->request.fd[BL_ISOLATED_FILE + i] = -1;
        return fd;
    }
    bl_message_put_int(&want, decoder_find_path(d, path, &name));
    bl_message_put_text(&want, name);
    bl_message_put_int(&want, (flags & O_DIRECTORY) != 0);
    decoder_ask(d, BL_ISOLATED_WANT, &want, BL_ISOLATED_OPENED);
    fd = d->opened.fd[BL_ISOLATED_FILE];
    d->opened.fd[BL_ISOLATED_FILE] = -1;
    int error = (int)bl_message_get_int(&d->opened);
    d->far_bytes = bl_message_get_int(&d->opened);
    d->far_content = (uint64_t)bl_message_get_int(&d->opened);
    if (fd < 0) /* otherwise errno may say that memory ran out before, which must not be lost */
        errno = error;
    return fd;
}

/* Appends the files of a folder of a store: struct bl_far_files. */
static int decoder_list_far(void *context, const char *path, struct bl_buffer *files, struct bl_error *e)
{
    struct decoder *d = context;
    size_t size = 0;
    int fd = decoder_open_input(context, path, O_RDONLY | O_DIRECTORY);
    const void *bytes = fd < 0 && errno == EREMOTE ? bl_message_get_bytes(&d->opened, &size) : NULL;
    if (fd >= 0)
        close(fd);
    if (bytes)
        bl_buffer_append(files, bytes, size);
    return bl_buffer_check(files, e);
}

/* An object, which the worker reads. */
struct bl_far {
    struct decoder *d;
    char *path;
};

/* Returns whether the worker says that the path is an object: struct bl_far_files, as the functions below. */
static bool decoder_is_far(void *context, const char *path)
{
    int fd = decoder_open_input(context, path, O_RDONLY);
    int error = errno;
    if (fd >= 0)
        close(fd);
    return fd < 0 && error == EREMOTE;
}

static int decoder_identify_far(void *context, const char *path, int64_t *bytes, uint64_t *content, bool *missing,
                                struct bl_error *e)
{
    struct decoder *d = context;
    *missing = !decoder_is_far(context, path);
    *bytes = d->far_bytes;
    *content = d->far_content;
    return *missing ? bl_error_set(e, BL_EFAIL, "%s: not found", path) : BL_OK;
}

/* Opens the object that the worker was asked for last. */
static int decoder_open_far(void *context, const char *path, int64_t begin, struct bl_far **out, int64_t *bytes,
                            struct bl_error *e)
{
    struct decoder *d = context;
    (void)begin;
    struct bl_far *far = malloc(sizeof *far);
    char *own = strdup(path);
    if (!far || !own) {
        free(far);
        free(own);
        return bl_error_memory(e);
    }
    *far = (struct bl_far){d, own};
    *bytes = d->far_bytes;
    *out = far;
    return BL_OK;
}

static void decoder_close_far(struct bl_far *far)
{
    free(far->path);
    free(far);
}

/* Has the worker read bytes of an object. A worker that cannot ends this process. */
static int decoder_read_far(struct bl_far *far, void *data, size_t size, int64_t offset, int64_t begin, int64_t end,
                            struct bl_error *e)
{
    struct decoder *d = far->d;
    (void)begin, (void)end, (void)e;
    for (size_t done = 0, part; done < size; done += part) {
        struct bl_buffer want = {0};
        const char *name;
        size_t got;
        part = size - done < BL_ISOLATED_READ_MOST ? size - done : BL_ISOLATED_READ_MOST;
        bl_message_put_int(&want, decoder_find_path(d, far->path, &name));
        bl_message_put_text(&want, name);
        bl_message_put_int(&want, offset + (int64_t)done);
        bl_message_put_int(&want, (int64_t)part);
        decoder_ask(d, BL_ISOLATED_READ, &want, BL_ISOLATED_BYTES);
        const void *bytes = bl_message_get_bytes(&d->opened, &got);
        if (bytes && got == part)
            memcpy((char *)data + done, bytes, part);
        else
            decoder_fail(d);
    }
    return BL_OK;
}

/* Has the worker reserve memory, and waits until it has done so (struct bl_reservation). */
static int decoder_reserve(void *context, int64_t bytes, bool grows, struct bl_error *e)
{
    struct decoder *d = context;
    struct bl_buffer data = {0};
    (void)e;
    bl_message_put_int(&data, bytes);
    bl_message_put_int(&data, grows);
    decoder_ask(d, BL_ISOLATED_RESERVE, &data, BL_ISOLATED_RESERVED);
    return BL_OK;
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

/* Begins the answer that ends a request. If an allocation has failed, the answer says so whatever the code is: a
 * library may have taken the failure for damage. */
static void decoder_begin_answer(struct decoder *d, int code, const struct bl_error *e)
{
    struct bl_error none = {0};
    bool memory = bl_error_memory_seen();
    bl_buffer_clear(&d->answer);
    bl_message_put_int(&d->answer, memory ? bl_error_memory(&none) : code);
    bl_message_put_text(&d->answer, memory ? none.text : e->text);
    bl_message_put_int(&d->answer, memory);
}

/* Sets the only input of the request. */
static void decoder_set_path(struct decoder *d, const char *path)
{
    d->path[0] = path ? path : "";
    d->paths = 1;
    d->names = 0;
}

/* Reads the meter's number, with which each request begins, and returns a meter that counts in the shared page. Its
 * weight equals its whole, so the page has the plain number of units done. */
static struct bl_meter *decoder_meter(struct decoder *d)
{
    int64_t whole = bl_message_get_int(&d->request);
    atomic_store_explicit(&d->page->done, 0, memory_order_relaxed);
    d->meter = (struct bl_meter){.sum = &d->page->done, .whole = whole, .weight = whole};
    return &d->meter;
}

#define FLUSH_SECONDS 0.1 /* after a crash at most this much finished work is repeated */

/* Queues a row. It is sent together with later rows or with the answer, because each message wakes up the worker. */
static int decoder_emit(void *sink, int input, const struct bl_row *row, struct bl_error *e)
{
    (void)input;
    struct decoder *d = sink;
    if (bl_error_memory_seen()) /* a library may have mistaken a failed allocation for damage: do not trust the row */
        return bl_error_memory(e);
    bl_buffer_clear(&d->answer);
    bl_isolated_put_row(&d->answer, row);
    bl_message_append(&d->queue, BL_ISOLATED_ROW, &d->answer);
    bl_cancel_beat(&d->cancel);
    int items = atomic_fetch_add_explicit(&d->page->items, 1, memory_order_relaxed) + 1;
    if (items >= d->items)
        return BL_OK; /* the last row is sent together with the answer */
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)(now.tv_sec - d->flushed.tv_sec) + (double)(now.tv_nsec - d->flushed.tv_nsec) * 1e-9;
    if (seconds < FLUSH_SECONDS)
        return BL_OK;
    d->flushed = now;
    if (!bl_message_flush(d->channel, &d->queue))
        decoder_fail(d);
    return BL_OK;
}

/* --- counting, fields and versions -------------------------------------------------------------------------------- */

/* Reads the chunk of a request for counting. Its inputs become the paths that the process may open, or, of a list, the
 * paths that its lines name, which the message has after the lines. */
static int loop_get_chunk(struct decoder *d, struct bl_error *e)
{
    const struct bl_chunk *chunk = &d->chunk.chunk;
    d->names = 0;
    BL_TRY(bl_isolated_get_chunk(&d->request, &d->chunk, e));
    if (chunk->list) {
        int64_t count = bl_message_get_int(&d->request);
        d->request.damaged |= count < 0 || count > INT32_MAX;
        if (!d->request.damaged)
            BL_TRY(BL_ARRAY_RESERVE(d->named, d->named_capacity, (size_t)count + 1, e));
        for (; d->names < count && !d->request.damaged; d->names++)
            d->named[d->names] = bl_message_get_text(&d->request);
    }
    d->items = chunk->list ? chunk->lines : chunk->inputs;
    for (d->paths = 0; d->paths < chunk->inputs && !d->request.damaged; d->paths++)
        d->path[d->paths] = chunk->input[d->paths].path;
    return BL_OK;
}

/* Counts the inputs of a request one by one, or all lines of a list in one call. Each input has a meter of its own, so
 * that the worker sees the progress of the present one. */

static void loop_count(struct decoder *d)
{
    const struct bl_kind_scan *scan = d->part->kind->scan;
    const struct bl_chunk *chunk = &d->chunk.chunk;
    struct bl_error e = {0};
    bool metered = decoder_meter(d)->whole != 0;
    int code = loop_get_chunk(d, &e);
    if (d->request.damaged)
        decoder_fail(d);
    clock_gettime(CLOCK_MONOTONIC, &d->flushed);
    bl_error_memory_watch();
    if (!code && scan->open && !d->counter)
        code = scan->open(d->part->config, &d->env, &d->counter, &e);
    for (int i = 0; i < chunk->inputs && !code; i++) {
        struct bl_chunk one = *chunk;
        one.input = &d->chunk.input[i];
        one.inputs = 1;
        d->meter = (struct bl_meter){.sum = &d->page->done, .whole = one.input->bytes, .weight = one.input->bytes};
        one.meter = metered ? &d->meter : NULL;
        bl_error_memory_watch();
        code = scan->count(d->part->config, &d->env, d->counter, &one, decoder_emit, d, &e);
        bl_meter_end(&d->meter);
    }
    decoder_begin_answer(d, code, &e);
    decoder_send(d, BL_ISOLATED_DONE, &d->answer);
}

/* Answers with the fields of a file. */
static void decoder_fields(struct decoder *d)
{
    struct bl_error e = {0};
    struct bl_row row;
    struct bl_fields fields = {0};
    (void)decoder_meter(d);
    bl_isolated_get_row(&d->request, &row);
    if (d->request.damaged)
        decoder_fail(d);
    decoder_set_path(d, row.path);
    bl_error_memory_watch();
    int code = d->part->kind->read->fields(d->part->config, &d->env, &row, &fields, &e);
    decoder_begin_answer(d, code, &e);
    bl_isolated_put_fields(&d->answer, &fields);
    decoder_send(d, BL_ISOLATED_DONE, &d->answer);
}

/* Puts a pair of a name and a version into the answer. */
static void decoder_put_version(void *sink, const char *name, const char *version)
{
    struct decoder *d = sink;
    bl_message_put_text(&d->answer, name);
    bl_message_put_text(&d->answer, version);
}

/* Answers with pairs of a name and a version, and an empty name after the last pair. */
static void decoder_versions(struct decoder *d)
{
    struct bl_error e = {0};
    (void)decoder_meter(d);
    bl_error_memory_watch();
    decoder_begin_answer(d, BL_OK, &e);
    if (d->part->kind->read->versions(d->part->config, NULL, decoder_put_version, d, &e))
        decoder_fail(d); /* cannot happen: the fork server has loaded the module already */
    bl_message_put_text(&d->answer, "");
    decoder_send(d, BL_ISOLATED_DONE, &d->answer);
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* Sets out[f] to the place of the steps of each field: at its offset in the shared block, or, for offset -1, in a
 * buffer of *beside bytes that is sent with the answer. The offsets are checked, since a crashed decoder may have
 * changed memory. */
static int decoder_place_fields(struct decoder *d, int64_t steps, uint8_t **out, size_t *beside, struct bl_error *e)
{
    size_t at = 0, size[BL_FIELDS_MAX] = {0};
    int64_t offset[BL_FIELDS_MAX] = {0};
    for (int f = 0; f < d->fields.count; f++) {
        size[f] = (size_t)steps * bl_field_step_bytes(&d->fields.field[f]);
        offset[f] = bl_message_get_int(&d->request);
        d->request.damaged |= offset[f] >= 0 && (!d->block.data || size[f] > d->block.size ||
                                                 (size_t)offset[f] > d->block.size - size[f]);
        at += offset[f] < 0 ? (size[f] + 63) / 64 * 64 : 0;
    }
    *beside = at;
    bl_buffer_clear(&d->beside);
    if (at && !bl_buffer_reserve(&d->beside, at))
        return bl_error_memory(e);
    at = 0;
    for (int f = 0; f < d->fields.count; f++) {
        out[f] = offset[f] < 0 ? (uint8_t *)d->beside.data + at : d->block.data + offset[f];
        at += offset[f] < 0 ? (size[f] + 63) / 64 * 64 : 0;
    }
    return BL_OK;
}

/* Decodes a piece, and answers with its note, its times, and the steps that are not in the shared block. The items of
 * the request come in the order in which reader_put_request (isolated_kind.c) puts them. */
static void decoder_piece(struct decoder *d)
{
    struct bl_error e = {0};
    struct bl_note note = {0};
    uint8_t *out[BL_FIELDS_MAX];
    size_t beside = 0;
    struct bl_request request = {.meter = decoder_meter(d), .out = out};
    bl_error_memory_watch();
    bl_isolated_get_row(&d->request, &request.row);
    request.source_start = bl_message_get_int(&d->request);
    request.steps = bl_message_get_int(&d->request);
    request.followed = bl_message_get_int(&d->request);
    decoder_set_path(d, request.row.path);
    int code = BL_OK;
    if (bl_message_get_int(&d->request)) { /* the first piece: the fields follow, by which the reader is opened */
        bl_isolated_get_fields(&d->request, &d->fields);
        if (!d->request.damaged)
            code = d->part->kind->read->open(d->part->config, &d->env, &d->fields, &d->reader, &e);
    }
    size_t size = (size_t)bl_message_get_int(&d->request);
    int fd = d->request.fd[BL_ISOLATED_MEMORY];
    if (!code && fd >= 0) { /* another block than that of the piece before: its memory replaces the mapped one */
        bl_shared_memory_free(&d->block);
        d->request.fd[BL_ISOLATED_MEMORY] = -1;
        code = bl_shared_memory_map(&d->block, fd, size, &e);
    }
    if (!code && bl_message_get_int(&d->request)) { /* the times of the steps, which the piece may read and set */
        size_t expected = (size_t)request.steps * sizeof *d->times;
        const void *times = bl_message_get_bytes(&d->request, &size);
        d->request.damaged |= size != expected;
        double *copy = d->request.damaged ? NULL : realloc(d->times, expected);
        if (copy)
            request.times = d->times = memcpy(copy, times, size);
        else if (!d->request.damaged)
            code = bl_error_memory(&e);
    }
    if (!code)
        code = decoder_place_fields(d, request.steps, out, &beside, &e);
    if (d->request.damaged)
        decoder_fail(d);
    if (!code)
        code = d->reader->piece(d->reader, &request, &note, &e);
    decoder_begin_answer(d, code, &e);
    bl_message_put_text(&d->answer, note.text);
    bl_message_put_bytes(&d->answer, request.times, request.times ? (size_t)request.steps * sizeof *d->times : 0);
    bl_message_put_bytes(&d->answer, d->beside.data, beside);
    decoder_send(d, BL_ISOLATED_DONE, &d->answer);
}

/* --- process ------------------------------------------------------------------------------------------------------ */

#define SPARE                                                                                                          \
    ((int64_t)1 << 30) /* bytes for everything but decoders: samples and features of a sequence, a scaler's rows */

/* Limits the private memory of the process to its present size, twice `memory` and SPARE, as a second line of defence
 * behind the bounds computed from headers (0: no limit). It also disables core files, because crashes are expected. */
static void decoder_set_limits(int64_t memory)
{
    struct rlimit none = {0, 0}, limit;
    long long pages = 0;
    (void)setrlimit(RLIMIT_CORE, &none);
    FILE *file = memory ? fopen("/proc/self/statm", "re") : NULL;
    if (!file)
        return;
    if (fscanf(file, "%*d %*d %*d %*d %*d %lld", &pages) == 1 && getrlimit(RLIMIT_DATA, &limit) == 0) {
        rlim_t wanted = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + 2 * (rlim_t)memory + (rlim_t)SPARE;
        if (limit.rlim_cur > wanted) {
            limit.rlim_cur = wanted;
            (void)setrlimit(RLIMIT_DATA, &limit);
        }
    }
    fclose(file);
}

void bl_decoder_loop(const void *context, const struct bl_spawn *spawn, int channel)
{
    const struct bl_decoder_context *all = context;
    struct bl_error e = {0};
    struct decoder d = {.part = &all->part[spawn->number[BL_DECODER_PART]],
                        .channel = channel,
                        .request.fd = BL_MESSAGE_FDS_NONE,
                        .opened.fd = BL_MESSAGE_FDS_NONE};
    if (bl_shared_memory_map(&d.shared, spawn->fd, sizeof *d.page, &e))
        (void)raise(SIGKILL); /* without the page, only this signal tells the worker that no decoder is to blame */
    d.page = (struct bl_progress_page *)(void *)d.shared.data;
    d.cancel.beats = &d.page->beats;
    d.env = (struct bl_kind_env){.cancel = &d.cancel,
                                 .simd = (enum bl_simd)spawn->number[BL_DECODER_SIMD],
                                 .decoder_memory = spawn->number[BL_DECODER_MEMORY],
                                 .reservation = &d.reservation};
    d.reservation = (struct bl_reservation){
        .cancel = &d.cancel, .included = d.part->kind->read->memory, .ask = decoder_reserve, .sink = &d};
    if (bl_media_set_simd(d.env.simd, &e))
        decoder_fail(&d);
    bl_media_set_opener(decoder_open_input, &d);
    const struct bl_far_files far = {.is = decoder_is_far,
                                     .identify = decoder_identify_far,
                                     .open_ranges = decoder_open_far,
                                     .read = decoder_read_far,
                                     .close = decoder_close_far,
                                     .list = decoder_list_far,
                                     .context = &d};
    bl_media_set_far(&far);
    decoder_set_limits(d.env.decoder_memory);
    if (!bl_syscall_filter_install() && all->filtered)
        decoder_fail(&d); /* the kernel has filters, so it must have run out of memory */
    enum bl_received received;
    while ((received = bl_message_receive(channel, &d.request)) == BL_RECEIVED || received == BL_RECEIVED_NOTHING) {
        if (received == BL_RECEIVED_NOTHING)
            continue; /* a signal came */
        d.reservation.needed = 0;
        if (d.request.type == BL_ISOLATED_COUNT)
            loop_count(&d);
        else if (d.request.type == BL_ISOLATED_FIELDS)
            decoder_fields(&d);
        else if (d.request.type == BL_ISOLATED_VERSIONS)
            decoder_versions(&d);
        else
            decoder_piece(&d);
    }
    if (received != BL_RECEIVED_END)
        decoder_fail(&d);
    _exit(0);
}
