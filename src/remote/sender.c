/* Threads that upload files.
 *
 * One lock guards the queue and the first error. A thread takes a file from the queue and sends it without the lock. */
#include "remote/sender.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/io.h"
#include "remote/fetch.h"
#include "remote/once.h"
#include "remote/upload.h"

#define RECORD_MAX ((size_t)64 << 20) /* bytes of a record */
#define WAIT_NANOSECONDS 50000000     /* between two looks whether the work was cancelled */

/* A file in the queue; its texts are its own. */
struct queued_file {
    char *path, *url, *record_path, *record_url;
    struct queued_file *next;
};

struct bl_sender {
    struct bl_remote *remote;
    pthread_mutex_t lock; /* for all that follows */
    pthread_cond_t has_work, has_room;
    pthread_t thread[BL_SENDER_THREADS_MAX];
    int threads_max, threads, idle;
    int under_way; /* files that are queued or being sent */
    int queued;    /* of these */
    struct queued_file *first, **last;
    bool is_closing;
    int code; /* of the first upload that failed */
    struct bl_error error;
};

/* --- one file ----------------------------------------------------------------------------------------------------- */

static void queued_free(struct queued_file *file)
{
    if (!file)
        return;
    free(file->path);
    free(file->url);
    free(file->record_path);
    free(file->record_url);
    free(file);
}

/* NULL: out of memory. */
static struct queued_file *queued_new(const struct bl_sending *what)
{
    struct queued_file *file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    file->path = strdup(what->path);
    file->url = strdup(what->url);
    file->record_path = what->record_path ? strdup(what->record_path) : NULL;
    file->record_url = what->record_path ? strdup(what->record_url) : NULL;
    if (file->path && file->url && (!what->record_path || (file->record_path && file->record_url)))
        return file;
    queued_free(file);
    return NULL;
}

/* Writes a file and its record, and removes the file. */
static int queued_send(struct bl_remote *remote, const struct queued_file *file, struct bl_error *e)
{
    struct bl_buffer text = {0};
    struct stat status;
    int fd = open(file->path, O_RDONLY | O_CLOEXEC), code = BL_OK;
    if (fd < 0)
        return bl_error_errno(e, BL_EFAIL, "%s", file->path);
    if (fstat(fd, &status) != 0)
        code = bl_error_errno(e, BL_EFAIL, "%s", file->path);
    if (!code && file->record_path)
        code = bl_io_read_file(file->record_path, RECORD_MAX, &text, e);
    const struct bl_remote_record record = {file->record_url, text.size ? text.data : "", text.size};
    if (!code)
        code = file->record_path ? bl_remote_upload_recorded(remote, file->url, fd, status.st_size, &record, e)
                                 : bl_remote_upload_once(remote, file->url, fd, status.st_size, e);
    (void)close(fd);
    bl_buffer_free(&text);
    return code ? code : bl_fs_remove(file->path, e);
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

/* Takes the next file from the queue, which is not empty. */
static struct queued_file *sender_take(struct bl_sender *s)
{
    struct queued_file *file = s->first;
    s->first = file->next;
    if (!s->first)
        s->last = &s->first;
    s->queued--;
    return file;
}

/* Drops what is queued. */
static void sender_drop(struct bl_sender *s)
{
    while (s->first) {
        queued_free(sender_take(s));
        s->under_way--;
    }
}

static void *sender_main(void *context)
{
    struct bl_sender *s = context;
    (void)pthread_mutex_lock(&s->lock);
    while (!s->is_closing) {
        if (!s->first) {
            s->idle++;
            (void)pthread_cond_wait(&s->has_work, &s->lock);
            s->idle--;
            continue;
        }
        struct queued_file *file = sender_take(s);
        struct bl_error fault = {0};
        (void)pthread_mutex_unlock(&s->lock);
        int code = queued_send(s->remote, file, &fault);
        queued_free(file);
        (void)pthread_mutex_lock(&s->lock);
        s->under_way--;
        if (code && !s->code) {
            s->code = code;
            s->error = fault;
            sender_drop(s);
        }
        (void)pthread_cond_broadcast(&s->has_room);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Has a thread take the file that was queued. BL_EFAIL: there is none, and none can be started. */
static int sender_wake(struct bl_sender *s, struct bl_error *e)
{
    (void)pthread_cond_signal(&s->has_work);
    /* An idle thread that was woken before, and has not yet run, takes one file. */
    if (s->queued > s->idle && s->threads < s->threads_max) {
        if (pthread_create(&s->thread[s->threads], NULL, sender_main, s) == 0)
            s->threads++;
        else if (!s->threads)
            return bl_error_set(e, BL_EFAIL, "no thread can be started, to upload files");
    }
    return BL_OK;
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

/* Interrupts the waiting of threads for the network. libcurl looks only once a second whether the work was cancelled,
 * where nothing comes from the store, and the tool ends sooner: without this, an upload would be left in the store. */
static void sender_rouse(const struct bl_sender *s)
{
    for (int i = 0; i < s->threads; i++)
        (void)pthread_kill(s->thread[i], BL_CANCEL_ROUSE);
}

/* Waits until a file was sent, or for a while. The lock is held. */
static void sender_wait(struct bl_sender *s)
{
    struct timespec end;
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += WAIT_NANOSECONDS;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&s->has_room, &s->lock, &end);
    bool is_cancelled = s->remote->cancel && bl_cancelled(s->remote->cancel);
    if (is_cancelled || atomic_load(&s->remote->is_ending))
        sender_rouse(s);
}

/* --- the sender --------------------------------------------------------------------------------------------------- */

int bl_sender_open(struct bl_sender **out, struct bl_remote *remote, int threads, struct bl_error *e)
{
    struct bl_sender *s = calloc(1, sizeof *s);
    if (!s || pthread_mutex_init(&s->lock, NULL) != 0) {
        free(s);
        return bl_error_memory(e);
    }
    (void)pthread_cond_init(&s->has_work, NULL);
    (void)pthread_cond_init(&s->has_room, NULL);
    s->remote = remote;
    s->threads_max = threads < 1 ? 1 : threads < BL_SENDER_THREADS_MAX ? threads : BL_SENDER_THREADS_MAX;
    s->last = &s->first;
    *out = s;
    return BL_OK;
}

/* Returns the first error, with the lock held. */
static int sender_check(const struct bl_sender *s, struct bl_error *e)
{
    return s->code ? bl_error_pass(e, s->code, &s->error) : BL_OK;
}

int bl_sender_add(struct bl_sender *s, const struct bl_sending *what, struct bl_error *e)
{
    struct queued_file *file = queued_new(what);
    if (!file)
        return bl_error_memory(e);
    (void)pthread_mutex_lock(&s->lock);
    while (!s->code && s->under_way >= s->threads_max)
        sender_wait(s);
    int code = sender_check(s, e);
    if (!code) {
        *s->last = file;
        s->last = &file->next;
        s->under_way++;
        s->queued++;
        file = NULL;
        code = sender_wake(s, e);
    }
    if (code)
        sender_drop(s);
    (void)pthread_mutex_unlock(&s->lock);
    queued_free(file);
    return code;
}

int bl_sender_finish(struct bl_sender *s, struct bl_error *e)
{
    (void)pthread_mutex_lock(&s->lock);
    while (!s->code && s->under_way)
        sender_wait(s);
    int code = sender_check(s, e);
    (void)pthread_mutex_unlock(&s->lock);
    return code;
}

void bl_sender_close(struct bl_sender *s)
{
    if (!s)
        return;
    (void)pthread_mutex_lock(&s->lock);
    s->is_closing = true;
    sender_drop(s);
    (void)pthread_cond_broadcast(&s->has_work);
    while (s->under_way) /* what is being sent is stopped, or sent */
        sender_wait(s);
    (void)pthread_mutex_unlock(&s->lock);
    for (int i = 0; i < s->threads; i++)
        (void)pthread_join(s->thread[i], NULL);
    (void)pthread_cond_destroy(&s->has_room);
    (void)pthread_cond_destroy(&s->has_work);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}

int64_t bl_sender_bytes(int threads, int64_t size)
{
    return threads * bl_remote_part_bytes(size);
}
