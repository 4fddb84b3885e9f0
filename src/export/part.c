#include "export/part.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* --- format ------------------------------------------------------------------------------------------------------- */

/* A format that datasets are exported to: how a part, one of its files, is made of blocks, and what lies beside the
 * parts. Arrays have one size in all blocks, so that all offsets follow from the number of blocks. */

const struct bl_export_format *const bl_export_formats[] = {&bl_export_mds, &bl_export_webdataset, &bl_export_energon,
                                                            &bl_export_megatron};
const char *const bl_export_format_names[] = {"mds", "webdataset", "energon", "megatron", NULL};

/* --- part --------------------------------------------------------------------------------------------------------- */

#define OUT_SIZE ((size_t)1 << 17) /* bytes of compressed data that are written at a time */

/* One frame with its content size, as readers of other formats expect it. */
struct zstd {
    ZSTD_CCtx *context;
    uint8_t out[OUT_SIZE];
};

static int zstd_check(size_t result, struct bl_error *e)
{
    return ZSTD_isError(result) ? bl_error_set(e, BL_EFAIL, "zstd: %s", ZSTD_getErrorName(result)) : BL_OK;
}

static void zstd_close(struct zstd *zstd)
{
    if (!zstd)
        return;
    ZSTD_freeCCtx(zstd->context);
    free(zstd);
}

static int zstd_open(struct zstd **out, int level, int64_t bytes, struct bl_error *e)
{
    struct zstd *zstd = malloc(sizeof *zstd);
    *out = zstd;
    if (!zstd)
        return bl_error_memory(e);
    zstd->context = ZSTD_createCCtx();
    if (!zstd->context)
        return bl_error_memory(e);
    int code = zstd_check(ZSTD_CCtx_setParameter(zstd->context, ZSTD_c_compressionLevel, level), e);
    if (!code)
        code = zstd_check(ZSTD_CCtx_setParameter(zstd->context, ZSTD_c_checksumFlag, 1), e);
    return code ? code : zstd_check(ZSTD_CCtx_setPledgedSrcSize(zstd->context, (unsigned long long)bytes), e);
}

/* Compresses data and writes what comes out; end: there is no more. */
static int part_put_compressed(struct bl_export_part *part, const void *data, size_t size, bool end, struct bl_error *e)
{
    struct zstd *zstd = part->zstd;
    ZSTD_inBuffer in = {data, size, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {zstd->out, OUT_SIZE, 0};
        left = ZSTD_compressStream2(zstd->context, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
        int code = zstd_check(left, e);
        if (!code)
            code = bl_output_write(&part->out, zstd->out, out.pos, e);
        if (code)
            return code;
        bl_checksum_add(&part->zip_sum, zstd->out, out.pos);
        part->record.zip_bytes += (int64_t)out.pos;
    } while (end ? left > 0 : in.pos < size);
    return BL_OK;
}

static void part_begin(struct bl_export_part *part)
{
    *part = (struct bl_export_part)BL_EXPORT_PART_NONE;
    bl_checksum_begin(&part->sum);
    bl_checksum_begin(&part->zip_sum);
}

int bl_export_part_open(struct bl_export_part *part, const char *path, const struct bl_compress *compress,
                        int64_t bytes, struct bl_error *e)
{
    part_begin(part);
    int code = bl_output_own(&part->out, path, e);
    if (!code && compress->on)
        code = zstd_open(&part->zstd, compress->level, bytes, e);
    if (code)
        bl_export_part_abort(part);
    return code;
}

int bl_export_part_compare(struct bl_export_part *part, const char *path, struct bl_error *e)
{
    part_begin(part);
    part->path = strdup(path);
    return part->path ? bl_instream_open(&part->in, part->path, 0, NULL, e) : bl_error_memory(e);
}

static int part_compare(struct bl_export_part *part, const uint8_t *data, size_t size, struct bl_error *e)
{
    uint8_t there[8192];
    while (size) {
        size_t most = size < sizeof there ? size : sizeof there, got = 0;
        int code = bl_instream_read(part->in, there, most, &got, e);
        if (code)
            return code;
        if (!got)
            return bl_error_set(e, BL_EDATA, "it ends after %" PRId64 " bytes of content", part->record.bytes);
        if (memcmp(there, data, got) != 0)
            return bl_error_set(e, BL_EDATA, "it differs from the dataset after %" PRId64 " bytes of content",
                                part->record.bytes);
        part->record.bytes += (int64_t)got;
        data += got;
        size -= got;
    }
    return BL_OK;
}

int bl_export_part_put(struct bl_export_part *part, const void *data, size_t size, struct bl_error *e)
{
    bl_checksum_add(&part->sum, data, size);
    if (part->in)
        return part_compare(part, data, size, e);
    part->record.bytes += (int64_t)size;
    return part->zstd ? part_put_compressed(part, data, size, false, e) : bl_output_write(&part->out, data, size, e);
}

static int part_end_comparing(struct bl_export_part *part, struct bl_error *e)
{
    uint8_t more;
    size_t got = 0;
    int code = bl_instream_read(part->in, &more, 1, &got, e);
    return !code && got ? bl_error_set(e, BL_EDATA, "it goes on after its end") : code;
}

int bl_export_part_commit(struct bl_export_part *part, struct bl_error *e)
{
    int code = part->in ? part_end_comparing(part, e) : BL_OK;
    if (!code && part->zstd)
        code = part_put_compressed(part, NULL, 0, true, e);
    if (!code && !part->in)
        code = bl_output_commit(&part->out, e);
    part->record.checksum = bl_checksum_end(&part->sum);
    part->record.zip_checksum = part->zstd ? bl_checksum_end(&part->zip_sum) : 0;
    bl_export_part_abort(part);
    return code;
}

void bl_export_part_abort(struct bl_export_part *part)
{
    zstd_close(part->zstd);
    part->zstd = NULL;
    if (part->in)
        bl_instream_close(part->in);
    part->in = NULL;
    free(part->path);
    part->path = NULL;
    bl_output_abort(&part->out);
}

void bl_export_record_format(const struct bl_export_record *record, struct bl_buffer *out)
{
    bl_buffer_printf(out, "%" PRId64 " %016" PRIx64 " %" PRId64 " %016" PRIx64 "\n", record->bytes, record->checksum,
                     record->zip_bytes, record->zip_checksum);
}

bool bl_export_record_parse(struct bl_export_record *record, const char *text)
{
    int end = 0;
    return sscanf(text, "%" SCNd64 " %16" SCNx64 " %" SCNd64 " %16" SCNx64 "\n%n", &record->bytes, &record->checksum,
                  &record->zip_bytes, &record->zip_checksum, &end) == 4 &&
           end > 0 && !text[end];
}
