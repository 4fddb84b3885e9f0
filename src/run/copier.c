#include "run/copier.h"

#include <stdlib.h>

#include "base/process.h"
#include "run/scatter.h"

/* Shards that a copier keeps open, of all sources: of plain ones a descriptor is all there is to keep, of compressed
 * ones the frames that were read last. */
#define PLAIN_MOST 256
#define COMPRESSED_MOST 16
#define COMPRESSED_BYTES ((int64_t)64 << 20)

struct bl_copier {
    const struct bl_pack_params *pack;
    struct bl_view view;
    int64_t *offsets; /* [T + 1] of the JPEG files of one block, in files; NULL: there are none */
    struct bl_buffer files;
};

/* --- the sources ------------------------------------------------------------------------------------------------ */

/* What a shard of the source takes while it is open: a frame that is kept, and room to read one. */
static int64_t source_shard_memory(const struct bl_dataset *source)
{
    const struct bl_format *format = &source->manifest.format;
    int64_t frame = (int64_t)bl_format_frame_size(format), largest = 0;
    for (int f = 0; f < format->fields.count; f++) {
        int64_t bytes = (int64_t)bl_format_block_bytes(format, f);
        largest = bytes > largest ? bytes : largest;
    }
    frame = largest < frame ? largest : frame;
    return format->compressed ? 2 * frame + (int64_t)BL_KEPT_BYTES : 0;
}

/* How many shards of each source to keep open. */
static int64_t source_keeps(const struct bl_dataset *source, int64_t sources, int64_t descriptors)
{
    const struct bl_format *format = &source->manifest.format;
    int64_t most = format->compressed ? COMPRESSED_BYTES / source_shard_memory(source) : PLAIN_MOST;
    if (format->compressed && most > COMPRESSED_MOST)
        most = COMPRESSED_MOST;
    most = most < descriptors ? most : descriptors;
    most /= sources;
    int64_t shards = bl_format_shards(format);
    most = most < shards ? most : shards;
    return most > 1 ? most : 1;
}

int64_t bl_copier_memory(const struct bl_view *view)
{
    int64_t bytes = (int64_t)1 << 20;
    for (size_t s = 0; s < view->sources; s++)
        bytes += (source_keeps(&view->source[s], (int64_t)view->sources, INT64_MAX) + 1) *
                 source_shard_memory(&view->source[s]);
    return bytes;
}

static int copier_keep_shards(struct bl_copier *c, struct bl_error *e)
{
    int64_t descriptors = bl_descriptors_raise() / 2 / (c->pack->workers > 0 ? c->pack->workers : 1);
    int code = BL_OK;
    for (size_t s = 0; s < c->view.sources && !code; s++) {
        struct bl_dataset *source = &c->view.source[s];
        code = bl_dataset_keep(source, source_keeps(source, (int64_t)c->view.sources, descriptors), e);
    }
    return code;
}

int bl_copier_open(struct bl_copier **copier, const struct bl_pack_params *pack, struct bl_error *e)
{
    struct bl_copier *c = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    c->pack = pack;
    int code = bl_view_open(&c->view, pack->view->dir, e);
    if (!code)
        code = copier_keep_shards(c, e);
    if (!code && bl_format_encodes(pack->format, BL_ENCODING_JPEG)) {
        c->offsets = calloc((size_t)pack->format->T + 1, sizeof *c->offsets);
        code = c->offsets ? BL_OK : bl_error_memory(e);
    }
    if (code)
        bl_copier_close(c);
    else
        *copier = c;
    return code;
}

void bl_copier_close(struct bl_copier *c)
{
    if (!c)
        return;
    bl_view_close(&c->view);
    bl_buffer_free(&c->files);
    free(c->offsets);
    free(c);
}

/* --- pieces ----------------------------------------------------------------------------------------------------- */

/* The first step of a piece in its sequence. Its source_start counts from the first step that is stored. */
static int64_t piece_step(const struct bl_copier *c, const struct bl_block *block, int i)
{
    const struct bl_places *places = &c->view.places;
    return block->source_start[i] + (places->source_start ? bl_places_begin(places, block->sequence[i]) : 0);
}

/* A scattered piece is read with its first field. */
static int piece_read_scattered(struct bl_copier *c, struct bl_block *block, int i, size_t piece, struct bl_error *e)
{
    const struct bl_fields *fields = &c->pack->format->fields;
    uint8_t *out[BL_FIELDS_MAX];
    for (int f = 0; f < fields->count; f++)
        out[f] = block->field[f] + (size_t)block->cu_seqlens[i] * bl_field_step_bytes(&fields->field[f]);
    return bl_scatter_read(c->pack->scatter, piece, block->length[i], out, e);
}

static int piece_copy(struct bl_copier *c, struct bl_block *block, int i, int f, struct bl_error *e)
{
    size_t bytes = bl_field_step_bytes(&c->pack->format->fields.field[f]);
    size_t piece = (size_t)(c->pack->plan->block_ptr[block->index] + i);
    if (bl_cancelled(c->pack->env->cancel))
        return BL_ECANCEL;
    if (bl_scatter_has(c->pack->scatter, piece))
        return f ? BL_OK : piece_read_scattered(c, block, i, piece, e);
    return bl_view_copy_steps(&c->view, block->sequence[i], piece_step(c, block, i), block->length[i], f,
                              block->field[f] + (size_t)block->cu_seqlens[i] * bytes, e);
}

/* Appends the files of steps that are stored together; at: the first of them in the block. */
static int files_append(struct bl_copier *c, const struct bl_view_steps *steps, int f, int64_t at, struct bl_error *e)
{
    const int64_t *offsets;
    const uint8_t *bytes;
    int64_t n = steps->end - steps->first;
    int code = bl_dataset_copy_files(steps->source, steps->block, f, steps->first, steps->end, &offsets, &bytes, e);
    if (code)
        return code;
    for (int64_t i = 0; i < n; i++)
        c->offsets[at + i + 1] = c->offsets[at + i] + (offsets[i + 1] - offsets[i]);
    if (offsets[n] > offsets[0])
        bl_buffer_append(&c->files, bytes, (size_t)(offsets[n] - offsets[0]));
    return bl_buffer_check(&c->files, e);
}

static int piece_copy_files(struct bl_copier *c, const struct bl_block *block, int i, int f, struct bl_error *e)
{
    int64_t done = 0, step = piece_step(c, block, i);
    while (done < block->length[i]) {
        struct bl_view_steps steps;
        int code = bl_cancelled(c->pack->env->cancel) ? BL_ECANCEL : BL_OK;
        if (!code)
            code = bl_view_find(&c->view, block->sequence[i], step + done, block->length[i] - done, &steps, e);
        if (!code)
            code = files_append(c, &steps, f, block->cu_seqlens[i] + done, e);
        if (code)
            return code;
        done += steps.end - steps.first;
    }
    return BL_OK;
}

/* --- blocks ----------------------------------------------------------------------------------------------------- */

/* What pads zeros or repeats pictures pads their differences as well. */
static int field_copy(struct bl_copier *c, struct bl_block *block, int f, struct bl_error *e)
{
    const struct bl_format *format = c->pack->format;
    const struct bl_field *field = &format->fields.field[f];
    size_t at = 0;
    int code = BL_OK;
    for (int i = 0; i < block->num_sequences && !code; i++) {
        bl_field_pad_between(field, block->field[f], at, (size_t)block->cu_seqlens[i], c->pack->pad_repeat);
        code = piece_copy(c, block, i, f, e);
        at = (size_t)(block->cu_seqlens[i] + block->length[i]);
    }
    if (!code)
        bl_field_pad_between(field, block->field[f], at, (size_t)format->T, c->pack->pad_repeat);
    return code;
}

/* Steps t to end - 1 have no file, or the one before. */
static int files_pad(struct bl_copier *c, int64_t t, int64_t end, struct bl_error *e)
{
    int64_t size = t > 0 && c->pack->pad_repeat ? c->offsets[t] - c->offsets[t - 1] : 0;
    if (size && t < end && !bl_buffer_reserve(&c->files, (size_t)size * (size_t)(end - t)))
        return bl_error_memory(e);
    for (; t < end; t++) {
        if (size)
            bl_buffer_append(&c->files, c->files.data + c->files.size - (size_t)size, (size_t)size);
        c->offsets[t + 1] = c->offsets[t] + size;
    }
    return BL_OK;
}

static int field_copy_files(struct bl_copier *c, struct bl_shard_writer *shard, struct bl_block *block, int f,
                            struct bl_error *e)
{
    int64_t at = 0;
    int code = BL_OK;
    bl_buffer_clear(&c->files);
    for (int i = 0; i < block->num_sequences && !code; i++) {
        code = files_pad(c, at, block->cu_seqlens[i], e);
        if (!code)
            code = piece_copy_files(c, block, i, f, e);
        at = block->cu_seqlens[i] + block->length[i];
    }
    if (!code)
        code = files_pad(c, at, c->pack->format->T, e);
    return code ? code : bl_shard_writer_put_files(shard, block, f, c->offsets, c->files.data, e);
}

int bl_copier_fill(struct bl_copier *c, struct bl_shard_writer *shard, struct bl_block *block, int blocks,
                   const struct bl_meter *meter, struct bl_error *e)
{
    const struct bl_format *format = c->pack->format;
    struct bl_meter steps = *meter;
    int code = BL_OK;
    for (int b = 0; b < blocks && !code; b++) {
        for (int f = 0; f < format->fields.count && !code; f++)
            code = format->encoding[f].kind == BL_ENCODING_JPEG ? field_copy_files(c, shard, &block[b], f, e)
                                                                : field_copy(c, &block[b], f, e);
        for (int i = 0; i < block[b].num_sequences; i++)
            steps.weight += block[b].length[i];
    }
    if (code == BL_EDATA || code == BL_EUSAGE) {
        bl_error_prefix(e, "a source of %s is damaged (bload verify tells more)", c->view.dir);
        return e->code = BL_EFAIL;
    }
    steps.whole = steps.weight;
    if (!code)
        bl_meter_report(&steps, steps.whole);
    return code;
}
