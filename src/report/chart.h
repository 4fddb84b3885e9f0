/* Bar charts as SVG inside a page. */
#ifndef BL_CHART_H
#define BL_CHART_H

#include <stdint.h>

#include "base/buffer.h"

#define BL_CHART_LABEL 64

struct bl_chart_bar {
    char label[BL_CHART_LABEL]; /* of up to 17 characters, so that it has room */
    int64_t value[2];           /* drawn one after the other; at least 0 */
};

/* Appends a picture. id: unique on the page; title and what each bar is, for those who do not see it. */
void bl_chart_append(struct bl_buffer *out, const char *id, const char *title, const char *what,
                     const struct bl_chart_bar *bar, int bars);

#endif
