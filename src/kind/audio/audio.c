/* The audio kind as a table of functions, and the header of the WAV files that are written from it.
 *
 * Nothing here needs FFmpeg: the functions called bl_audio_forward_* load the media module on their first call, so that
 * a command that decodes nothing starts without it. */
#include "kind/audio/audio.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "kind/audio/manifest_lines.h"
#include "kind/audio/options.h"
#include "kind/list.h"
#include "kind/media/module.h"

/* --- audio kind --------------------------------------------------------------------------------------------------- */

/* The endings of file names. Videos have sound, too, but they belong to the video kind unless --kind says otherwise. */
static const char *const extensions[] = {
    "wav",  "wave", "w64", "rf64", "aif", "aiff", "aifc", "au",   "snd",  "caf", "sph",  "flac", "mp3",
    "mp2",  "mpga", "m4a", "m4b",  "aac", "adts", "ogg",  "oga",  "opus", "spx", "wma",  "ac3",  "eac3",
    "dts",  "thd",  "amr", "awb",  "gsm", "ape",  "wv",   "tta",  "tak",  "mpc", "alac", "mka",  "weba",
    "voc",  "ra",   "mp4", "m4v",  "mov", "qt",   "mkv",  "webm", "avi",  "ts",  "mts",  "m2ts", "mpg",
    "mpeg", "vob",  "ogv", "ogm",  "flv", "wmv",  "asf",  "3gp",  "3g2",  "mxf", "nut",  NULL};

/* Reads the rate of steps per second, as num / den, from the identity that bl_audio_sampling writes, such as
 * "rate=16000 features=fbank80". A step is a sample, or a frame of features, of which one begins every rate / 100
 * samples, rounded down. */
static bool audio_sampling_rate(const char *sampling, int64_t *num, int64_t *den)
{
    size_t size = strncmp(sampling, "rate=", 5) == 0 ? strcspn(sampling + 5, " ") : 0;
    if (!size || !bl_text_to_int(sampling + 5, size, 1, INT32_MAX, num))
        return false;
    *den = strstr(sampling, " features=") ? *num / 100 : 1;
    return *den > 0;
}

/* Adds the names of the columns that counting fills, and of those that cuts.c fills for each line of a manifest. */
static void audio_columns(const void *config, bool manifests, struct bl_buffer *out)
{
    bl_audio_option_columns(config, out);
    if (manifests)
        bl_buffer_text(out, "\tstart\tduration\tchannel\ttext");
}

/* Returns whether a path names a manifest or list. Standard input is a manifest, too; the lists of
 * Kaldi's folders have names of their own. */
static bool audio_is_list(const char *path)
{
    return strcmp(path, "-") == 0 || bl_list_has_name(path) || bl_list_is_kaldi(path);
}

static const struct bl_kind_lists audio_lists = {
    .is_list = audio_is_list,
    .names = bl_entry_names,
    .folder = {"wav.scp", "segments"}, /* of Kaldi's */
    .channels = true,
    .values = bl_manifest_values,
};

static const struct bl_total audio_totals[] = {BL_AUDIO_LEFT_TOTAL, BL_AUDIO_SILENT_TOTAL, {0}};

static const struct bl_kind_scan audio_scan = {
    .sampling = bl_audio_sampling,
    .totals = audio_totals,
    .rate = audio_sampling_rate,
    .columns = audio_columns,
    .lists = &audio_lists,
    .open = bl_audio_forward_open_counter,
    .count = bl_audio_forward_count,
};

static const struct bl_kind_read audio_read = {
    .memory = (int64_t)64 << 20,
    .fields = bl_audio_fields,
    .open = bl_audio_forward_open_reader,

    .describe = bl_audio_describe,
    .versions = bl_audio_forward_versions,
};

const struct bl_kind bl_kind_audio = {
    .name = "audio",
    .title = "Audio",
    .steps = "samples",
    .extensions = extensions,
    .decodes = bl_kind_decodes,
    .steps_of = bl_audio_steps,
    .options = {.table = bl_audio_options,
                .config_size = sizeof(struct bl_audio_config),
                .dtypes = bl_audio_dtypes,
                .has_streams = true,
                .has_zeros = true,
                .check = bl_audio_check,
                .check_dtype = bl_audio_check_dtype},
    .scan = &audio_scan,
    .read = &audio_read,
};

/* --- wave header -------------------------------------------------------------------------------------------------- */

/* The two codes of formats, from Microsoft's mmreg.h, and the bytes of the chunk "ds64" after its name and size. */
enum { FORMAT_PCM = 1, FORMAT_FLOAT = 3, DS64_SIZE = 28 };

/* Appends the lowest bytes of a number, the lowest one first. */
static void header_put(char *out, size_t *size, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        out[(*size)++] = (char)(number >> 8 * i & 0xff);
}

static void header_put_name(char *out, size_t *size, const char *name)
{
    memcpy(out + *size, name, 4);
    *size += 4;
}

int bl_wave_header_format(const struct bl_wave_header *h, char out[BL_WAVE_HEADER_MAX], size_t *size,
                          struct bl_error *e)
{
    *size = 0;
    if (h->dtype != BL_I16 && h->dtype != BL_F32)
        return bl_error_set(e, BL_EUSAGE, "samples of the type %s have no WAV file: I16 and F32 have",
                            bl_dtype_name(h->dtype));
    /* Within these bounds none of the products below overflows the member that it is written into. */
    if (h->channels < 1 || h->channels > UINT16_MAX / 4 || h->rate < 1 || h->rate > UINT32_MAX / 4 / h->channels ||
        h->samples > INT64_MAX / UINT16_MAX)
        return bl_error_set(e, BL_EUSAGE, "%" PRId64 " channels at %" PRId64 " Hz do not fit into a WAV file",
                            h->channels, h->rate);
    const int sample = (int)bl_dtype_size(h->dtype), is_float = h->dtype == BL_F32;
    const int format = is_float ? 18 : 16; /* bytes: formats other than PCM may have more members, and say how many */
    const uint64_t bytes = (uint64_t)(h->samples * h->channels * sample);
    /* The bytes after the first eight, with the chunk "fact", which samples other than PCM must have. */
    uint64_t all = 4 + 8 + (uint64_t)format + (is_float ? 12 : 0) + 8 + bytes;
    /* RF64 sets each 32-bit size to its maximum, and writes the true ones as 64-bit numbers into the chunk "ds64". */
    const int is_large = all > UINT32_MAX;
    header_put_name(out, size, is_large ? "RF64" : "RIFF");
    header_put(out, size, is_large ? UINT32_MAX : all, 4);
    header_put_name(out, size, "WAVE");
    if (is_large) {
        header_put_name(out, size, "ds64");
        header_put(out, size, DS64_SIZE, 4);
        header_put(out, size, all + 8 + DS64_SIZE, 8);
        header_put(out, size, bytes, 8);
        header_put(out, size, (uint64_t)h->samples, 8);
        header_put(out, size, 0, 4);
    }
    header_put_name(out, size, "fmt ");
    header_put(out, size, (uint64_t)format, 4);
    header_put(out, size, is_float ? FORMAT_FLOAT : FORMAT_PCM, 2);
    header_put(out, size, (uint64_t)h->channels, 2);
    header_put(out, size, (uint64_t)h->rate, 4);
    header_put(out, size, (uint64_t)(h->rate * h->channels * sample), 4);
    header_put(out, size, (uint64_t)(h->channels * sample), 2);
    header_put(out, size, (uint64_t)sample * 8, 2);
    if (is_float) {
        header_put(out, size, 0, 2);
        header_put_name(out, size, "fact");
        header_put(out, size, 4, 4);
        header_put(out, size, is_large ? UINT32_MAX : (uint64_t)h->samples, 4);
    }
    header_put_name(out, size, "data");
    header_put(out, size, is_large ? UINT32_MAX : bytes, 4);
    return BL_OK;
}
