/* Input streams: files and standard input, compressed by gzip or zstd or not, read from the beginning to the end.
 *
 * The first bytes decide the format, and the name must agree with them: a .gz file that is not compressed is a mistake.
 * Both formats may have several members or frames in a row (cat a.gz b.gz), and both end with a checksum. Damage is
 * reported with its place in the file, so that a user can compare it with the size of a complete copy. Damage in or
 * behind the last checksum leaves the content whole (bl_instream_is_whole). */
#include "base/instream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/archive.h"
#include "base/fs.h"
#include "base/input_file.h"
#include "base/io.h"

/* --- zlib data in memory ------------------------------------------------------------------------------------------ */

int bl_inflate_prefix(const uint8_t *data, size_t size, uint8_t *out, size_t capacity, size_t *got, struct bl_error *e)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)data,
                       .avail_in = size < UINT_MAX ? (uInt)size : UINT_MAX,
                       .next_out = out,
                       .avail_out = capacity < UINT_MAX ? (uInt)capacity : UINT_MAX};
    *got = 0;
    /* inflate also returns the content before damage, and that is all the caller needs. */
    if (inflateInit(&stream) != Z_OK)
        return bl_error_memory(e);
    int status = inflate(&stream, Z_SYNC_FLUSH); /* what came before damage is in out */
    (void)inflateEnd(&stream);
    *got = stream.total_out;
    return status == Z_MEM_ERROR ? bl_error_memory(e) : BL_OK;
}

/* --- input streams ------------------------------------------------------------------------------------------------ */

#define CHUNK ((size_t)1 << 17) /* bytes of the file that are read at once */
#define WAIT 200                /* milliseconds between two looks at the cancel flag */
#define GZIP_WINDOW (15 + 16)   /* zlib's code: the largest window (2^15), and a gzip header (+ 16) */
#define GZIP_LENGTH 4           /* bytes of the length, which stands behind the checksum (RFC 1952) */
#define ZSTD_HEAD 5             /* bytes of the shortest header of a frame */

enum compression { PLAIN, GZIP, ZSTD };

struct bl_instream {
    int fd;
    /* Set by bl_instream_open, and the caller's: */
    const struct bl_cancel *cancel; /* or NULL */
    const char *path;
    struct bl_far_copy *copy; /* of an object, which may still be fetched; or NULL */
    enum compression compression;
    bool eof;     /* of the file */
    bool between; /* at the start of a member or frame, where the file may end */
    bool whole;   /* the damage lies behind the last byte of the content */
    uint8_t data[CHUNK];
    size_t at, end;
    int64_t offset; /* of data + end in the file */
    int64_t left;   /* bytes of the file from there on: of a member of a tar; INT64_MAX: up to its end */
    z_stream gzip;
    ZSTD_DStream *zstd;
    size_t wanted;     /* compressed bytes up to the end of the present part of a zstd frame */
    XXH3_state_t *sum; /* checksum of standard input, or NULL */
};

/* Returns the format by the magic numbers of gzip (RFC 1952: 1f 8b) and zstd (RFC 8878: 28 b5 2f fd). */
static enum compression compression_detect(const uint8_t *head, size_t size)
{
    if (size >= 2 && head[0] == 0x1f && head[1] == 0x8b)
        return GZIP;
    if (size >= 4 && memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0)
        return ZSTD;
    /* zstd: a skippable frame (5? 2a 4d 18) may come first, as pzstd writes it. */
    if (size >= 4 && (head[0] & 0xf0) == 0x50 && memcmp(head + 1, "\x2a\x4d\x18", 3) == 0)
        return ZSTD;
    return PLAIN;
}

/* Reads the first bytes of an object, of whose copy more may be missing. */
static int object_read_head(const char *path, void *head, size_t size, size_t *got, struct bl_error *e)
{
    struct bl_far_copy *copy;
    int code = BL_OK, fd = bl_far_follow(path, &copy);
    if (fd < 0)
        return bl_opener_fail("cannot open", path, BL_EFAIL, e);
    for (int64_t ready = 1; !code && ready && *got < size;) {
        code = bl_far_wait(copy, (int64_t)*got, &ready, e);
        size_t more = ready < (int64_t)(size - *got) ? (size_t)ready : size - *got;
        if (!code)
            code = bl_io_pread(fd, (char *)head + *got, more, (int64_t)*got, path, e);
        *got += more;
    }
    close(fd);
    bl_far_leave(copy);
    return code;
}

int bl_instream_head(const char *path, void *head, size_t size, size_t *got, struct bl_error *e)
{
    struct bl_input_file file;
    *got = 0;
    struct bl_member member;
    if (bl_far_is(path) && !bl_member_parse(path, &member))
        return object_read_head(path, head, size, got, e);
    if (bl_input_file_open(&file, path) != 0)
        return BL_OK;
    ssize_t n = bl_input_file_pread(&file, head, size, 0);
    int code = n < 0 ? bl_error_errno(e, BL_EFAIL, "cannot read %s", path) : BL_OK;
    *got = n < 0 ? 0 : (size_t)n;
    bl_input_file_close(&file);
    return code;
}

bool bl_instream_is_compressed(const void *head, size_t size)
{
    return compression_detect(head, size) != PLAIN;
}

static bool instream_is_stopped(const struct bl_instream *f)
{
    return f->cancel && bl_cancelled(f->cancel);
}

/* Reads more of the file when all bytes are used (f->at == f->end). At least 4 bytes are available afterwards, or the
 * file has ended, so that the first call suffices to recognize a format. Standard input may take any time, from a
 * person or a pipe, so it is polled: a cancel interrupts the wait. */
static int instream_refill(struct bl_instream *f, struct bl_error *e)
{
    f->at = f->end = 0;
    /* The four bytes of zstd's magic number. */
    while (f->end < 4 && !f->eof) {
        struct pollfd input = {.fd = f->fd, .events = POLLIN};
        int ready = f->fd == STDIN_FILENO ? 0 : 1;
        while (!instream_is_stopped(f) && (ready == 0 || (ready < 0 && errno == EINTR)))
            ready = poll(&input, 1, WAIT);
        if (instream_is_stopped(f))
            return BL_ECANCEL;
        size_t room = CHUNK - f->end;
        int64_t there = (int64_t)room;
        if (f->copy)
            BL_TRY(bl_far_wait(f->copy, f->offset, &there, e));
        room = there < (int64_t)room ? (size_t)there : room;
        /* A member of a tar ends before its file. */
        ssize_t n = read(f->fd, f->data + f->end, f->left < (int64_t)room ? (size_t)f->left : room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bl_error_errno(e, BL_EFAIL, "cannot read %s", f->path);
        f->eof = n == 0;
        /* Every byte of standard input counts once, when it is read. */
        if (f->sum)
            XXH3_64bits_update(f->sum, f->data + f->end, (size_t)n);
        f->end += (size_t)n;
        f->offset += n;
        f->left -= n;
    }
    return BL_OK;
}

/* Detects the format by the first bytes, which must not contradict the file's name. */
static int instream_detect(struct bl_instream *f, struct bl_error *e)
{
    BL_TRY(instream_refill(f, e));
    f->compression = compression_detect(f->data, f->end);
    f->between = true;
    if (f->compression != GZIP && bl_path_has_suffix(f->path, ".gz"))
        return bl_error_set(e, BL_EDATA, f->end ? "not gzip data, as its name says" : "empty file");
    if (f->compression != ZSTD && bl_path_has_suffix(f->path, ".zst"))
        return bl_error_set(e, BL_EDATA, f->end ? "not zstd data, as its name says" : "empty file");
    if (f->compression == GZIP && inflateInit2(&f->gzip, GZIP_WINDOW) != Z_OK)
        return bl_error_memory(e);
    if (f->compression == ZSTD && !(f->zstd = ZSTD_createDStream()))
        return bl_error_memory(e);
    f->wanted = ZSTD_HEAD;
    return BL_OK;
}

int bl_instream_open(struct bl_instream **stream, const char *path, int64_t begin, const struct bl_cancel *cancel,
                     struct bl_error *e)
{
    struct bl_instream *f = calloc(1, sizeof *f);
    if (!f)
        return bl_error_memory(e);
    struct bl_member member = {.bytes = INT64_MAX};
    int code = BL_OK;
    bool within = bl_member_parse(path, &member);
    /* begin counts from the first byte of the member. */
    f->offset = begin;
    f->left = member.bytes > begin ? member.bytes - begin : 0;
    f->path = path;
    f->cancel = cancel;
    f->fd = strcmp(path, "-") == 0       ? STDIN_FILENO
            : bl_far_is(path) && !within ? bl_far_follow(path, &f->copy)
                                         : bl_opener_open(path, O_RDONLY | O_CLOEXEC);
    /* A file that may not be read is the input's fault; a missing one was there when it was listed. */
    if (f->fd < 0)
        code =
            bl_opener_fail("cannot open", path, bl_errno_is_system(errno) || errno == ENOENT ? BL_EFAIL : BL_EDATA, e);
    else if ((begin || within) && lseek(f->fd, member.begin + begin, SEEK_SET) < 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot seek in %s", path);
    if (code)
        goto out;
    if (f->fd == STDIN_FILENO) {
        f->sum = XXH3_createState();
        if (f->sum)
            XXH3_64bits_reset(f->sum);
        else
            code = bl_error_memory(e);
    }
    /* A part that begins in the middle is never compressed: there is no way to begin there. */
    if (!code && !begin)
        code = instream_detect(f, e);
out:
    if (code)
        bl_instream_close(f);
    else
        *stream = f;
    return code;
}

void bl_instream_close(struct bl_instream *f)
{
    if (f->fd >= 0 && f->fd != STDIN_FILENO)
        close(f->fd);
    if (f->copy)
        bl_far_leave(f->copy);
    if (f->compression == GZIP)
        inflateEnd(&f->gzip);
    ZSTD_freeDStream(f->zstd);
    XXH3_freeState(f->sum);
    free(f);
}

/* Reports damage, with its place: "damaged: the gzip data is invalid at byte 4711 of the file". */
static int instream_fail(const struct bl_instream *f, const char *what, struct bl_error *e)
{
    return bl_error_set(e, BL_EDATA, "damaged: the %s data %s at byte %" PRId64 " of the file",
                        f->compression == GZIP ? "gzip" : "zstd", what, bl_instream_offset(f));
}

/* Reports a wrong checksum, which ends reading. left: bytes of the trailer that were not read yet. The content is
 * complete if the file ends with the trailer: then only the checksum or the last bytes are damaged. */
static int instream_fail_checksum(struct bl_instream *f, size_t left, struct bl_error *e)
{
    struct bl_error fault = {0};
    int code = instream_fail(f, "has a wrong checksum", e);
    size_t rest = f->end - f->at;
    /* If the trailer ends with the bytes at hand, the next read shows whether the file does. */
    if (rest <= left && !f->eof && !instream_refill(f, &fault))
        rest += f->end;
    f->whole = rest <= left && f->eof;
    return code;
}

/* Decompresses into data, from the bytes at hand alone. A gzip file is a sequence of members; after a member comes
 * another one, zero padding (as from a tape), or the end of the file. *got may be 0. */
static int instream_read_gzip(struct bl_instream *f, void *data, size_t size, size_t *got, struct bl_error *e)
{
    /* Padding after a member may have any length. */
    while (f->between && f->at < f->end && f->data[f->at] == 0)
        f->at++;
    if (f->at == f->end)
        return BL_OK;
    if (f->between) {
        /* Other bytes behind a member are damage behind the content. */
        f->whole = f->data[f->at] != 0x1f;
        if (f->whole)
            return instream_fail(f, "is followed by other bytes", e);
        f->between = false;
        if (inflateReset(&f->gzip) != Z_OK)
            return bl_error_memory(e);
    }
    f->gzip.next_in = f->data + f->at;
    f->gzip.avail_in = (uInt)(f->end - f->at);
    f->gzip.next_out = data;
    f->gzip.avail_out = size < UINT32_MAX ? (uInt)size : UINT32_MAX;
    uInt room = f->gzip.avail_out;
    int result = inflate(&f->gzip, Z_NO_FLUSH);
    f->at = f->end - f->gzip.avail_in;
    *got = room - f->gzip.avail_out;
    /* A new member may follow, or the end of the file. */
    f->between = result == Z_STREAM_END;
    if (result == Z_MEM_ERROR)
        return bl_error_memory(e);
    if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR)
        return BL_OK;
    /* Only the message of zlib distinguishes these faults. */
    if (f->gzip.msg && !strcmp(f->gzip.msg, "incorrect data check"))
        return instream_fail_checksum(f, GZIP_LENGTH, e);
    if (f->gzip.msg && !strcmp(f->gzip.msg, "incorrect length check"))
        return instream_fail_checksum(f, 0, e);
    return instream_fail(f, "is invalid", e);
}

/* Reports an error of the decoder, which got `step` bytes. Files with a window of more than 128 MiB come from zstd
 * --long. */
static int instream_fail_zstd(struct bl_instream *f, size_t result, size_t step, struct bl_error *e)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return bl_error_memory(e);
    case ZSTD_error_frameParameter_windowTooLarge:
        return bl_error_set(e, BL_EDATA, "the zstd data needs a window of more than 128 MiB");
    case ZSTD_error_checksum_wrong:
        /* The checksum has been read, although the call has failed. */
        f->at += step;
        return instream_fail_checksum(f, 0, e);
    case ZSTD_error_prefix_unknown:
        f->whole = true;
        return instream_fail(f, "is followed by other bytes", e);
    default:
        return instream_fail(f, "is invalid", e);
    }
}

/* Decompresses from the bytes at hand. The decoder gets at most one block or checksum at a time (f->wanted is its
 * hint), because a call that fails returns none of the output that it has made. */
static int instream_read_zstd(struct bl_instream *f, void *data, size_t size, size_t *got, struct bl_error *e)
{
    ZSTD_outBuffer out = {data, size, 0};
    do {
        size_t step = f->end - f->at < f->wanted ? f->end - f->at : f->wanted;
        ZSTD_inBuffer in = {f->data, f->at + step, f->at};
        size_t result = ZSTD_decompressStream(f->zstd, &out, &in);
        *got = out.pos;
        if (ZSTD_isError(result))
            return instream_fail_zstd(f, result, step, e);
        f->at = in.pos;
        /* 0: a frame has ended, and all of its output is there. */
        f->between = result == 0;
        f->wanted = result ? result : ZSTD_HEAD;
    } while (f->at < f->end && out.pos < out.size);
    return BL_OK;
}

bool bl_instream_is_whole(const struct bl_instream *f)
{
    return f->whole;
}

/* The checksum of standard input covers all of it, also what no document has used. */
int bl_instream_drain(struct bl_instream *f, uint64_t *checksum, struct bl_error *e)
{
    *checksum = 0;
    while (f->sum && !f->eof)
        BL_TRY(instream_refill(f, e));
    if (f->sum)
        *checksum = XXH3_64bits_digest(f->sum) | 1; /* never 0, which means none */
    return BL_OK;
}

/* *got 0: the end. Both decoders may use input without giving output, so that the loop goes on until there is some. */
int bl_instream_read(struct bl_instream *f, void *data, size_t size, size_t *got, struct bl_error *e)
{
    *got = 0;
    for (;;) {
        if (instream_is_stopped(f))
            return BL_ECANCEL;
        int code = f->at == f->end && !f->eof ? instream_refill(f, e) : BL_OK;
        bool drained = f->at == f->end;
        /* Between two members the file may end. */
        if (code || (drained && (f->compression == PLAIN || f->between)))
            return code;
        if (f->compression == PLAIN) {
            *got = f->end - f->at < size ? f->end - f->at : size;
            memcpy(data, f->data + f->at, *got);
            f->at += *got;
        } else if (f->compression == GZIP) {
            code = instream_read_gzip(f, data, size, got, e);
        } else {
            code = instream_read_zstd(f, data, size, got, e);
        }
        if (code || *got)
            return code;
        /* The decoder gives no more output and the file no more input: the file ends inside a member. */
        if (drained && !f->between)
            return instream_fail(f, "ends in the middle", e);
    }
}

int64_t bl_instream_offset(const struct bl_instream *f)
{
    return f->offset - (int64_t)(f->end - f->at);
}
