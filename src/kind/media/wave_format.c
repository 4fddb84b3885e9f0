#include "kind/media/wave_format.h"

#include <libavutil/intreadwrite.h>
#include <libavutil/mathematics.h>
#include <string.h>

#define CHUNKS_MAX 1000

enum { TAG_PCM = 1, TAG_FLOAT = 3, TAG_G721 = 0x40, TAG_EXTENSIBLE = 0xfffe };

/* The kinds of WAV file, by their first four bytes. */
static const char wave_ids[][5] = {"RIFF", "RIFX", "RF64", "BW64"};

static bool file_is_wave(const struct bl_media_file *file)
{
    for (size_t i = 0; i < sizeof wave_ids / sizeof *wave_ids; i++) {
        if (memcmp(file->head, wave_ids[i], 4) == 0)
            return memcmp(file->head + 8, "WAVE", 4) == 0;
    }
    return false;
}

bool bl_wave_format_is_rifx(const struct bl_media_file *file)
{
    return file_is_wave(file) && file->head[3] == 'X';
}

/* Whether the WAV file's format is WAVEFORMATEXTENSIBLE, which has a number of valid bits. libavformat reads none in
 * RIFX. */
static bool wave_is_extensible(const struct bl_media_file *file)
{
    int64_t at = 12;
    uint8_t chunk[8], tag[2];
    for (int i = 0; i < CHUNKS_MAX && bl_media_file_read(file, chunk, sizeof chunk, at) == sizeof chunk; i++) {
        int64_t size = AV_RL32(chunk + 4);
        at += (int64_t)sizeof chunk;
        if (memcmp(chunk, "fmt ", 4) == 0)
            return bl_media_file_read(file, tag, sizeof tag, at) == sizeof tag && AV_RL16(tag) == TAG_EXTENSIBLE;
        at += size + (size & 1);
    }
    return false;
}

/* The codec of samples of so many bytes. */
static enum AVCodecID samples_codec(bool floats, int bytes, bool big)
{
    static const enum AVCodecID integer[9][2] = {[1] = {AV_CODEC_ID_PCM_U8, AV_CODEC_ID_PCM_U8},
                                                 [2] = {AV_CODEC_ID_PCM_S16LE, AV_CODEC_ID_PCM_S16BE},
                                                 [3] = {AV_CODEC_ID_PCM_S24LE, AV_CODEC_ID_PCM_S24BE},
                                                 [4] = {AV_CODEC_ID_PCM_S32LE, AV_CODEC_ID_PCM_S32BE},
                                                 [8] = {AV_CODEC_ID_PCM_S64LE, AV_CODEC_ID_PCM_S64BE}};
    static const enum AVCodecID real[9][2] = {
        [4] = {AV_CODEC_ID_PCM_F32LE, AV_CODEC_ID_PCM_F32BE}, [8] = {AV_CODEC_ID_PCM_F64LE, AV_CODEC_ID_PCM_F64BE}};
    return bytes < 1 || bytes > 8 ? AV_CODEC_ID_NONE : floats ? real[bytes][big] : integer[bytes][big];
}

/* The bytes of a sample by the block's size; 0: it is no multiple of the channels. */
static int codec_sample_bytes(const AVCodecParameters *c)
{
    int channels = c->ch_layout.nb_channels;
    return channels > 0 && c->block_align % channels == 0 ? c->block_align / channels : 0;
}

/* Without the file's own header: whether its members agree that samples are larger than their valid bits. */
static bool codec_has_wide_samples(const AVCodecParameters *c)
{
    return codec_sample_bytes(c) > (c->bits_per_coded_sample + 7) / 8 &&
           c->bit_rate == (int64_t)c->block_align * 8 * c->sample_rate;
}

/* wave: libavformat took the duration from the size of a sample. */
static void stream_set_codec(AVStream *stream, enum AVCodecID codec, bool wave)
{
    AVCodecParameters *c = stream->codecpar;
    int bits = av_get_bits_per_sample(codec), before = av_get_bits_per_sample(c->codec_id);
    if (codec == AV_CODEC_ID_NONE)
        return;
    if (wave && stream->duration > 0)
        stream->duration = av_rescale(stream->duration, before, bits);
    c->codec_id = codec;
    c->bits_per_coded_sample = bits;
}

int bl_wave_format_correct(const struct bl_media_file *file, AVFormatContext *format, struct bl_error *e)
{
    bool wave = file_is_wave(file), big = bl_wave_format_is_rifx(file);
    bool extensible = wave && !big && wave_is_extensible(file);
    for (unsigned i = 0; i < format->nb_streams; i++) {
        AVCodecParameters *c = format->streams[i]->codecpar;
        bool raw = c->codec_id < AV_CODEC_ID_ADPCM_IMA_QT; /* not AC-3 or DTS that was found among samples */
        bool floats = c->codec_tag == TAG_FLOAT, samples = raw && (floats || c->codec_tag == TAG_PCM);
        if (c->codec_type != AVMEDIA_TYPE_AUDIO || (!samples && !big))
            continue;
        if (samples && (wave ? extensible : codec_has_wide_samples(c)))
            stream_set_codec(format->streams[i], samples_codec(floats, codec_sample_bytes(c), false), wave);
        else if (samples && big)
            stream_set_codec(format->streams[i], samples_codec(floats, (c->bits_per_coded_sample + 7) / 8, true), wave);
        else if (big && c->codec_id != AV_CODEC_ID_PCM_ALAW && c->codec_id != AV_CODEC_ID_PCM_MULAW)
            return bl_error_set(e, BL_EDATA, "RIFX (big-endian WAV) with %s: convert it to WAV",
                                c->codec_id ? avcodec_get_name(c->codec_id) : "an unknown codec");
    }
    return BL_OK;
}

bool bl_wave_format_is_g721(const AVCodecParameters *codec)
{
    return codec->codec_id == AV_CODEC_ID_ADPCM_G726 && codec->codec_tag == TAG_G721;
}
