#include "kind/video/convert.h"

#include <libavutil/mem.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kind/media/module.h"
#include "kind/video/scanlines.h"
#include "kind/video/tonemap.h"

#define BL_GRAPHS_MAX 8 /* a stream needs up to three, and a worker reads one stream after another */

/* What determines a graph: a plane of words, a rectangle of it, its new size. Compared as bytes: no padding. */
struct bl_graph_key {
    int width, height, out_width, out_height;
    int64_t resize; /* enum bl_resize */
    double x, y, active_width, active_height;
};

struct bl_graph {
    struct bl_graph_key key;
    zimg_filter_graph *zimg; /* NULL: a free slot */
    size_t temporary_bytes;
    unsigned in_mask, out_mask; /* lines that zimg buffers, a power of two less one, or ZIMG_BUFFER_MAX: all */
    uint64_t used;              /* the clock when it was last used */
};

struct bl_graphs {
    struct bl_graph graph[BL_GRAPHS_MAX];
    uint64_t clock;
};

/* --- zimg graphs -------------------------------------------------------------------------------------------------- */

/* zimg's graphs, each of which scales a plane of words: the last few are kept, since making one takes up to a
 * millisecond. The meaning of the words does not matter: all are declared limited-range grey, so that zimg has nothing
 * to convert. */

/* Reports zimg's last error, and forgets it. */
static int graph_report(const char *what, struct bl_error *e)
{
    char text[256] = "";
    zimg_error_code_e code = zimg_get_last_error(text, sizeof(text));
    zimg_clear_last_error();
    if (code == ZIMG_ERROR_OUT_OF_MEMORY)
        return bl_error_memory(e);
    return bl_error_set(e, BL_EFAIL, "zimg cannot %s: %s", what, text);
}

/* zimg's vector code may scale 16 rows at once, from the first that is wanted, but sizes its buffer as if it began at a
 * multiple of 16 (3.0.6 still does): of a window of a few rows it then overwrites those that it has yet to read. Its
 * portable code goes row by row, and gives the same bytes. Which of the two a processor gets depends on its model. */
#define WINDOW_OF_FEW_ROWS 16

static void graph_set_filter(zimg_graph_builder_params *params, enum bl_resize resize)
{
    static const zimg_resample_filter_e filters[] = {[BL_RESIZE_BILINEAR] = ZIMG_RESIZE_BILINEAR,
                                                     [BL_RESIZE_BICUBIC] = ZIMG_RESIZE_BICUBIC,
                                                     [BL_RESIZE_LANCZOS] = ZIMG_RESIZE_LANCZOS,
                                                     [BL_RESIZE_NEAREST] = ZIMG_RESIZE_POINT};
    params->resample_filter = filters[resize];
    if (resize == BL_RESIZE_BICUBIC) { /* B and C of Mitchell and Netravali */
        params->filter_param_a = 0;
        params->filter_param_b = 0.5;
    }
    if (resize == BL_RESIZE_LANCZOS)
        params->filter_param_a = 3;
}

static int graph_build(struct bl_graph *graph, const struct bl_graph_key *key, enum bl_simd simd, struct bl_error *e)
{
    zimg_image_format in, out;
    zimg_image_format_default(&in, ZIMG_API_VERSION);
    in.pixel_type = ZIMG_PIXEL_WORD;
    in.depth = 16;
    in.pixel_range = ZIMG_RANGE_LIMITED;
    in.color_family = ZIMG_COLOR_GREY;
    out = in;
    in.width = (unsigned)key->width;
    in.height = (unsigned)key->height;
    in.active_region.left = key->x;
    in.active_region.top = key->y;
    in.active_region.width = key->active_width;
    in.active_region.height = key->active_height;
    out.width = (unsigned)key->out_width;
    out.height = (unsigned)key->out_height;

    zimg_graph_builder_params params;
    zimg_graph_builder_params_default(&params, ZIMG_API_VERSION);
    graph_set_filter(&params, (enum bl_resize)key->resize);
    params.cpu_type = key->active_height < WINDOW_OF_FEW_ROWS ? ZIMG_CPU_NONE : (zimg_cpu_type_e)bl_simd_zimg(simd);
    graph->zimg = zimg_filter_graph_build(&in, &out, &params);
    unsigned in_lines, out_lines;
    if (!graph->zimg || zimg_filter_graph_get_tmp_size(graph->zimg, &graph->temporary_bytes) ||
        zimg_filter_graph_get_input_buffering(graph->zimg, &in_lines) ||
        zimg_filter_graph_get_output_buffering(graph->zimg, &out_lines))
        return graph_report("scale this", e);
    graph->in_mask = zimg_select_buffer_mask(in_lines);
    graph->out_mask = zimg_select_buffer_mask(out_lines);
    graph->key = *key;
    return 0;
}

/* Finds the graph for key, or makes one in place of the least recently used. Valid until the next call. Start from {0}.
 * BL_EFAIL: out of memory. */
static int graphs_find(struct bl_graphs *graphs, const struct bl_graph_key *key, enum bl_simd simd,
                       struct bl_graph **found, struct bl_error *e)
{
    struct bl_graph *oldest = &graphs->graph[0];
    for (struct bl_graph *graph = graphs->graph; graph < graphs->graph + BL_GRAPHS_MAX; graph++) {
        if (graph->zimg && !memcmp(&graph->key, key, sizeof(*key))) {
            graph->used = ++graphs->clock;
            *found = graph;
            return BL_OK;
        }
        if (graph->used < oldest->used)
            oldest = graph;
    }
    zimg_filter_graph_free(oldest->zimg);
    memset(oldest, 0, sizeof(*oldest));
    int code = graph_build(oldest, key, simd, e);
    if (code) {
        zimg_filter_graph_free(oldest->zimg);
        memset(oldest, 0, sizeof(*oldest));
        return code;
    }
    oldest->used = ++graphs->clock;
    *found = oldest;
    return BL_OK;
}

static void graphs_free(struct bl_graphs *graphs)
{
    for (int i = 0; i < BL_GRAPHS_MAX; i++)
        zimg_filter_graph_free(graphs->graph[i].zimg);
}

/* --- pixel writer ------------------------------------------------------------------------------------------------- */

#define GROUP 32 /* numbers written at a time */
#define INLINE inline __attribute__((always_inline))

/* Words back to the numbers that they were made of. */
static void numbers_write(const uint16_t *restrict words, int depth, int count, uint8_t *restrict out)
{
    uint16_t some[GROUP] = {0};
    int spare = 16 - depth, whole = count / GROUP * GROUP;
    for (int x = 0; x < whole; x += GROUP) {
        for (int i = 0; i < GROUP; i++)
            some[i] = (uint16_t)(words[x + i] >> spare);
        memcpy(out + 2 * (size_t)x, some, sizeof some);
    }
    for (int i = 0; i < count - whole; i++)
        some[i] = (uint16_t)(words[whole + i] >> spare);
    memcpy(out + 2 * (size_t)whole, some, (size_t)(count - whole) * sizeof *some);
}

static void pixels_write(const struct bl_pixel_writer *w, const uint16_t *const plane[3], int count, uint8_t *out)
{
    switch (w->channels) {
    case BL_CHANNELS_RGB:
        bl_colour_row(&w->colour, w->simd, plane, count, out);
        break;
    case BL_CHANNELS_GRAY:
        bl_colour_grey_row(&w->colour, w->simd, plane[0], count, out);
        break;
    case BL_CHANNELS_GRAY16:
        numbers_write(plane[0], w->depth, count, out);
        break;
    }
}

/* Copies pixels to places that are step bytes apart; size a constant, for speed. */
static INLINE void pixels_scatter(const uint8_t *from, int size, int count, uint8_t *to, ptrdiff_t step)
{
    for (int i = 0; i < count; i++, from += size, to += step)
        memcpy(to, from, (size_t)size);
}

/* Writes count pixels of row y from column x on, from count words of each plane (all but RGB: of the first). */
static void pixel_writer_put(const struct bl_pixel_writer *w, const uint16_t *const plane[3], int x, int y, int count)
{
    uint8_t *to = w->origin + y * w->step_y + x * w->step_x;
    int size = bl_channels_bytes(w->channels);
    if (w->step_x == size) {
        pixels_write(w, plane, count, to);
        return;
    }
    pixels_write(w, plane, count, w->row);
    if (size == 3)
        pixels_scatter(w->row, 3, count, to, w->step_x);
    else if (size == 2)
        pixels_scatter(w->row, 2, count, to, w->step_x);
    else
        pixels_scatter(w->row, 1, count, to, w->step_x);
}

/* --- conversion --------------------------------------------------------------------------------------------------- */

#define LINE_ALIGN 32 /* bytes: zimg's requirement on any processor */

struct scratch {
    void *data;
    size_t bytes;
};

struct bl_convert {
    struct bl_convert_options options;
    struct bl_graphs graphs;
    struct bl_scanlines lines;
    struct scratch temporary, in, narrow, low, out[3], row, mixed[3];
    struct bl_tonemap *tonemap; /* NULL until a frame needs it */
};

/* Lines of words in a ring buffer, addressed as zimg does: row & mask. */
struct lines {
    uint8_t *data;
    ptrdiff_t stride; /* bytes */
    unsigned mask;
};

/* A frame being converted: what the callbacks need. */
struct conversion {
    struct bl_convert *convert;
    const struct bl_geometry *geometry;
    struct bl_pixel_writer writer;
    bool mixes;                 /* the one component is the luma of three */
    struct bl_tonemap *tonemap; /* takes the scaled lines, or NULL */
    int component;              /* the one being scaled */
    struct lines in;            /* zimg's input */
    struct lines narrow;        /* chroma before it is widened: of the scaled height, or the row at hand */
    struct lines low;           /* chroma of the scaled width, before its height is scaled */
    struct lines out[3];   /* scaled; of luma or of grey, the last to come, only the lines that zimg has under way */
    struct lines mixed[3]; /* the three components of a row */
};

static int scratch_reserve(struct scratch *scratch, size_t bytes, struct bl_error *e)
{
    if (bytes <= scratch->bytes)
        return 0;
    av_freep(&scratch->data);
    scratch->bytes = 0;
    scratch->data = av_mallocz(bytes); /* aligned for any SIMD level; zimg reads beyond lines, with weight 0 */
    if (!scratch->data)
        return bl_error_memory(e);
    scratch->bytes = bytes;
    return 0;
}

int bl_convert_open(struct bl_convert **convert, const struct bl_convert_options *options, struct bl_error *e)
{
    *convert = calloc(1, sizeof(**convert));
    if (!*convert)
        return bl_error_memory(e);
    /* zimg keeps errors in thread-local storage, which the C library allocates on first use, ending the process if it
     * cannot: better now than when memory has run out. */
    zimg_clear_last_error();
    (*convert)->options = *options;
    return 0;
}

void bl_convert_close(struct bl_convert *convert)
{
    if (!convert)
        return;
    graphs_free(&convert->graphs);
    bl_scanlines_free(&convert->lines);
    av_free(convert->temporary.data);
    av_free(convert->in.data);
    av_free(convert->narrow.data);
    av_free(convert->low.data);
    for (int c = 0; c < 3; c++) {
        av_free(convert->out[c].data);
        av_free(convert->mixed[c].data);
    }
    av_free(convert->row.data);
    bl_tonemap_close(convert->tonemap);
    free(convert);
}

/* Whether pictures have numbers that can be kept as they are. */
static int check_exact(enum AVPixelFormat format, struct bl_error *e)
{
    struct bl_pixels pixels;
    struct bl_error other = {0};
    if (format == AV_PIX_FMT_NONE)
        return BL_OK;
    if (!bl_pixels_make(&pixels, format, &other) && pixels.family == BL_FAMILY_GREY && pixels.depth > 8)
        return BL_OK;
    const char *name = av_get_pix_fmt_name(format);
    return bl_error_set(e, BL_EDATA,
                        "its pixels are %s: --pixels gray16 keeps grey of 9 to 16 bits, such as gray16le, and converts "
                        "nothing to it; --pixels gray or rgb takes these",
                        name ? name : "of an unknown format");
}

int bl_convert_check(enum AVPixelFormat format, enum AVColorTransferCharacteristic transfer, enum AVColorSpace matrix,
                     const struct bl_convert_options *options, struct bl_error *e)
{
    struct bl_pixels pixels = {.family = BL_FAMILY_YUV};
    if (options->channels == BL_CHANNELS_GRAY16)
        return check_exact(format, e);
    int code = format == AV_PIX_FMT_NONE ? 0 : bl_pixels_make(&pixels, format, e);
    if (!code && pixels.family == BL_FAMILY_YUV)
        code = bl_colour_check(matrix, e);
    if (code || options->hdr_clip || options->hdr_tonemap)
        return code;
    if (transfer == AVCOL_TRC_SMPTE2084)
        return bl_error_set(e, BL_EDATA, "it is HDR (PQ), which plain RGB cannot show: --hdr tonemap maps it");
    if (transfer == AVCOL_TRC_ARIB_STD_B67)
        return bl_error_set(e, BL_EDATA, "it is HDR (HLG), which plain RGB cannot show: --hdr tonemap maps it");
    return 0;
}

static uint16_t *line_at(const struct lines *lines, unsigned row)
{
    return (uint16_t *)(void *)(lines->data + (ptrdiff_t)(row & lines->mask) * lines->stride);
}

/* Reads columns from...to - 1 of the component at hand for row y into out[from...]. */
static void component_read(struct conversion *p, int y, int from, int to, uint16_t *out)
{
    struct bl_scanlines *lines = &p->convert->lines;
    if (!p->mixes) {
        bl_scanlines_read(lines, p->component, y, from, to, out);
        return;
    }
    const uint16_t *part[3];
    for (int c = 0; c < 3; c++) {
        uint16_t *line = line_at(&p->mixed[c], 0);
        bl_scanlines_read(lines, c, y, from, to, line);
        part[c] = line + from;
    }
    bl_colour_mix_row(p->convert->options.simd, p->writer.depth, part, to - from, out + from);
}

/* zimg's callbacks, which never fail. All but the last make columns left...right - 1 of line i of its input. This one
 * reads a component whose width is luma's, or one at its own width. */
static int line_unpack(void *user, unsigned i, unsigned left, unsigned right)
{
    struct conversion *p = user;
    component_read(p, (int)i, (int)left, (int)right, line_at(&p->in, i));
    return 0;
}

/* Upsamples the width of chroma whose height is scaled already. */
static int line_unpack_wide(void *user, unsigned i, unsigned left, unsigned right)
{
    struct conversion *p = user;
    bl_scanlines_upsample_width(&p->convert->lines, line_at(&p->narrow, i), (int)left, (int)right, line_at(&p->in, i));
    return 0;
}

/* Reads a line of chroma as the frame has it, and upsamples its width. */
static int line_unpack_low(void *user, unsigned i, unsigned left, unsigned right)
{
    struct conversion *p = user;
    struct bl_scanlines *lines = &p->convert->lines;
    bl_scanlines_read_chroma(lines, p->component, (int)i, 0, lines->chroma_width, line_at(&p->narrow, 0));
    bl_scanlines_upsample_width(lines, line_at(&p->narrow, 0), (int)left, (int)right, line_at(&p->in, i));
    return 0;
}

/* Upsamples the height of chroma whose width is scaled already. */
static int line_unpack_high(void *user, unsigned i, unsigned left, unsigned right)
{
    struct conversion *p = user;
    bl_scanlines_upsample_height(&p->convert->lines, p->low.data, p->low.stride, (int)i, (int)left, (int)right,
                                 line_at(&p->in, i));
    return 0;
}

/* Takes scaled columns of the last component, which completes the pixels. */
static int line_pack(void *user, unsigned i, unsigned left, unsigned right)
{
    const struct conversion *p = user;
    const uint16_t *plane[3];
    for (int c = 0; c < 3; c++)
        plane[c] = p->out[c].data ? line_at(&p->out[c], i) + left : NULL;
    int count = (int)(right - left);
    if (p->tonemap)
        bl_tonemap_put(p->tonemap, plane, (int)left, (int)i, count);
    else
        pixel_writer_put(&p->writer, plane, (int)left, (int)i, count);
    return 0;
}

/* Makes room for the lines that mask can address, with slack at both ends, of a plane of this size. */
static int lines_make(struct lines *lines, struct scratch *scratch, int width, int height, unsigned mask,
                      struct bl_error *e)
{
    const size_t slack = BL_SCANLINES_SLACK * sizeof(uint16_t);
    size_t stride = ((size_t)width + 2 * BL_SCANLINES_SLACK) * sizeof(uint16_t);
    stride = (stride + LINE_ALIGN - 1) / LINE_ALIGN * LINE_ALIGN;
    int code =
        scratch_reserve(scratch, slack + stride * (mask == ZIMG_BUFFER_MAX ? (size_t)height : (size_t)mask + 1), e);
    if (code)
        return code;
    lines->data = (uint8_t *)scratch->data + slack;
    lines->stride = (ptrdiff_t)stride;
    lines->mask = mask;
    return 0;
}

/* Scales one plane into out: all of it, or, if done takes the lines, a few at a time. */
static int plane_scale(struct conversion *p, const struct bl_graph_key *key, zimg_filter_graph_callback wanted,
                       zimg_filter_graph_callback done, struct lines *out, struct scratch *scratch, struct bl_error *e)
{
    struct bl_convert *convert = p->convert;
    struct bl_graph *graph;
    BL_TRY(graphs_find(&convert->graphs, key, convert->options.simd, &graph, e));
    /* zimg reads beyond the end of this, too. */
    BL_TRY(scratch_reserve(&convert->temporary, graph->temporary_bytes + 2 * LINE_ALIGN, e));
    BL_TRY(lines_make(&p->in, &convert->in, key->width, key->height, graph->in_mask, e));
    BL_TRY(lines_make(out, scratch, key->out_width, key->out_height, done ? graph->out_mask : ZIMG_BUFFER_MAX, e));
    zimg_image_buffer_const from = {.version = ZIMG_API_VERSION};
    zimg_image_buffer to = {.version = ZIMG_API_VERSION};
    from.plane[0].data = p->in.data;
    from.plane[0].stride = p->in.stride;
    from.plane[0].mask = p->in.mask;
    to.plane[0].data = out->data;
    to.plane[0].stride = out->stride;
    to.plane[0].mask = out->mask;
    if (zimg_filter_graph_process(graph->zimg, &from, &to, convert->temporary.data, wanted, p, done, p))
        return graph_report("scale this frame", e);
    return 0;
}

/* Scales chroma that is narrower than luma: first its height, then its width, which is upsampled on the way. */
static int chroma_scale_height_first(struct conversion *p, struct lines *out, struct scratch *scratch,
                                     struct bl_error *e)
{
    const struct bl_geometry *g = p->geometry;
    int narrow = p->convert->lines.chroma_width;
    const struct bl_graph_key down = {narrow, g->coded_height, narrow, g->scaled_height, g->resize,
                                      0,      g->source_y,     narrow, g->source_height};
    const struct bl_graph_key across = {
        g->coded_width,  g->scaled_height, g->scaled_width, g->scaled_height, g->resize, g->source_x, 0,
        g->source_width, g->scaled_height};
    BL_TRY(plane_scale(p, &down, line_unpack, NULL, &p->narrow, &p->convert->narrow, e));
    return plane_scale(p, &across, line_unpack_wide, NULL, out, scratch, e);
}

/* The same, the width first. */
static int chroma_scale_width_first(struct conversion *p, struct lines *out, struct scratch *scratch,
                                    struct bl_error *e)
{
    const struct bl_geometry *g = p->geometry;
    int narrow = p->convert->lines.chroma_width, low = p->convert->lines.chroma_height;
    const struct bl_graph_key across = {g->coded_width, low, g->scaled_width, low, g->resize,
                                        g->source_x,    0,   g->source_width, low};
    const struct bl_graph_key down = {g->scaled_width, g->coded_height, g->scaled_width, g->scaled_height, g->resize, 0,
                                      g->source_y,     g->scaled_width, g->source_height};
    BL_TRY(lines_make(&p->narrow, &p->convert->narrow, narrow, 1, 0, e));
    BL_TRY(plane_scale(p, &across, line_unpack_low, NULL, &p->low, &p->convert->low, e));
    return plane_scale(p, &down, line_unpack_high, NULL, out, scratch, e);
}

/* Luma comes last, so that its lines become pixels as they come. */
static int conversion_scale(struct conversion *p, int planes, struct bl_error *e)
{
    const struct bl_geometry *g = p->geometry;
    const struct bl_graph_key whole = {g->coded_width, g->coded_height, g->scaled_width, g->scaled_height, g->resize,
                                       g->source_x,    g->source_y,     g->source_width, g->source_height};
    int code = 0;
    for (int c = planes - 1; c >= 0 && !code; c--) {
        p->component = c;
        if (!bl_scanlines_is_narrow(&p->convert->lines, c))
            code = plane_scale(p, &whole, line_unpack, c ? NULL : line_pack, &p->out[c], &p->convert->out[c], e);
        else if (p->convert->lines.chroma_height < g->scaled_height) /* widths cost most, so with the fewer lines */
            code = chroma_scale_width_first(p, &p->out[c], &p->convert->out[c], e);
        else
            code = chroma_scale_height_first(p, &p->out[c], &p->convert->out[c], e);
    }
    return code;
}

/* The picture keeps its size: lines become pixels directly. */
static int conversion_copy(struct conversion *p, int planes, struct bl_error *e)
{
    struct bl_convert *convert = p->convert;
    int width = p->geometry->coded_width, code = lines_make(&p->narrow, &convert->narrow, width, 1, 0, e);
    for (int c = 0; c < planes && !code; c++)
        code = lines_make(&p->out[c], &convert->out[c], width, 1, 0, e);
    for (int y = 0; y < p->geometry->coded_height && !code; y++) {
        for (int c = 0; c < planes; c++) {
            bool narrow = bl_scanlines_is_narrow(&convert->lines, c);
            uint16_t *line = line_at(narrow ? &p->narrow : &p->out[c], 0);
            p->component = c;
            component_read(p, y, 0, narrow ? convert->lines.chroma_width : width, line);
            if (narrow)
                bl_scanlines_upsample_width(&convert->lines, line, 0, width, line_at(&p->out[c], 0));
        }
        line_pack(p, (unsigned)y, 0, (unsigned)width);
    }
    return code;
}

static bool geometry_is_identity(const struct bl_geometry *g)
{
    return g->source_width == g->coded_width && g->source_height == g->coded_height &&
           g->scaled_width == g->coded_width && g->scaled_height == g->coded_height;
}

static int conversion_use_tonemap(struct conversion *p, const AVFrame *frame, const struct bl_pixels *pixels,
                                  struct bl_error *e)
{
    struct bl_convert *convert = p->convert;
    if (!convert->options.hdr_tonemap || !bl_tonemap_is_hdr(frame->color_trc))
        return BL_OK;
    int code = convert->tonemap ? BL_OK : bl_tonemap_open(&convert->tonemap, convert->options.simd, e);
    p->tonemap = convert->tonemap;
    if (code)
        return code;
    return bl_tonemap_begin(p->tonemap, frame, pixels, p->geometry->scaled_width, p->geometry->scaled_height, e);
}

/* Grey is made of luma, or of all three of RGB, unless tone mapping needs these. */
static int conversion_use_grey(struct conversion *p, struct bl_pixels *pixels, struct bl_error *e)
{
    struct bl_convert *convert = p->convert;
    int code = BL_OK;
    if (convert->options.channels == BL_CHANNELS_RGB || p->tonemap)
        return BL_OK;
    p->mixes = pixels->family == BL_FAMILY_RGB;
    for (int c = 0; c < 3 && p->mixes && !code; c++)
        code = lines_make(&p->mixed[c], &convert->mixed[c], p->geometry->coded_width, 1, 0, e);
    pixels->planes = 1;
    return code;
}

/* Prepares for the frame's format and colours. */
static int conversion_begin(struct conversion *p, const AVFrame *frame, struct bl_pixels *pixels, struct bl_error *e)
{
    struct bl_convert *convert = p->convert;
    const struct bl_convert_options *options = &convert->options;
    enum AVPixelFormat format = (enum AVPixelFormat)frame->format;
    BL_TRY(bl_convert_check(format, frame->color_trc, frame->colorspace, options, e));
    BL_TRY(bl_pixels_make(pixels, format, e));
    BL_TRY(bl_colour_make(&p->writer.colour, pixels, frame->colorspace, frame->color_range, e));
    BL_TRY(bl_scanlines_begin(&convert->lines, pixels, frame, options->simd, e));
    BL_TRY(scratch_reserve(&convert->row, (size_t)p->geometry->scaled_width * 3, e));
    p->writer.channels = options->channels;
    p->writer.simd = options->simd;
    p->writer.depth = pixels->depth;
    p->writer.row = convert->row.data;
    BL_TRY(conversion_use_tonemap(p, frame, pixels, e));
    return conversion_use_grey(p, pixels, e);
}

int bl_convert_frame(struct bl_convert *convert, const AVFrame *frame, const struct bl_geometry *geometry, uint8_t *out,
                     struct bl_error *e)
{
    const struct bl_geometry *g = geometry;
    if (frame->width != g->coded_width || frame->height != g->coded_height)
        return bl_error_set(e, BL_EFAIL, "a frame has %dx%d pixels, expected %dx%d", frame->width, frame->height,
                            g->coded_width, g->coded_height);
    struct conversion conversion = {.convert = convert, .geometry = g};
    struct bl_pixel_writer *writer = &conversion.writer;
    struct bl_pixels pixels;
    BL_TRY(conversion_begin(&conversion, frame, &pixels, e));
    int pixel = bl_channels_bytes(convert->options.channels);
    if ((int64_t)g->scaled_width * g->scaled_height != (int64_t)g->width * g->height)
        memset(out, 0, (size_t)g->width * (size_t)g->height * (size_t)pixel);
    writer->origin = out + bl_geometry_place(g, pixel, &writer->step_x, &writer->step_y);
    int code = geometry_is_identity(g) ? conversion_copy(&conversion, pixels.planes, e)
                                       : conversion_scale(&conversion, pixels.planes, e);
    if (code || !conversion.tonemap)
        return code;
    return bl_tonemap_finish(conversion.tonemap, writer, e);
}
