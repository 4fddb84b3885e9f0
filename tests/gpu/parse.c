/* Decodes a file with the driver's parser, and writes what is shown to standard output, in that order: NV12, with more
 * than 8 bits P016, of 4:4:4 three planes. It is what tests compare with the processor's frames, to show that the test
 * doubles give each picture in its place, also where nothing of the tool is used.
 *
 *     parse FILE [late]       late: maps each picture only when the next one is shown, which is too late
 *
 * Each frame's timestamp, which is that of its packet, goes to standard error, with its size. */
#include <ffnvcodec/dynlink_loader.h>
#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELAY 4

static CudaFunctions *cuda;
static CuvidFunctions *video;
static CUvideodecoder decoder;
static CUVIDDECODECREATEINFO made;
static CUVIDEOFORMAT format;
static CUVIDPARSERDISPINFO last;
static bool late, has_last;

static void must(bool well, const char *what)
{
    if (well)
        return;
    fprintf(stderr, "parse: %s\n", what);
    exit(1);
}

/* --- decoders ----------------------------------------------------------------------------------------------------- */

static bool is_planar(void)
{
    return format.chroma_format == cudaVideoChromaFormat_444;
}

static void decoder_make(unsigned surfaces)
{
    bool deep = format.bit_depth_luma_minus8 > 0;
    if (decoder)
        must(!video->cuvidDestroyDecoder(decoder), "a decoder cannot be destroyed");
    made = (CUVIDDECODECREATEINFO){.ulWidth = format.coded_width,
                                   .ulHeight = format.coded_height,
                                   .ulMaxWidth = format.coded_width,
                                   .ulMaxHeight = format.coded_height,
                                   .ulNumDecodeSurfaces = surfaces,
                                   .ulNumOutputSurfaces = 2,
                                   .CodecType = format.codec,
                                   .ChromaFormat = format.chroma_format,
                                   .bitDepthMinus8 = format.bit_depth_luma_minus8,
                                   .OutputFormat = is_planar() ? deep ? cudaVideoSurfaceFormat_YUV444_16Bit
                                                                      : cudaVideoSurfaceFormat_YUV444
                                                   : deep      ? cudaVideoSurfaceFormat_P016
                                                               : cudaVideoSurfaceFormat_NV12,
                                   .ulTargetWidth = format.coded_width,
                                   .ulTargetHeight = format.coded_height};
    must(!video->cuvidCreateDecoder(&decoder, &made), "a decoder cannot be created");
}

static int CUDAAPI on_sequence(void *opaque, CUVIDEOFORMAT *is)
{
    (void)opaque;
    format = *is;
    unsigned surfaces = format.min_num_decode_surfaces;
    bool fits = decoder && format.coded_width <= made.ulMaxWidth && format.coded_height <= made.ulMaxHeight &&
                surfaces <= made.ulNumDecodeSurfaces && format.bit_depth_luma_minus8 == made.bitDepthMinus8 &&
                format.chroma_format == made.ChromaFormat;
    if (!fits) {
        decoder_make(surfaces);
        return (int)surfaces;
    }
    CUVIDRECONFIGUREDECODERINFO info = {.ulWidth = format.coded_width,
                                        .ulHeight = format.coded_height,
                                        .ulTargetWidth = format.coded_width,
                                        .ulTargetHeight = format.coded_height,
                                        .ulNumDecodeSurfaces = surfaces};
    must(!video->cuvidReconfigureDecoder(decoder, &info), "a decoder cannot be reconfigured");
    return (int)surfaces;
}

static int CUDAAPI on_decode(void *opaque, CUVIDPICPARAMS *picture)
{
    (void)opaque;
    return !video->cuvidDecodePicture(decoder, picture);
}

/* --- pictures ----------------------------------------------------------------------------------------------------- */

/* Writes the shown part of a plane that begins there, of samples with so many bytes. */
static void plane_write(CUdeviceptr from, unsigned pitch, int left, int top, int width, int height, size_t bytes)
{
    size_t row = (size_t)width * bytes;
    uint8_t *to = malloc(row * (size_t)height);
    must(to, "no memory");
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = from + (CUdeviceptr)top * pitch + (CUdeviceptr)left * bytes,
                          .srcPitch = pitch,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = to,
                          .dstPitch = row,
                          .WidthInBytes = row,
                          .Height = (size_t)height};
    must(!cuda->cuMemcpy2D(&copy) && fwrite(to, row, (size_t)height, stdout) == (size_t)height,
         "a plane is not copied");
    free(to);
}

static int picture_write(const CUVIDPARSERDISPINFO *shown)
{
    CUVIDPROCPARAMS process = {.progressive_frame = 1};
    unsigned long long address = 0;
    unsigned pitch = 0, rows = (format.coded_height + 1) / 2 * 2;
    size_t bytes = format.bit_depth_luma_minus8 ? 2 : 1;
    int left = format.display_area.left, top = format.display_area.top;
    int width = format.display_area.right - left, height = format.display_area.bottom - top;
    must(!video->cuvidMapVideoFrame(decoder, shown->picture_index, &address, &pitch, &process),
         "a picture is not mapped");
    CUVIDGETDECODESTATUS status = {0};
    bool damaged = !video->cuvidGetDecodeStatus(decoder, shown->picture_index, &status) &&
                   status.decodeStatus != cuvidDecodeStatus_Success;
    CUdeviceptr at = (CUdeviceptr)address, plane = (CUdeviceptr)pitch * rows;
    plane_write(at, pitch, left, top, width, height, bytes);
    if (is_planar()) {
        plane_write(at + plane, pitch, left, top, width, height, bytes);
        plane_write(at + 2 * plane, pitch, left, top, width, height, bytes);
    } else {
        plane_write(at + plane, pitch, left / 2, top / 2, (width + 1) / 2, (height + 1) / 2, 2 * bytes);
    }
    fprintf(stderr, "%lld %dx%d%s\n", shown->timestamp, width, height, damaged ? " damaged" : "");
    return !video->cuvidUnmapVideoFrame(decoder, address);
}

static int CUDAAPI on_display(void *opaque, CUVIDPARSERDISPINFO *shown)
{
    (void)opaque;
    int well = late && !has_last ? 1 : picture_write(late ? &last : shown);
    last = *shown;
    has_last = true;
    return well;
}

/* --- packets ------------------------------------------------------------------------------------------------------ */

static void parse(CUvideoparser parser, const uint8_t *bytes, size_t size, tcu_ulong flags, int64_t time)
{
    CUVIDSOURCEDATAPACKET data = {.flags = flags, .payload = bytes, .payload_size = size, .timestamp = time};
    must(!video->cuvidParseVideoData(parser, &data), "a packet is refused");
}

static cudaVideoCodec codec_of(enum AVCodecID id)
{
    switch (id) {
    case AV_CODEC_ID_MPEG1VIDEO:
        return cudaVideoCodec_MPEG1;
    case AV_CODEC_ID_MPEG2VIDEO:
        return cudaVideoCodec_MPEG2;
    case AV_CODEC_ID_MPEG4:
        return cudaVideoCodec_MPEG4;
    case AV_CODEC_ID_H264:
        return cudaVideoCodec_H264;
    case AV_CODEC_ID_HEVC:
        return cudaVideoCodec_HEVC;
    case AV_CODEC_ID_MJPEG:
        return cudaVideoCodec_JPEG;
    case AV_CODEC_ID_VP8:
        return cudaVideoCodec_VP8;
    case AV_CODEC_ID_VP9:
        return cudaVideoCodec_VP9;
    default:
        must(false, "it has another codec");
        return cudaVideoCodec_NumCodecs;
    }
}

static AVBSFContext *filter_open(const AVCodecParameters *parameters)
{
    const char *name = parameters->codec_id == AV_CODEC_ID_H264   ? "h264_mp4toannexb"
                       : parameters->codec_id == AV_CODEC_ID_HEVC ? "hevc_mp4toannexb"
                                                                  : "null";
    AVBSFContext *filter = NULL;
    must(!av_bsf_list_parse_str(name, &filter) && avcodec_parameters_copy(filter->par_in, parameters) >= 0 &&
             !av_bsf_init(filter),
         "no filter");
    return filter;
}

/* Feeds the packets of a file's stream of pictures to the parser. */
static void decode(CUvideoparser parser, AVFormatContext *file, int stream, AVBSFContext *filter)
{
    AVPacket *packet = av_packet_alloc();
    must(packet, "no memory");
    while (av_read_frame(file, packet) >= 0) {
        if (packet->stream_index != stream) {
            av_packet_unref(packet);
            continue;
        }
        must(!av_bsf_send_packet(filter, packet), "a packet is not filtered");
        while (!av_bsf_receive_packet(filter, packet)) {
            parse(parser, packet->data, (size_t)packet->size, packet->pts == AV_NOPTS_VALUE ? 0 : CUVID_PKT_TIMESTAMP,
                  packet->pts);
            av_packet_unref(packet);
        }
    }
    parse(parser, NULL, 0, CUVID_PKT_ENDOFSTREAM, 0);
    av_packet_free(&packet);
}

int main(int argc, char **argv)
{
    AVFormatContext *file = NULL;
    CUcontext context = NULL;
    CUvideoparser parser = NULL;
    av_log_set_level(AV_LOG_QUIET);
    must(argc >= 2, "it needs a file");
    late = argc > 2 && !strcmp(argv[2], "late");
    must(!avformat_open_input(&file, argv[1], NULL, NULL) && avformat_find_stream_info(file, NULL) >= 0,
         "the file cannot be opened");
    int stream = av_find_best_stream(file, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
    must(stream >= 0, "the file has no pictures");
    const AVCodecParameters *parameters = file->streams[stream]->codecpar;
    must(!cuda_load_functions(&cuda, NULL) && !cuvid_load_functions(&video, NULL), "no driver");
    must(!cuda->cuInit(0) && !cuda->cuCtxCreate(&context, 0, 0), "no GPU");
    CUVIDPARSERPARAMS info = {.CodecType = codec_of(parameters->codec_id),
                              .ulMaxNumDecodeSurfaces = 1,
                              .ulMaxDisplayDelay = DELAY,
                              .pfnSequenceCallback = on_sequence,
                              .pfnDecodePicture = on_decode,
                              .pfnDisplayPicture = on_display};
    must(!video->cuvidCreateVideoParser(&parser, &info), "no parser");
    AVBSFContext *filter = filter_open(parameters);
    if (filter->par_out->extradata_size)
        parse(parser, filter->par_out->extradata, (size_t)filter->par_out->extradata_size, 0, 0);
    decode(parser, file, stream, filter);
    av_bsf_free(&filter);
    avformat_close_input(&file);
    must(!video->cuvidDestroyVideoParser(parser), "the parser is not destroyed");
    must(!decoder || !video->cuvidDestroyDecoder(decoder), "the decoder is not destroyed");
    must(!cuda->cuCtxDestroy(context), "the context is not destroyed");
    cuda_free_functions(&cuda);
    cuvid_free_functions(&video);
    return 0;
}
