/* Which samples of a stream are to be heard: any bytes as a QuickTime file, and as an Ogg file behind the headers of
 * its stream of Vorbis. */
#include <libavcodec/avcodec.h>
#include <libavutil/mem.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "kind/media/extent.h"

static void check(const struct bl_extent *extent)
{
    never(extent->scale &&
          (extent->scale < 0 || extent->begin < 0 || extent->end < extent->begin || extent->origin < 0));
}

static void read_mov(const struct bl_media_file *file)
{
    struct bl_extent extent;
    struct bl_error e = {0};
    bool plain;
    never(bl_extent_read_mov(file, 1, &plain, &extent, &e) || (extent.scale && !plain));
    check(&extent);
}

static void read_ogg(const struct bl_media_file *file, const uint8_t *headers, size_t size)
{
    struct bl_extent extent;
    struct bl_error e = {0};
    AVCodecParameters *parameters = avcodec_parameters_alloc();
    never(!parameters);
    parameters->codec_id = AV_CODEC_ID_VORBIS;
    parameters->sample_rate = 16000;
    parameters->extradata = av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE);
    never(!parameters->extradata);
    memcpy(parameters->extradata, headers, size);
    parameters->extradata_size = (int)size;
    never(bl_extent_read_ogg(file, 0, parameters, &extent, &e));
    check(&extent);
    avcodec_parameters_free(&parameters);
}

/* The first two bytes say how many headers have. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t headers = size < 2 ? 0 : (size_t)data[0] << 8 | data[1];
    if (size < 2 || headers > size - 2)
        return 0;
    const uint8_t *body = data + 2 + headers;
    size_t bytes = size - 2 - headers;
    struct bl_media_file file = {.path = "fuzz", .bytes = (int64_t)bytes};
    char path[64];
    int fd = fuzz_file(body, bytes, path);
    never(bl_input_file_open(&file.input, path) != 0);
    read_mov(&file);
    read_ogg(&file, data + 2, headers);
    bl_input_file_close(&file.input);
    close(fd);
    return 0;
}
