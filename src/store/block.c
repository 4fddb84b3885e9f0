#include "store/block.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

#include "base/output.h"

/* --- delta encoding ----------------------------------------------------------------------------------------------- */

typedef uint8_t bytes16 __attribute__((vector_size(16)));

/* Adds the other row, or subtracts it. Always inlined, so that neither has a branch in its loop. */
static inline __attribute__((always_inline)) void row_combine(uint8_t *row, const uint8_t *other, size_t n, bool add)
{
    bytes16 a, b;
    size_t i = 0;
    for (; i + sizeof a <= n; i += sizeof a) {
        memcpy(&a, row + i, sizeof a);
        memcpy(&b, other + i, sizeof b);
        a = add ? a + b : a - b;
        memcpy(row + i, &a, sizeof a);
    }
    for (; i < n; i++)
        row[i] = (uint8_t)(add ? row[i] + other[i] : row[i] - other[i]);
}

/* Along the row and the colours in one pass: the last pixel stays in registers. */
static void row_differences_rgb(uint8_t *pixel, size_t width)
{
    unsigned red = 0, green = 0, blue = 0;
    for (size_t x = 0; x < width; x++, pixel += 3) {
        unsigned r = pixel[0], g = pixel[1], b = pixel[2];
        pixel[0] = (uint8_t)(r - red);
        pixel[1] = (uint8_t)((g - green) - (r - red));
        pixel[2] = (uint8_t)((b - blue) - (g - green));
        red = r;
        green = g;
        blue = b;
    }
}

static void row_sums_rgb(uint8_t *pixel, size_t width)
{
    unsigned red = 0, green = 0, blue = 0;
    for (size_t x = 0; x < width; x++, pixel += 3) {
        red += pixel[0];
        green += pixel[1];
        blue += pixel[2];
        pixel[0] = (uint8_t)red;
        pixel[1] = (uint8_t)(red + green);
        pixel[2] = (uint8_t)(red + green + blue);
    }
}

static void row_differences_grey(uint8_t *pixel, size_t width)
{
    for (size_t x = width; x-- > 1;)
        pixel[x] = (uint8_t)(pixel[x] - pixel[x - 1]);
}

static void row_sums_grey(uint8_t *pixel, size_t width)
{
    for (size_t x = 1; x < width; x++)
        pixel[x] = (uint8_t)(pixel[x] + pixel[x - 1]);
}

/* From the last row up, since each row needs the original of the row above. */
void bl_delta_encode(uint8_t *data, size_t pictures, const int64_t shape[3])
{
    size_t height = (size_t)shape[0], width = (size_t)shape[1], row = width * (size_t)shape[2];
    for (size_t i = 0; i < pictures; i++, data += height * row) {
        for (size_t y = height; y-- > 0;) {
            if (y > 0)
                row_combine(data + y * row, data + (y - 1) * row, row, false);
            if (shape[2] == 1)
                row_differences_grey(data + y * row, width);
            else
                row_differences_rgb(data + y * row, width);
        }
    }
}

void bl_delta_decode(uint8_t *data, size_t pictures, const int64_t shape[3])
{
    size_t height = (size_t)shape[0], width = (size_t)shape[1], row = width * (size_t)shape[2];
    for (size_t i = 0; i < pictures; i++, data += height * row) {
        for (size_t y = 0; y < height; y++) {
            if (shape[2] == 1)
                row_sums_grey(data + y * row, width);
            else
                row_sums_rgb(data + y * row, width);
            if (y > 0)
                row_combine(data + y * row, data + (y - 1) * row, row, true);
        }
    }
}

/* --- JPEG --------------------------------------------------------------------------------------------------------- */

#define QUOTED(text) #text
#define IN_QUOTES(macro) QUOTED(macro)

/* An encoder or decoder is the library's handle, a void pointer, under a type of its own that is never defined: the two
 * cannot be confused. */

const char *bl_jpeg_version(void)
{
    return IN_QUOTES(TURBOJPEG_VERSION);
}

void bl_jpeg_forget_environment(void)
{
    static const char *const names[] = {"TJ_OPTIMIZE", "TJ_ARITHMETIC", "TJ_RESTART", "TJ_PROGRESSIVE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
}

static bool shape_is_grey(const int64_t shape[3])
{
    return shape[2] == 1;
}

static enum TJPF shape_format(const int64_t shape[3])
{
    return shape_is_grey(shape) ? TJPF_GRAY : TJPF_RGB;
}

static enum TJSAMP jpeg_sampling(const int64_t shape[3], const struct bl_encoding *encoding)
{
    if (shape_is_grey(shape))
        return TJSAMP_GRAY;
    return encoding->full_chroma ? TJSAMP_444 : TJSAMP_420;
}

size_t bl_jpeg_max_size(const int64_t shape[3], const struct bl_encoding *encoding)
{
    unsigned long size = tjBufSize((int)shape[1], (int)shape[0], jpeg_sampling(shape, encoding));
    return size == (unsigned long)-1 ? 0 : size;
}

/* --- encoding --------------------------------------------------------------------------------------------------- */

int bl_jpeg_encoder_open(struct bl_jpeg_encoder **out, struct bl_error *e)
{
    *out = tjInitCompress();
    return *out ? BL_OK : bl_error_memory(e);
}

void bl_jpeg_encoder_close(struct bl_jpeg_encoder *encoder)
{
    if (encoder)
        (void)tjDestroy(encoder);
}

int bl_jpeg_encode(struct bl_jpeg_encoder *encoder, const uint8_t *picture, const int64_t shape[3],
                   const struct bl_encoding *encoding, uint8_t *out, size_t *size, struct bl_error *e)
{
    unsigned long taken = bl_jpeg_max_size(shape, encoding);
    if (tjCompress2(encoder, picture, (int)shape[1], 0, (int)shape[0], shape_format(shape), &out, &taken,
                    jpeg_sampling(shape, encoding), encoding->quality, TJFLAG_NOREALLOC | TJFLAG_ACCURATEDCT) != 0)
        return bl_error_set(e, BL_EFAIL, "libjpeg-turbo cannot encode a picture: %s", tjGetErrorStr2(encoder));
    *size = taken;
    return BL_OK;
}

/* --- decoding --------------------------------------------------------------------------------------------------- */

int bl_jpeg_decoder_open(struct bl_jpeg_decoder **out, struct bl_error *e)
{
    *out = tjInitDecompress();
    return *out ? BL_OK : bl_error_memory(e);
}

void bl_jpeg_decoder_close(struct bl_jpeg_decoder *decoder)
{
    if (decoder)
        (void)tjDestroy(decoder);
}

/* What the library reports is damage, unless it ran out of memory. */
static int jpeg_report_damage(struct bl_jpeg_decoder *decoder, struct bl_error *e)
{
    if (bl_error_memory_seen())
        return bl_error_memory(e);
    return bl_error_set(e, BL_EDATA, "not a JPEG file, or damaged: %s", tjGetErrorStr2(decoder));
}

int bl_jpeg_check(struct bl_jpeg_decoder *decoder, const uint8_t *file, size_t size, const int64_t shape[3],
                  struct bl_error *e)
{
    int w = 0, h = 0, sampling = 0, colours = 0;
    bl_error_memory_watch();
    if (tjDecompressHeader3(decoder, file, size, &w, &h, &sampling, &colours) != 0)
        return jpeg_report_damage(decoder, e);
    if (w != shape[1] || h != shape[0])
        return bl_error_set(e, BL_EDATA, "a JPEG file of %dx%d instead of %" PRId64 "x%" PRId64, w, h, shape[1],
                            shape[0]);
    if ((colours == TJCS_GRAY) != shape_is_grey(shape))
        return bl_error_set(e, BL_EDATA, "a JPEG file %s", colours == TJCS_GRAY ? "without colours" : "with colours");
    return BL_OK;
}

/* Warnings are damage too, since complete files were written. So is a file with thousands of scans, which would take
 * hours to decode. */
int bl_jpeg_decode(struct bl_jpeg_decoder *decoder, const uint8_t *file, size_t size, const int64_t shape[3],
                   uint8_t *picture, struct bl_error *e)
{
    int code = bl_jpeg_check(decoder, file, size, shape, e);
    if (code)
        return code;
    if (tjDecompress2(decoder, file, size, picture, (int)shape[1], 0, (int)shape[0], shape_format(shape),
                      TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) != 0)
        return jpeg_report_damage(decoder, e);
    return BL_OK;
}

/* --- codec -------------------------------------------------------------------------------------------------------- */

struct bl_codec {
    const struct bl_format *format;
    bool pad_repeat;
    struct bl_jpeg_encoder *jpeg;
    uint8_t *step; /* [T] enum bl_step */
    uint8_t *room; /* for the files of one block; pages that are not written to take no memory */
};

/* Cannot overflow: bl_format_check bounds it. */
size_t bl_codec_max_size(const struct bl_format *format, int f)
{
    return (size_t)format->T * bl_jpeg_max_size(format->fields.field[f].shape, &format->encoding[f]);
}

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

int bl_codec_open(const struct bl_format *format, bool pad_repeat, struct bl_codec **out, struct bl_error *e)
{
    struct bl_codec *codec = calloc(1, sizeof *codec);
    if (!codec)
        return bl_error_memory(e);
    codec->format = format;
    codec->pad_repeat = pad_repeat;
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

/* Every step is encoded on its own, so that a file depends on its picture alone. */
int bl_codec_encode_jpeg(struct bl_codec *codec, const struct bl_block *block, int f, int64_t *offsets,
                         const uint8_t **bytes, struct bl_error *e)
{
    const struct bl_format *format = codec->format;
    const int64_t *shape = format->fields.field[f].shape;
    size_t step_bytes = bl_field_step_bytes(&format->fields.field[f]), at = 0, size = 0;
    int code = BL_OK;
    bl_block_steps(block, format, codec->pad_repeat, codec->step);
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

void bl_codec_encode_delta(const struct bl_format *format, struct bl_block *block, int f)
{
    bl_delta_encode(block->field[f], (size_t)format->T, format->fields.field[f].shape);
}

/* --- block -------------------------------------------------------------------------------------------------------- */

#define ALIGN ((size_t)64)
#define PAGE ((size_t)BL_DIRECT_PAGE)

static size_t block_align(size_t size, size_t to)
{
    return (size + to - 1) / to * to;
}

/* Sizes cannot overflow: bl_format_check bounds a field's block, and S, and runs are short. */
static size_t block_run_memory(const struct bl_format *format, size_t blocks, bool with_fields)
{
    size_t S = (size_t)format->S;
    size_t size = block_align((S + 1) * sizeof(int32_t), ALIGN) + block_align(S * sizeof(int32_t), ALIGN) +
                  2 * block_align(S * sizeof(int64_t), ALIGN);
    size = PAGE + blocks * size;
    for (int f = 0; with_fields && f < format->fields.count; f++)
        size += PAGE + block_align(blocks * bl_format_block_bytes(format, f), PAGE);
    return size;
}

size_t bl_block_memory(const struct bl_format *format, bool with_fields)
{
    return block_run_memory(format, 1, with_fields);
}

size_t bl_block_run_memory(const struct bl_format *format, int blocks)
{
    return block_run_memory(format, (size_t)blocks, true);
}

static void *block_carve(uint8_t **at, size_t size)
{
    void *part = *at;
    *at += block_align(size, ALIGN);
    return part;
}

/* Divides memory of block_run_memory bytes among the arrays. */
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
    }
}

/* One allocation of zeros, which is not touched: the pages of a large block are allocated where a worker first writes.
 */
static int block_run_make(struct bl_block *block, size_t blocks, const struct bl_format *format, bool with_fields,
                          struct bl_error *e)
{
    memset(block, 0, blocks * sizeof *block);
    block->memory = calloc(1, block_run_memory(format, blocks, with_fields));
    if (!block->memory)
        return bl_error_memory(e);
    block_divide(block, blocks, format, with_fields, block->memory);
    return BL_OK;
}

int bl_block_make(struct bl_block *block, const struct bl_format *format, bool with_fields, struct bl_error *e)
{
    return block_run_make(block, 1, format, with_fields, e);
}

int bl_block_make_run(struct bl_block *block, int blocks, const struct bl_format *format, struct bl_error *e)
{
    return block_run_make(block, (size_t)blocks, format, true, e);
}

int bl_block_make_shared(struct bl_block *block, const struct bl_format *format, struct bl_error *e)
{
    *block = (struct bl_block){0};
    int code = bl_shared_memory_make(&block->shared, bl_block_memory(format, true), e);
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
}

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
        if (block->field[f])
            memset(block->field[f] + start * step, 0, steps * step);
    }
}

void bl_block_steps(const struct bl_block *block, const struct bl_format *format, bool repeat, uint8_t *out)
{
    memset(out, repeat ? BL_STEP_REPEAT : BL_STEP_EMPTY, (size_t)format->T);
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

void bl_block_attribute(const struct bl_block *block, const struct bl_format *format, int a, int64_t *out)
{
    const struct bl_attribute_values *values = block->values;
    for (int64_t i = 0; i < format->S; i++)
        out[i] = block->sequence[i] < 0 ? 0 : values->value[block->sequence[i] * values->count + a];
}
