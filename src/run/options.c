#include "run/options.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "store/seekable.h"

/* The names of simd, "auto" first, ended by NULL. */
extern const char *const bl_simd_names[];

/* --- options ------------------------------------------------------------------------------------------------------ */

static const char *const pad_names[] = {"zero", "repeat", NULL};
static const char *const on_error_names[] = {"skip", "fail", NULL};
const char *const bl_simd_names[] = {"auto", "none", "sse2", "avx2", "neon", NULL};

/* Parses none, zstd or zstd:LEVEL. zstd's own default is 3. */
static bool compress_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    struct bl_compress *compress = value;
    int64_t level = 3;
    *compress = (struct bl_compress){false, 0};
    if (strcmp(text, "none") == 0)
        return true;
    if (strncmp(text, "zstd", 4) != 0 ||
        (text[4] && (text[4] != ':' || !bl_text_to_int(text + 5, strlen(text + 5), 1, 22, &level))))
        return false;
    *compress = (struct bl_compress){true, (int)level};
    return true;
}

static void compress_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    const struct bl_compress *compress = value;
    if (compress->on)
        bl_buffer_printf(out, "zstd:%d", compress->level);
    else
        bl_buffer_text(out, "none");
}

#define FRAME_SIZE_MIN ((int64_t)4 << 10) /* smaller frames hardly get smaller */

static bool frame_size_parse(const struct bl_option *option, const char *text, void *value)
{
    int64_t *size = value;
    (void)option;
    return bl_text_to_bytes(text, size) && *size >= FRAME_SIZE_MIN && *size <= (int64_t)BL_FRAME_MAX;
}

static void frame_size_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    int64_t size = *(const int64_t *)value;
    int shift = size % (1 << 20) == 0 ? 20 : size % (1 << 10) == 0 ? 10 : 0;
    (void)option;
    bl_buffer_printf(out, "%" PRId64 "%s", size >> shift, shift == 20 ? "M" : shift == 10 ? "K" : "");
}

/* As bl_encoding_parse, but "none" means unencoded. */
static bool encode_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    return strcmp(text, "raw") != 0 && bl_encoding_parse(strcmp(text, "none") == 0 ? "raw" : text, value);
}

static void encode_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    const struct bl_encoding *encoding = value;
    char name[BL_ENCODING_NAME_MAX];
    bl_buffer_text(out, encoding->kind == BL_ENCODING_RAW ? "none" : bl_encoding_name(encoding, name));
}

/* Parses N, or P%. */
static bool tolerance_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    struct bl_tolerance *tolerance = value;
    size_t size = strlen(text);
    tolerance->set = true;
    tolerance->percent = size > 1 && text[size - 1] == '%';
    return bl_text_to_int(text, size - tolerance->percent, 0, tolerance->percent ? 100 : INT64_MAX, &tolerance->value);
}

static void tolerance_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    const struct bl_tolerance *tolerance = value;
    if (tolerance->set)
        bl_buffer_printf(out, "%" PRId64 "%s", tolerance->value, tolerance->percent ? "%" : "");
}

bool bl_tolerance_exceeded(const struct bl_tolerance *tolerance, int64_t failed, int64_t inputs)
{
    if (!tolerance->set)
        return false;
    return tolerance->percent ? (double)failed * 100 > (double)tolerance->value * (double)inputs
                              : failed > tolerance->value;
}

const struct bl_option_type bl_option_compress = {"none|zstd[:LEVEL]", compress_parse, compress_format,
                                                  "none, zstd or zstd:1 to zstd:22"};
static const struct bl_option_type frame_size_type = {"BYTES", frame_size_parse, frame_size_format,
                                                      "a number of bytes from 4K to 64M, such as 256K"};
static const struct bl_option_type encode_type = {"none|jpeg[:QUALITY[:444]]|delta", encode_parse, encode_format,
                                                  "none, jpeg, jpeg:1 to jpeg:100, jpeg:90:444, or delta"};
static const struct bl_option_type tolerance_type = {"N|P%", tolerance_parse, tolerance_format,
                                                     "a number of inputs, or a share of them such as 5%"};

const struct bl_option bl_pack_option_table[] = {
    BL_OPTION_STRING("output", struct bl_pack_options, output, BL_AFFECTS_NOTHING, "the dataset's directory; required",
                     .letter = 'o', .placeholder = "DIR"),
    BL_OPTION_FLAG("parents", struct bl_pack_options, parents, BL_AFFECTS_NOTHING,
                   "also make missing directories above it; without it they are an error"),
    BL_OPTION_STRING("sequences", struct bl_pack_options, sequences, BL_AFFECTS_NOTHING,
                     "the table of an earlier bload scan, instead of sources", .placeholder = "FILE"),
    BL_OPTION_STRING("plan", struct bl_pack_options, plan, BL_AFFECTS_NOTHING,
                     "the plan of an earlier bload plan of that table", .placeholder = "FILE"),
    BL_OPTION_STRING("group-by", struct bl_pack_options, group_by, BL_AFFECTS_PLAN,
                     "sequences with different values in this column of the table never share a block",
                     .placeholder = "COLUMN"),
    BL_OPTION_FLAG("store", struct bl_pack_options, store, BL_AFFECTS_NOTHING,
                   "to be viewed, not trained on in epochs: --strategy store, and -T auto where it is not given"),
    BL_OPTION_BYTES("shard-size", struct bl_pack_options, shard_size, BL_AFFECTS_BYTES,
                    "bytes per shard before compression; at least one block goes into each", .initial = "256M",
                    .min = 1),
    BL_OPTION_CUSTOM("compress", &bl_option_compress, struct bl_compress, struct bl_pack_options, compress,
                     BL_AFFECTS_BYTES, "plain safetensors, or each shard as seekable zstd", .initial = "none"),
    BL_OPTION_CUSTOM("frame-size", &frame_size_type, int64_t, struct bl_pack_options, frame_size, BL_AFFECTS_BYTES,
                     "with --compress zstd, compress at most this many bytes together: less is decompressed for a part "
                     "of a block",
                     .initial = "64M", .unlisted = true),
    BL_OPTION_CUSTOM(
        "encode", &encode_type, struct bl_encoding, struct bl_pack_options, encode, BL_AFFECTS_BYTES,
        "frames as they are, as JPEG files, or as differences that compress better (delta, with --compress zstd)",
        .initial = "none"),
    BL_OPTION_CHOICE("pad", struct bl_pack_options, pad, pad_names, BL_AFFECTS_BYTES,
                     "fill the end of a block with zeros, or with its last entry", .initial = "zero"),
    BL_OPTION_FLAG("segment-ids", struct bl_pack_options, segment_ids, BL_AFFECTS_BYTES,
                   "add segment_ids I32 [n,T]: 1, 2, ... per sequence, 0 = padding"),
    BL_OPTION_INT("sequence-slots", struct bl_pack_options, sequence_slots, BL_AFFECTS_BYTES, BL_SEQUENCE_SLOTS_HELP,
                  .min = 1, .max = BL_T_MAX - 1, .unlisted = true),
    BL_OPTION_CHOICE("simd", struct bl_pack_options, simd, bl_simd_names, BL_AFFECTS_BYTES,
                     "instruction set of decoders and scaler, which decides bytes; auto: the best of this machine",
                     .initial = "auto"),
    BL_OPTION_BYTES("memory", struct bl_pack_options, memory, BL_AFFECTS_NOTHING,
                    "memory limit; a run that needs more is refused at the start", .min = 1),
    BL_OPTION_CHOICE("on-error", struct bl_pack_options, on_error, on_error_names, BL_AFFECTS_NOTHING,
                     "skip unusable inputs, or end the run at the first", .initial = "skip"),
    BL_OPTION_CUSTOM("max-failed", &tolerance_type, struct bl_tolerance, struct bl_pack_options, max_failed,
                     BL_AFFECTS_NOTHING, "end the run when more inputs than this are unusable",
                     .only = "on-error=skip"),
    {0},
};

/* --- pack params -------------------------------------------------------------------------------------------------- */

/* The parameters of packing: what goes into which shards, and with which options. */

void bl_pack_params_block_range(const struct bl_pack_params *pack, int64_t *begin, int64_t *end)
{
    *begin = bl_format_first_block(pack->format, pack->shard_begin);
    *end = bl_format_first_block(pack->format, pack->shard_end);
    *end = *end < pack->format->blocks ? *end : pack->format->blocks;
    *begin = *begin < *end ? *begin : *end;
}

int bl_pack_params_find_shard(const struct bl_pack_params *pack, int64_t shard, struct bl_shard_record *record,
                              bool *found, struct bl_error *e)
{
    if (!pack->missing || !pack->missing->is_missing)
        return bl_shard_find(pack->format, pack->dir, shard, record, found, e);
    *record = (struct bl_shard_record){.shard = shard,
                                       .first_block = bl_format_first_block(pack->format, shard),
                                       .blocks = bl_format_blocks_of(pack->format, shard)};
    *found = !pack->missing->is_missing[shard];
    return BL_OK;
}
