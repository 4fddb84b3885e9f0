#include "kind/media/demux.h"

#include <errno.h>
#include <inttypes.h>
#include <libavutil/log.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind/media/allowlist.h"
#include "kind/media/decoder_memory.h"
#include "kind/media/extent.h"
#include "kind/media/media_file.h"
#include "kind/reservation.h"

/* --- streams and packets ------------------------------------------------------------------------------------------ */

#define FLAC_HEADER 34           /* bytes of STREAMINFO */
#define WAVE_SEARCHED (16 << 10) /* bytes that are searched for DTS */
#define WAVE_PROBE 32            /* bytes; libavformat's minimum */
#define WAVE_FIRST 1024          /* bytes of the first packet; the demuxer's minimum */
#define WAVE_NEXT 4096           /* bytes of the other packets; the demuxer's default */

static int demux_interrupt(void *opaque)
{
    const struct bl_demux *d = opaque;
    return bl_cancelled(d->file.cancel);
}

/* Refuses to open the other files that a file refers to. */
static int demux_io_open(AVFormatContext *s, AVIOContext **pb, const char *url, int flags, AVDictionary **options)
{
    (void)s, (void)pb, (void)url, (void)flags, (void)options;
    return AVERROR(EPERM);
}

bool bl_demux_is_memory(int code)
{
    return code == AVERROR(ENOMEM) && bl_error_memory_seen();
}

int bl_demux_error(const struct bl_demux *d, int code, const char *what, struct bl_error *e)
{
    if (bl_cancelled(d->file.cancel))
        return bl_error_set(e, BL_ECANCEL, "cancelled");
    if (d->file.system_errno) {
        errno = d->file.system_errno;
        return bl_input_file_fail(d->file.path, "cannot be read", e);
    }
    if (bl_demux_is_memory(code))
        return bl_error_memory(e);
    if (code == AVERROR_INVALIDDATA || code == AVERROR(EINVAL))
        return bl_error_set(e, BL_EDATA, "%s", what);
    char text[AV_ERROR_MAX_STRING_SIZE];
    return bl_error_set(e, BL_EDATA, "%s (%s)", what, av_make_error_string(text, sizeof text, code));
}

/* Probing all demuxers takes longer than counting a small file, so common containers with a clear signature are
 * recognised here. */
static const AVInputFormat *format_sniff(const struct bl_demux *d)
{
    if (memcmp(d->file.head + 4, "ftyp", 4) == 0)
        return av_find_input_format("mov");
    if (memcmp(d->file.head, "\x1a\x45\xdf\xa3", 4) == 0)
        return av_find_input_format("matroska");
    if (memcmp(d->file.head, "RIFF", 4) == 0 && memcmp(d->file.head + 8, "WAVE", 4) == 0)
        return av_find_input_format("wav");
    if (memcmp(d->file.head, "fLaC", 4) == 0)
        return av_find_input_format("flac");
    return NULL;
}

/* FFmpeg takes concatenated JPEGs for a single picture; only the extension tells them apart. */
static const AVInputFormat *format_by_name(const char *path, const AVInputFormat *found)
{
    const AVInputFormat *mjpeg = av_find_input_format("mjpeg");
    return mjpeg && strcmp(found->name, "jpeg_pipe") == 0 && av_match_ext(path, "mjpeg,mjpg") ? mjpeg : found;
}

/* The containers and decoders that may be used: a file in another one is refused. */
static const struct bl_allowlist *allowlist_for(enum bl_demux_mode mode)
{
    return mode == BL_DEMUX_AUDIO ? &bl_allowlist_audio : &bl_allowlist_video;
}

/* An animation of one picture is a plain PNG file, which only its name tells from a picture. */
static bool format_is_still(const char *path, const AVInputFormat *found)
{
    return strcmp(found->name, "png_pipe") == 0 && !av_match_ext(path, "apng");
}

/* Refuses containers that are not on the list, before libavformat opens them. Pictures of HEIC and AVIF are refused by
 * the brand of their box ftyp: of them libav's MP4 demuxer gives some tiles, not turned, or nothing, by its version. */
static int format_check(struct bl_demux *d, const AVInputFormat *found, enum bl_demux_mode mode, struct bl_error *e)
{
    const struct bl_media_file *file = &d->file;
    const char *name = found->name, *path = file->path;
    size_t size = strlen(name);
    bool sound = mode == BL_DEMUX_AUDIO;
    static const char brands[][5] = {"avif", "heic", "heix", "heim", "heis", "mif1"};
    for (size_t i = 0; i < sizeof brands / sizeof *brands; i++) {
        if (memcmp(file->head + 4, "ftyp", 4) == 0 && memcmp(file->head + 8, brands[i], 4) == 0)
            return bl_error_set(e, BL_EDATA, "a picture, no video or sound (HEIC or AVIF)");
    }
    if (bl_allowlist_has(allowlist_for(mode)->containers, name) && !format_is_still(path, found))
        return BL_OK;
    if (!format_is_still(path, found) &&
        bl_allowlist_has((sound ? &bl_allowlist_video : &bl_allowlist_audio)->containers, name)) {
        d->stream_missing = true;
        return bl_error_set(e, BL_EDATA, sound ? "no audio stream (video only)" : "no video stream (audio only)");
    }
    if (strcmp(name, "image2") == 0 || (size > 5 && strcmp(name + size - 5, "_pipe") == 0))
        return bl_error_set(e, BL_EDATA, "a picture, no video or sound (%s)", found->long_name);
    return bl_error_set(e, BL_EDATA, "format %s is not read: see bload-media(7)", name);
}

/* Finds the demuxer by the first bytes of the file, or by probing all demuxers. d->recognised: the content shows the
 * format, not only the file's name. BL_EDATA: there is none. */
static int demux_find_format(struct bl_demux *d, const AVInputFormat **found, struct bl_error *e)
{
    *found = format_sniff(d);
    d->recognised = *found;
    if (*found)
        return 0;
    int code = av_probe_input_buffer2(d->file.io, found, d->file.path, NULL, 0, 0);
    if (code == AVERROR_INVALIDDATA || (code >= 0 && !*found))
        return bl_error_set(e, BL_EDATA, "not a media file that FFmpeg can read");
    if (code < 0)
        return bl_demux_error(d, code, "not a media file that FFmpeg can read", e);
    d->recognised = code > AVPROBE_SCORE_EXTENSION;
    *found = format_by_name(d->file.path, *found);
    return 0;
}

/* Whether one of the four words with which a frame of DTS begins (16 or 14 bits, either order of bytes) lies in the
 * first bytes. The loop tests all positions without branches, so that the compiler makes vectors of it. */
static bool wave_has_dts(const uint8_t *data)
{
    static const char words[4][5] = {"\x7f\xfe\x80\x01", "\xfe\x7f\x01\x80", "\x1f\xff\xe8\x00", "\xff\x1f\x00\xe8"};
    uint32_t word[4], found = 0;
    for (int w = 0; w < 4; w++)
        memcpy(&word[w], words[w], sizeof word[w]);
    for (int from = 0; from < 4; from++) {
        for (int i = 0; i < WAVE_SEARCHED; i += 4) {
            uint32_t at;
            memcpy(&at, data + from + i, sizeof at);
            found |= (at == word[0]) | (at == word[1]) | (at == word[2]) | (at == word[3]);
        }
    }
    return found;
}

/* libavformat searches the samples of a WAV file for other codecs with every demuxer that it has: 90 % of the work on a
 * short file. In practice only DTS occurs, which starts with one of four words. Without these words the search is
 * limited to the first packet, which is made short. */
static int wave_limit_probe(struct bl_demux *d, const AVInputFormat *input, AVDictionary **options, struct bl_error *e)
{
    uint8_t begin[WAVE_SEARCHED + 4] = {0};
    if (strcmp(input->name, "wav") != 0)
        return BL_OK;
    if (bl_media_file_read(&d->file, begin, WAVE_SEARCHED, 0) < 0)
        return bl_input_file_fail(d->file.path, "cannot be read", e);
    d->maybe_dts = wave_has_dts(begin);
    if (d->maybe_dts)
        return BL_OK;
    d->first_is_short = true;
    d->format->probesize = WAVE_PROBE;
    return av_dict_set_int(options, "max_size", WAVE_FIRST, 0) < 0 ? bl_error_memory(e) : BL_OK;
}

/* Makes a context that can read this file only: a demuxer that opens other files, or opens them through a demuxer of
 * its own (VobSub), gets neither this file's name nor a way to open any. */
static int demux_make_format(struct bl_demux *d, enum bl_demux_mode mode, struct bl_error *e)
{
    d->format = avformat_alloc_context();
    if (!d->format)
        return bl_error_memory(e);
    d->format->pb = d->file.io;
    d->format->flags |= AVFMT_FLAG_CUSTOM_IO; /* we free io, even if opening fails early */
    d->format->io_open = demux_io_open;
    d->format->interrupt_callback = (AVIOInterruptCB){demux_interrupt, d};
    d->format->protocol_whitelist = av_strdup("");
    d->format->format_whitelist = av_strdup(allowlist_for(mode)->containers);
    d->format->codec_whitelist = av_strdup(bl_allowlist_decoders);
    bool made = d->format->protocol_whitelist && d->format->format_whitelist && d->format->codec_whitelist;
    return made ? BL_OK : bl_error_memory(e);
}

/* Checks the memory of the index, which has an entry for every sample that the header claims, however short the file
 * is.
 */
static int demux_check_claims(const struct bl_demux *d, const AVInputFormat *input, struct bl_error *e)
{
    char what[64];
    int64_t samples = 0;
    if (strncmp(input->name, "mov,", 4) == 0)
        BL_TRY(bl_mov_claims_count(&d->file, &samples, e));
    snprintf(what, sizeof what, "an index of %" PRId64 " samples", samples);
    return bl_decoder_memory_check(what, samples * BL_MOV_CLAIM_BYTES, d->env->decoder_memory, e);
}

/* libav measures edits in ticks of the film, which are milliseconds in most files: where extents say all, it is not to
 * know of any. */
static int edits_ignore(struct bl_demux *d, const AVInputFormat *input, enum bl_demux_mode mode, AVDictionary **options,
                        struct bl_error *e)
{
    struct bl_extent none;
    if (mode != BL_DEMUX_AUDIO || strncmp(input->name, "mov,", 4) != 0)
        return BL_OK;
    BL_TRY(bl_extent_read_mov(&d->file, -1, &d->edits_ignored, &none, e));
    return d->edits_ignored && av_dict_set(options, "ignore_editlist", "1", 0) < 0 ? bl_error_memory(e) : BL_OK;
}

/* Opens the container. Attached pictures (covers) get another type, so that probing does not open decoders for them. */
static int demux_open_format(struct bl_demux *d, enum bl_demux_mode mode, struct bl_error *e)
{
    const AVInputFormat *input;
    AVDictionary *options = NULL;
    BL_TRY(demux_find_format(d, &input, e));
    BL_TRY(format_check(d, input, mode, e));
    BL_TRY(demux_check_claims(d, input, e));
    BL_TRY(demux_make_format(d, mode, e));
    int code = wave_limit_probe(d, input, &options, e);
    if (!code)
        code = edits_ignore(d, input, mode, &options, e);
    if (code) {
        av_dict_free(&options);
        return code;
    }
    code = avformat_open_input(&d->format, NULL, input, &options);
    av_dict_free(&options);
    for (unsigned i = 0; code >= 0 && i < d->format->nb_streams; i++) {
        AVStream *stream = d->format->streams[i];
        if (stream->disposition & AV_DISPOSITION_ATTACHED_PIC) {
            stream->codecpar->codec_type = AVMEDIA_TYPE_ATTACHMENT;
            stream->discard = AVDISCARD_ALL;
        }
    }
    if (code >= 0)
        return mode == BL_DEMUX_AUDIO ? bl_wave_format_correct(&d->file, d->format, e) : BL_OK;
    char what[128] = "not a media file that FFmpeg can read";
    if (code == AVERROR_PATCHWELCOME && bl_wave_format_is_rifx(&d->file))
        return bl_error_set(e, BL_EDATA, "RIFX (big-endian WAV) with more than a plain header: convert it to WAV");
    if (d->recognised)
        snprintf(what, sizeof what, "damaged or truncated: the %s header cannot be read", input->long_name);
    return bl_demux_error(d, code, what, e);
}

static bool stream_is_wanted(const AVStream *stream, enum bl_demux_mode mode)
{
    if (mode == BL_DEMUX_AUDIO)
        return stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
    return stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO && !(stream->disposition & AV_DISPOSITION_ATTACHED_PIC);
}

/* Returns how many streams have the wanted type. *first: the first of them, if there is one. */
static int streams_count_wanted(const AVFormatContext *format, enum bl_demux_mode mode, unsigned *first)
{
    int count = 0;
    for (unsigned i = format->nb_streams; i-- > 0;) {
        if (stream_is_wanted(format->streams[i], mode)) {
            *first = i;
            count++;
        }
    }
    return count;
}

/* Decoders of these codecs output every frame at once, or know their delay from the first packet. Other decoders learn
 * it from a probe, without which they may lose frames of streams that do not declare it. QuickTime's demuxer computes
 * the delay itself. */
static bool codec_delay_is_known(const struct bl_demux *d, enum AVCodecID codec)
{
    switch (codec) {
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_AV1:
    case AV_CODEC_ID_MJPEG:
    case AV_CODEC_ID_PNG:
    case AV_CODEC_ID_PRORES:
    case AV_CODEC_ID_DNXHD:
    case AV_CODEC_ID_FFV1:
        return true;
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_HEVC:
        return bl_demux_is_mov(d);
    default:
        return false;
    }
}

/* Whether the header does not say all that is needed of the stream, so that libavformat must decode its beginning,
 * which is slow. PCM, FLAC and ALAC have neither delay nor padding. */
static bool probe_is_needed(const struct bl_demux *d, enum bl_demux_mode mode)
{
    unsigned first = 0;
    if (mode == BL_DEMUX_START || d->format->ctx_flags & AVFMTCTX_NOHEADER)
        return true;
    int streams = streams_count_wanted(d->format, mode, &first);
    if (streams != 1)
        return streams > 1; /* the choice depends on what the probe finds in each */
    enum AVCodecID codec = d->format->streams[first]->codecpar->codec_id;
    bool is_pcm = codec >= AV_CODEC_ID_FIRST_AUDIO && codec < AV_CODEC_ID_ADPCM_IMA_QT;
    if (mode == BL_DEMUX_AUDIO)
        return d->maybe_dts || !(is_pcm || codec == AV_CODEC_ID_FLAC || codec == AV_CODEC_ID_ALAC);
    return codec == AV_CODEC_ID_NONE || (mode != BL_DEMUX_COUNT && !codec_delay_is_known(d, codec)) ||
           (mode == BL_DEMUX_TIMES && d->format->streams[first]->avg_frame_rate.num <= 0);
}

/* Reports that no stream has the wanted type, and what the file has instead. */
static int stream_report_missing(const struct bl_demux *d, bool sound, struct bl_error *e)
{
    bool video = false, audio = false, cover = false;
    for (unsigned i = 0; i < d->format->nb_streams; i++) {
        const AVStream *stream = d->format->streams[i];
        video = video || stream_is_wanted(stream, BL_DEMUX_COUNT);
        audio = audio || stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
        cover = cover || stream->disposition & AV_DISPOSITION_ATTACHED_PIC;
    }
    if (sound)
        return bl_error_set(e, BL_EDATA, video ? "no audio stream (video only)" : "no audio stream");
    if (cover)
        return bl_error_set(e, BL_EDATA, "cover art only, no video stream");
    return bl_error_set(e, BL_EDATA, audio ? "no video stream (audio only)" : "no video stream");
}

/* Finds the stream that `wanted` stands for, see bl_demux_open. */
static int stream_find(struct bl_demux *d, int *wanted, enum bl_demux_mode mode, struct bl_error *e)
{
    AVFormatContext *format = d->format;
    bool sound = mode == BL_DEMUX_AUDIO;
    const char *what = sound ? "audio" : "video";
    unsigned first = 0;
    int count = streams_count_wanted(format, mode, &first), index = *wanted, number = -2 - *wanted;
    d->stream_missing = count == 0;
    if (count == 0)
        return stream_report_missing(d, sound, e);
    if (index >= (int)format->nb_streams || (index >= 0 && !stream_is_wanted(format->streams[index], mode)))
        return bl_error_set(e, BL_EDATA, "stream %d, chosen by the scan, is not %s", index, what);
    if (number >= count)
        return bl_error_set(e, BL_EDATA, "no %s stream %d: it has %d, numbered from 0", what, number, count);
    if (index == -1) {
        index = av_find_best_stream(format, sound ? AVMEDIA_TYPE_AUDIO : AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
        if (index < 0 || !stream_is_wanted(format->streams[index], mode))
            index = (int)first;
    }
    for (unsigned i = 0; i < format->nb_streams && index < 0; i++) {
        if (stream_is_wanted(format->streams[i], mode) && number-- == 0)
            index = (int)i;
    }
    *wanted = index;
    return BL_OK;
}

/* Chooses the stream to read, refuses codecs that are not on the list, and discards the packets of all other streams.
 */
static int stream_choose(struct bl_demux *d, int stream, enum bl_demux_mode mode, struct bl_error *e)
{
    AVFormatContext *format = d->format;
    BL_TRY(stream_find(d, &stream, mode, e));
    if (bl_wave_format_is_g721(format->streams[stream]->codecpar))
        return bl_error_set(e, BL_EDATA, "codec G.721 is not read: convert it to PCM, with SoX or libsndfile");
    const AVCodec *decoder = avcodec_find_decoder(format->streams[stream]->codecpar->codec_id);
    if (decoder && !bl_allowlist_has(allowlist_for(mode)->decoders, decoder->name))
        return bl_error_set(e, BL_EDATA, "codec %s is not read: see bload-media(7)", decoder->name);
    for (unsigned i = 0; i < format->nb_streams; i++)
        format->streams[i]->discard = (int)i == stream ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    d->stream = format->streams[stream];
    return 0;
}

/* Probing opens decoders of its own: their pictures are limited in size. */
static int demux_probe(struct bl_demux *d)
{
    unsigned streams = d->format->nb_streams;
    AVDictionary **options = d->env->decoder_memory ? av_calloc(streams + 1, sizeof(AVDictionary *)) : NULL;
    int code = d->env->decoder_memory && !options ? AVERROR(ENOMEM) : 0;
    for (unsigned i = 0; i < streams && options && code >= 0; i++)
        code = av_dict_set_int(
            &options[i], "max_pixels",
            bl_decoder_memory_area(d->format->streams[i]->codecpar->codec_id, d->env->decoder_memory), 0);
    if (code >= 0)
        code = avformat_find_stream_info(d->format, options);
    for (unsigned i = 0; i < streams && options; i++)
        av_dict_free(&options[i]);
    av_free(options);
    return code;
}

static bool codec_is_png(enum AVCodecID codec)
{
    return codec == AV_CODEC_ID_PNG || codec == AV_CODEC_ID_APNG;
}

/* FLAC in Ogg states a layout as FLAC does elsewhere, in a comment, which only libavformat's other demuxers follow.
 * Whichever has followed it, a mask of another number of channels is no layout. */
static void flac_set_layout(const AVFormatContext *format, const AVStream *stream)
{
    AVCodecParameters *c = stream->codecpar;
    const AVDictionary *notes = stream->metadata ? stream->metadata : format->metadata;
    const AVDictionaryEntry *mask = av_dict_get(notes, "WAVEFORMATEXTENSIBLE_CHANNEL_MASK", NULL, 0);
    if (c->codec_id != AV_CODEC_ID_FLAC || c->extradata_size < FLAC_HEADER)
        return;
    const int channels = (c->extradata[12] >> 1 & 7) + 1;
    const uint64_t bits = mask ? strtoull(mask->value, NULL, 0) : 0;
    if (c->ch_layout.order == AV_CHANNEL_ORDER_NATIVE && c->ch_layout.nb_channels != channels)
        av_channel_layout_uninit(&c->ch_layout);
    else if (c->ch_layout.order == AV_CHANNEL_ORDER_UNSPEC && __builtin_popcountll(bits) == channels)
        c->ch_layout =
            (AVChannelLayout){.order = AV_CHANNEL_ORDER_NATIVE, .nb_channels = channels, .u = {.mask = bits}};
}

/* Probes the streams if that is needed, chooses one, and reserves the memory of its decoder. Before the probe it notes
 * for the first 64 streams whether the container itself states where the channels are heard, since probing adds what
 * decoders guess, and removes notes from what APNG has before its first picture. */
static int demux_open_streams(struct bl_demux *d, int stream, enum bl_demux_mode mode, struct bl_error *e)
{
    uint64_t stated = 0;
    for (unsigned i = 0; i < d->format->nb_streams; i++) {
        AVCodecParameters *p = d->format->streams[i]->codecpar;
        if (codec_is_png(p->codec_id) && p->extradata_size > 0) {
            p->extradata_size = (int)bl_png_drop_notes(p->extradata, (size_t)p->extradata_size);
            memset(p->extradata + p->extradata_size, 0, AV_INPUT_BUFFER_PADDING_SIZE);
        }
        if (i < 64)
            flac_set_layout(d->format, d->format->streams[i]);
        if (i < 64 && (p->ch_layout.order == AV_CHANNEL_ORDER_NATIVE || p->ch_layout.order == AV_CHANNEL_ORDER_CUSTOM))
            stated |= UINT64_C(1) << i;
    }
    d->probed = probe_is_needed(d, mode);
    if (d->probed) {
        int code = demux_probe(d);
        if (code < 0 || d->file.system_errno || bl_cancelled(d->file.cancel))
            return bl_demux_error(d, code, "damaged: its streams cannot be read", e);
    }
    BL_TRY(stream_choose(d, stream, mode, e));
    d->layout_stated = d->stream->index < 64 && stated >> d->stream->index & 1;
    BL_TRY(bl_decoder_memory_check_stream(d->stream->codecpar, d->env->decoder_memory, e));
    return bl_reservation_need(d->env->reservation, bl_decoder_memory_stream(d->stream->codecpar), e);
}

void bl_demux_silence_logs(void)
{
    if (av_log_get_level() != AV_LOG_QUIET)
        av_log_set_level(AV_LOG_QUIET);
}

int bl_demux_open(struct bl_demux *d, const char *path, int64_t bytes, int stream, enum bl_demux_mode mode,
                  const struct bl_kind_env *env, struct bl_error *e)
{
    bl_demux_silence_logs();
    bl_decoder_memory_limit_parts(env->decoder_memory);
    *d = (struct bl_demux){.env = env};
    int code = bl_media_file_open(&d->file, path, bytes, env->cancel, e);
    if (!code)
        code = demux_open_format(d, mode, e);
    if (!code)
        code = demux_open_streams(d, stream, mode, e);
    if (code)
        bl_demux_close(d);
    return code;
}

void bl_demux_close(struct bl_demux *d)
{
    avformat_close_input(&d->format);
    bl_media_file_close(&d->file);
}

void bl_demux_read_all_streams(struct bl_demux *d)
{
    d->all_streams = true;
    for (unsigned i = 0; i < d->format->nb_streams; i++)
        d->format->streams[i]->discard = AVDISCARD_DEFAULT;
}

int bl_demux_next(struct bl_demux *d, AVPacket *packet, bool *got, struct bl_error *e)
{
    *got = false;
    for (;;) {
        av_packet_unref(packet);
        int code = av_read_frame(d->format, packet);
        if (code >= 0 && codec_is_png(d->stream->codecpar->codec_id) && packet->stream_index == d->stream->index) {
            code = av_packet_make_writable(packet);
            if (code >= 0)
                av_shrink_packet(packet, (int)bl_png_drop_notes(packet->data, (size_t)packet->size));
        }
        if (bl_cancelled(d->file.cancel) || d->file.system_errno || bl_demux_is_memory(code))
            return bl_demux_error(d, code, "", e);
        if (code == AVERROR(EAGAIN))
            continue;
        if (code < 0) {
            d->end_error = code == AVERROR_EOF ? 0 : code;
            return BL_OK;
        }
        if (d->first_is_short)
            d->first_is_short = av_opt_set_int(d->format, "max_size", WAVE_NEXT, AV_OPT_SEARCH_CHILDREN) < 0;
        bl_cancel_beat(d->file.cancel);
        if (packet->pos > 0)
            bl_meter_report(d->meter, packet->pos);
        *got = d->all_streams || packet->stream_index == d->stream->index;
        if (*got)
            return BL_OK;
    }
}

int64_t bl_demux_start(const struct bl_demux *d)
{
    AVRational tick = d->stream->time_base;
    int64_t start = d->format->start_time;
    if (d->format->iformat->flags & AVFMT_TS_DISCONT && d->stream->start_time != AV_NOPTS_VALUE)
        start = av_rescale_q(d->stream->start_time, tick, AV_TIME_BASE_Q);
    return start == AV_NOPTS_VALUE ? 0 : av_rescale_q(start, AV_TIME_BASE_Q, tick);
}

bool bl_demux_is_mov(const struct bl_demux *d)
{
    return strncmp(d->format->iformat->name, "mov,", 4) == 0;
}

bool bl_demux_is_matroska(const struct bl_demux *d)
{
    return strncmp(d->format->iformat->name, "matroska,", 9) == 0;
}

bool bl_demux_is_transport(const struct bl_demux *d)
{
    return strcmp(d->format->iformat->name, "mpegts") == 0;
}

/* --- seeking ------------------------------------------------------------------------------------------------------ */

int bl_demux_seek(struct bl_demux *d, int64_t position, int64_t time, AVPacket *packet, bool *found, struct bl_error *e)
{
    /* Transport streams have no index, and a search for a time would end behind the packet. */
    bool bytes = bl_demux_is_transport(d);
    *found = false;
    if (av_seek_frame(d->format, d->stream->index, bytes ? position : time,
                      bytes ? AVSEEK_FLAG_BYTE : AVSEEK_FLAG_BACKWARD) < 0)
        return d->file.system_errno ? bl_demux_error(d, 0, "", e) : BL_OK;
    d->end_error = 0;
    for (;;) {
        bool got;
        int code = bl_demux_next(d, packet, &got, e);
        if (code || !got || packet->pos > position)
            return code;
        *found = packet->pos == position && packet->pts == time;
        if (*found)
            return BL_OK;
    }
}
