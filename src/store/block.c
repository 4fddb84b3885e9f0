/* Blocks in memory: their allocation, their tables, and the encoding of their JPEG fields. */
#include "store/block.h"

#include <stdlib.h>
#include <string.h>

#include "base/output.h"

/* --- codec -------------------------------------------------------------------------------------------------------- */

struct bl_codec {
    const struct bl_format *format;
    struct bl_jpeg_encoder *jpeg;
    uint8_t *step; /* [T] enum bl_step */
    uint8_t *room; /* the files of one block, of the maximum size; pages that are never written take no memory */
};

/* The product cannot overflow: bl_format_check limits it. */
size_t bl_codec_max_size(const struct bl_format *format, int f)
{
    return (size_t)format->T * bl_jpeg_max_size(format->fields.field[f].shape, &format->encoding[f]);
}

/* Returns the maximum size of the files of one block over all JPEG fields: the fields share one buffer. */
static size_t codec_capacity(const struct bl_format *format)
{
    size_t room = 0;
    for (int f = 0; f < format->fields.count; f++) {
        size_t most = format->encoding[f].kind == BL_ENCODING_JPEG ? bl_codec_max_size(format, f) : 0;
        room = most > room ? most : room;
    }
    return room;
}

size_t bl_codec_memory(const struct bl_format *format)
{
    return bl_format_encodes(format, BL_ENCODING_JPEG) ? codec_capacity(format) + (size_t)format->T : 0;
}

int bl_codec_open(const struct bl_format *format, struct bl_codec **out, struct bl_error *e)
{
    struct bl_codec *codec = calloc(1, sizeof *codec);
    if (!codec)
        return bl_error_memory(e);
    codec->format = format;
    int code = BL_OK;
    if (bl_format_encodes(format, BL_ENCODING_JPEG)) {
        codec->step = malloc((size_t)format->T);
        codec->room = malloc(codec_capacity(format));
        code = codec->step && codec->room ? bl_jpeg_encoder_open(&codec->jpeg, e) : bl_error_memory(e);
    }
    if (code)
        bl_codec_close(codec);
    else
        *out = codec;
    return code;
}

void bl_codec_close(struct bl_codec *codec)
{
    if (!codec)
        return;
    bl_jpeg_encoder_close(codec->jpeg);
    free(codec->step);
    free(codec->room);
    free(codec);
}

/* Every step is encoded alone, so that a file depends only on its picture. A step that repeats the one before gets a
 * copy of its file, and an empty step gets no bytes. */
int bl_codec_encode_jpeg(struct bl_codec *codec, const struct bl_block *block, int f, int64_t *offsets,
                         const uint8_t **bytes, struct bl_error *e)
{
    const struct bl_format *format = codec->format;
    const int64_t *shape = format->fields.field[f].shape;
    size_t step_bytes = bl_field_step_bytes(&format->fields.field[f]), at = 0, size = 0;
    int code = BL_OK;
    bl_block_steps(block, format, codec->step);
    /* size stays that of the file before: a step that repeats copies it. */
    for (int64_t t = 0; t < format->T && !code; t++) {
        offsets[t] = (int64_t)at;
        if (codec->step[t] == BL_STEP_OWN)
            code = bl_jpeg_encode(codec->jpeg, block->field[f] + (size_t)t * step_bytes, shape, &format->encoding[f],
                                  codec->room + at, &size, e);
        else if (codec->step[t] == BL_STEP_EMPTY)
            size = 0;
        else
            memcpy(codec->room + at, codec->room + at - size, size);
        at += size;
    }
    offsets[format->T] = (int64_t)at;
    *bytes = codec->room;
    return code;
}

int64_t bl_codec_check_offsets(const struct bl_format *format, const int64_t *offsets, int64_t bytes)
{
    for (int64_t t = 0; t < format->T; t++) {
        if (offsets[t] < 0 || offsets[t] > offsets[t + 1] || offsets[t + 1] > bytes)
            return t;
    }
    return -1;
}

/* --- block -------------------------------------------------------------------------------------------------------- */

#define ALIGN ((size_t)64)            /* of each array: a cache line, and more than any element needs */
#define PAGE ((size_t)BL_DIRECT_PAGE) /* of each field: direct I/O transfers pages */

/* Returns size rounded up to a multiple of `to`. */
static size_t block_align(size_t size, size_t to)
{
    return (size + to - 1) / to * to;
}

/* The sizes cannot overflow: bl_format_check limits the bytes of a field's block and S, and `blocks` is small. Each
 * field has a spare page, within which bl_block_place moves it. */
size_t bl_block_memory(const struct bl_format *format, size_t blocks, bool with_fields)
{
    size_t S = (size_t)format->S;
    size_t size = block_align((S + 1) * sizeof(int32_t), ALIGN) + block_align(S * sizeof(int32_t), ALIGN) +
                  2 * block_align(S * sizeof(int64_t), ALIGN);
    size += (size_t)bl_fields_count_own(&format->fields) * block_align((S + 1) * sizeof(int32_t), ALIGN);
    size = PAGE + blocks * size;
    for (int f = 0; with_fields && f < format->fields.count; f++)
        size += PAGE + block_align(blocks * bl_format_block_bytes(format, f), PAGE);
    return size;
}

/* Takes size bytes from the memory at *at, and advances *at to the next aligned address. */
static void *block_carve(uint8_t **at, size_t size)
{
    void *part = *at;
    *at += block_align(size, ALIGN);
    return part;
}

/* Divides an allocation of bl_block_memory bytes among the arrays of the blocks. Fields come first, from the first page
 * boundary on. */
static void block_divide(struct bl_block *block, size_t blocks, const struct bl_format *format, bool with_fields,
                         uint8_t *memory)
{
    size_t S = (size_t)format->S;
    uint8_t *at = memory + (PAGE - (uintptr_t)memory % PAGE) % PAGE;
    for (int f = 0; with_fields && f < format->fields.count; f++) {
        size_t bytes = bl_format_block_bytes(format, f);
        uint8_t *field = block_carve(&at, PAGE + block_align(blocks * bytes, PAGE));
        for (size_t b = 0; b < blocks; b++)
            block[b].field[f] = block[b].room[f] = field + b * bytes;
    }
    for (size_t b = 0; b < blocks; b++) {
        block[b].cu_seqlens = block_carve(&at, (S + 1) * sizeof(int32_t));
        block[b].length = block_carve(&at, S * sizeof(int32_t));
        block[b].sequence = block_carve(&at, S * sizeof(int64_t));
        block[b].source_start = block_carve(&at, S * sizeof(int64_t));
        for (int f = 0; f < format->fields.count; f++)
            block[b].own[f] = format->fields.field[f].own ? block_carve(&at, (S + 1) * sizeof(int32_t)) : NULL;
    }
}

/* calloc does not write to a large allocation, so that the system allocates each page only when a worker first writes
 * to it. */
int bl_block_make(struct bl_block *block, size_t blocks, const struct bl_format *format, bool with_fields,
                  struct bl_error *e)
{
    memset(block, 0, blocks * sizeof *block);
    block->memory = calloc(1, bl_block_memory(format, blocks, with_fields));
    if (!block->memory)
        return bl_error_memory(e);
    block_divide(block, blocks, format, with_fields, block->memory);
    return BL_OK;
}

int bl_block_make_shared(struct bl_block *block, const struct bl_format *format, struct bl_error *e)
{
    *block = (struct bl_block){0};
    int code = bl_shared_memory_make(&block->shared, bl_block_memory(format, 1, true), e);
    if (!code)
        block_divide(block, 1, format, true, block->shared.data);
    return code;
}

void bl_block_free(struct bl_block *block)
{
    free(block->memory);
    bl_shared_memory_free(&block->shared);
    *block = (struct bl_block){0};
}

/* A failed sequence has length 0 but keeps its steps between cu_seqlens[i] and cu_seqlens[i + 1]. Places that are not
 * used repeat the end of the last piece, so that their pieces are empty. */
void bl_block_plan(struct bl_block *block, const struct bl_format *format, const struct bl_plan *plan,
                   const int64_t *length, int64_t b)
{
    size_t first = (size_t)plan->block_ptr[b], end = (size_t)plan->block_ptr[b + 1];
    int64_t start = 0, stop = 0; /* start of this piece; end of the one before */
    int32_t count = (int32_t)(end - first);
    block->index = b;
    block->num_sequences = count;
    for (int32_t i = 0; i < format->S; i++) {
        size_t p = first + (size_t)i;
        bool used = i < count;
        block->cu_seqlens[i] = (int32_t)(used ? start : stop);
        block->sequence[i] = used ? (int64_t)plan->sequence[p] : -1;
        block->length[i] = used ? (int32_t)bl_plan_piece_length(plan, length, p) : 0;
        block->source_start[i] = used && plan->source_start ? plan->source_start[p] : 0;
        stop = used ? start + block->length[i] : stop;
        start = bl_plan_next_start(plan, start, block->length[i]);
    }
    block->cu_seqlens[format->S] = (int32_t)stop;
    for (int f = 0, own = 0; f < format->fields.count; f++) {
        if (!format->fields.field[f].own)
            continue;
        int32_t *start_of = block->own[f];
        start_of[0] = 0;
        for (int32_t i = 0; i < format->S; i++) {
            int64_t steps = i < count ? bl_plan_own_length(plan, own, first + (size_t)i) : 0;
            start_of[i + 1] = start_of[i] + (int32_t)steps;
        }
        own++;
    }
}

/* cu_seqlens must not decrease and must stay within T, and a piece must fit between its boundaries: then no loop over
 * steps of pieces leaves the block. */
bool bl_block_tables_are_sound(const struct bl_block *block, const struct bl_format *format)
{
    if (block->num_sequences < 0 || block->num_sequences > format->S || block->cu_seqlens[0] != 0 ||
        block->cu_seqlens[format->S] > format->T)
        return false;
    for (int64_t i = 0; i < format->S; i++) {
        if (block->cu_seqlens[i] > block->cu_seqlens[i + 1] || block->sequence[i] < -1 || block->length[i] < 0 ||
            block->length[i] > block->cu_seqlens[i + 1] - block->cu_seqlens[i])
            return false;
    }
    for (int f = 0; f < format->fields.count; f++) {
        const int32_t *start = block->own[f];
        if (!start)
            continue;
        if (start[0] != 0 || start[format->S] > format->fields.field[f].capacity)
            return false;
        for (int64_t i = 0; i < format->S; i++) {
            if (start[i] > start[i + 1] || (i >= block->num_sequences && start[i] != start[i + 1]))
                return false;
        }
    }
    return true;
}

void bl_block_place(struct bl_block *block, int f, int64_t offset)
{
    block->field[f] = block->room[f] + (size_t)((uint64_t)offset % PAGE);
}

void bl_block_fail(struct bl_block *block, const struct bl_format *format, int i)
{
    size_t start = (size_t)block->cu_seqlens[i], steps = (size_t)block->cu_seqlens[i + 1] - start;
    block->sequence[i] = -1;
    block->length[i] = 0;
    block->source_start[i] = 0;
    for (int f = 0; f < format->fields.count; f++) {
        size_t step = bl_field_step_bytes(&format->fields.field[f]);
        const int32_t *own = block->own[f];
        if (block->field[f] && own)
            memset(block->field[f] + (size_t)own[i] * step, 0, (size_t)(own[i + 1] - own[i]) * step);
        else if (block->field[f])
            memset(block->field[f] + start * step, 0, steps * step);
    }
}

void bl_block_steps(const struct bl_block *block, const struct bl_format *format, uint8_t *out)
{
    memset(out, format->pad_repeat ? BL_STEP_REPEAT : BL_STEP_EMPTY, (size_t)format->T);
    /* A block without pieces has no step to repeat. */
    if (block->cu_seqlens[block->num_sequences] == 0)
        memset(out, BL_STEP_EMPTY, (size_t)format->T);
    for (int32_t i = 0; i < block->num_sequences; i++) {
        int32_t start = block->cu_seqlens[i], end = block->cu_seqlens[i + 1];
        if (block->length[i] > 0)
            memset(out + start, BL_STEP_OWN, (size_t)block->length[i]);
        else
            memset(out + start, BL_STEP_EMPTY, (size_t)(end - start));
    }
}

void bl_block_segment_ids(const struct bl_block *block, const struct bl_format *format, int32_t *out)
{
    memset(out, 0, (size_t)format->T * sizeof *out);
    for (int32_t i = 0; i < block->num_sequences; i++) {
        for (int32_t t = 0; t < block->length[i]; t++) /* no steps if it failed */
            out[block->cu_seqlens[i] + t] = i + 1;
    }
}

/* Copies cu_seqlens to out, [S + 1], with the end of the last piece aligned. T is a multiple of the alignment; the
 * sample of a forecast may have a smaller T. */
static void block_pad_seqlens(const struct bl_block *block, const struct bl_format *format, int32_t *out)
{
    int64_t end = block->cu_seqlens[format->S], to = format->padded_to;
    int64_t padded = (end + to - 1) / to * to;
    memcpy(out, block->cu_seqlens, ((size_t)format->S + 1) * sizeof *out);
    for (int64_t i = block->num_sequences; i <= format->S; i++)
        out[i] = (int32_t)(padded < format->T ? padded : format->T);
}

void bl_block_copy_table(const struct bl_block *block, const struct bl_format *format, int table, void *out)
{
    const void *const from[BL_TABLES] = {[BL_TABLE_CU_SEQLENS] = block->cu_seqlens,
                                         [BL_TABLE_NUM_SEQUENCES] = &block->num_sequences,
                                         [BL_TABLE_SEQUENCE] = block->sequence,
                                         [BL_TABLE_LENGTH] = block->length,
                                         [BL_TABLE_SOURCE_START] = block->source_start};
    const struct bl_attribute_values *values = block->values;
    if (table == BL_TABLE_SEGMENT_IDS)
        bl_block_segment_ids(block, format, out);
    else if (table == BL_TABLE_CU_SEQLENS_PADDED)
        block_pad_seqlens(block, format, out);
    else if (table >= BL_TABLE_OWN)
        memcpy(out, block->own[table - BL_TABLE_OWN], ((size_t)format->S + 1) * sizeof(int32_t));
    else if (table < BL_TABLES)
        memcpy(out, from[table],
               (size_t)bl_format_table_width(format, table) * bl_dtype_size(bl_format_table_dtype(format, table)));
    for (int64_t i = 0; table >= BL_TABLES && table < BL_TABLE_OWN && i < format->S; i++)
        ((int64_t *)out)[i] =
            block->sequence[i] < 0 ? 0 : values->value[block->sequence[i] * values->count + table - BL_TABLES];
}
