/* Lists the arrays of files that hold several, before the scan: each becomes an input.
 *
 * Headers of HDF5 are a file system with trees and heaps, so that the library lists each file in a process of its own,
 * like a decoder: it has the file's descriptor, and can open no others. What it finds comes through a socket, as
 * records that end with a zero byte: "+v_abc/c3d" is a dataset, "." the end, and "!..." why the file cannot be listed.
 * A process that crashes sends neither, and the file stays an input, which the scan then reports. The process waits for
 * a byte before it sends: until then the socket belongs to the fork server's answer. */
#include "kind/array/listing.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/archive.h"
#include "base/buffer.h"
#include "base/fs.h"
#include "base/input_file.h"
#include "kind/array/choice.h"
#include "kind/array/hdf5.h"
#include "kind/array/tensors.h"
#include "kind/isolated/fork_server.h"

#define SEND ((size_t)64 << 10)           /* bytes of names that are sent at once */
#define MEMORY ((rlim_t)2 << 30)          /* bytes that a process may allocate */
#define SILENCE_MAX 6000                  /* tenths of a second in which a process must send something */
#define NAMES_BYTES_MAX ((size_t)1 << 20) /* bytes of a name at most */

/* --- process ------------------------------------------------------------------------------------------------------ */

/* A process that lists a file. found: records that it has not sent yet. */
struct listing_process {
    int channel;
    struct bl_buffer found;
};

/* Sends all that was found. */
static int listing_send(struct listing_process *p, struct bl_error *e)
{
    BL_TRY(bl_buffer_check(&p->found, e));
    for (size_t done = 0; done < p->found.size;) {
        ssize_t sent = send(p->channel, p->found.data + done, p->found.size - done, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return bl_error_errno(e, BL_EFAIL, "cannot send");
        done += sent > 0 ? (size_t)sent : 0;
    }
    bl_buffer_clear(&p->found);
    return BL_OK;
}

static int listing_found(void *sink, const char *name, struct bl_error *e)
{
    struct listing_process *p = sink;
    bl_buffer_byte(&p->found, '+');
    bl_buffer_append(&p->found, name, strlen(name) + 1);
    return p->found.size < SEND ? BL_OK : listing_send(p, e);
}

/* The main function of the process. The numbers are the place of the file in its descriptor, and its size. */
static void listing_main(const void *context, const struct bl_spawn *spawn, int channel)
{
    struct listing_process p = {.channel = channel};
    struct bl_cancel never = {0};
    struct bl_error e = {0};
    struct rlimit limit = {MEMORY, MEMORY};
    struct bl_input_file input = {.fd = spawn->fd, .begin = spawn->number[0]};
    char go;
    (void)context;
    if (recv(channel, &go, 1, MSG_WAITALL) != 1 || fstat(input.fd, &input.status) != 0)
        return;
    input.status.st_size = spawn->number[1];
    (void)setrlimit(RLIMIT_DATA, &limit);
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (!bl_syscall_filter_install() && bl_syscall_filter_is_available())
        return;
    int code = bl_hdf5_list(&input, spawn->number[1], "", &never, listing_found, &p, &e);
    bl_buffer_byte(&p.found, code ? '!' : '.');
    bl_buffer_append(&p.found, e.text, strlen(e.text) + 1);
    (void)listing_send(&p, &e);
    bl_buffer_free(&p.found);
}

static int listing_load(const void *context, struct bl_error *e)
{
    (void)context;
    return bl_hdf5_prepare(e);
}

/* --- worker ------------------------------------------------------------------------------------------------------- */

struct listing_files {
    struct bl_fork_server server; /* started at the first HDF5 file */
    const char *member;
    const struct bl_cancel *cancel;
    bl_expand_take *take;
    void *sink;
    size_t number;          /* of the file */
    bool quiet;             /* the file is listed to see that HDF5's library is there */
    int64_t arrays, named;  /* of the file: found, and passed on */
    bool whole;             /* the file was listed to its end */
    char fault[512];        /* why not, if the process said so */
    struct bl_buffer first; /* the name of the first array, which may be the only one */
};

/* Takes the name of an array. The only array of a file is named only where a pattern was given: the file itself is the
 * input otherwise. */
static int listing_take(void *sink, const char *name, struct bl_error *e)
{
    struct listing_files *l = sink;
    if (l->quiet)
        return BL_OK;
    if (l->member && !bl_array_pattern_matches(l->member, name))
        return BL_OK;
    if (!l->member && !l->arrays++) {
        bl_buffer_text(&l->first, name);
        return bl_buffer_check(&l->first, e);
    }
    if (l->first.size) {
        BL_TRY(l->take(l->sink, l->number, l->first.data, NULL, e));
        bl_buffer_clear(&l->first);
        l->named++;
    }
    l->named++;
    return l->take(l->sink, l->number, name, NULL, e);
}

/* Handles the records that have arrived, and keeps what is left of them. *ended: the last one has come. */
static int listing_take_records(struct listing_files *l, struct bl_buffer *data, bool *ended, struct bl_error *e)
{
    size_t at = 0;
    const char *zero;
    BL_TRY(bl_buffer_check(data, e));
    while (!*ended && (zero = memchr(data->data + at, '\0', data->size - at))) {
        const char *record = data->data + at;
        *ended = *record != '+';
        l->whole = *record == '.';
        if (!*ended)
            BL_TRY(listing_take(l, record + 1, e));
        else
            snprintf(l->fault, sizeof l->fault, "%s", record + 1);
        at = (size_t)(zero - data->data) + 1;
    }
    memmove(data->data, data->data + at, data->size - at);
    data->size -= at;
    *ended |= data->size > NAMES_BYTES_MAX;
    return BL_OK;
}

/* Receives what a process sends, until it ends. */
static int listing_receive(struct listing_files *l, int channel, pid_t pid, struct bl_error *e)
{
    struct bl_buffer data = {0};
    char part[16384];
    bool ended = false;
    int code = BL_OK, silent = 0;
    if (send(channel, ".", 1, MSG_NOSIGNAL) != 1) /* it has ended already */
        silent = SILENCE_MAX;
    while (!code && !ended && silent < SILENCE_MAX) {
        ssize_t got = recv(channel, part, sizeof part, 0);
        if (bl_cancelled(l->cancel))
            code = bl_error_set(e, BL_ECANCEL, "cancelled");
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            break;
        silent = got > 0 ? 0 : silent + 1;
        if (code || got < 0)
            continue;
        bl_buffer_append(&data, part, (size_t)got);
        code = listing_take_records(l, &data, &ended, e);
    }
    /* The process has ended, or is not needed any more. No other process has its number until it is reaped. */
    (void)kill(pid, SIGKILL);
    bl_buffer_free(&data);
    return code;
}

/* Lists a file in a new process. */
static int listing_list_isolated(struct listing_files *l, const struct bl_input_file *input, struct bl_error *e)
{
    const struct bl_spawn spawn = {.number = {input->begin, input->status.st_size}, .fd = input->fd};
    int channel, status;
    pid_t pid;
    if (!l->server.pid)
        BL_TRY(bl_fork_server_start(&l->server, listing_load, listing_main, NULL, e));
    BL_TRY(bl_fork_server_spawn(&l->server, &spawn, &channel, &pid, e));
    int code = listing_receive(l, channel, pid, e);
    close(channel);
    int reaped = bl_fork_server_reap(&l->server, pid, &status, e);
    if (code || reaped || l->whole || !l->named)
        return code ? code : reaped;
    /* The arrays that were found are used. A reason says that others may be missing. */
    struct bl_buffer why = {0};
    bl_buffer_printf(&why, "arrays after the first %" PRId64 " cannot be listed: %s", l->named,
                     *l->fault ? l->fault : "the library crashed");
    code = bl_buffer_check(&why, e);
    if (!code)
        code = l->take(l->sink, l->number, NULL, why.data, e);
    bl_buffer_free(&why);
    return code;
}

/* Lists a file that is open. *decodes: it is HDF5. HDF5's library must be there, also where --array names the array:
 * the run is refused before it starts. */
static int listing_list_input(struct listing_files *l, const char *path, const struct bl_input_file *input,
                              bool *decodes, struct bl_error *e)
{
    uint8_t head[BL_ARCHIVE_HEAD];
    ssize_t got = S_ISREG(input->status.st_mode) ? bl_input_file_pread(input, head, sizeof head, 0) : -1;
    size_t file;
    if (got <= 0) /* counting says why */
        return BL_OK;
    bool named = bl_container_array(path, &file) || (l->member && !bl_array_name_is_pattern(l->member));
    bool is_hdf5 = bl_hdf5_has_name(path) && (bl_hdf5_is(head, (size_t)got) || !bl_archive_detect(head, (size_t)got));
    if (is_hdf5 && named && *decodes)
        return BL_OK;
    if (is_hdf5) {
        *decodes = true;
        l->quiet = named;
        return listing_list_isolated(l, input, e);
    }
    if (named || !l->member || !bl_tensors_are(path, head, (size_t)got))
        return BL_OK;
    struct bl_error ignored = {0};
    int code = bl_tensors_list(input, input->status.st_size, path, listing_take, l, &ignored);
    return code == BL_EDATA ? BL_OK : bl_error_pass(e, code, &ignored);
}

int bl_array_list(const char *member, const char *const *path, size_t count, const struct bl_cancel *cancel,
                  bl_expand_take *take, void *sink, bool *decodes, struct bl_error *e)
{
    struct listing_files l = {.member = member, .cancel = cancel, .take = take, .sink = sink};
    int code = BL_OK;
    for (l.number = 0; l.number < count && !code; l.number++) {
        struct bl_input_file input;
        bool wanted = bl_hdf5_has_name(path[l.number]) || bl_array_name_is_pattern(member);
        if (bl_cancelled(cancel))
            code = bl_error_set(e, BL_ECANCEL, "cancelled");
        if (code || !wanted || bl_input_file_open_whole(&input, path[l.number]) != 0)
            continue;
        l.arrays = l.named = 0;
        l.whole = false;
        l.fault[0] = '\0';
        l.quiet = false;
        bl_buffer_clear(&l.first);
        code = listing_list_input(&l, path[l.number], &input, decodes, e);
        bl_input_file_close(&input);
    }
    if (l.server.pid)
        bl_fork_server_stop(&l.server);
    bl_buffer_free(&l.first);
    return code;
}
