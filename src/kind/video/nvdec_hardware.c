/* Creates, reconfigures and chooses hardware decoders; nvdec_hardware.h has the contract. */
#include "kind/video/nvdec_hardware.h"

#include "base/process.h"

#define EXTRA_OUTPUTS 8  /* pictures that the reader holds, beyond those that become ready at once */
#define SHARED_SIDE 2048 /* a decoder is made for the largest stream so far, but for one beyond this only if needed */
#define SMALL_AREA (1280 * 720)
#define SMALL_SURFACES 22u /* as many as any stream of H.264 needs, so that small streams share decoders */

static const CuvidFunctions *pool_video(const struct bl_hardware_pool *p)
{
    return p->device->driver->video;
}

/* Destroys a hardware decoder; its slot is free then. The caller has entered the device. */
static void hardware_destroy(struct bl_hardware_pool *p, struct bl_hardware *h)
{
    if (h->handle)
        (void)pool_video(p)->cuvidDestroyDecoder(h->handle);
    for (int i = 0; i < BL_HARDWARE_SURFACES; i++) {
        if (h->copied[i])
            (void)p->device->driver->cuda->cuEventDestroy(h->copied[i]);
    }
    *h = (struct bl_hardware){0};
}

int bl_hardware_destroy(struct bl_hardware_pool *p, enum bl_hardware_which which)
{
    int destroyed = 0;
    for (int i = 0; i < BL_HARDWARE_KEPT; i++) {
        struct bl_hardware *h = &p->kept[i];
        bool chosen = which == BL_HARDWARE_ALL || (which == BL_HARDWARE_IDLE ? !h->mapped : h->faulty);
        if (!h->handle || !chosen)
            continue;
        hardware_destroy(p, h);
        destroyed++;
    }
    return destroyed;
}

unsigned bl_format_depth(const CUVIDEOFORMAT *f)
{
    return f->bit_depth_luma_minus8 > f->bit_depth_chroma_minus8 ? f->bit_depth_luma_minus8
                                                                 : f->bit_depth_chroma_minus8;
}

bool bl_format_is_444(const CUVIDEOFORMAT *f)
{
    return f->chroma_format == cudaVideoChromaFormat_444;
}

/* Returns the format of mapped pictures. */
static cudaVideoSurfaceFormat format_surface(const CUVIDEOFORMAT *f)
{
    if (bl_format_is_444(f))
        return bl_format_depth(f) ? cudaVideoSurfaceFormat_YUV444_16Bit : cudaVideoSurfaceFormat_YUV444;
    return bl_format_depth(f) ? cudaVideoSurfaceFormat_P016 : cudaVideoSurfaceFormat_NV12;
}

static bool hardware_is_kind(const struct bl_hardware *h, const CUVIDEOFORMAT *f)
{
    return h->made.CodecType == f->codec && h->made.ChromaFormat == f->chroma_format &&
           h->made.bitDepthMinus8 == bl_format_depth(f);
}

bool bl_hardware_fits(const struct bl_hardware *h, const CUVIDEOFORMAT *f, unsigned surfaces)
{
    return hardware_is_kind(h, f) && f->coded_width <= h->made.ulMaxWidth && f->coded_height <= h->made.ulMaxHeight &&
           surfaces <= h->made.ulNumDecodeSurfaces;
}

/* Describes how to create a decoder for sequences of this format and size. */
static CUVIDDECODECREATEINFO hardware_describe(const CUVIDEOFORMAT *f, unsigned surfaces, unsigned max_width,
                                               unsigned max_height)
{
    return (CUVIDDECODECREATEINFO){.ulWidth = f->coded_width,
                                   .ulHeight = f->coded_height,
                                   .ulMaxWidth = max_width,
                                   .ulMaxHeight = max_height,
                                   .ulNumDecodeSurfaces = surfaces,
                                   .ulNumOutputSurfaces = surfaces + EXTRA_OUTPUTS,
                                   .CodecType = f->codec,
                                   .ChromaFormat = f->chroma_format,
                                   .bitDepthMinus8 = bl_format_depth(f),
                                   .OutputFormat = format_surface(f),
                                   .ulTargetWidth = f->coded_width,
                                   .ulTargetHeight = f->coded_height};
}

/* Returns the stream that the capabilities are asked about. */
static struct bl_gpu_stream format_stream(enum AVCodecID codec, const CUVIDEOFORMAT *f)
{
    static const enum AVPixelFormat formats[2][3] = {{AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV420P12},
                                                     {AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV444P10, AV_PIX_FMT_YUV444P12}};
    unsigned depth = bl_format_depth(f);
    bool known = (f->chroma_format == cudaVideoChromaFormat_420 || bl_format_is_444(f)) && depth <= 4 && depth % 2 == 0;
    return (struct bl_gpu_stream){codec, known ? formats[bl_format_is_444(f)][depth / 2] : AV_PIX_FMT_NONE,
                                  (int)f->coded_width, (int)f->coded_height};
}

/* Creates a hardware decoder in a free slot: for the largest size and the most surfaces that `old` or any stream so far
 * had, and if the memory is not enough for that, for this sequence alone. Errors: BL_GPU_FULL, BL_EFAIL; BL_EDATA if
 * the GPU cannot decode the format. */
static int hardware_create(struct bl_hardware_pool *p, struct bl_hardware *h, const struct bl_hardware *old,
                           enum AVCodecID codec, const CUVIDEOFORMAT *f, unsigned surfaces, struct bl_error *e)
{
    struct bl_gpu_stream stream = format_stream(codec, f), largest = stream;
    bool can = false;
    if (stream.format != AV_PIX_FMT_NONE)
        BL_TRY(bl_caps_can_decode(p->caps, p->device, &stream, &can, e));
    if (!can)
        return bl_error_set(e, BL_EDATA, "the GPU does not decode it from some frame on (%s, %u bits, %ux%u)",
                            avcodec_get_name(codec), bl_format_depth(f) + 8, f->coded_width, f->coded_height);
    bl_caps_raise(p->caps, &stream, SHARED_SIDE, &largest.width, &largest.height);
    largest.width = FFMAX(largest.width, (int)FFMAX(old->made.ulMaxWidth, f->coded_width));
    largest.height = FFMAX(largest.height, (int)FFMAX(old->made.ulMaxHeight, f->coded_height));
    BL_TRY(bl_caps_can_decode(p->caps, p->device, &largest, &can, e));
    if (!can)
        largest = stream;
    if (surfaces > BL_HARDWARE_SURFACES)
        return bl_error_set(e, BL_EDATA, "it needs %u decode surfaces, more than any GPU has", surfaces);
    unsigned most = (unsigned)FFMAX(old->made.ulNumDecodeSurfaces, surfaces);
    if (largest.width * largest.height <= SMALL_AREA)
        most = FFMAX(most, SMALL_SURFACES);
    CUVIDDECODECREATEINFO info = hardware_describe(f, most, (unsigned)largest.width, (unsigned)largest.height);
    CUvideodecoder handle = NULL;
    CUresult result;
    double begun = bl_seconds_now();
    do
        result = pool_video(p)->cuvidCreateDecoder(&handle, &info);
    while (result == BL_DRIVER_OUT_OF_MEMORY && bl_hardware_destroy(p, BL_HARDWARE_IDLE));
    if (result == BL_DRIVER_OUT_OF_MEMORY) {
        info = hardware_describe(f, surfaces, f->coded_width, f->coded_height);
        result = pool_video(p)->cuvidCreateDecoder(&handle, &info);
    }
    if (result == BL_DRIVER_OUT_OF_MEMORY)
        return BL_GPU_FULL;
    BL_TRY(bl_device_check(p->device, "create a decoder", result, e));
    bl_decoder_counts_add(p->device->driver->counts, bl_seconds_now() - begun);
    *h = (struct bl_hardware){.handle = handle, .made = info, .width = f->coded_width, .height = f->coded_height};
    return BL_OK;
}

/* Configures a decoder that fits for the size of the sequence. */
static int hardware_configure(struct bl_hardware_pool *p, struct bl_hardware *h, const CUVIDEOFORMAT *f,
                              struct bl_error *e)
{
    bool same = h->width == f->coded_width && h->height == f->coded_height;
    p->device->driver->counts->reused += same;
    if (same)
        return BL_OK;
    CUVIDRECONFIGUREDECODERINFO info = {
        .ulWidth = f->coded_width,
        .ulHeight = f->coded_height,
        .ulTargetWidth = f->coded_width,
        .ulTargetHeight = f->coded_height,
        .ulNumDecodeSurfaces = (unsigned)h->made.ulNumDecodeSurfaces,
        .display_area = {.right = (short)f->coded_width, .bottom = (short)f->coded_height}};
    BL_TRY(bl_device_check(p->device, "reconfigure a decoder", pool_video(p)->cuvidReconfigureDecoder(h->handle, &info),
                           e));
    p->device->driver->counts->reconfigured++;
    h->width = f->coded_width;
    h->height = f->coded_height;
    return BL_OK;
}

/* Returns the slot for a new decoder: that of an idle one of the kind, which is too small; or else a free one; or else
 * that of the idle one that was least recently used. NULL: pictures of all are mapped. */
static struct bl_hardware *hardware_find_slot(struct bl_hardware_pool *p, const CUVIDEOFORMAT *f)
{
    struct bl_hardware *found = NULL;
    for (int i = 0; i < BL_HARDWARE_KEPT; i++) {
        struct bl_hardware *h = &p->kept[i];
        if (h->mapped)
            continue;
        if (h->handle && hardware_is_kind(h, f))
            return h;
        if (!found || (found->handle && (!h->handle || h->used < found->used)))
            found = h;
    }
    return found;
}

int bl_hardware_take(struct bl_hardware_pool *p, enum AVCodecID codec, const CUVIDEOFORMAT *f, unsigned surfaces,
                     struct bl_hardware **out, struct bl_error *e)
{
    struct bl_hardware *found = NULL;
    for (int i = 0; i < BL_HARDWARE_KEPT && !found; i++) {
        struct bl_hardware *h = &p->kept[i];
        if (h->handle && !h->mapped && bl_hardware_fits(h, f, surfaces))
            found = h;
    }
    if (found) {
        BL_TRY(hardware_configure(p, found, f, e));
    } else {
        found = hardware_find_slot(p, f);
        if (!found)
            return bl_error_set(e, BL_EFAIL, "more decoders are in use than a worker has");
        struct bl_hardware old = *found;
        if (!hardware_is_kind(&old, f))
            old = (struct bl_hardware){0};
        hardware_destroy(p, found);
        BL_TRY(hardware_create(p, found, &old, codec, f, surfaces, e));
    }
    found->used = ++p->clock;
    *out = found;
    return BL_OK;
}
