#include "run/options.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

static const char *const pad_names[] = {"zero", "repeat", NULL};
static const char *const on_error_names[] = {"skip", "fail", NULL};
const char *const bl_simd_names[] = {"auto", "none", "sse2", "avx2", "neon", NULL};

/* none, zstd or zstd:LEVEL. 3 is zstd's own default. */
static bool parse_compress(const struct bl_option *option, const char *text, void *value)
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

static void format_compress(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    const struct bl_compress *compress = value;
    if (compress->on)
        bl_buffer_printf(out, "zstd:%d", compress->level);
    else
        bl_buffer_text(out, "none");
}

/* As bl_encoding_parse, but that what is not encoded is none. */
static bool parse_encode(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    return strcmp(text, "raw") != 0 && bl_encoding_parse(strcmp(text, "none") == 0 ? "raw" : text, value);
}

static void format_encode(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    const struct bl_encoding *encoding = value;
    char name[BL_ENCODING_NAME_MAX];
    bl_buffer_text(out, encoding->kind == BL_ENCODING_RAW ? "none" : bl_encoding_name(encoding, name));
}

/* N, or P% */
static bool parse_tolerance(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    struct bl_tolerance *tolerance = value;
    size_t size = strlen(text);
    tolerance->set = true;
    tolerance->percent = size > 1 && text[size - 1] == '%';
    return bl_text_to_int(text, size - tolerance->percent, 0, tolerance->percent ? 100 : INT64_MAX, &tolerance->value);
}

static void format_tolerance(const struct bl_option *option, const void *value, struct bl_buffer *out)
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

static const struct bl_option_type compress_type = {"none|zstd[:LEVEL]", parse_compress, format_compress,
                                                    "none, zstd or zstd:1 to zstd:22"};
static const struct bl_option_type encode_type = {"none|jpeg[:QUALITY]|delta", parse_encode, format_encode,
                                                  "none, jpeg, jpeg:1 to jpeg:100, or delta"};
static const struct bl_option_type tolerance_type = {"N|P%", parse_tolerance, format_tolerance,
                                                     "a number of inputs, or a share of them such as 5%"};

#define AT(member) offsetof(struct bl_pack_options, member)

const struct bl_option bl_pack_option_table[] = {
    {.name = "output",
     .letter = 'o',
     .type = &bl_option_string,
     .placeholder = "DIR",
     .offset = AT(output),
     .help = "the dataset's directory; must be given"},
    {.name = "parents",
     .type = &bl_option_flag,
     .offset = AT(parents),
     .help = "make directories above it, too: else one that is missing is taken for a mistake"},
    {.name = "sequences",
     .type = &bl_option_string,
     .placeholder = "FILE",
     .offset = AT(sequences),
     .help = "the table of an earlier bload scan, instead of sources"},
    {.name = "plan",
     .type = &bl_option_string,
     .placeholder = "FILE",
     .offset = AT(plan),
     .help = "the plan of an earlier bload plan of that table"},
    {.name = "group-by",
     .type = &bl_option_string,
     .placeholder = "COLUMN",
     .affects = BL_AFFECTS_PLAN,
     .offset = AT(group_by),
     .help = "sequences with different values in this column of their table never share a block"},
    {.name = "shard-size",
     .type = &bl_option_bytes,
     .min = 1,
     .initial = "256M",
     .affects = BL_AFFECTS_BYTES,
     .offset = AT(shard_size),
     .help = "bytes per shard before compression; at least one block goes into each"},
    {.name = "compress",
     .type = &compress_type,
     .initial = "none",
     .affects = BL_AFFECTS_BYTES,
     .offset = AT(compress),
     .help = "plain safetensors, or each shard as seekable zstd"},
    {.name = "encode",
     .type = &encode_type,
     .initial = "none",
     .affects = BL_AFFECTS_BYTES,
     .offset = AT(encode),
     .help = "frames as they are, as JPEG files, or as differences that compress better (delta, with --compress zstd)"},
    {.name = "pad",
     .type = &bl_option_choice,
     .choices = pad_names,
     .initial = "zero",
     .affects = BL_AFFECTS_BYTES,
     .offset = AT(pad),
     .help = "what fills the end of a block: zeros, or its last entry"},
    {.name = "segment-ids",
     .type = &bl_option_flag,
     .affects = BL_AFFECTS_BYTES,
     .offset = AT(segment_ids),
     .help = "add segment_ids I32 [n,T]: 1, 2, ... per sequence, 0 = padding"},
    {.name = "simd",
     .type = &bl_option_choice,
     .choices = bl_simd_names,
     .initial = "auto",
     .affects = BL_AFFECTS_BYTES,
     .offset = AT(simd),
     .help = "the instruction set that decoders and scaler are held to (it decides bytes; auto: the best here)"},
    {.name = "memory",
     .type = &bl_option_bytes,
     .min = 1,
     .offset = AT(memory),
     .help = "use at most so much; refused up front if it cannot do"},
    {.name = "on-error",
     .type = &bl_option_choice,
     .choices = on_error_names,
     .initial = "skip",
     .offset = AT(on_error),
     .help = "an input of no use costs itself, or stops the run"},
    {.name = "max-failed",
     .type = &tolerance_type,
     .offset = AT(max_failed),
     .only = "on-error=skip",
     .help = "stop when more inputs than that are of no use"},
    {0},
};
