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

/* --- zlib data in memory ------------------------------------------------------------------------------------------ */

int bl_inflate_prefix(const uint8_t *data, size_t size, uint8_t *out, size_t capacity, size_t *got, struct bl_error *e)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)data,
                       .avail_in = size < UINT_MAX ? (uInt)size : UINT_MAX,
                       .next_out = out,
                       .avail_out = capacity < UINT_MAX ? (uInt)capacity : UINT_MAX};
    *got = 0;
    if (inflateInit(&stream) != Z_OK)
        return bl_error_memory(e);
    int status = inflate(&stream, Z_SYNC_FLUSH); /* what came before damage is in out */
    (void)inflateEnd(&stream);
    *got = stream.total_out;
    return status == Z_MEM_ERROR ? bl_error_memory(e) : BL_OK;
}

/* --- input streams ------------------------------------------------------------------------------------------------ */

#define CHUNK ((size_t)1 << 17) /* bytes of the file that are read at once */
#define WAIT 200                /* milliseconds */
#define GZIP_WINDOW (15 + 16)   /* zlib's code for the largest window and a gzip header */
#define GZIP_LENGTH 4           /* bytes after the checksum */
#define ZSTD_HEAD 5             /* bytes of the shortest header of a frame */

enum compression { PLAIN, GZIP, ZSTD };

struct bl_instream {
    int fd;
    const struct bl_cancel *cancel; /* or NULL */
    const char *path;
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

/* Returns the format by the magic numbers of gzip (RFC 1952) and zstd (RFC 8878). */
static enum compression compression_detect(const uint8_t *head, size_t size)
{
    if (size >= 2 && head[0] == 0x1f && head[1] == 0x8b)
        return GZIP;
    if (size >= 4 && memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0)
        return ZSTD;
    /* A skippable frame may come first. */
    if (size >= 4 && (head[0] & 0xf0) == 0x50 && memcmp(head + 1, "\x2a\x4d\x18", 3) == 0)
        return ZSTD;
    return PLAIN;
}

bool bl_instream_is_compressed(const void *head, size_t size)
{
    return compression_detect(head, size) != PLAIN;
}

static bool instream_is_stopped(const struct bl_instream *f)
{
    return f->cancel && bl_cancelled(f->cancel);
}

/* Reads more of the file; f->at == f->end. At least 4 bytes are there afterwards, or the file has ended, so that the
 * first call suffices to recognize a format. A person who types, or a pipe, may take any time, so standard input is
 * polled: cancelling interrupts the wait. */
static int instream_refill(struct bl_instream *f, struct bl_error *e)
{
    f->at = f->end = 0;
    while (f->end < 4 && !f->eof) {
        struct pollfd input = {.fd = f->fd, .events = POLLIN};
        int ready = f->fd == STDIN_FILENO ? 0 : 1;
        while (!instream_is_stopped(f) && (ready == 0 || (ready < 0 && errno == EINTR)))
            ready = poll(&input, 1, WAIT);
        if (instream_is_stopped(f))
            return BL_ECANCEL;
        size_t room = CHUNK - f->end;
        ssize_t n = read(f->fd, f->data + f->end, f->left < (int64_t)room ? (size_t)f->left : room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bl_error_errno(e, BL_EFAIL, "cannot read %s", f->path);
        f->eof = n == 0;
        if (f->sum)
            XXH3_64bits_update(f->sum, f->data + f->end, (size_t)n);
        f->end += (size_t)n;
        f->offset += n;
        f->left -= n;
    }
    return BL_OK;
}

/* The first bytes give the format, which must not contradict the file's name. */
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
    f->offset = begin;
    f->left = member.bytes > begin ? member.bytes - begin : 0;
    f->path = path;
    f->cancel = cancel;
    f->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : bl_opener_open(path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0)
        code = bl_error_errno(e, bl_errno_is_system(errno) || errno == ENOENT ? BL_EFAIL : BL_EDATA, "cannot open %s",
                              path);
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
    if (f->compression == GZIP)
        inflateEnd(&f->gzip);
    ZSTD_freeDStream(f->zstd);
    XXH3_freeState(f->sum);
    free(f);
}

/* Reports damage: "damaged: the gzip data is invalid at byte 4711 of the file". */
static int instream_fail(const struct bl_instream *f, const char *what, struct bl_error *e)
{
    return bl_error_set(e, BL_EDATA, "damaged: the %s data %s at byte %" PRId64 " of the file",
                        f->compression == GZIP ? "gzip" : "zstd", what, bl_instream_offset(f));
}

/* Reports a wrong checksum, which ends reading. left: bytes of the trailer that were not read. The content is complete
 * if nothing else follows in the file. */
static int instream_fail_checksum(struct bl_instream *f, size_t left, struct bl_error *e)
{
    struct bl_error fault = {0};
    int code = instream_fail(f, "has a wrong checksum", e);
    size_t rest = f->end - f->at;
    if (rest <= left && !f->eof && !instream_refill(f, &fault))
        rest += f->end;
    f->whole = rest <= left && f->eof;
    return code;
}

/* Decompresses into data, from the bytes at hand alone. A gzip file is a row of members; after a member comes another
 * one, zero padding, or the end of the file. */
static int instream_read_gzip(struct bl_instream *f, void *data, size_t size, size_t *got, struct bl_error *e)
{
    while (f->between && f->at < f->end && f->data[f->at] == 0)
        f->at++;
    if (f->at == f->end)
        return BL_OK;
    if (f->between) {
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
    f->between = result == Z_STREAM_END;
    if (result == Z_MEM_ERROR)
        return bl_error_memory(e);
    if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR)
        return BL_OK;
    if (f->gzip.msg && !strcmp(f->gzip.msg, "incorrect data check"))
        return instream_fail_checksum(f, GZIP_LENGTH, e);
    if (f->gzip.msg && !strcmp(f->gzip.msg, "incorrect length check"))
        return instream_fail_checksum(f, 0, e);
    return instream_fail(f, "is invalid", e);
}

/* Reports an error of the decoder, to which step bytes were given. */
static int instream_fail_zstd(struct bl_instream *f, size_t result, size_t step, struct bl_error *e)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return bl_error_memory(e);
    case ZSTD_error_frameParameter_windowTooLarge:
        return bl_error_set(e, BL_EDATA, "the zstd data needs a window of more than 128 MiB");
    case ZSTD_error_checksum_wrong:
        f->at += step;
        return instream_fail_checksum(f, 0, e);
    case ZSTD_error_prefix_unknown:
        f->whole = true;
        return instream_fail(f, "is followed by other bytes", e);
    default:
        return instream_fail(f, "is invalid", e);
    }
}

/* The decoder gets one block at a time, or the checksum alone: a call that fails gives nothing. */
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
        f->between = result == 0;
        f->wanted = result ? result : ZSTD_HEAD;
    } while (f->at < f->end && out.pos < out.size);
    return BL_OK;
}

bool bl_instream_is_whole(const struct bl_instream *f)
{
    return f->whole;
}

int bl_instream_drain(struct bl_instream *f, uint64_t *checksum, struct bl_error *e)
{
    *checksum = 0;
    while (f->sum && !f->eof)
        BL_TRY(instream_refill(f, e));
    if (f->sum)
        *checksum = XXH3_64bits_digest(f->sum) | 1; /* never 0, which means none */
    return BL_OK;
}

int bl_instream_read(struct bl_instream *f, void *data, size_t size, size_t *got, struct bl_error *e)
{
    *got = 0;
    for (;;) {
        if (instream_is_stopped(f))
            return BL_ECANCEL;
        int code = f->at == f->end && !f->eof ? instream_refill(f, e) : BL_OK;
        bool drained = f->at == f->end;
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
