#include "run/write_rate.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/output.h"
#include "plan/random.h"

#define SECONDS 1.0
#define CHUNK_MAX ((int64_t)8 << 20)
#define SYNC_CHUNKS 8

static double rate_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Bytes that no file system makes smaller. */
static void rate_fill(uint8_t *data, int64_t size)
{
    struct bl_random random;
    bl_random_seed(&random, 0, BL_STREAM_IDS);
    for (int64_t at = 0; at < size; at += (int64_t)sizeof(uint64_t)) {
        uint64_t word = bl_random_next(&random);
        memcpy(data + at, &word, sizeof word);
    }
}

static int rate_sync(int fd, const char *path, struct bl_error *e)
{
    return fsync(fd) == 0 ? BL_OK : bl_error_errno(e, BL_EFAIL, "cannot sync %s", path);
}

int bl_write_rate_measure(struct bl_write_rate *rate, int fd, int direct, int64_t room, const char *path,
                          const struct bl_cancel *cancel, struct bl_error *e)
{
    int code = BL_OK;
    int64_t chunk = room < CHUNK_MAX ? room / BL_DIRECT_PAGE * BL_DIRECT_PAGE : CHUNK_MAX;
    int64_t passes = room / chunk;
    uint8_t *data = aligned_alloc(BL_DIRECT_PAGE, (size_t)chunk);
    *rate = (struct bl_write_rate){0};
    if (!data)
        return bl_error_memory(e);
    rate_fill(data, chunk);
    double begin = rate_now();
    for (int64_t i = 0; !code && rate->seconds < SECONDS; i++) {
        code = bl_cancelled(cancel) ? BL_ECANCEL
                                    : bl_direct_pwrite(direct, fd, data, (size_t)chunk, i % passes * chunk, path, e);
        if (!code && i % SYNC_CHUNKS == SYNC_CHUNKS - 1)
            code = rate_sync(fd, path, e);
        rate->bytes += chunk;
        rate->seconds = rate_now() - begin;
    }
    if (!code)
        code = rate_sync(fd, path, e);
    rate->seconds = rate_now() - begin;
    free(data);
    return code;
}
