/* The worker's side of a decoder process: it sends a request, answers the requests of the process meanwhile, and finds
 * out how the process ended if it is lost.
 *
 * The worker does not trust the process, since a file may have taken it over. It opens only files of the request, for
 * which the process can give no more than a number; it stores only rows that the call allows; it counts the processor
 * time without progress; and a message that is not valid ends the process. */
#include "kind/isolated/decoder_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/input_file.h"
#include "base/process.h"
#include "kind/input_stat.h"
#include "kind/reservation.h"

/* --- names -------------------------------------------------------------------------------------------------------- */

/* The decoder process requests files by their numbers in these names, so it cannot name a file of its own choice. */

/* Appends a text with its zero byte, and returns its offset; 0 for NULL. */
static size_t names_put(struct bl_isolated_names *n, const char *text)
{
    size_t at = text ? n->text.size : 0;
    if (text)
        bl_buffer_append(&n->text, text, strlen(text) + 1);
    return at;
}

/* Takes a name of the present line: the callback of a list's `names`. */
static int names_take(void *names, const char *id, const char *path, const char *open_path, struct bl_error *e)
{
    struct bl_isolated_names *n = names;
    BL_TRY(BL_ARRAY_RESERVE(n->name, n->capacity, (size_t)n->count + 1, e));
    struct bl_isolated_name *name = &n->name[n->count++];
    name->line = n->line;
    name->id = names_put(n, id);
    name->path = names_put(n, path);
    name->open_path = names_put(n, open_path);
    return bl_buffer_check(&n->text, e);
}

/* The worker parses the lines by the same function as the process. Lines that cannot be parsed name nothing. */
int bl_isolated_names_find(struct bl_isolated_names *n, const struct bl_kind_scan *scan, const struct bl_chunk *chunk,
                           int first, int end, struct bl_error *e)
{
    int code = BL_OK;
    n->count = 0;
    bl_buffer_clear(&n->text);
    bl_buffer_byte(&n->text, '\0'); /* so that no offset is 0 */
    for (n->line = first; n->line < end && !code; n->line++) {
        if (!chunk->line[n->line].unusable)
            code = scan->lists->names(chunk, &chunk->line[n->line], names_take, n, e);
    }
    return code;
}

void bl_isolated_names_free(struct bl_isolated_names *n)
{
    bl_buffer_free(&n->text);
    free(n->name);
}

const char *bl_isolated_names_path(const struct bl_isolated_names *n, int64_t number)
{
    bool is_one = number >= 0 && number < n->count && n->name[number].open_path;
    return is_one ? n->text.data + n->name[number].open_path : NULL;
}

bool bl_isolated_names_allow(const struct bl_isolated_names *n, int line, const struct bl_row *row)
{
    if (!row->id && !row->path) /* a row without names is about the file of the request */
        return true;
    for (int i = 0; i < n->count; i++) {
        const struct bl_isolated_name *name = &n->name[i];
        const char *id = name->id ? n->text.data + name->id : NULL,
                   *path = name->path ? n->text.data + name->path : NULL;
        bool has_id = !row->id || (id && strcmp(id, row->id) == 0);
        bool has_path = !row->path || (path && strcmp(path, row->path) == 0);
        if (name->line == line && has_id && has_path)
            return true;
    }
    return false;
}

/* --- start and end ------------------------------------------------------------------------------------------------ */

/* The page is made anew for each process: a lost one may have left any values in it. */
int bl_decoder_process_start(struct bl_decoder_process *p, const struct bl_decoder_start *start, struct bl_error *e)
{
    struct bl_spawn spawn = start->spawn;
    if (p->pid)
        return BL_OK;
    bl_shared_memory_free(&p->shared);
    int code = bl_shared_memory_make(&p->shared, sizeof *p->page, e);
    if (!code) {
        p->page = (struct bl_progress_page *)(void *)p->shared.data;
        spawn.fd = p->shared.fd;
        code = bl_fork_server_spawn(start->server, &spawn, &p->channel, &p->pid, e);
        bl_shared_memory_close_fd(&p->shared); /* many workers have many descriptors */
    }
    if (!code)
        return BL_OK;
    if (p->pid >= 0) /* -1: the server cannot load the media module, and --isolate off would not help */
        bl_error_prefix(e, "--isolate off decodes in one process");
    p->pid = 0;
    return code;
}

static void object_close(struct bl_decoder_object *object)
{
    if (object->path)
        bl_input_file_close(&object->file);
    free(object->path);
    *object = (struct bl_decoder_object){0};
}

/* Closes the channel, resets the state of the process, and waits for its exit status. */
static int process_reap(struct bl_decoder_process *p, const struct bl_decoder_start *start, int *status,
                        struct bl_error *e)
{
    pid_t pid = p->pid;
    close(p->channel);
    p->channel = p->block = -1;
    p->pid = 0;
    p->reads = false;
    bl_buffer_clear(&p->given);
    bl_message_reset(&p->answer);
    for (int i = 0; i < BL_DECODER_OBJECTS; i++)
        object_close(&p->object[i]);
    return bl_fork_server_reap(start->server, pid, status, e);
}

void bl_decoder_process_end(struct bl_decoder_process *p, const struct bl_decoder_start *start)
{
    struct bl_error none = {0};
    int status;
    if (!p->pid)
        return;
    if (start->times) { /* before the process is reaped, as its times are gone then */
        struct bl_processor_time t = bl_processor_time_of(p->pid);
        atomic_fetch_add(&start->times->run, (long long)(t.run * 1e9));
        atomic_fetch_add(&start->times->queued, (long long)(t.queued * 1e9));
        if (t.is_partly)
            atomic_store(&start->times->is_partly, true);
    }
    (void)process_reap(p, start, &status, &none); /* nobody is interested in how it ended */
}

void bl_decoder_process_free(struct bl_decoder_process *p)
{
    bl_shared_memory_free(&p->shared);
    bl_message_free(&p->answer);
    bl_buffer_free(&p->given);
}

/* Kills a process and waits for its end. */
static void process_kill(struct bl_decoder_process *p, const struct bl_decoder_start *start)
{
    (void)kill(p->pid, SIGKILL); /* it is not reaped yet, so no other process has its number */
    bl_decoder_process_end(p, start);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* Notes the file on which the process works, for the message about a loss. */
static void process_remember_path(struct bl_decoder_loss *loss, const char *path)
{
    snprintf(loss->path, sizeof loss->path, "%s", path);
}

/* Whether a name does not leave its folder. */
static bool name_is_plain(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/');
}

/* Opens a file in a folder that is an input. Returns a descriptor, or -1 with errno. */
static int folder_open_file(const char *folder, const char *name)
{
    if (!name_is_plain(name)) {
        errno = EPERM;
        return -1;
    }
    int parent = bl_opener_open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NONBLOCK);
    int fd = parent < 0 ? -1 : openat(parent, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int error = errno;
    if (parent >= 0)
        close(parent);
    errno = error;
    return fd;
}

/* Returns a path of the call by its number, which the process gave; NULL: there is none. */
static const char *call_find_path(const struct bl_decoder_call *call, int64_t number)
{
    if (call->names)
        return bl_isolated_names_path(call->names, number);
    return number >= 0 && number < call->paths ? call->path[number] : NULL;
}

/* Sets *path to that of a file that the process wants: a path of the call, or with a name that of a file in this
 * folder, which buffer then holds. NULL: it may not have it. */
static int call_find_far(const struct bl_decoder_call *call, int64_t number, const char *name, struct bl_buffer *buffer,
                         const char **path, struct bl_error *e)
{
    const char *base = name ? call_find_path(call, number) : NULL;
    *path = base && !*name ? base : NULL;
    if (!base || !*name || !name_is_plain(name))
        return BL_OK;
    bl_buffer_printf(buffer, "%s%s%s", base, base[strlen(base) - 1] == '/' ? "" : "/", name);
    BL_TRY(bl_buffer_check(buffer, e));
    *path = buffer->data;
    return BL_OK;
}

/* Finds an object, or opens it in place of the one that was not used for longest. */
static int process_open_object(struct bl_decoder_process *p, const char *path, struct bl_input_file **file,
                               struct bl_error *e)
{
    struct bl_decoder_object *object = NULL, *oldest = p->object;
    for (int i = 0; i < BL_DECODER_OBJECTS && !object; i++) {
        oldest = p->object[i].used < oldest->used ? &p->object[i] : oldest;
        object = p->object[i].path && strcmp(p->object[i].path, path) == 0 ? &p->object[i] : NULL;
    }
    if (!object) {
        object = oldest;
        object_close(object);
        object->path = strdup(path);
        if (!object->path)
            return bl_error_memory(e);
        if (bl_input_file_open(&object->file, path) != 0) {
            bl_opener_fail("cannot open", path, BL_EFAIL, e);
            object_close(object);
            return e->code;
        }
    }
    object->used = ++p->uses;
    *file = &object->file;
    return BL_OK;
}

/* Answers a request for bytes of an object (BL_ISOLATED_READ). *sent: the process is there. A store that fails is no
 * matter of the process: the error is the run's. */
static int process_serve_read(struct bl_decoder_process *p, const struct bl_decoder_call *call, bool *sent,
                              struct bl_error *e)
{
    struct bl_buffer data = {0}, bytes = {0}, buffer = {0};
    struct bl_input_file *file = NULL;
    int64_t number = bl_message_get_int(&p->answer);
    const char *path, *name = bl_message_get_text(&p->answer);
    int64_t offset = bl_message_get_int(&p->answer), size = bl_message_get_int(&p->answer);
    *sent = true;
    int code = call_find_far(call, number, name, &buffer, &path, e);
    p->answer.damaged |= !code && (!path || !bl_far_is(path) || size < 0 || size > (int64_t)BL_ISOLATED_READ_MOST);
    if (!code && !p->answer.damaged)
        code = process_open_object(p, path, &file, e);
    if (code || p->answer.damaged)
        goto out;
    p->answer.damaged |= offset < 0 || size > file->status.st_size || offset > file->status.st_size - size;
    if (p->answer.damaged)
        goto out;
    code = bl_buffer_reserve(&bytes, (size_t)size) ? BL_OK : bl_error_memory(e);
    if (!code)
        code = bl_input_file_get(file, bytes.data, (size_t)size, offset, path, e);
    if (!code) {
        bl_message_put_bytes(&data, bytes.data, (size_t)size);
        code = bl_buffer_check(&data, e);
    }
    if (!code)
        *sent = bl_message_send(p->channel, BL_ISOLATED_BYTES, &data, NULL);
out:
    bl_buffer_free(&data);
    bl_buffer_free(&bytes);
    bl_buffer_free(&buffer);
    return code;
}

/* The answer to a request for an object or a folder of a store. */
struct far_answer {
    int error; /* EREMOTE: it is there */
    struct stat status;
    uint64_t content;
    struct bl_buffer files; /* of a folder */
};

/* Describes an object or a folder for the process. A failure of the store is the run's. */
static int far_answer_make(struct far_answer *a, const char *path, bool is_folder, struct bl_error *e)
{
    struct bl_input_folder folder;
    int opened = is_folder ? bl_input_folder_open(&folder, path) : bl_input_file_stat(path, &a->status);
    a->error = opened == 0 ? EREMOTE : errno;
    if (opened != 0)
        return bl_errno_is_system(a->error) ? bl_input_file_fail(path, "cannot be listed", e) : BL_OK;
    if (!is_folder)
        return bl_content_hash_file(path, &a->content, e);
    bl_buffer_append(&a->files, folder.files.data, folder.files.size);
    bl_input_folder_close(&folder);
    return bl_buffer_check(&a->files, e);
}

/* Answers a request for a file (BL_ISOLATED_WANT) with a descriptor or an errno: EPERM unless the number is that of a
 * path of the call, and a name belongs to a folder. EREMOTE: it is an object, and its size and content follow. *sent:
 * the process is there. */
static int process_serve_file(struct bl_decoder_process *p, const struct bl_decoder_call *call,
                              struct bl_decoder_loss *loss, bool *sent, struct bl_error *e)
{
    struct bl_buffer data = {0}, buffer = {0};
    struct far_answer far = {.error = EPERM};
    int64_t number = bl_message_get_int(&p->answer);
    const char *path = call_find_path(call, number), *name = bl_message_get_text(&p->answer), *of_store = NULL;
    int folder = bl_message_get_int(&p->answer) ? O_DIRECTORY : 0, code = BL_OK;
    int fd[BL_MESSAGE_FDS] = BL_MESSAGE_FDS_NONE, error = EPERM;
    *sent = true;
    if (path && name && bl_far_is(path)) {
        code = call_find_far(call, number, name, &buffer, &of_store, e);
        process_remember_path(loss, of_store ? of_store : path);
        if (!code && of_store)
            code = far_answer_make(&far, of_store, folder, e);
        error = far.error;
    } else if (path && name && (!*name || !folder)) {
        if (*name)
            snprintf(loss->path, sizeof loss->path, "%s/%s", path, name);
        else
            process_remember_path(loss, path);
        fd[BL_ISOLATED_FILE] =
            *name ? folder_open_file(path, name) : bl_opener_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | folder);
        error = fd[BL_ISOLATED_FILE] < 0 ? errno : 0;
    }
    bl_message_put_int(&data, error);
    bl_message_put_int(&data, far.status.st_size);
    bl_message_put_int(&data, (int64_t)far.content);
    bl_message_put_bytes(&data, far.files.data, far.files.size);
    if (!code)
        *sent = !data.failed && bl_message_send(p->channel, BL_ISOLATED_OPENED, &data, fd);
    bl_buffer_free(&data);
    bl_buffer_free(&buffer);
    bl_buffer_free(&far.files);
    if (fd[BL_ISOLATED_FILE] >= 0)
        close(fd[BL_ISOLATED_FILE]);
    return code;
}

/* --- watching ----------------------------------------------------------------------------------------------------- */

/* Detects a process without progress. */
struct watch {
    unsigned long long beats; /* the last value of the page's counter */
    double since;             /* the process's processor time when it changed, in seconds; negative: not read yet */
};

/* Sets loss->item to the item that the process was working on, and loss->path to its file. The page comes from the
 * process, so the item is clamped to those whose rows are missing. */
static void process_blame(const struct bl_decoder_process *p, const struct bl_decoder_call *call,
                          struct bl_decoder_loss *loss)
{
    int last = call->rows > loss->rows ? call->rows - 1 : loss->rows;
    int item = atomic_load_explicit(&p->page->items, memory_order_relaxed);
    loss->item = item < loss->rows ? loss->rows : item > last ? last : item;
    if (call->names || loss->item >= call->paths)
        return;
    const char *path = call->path[loss->item];
    size_t size = strlen(path);
    bool at_it = strncmp(path, loss->path, size) == 0 && (!loss->path[size] || loss->path[size] == '/');
    if (!at_it)
        process_remember_path(loss, path);
}

/* Reports that the process ran out of memory, by its own limit or the system's. Returns BL_EFAIL. */
static int process_report_memory(const struct bl_decoder_process *p, const struct bl_decoder_call *call,
                                 struct bl_decoder_loss *loss, struct bl_error *e)
{
    process_blame(p, call, loss);
    return bl_error_set(
        e, BL_EFAIL, "%s: its decoder process ran out of memory (of the system, or of --decoder-memory)", loss->path);
}

/* Reaps a process that has ended, and describes in *loss how. Returns BL_EFAIL if it ran out of memory. */
static int process_lose(struct bl_decoder_process *p, const struct bl_decoder_start *start,
                        const struct bl_decoder_call *call, struct bl_decoder_loss *loss, struct bl_error *e)
{
    int status;
    BL_TRY(process_reap(p, start, &status, e));
    if (atomic_exchange(&p->page->failed, false))
        return process_report_memory(p, call, loss, e);
    loss->lost = true;
    loss->killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    const char *name = WIFSIGNALED(status) ? bl_process_signal(WTERMSIG(status)) : NULL;
    if (name)
        snprintf(loss->how, sizeof loss->how, "%s", name);
    else if (WIFSIGNALED(status))
        snprintf(loss->how, sizeof loss->how, "signal %d", WTERMSIG(status));
    else
        snprintf(loss->how, sizeof loss->how, "exit status %d", WEXITSTATUS(status));
    return BL_OK;
}

/* Answers a request to reserve memory (BL_ISOLATED_RESERVE), after waiting until the memory is available. */
static int process_reserve(struct bl_decoder_process *p, const struct bl_decoder_start *start,
                           const struct bl_decoder_call *call, struct bl_decoder_loss *loss, struct bl_error *e)
{
    struct bl_buffer none = {0};
    int64_t bytes = bl_message_get_int(&p->answer);
    bool grows = bl_message_get_int(&p->answer) != 0;
    p->answer.damaged |= bytes < 0;
    if (p->answer.damaged)
        return BL_OK;
    int code =
        grows ? bl_reservation_grow(call->reservation, bytes, e) : bl_reservation_need(call->reservation, bytes, e);
    if (code || bl_message_send(p->channel, BL_ISOLATED_RESERVED, &none, NULL))
        return code;
    return process_lose(p, start, call, loss, e);
}

/* Kills a process that has sent an invalid message: a decoder has probably overwritten its memory. */
static void process_distrust(struct bl_decoder_process *p, const struct bl_decoder_start *start,
                             struct bl_decoder_loss *loss)
{
    process_kill(p, start);
    loss->lost = true;
    snprintf(loss->how, sizeof loss->how, "nonsense in place of an answer");
}

/* Runs whenever no message has come for a tenth of a second: reports progress, and kills the process if the run is
 * cancelled (BL_ECANCEL), or if it has used more than start->stall seconds of processor time since its last packet or
 * frame (loss->stalled). Wall time would blame a process that waits for the machine. */
static int process_watch(struct bl_decoder_process *p, const struct bl_decoder_start *start,
                         const struct bl_decoder_call *call, struct watch *watch, struct bl_decoder_loss *loss,
                         struct bl_error *e)
{
    if (bl_cancelled(call->cancel)) {
        process_kill(p, start);
        return bl_error_set(e, BL_ECANCEL, "cancelled");
    }
    bl_meter_report(call->meter, atomic_load_explicit(&p->page->done, memory_order_relaxed));
    unsigned long long beats = atomic_load_explicit(&p->page->beats, memory_order_relaxed);
    clockid_t clock;
    struct timespec time;
    bool has_clock = clock_getcpuclockid(p->pid, &clock) == 0 && clock_gettime(clock, &time) == 0;
    double now = has_clock ? (double)time.tv_sec + (double)time.tv_nsec * 1e-9 : 0;
    if (beats != watch->beats || watch->since < 0) {
        watch->beats = beats;
        watch->since = now;
    }
    if (now - watch->since > (double)start->stall) {
        loss->lost = loss->stalled = true;
        process_kill(p, start);
    }
    return BL_OK;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

/* Sends the request with the descriptors of its files, and closes them. Consecutive pieces of one file send no
 * descriptor: the process usually has the file open still. If the workers have too many files open, none is sent, and
 * the process requests each; a single file is not counted, since every worker needs one. Returns false if the process
 * is gone. */
static bool process_send(struct bl_decoder_process *p, const struct bl_decoder_start *start,
                         const struct bl_decoder_call *call, struct bl_decoder_loss *loss)
{
    int fd[BL_MESSAGE_FDS] = BL_MESSAGE_FDS_NONE, *file = &fd[BL_ISOLATED_FILE];
    int counted = call->paths > 1 ? call->paths : 0;
    bool is_new = call->type != BL_ISOLATED_PIECE || !p->given.data || strcmp(p->given.data, call->path[0]) != 0;
    fd[BL_ISOLATED_MEMORY] = call->memory;
    process_remember_path(loss, call->path[0]);
    if (!is_new || call->names)
        return bl_message_send(p->channel, call->type, call->data, fd);
    if (atomic_fetch_add(&start->files->open, counted) + counted <= start->files->most) {
        for (int i = 0; i < call->paths; i++) {
            if (!bl_far_is(call->path[i]))
                file[i] = bl_opener_open(call->path[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        }
    }
    bl_buffer_clear(&p->given);
    bl_buffer_text(&p->given, call->path[0]);
    bool sent = bl_message_send(p->channel, call->type, call->data, fd);
    for (int i = 0; i < call->paths; i++) {
        if (file[i] >= 0)
            close(file[i]);
    }
    atomic_fetch_sub(&start->files->open, counted);
    return sent;
}

/* Reads the answer that ends the call. Returns its code; sets p->answer.damaged if the answer is invalid. */
static int process_take_answer(struct bl_decoder_process *p, const struct bl_decoder_call *call,
                               struct bl_decoder_loss *loss, struct bl_error *e)
{
    struct bl_message *m = &p->answer;
    int64_t code = bl_message_get_int(m);
    const char *text = bl_message_get_text(m);
    bool memory = bl_message_get_int(m) != 0;
    bl_meter_report(call->meter, atomic_load_explicit(&p->page->done, memory_order_relaxed));
    m->damaged |= code < BL_ECANCEL || code > BL_OK || (code && !text);
    m->damaged |= !code && loss->rows != call->rows;
    if (!m->damaged && !code && call->result)
        call->result(call->sink, m);
    if (m->damaged || !code)
        return BL_OK;
    return memory ? process_report_memory(p, call, loss, e) : bl_error_set(e, (int)code, "%s", text);
}

/* Handles one message. *done is true for the answer, which is the last one. A row must be one that the call allows. */
static int process_handle(struct bl_decoder_process *p, const struct bl_decoder_start *start,
                          const struct bl_decoder_call *call, struct bl_decoder_loss *loss, bool *done,
                          struct bl_error *e)
{
    int code = BL_OK;
    bool sent = true;
    *done = p->answer.type == BL_ISOLATED_DONE;
    if (*done)
        code = process_take_answer(p, call, loss, e);
    else if (p->answer.type == BL_ISOLATED_ROW) {
        struct bl_row row;
        bl_isolated_get_row(&p->answer, &row);
        p->answer.damaged |= loss->rows >= call->rows;
        p->answer.damaged |= !p->answer.damaged && !call->allows(call->sink, loss->rows, &row);
        if (!p->answer.damaged)
            code = call->row(call->sink, loss->rows++, &row, e);
    } else if (p->answer.type == BL_ISOLATED_RESERVE)
        code = process_reserve(p, start, call, loss, e);
    else if (p->answer.type == BL_ISOLATED_READ)
        code = process_serve_read(p, call, &sent, e);
    else if (p->answer.type == BL_ISOLATED_WANT)
        code = process_serve_file(p, call, loss, &sent, e);
    else
        p->answer.damaged = true;
    if (!sent)
        return process_lose(p, start, call, loss, e);
    if (p->answer.damaged)
        process_distrust(p, start, loss);
    return code;
}

/* Handles messages until the process is done or lost. */
static int process_converse(struct bl_decoder_process *p, const struct bl_decoder_start *start,
                            const struct bl_decoder_call *call, struct bl_decoder_loss *loss, struct bl_error *e)
{
    struct watch watch = {.since = -1};
    bool done = false;
    int code = BL_OK;
    while (!code && !done && !loss->lost) {
        switch (bl_message_receive(p->channel, &p->answer)) {
        case BL_RECEIVED_NOTHING:
            code = process_watch(p, start, call, &watch, loss, e);
            break;
        case BL_RECEIVED_END:
            return process_lose(p, start, call, loss, e);
        case BL_RECEIVED_DAMAGED:
            process_distrust(p, start, loss);
            break;
        case BL_RECEIVED_FAILED:
            return bl_error_errno(e, BL_EFAIL, "cannot read from a decoder process");
        case BL_RECEIVED:
            code = process_handle(p, start, call, loss, &done, e);
            break;
        }
    }
    return code;
}

int bl_decoder_process_call(struct bl_decoder_process *p, const struct bl_decoder_start *start,
                            const struct bl_decoder_call *call, struct bl_decoder_loss *loss, struct bl_error *e)
{
    *loss = (struct bl_decoder_loss){0};
    BL_TRY(bl_decoder_process_start(p, start, e));
    atomic_store_explicit(&p->page->done, 0, memory_order_relaxed);
    atomic_store_explicit(&p->page->items, 0, memory_order_relaxed);
    p->answer.most = call->most;
    int code = process_send(p, start, call, loss) ? process_converse(p, start, call, loss, e)
                                                  : process_lose(p, start, call, loss, e);
    if (loss->lost)
        process_blame(p, call, loss);
    /* After any other error than damage, the process may be in the middle of the request: the next call needs a new
     * one. */
    if (code && code != BL_EDATA && p->pid)
        process_kill(p, start);
    return code;
}
