/* Converts a frame: zimg scales the planes one after the other, and the last one completes the pixels.
 *
 * zimg reads its input and hands out its output through callbacks, a few lines at a time. So no plane is ever unpacked
 * as a whole, and the lines are still in the cache when the next step reads them. Planes of U and V (or G and B) are
 * scaled into memory first. Luma (or R) comes last: each of its lines becomes pixels at once (line_pack). */
#include "kind/video/convert.h"

#include <libavutil/mem.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kind/media/module.h"
#include "kind/video/scanlines.h"
#include "kind/video/tonemap.h"

#define BL_GRAPHS_MAX 8 /* a stream needs up to three, and a worker reads one stream after another */

/* The values that determine a graph: a plane of words, a rectangle of it, its new size. Compared as bytes, so that it
 * has no padding. */
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

/* The graphs that were used last. Start from {0}. */
struct bl_graphs {
    struct bl_graph graph[BL_GRAPHS_MAX];
    uint64_t clock;
};

/* --- zimg graphs -------------------------------------------------------------------------------------------------- */

/* Each of zimg's graphs scales a plane of words. The meaning of the words does not matter: all are declared
 * limited-range grey, so that zimg has nothing to convert. */

/* Reports zimg's last error, and clears it. */
static int graph_report(const char *what, struct bl_error *e)
{
    char text[256] = "";
    zimg_error_code_e code = zimg_get_last_error(text, sizeof(text));
    zimg_clear_last_error();
    if (code == ZIMG_ERROR_OUT_OF_MEMORY)
        return bl_error_memory(e);
    return bl_error_set(e, BL_EFAIL, "zimg cannot %s: %s", what, text);
}

/* Fills in an empty graph. The caller frees graph->zimg after a failure, too. */
static int graph_build(struct bl_graph *graph, const struct bl_graph_key *key, enum bl_simd simd, struct bl_error *e)
{
    static const zimg_resample_filter_e filters[] = {[BL_RESIZE_BILINEAR] = ZIMG_RESIZE_BILINEAR,
                                                     [BL_RESIZE_BICUBIC] = ZIMG_RESIZE_BICUBIC,
                                                     [BL_RESIZE_LANCZOS] = ZIMG_RESIZE_LANCZOS,
                                                     [BL_RESIZE_NEAREST] = ZIMG_RESIZE_POINT};
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
    params.resample_filter = filters[key->resize];
    if (key->resize == BL_RESIZE_BICUBIC) { /* B and C of Mitchell and Netravali */
        params.filter_param_a = 0;
        params.filter_param_b = 0.5;
    }
    if (key->resize == BL_RESIZE_LANCZOS)
        params.filter_param_a = 3;
    /* zimg's vector code may scale 16 rows at once, from the first that is wanted, but sizes its buffer as if it began
     * at a multiple of 16 (3.0.6 still does): of a window of less rows it then overwrites those that it has yet to
     * read. Its portable code goes row by row, and gives the same bytes. */
    params.cpu_type = key->active_height < 16 ? ZIMG_CPU_NONE : (zimg_cpu_type_e)bl_simd_zimg(simd);
    graph->zimg = zimg_filter_graph_build(&in, &out, &params);
    unsigned in_lines, out_lines;
    if (!graph->zimg || zimg_filter_graph_get_tmp_size(graph->zimg, &graph->temporary_bytes) ||
        zimg_filter_graph_get_input_buffering(graph->zimg, &in_lines) ||
        zimg_filter_graph_get_output_buffering(graph->zimg, &out_lines))
        return graph_report("scale this", e);
    graph->in_mask = zimg_select_buffer_mask(in_lines);
    graph->out_mask = zimg_select_buffer_mask(out_lines);
    graph->key = *key;
    return BL_OK;
}

/* Finds the graph for key, or makes one in place of the least recently used. *found is valid until the next call.
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

/* --- conversion --------------------------------------------------------------------------------------------------- */

#define LINE_ALIGN 32 /* bytes: zimg's requirement on any processor */
#define PLANES 4      /* three components, and transparency, whatever its number in the frame */
#define ALPHA 3

/* Memory that is kept from frame to frame, and grows. */
struct scratch {
    void *data;
    size_t bytes;
};

struct bl_convert {
    struct bl_convert_options options;
    struct bl_graphs graphs;
    struct bl_scanlines lines;
    struct scratch temporary, in, narrow, low, out[PLANES], row, mixed[3], levels, plain[3];
    struct bl_tonemap *tonemap; /* NULL until a frame needs it */
};

/* Lines of words in a ring buffer, addressed as zimg does: row & mask. */
struct lines {
    uint8_t *data;
    ptrdiff_t stride; /* bytes */
    unsigned mask;
};

/* The state of converting one frame, which zimg's callbacks get. */
struct conversion {
    struct bl_convert *convert;
    const struct bl_geometry *geometry;
    struct bl_pixel_writer writer;
    bool mixes;                 /* the one component is the luma of three */
    bool premultiplies;         /* colours are scaled as multiples of their opacity */
    uint16_t opaque;            /* the word of full opacity */
    struct bl_tonemap *tonemap; /* takes the scaled lines, or NULL */
    int component;              /* the one being scaled */
    struct lines in;            /* zimg's input */
    struct lines narrow;        /* chroma before it is widened: of the scaled height, or the row at hand */
    struct lines low;           /* chroma of the scaled width, before its height is scaled */
    struct lines out[PLANES]; /* scaled; of luma or of grey, the last to come, only the lines that zimg has under way */
    struct lines mixed[3];    /* the three components of a row, or transparency and chroma */
    struct lines plain[3];    /* a scaled row without the factor of its opacity */
};

/* Makes sure that the memory has at least so many bytes; its content is lost where it grows. */
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
    /* zimg keeps errors in thread-local storage, which the C library allocates on first use. The C library ends the
     * process if it has no memory for that: so the first use is here, and not when memory has run out. */
    zimg_clear_last_error();
    (*convert)->options = *options;
    return 0;
}

void bl_convert_close(struct bl_convert *convert)
{
    if (!convert)
        return;
    for (int i = 0; i < BL_GRAPHS_MAX; i++)
        zimg_filter_graph_free(convert->graphs.graph[i].zimg);
    bl_scanlines_free(&convert->lines);
    av_free(convert->temporary.data);
    av_free(convert->in.data);
    av_free(convert->narrow.data);
    av_free(convert->low.data);
    for (int c = 0; c < PLANES; c++)
        av_free(convert->out[c].data);
    for (int c = 0; c < 3; c++) {
        av_free(convert->mixed[c].data);
        av_free(convert->plain[c].data);
    }
    av_free(convert->row.data);
    av_free(convert->levels.data);
    bl_tonemap_close(convert->tonemap);
    free(convert);
}

/* Returns whether the channels are numbers that frames of these pixels have. */
static bool numbers_are_in(enum bl_channels channels, const struct bl_pixels *pixels)
{
    bool grey = pixels->family == BL_FAMILY_GREY, palette = pixels->format == AV_PIX_FMT_PAL8;
    if (channels == BL_CHANNELS_INDEX)
        return palette || (grey && pixels->depth == 8);
    if (channels == BL_CHANNELS_RGB16)
        return pixels->family == BL_FAMILY_RGB && pixels->depth > 8;
    return channels != BL_CHANNELS_FLOW && grey && pixels->depth > 8;
}

/* Checks frames whose numbers are kept. BL_EDATA: they have no such numbers. */
static int convert_check_numbers(enum AVPixelFormat format, enum bl_channels channels, struct bl_error *e)
{
    static const struct {
        const char *kept, *other;
    } texts[] = {[BL_CHANNELS_GRAY16] = {"grey of 9 to 16 bits, such as gray16le", "gray or rgb"},
                 [BL_CHANNELS_INDEX] = {"palettes and grey of up to 8 bits, such as pal8", "rgb"},
                 [BL_CHANNELS_RGB16] = {"RGB of 9 to 16 bits, such as rgb48le", "rgb"},
                 [BL_CHANNELS_DEPTH] = {"grey of 9 to 16 bits, such as gray16le", "gray or rgb"},
                 [BL_CHANNELS_FLOW] = {"the vectors of .flo files", "rgb"}};
    struct bl_pixels pixels;
    struct bl_error other = {0};
    if (format == AV_PIX_FMT_NONE || (!bl_pixels_make(&pixels, format, &other) && numbers_are_in(channels, &pixels)))
        return BL_OK;
    const char *name = av_get_pix_fmt_name(format);
    return bl_error_set(e, BL_EDATA,
                        "its pixels are %s: --pixels %s keeps %s, and converts nothing to it; --pixels %s takes these",
                        name ? name : "of an unknown format", bl_channels_choices[channels], texts[channels].kept,
                        texts[channels].other);
}

int bl_convert_check(enum AVPixelFormat format, enum AVColorTransferCharacteristic transfer, enum AVColorSpace matrix,
                     const struct bl_convert_options *options, struct bl_error *e)
{
    struct bl_pixels pixels = {.family = BL_FAMILY_YUV};
    if (bl_channels_keep_numbers(options->channels))
        return convert_check_numbers(format, options->channels, e);
    if (format != AV_PIX_FMT_NONE) {
        BL_TRY(bl_pixels_make(&pixels, format, e));
    }
    if (pixels.family == BL_FAMILY_YUV) {
        BL_TRY(bl_colour_check(matrix, e));
    }
    if (options->hdr_clip || options->hdr_tonemap)
        return BL_OK;
    if (transfer == AVCOL_TRC_SMPTE2084)
        return bl_error_set(e, BL_EDATA, "it is HDR (PQ), which plain RGB cannot show: --hdr tonemap maps it");
    if (transfer == AVCOL_TRC_ARIB_STD_B67)
        return bl_error_set(e, BL_EDATA, "it is HDR (HLG), which plain RGB cannot show: --hdr tonemap maps it");
    return BL_OK;
}

static uint16_t *line_at(const struct lines *lines, unsigned row)
{
    return (uint16_t *)(void *)(lines->data + (ptrdiff_t)(row & lines->mask) * lines->stride);
}

/* Returns the word of a component that is black or without colour. */
static int component_zero(const struct conversion *p, int c)
{
    return c && p->convert->lines.pixels.family == BL_FAMILY_YUV ? 1 << 15 : p->writer.colour.black;
}

/* Reads a part of a row of a colour, in luma's width, as a multiple of its opacity: a transparent pixel has no part in
 * the mean of its neighbours. */
static void component_read_multiplied(struct conversion *p, int y, int from, int to, uint16_t *out)
{
    struct bl_scanlines *lines = &p->convert->lines;
    uint16_t *alpha = line_at(&p->mixed[0], 0), *narrow = line_at(&p->mixed[1], 0);
    int zero = component_zero(p, p->component);
    if (bl_scanlines_is_narrow(lines, p->component)) {
        bl_scanlines_read(lines, p->component, y, 0, lines->chroma_width, narrow);
        bl_scanlines_upsample_width(lines, narrow, from, to, out);
    } else {
        bl_scanlines_read(lines, p->component, y, from, to, out);
    }
    bl_scanlines_read_alpha(lines, y, from, to, alpha);
    for (int x = from; x < to; x++) {
        int64_t part = (int64_t)(out[x] - zero) * alpha[x], half = part < 0 ? -p->opaque / 2 : p->opaque / 2;
        out[x] = (uint16_t)(zero + (part + half) / p->opaque);
    }
}

/* Takes the opacity out of count scaled words of each colour again. Where nothing is opaque, the result is black. */
static void planes_divide(const struct conversion *p, const uint16_t *plane[PLANES], int count)
{
    int planes = p->convert->lines.pixels.planes;
    for (int c = 0; c < planes; c++) {
        uint16_t *plain = line_at(&p->plain[c], 0);
        int zero = component_zero(p, c);
        for (int x = 0; x < count; x++) {
            int64_t alpha = plane[ALPHA][x] < p->opaque ? plane[ALPHA][x] : p->opaque;
            int64_t part = (int64_t)(plane[c][x] - zero) * p->opaque, half = part < 0 ? -alpha / 2 : alpha / 2;
            int64_t word = alpha ? zero + (part + half) / alpha : zero;
            plain[x] = (uint16_t)(word < 0 ? 0 : word > UINT16_MAX ? UINT16_MAX : word);
        }
        plane[c] = plain;
    }
}

/* Reads columns from...to - 1 of the current component for row y into out[from...]. */
static void component_read(struct conversion *p, int y, int from, int to, uint16_t *out)
{
    struct bl_scanlines *lines = &p->convert->lines;
    if (p->component == ALPHA) {
        bl_scanlines_read_alpha(lines, y, from, to, out);
        return;
    }
    if (p->premultiplies) {
        component_read_multiplied(p, y, from, to, out);
        return;
    }
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

/* zimg's callbacks follow, which never fail. Those named line_unpack... make columns left...right - 1 of line i of its
 * input. This one reads a component whose width is luma's, or one at its own width. */
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
    const uint16_t *plane[PLANES];
    for (int c = 0; c < PLANES; c++)
        plane[c] = p->out[c].data ? line_at(&p->out[c], i) + left : NULL;
    int count = (int)(right - left);
    if (p->premultiplies)
        planes_divide(p, plane, count);
    if (p->tonemap)
        bl_tonemap_put(p->tonemap, plane, (int)left, (int)i, count);
    else
        bl_pixel_writer_put(&p->writer, plane, (int)left, (int)i, count);
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

/* Scales chroma that is narrower than luma, in two steps: its width is upsampled on the way to the scaled width, its
 * height on the way to the scaled height. The step that has fewer lines to widen comes first, as widths cost most. */
static int chroma_scale(struct conversion *p, struct lines *out, struct scratch *scratch, struct bl_error *e)
{
    const struct bl_geometry *g = p->geometry;
    struct bl_convert *convert = p->convert;
    int narrow = convert->lines.chroma_width, low = convert->lines.chroma_height;
    if (low < g->scaled_height) {
        const struct bl_graph_key across = {g->coded_width, low, g->scaled_width, low, g->resize,
                                            g->source_x,    0,   g->source_width, low};
        const struct bl_graph_key down = {g->scaled_width,  g->coded_height, g->scaled_width,
                                          g->scaled_height, g->resize,       0,
                                          g->source_y,      g->scaled_width, g->source_height};
        BL_TRY(lines_make(&p->narrow, &convert->narrow, narrow, 1, 0, e));
        BL_TRY(plane_scale(p, &across, line_unpack_low, NULL, &p->low, &convert->low, e));
        return plane_scale(p, &down, line_unpack_high, NULL, out, scratch, e);
    }
    const struct bl_graph_key down = {narrow, g->coded_height, narrow, g->scaled_height, g->resize,
                                      0,      g->source_y,     narrow, g->source_height};
    const struct bl_graph_key across = {
        g->coded_width,  g->scaled_height, g->scaled_width, g->scaled_height, g->resize, g->source_x, 0,
        g->source_width, g->scaled_height};
    BL_TRY(plane_scale(p, &down, line_unpack, NULL, &p->narrow, &convert->narrow, e));
    return plane_scale(p, &across, line_unpack_wide, NULL, out, scratch, e);
}

/* Returns whether component c is converted: the planes, and transparency. */
static bool component_is_wanted(const struct conversion *p, int c, int planes)
{
    return c == ALPHA ? p->writer.has_alpha : c < planes;
}

/* Returns whether a component is narrower than luma when it is scaled. */
static bool component_is_narrow(const struct conversion *p, int c)
{
    return c != ALPHA && !p->premultiplies && bl_scanlines_is_narrow(&p->convert->lines, c);
}

/* Scales all planes. Luma comes last, so that its lines become pixels as they come. */
static int conversion_scale(struct conversion *p, int planes, struct bl_error *e)
{
    const struct bl_geometry *g = p->geometry;
    const struct bl_graph_key key = {g->coded_width, g->coded_height, g->scaled_width, g->scaled_height, g->resize,
                                     g->source_x,    g->source_y,     g->source_width, g->source_height};
    for (int c = PLANES - 1; c >= 0; c--) {
        struct lines *out = &p->out[c];
        struct scratch *scratch = &p->convert->out[c];
        if (!component_is_wanted(p, c, planes))
            continue;
        p->component = c;
        BL_TRY(component_is_narrow(p, c) ? chroma_scale(p, out, scratch, e)
                                         : plane_scale(p, &key, line_unpack, c ? NULL : line_pack, out, scratch, e));
    }
    return BL_OK;
}

/* Copies a picture that keeps its size: lines become pixels directly. */
static int conversion_copy(struct conversion *p, int planes, struct bl_error *e)
{
    struct bl_convert *convert = p->convert;
    int width = p->geometry->coded_width;
    BL_TRY(lines_make(&p->narrow, &convert->narrow, width, 1, 0, e));
    for (int c = 0; c < PLANES; c++) {
        if (component_is_wanted(p, c, planes))
            BL_TRY(lines_make(&p->out[c], &convert->out[c], width, 1, 0, e));
    }
    for (int y = 0; y < p->geometry->coded_height; y++) {
        for (int c = 0; c < PLANES; c++) {
            if (!component_is_wanted(p, c, planes))
                continue;
            bool narrow = component_is_narrow(p, c);
            uint16_t *line = line_at(narrow ? &p->narrow : &p->out[c], 0);
            p->component = c;
            component_read(p, y, 0, narrow ? convert->lines.chroma_width : width, line);
            if (narrow)
                bl_scanlines_upsample_width(&convert->lines, line, 0, width, line_at(&p->out[c], 0));
        }
        line_pack(p, (unsigned)y, 0, (unsigned)width);
    }
    return BL_OK;
}

/* Prepares for the channels of the output: which components are read, and how. `planes` is how many of them there are
 * beside transparency. */
static int conversion_set_channels(struct conversion *p, const struct bl_pixels *pixels, bool keeps, int *planes,
                                   struct bl_error *e)
{
    struct bl_convert *convert = p->convert;
    const struct bl_geometry *g = p->geometry;
    enum bl_channels channels = convert->options.channels;
    int depth = pixels->alpha < 8 ? 8 : pixels->alpha;
    *planes = channels == BL_CHANNELS_RGB || channels == BL_CHANNELS_RGB16 || channels == BL_CHANNELS_RGBA
                  ? pixels->planes
                  : 1;
    /* Grey is made from luma, or from all three of RGB before they are scaled. */
    p->mixes = channels == BL_CHANNELS_GRAY && pixels->family == BL_FAMILY_RGB;
    p->writer.has_alpha = channels == BL_CHANNELS_RGBA && pixels->alpha;
    p->premultiplies = p->writer.has_alpha && !keeps && g->resize != BL_RESIZE_NEAREST;
    p->opaque = (uint16_t)(((1 << depth) - 1) << (16 - depth));
    for (int c = 0; c < 3 && (p->mixes || p->premultiplies); c++) {
        BL_TRY(lines_make(&p->mixed[c], &convert->mixed[c], g->coded_width, 1, 0, e));
    }
    for (int c = 0; c < 3 && p->premultiplies; c++) {
        BL_TRY(lines_make(&p->plain[c], &convert->plain[c], g->scaled_width, 1, 0, e));
    }
    if (channels != BL_CHANNELS_RGBA)
        return BL_OK;
    const struct bl_pixels alpha = {.family = BL_FAMILY_GREY, .depth = depth};
    BL_TRY(bl_colour_make(&p->writer.alpha, &alpha, AVCOL_SPC_UNSPECIFIED, AVCOL_RANGE_JPEG, e));
    BL_TRY(scratch_reserve(&convert->levels, (size_t)g->scaled_width * 4, e));
    p->writer.levels = convert->levels.data;
    return BL_OK;
}

/* Prepares the reader of the frame and the writer of pixels. */
static int conversion_begin(struct conversion *p, const AVFrame *frame, struct bl_pixels *pixels, struct bl_error *e)
{
    struct bl_convert *convert = p->convert;
    const struct bl_convert_options *options = &convert->options;
    enum AVPixelFormat format = (enum AVPixelFormat)frame->format;
    BL_TRY(bl_convert_check(format, frame->color_trc, frame->colorspace, options, e));
    /* The indices of a palette are laid out as grey of 8 bits. */
    bool is_index = options->channels == BL_CHANNELS_INDEX;
    BL_TRY(bl_pixels_make(pixels, is_index && format == AV_PIX_FMT_PAL8 ? AV_PIX_FMT_GRAY8 : format, e));
    BL_TRY(bl_colour_make(&p->writer.colour, pixels, frame->colorspace, frame->color_range, e));
    BL_TRY(bl_scanlines_begin(&convert->lines, pixels, frame, options->simd, e));
    size_t row = (size_t)p->geometry->scaled_width * (size_t)bl_channels_bytes(options->channels);
    BL_TRY(scratch_reserve(&convert->row, row, e));
    p->writer.channels = options->channels;
    p->writer.simd = options->simd;
    p->writer.depth = pixels->depth;
    p->writer.per_metre = options->per_metre;
    p->writer.mask = pixels->format == AV_PIX_FMT_MONOBLACK || pixels->format == AV_PIX_FMT_MONOWHITE ? 1 : UINT8_MAX;
    p->writer.row = convert->row.data;
    return BL_OK;
}

int bl_convert_frame(struct bl_convert *convert, const AVFrame *frame, const struct bl_geometry *geometry, uint8_t *out,
                     struct bl_error *e)
{
    const struct bl_geometry *g = geometry;
    const struct bl_convert_options *options = &convert->options;
    if (frame->width != g->coded_width || frame->height != g->coded_height)
        return bl_error_set(e, BL_EFAIL, "a frame has %dx%d pixels, expected %dx%d", frame->width, frame->height,
                            g->coded_width, g->coded_height);
    struct conversion p = {.convert = convert, .geometry = g};
    struct bl_pixels pixels;
    bool keeps = g->source_width == g->coded_width && g->source_height == g->coded_height &&
                 g->scaled_width == g->coded_width && g->scaled_height == g->coded_height;
    BL_TRY(conversion_begin(&p, frame, &pixels, e));
    int planes = pixels.planes;
    if (options->hdr_tonemap && bl_tonemap_is_hdr(frame->color_trc)) {
        BL_TRY(convert->tonemap ? BL_OK : bl_tonemap_open(&convert->tonemap, options->simd, e));
        p.tonemap = convert->tonemap;
        BL_TRY(bl_tonemap_begin(p.tonemap, frame, &pixels, g->scaled_width, g->scaled_height, e));
    } else {
        BL_TRY(conversion_set_channels(&p, &pixels, keeps, &planes, e));
    }
    int pixel = bl_channels_bytes(options->channels);
    if ((int64_t)g->scaled_width * g->scaled_height != (int64_t)g->width * g->height)
        memset(out, 0, (size_t)g->width * (size_t)g->height * (size_t)pixel);
    p.writer.origin = out + bl_geometry_place(g, pixel, &p.writer.step_x, &p.writer.step_y);
    BL_TRY(keeps ? conversion_copy(&p, planes, e) : conversion_scale(&p, planes, e));
    return p.tonemap ? bl_tonemap_finish(p.tonemap, &p.writer, e) : BL_OK;
}
