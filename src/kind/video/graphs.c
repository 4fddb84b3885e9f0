#include "kind/video/graphs.h"

#include <string.h>

#include "kind/simd_libraries.h"
#include "kind/video/geometry.h"

int bl_graph_report(const char *what, struct bl_error *e)
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
        return bl_graph_report("scale this", e);
    graph->in_mask = zimg_select_buffer_mask(in_lines);
    graph->out_mask = zimg_select_buffer_mask(out_lines);
    graph->key = *key;
    return 0;
}

int bl_graphs_find(struct bl_graphs *graphs, const struct bl_graph_key *key, enum bl_simd simd, struct bl_graph **found,
                   struct bl_error *e)
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

void bl_graphs_free(struct bl_graphs *graphs)
{
    for (int i = 0; i < BL_GRAPHS_MAX; i++)
        zimg_filter_graph_free(graphs->graph[i].zimg);
}
