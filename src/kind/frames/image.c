/* Images: their orientation, reduced JPEG, the chroma of WebP, and the way from a file to an upright picture.
 *
 * FFmpeg decodes all formats. Four things are added, so that a picture is the one that other programs show: the
 * orientation of each format, libjpeg-turbo for JPEG in reduced size or grey, libwebp's interpolation of chroma, and
 * checks before and after a file is read. A file is decoded in these steps:
 *
 *     size and time -> header (image_header.c) -> memory -> bytes -> size and time -> orientation -> pixels */
#include "kind/frames/image.h"

#include <errno.h>
#include <inttypes.h>
#include <libavcodec/avcodec.h>
#include <libavutil/intreadwrite.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <turbojpeg.h>
#include <unistd.h>

#include "base/archive.h"
#include "base/input_file.h"
#include "base/instream.h"
#include "base/io.h"
#include "base/text.h"
#include "kind/frames/image_header.h"
#include "kind/media/decoder_memory.h"
#include "kind/media/demux.h"
#include "kind/media/media_file.h"
#include "kind/reservation.h"
#include "kind/video/geometry.h"

/* --- orientation -------------------------------------------------------------------------------------------------- */

#define PREFIX "Exif\0" /* and the NUL of the string: the six bytes before the TIFF data in JPEG */
#define PREFIX_SIZE 6
#define TEXT_MAX ((size_t)256 << 10) /* bytes of a text that are looked at; EXIF data in hexadecimal has 128 KiB */

enum { MARKER_SOS = 0xda, MARKER_APP1 = 0xe1, MARKER_FILL = 0xff };

/* A part of a file in memory. Functions that take a span from the front of another one never go beyond its end,
 * whatever lengths a damaged file states. */
struct image_span {
    const uint8_t *data;
    size_t size;
};

static bool span_begins(struct image_span s, const char *bytes, size_t size)
{
    return s.size >= size && memcmp(s.data, bytes, size) == 0;
}

static struct image_span span_skip(struct image_span s, size_t size)
{
    size = size < s.size ? size : s.size;
    return (struct image_span){s.data + size, s.size - size};
}

/* Takes the bytes up to a zero byte, and leaves the bytes behind it. */
static struct image_span span_take_string(struct image_span *s)
{
    const uint8_t *end = s->size ? memchr(s->data, 0, s->size) : NULL;
    struct image_span string = {s->data, end ? (size_t)(end - s->data) : s->size};
    *s = span_skip(*s, string.size + 1);
    return string;
}

/* Returns the orientation in EXIF data, which are a TIFF file without pixels: 1 to 8, and 1 (upright) if the data are
 * no such file. */
static int exif_orientation(struct image_span exif)
{
    if (span_begins(exif, PREFIX, PREFIX_SIZE))
        exif = span_skip(exif, PREFIX_SIZE);
    return span_begins(exif, "II*\0", 4) || span_begins(exif, "MM\0*", 4) ? bl_tiff_orientation(exif.data, exif.size)
                                                                          : 1;
}

/* --- JPEG and WebP ---------------------------------------------------------------------------------------------- */

/* Returns the orientation by the first segment APP1 that holds EXIF data, before the first scan. A segment is 0xff, its
 * marker, its length in 16 bits (with the length's own two bytes), and its content. */
static int jpeg_orientation(struct image_span file)
{
    for (size_t at = 2; file.size >= 4 && at <= file.size - 4 && file.data[at] == 0xff;) {
        int marker = file.data[at + 1];
        /* Markers may be preceded by any number of bytes ff. */
        if (marker == MARKER_FILL) {
            at++;
            continue;
        }
        size_t length = AV_RB16(file.data + at + 2);
        struct image_span segment = {file.data + at + 4, length - 2};
        if (marker == MARKER_SOS || length < 2 || length > file.size - at - 2)
            break;
        if (marker == MARKER_APP1 && span_begins(segment, PREFIX, PREFIX_SIZE))
            return exif_orientation(segment);
        at += 2 + length;
    }
    return 1;
}

/* Returns the orientation of a WebP file. As in libwebp, the chunk EXIF counts only if the header of the extended
 * format (VP8X) announces it. */
static int webp_orientation(struct image_span file)
{
    const uint8_t exif_flag = 0x08;
    bool announced = false;
    /* RIFF, its size and WEBP have 12 bytes; chunks follow. */
    for (struct image_span s = span_skip(file, 12); s.size >= 8;) {
        size_t size = AV_RL32(s.data + 4);
        struct image_span chunk = span_skip(s, 8);
        if (size < chunk.size)
            chunk.size = size;
        if (span_begins(s, "VP8X", 4))
            announced = chunk.size && chunk.data[0] & exif_flag;
        if (span_begins(s, "EXIF", 4))
            return announced ? exif_orientation(chunk) : 1;
        /* Chunks of an odd size have a byte of padding. */
        s = span_skip(s, 8 + size + (size & 1));
    }
    return 1;
}

/* --- PNG -------------------------------------------------------------------------------------------------------- */

/* Returns the orientation in a profile. A profile is a line with its name, one with its length, and lines of
 * hexadecimal digits, as ImageMagick writes it: "\nexif\n      94\n45786966...". The bytes replace the digits in text.
 */
static int profile_orientation(uint8_t *text, size_t size)
{
    size_t at = 0, digits = 0, lines = 0;
    while (at < size && text[at] == '\n')
        at++;
    while (at < size && lines < 2)
        lines += text[at++] == '\n';
    for (int high = 0; at < size; at++) {
        int value = bl_text_hex_digit((char)text[at]);
        if (value < 0)
            continue;
        if (digits % 2)
            text[digits / 2] = (uint8_t)(high << 4 | value);
        high = value;
        digits++;
    }
    return exif_orientation((struct image_span){text, digits / 2});
}

/* Finds the content of a text chunk, which may be compressed. Returns false if it is no profile of EXIF. Behind the
 * keyword, zTXt has a method, and iTXt a flag, a method, a language and a translated keyword. */
static bool text_find_profile(struct image_span name, struct image_span chunk, struct image_span *content,
                              bool *deflated)
{
    struct image_span keyword = span_take_string(&chunk);
    bool international = span_begins(name, "iTXt", 4);
    if (!(keyword.size == 21 && memcmp(keyword.data, "Raw profile type exif", 21) == 0) &&
        !(keyword.size == 21 && memcmp(keyword.data, "Raw profile type APP1", 21) == 0))
        return false;
    *deflated = span_begins(name, "zTXt", 4) || (international && chunk.size && chunk.data[0]);
    if (*deflated || international)
        chunk = span_skip(chunk, international ? 2 : 1);
    if (international) {
        (void)span_take_string(&chunk); /* its language */
        (void)span_take_string(&chunk); /* its keyword in that language */
    }
    *content = chunk;
    return true;
}

/* Sets the orientation if the chunk's text is a profile of EXIF; otherwise leaves it. BL_EFAIL: out of memory. */
static int text_orientation(struct image_span name, struct image_span chunk, int *orientation, struct bl_error *e)
{
    struct image_span content;
    bool deflated;
    if (!text_find_profile(name, chunk, &content, &deflated))
        return BL_OK;
    uint8_t *text = malloc(TEXT_MAX);
    if (!text)
        return bl_error_memory(e);
    size_t size = content.size < TEXT_MAX ? content.size : TEXT_MAX;
    int code = BL_OK;
    if (deflated)
        code = bl_inflate_prefix(content.data, content.size, text, TEXT_MAX, &size, e);
    else
        memcpy(text, content.data, size);
    if (!code)
        *orientation = profile_orientation(text, size);
    free(text);
    return code;
}

/* Sets the orientation by the chunk eXIf, or by the first text that turns the picture. A chunk is its length in 32
 * bits, its name, its content, and a checksum. */
static int png_orientation(struct image_span file, int *orientation, struct bl_error *e)
{
    /* The signature has 8 bytes. */
    for (struct image_span s = span_skip(file, 8); s.size >= 12 && AV_RB32(s.data) <= s.size - 12;) {
        struct image_span chunk = {s.data + 8, AV_RB32(s.data)}, name = span_skip(s, 4);
        bool is_text = span_begins(name, "tEXt", 4) || span_begins(name, "zTXt", 4) || span_begins(name, "iTXt", 4);
        if (span_begins(name, "eXIf", 4)) {
            *orientation = exif_orientation(chunk);
            break;
        }
        if (is_text && *orientation == 1)
            BL_TRY(text_orientation(name, chunk, orientation, e));
        s = span_skip(s, 12 + chunk.size);
    }
    return BL_OK;
}

int bl_image_orientation(const uint8_t *data, size_t size, int *orientation, struct bl_error *e)
{
    struct image_span file = {data, size};
    *orientation = 1;
    if (span_begins(file, "\x89PNG", 4))
        return png_orientation(file, orientation, e);
    if (span_begins(file, "\xff\xd8", 2))
        *orientation = jpeg_orientation(file);
    else if (span_begins(span_skip(file, 8), "WEBP", 4))
        *orientation = webp_orientation(file);
    else
        *orientation = exif_orientation(file); /* TIFF has the tag itself */
    return BL_OK;
}

/* Replaces the display matrix of a frame by that of an orientation. The table has the matrix of each orientation of
 * EXIF, in 16.16 fixed point without the factor: {a, b, c, d} maps a pixel (x, y) to (a x + c y, b x + d y). */
static int image_set_orientation(AVFrame *frame, int orientation, struct bl_error *e)
{
    static const int8_t turns[9][4] = {{1, 0, 0, 1}, {1, 0, 0, 1},  {-1, 0, 0, 1},  {-1, 0, 0, -1}, {1, 0, 0, -1},
                                       {0, 1, 1, 0}, {0, 1, -1, 0}, {0, -1, -1, 0}, {0, -1, 1, 0}};
    const int8_t *turn = turns[orientation];
    /* 1.0 in 16.16 and, for the last element, in 2.30 fixed point, as in MP4. */
    const int32_t one = 1 << 16;
    const int32_t matrix[9] = {turn[0] * one, turn[1] * one, 0, turn[2] * one, turn[3] * one, 0, 0, 0, 1 << 30};
    av_frame_remove_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX);
    if (orientation <= 1)
        return BL_OK;
    AVFrameSideData *side = av_frame_new_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX, sizeof matrix);
    if (!side)
        return bl_error_memory(e);
    memcpy(side->data, matrix, sizeof matrix);
    return BL_OK;
}

/* --- reduced JPEG ------------------------------------------------------------------------------------------------- */

/* Decodes by libjpeg-turbo. *done: as bl_jpeg_decode_reduced. Warnings count as faults, since FFmpeg then decides about
 * a damaged file, and LIMITSCANS bounds the time of a file with many scans. */
static int jpeg_decode(tjhandle handle, const uint8_t *data, size_t size, int shift, bool grey, AVFrame *frame,
                       bool *done, struct bl_error *e)
{
    const tjscalingfactor factor = {1, 1 << shift};
    int width, height, sampling, colours;
    if (tjDecompressHeader3(handle, data, size, &width, &height, &sampling, &colours) != 0 || colours == TJCS_CMYK ||
        colours == TJCS_YCCK)
        return BL_OK;
    /* Only a JPEG that is grey itself is decoded as grey; this tool converts colours itself. */
    grey = grey && colours == TJCS_GRAY;
    frame->format = grey ? AV_PIX_FMT_GRAY8 : AV_PIX_FMT_RGB24;
    frame->width = TJSCALED(width, factor);
    frame->height = TJSCALED(height, factor);
    if (av_frame_get_buffer(frame, 0) < 0)
        return bl_error_memory(e);
    *done =
        tjDecompress2(handle, data, size, frame->data[0], frame->width, frame->linesize[0], frame->height,
                      grey ? TJPF_GRAY : TJPF_RGB, TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) == 0;
    if (!*done && bl_error_memory_seen())
        return bl_error_memory(e);
    return BL_OK;
}

int bl_jpeg_decode_reduced(const uint8_t *data, size_t size, int shift, bool grey, AVFrame *frame, bool *done,
                           struct bl_error *e)
{
    *done = false;
    bl_error_memory_watch();
    tjhandle handle = tjInitDecompress();
    if (!handle)
        return bl_error_memory(e);
    int code = jpeg_decode(handle, data, size, shift, grey, frame, done, e);
    (void)tjDestroy(handle);
    /* A frame that was filled partly is not used. */
    if (!*done || code)
        av_frame_unref(frame);
    return code;
}

/* --- chroma of WebP ----------------------------------------------------------------------------------------------- */

/* Makes four pixels of each chroma sample: a pixel is 9 parts of the nearest sample, 3 of each sample beside it, and 1
 * of the fourth, of 16 parts in all ("fancy upsampling" in libwebp). Beyond the edges, the first and the last sample
 * repeat. near: the nearest line of chroma, far: the second nearest one. */
static void plane_upsample(const AVFrame *from, int plane, AVFrame *to)
{
    int last_line = (from->height + 1) / 2 - 1, last = (from->width + 1) / 2 - 1;
    for (int y = 0; y < from->height; y++) {
        int line = y / 2, behind = y % 2 ? line + 1 : line - 1;
        behind = behind < 0 ? 0 : behind > last_line ? last_line : behind;
        const uint8_t *near = from->data[plane] + (ptrdiff_t)line * from->linesize[plane];
        const uint8_t *far = from->data[plane] + (ptrdiff_t)behind * from->linesize[plane];
        uint8_t *out = to->data[plane] + (ptrdiff_t)y * to->linesize[plane];
        for (int x = 0; x < from->width; x++) {
            int at = x / 2, beside = x % 2 ? at + 1 : at - 1;
            beside = beside < 0 ? 0 : beside > last ? last : beside;
            out[x] = (uint8_t)((9 * near[at] + 3 * near[beside] + 3 * far[at] + far[beside] + 8) >> 4);
        }
    }
}

/* Copies a plane of the size of the picture. */
static void plane_copy(const AVFrame *from, int plane, AVFrame *to)
{
    for (int y = 0; y < from->height; y++)
        memcpy(to->data[plane] + (ptrdiff_t)y * to->linesize[plane],
               from->data[plane] + (ptrdiff_t)y * from->linesize[plane], (size_t)from->width);
}

/* Replaces a frame of YUV 4:2:0, as FFmpeg decodes lossy WebP, by one of 4:4:4, whose chroma is libwebp's to the bit:
 * sited in the centre of four pixels, interpolated, and rounded to 8 bits. It has transparency only if that is wanted.
 * Other frames stay as they are. */
static int webp_upsample(AVFrame *frame, bool with_alpha, struct bl_error *e)
{
    if (frame->format != AV_PIX_FMT_YUV420P && frame->format != AV_PIX_FMT_YUVA420P)
        return BL_OK;
    AVFrame *wide = av_frame_alloc();
    if (!wide)
        return bl_error_memory(e);
    with_alpha = with_alpha && frame->format == AV_PIX_FMT_YUVA420P;
    wide->format = with_alpha ? AV_PIX_FMT_YUVA444P : AV_PIX_FMT_YUV444P;
    wide->width = frame->width;
    wide->height = frame->height;
    wide->color_range = AVCOL_RANGE_MPEG; /* libwebp knows no other, whatever a header says */
    wide->colorspace = AVCOL_SPC_BT470BG;
    if (av_frame_get_buffer(wide, 0) < 0) {
        av_frame_free(&wide);
        return bl_error_memory(e);
    }
    /* Luma and transparency have their full size already. */
    plane_copy(frame, 0, wide);
    if (with_alpha)
        plane_copy(frame, 3, wide);
    plane_upsample(frame, 1, wide);
    plane_upsample(frame, 2, wide);
    av_frame_unref(frame);
    av_frame_move_ref(frame, wide);
    av_frame_free(&wide);
    return BL_OK;
}

/* --- images ------------------------------------------------------------------------------------------------------- */

#define BYTES_MAX ((int64_t)256 << 20) /* of an image file, which is read into memory */
#define SCANS_MAX 1000                 /* of a JPEG; encoders make about ten */
#define RGB_BITS 24                    /* of a pixel that libjpeg-turbo decodes */
#define ALPHA_BITS 8                   /* of a pixel's opacity that stays when the chroma of WebP is upsampled */
#define AREA_ALIGNED 64                /* pixels that decoders add to the right and below */

/* Returns the codec by the first bytes of the file, whatever the file's name is. */
static enum AVCodecID image_codec(const AVPacket *packet)
{
    static const struct {
        size_t at, size;
        const char *bytes;
        enum AVCodecID codec;
    } known[] = {{0, 3, "\xff\xd8\xff", AV_CODEC_ID_MJPEG}, {0, 8, "\x89PNG\r\n\x1a\n", AV_CODEC_ID_PNG},
                 {8, 4, "WEBP", AV_CODEC_ID_WEBP},          {0, 4, "II*\0", AV_CODEC_ID_TIFF},
                 {0, 4, "MM\0*", AV_CODEC_ID_TIFF},         {0, 2, "BM", AV_CODEC_ID_BMP}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if ((size_t)packet->size >= known[i].at + known[i].size &&
            memcmp(packet->data + known[i].at, known[i].bytes, known[i].size) == 0)
            return known[i].codec;
    }
    return AV_CODEC_ID_NONE;
}

int bl_image_verify(const struct bl_image *image, const struct bl_input_file *file, const char *path,
                    struct bl_error *e)
{
    struct stat status;
    if (bl_input_file_restat(file, &status) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    if (!S_ISREG(status.st_mode))
        return bl_error_set(e, BL_EDATA, "not a regular file");
    int64_t time = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    if (status.st_size != image->bytes || (image->modified != BL_IMAGE_TIME_UNKNOWN && time != image->modified))
        return bl_error_set(e, BL_EFAIL, "%s: changed since it was listed", path);
    return BL_OK;
}

/* What the decoder of an image learns from the header: an image with a known header may not grow while it is decoded.
 */
struct image_setup {
    int64_t area;    /* pixels, the most that the decoder may take the image for */
    int64_t shorter; /* pixels, of the two sides; 0: not known */
    int depth;       /* bits of a component; 0: not known */
    bool is_known;   /* the header is */
};

/* Checks that an image has the pixels of these channels. Numbers stay as they are, or the image is refused: 8 bits
 * times 257 would be no distances, and the palette's colours no classes. BL_EDATA. */
static int image_check_pixels(const struct bl_image_header *h, enum bl_channels channels, struct bl_error *e)
{
    static const struct {
        const char *kept, *other;
    } texts[] = {[BL_CHANNELS_GRAY16] = {"16-bit grey PNG and TIFF", "gray or rgb"},
                 [BL_CHANNELS_INDEX] = {"palettes and grey of up to 8 bits in PNG, TIFF and BMP", "rgb"},
                 [BL_CHANNELS_RGB16] = {"16-bit RGB PNG and TIFF", "rgb"},
                 [BL_CHANNELS_DEPTH] = {"16-bit grey PNG and TIFF", "gray or rgb"},
                 [BL_CHANNELS_FLOW] = {".flo files", "rgb"}};
    const bool is_kept[] = {[BL_CHANNELS_GRAY16] = h->exact,
                            [BL_CHANNELS_INDEX] = h->indexed,
                            [BL_CHANNELS_RGB16] = h->exact_rgb,
                            [BL_CHANNELS_DEPTH] = h->exact,
                            [BL_CHANNELS_FLOW] = false};
    if (channels == BL_CHANNELS_RGBA && h->alpha_unread)
        return bl_error_set(
            e, BL_EDATA,
            "its alpha is of a form that is not read (TIFF with ExtraSamples 0 or 1, PNG of 1 bit): write "
            "it as PNG in RGBA; --pixels rgb leaves it out");
    if (!bl_channels_keep_numbers(channels) || is_kept[channels])
        return BL_OK;
    const char *other = channels == BL_CHANNELS_INDEX && h->exact         ? "gray16"
                        : channels == BL_CHANNELS_RGB16 && h->depth == 16 ? "gray16"
                                                                          : texts[channels].other;
    return bl_error_set(
        e, BL_EDATA, "%d bits%s: --pixels %s keeps %s as they are, and converts nothing to it; --pixels %s takes this",
        h->depth, h->grey ? " of grey" : "", bl_channels_choices[channels], texts[channels].kept, other);
}

/* Checks that the image is of a supported format, fits the memory limit and has the wanted pixels, and reserves the
 * memory that decoding takes. BL_EDATA: the image cannot be used. */
static int image_check_header(const struct bl_image *image, const struct bl_input_file *file, const char *path,
                              enum bl_channels channels, const struct bl_kind_env *env, struct image_setup *setup,
                              struct bl_error *e)
{
    struct bl_image_header header;
    bool found;
    *setup = (struct image_setup){.area = BL_AREA_MAX};
    int code = bl_image_header_read(file, image->bytes, path, &header, &found, e);
    if (!code && header.unsupported[0])
        code = bl_error_set(e, BL_EDATA, "not supported: %s", header.unsupported);
    /* An unknown header is left to the decoder, which has its own limits. */
    if (code || !found)
        return code;
    setup->is_known = true;
    if ((channels == BL_CHANNELS_GRAY || channels == BL_CHANNELS_RGBA) && header.bits < RGB_BITS)
        header.bits = RGB_BITS;
    if (channels == BL_CHANNELS_RGBA)
        header.beside += ALPHA_BITS;
    setup->depth = header.depth;
    setup->shorter = header.width < header.height ? header.width : header.height;
    int64_t needed = bl_image_header_memory(&header, image->bytes);
    BL_TRY(bl_decoder_memory_check_picture(header.width, header.height, needed, env->decoder_memory, e));
    if (env->decoder_memory)
        setup->area = (header.width + AREA_ALIGNED) * (header.height + AREA_ALIGNED);
    BL_TRY(image_check_pixels(&header, channels, e));
    return bl_reservation_need(env->reservation, needed, e);
}

/* A file that cannot be opened, or has changed, is left to the reader, which reports it. */
int bl_image_check(const struct bl_image *image, const char *path, enum bl_channels channels,
                   const struct bl_kind_env *env, bool *is_known, struct bl_error *e)
{
    struct image_setup setup = {0};
    struct bl_input_file file;
    int code = BL_OK;
    if (bl_input_file_open(&file, path) != 0)
        return BL_OK;
    if (S_ISREG(file.status.st_mode) && file.status.st_size == image->bytes)
        code = image_check_header(image, &file, path, channels, env, &setup, e);
    bl_input_file_close(&file);
    if (is_known)
        *is_known = setup.is_known;
    return code;
}

/* Reads the file into the packet, after its header is checked. The sizes and times before and after reading must be
 * those of the list. */
static int image_load(const struct bl_image *image, const struct bl_input_file *file, const char *path,
                      enum bl_channels channels, const struct bl_kind_env *env, struct image_setup *setup,
                      AVPacket *packet, struct bl_error *e)
{
    BL_TRY(bl_image_verify(image, file, path, e));
    if (image->bytes == 0)
        return bl_error_set(e, BL_EDATA, "empty file");
    if (image->bytes > BYTES_MAX)
        return bl_error_set(e, BL_EDATA, "an image of %" PRId64 " bytes", image->bytes);
    BL_TRY(image_check_header(image, file, path, channels, env, setup, e));
    if (av_new_packet(packet, (int)image->bytes) < 0)
        return bl_error_memory(e);
    BL_TRY(bl_input_file_get(file, packet->data, (size_t)image->bytes, 0, path, e));
    return bl_image_verify(image, file, path, e);
}

/* Opens a decoder for the file in the packet. The decoder must refuse damage rather than return a part of the picture.
 * area: the most pixels that it accepts. The caller frees *context in any case. */
static int image_open_codec(AVCodecContext **context, const AVPacket *packet, int64_t area, struct bl_error *e)
{
    const AVCodec *decoder = avcodec_find_decoder(image_codec(packet));
    if (!decoder) {
        const char *archive = bl_archive_detect(packet->data, (size_t)packet->size);
        return bl_error_set(e, BL_EDATA, "%s", archive ? archive : "not an image that can be read");
    }
    *context = avcodec_alloc_context3(decoder);
    if (!*context)
        return bl_error_memory(e);
    (*context)->thread_count = 1;
    (*context)->err_recognition = AV_EF_EXPLODE | AV_EF_CRCCHECK;
    (*context)->max_pixels = area;
    int code = avcodec_open2(*context, decoder, NULL);
    if (bl_demux_is_memory(code))
        return bl_error_memory(e);
    return code < 0 ? bl_error_set(e, BL_EDATA, "the %s decoder cannot be opened", decoder->name) : BL_OK;
}

/* Decodes the only packet of the file into the frame. BL_EDATA: the file is damaged, or of a format that FFmpeg does
 * not know. */
static int image_decode_packet(AVCodecContext *context, AVPacket *packet, AVFrame *frame, struct bl_error *e)
{
    int code = avcodec_send_packet(context, packet);
    if (code >= 0)
        code = avcodec_send_packet(context, NULL); /* there is no other */
    if (code >= 0)
        code = avcodec_receive_frame(context, frame);
    if (bl_demux_is_memory(code))
        return bl_error_memory(e);
    if (code == AVERROR_PATCHWELCOME)
        return bl_error_set(e, BL_EDATA,
                            "not supported, or damaged: FFmpeg does not know this form of %s: convert it to PNG",
                            avcodec_get_name(context->codec_id));
    if (code < 0 || frame->decode_error_flags || frame->flags & AV_FRAME_FLAG_CORRUPT)
        return bl_error_set(e, BL_EDATA, "damaged image");
    return BL_OK;
}

/* Returns whether a BMP may have transparency: it does if masks say which bits have it (compression BITFIELDS).
 * Otherwise the fourth byte of a pixel is unused, whatever it is. */
static bool bmp_has_alpha(const AVPacket *packet)
{
    enum { COMPRESSION = 30, BITFIELDS = 3 };
    return packet->size >= COMPRESSION + 4 && AV_RL32(packet->data + COMPRESSION) == BITFIELDS;
}

/* Makes the numbers of 2 or 4 bits of a grey image again what they are in the file: decoders widen them to 0 to 255. */
static int image_narrow(AVFrame *frame, int depth, struct bl_error *e)
{
    bool has_alpha = frame->format == AV_PIX_FMT_YA8;
    if ((frame->format != AV_PIX_FMT_GRAY8 && !has_alpha) || depth < 1 || depth > 7)
        return BL_OK;
    if (av_frame_make_writable(frame) < 0)
        return bl_error_memory(e);
    int widest = UINT8_MAX / ((1 << depth) - 1); /* 85 for 2 bits, 17 for 4 */
    for (int y = 0; y < frame->height; y++) {
        uint8_t *row = frame->data[0] + (ptrdiff_t)y * frame->linesize[0];
        for (int x = 0; x < frame->width; x++, row += 1 + has_alpha)
            *row = (uint8_t)(*row / widest);
    }
    return BL_OK;
}

/* Decodes the file in the packet by FFmpeg. Before that, the parts are removed that a strict decoder refuses and that
 * do not matter for the pixels. */
static int image_decode_whole(AVPacket *packet, const struct image_setup *setup, enum bl_channels channels,
                              AVFrame *frame, struct bl_error *e)
{
    AVCodecContext *context = NULL;
    int code = image_open_codec(&context, packet, setup->area, e);
    if (code)
        goto out;
    if (context->codec_id == AV_CODEC_ID_PNG)
        av_shrink_packet(packet, (int)bl_png_drop_notes(packet->data, (size_t)packet->size));
    if (context->codec_id == AV_CODEC_ID_TIFF) {
        bl_tiff_drop_notes(packet->data, (size_t)packet->size);
        bl_tiff_widen_palette(packet->data, (size_t)packet->size);
    }
    if (context->codec_id == AV_CODEC_ID_TIFF && bl_channels_keep_numbers(channels))
        bl_tiff_keep_numbers(packet->data, (size_t)packet->size);
    bool has_alpha = context->codec_id != AV_CODEC_ID_BMP || bmp_has_alpha(packet);
    code = image_decode_packet(context, packet, frame, e);
    if (!code && !has_alpha && frame->format == AV_PIX_FMT_BGRA)
        frame->format = AV_PIX_FMT_BGR0; /* the same bytes */
    if (!code && context->codec_id == AV_CODEC_ID_WEBP)
        code = webp_upsample(frame, channels == BL_CHANNELS_RGBA, e);
    if (!code && channels == BL_CHANNELS_INDEX)
        code = image_narrow(frame, setup->depth, e);
out:
    avcodec_free_context(&context);
    return code;
}

/* Decodes the image and sets its orientation. The orientation is read first, since decoding removes it from the packet.
 * Each scan of a JPEG is a pass over all of the picture, however few bytes it has, so their number is limited. */
static int image_decode_upright(AVPacket *packet, const struct image_setup *setup, struct bl_image_wanted wanted,
                                AVFrame *frame, struct bl_error *e)
{
    bool grey = wanted.channels == BL_CHANNELS_GRAY, rgba = wanted.channels == BL_CHANNELS_RGBA, done = false;
    int orientation, shift = 0;
    BL_TRY(bl_image_orientation(packet->data, (size_t)packet->size, &orientation, e));
    if (image_codec(packet) == AV_CODEC_ID_MJPEG) {
        const uint8_t *at = packet->data, *end = at + packet->size;
        for (int scans = 1; (at = memmem(at, (size_t)(end - at), "\xff\xda", 2)); at += 2) {
            if (scans++ > SCANS_MAX)
                return bl_error_set(e, BL_EDATA, "a JPEG of more than %d scans", SCANS_MAX);
        }
        /* Halves the picture while its shorter side stays long enough. */
        while (shift < wanted.shift && setup->shorter >> (shift + 1) >= wanted.side)
            shift++;
        if (shift || grey || rgba) /* Pillow's pixels, which are libjpeg-turbo's */
            BL_TRY(bl_jpeg_decode_reduced(packet->data, (size_t)packet->size, shift, grey, frame, &done, e));
    }
    if (!done)
        BL_TRY(image_decode_whole(packet, setup, wanted.channels, frame, e));
    return image_set_orientation(frame, orientation, e);
}

int bl_image_decode(const struct bl_image *image, const char *path, struct bl_image_wanted wanted,
                    const struct bl_kind_env *env, AVFrame *frame, struct bl_error *e)
{
    struct image_setup setup = {0};
    AVPacket *packet = av_packet_alloc();
    bl_demux_silence_logs();
    bl_decoder_memory_limit_parts(env->decoder_memory);
    if (!packet)
        return bl_error_memory(e);
    int code;
    struct bl_input_file file;
    if (bl_input_file_open(&file, path) != 0) {
        /* The listing has no bytes for these, so that no content can have changed. */
        bool unusable = image->bytes == 0 && (errno == ENOENT || errno == ENXIO); /* a dangling link, a socket */
        code = bl_opener_fail("cannot open", path, unusable ? BL_EDATA : BL_EFAIL, e);
        goto out;
    }
    code = image_load(image, &file, path, wanted.channels, env, &setup, packet, e);
    if (!code)
        code = image_decode_upright(packet, &setup, wanted, frame, e);
out:
    bl_input_file_close(&file);
    av_packet_free(&packet);
    return code;
}
