/* Decodes pieces; piece.h has the contract.
 *
 * bl_piece_decode takes frames from piece_next, which compares each with the timeline or the seek point, and pushes
 * their times into the picker. The picker tells how often the frame *before* is taken: so a frame is held, and
 * converted (piece_take_frame) when the next one is there. */
#include "kind/video/piece.h"

#include <inttypes.h>
#include <libavcodec/avcodec.h>
#include <libavutil/dovi_meta.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kind/media/compat.h"

/* --- pictures ----------------------------------------------------------------------------------------------------- */

struct bl_convert_options bl_picture_options(const struct bl_video_config *config, enum bl_simd simd)
{
    return (struct bl_convert_options){
        .simd = simd,
        .channels = (enum bl_channels)config->pixels,
        .per_metre = config->depth_scale.den ? (double)config->depth_scale.num / (double)config->depth_scale.den : 1,
        .hdr_clip = config->hdr == BL_HDR_CLIP,
        .hdr_tonemap = config->hdr == BL_HDR_TONEMAP};
}

/* Computes the geometry from the option values and the properties of a picture. */
static int picture_make_geometry(const struct bl_video_config *config, int width, int height, AVRational sar,
                                 const int32_t *matrix, struct bl_geometry *geometry, struct bl_error *e)
{
    struct bl_geometry_input input = {
        .coded_width = width,
        .coded_height = height,
        .sar_num = config->ignore_sar ? 1 : sar.num,
        .sar_den = config->ignore_sar ? 1 : sar.den,
        .matrix = matrix,
        .target_width = config->size.width,
        .target_height = config->size.height,
        .fit = (enum bl_fit)config->fit,
        .resize = (enum bl_resize)config->resize,
    };
    return bl_geometry_make(geometry, &input, e);
}

/* Returns the container's display matrix, [9], or NULL. */
static const int32_t *stream_matrix(const AVStream *stream)
{
    size_t size = 0;
    const uint8_t *data = bl_compat_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
    return data && size >= 9 * sizeof(int32_t) ? (const int32_t *)(const void *)data : NULL;
}

bool bl_picture_is_told_by_frames(const struct bl_video_config *config, enum AVCodecID codec)
{
    return bl_channels_keep_numbers((enum bl_channels)config->pixels) || codec == AV_CODEC_ID_JPEG2000 ||
           codec == AV_CODEC_ID_DNXHD || codec == AV_CODEC_ID_CFHD || codec == AV_CODEC_ID_TIFF ||
           codec == AV_CODEC_ID_VC1 || codec == AV_CODEC_ID_RAWVIDEO;
}

int bl_picture_check_frame(const struct bl_video_config *config, const AVFrame *frame, struct bl_error *e)
{
    struct bl_convert_options options = bl_picture_options(config, BL_SIMD_NONE);
    return bl_convert_check((enum AVPixelFormat)frame->format, frame->color_trc, frame->colorspace, &options, e);
}

/* Numbers that no standard names count as unspecified, except in AV1, whose decoders hand them on. */
int bl_picture_check_tags(const struct bl_video_config *config, enum AVCodecID codec, uint32_t transfers,
                          uint32_t matrices, struct bl_error *e)
{
    struct bl_convert_options options = bl_picture_options(config, BL_SIMD_NONE);
    int code = BL_OK;
    for (int i = 0; i < 32 && !code; i++) {
        enum AVColorTransferCharacteristic transfer = AVCOL_TRC_UNSPECIFIED;
        enum AVColorSpace matrix = AVCOL_SPC_UNSPECIFIED;
        if (transfers >> i & 1)
            transfer = (enum AVColorTransferCharacteristic)i;
        if (matrices >> i & 1 && (codec == AV_CODEC_ID_AV1 || av_color_space_name((enum AVColorSpace)i)))
            matrix = (enum AVColorSpace)i;
        code = bl_convert_check(AV_PIX_FMT_NONE, transfer, matrix, &options, e);
    }
    return code;
}

/* Opens a decoder, without decoding, and checks the colours that it reports. */
static int codec_check(const AVCodecParameters *codec, const AVCodec *decoder, const struct bl_convert_options *options,
                       struct bl_error *e)
{
    AVCodecContext *context = avcodec_alloc_context3(decoder);
    if (!context)
        return bl_error_memory(e);
    int code = avcodec_parameters_to_context(context, codec);
    if (code >= 0) {
        context->thread_count = 1;
        code = avcodec_open2(context, decoder, NULL);
    }
    if (bl_demux_is_memory(code))
        code = bl_error_memory(e);
    else if (code < 0)
        code = bl_error_set(e, BL_EDATA, "damaged: the %s decoder cannot be opened", decoder->name);
    else
        code = bl_convert_check(context->pix_fmt, context->color_trc, context->colorspace, options, e);
    avcodec_free_context(&context);
    return code;
}

/* Returns BL_EDATA for the profiles 5, 10.0 and 20 of Dolby Vision: their pictures are in IPT and look green and purple
 * as YUV. The others show HDR10, HLG or SDR, which the stream's own tags name. */
static int stream_check_dolby_vision(const AVStream *stream, struct bl_error *e)
{
    size_t size = 0;
    const uint8_t *data = bl_compat_side_data(stream, AV_PKT_DATA_DOVI_CONF, &size);
    const AVDOVIDecoderConfigurationRecord *record = (const void *)data;
    if (!data || size < offsetof(AVDOVIDecoderConfigurationRecord, dv_bl_signal_compatibility_id) + 1)
        return BL_OK;
    int profile = record->dv_profile, compatible = record->dv_bl_signal_compatibility_id;
    if (profile != 5 && (compatible != 0 || (profile != 10 && profile != 20)))
        return BL_OK;
    return bl_error_set(
        e, BL_EDATA,
        "it is HDR (Dolby Vision, profile %d.%d), whose colours (IPT) bload cannot turn into RGB: convert "
        "it, as by ffmpeg's libplacebo filter",
        profile, compatible);
}

/* Returns BL_EDATA if RGBA is wanted of a WebM or Matroska file whose alpha is beside the pictures, in data of its own:
 * decoders return opaque pictures. */
static int stream_check_alpha(const AVStream *stream, const struct bl_video_config *config, struct bl_error *e)
{
    const AVDictionaryEntry *mode = av_dict_get(stream->metadata, "alpha_mode", NULL, 0);
    enum AVCodecID codec = stream->codecpar->codec_id;
    if (config->pixels != BL_CHANNELS_RGBA || (codec != AV_CODEC_ID_VP8 && codec != AV_CODEC_ID_VP9) || !mode ||
        strcmp(mode->value, "1") != 0)
        return BL_OK;
    return bl_error_set(e, BL_EDATA,
                        "its alpha is in data beside the pictures, which this decoder of %s does not read: convert it "
                        "(ffmpeg -c:v libvpx%s -i FILE -c:v ffv1 FILE.mkv), or use --pixels rgb",
                        avcodec_get_name(codec), codec == AV_CODEC_ID_VP9 ? "-vp9" : "");
}

int bl_picture_check(const struct bl_demux *d, const struct bl_video_config *config, struct bl_error *e)
{
    const AVCodecParameters *codec = d->stream->codecpar;
    enum AVCodecID id = codec->codec_id;
    const AVCodec *decoder = avcodec_find_decoder(id);
    if (!decoder)
        return bl_error_set(e, BL_EDATA, "no decoder for %s", id ? avcodec_get_name(id) : "its unknown codec");
    BL_TRY(stream_check_dolby_vision(d->stream, e));
    BL_TRY(stream_check_alpha(d->stream, config, e));
    struct bl_convert_options options = bl_picture_options(config, BL_SIMD_NONE);
    BL_TRY(bl_convert_check((enum AVPixelFormat)codec->format, codec->color_trc, codec->color_space, &options, e));
    /* Opening a decoder takes as long as counting a small file. The packets of the common codecs have all answers. */
    bool told_by_packets = id == AV_CODEC_ID_HEVC || id == AV_CODEC_ID_AV1 || id == AV_CODEC_ID_H264 ||
                           id == AV_CODEC_ID_VP8 || id == AV_CODEC_ID_VP9 || id == AV_CODEC_ID_MPEG4;
    if (!told_by_packets) {
        BL_TRY(codec_check(codec, decoder, &options, e));
    }
    if (codec->width <= 0 || codec->height <= 0)
        return BL_OK;
    struct bl_geometry geometry;
    AVRational sar = d->stream->sample_aspect_ratio;
    return picture_make_geometry(config, codec->width, codec->height, sar.num > 0 ? sar : codec->sample_aspect_ratio,
                                 stream_matrix(d->stream), &geometry, e);
}

int bl_picture_geometry(const struct bl_demux *d, const struct bl_video_config *config, AVFrame *frame,
                        struct bl_geometry *geometry, struct bl_error *e)
{
    const int32_t *matrix = d ? stream_matrix(d->stream) : NULL;
    const AVFrameSideData *side = av_frame_get_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX);
    if (!matrix && side && side->size >= 9 * sizeof(int32_t))
        matrix = (const int32_t *)(const void *)side->data;
    AVRational sar = d ? av_guess_sample_aspect_ratio(d->format, d->stream, frame) : (AVRational){1, 1};
    return picture_make_geometry(config, frame->width, frame->height, sar, matrix, geometry, e);
}

/* --- seek points -------------------------------------------------------------------------------------------------- */

void bl_seek_point_make(struct bl_seek_point *point, const struct bl_timeline *timeline, int64_t begin, int64_t end,
                        int before_it)
{
    const struct bl_access_point *access_point =
        begin >= before_it ? bl_timeline_find_frame(timeline, begin - before_it) : NULL;
    const struct bl_timestamps *shown = &timeline->shown;
    *point = (struct bl_seek_point){.known = true, .access_point.position = -1, .end = AV_NOPTS_VALUE};
    if (access_point)
        point->access_point = *access_point;
    point->begin = shown->time[begin];
    if ((size_t)end < shown->count)
        point->end = shown->time[end];
}

void bl_seek_point_format(const struct bl_seek_point *point, struct bl_buffer *out)
{
    if (!point->known)
        return;
    bl_buffer_printf(out, "%zu %" PRId64 " %" PRId64 " %" PRId64 " ", point->access_point.frame,
                     point->access_point.time, point->access_point.position, point->begin);
    if (point->end == AV_NOPTS_VALUE)
        bl_buffer_byte(out, '-');
    else
        bl_buffer_int(out, point->end);
}

bool bl_seek_point_parse(struct bl_seek_point *point, const char *text)
{
    enum { NUMBERS = 5 }; /* as bl_seek_point_format writes them */
    int64_t number[NUMBERS];
    *point = (struct bl_seek_point){.access_point.position = -1, .end = AV_NOPTS_VALUE};
    if (!text || !*text)
        return true;
    for (int n = 0; n < NUMBERS; n++) {
        size_t size = strcspn(text, " ");
        bool last = n == NUMBERS - 1, none = last && size == 1 && *text == '-';
        if (none)
            number[n] = AV_NOPTS_VALUE;
        else if (!bl_text_to_int(text, size, INT64_MIN + 1, INT64_MAX, &number[n]))
            return false;
        text += size;
        if (*text != (last ? '\0' : ' '))
            return false;
        text += !last;
    }
    if (number[0] < 0 || number[2] < -1)
        return false;
    *point =
        (struct bl_seek_point){.known = true,
                               .access_point = {.frame = (size_t)number[0], .time = number[1], .position = number[2]},
                               .begin = number[3],
                               .end = number[4]};
    return true;
}

/* --- decoder cursor ----------------------------------------------------------------------------------------------- */

void bl_decoder_cursor_close(struct bl_decoder_cursor *h)
{
    av_frame_free(&h->waiting);
    if (h->path)
        bl_decode_close(&h->decode);
    free(h->path);
    *h = (struct bl_decoder_cursor){0};
}

/* Opens the row's file anew. */
static int cursor_open(struct bl_decoder_cursor *h, struct bl_gpu_worker *gpu, const struct bl_row *row,
                       enum bl_demux_mode mode, const struct bl_kind_env *env, struct bl_error *e)
{
    bl_decoder_cursor_close(h);
    h->waiting = av_frame_alloc();
    char *path = h->waiting ? strdup(row->path) : NULL;
    if (!path) {
        av_frame_free(&h->waiting);
        return bl_error_memory(e);
    }
    int code = bl_decode_open_gpu(&h->decode, gpu, path, row->bytes, row->stream, mode, env, e);
    if (code) {
        free(path);
        av_frame_free(&h->waiting);
        return code;
    }
    h->path = path; /* from now on there is something to close */
    h->bytes = row->bytes;
    h->stream = row->stream;
    h->mode = mode;
    return BL_OK;
}

/* Returns whether the clip lies ahead, and no random access point before it saves decoding. Faults after a seek may
 * have moved the place. */
static bool cursor_is_near(const struct bl_decoder_cursor *h, const struct bl_row *row,
                           const struct bl_seek_point *point)
{
    bool faults = h->decode.errors || h->decode.truncated;
    bool access_points = point->known && point->access_point.position >= 0;
    return h->next <= row->clip_begin && !h->lost && (!faults || !(h->seeked || access_points)) &&
           (!access_points || h->next >= (int64_t)point->access_point.frame);
}

int bl_decoder_cursor_go(struct bl_decoder_cursor *h, enum bl_decoder_cursor_way way, struct bl_gpu_worker *gpu,
                         const struct bl_row *row, const struct bl_seek_point *point, enum bl_demux_mode mode,
                         const struct bl_kind_env *env, bool *there, struct bl_error *e)
{
    const struct bl_access_point *access_point = &point->access_point;
    bool open = h->path && strcmp(h->path, row->path) == 0 && h->bytes == row->bytes && h->stream == row->stream &&
                h->mode == mode && !gpu;
    *there = false;
    if (way == BL_CURSOR_ON) {
        *there = open && cursor_is_near(h, row, point);
        return BL_OK;
    }
    if (way == BL_CURSOR_RESTART && (!point->known || access_point->position < 0))
        return BL_OK;
    int code = BL_OK;
    if (!open || way == BL_CURSOR_START)
        code = cursor_open(h, gpu, row, mode, env, e);
    *there = !code;
    if (!code && way == BL_CURSOR_RESTART) {
        av_frame_unref(h->waiting);
        code = bl_decode_seek(&h->decode, access_point, there, e);
        h->next = (int64_t)access_point->frame;
        h->arrival = access_point->time;
        h->seeked = h->arriving = true;
        h->lost = false;
    }
    if (code || !*there)
        bl_decoder_cursor_close(h);
    return code;
}

/* Decodes the next frame, as bl_decode_next. After a seek it skips the frames that are shown before the random access
 * point. */
static int cursor_read_frame(struct bl_decoder_cursor *h, AVFrame *frame, bool *got, struct bl_error *e)
{
    av_frame_unref(frame);
    if (h->waiting->buf[0]) {
        av_frame_move_ref(frame, h->waiting);
        h->next++;
        *got = true;
        return BL_OK;
    }
    do {
        BL_TRY(bl_decode_next(&h->decode, frame, got, e));
    } while (*got && h->arriving && bl_frame_time(frame) < h->arrival);
    bool elsewhere = h->arriving && (!*got || bl_frame_time(frame) != h->arrival);
    h->lost = h->lost || elsewhere || (h->seeked && *got && bl_decode_is_damaged(frame));
    h->arriving = false;
    h->next += *got;
    return BL_OK;
}

/* Puts a frame back, so that it is the next one again; the cursor owns it then. */
static void cursor_put_back(struct bl_decoder_cursor *h, AVFrame *frame)
{
    av_frame_move_ref(h->waiting, frame);
    h->next--;
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* Writes when the held frame's steps [first, end) begin, in seconds: for the field of times, and for the caller, who
 * computes them from the rate with --fps. */
static void piece_write_times(const struct bl_piece *p, int64_t first, int64_t end)
{
    const struct bl_request *request = p->request;
    const struct bl_video_config *config = p->tools->config;
    double seconds = bl_clock_seconds(&p->clock, bl_frame_time(p->tools->held));
    for (int64_t step = first; step < end; step++) {
        int64_t at = step - request->source_start;
        bool by_time = bl_sampling_is_by_time(config);
        if (request->times && !by_time)
            request->times[at] = seconds;
        if (by_time)
            seconds = (double)step * (double)config->fps.den / (double)config->fps.num;
        if (config->times)
            memcpy(request->out[BL_VIDEO_TIMES] + 8 * at, &seconds, sizeof seconds);
    }
}

/* Takes the held frame as the next `times` steps. Those that lie in the piece are written: at once, or on a GPU before
 * bl_piece_finish returns. */
static int piece_take_frame(struct bl_piece *p, int64_t times, struct bl_error *e)
{
    const struct bl_request *request = p->request;
    int64_t stop = request->source_start + request->steps;
    int64_t first = FFMAX(p->seen, request->source_start), end = FFMIN(p->seen + times, stop);
    p->seen += times;
    if (first >= end)
        return BL_OK;
    struct bl_piece_tools *tools = p->tools;
    const AVFrame *frame = tools->held;
    struct bl_geometry g;
    BL_TRY(bl_picture_geometry(&p->decode->demux, tools->config, tools->held, &g, e));
    if (g.width != tools->size.width || g.height != tools->size.height)
        return bl_error_set(e, BL_EDATA, "a frame of %dx%d among frames of %dx%d", g.width, g.height, tools->size.width,
                            tools->size.height);
    uint8_t *out = request->out[0] + (size_t)(first - request->source_start) * tools->bytes;
    if (p->on_gpu) {
        struct bl_convert_options options = bl_picture_options(tools->config, tools->env->simd);
        BL_TRY(bl_convert_check(AV_PIX_FMT_NONE, frame->color_trc, frame->colorspace, &options, e));
        BL_TRY(bl_readback_add(&tools->gpu->readback, frame, &g, out, end - first, e));
    } else {
        BL_TRY(bl_convert_frame(tools->convert, frame, &g, out, e));
        for (int64_t i = 1; i < end - first; i++)
            memcpy(out + (size_t)i * tools->bytes, out, tools->bytes);
    }
    piece_write_times(p, first, end);
    if (bl_decode_is_damaged(frame))
        p->damaged += end - first;
    return BL_OK;
}

/* Returns whether the decoder found faults. */
static bool piece_has_faults(const struct bl_piece *p)
{
    return p->decode->errors || p->decode->truncated;
}

/* Returns whether the first packets of the stream must be decoded: a PQ stream may state its peak only there. */
static bool piece_needs_first_packets(const struct bl_piece *p)
{
    return p->tools->config->hdr == BL_HDR_TONEMAP && p->tools->frame->color_trc == AVCOL_TRC_SMPTE2084;
}

/* Decodes the next frame of a clip; *got is false at its end. It sets p->strayed if the frame at either end of the clip
 * is not the expected one, or if faults make that doubtful and another way to the clip is left. */
static int piece_next_of_clip(struct bl_piece *p, bool *got, struct bl_error *e)
{
    const struct bl_row *row = &p->request->row;
    const struct bl_seek_point *point = &p->point;
    struct bl_decoder_cursor *cursor = p->cursor;
    AVFrame *frame = p->tools->frame;
    int64_t number;
    do {
        number = cursor->next;
        BL_TRY(cursor_read_frame(cursor, frame, got, e));
    } while (*got && number < row->clip_begin && !cursor->lost);
    int64_t time = *got ? bl_frame_time(frame) : AV_NOPTS_VALUE;
    bool faults = piece_has_faults(p);
    if (cursor->lost || (faults && (cursor->seeked || p->may_seek)) || (cursor->seeked && piece_needs_first_packets(p)))
        p->strayed = true;
    else if (!point->known)
        p->strayed = faults && !*row->reason;
    else
        p->strayed =
            (number == row->clip_begin && time != point->begin) || (number == row->clip_end && time != point->end);
    if (*got && number == row->clip_end) {
        p->time_behind = time;
        cursor_put_back(cursor, frame);
        *got = false;
    }
    *got = *got && !p->strayed;
    return BL_OK;
}

/* Decodes the next frame. *got is false at the end, and if the frame is not the one that the timeline has. */
static int piece_next(struct bl_piece *p, bool *got, struct bl_error *e)
{
    if (p->cursor)
        return piece_next_of_clip(p, got, e);
    AVFrame *frame = p->tools->frame;
    if (!p->timeline)
        return bl_decode_next(p->decode, frame, got, e);
    const struct bl_timestamps *shown = &p->timeline->shown;
    do {
        BL_TRY(bl_decode_next(p->decode, frame, got, e));
    } while (*got && p->next_frame == p->first_frame && bl_frame_time(frame) < shown->time[p->first_frame]);
    bool expected = p->next_frame < shown->count;
    bool concealed = *got && bl_decode_is_damaged(frame); /* the decoder concealed errors in this frame */
    p->strayed = piece_has_faults(p) || concealed || *got != expected || piece_needs_first_packets(p) ||
                 (expected && bl_frame_time(frame) != shown->time[p->next_frame]);
    p->next_frame++;
    *got = *got && !p->strayed;
    return BL_OK;
}

/* Returns whether the end of the file or clip must be decoded, too, which shows whether frames are missing and later
 * ones misplaced: the piece ends its sequence, or the decoder found faults that the scan does not know of. */
static bool piece_needs_end(const struct bl_piece *p)
{
    const struct bl_request *request = p->request;
    return request->source_start + request->steps == request->row.length ||
           (!*request->row.reason && piece_has_faults(p));
}

/* Returns whether no further frame is needed. */
static bool piece_is_full(const struct bl_piece *p)
{
    return p->seen >= p->request->source_start + p->request->steps && !piece_needs_end(p) &&
           (!p->needed || p->next_frame > p->needed->last);
}

/* Passes the frames that are left out behind the held one: their times decide how often the held one is taken. */
static int piece_pass_left_out(struct bl_piece *p, struct bl_error *e)
{
    const struct bl_timestamps *shown = &p->timeline->shown;
    for (; p->next_frame < shown->count && !p->needed->frame[p->next_frame]; p->next_frame++) {
        BL_TRY(piece_take_frame(p, bl_pick_push(&p->pick, shown->time[p->next_frame]), e));
    }
    return BL_OK;
}

int bl_piece_decode(struct bl_piece *p, struct bl_error *e)
{
    struct bl_piece_tools *tools = p->tools;
    int64_t time_end = AV_NOPTS_VALUE;
    BL_TRY(p->needed ? piece_pass_left_out(p, e) : BL_OK);
    for (;;) {
        bool got;
        int code = piece_next(p, &got, e);
        if (code || p->strayed)
            return code;
        if (!got)
            break;
        bl_clock_note(&p->clock, tools->frame, p->pick.pushed);
        code = piece_take_frame(p, bl_pick_push(&p->pick, bl_frame_time(tools->frame)), e);
        bl_meter_report(p->request->meter, p->seen - p->request->source_start);
        if (code || piece_is_full(p))
            return code;
        time_end = bl_decode_time_end(p->decode, tools->frame);
        av_frame_unref(tools->held);
        av_frame_move_ref(tools->held, tools->frame);
        code = p->needed ? piece_pass_left_out(p, e) : BL_OK;
        if (code || piece_is_full(p))
            return code;
    }
    if (p->time_behind != AV_NOPTS_VALUE)
        time_end = p->time_behind;
    BL_TRY(piece_take_frame(p, bl_pick_end(&p->pick, time_end), e));
    const struct bl_pick *pick = &p->pick;
    if (pick->list.count > 0 && pick->pushed != pick->list.frames)
        return bl_error_set(e, BL_EDATA, "the scan counted %lld frames, decoding gives %lld",
                            (long long)pick->list.frames, (long long)pick->pushed);
    if (piece_needs_end(p) ? p->seen != p->request->row.length : !piece_is_full(p))
        return bl_error_set(e, BL_EDATA, "the scan counted %lld frames, decoding gives %lld",
                            (long long)p->request->row.length, (long long)p->seen);
    return BL_OK;
}

void bl_piece_write_note(const struct bl_piece *p, struct bl_note *note)
{
    if (*p->request->row.reason)
        return; /* the scan has reported it */
    if (p->damaged)
        snprintf(note->text, sizeof note->text, "damaged: %lld of %lld frames concealed by the decoder",
                 (long long)p->damaged, (long long)p->request->steps);
    else if (piece_has_faults(p))
        snprintf(note->text, sizeof note->text, "damaged: errors while decoding, though no frame is missing");
}

int bl_piece_begin(struct bl_piece *p, AVRational tick, int64_t start, struct bl_error *e)
{
    p->clock = (struct bl_clock){tick, AV_NOPTS_VALUE};
    p->time_behind = AV_NOPTS_VALUE;
    const struct bl_video_config *config = p->tools->config;
    BL_TRY(bl_sampling_begin(config, tick, start, &p->pick, e));
    if (!bl_sampling_has_list(config))
        return BL_OK;
    const struct bl_row *row = &p->request->row;
    int64_t frames = bl_row_get_number(row, BL_SOURCE_FRAMES_COLUMN);
    struct bl_frame_list list;
    if (frames == 0)
        return bl_error_set(e, BL_EDATA, "its row has no " BL_SOURCE_FRAMES_COLUMN ": scan again");
    bl_sampling_restore_list(config, row->clip_begin, frames, row->length, &list);
    bl_pick_set_list(&p->pick, &list);
    return BL_OK;
}

int bl_piece_finish(struct bl_piece *p, int code, struct bl_error *e)
{
    struct bl_piece_tools *tools = p->tools;
    if (p->on_gpu && !code && !p->strayed)
        code = bl_readback_finish(&tools->gpu->readback, e);
    else if (p->on_gpu)
        bl_readback_abandon(&tools->gpu->readback);
    if (p->cursor && tools->frame->buf[0])
        cursor_put_back(p->cursor, tools->frame);
    av_frame_unref(tools->frame);
    av_frame_unref(tools->held);
    return code;
}
