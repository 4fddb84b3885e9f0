/* See convert.h. The way of a frame: planes.c shows it as planes; a zimg graph scales them, chroma to the size of
 * luma, into words; as each row comes out, colour.c makes it RGB and it is laid where the orientation puts it.
 *
 * zimg could do the colours too, but then it scales in floating point, twice as slow and with other bytes for every
 * instruction set. Asked to scale only, from what it believes to be limited range to 16 bits of it, it
 * shifts up and scales in integers: the range is applied afterwards, for scaling does not care. For the same reason RGB
 * goes as YUV without subsampling. */
#include "kind/video/convert.h"

#include <libavutil/mem.h>
#include <stdlib.h>
#include <string.h>
#include <zimg.h>

#include "kind/video/colour.h"
#include "kind/video/planes.h"

#define GRAPHS 8 /* kept: a stream needs one, a worker goes from stream to stream */

/* All that decides a graph; compared as bytes, so it is cleared before it is filled. */
struct graph_key {
    int planes, depth, bytes, sub_w, sub_h, chroma_location;
    int width, height; /* completed */
    int out_width, out_height;
    double x, y, active_width, active_height;
};

struct graph {
    struct graph_key key;
    zimg_filter_graph *zimg; /* NULL: the place is free */
    size_t temporary_bytes;
    unsigned lines; /* of output that zimg may have under way, a power of two, or ZIMG_BUFFER_MAX */
    uint64_t used;  /* the clock when it last was */
};

struct room {
    void *data;
    size_t bytes;
};

struct bl_convert {
    struct bl_convert_options options;
    struct graph graphs[GRAPHS];
    uint64_t clock;
    struct bl_planes planes;
    struct room temporary, lines, row;
};

/* One frame on its way; what zimg's callback needs. */
struct passage {
    const struct bl_convert *convert;
    const struct bl_colour *colour;
    const uint8_t *lines[3];
    ptrdiff_t line_stride; /* bytes */
    unsigned line_mask;
    uint8_t *origin;          /* where the scaled picture's first pixel goes */
    ptrdiff_t step_x, step_y; /* bytes from there to its next pixel, next row */
};

static int room_make(struct room *room, size_t bytes, struct bl_error *e)
{
    if (bytes <= room->bytes)
        return 0;
    av_freep(&room->data);
    room->bytes = 0;
    room->data = av_malloc(bytes); /* aligned for any SIMD level */
    if (!room->data)
        return bl_error_memory(e);
    room->bytes = bytes;
    return 0;
}

static int zimg_failed(const char *what, struct bl_error *e)
{
    char text[256] = "";
    zimg_error_code_e code = zimg_get_last_error(text, sizeof(text));
    zimg_clear_last_error();
    if (code == ZIMG_ERROR_OUT_OF_MEMORY)
        return bl_error_memory(e);
    return bl_error_set(e, BL_EFAIL, "zimg cannot %s: %s", what, text);
}

int bl_convert_open(struct bl_convert **convert, const struct bl_convert_options *options, struct bl_error *e)
{
    *convert = calloc(1, sizeof(**convert));
    if (!*convert)
        return bl_error_memory(e);
    (*convert)->options = *options;
    return 0;
}

void bl_convert_close(struct bl_convert *convert)
{
    if (!convert)
        return;
    for (int i = 0; i < GRAPHS; i++)
        zimg_filter_graph_free(convert->graphs[i].zimg);
    bl_planes_free(&convert->planes);
    av_free(convert->temporary.data);
    av_free(convert->lines.data);
    av_free(convert->row.data);
    free(convert);
}

int bl_convert_check(enum AVPixelFormat format, enum AVColorTransferCharacteristic transfer, enum AVColorSpace matrix,
                     const struct bl_convert_options *options, struct bl_error *e)
{
    struct bl_pixels layout = {.family = BL_FAMILY_YUV};
    int rc = format == AV_PIX_FMT_NONE ? 0 : bl_pixels_make(&layout, format, e);
    if (!rc && layout.family == BL_FAMILY_YUV)
        rc = bl_colour_check(matrix, e);
    if (rc || options->hdr_clip)
        return rc;
    if (transfer == AVCOL_TRC_SMPTE2084)
        return bl_error_set(e, BL_EDATA, "it is HDR (PQ), which plain RGB cannot show; --hdr clip converts it anyway");
    if (transfer == AVCOL_TRC_ARIB_STD_B67)
        return bl_error_set(e, BL_EDATA, "it is HDR (HLG), which plain RGB cannot show; --hdr clip converts it anyway");
    return 0;
}

static void key_make(struct graph_key *key, const struct bl_pixels *layout, const struct bl_planes *planes,
                     const AVFrame *frame, const struct bl_geometry *g)
{
    memset(key, 0, sizeof(*key));
    key->planes = layout->planes;
    key->depth = layout->depth;
    key->bytes = layout->bytes;
    key->sub_w = layout->sub_w;
    key->sub_h = layout->sub_h;
    /* FFmpeg counts as zimg does, but from 1, 0 being unsaid. */
    int said = frame->chroma_location > AVCHROMA_LOC_UNSPECIFIED && frame->chroma_location < AVCHROMA_LOC_NB;
    key->chroma_location = said ? (int)frame->chroma_location - 1 : ZIMG_CHROMA_LEFT;
    key->width = planes->width;
    key->height = planes->height;
    key->out_width = g->scaled_width;
    key->out_height = g->scaled_height;
    key->x = g->source_x;
    key->y = g->source_y;
    key->active_width = g->source_width;
    key->active_height = g->source_height;
}

static int graph_build(struct graph *graph, const struct graph_key *key, enum bl_simd simd, struct bl_error *e)
{
    zimg_image_format in, out;
    zimg_image_format_default(&in, ZIMG_API_VERSION);
    in.pixel_range = ZIMG_RANGE_LIMITED;
    in.color_family = key->planes == 1 ? ZIMG_COLOR_GREY : ZIMG_COLOR_YUV;
    out = in;
    in.width = (unsigned)key->width;
    in.height = (unsigned)key->height;
    in.pixel_type = key->bytes == 1 ? ZIMG_PIXEL_BYTE : ZIMG_PIXEL_WORD;
    in.depth = (unsigned)key->depth;
    in.subsample_w = (unsigned)key->sub_w;
    in.subsample_h = (unsigned)key->sub_h;
    in.chroma_location = (zimg_chroma_location_e)key->chroma_location;
    in.active_region.left = key->x;
    in.active_region.top = key->y;
    in.active_region.width = key->active_width;
    in.active_region.height = key->active_height;
    out.width = (unsigned)key->out_width;
    out.height = (unsigned)key->out_height;
    out.pixel_type = ZIMG_PIXEL_WORD;
    out.depth = 16;

    zimg_graph_builder_params params;
    zimg_graph_builder_params_default(&params, ZIMG_API_VERSION);
    params.resample_filter = ZIMG_RESIZE_BILINEAR;
    params.resample_filter_uv = ZIMG_RESIZE_BILINEAR;
    params.cpu_type = (zimg_cpu_type_e)bl_simd_zimg(simd);
    graph->zimg = zimg_filter_graph_build(&in, &out, &params);
    if (!graph->zimg)
        return zimg_failed("scale this", e);
    unsigned lines;
    if (zimg_filter_graph_get_tmp_size(graph->zimg, &graph->temporary_bytes) ||
        zimg_filter_graph_get_output_buffering(graph->zimg, &lines))
        return zimg_failed("scale this", e);
    graph->lines = zimg_select_buffer_mask(lines);
    graph->key = *key;
    return 0;
}

/* The graph for key: one of those kept, or a new one in place of the longest unused. */
static int graph_find(struct bl_convert *convert, const struct graph_key *key, struct graph **found, struct bl_error *e)
{
    struct graph *oldest = &convert->graphs[0];
    for (struct graph *graph = convert->graphs; graph < convert->graphs + GRAPHS; graph++) {
        if (graph->zimg && !memcmp(&graph->key, key, sizeof(*key))) {
            graph->used = ++convert->clock;
            *found = graph;
            return 0;
        }
        if (graph->used < oldest->used)
            oldest = graph;
    }
    zimg_filter_graph_free(oldest->zimg);
    memset(oldest, 0, sizeof(*oldest));
    int rc = graph_build(oldest, key, convert->options.simd, e);
    if (rc) {
        zimg_filter_graph_free(oldest->zimg);
        memset(oldest, 0, sizeof(*oldest));
        return rc;
    }
    oldest->used = ++convert->clock;
    *found = oldest;
    return 0;
}

/* zimg's callback: columns left to right of row i are done. Never fails. */
static int row_done(void *user, unsigned i, unsigned left, unsigned right)
{
    const struct passage *p = user;
    const uint16_t *plane[3];
    for (int c = 0; c < 3; c++) {
        const uint8_t *line = p->lines[c] + (ptrdiff_t)(i & p->line_mask) * p->line_stride;
        plane[c] = (const uint16_t *)(const void *)line + left;
    }
    int count = (int)(right - left);
    uint8_t *to = p->origin + (ptrdiff_t)i * p->step_y + (ptrdiff_t)left * p->step_x;
    if (p->step_x == 3) {
        bl_colour_row(p->colour, p->convert->options.simd, plane, count, to);
        return 0;
    }
    const uint8_t *rgb = p->convert->row.data;
    bl_colour_row(p->colour, p->convert->options.simd, plane, count, p->convert->row.data);
    for (int x = 0; x < count; x++, rgb += 3, to += p->step_x) {
        to[0] = rgb[0];
        to[1] = rgb[1];
        to[2] = rgb[2];
    }
    return 0;
}

/* Where the scaled picture's pixels go: transposed first, then mirrored, then placed. */
static void passage_aim(struct passage *p, const struct bl_geometry *g, uint8_t *rgb)
{
    ptrdiff_t row = (ptrdiff_t)g->width * 3;
    int turned = g->orientation & BL_ORIENT_TRANSPOSE;
    int upright_width = turned ? g->scaled_height : g->scaled_width;
    int upright_height = turned ? g->scaled_width : g->scaled_height;
    ptrdiff_t right = 3, down = row;
    p->origin = rgb + g->place_y * row + (ptrdiff_t)g->place_x * 3;
    if (g->orientation & BL_ORIENT_MIRROR_X) {
        p->origin += (ptrdiff_t)(upright_width - 1) * 3;
        right = -3;
    }
    if (g->orientation & BL_ORIENT_MIRROR_Y) {
        p->origin += (upright_height - 1) * row;
        down = -row;
    }
    p->step_x = turned ? down : right;
    p->step_y = turned ? right : down;
}

static int graph_run(struct bl_convert *convert, const struct graph *graph, struct passage *p, struct bl_error *e)
{
    size_t width = (size_t)graph->key.out_width, lines = graph->lines;
    lines = lines == ZIMG_BUFFER_MAX ? (size_t)graph->key.out_height : lines + 1;
    size_t stride = (width * 2 + BL_PLANES_ALIGN - 1) / BL_PLANES_ALIGN * BL_PLANES_ALIGN;
    int rc = room_make(&convert->temporary, graph->temporary_bytes, e);
    if (!rc)
        rc = room_make(&convert->lines, stride * lines * (size_t)graph->key.planes, e);
    if (!rc)
        rc = room_make(&convert->row, width * 3, e);
    if (rc)
        return rc;

    zimg_image_buffer_const from = {.version = ZIMG_API_VERSION};
    zimg_image_buffer to = {.version = ZIMG_API_VERSION};
    for (int c = 0; c < graph->key.planes; c++) {
        from.plane[c].data = convert->planes.data[c];
        from.plane[c].stride = convert->planes.stride[c];
        from.plane[c].mask = ZIMG_BUFFER_MAX;
        to.plane[c].data = (uint8_t *)convert->lines.data + stride * lines * (size_t)c;
        to.plane[c].stride = (ptrdiff_t)stride;
        to.plane[c].mask = graph->lines;
    }
    for (int c = 0; c < 3; c++)
        p->lines[c] = to.plane[graph->key.planes == 3 ? c : 0].data;
    p->line_stride = (ptrdiff_t)stride;
    p->line_mask = graph->lines;
    if (zimg_filter_graph_process(graph->zimg, &from, &to, convert->temporary.data, NULL, NULL, row_done, p))
        return zimg_failed("scale this frame", e);
    return 0;
}

int bl_convert_frame(struct bl_convert *convert, const AVFrame *frame, const struct bl_geometry *geometry, uint8_t *rgb,
                     struct bl_error *e)
{
    if (frame->width != geometry->coded_width || frame->height != geometry->coded_height)
        return bl_error_set(e, BL_EFAIL, "a frame of %dx%d pixels came where %dx%d was expected", frame->width,
                            frame->height, geometry->coded_width, geometry->coded_height);
    struct bl_pixels layout;
    struct bl_colour colour;
    int rc =
        bl_convert_check((enum AVPixelFormat)frame->format, frame->color_trc, frame->colorspace, &convert->options, e);
    if (!rc)
        rc = bl_pixels_make(&layout, (enum AVPixelFormat)frame->format, e);
    if (!rc)
        rc = bl_colour_make(&colour, &layout, frame->colorspace, frame->color_range, e);
    if (!rc)
        rc = bl_planes_read(&convert->planes, &layout, frame, e);
    if (rc)
        return rc;

    struct graph_key key;
    struct graph *graph;
    key_make(&key, &layout, &convert->planes, frame, geometry);
    rc = graph_find(convert, &key, &graph, e);
    if (rc)
        return rc;
    if ((int64_t)geometry->scaled_width * geometry->scaled_height != (int64_t)geometry->width * geometry->height)
        memset(rgb, 0, (size_t)geometry->width * (size_t)geometry->height * 3);
    struct passage passage = {.convert = convert, .colour = &colour};
    passage_aim(&passage, geometry, rgb);
    return graph_run(convert, graph, &passage, e);
}
