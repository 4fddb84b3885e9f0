#include "kind/media/allowlist.h"

#include <libavcodec/avcodec.h>
#include <libavutil/avstring.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/mathematics.h>
#include <string.h>

/* --- usual decoders ----------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum AVCodecID id;
} codecs[] = {
    {"H.264", AV_CODEC_ID_H264},        {"HEVC", AV_CODEC_ID_HEVC},     {"AV1", AV_CODEC_ID_AV1},
    {"VP9", AV_CODEC_ID_VP9},           {"VP8", AV_CODEC_ID_VP8},       {"MPEG-4", AV_CODEC_ID_MPEG4},
    {"MPEG-2", AV_CODEC_ID_MPEG2VIDEO}, {"ProRes", AV_CODEC_ID_PRORES}, {"FFV1", AV_CODEC_ID_FFV1},
    {"MJPEG", AV_CODEC_ID_MJPEG},       {"PNG", AV_CODEC_ID_PNG},       {"AAC", AV_CODEC_ID_AAC},
    {"MP3", AV_CODEC_ID_MP3},           {"Opus", AV_CODEC_ID_OPUS},     {"Vorbis", AV_CODEC_ID_VORBIS},
    {"FLAC", AV_CODEC_ID_FLAC},         {"PCM", AV_CODEC_ID_PCM_S16LE},
};

/* FFmpeg's own decoder of AV1 only drives GPUs. */
static bool decoder_is_usable(const AVCodec *decoder)
{
    return decoder && bl_allowlist_has(bl_allowlist_decoders, decoder->name) &&
           !(decoder->id == AV_CODEC_ID_AV1 && strcmp(decoder->name, "av1") == 0);
}

bool bl_usual_decoder(int i, const char **codec, const char **decoder)
{
    if (i >= (int)(sizeof codecs / sizeof *codecs))
        return false;
    const AVCodec *found = avcodec_find_decoder(codecs[i].id); /* as the kinds do */
    *codec = codecs[i].name;
    *decoder = decoder_is_usable(found) ? found->name : NULL;
    return true;
}

/* --- allow-lists -------------------------------------------------------------------------------------------------- */

/* What has video and sound. */
#define BOTH "asf,avi,dhav,dv,flv,gxf,matroska,mov,mpeg,mpegts,mxf,nsv,nut,ogg,rm,wtv"

#define VIDEO                                                                                                          \
    "h264,hevc,libdav1d,libaom-av1,av1,vp9,libvpx-vp9,vp8,libvpx,vp7,vp6,vp6a,vp6f,vp5,vp3,theora,mpeg4,mpeg2video,"   \
    "mpeg1video,mpegvideo,h263,h263i,h263p,h261,msmpeg4v1,msmpeg4v2,msmpeg4,wmv1,wmv2,wmv3,vc1,mss1,mss2,flv,flashsv," \
    "flashsv2,rv10,rv20,rv30,rv40,svq1,svq3,cinepak,indeo2,indeo3,indeo4,indeo5,cavs,dirac,snow,amv,mjpeg,mjpegb,"     \
    "sp5x,jpeg2000,jpegls,png,apng,gif,bmp,tiff,prores,dnxhd,cfhd,hap,dvvideo,aic,speedhq,pixlet,ffv1,ffvhuff,"        \
    "huffyuv,hymt,utvideo,magicyuv,lagarith,fraps,zlib,mszh,qtrle,rpza,smc,8bps,msrle,msvideo1,camtasia,tscc2,zmbv,"   \
    "rawvideo,v210,v210x,v308,v408,v410,ayuv,y41p,yuv4,r210,r10k,012v"

#define AUDIO                                                                                                          \
    "aac,aac_latm,als,mp3float,mp3,mp3adufloat,mp3on4float,mp2float,mp2,mp1float,mp1,opus,libopus,vorbis,libvorbis,"   \
    "speex,libspeex,flac,alac,ape,wavpack,tta,tak,shorten,mpc7,mpc8,ac3,eac3,dca,truehd,mlp,wmav1,wmav2,wmapro,"       \
    "wmalossless,wmavoice,amrnb,amrwb,gsm,gsm_ms,libgsm,libgsm_ms,qcelp,evrc,ilbc,g722,g726,g726le,g723_1,g729,"       \
    "nellymoser,truespeech,cook,ralf,real_144,real_288,sipr,atrac1,atrac3,atrac3al,atrac3plus,atrac3plusal,qdm2,"      \
    "qdmc,mace3,mace6,dvaudio,s302m,dsd_lsbf,dsd_lsbf_planar,dsd_msbf,dsd_msbf_planar,adpcm_ms,adpcm_ima_wav,"         \
    "adpcm_ima_qt,adpcm_ima_amv,adpcm_swf,adpcm_yamaha,adpcm_ct,adpcm_sbpro_2,adpcm_sbpro_3,adpcm_sbpro_4,pcm_alaw,"   \
    "pcm_mulaw,pcm_vidc,pcm_u8,pcm_s8,pcm_s8_planar,pcm_s16le,pcm_s16le_planar,pcm_s16be,pcm_s16be_planar,pcm_u16le,"  \
    "pcm_u16be,pcm_s24le,pcm_s24le_planar,pcm_s24be,pcm_u24le,pcm_u24be,pcm_s32le,pcm_s32le_planar,pcm_s32be,"         \
    "pcm_u32le,pcm_u32be,pcm_s64le,pcm_s64be,pcm_f16le,pcm_f24le,pcm_f32le,pcm_f32be,pcm_f64le,pcm_f64be,pcm_bluray,"  \
    "pcm_dvd,pcm_s24daud"

const struct bl_allowlist bl_allowlist_video = {
    .containers =
        BOTH ",apng,av1,cavsvideo,dirac,dnxhd,gif,h261,h263,h264,hevc,ivf,m4v,mjpeg,mpegvideo,obu,png_pipe,vc1,"
             "vc1test,yuv4mpegpipe",
    .decoders = VIDEO,
};

const struct bl_allowlist bl_allowlist_audio = {
    .containers = BOTH ",aac,ac3,aiff,amr,amrnb,amrwb,ape,au,caf,dsf,dts,dtshd,eac3,flac,gsm,ircam,loas,mlp,mp3,mpc,"
                       "mpc8,nistsphere,sox,shn,tak,truehd,tta,voc,w64,wav,wv",
    .decoders = AUDIO,
};

const char *const bl_allowlist_decoders = VIDEO "," AUDIO;

bool bl_allowlist_has(const char *list, const char *name)
{
    return av_match_list(name, list, ',') > 0;
}

/* --- formats of WAV files ----------------------------------------------------------------------------------------- */

#define CHUNKS_MAX 1000

enum { TAG_PCM = 1, TAG_FLOAT = 3, TAG_G721 = 0x40, TAG_EXTENSIBLE = 0xfffe };

/* The kinds of WAV file, by their first four bytes. */
static const char wave_ids[][5] = {"RIFF", "RIFX", "RF64", "BW64"};

/* Whether the file is a WAV file, of any of the kinds. */
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
        /* Other containers have no header of a WAV file: there the parameters show larger samples than their valid
         * bits. */
        bool wide = codec_sample_bytes(c) > (c->bits_per_coded_sample + 7) / 8 &&
                    c->bit_rate == (int64_t)c->block_align * 8 * c->sample_rate;
        if (samples && (wave ? extensible : wide))
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
