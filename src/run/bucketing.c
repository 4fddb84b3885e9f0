/* Puts the pieces of a spool into buckets and reads them from there.
 *
 * The making takes three passes: over the shards, to link the pieces of each sequence that missing shards need; over
 * the sequences, to append each piece to the buffer of its bucket; and over the buckets, to write what is left in the
 * buffers. bl_bucketing.place holds the links during the first two passes and offsets afterwards. A piece in a bucket
 * is its fields one after the other, then the checksum of all of them as u64. */
#include "run/bucketing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "store/row_reader.h"
#include "store/shard_writer.h"

#define WHAT "the bucketed spool"
#define BUCKETS_MAX 200              /* files open at the same time; the usual limit of a process is 1024 */
#define CHUNK_MAX ((int64_t)1 << 20) /* limits of the bytes of one write to a bucket */
#define CHUNK_MIN ((int64_t)1 << 14)
#define TICK_EVERY 1024 /* rows */

struct bucket {
    int fd;
    int64_t bytes;           /* of its pieces so far, including those in the buffer */
    struct bl_buffer buffer; /* pieces that are not written yet */
    bool fetched;            /* the kernel was asked to read it into the page cache */
};

struct bl_bucketing {
    const struct bl_pack *pack;
    int64_t first_block; /* the first block of the first bucket */
    int64_t blocks_per_bucket;
    int64_t buckets;
    size_t chunk; /* bytes per write */
    struct bucket *bucket;
    int64_t *place; /* [pieces] offset in bytes of the piece in its bucket; -1: it is in no bucket */
};

int64_t bl_bucketing_bytes(const struct bl_pack *pack)
{
    int64_t steps = 0, begin, end;
    bl_pack_block_range(pack, &begin, &end);
    for (int64_t p = pack->plan->block_ptr[begin]; p < pack->plan->block_ptr[end]; p++)
        steps += bl_plan_piece_length(pack->plan, pack->table->length, (size_t)p);
    int64_t pieces = pack->plan->block_ptr[end] - pack->plan->block_ptr[begin];
    return steps * bl_format_step_bytes(pack->format) + pieces * (int64_t)sizeof(uint64_t);
}

/* --- making ----------------------------------------------------------------------------------------------------- */

/* Decides how many shards share a bucket. A bucket takes at most a quarter of the memory, since two neighbouring
 * buckets are in use together, unless this needs more than BUCKETS_MAX files. The write buffers of all buckets share an
 * eighth. */
static void bucketing_divide(struct bl_bucketing *s, int64_t memory)
{
    const struct bl_format *format = s->pack->format;
    int64_t shards = s->pack->shard_end - s->pack->shard_begin,
            shard_bytes = format->T * bl_format_step_bytes(s->pack->format) * format->blocks_per_shard;
    int64_t each = memory / 4 / shard_bytes, min = (shards + BUCKETS_MAX - 1) / BUCKETS_MAX;
    each = each > min ? each : min;
    each = each < shards ? each : shards;
    s->blocks_per_bucket = each * format->blocks_per_shard;
    s->buckets = (shards + each - 1) / each;
    int64_t chunk = memory / 8 / s->buckets;
    s->chunk = (size_t)(chunk < CHUNK_MIN ? CHUNK_MIN : chunk > CHUNK_MAX ? CHUNK_MAX : chunk);
}

/* Links the pieces of each sequence that belong to missing shards into a list, so that one pass over the sequences can
 * put each piece into its bucket. first[sequence] is the first piece of the list, or -1; place[piece] is the next one,
 * until bucketing_put_piece replaces it by the offset. */
static int bucketing_chain_pieces(struct bl_bucketing *s, int64_t *first, struct bl_error *e)
{
    const struct bl_pack *pack = s->pack;
    for (size_t i = 0; i < pack->table->count; i++)
        first[i] = -1;
    for (size_t p = 0; p < pack->plan->pieces; p++)
        s->place[p] = -1;
    for (int64_t shard = pack->shard_begin; shard < pack->shard_end; shard++) {
        struct bl_shard_record record = {0};
        bool found = false;
        int code = bl_pack_find_shard(pack, shard, &record, &found, e);
        bl_shard_record_free(&record);
        if (code)
            return code;
        int64_t block = bl_format_first_block(pack->format, shard);
        int64_t end = pack->plan->block_ptr[block + bl_format_blocks_of(pack->format, shard)];
        for (int64_t p = pack->plan->block_ptr[block]; p < end; p++) {
            uint32_t sequence = pack->plan->sequence[p];
            if (!found) {
                s->place[p] = first[sequence];
                first[sequence] = p;
            }
        }
    }
    return BL_OK;
}

/* Returns the bucket of a piece, by a binary search of the first pieces of the buckets. */
static struct bucket *bucket_find(const struct bl_bucketing *s, int64_t piece)
{
    const int64_t *block_ptr = s->pack->plan->block_ptr;
    int64_t low = 0, high = s->buckets;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (block_ptr[s->first_block + middle * s->blocks_per_bucket] <= piece)
            low = middle;
        else
            high = middle;
    }
    return &s->bucket[low];
}

/* Writes the buffer to the end of the file and empties it, also after an error. */
static int bucket_flush(struct bucket *bucket, struct bl_error *e)
{
    int code = bl_buffer_check(&bucket->buffer, e);
    if (!code)
        code = bl_io_write(bucket->fd, bucket->buffer.data, bucket->buffer.size,
                           "the bucketed spool (choose another folder with --spool, or more --memory)", e);
    bl_buffer_clear(&bucket->buffer);
    return code;
}

/* Returns the checksum of a piece, which follows the piece in its bucket. It joins the checksums of the fields as a
 * polynomial whose base is 2^64 divided by the golden ratio, so that two fields in exchanged places have another sum.
 * out: the steps of each field. */
static uint64_t bucketing_checksum(const struct bl_fields *fields, int64_t steps, uint8_t *const *out)
{
    uint64_t sum = 0;
    for (int f = 0; f < fields->count; f++)
        sum = sum * UINT64_C(0x9e3779b97f4a7c15) +
              bl_checksum(out[f], (size_t)steps * bl_field_step_bytes(&fields->field[f]));
    return sum;
}

/* Reads a piece from the spool directly into the buffer of its bucket, field after field. The size of the buffer grows
 * only after the piece was read without a fault. */
static int bucketing_put_piece(struct bl_bucketing *s, struct bl_reader *reader, struct bl_request *request,
                               int64_t piece, struct bl_error *e)
{
    const struct bl_fields *fields = &s->pack->format->fields;
    struct bucket *bucket = bucket_find(s, piece);
    struct bl_note note = {0};
    struct bl_error fault = {0};
    uint8_t *out[BL_FIELDS_MAX];
    s->place[piece] = -1;
    request->steps = bl_plan_piece_length(s->pack->plan, s->pack->table->length, (size_t)piece);
    request->source_start = s->pack->plan->source_start ? s->pack->plan->source_start[piece] : 0;
    request->out = out;
    size_t size = (size_t)(request->steps * bl_format_step_bytes(s->pack->format));
    if (bucket->buffer.size && bucket->buffer.size + size > s->chunk)
        BL_TRY(bucket_flush(bucket, e));
    if (!bl_buffer_reserve(&bucket->buffer, size + sizeof(uint64_t)))
        return bl_error_memory(e);
    uint8_t *at = (uint8_t *)bucket->buffer.data + bucket->buffer.size;
    for (int f = 0; f < fields->count; f++) {
        out[f] = at;
        at += (size_t)request->steps * bl_field_step_bytes(&fields->field[f]);
    }
    int code = reader->piece(reader, request, &note, &fault);
    if (code && code != BL_EDATA)
        return bl_error_pass(e, code, &fault);
    /* A piece with a fault or a note is read again when it is packed, which reports it. */
    if (code || note.text[0])
        return BL_OK;
    uint64_t sum = bucketing_checksum(fields, request->steps, out);
    memcpy(bucket->buffer.data + bucket->buffer.size + size, &sum, sizeof sum);
    s->place[piece] = bucket->bytes;
    bucket->bytes += (int64_t)(size + sizeof sum);
    bucket->buffer.size += size + sizeof sum;
    return BL_OK;
}

/* Puts all pieces of one sequence into their buckets. first: the first one of the list of bucketing_chain_pieces. */
static int bucketing_put_sequence(struct bl_bucketing *s, struct bl_reader *reader, struct bl_row_reader *text,
                                  size_t row, int64_t first, struct bl_error *e)
{
    BL_TRY(bl_row_reader_read(s->pack->table, row, text, e));
    struct bl_request request = {.row = text->row, .sequence = (int64_t)row};
    char *path = bl_path_join(s->pack->base, text->row.path);
    if (!path)
        return bl_error_memory(e);
    request.row.path = path;
    bl_error_memory_watch();
    int code = BL_OK;
    for (int64_t p = first, next; p >= 0 && !code; p = next) {
        next = s->place[p];
        code = bucketing_put_piece(s, reader, &request, p, e);
    }
    if (bl_error_memory_seen() && code != BL_ECANCEL)
        code = bl_error_memory(e);
    free(path);
    return code;
}

/* Reads the sequences in the order of the table, which is that of the spool, so that the disk reads in order. */
static int bucketing_put_all(struct bl_bucketing *s, const int64_t *first, void (*tick)(void *sink, int64_t rows),
                             void *sink, struct bl_error *e)
{
    const struct bl_pack *pack = s->pack;
    struct bl_reader *reader = NULL;
    struct bl_row_reader text = {0};
    int code = pack->kind->read->open(pack->config, pack->env, &pack->format->fields, &reader, e);
    for (size_t row = 0; row < pack->table->count && !code; row++) {
        if (first[row] >= 0)
            code = bl_cancelled(pack->env->cancel) ? BL_ECANCEL
                                                   : bucketing_put_sequence(s, reader, &text, row, first[row], e);
        if (row % TICK_EVERY == 0)
            tick(sink, (int64_t)row);
    }
    for (int64_t b = 0; b < s->buckets && !code; b++) {
        code = bucket_flush(&s->bucket[b], e);
        bl_buffer_free(&s->bucket[b].buffer);
    }
    bl_row_reader_free(&text);
    if (reader)
        reader->close(reader);
    return code;
}

int bl_bucketing_make(struct bl_bucketing **bucketing, const struct bl_pack *pack, const char *dir, int64_t memory,
                      void (*tick)(void *sink, int64_t rows), void *sink, struct bl_error *e)
{
    struct bl_bucketing *s = calloc(1, sizeof *s);
    int64_t *first = malloc((pack->table->count + 1) * sizeof *first);
    if (s) {
        int64_t end;
        s->pack = pack;
        bl_pack_block_range(pack, &s->first_block, &end);
        s->place = malloc((pack->plan->pieces + 1) * sizeof *s->place);
    }
    int code = s && s->place && first ? BL_OK : bl_error_memory(e);
    if (code)
        goto out;
    bucketing_divide(s, memory);
    s->bucket = calloc((size_t)s->buckets, sizeof *s->bucket);
    if (!s->bucket)
        code = bl_error_memory(e);
    for (int64_t b = 0; s->bucket && b < s->buckets; b++)
        s->bucket[b].fd = -1;
    for (int64_t b = 0; b < s->buckets && !code; b++) {
        s->bucket[b].fd = bl_temporary_open(dir, e);
        code = s->bucket[b].fd < 0 ? s->bucket[b].fd : BL_OK;
    }
    if (code)
        goto out;
    code = bucketing_chain_pieces(s, first, e);
    if (code)
        goto out;
    code = bucketing_put_all(s, first, tick, sink, e);
out:
    free(first);
    if (code)
        bl_bucketing_free(s);
    else
        *bucketing = s;
    return code;
}

/* Closes the file, by which the file system frees its space, and frees the buffer. */
static void bucket_close(struct bucket *bucket)
{
    if (bucket->fd >= 0)
        close(bucket->fd);
    bucket->fd = -1;
    bl_buffer_free(&bucket->buffer);
}

void bl_bucketing_free(struct bl_bucketing *s)
{
    if (!s)
        return;
    for (int64_t b = 0; s->bucket && b < s->buckets; b++)
        bucket_close(&s->bucket[b]);
    free(s->bucket);
    free(s->place);
    free(s);
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

void bl_bucketing_begin_block(struct bl_bucketing *s, int64_t block)
{
    struct bucket *bucket = s ? &s->bucket[(block - s->first_block) / s->blocks_per_bucket] : NULL;
    /* A hint: read the whole bucket in order before its pieces are read at random. */
    if (bucket && !bucket->fetched)
        (void)posix_fadvise(bucket->fd, 0, 0, POSIX_FADV_WILLNEED);
    if (bucket)
        bucket->fetched = true;
}

void bl_bucketing_end_block(struct bl_bucketing *s, int64_t block)
{
    if (s && (block - s->first_block + 1) % s->blocks_per_bucket == 0)
        bucket_close(&s->bucket[(block - s->first_block) / s->blocks_per_bucket]);
}

bool bl_bucketing_has(const struct bl_bucketing *s, size_t piece)
{
    return s && s->place[piece] >= 0;
}

int bl_bucketing_read(const struct bl_bucketing *s, size_t piece, int64_t steps, uint8_t *const *out,
                      struct bl_error *e)
{
    const struct bl_fields *fields = &s->pack->format->fields;
    int64_t at = s->place[piece];
    uint64_t sum;
    int code = BL_OK;
    for (int f = 0; f < fields->count && !code; f++) {
        size_t size = (size_t)steps * bl_field_step_bytes(&fields->field[f]);
        code = bl_io_pread(bucket_find(s, (int64_t)piece)->fd, out[f], size, at, WHAT, e);
        at += (int64_t)size;
    }
    if (!code)
        code = bl_io_pread(bucket_find(s, (int64_t)piece)->fd, &sum, sizeof sum, at, WHAT, e);
    if (!code && sum != bucketing_checksum(fields, steps, out))
        code = bl_error_set(e, BL_EFAIL, WHAT ": what was read is not what was written: the disk or memory fails");
    return code;
}
