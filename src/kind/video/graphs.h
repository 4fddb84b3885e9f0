/* zimg's graphs, each of which scales a plane of words: the last few are kept, since making one takes up to a
 * millisecond. The meaning of the words does not matter: all are declared limited-range grey, so that zimg has nothing
 * to convert. */
#ifndef BL_GRAPHS_H
#define BL_GRAPHS_H

#include <stddef.h>
#include <stdint.h>
#include <zimg.h>

#include "base/error.h"
#include "kind/simd.h"

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

/* Finds the graph for key, or makes one in place of the least recently used. Valid until the next call. Start from {0}.
 * BL_EFAIL: out of memory. */
int bl_graphs_find(struct bl_graphs *graphs, const struct bl_graph_key *key, enum bl_simd simd, struct bl_graph **found,
                   struct bl_error *e);
void bl_graphs_free(struct bl_graphs *graphs);

/* Reports zimg's last error, and forgets it. */
int bl_graph_report(const char *what, struct bl_error *e);

#endif
