/* All lengths are units of the viewBox, which is about as wide as a phone: there letters have their own size. */
#include "report/chart.h"

#include <inttypes.h>

#include "base/text.h"

enum { CHART_WIDTH = 360, CHART_LEFT = 120, CHART_BAR = 160, CHART_ROW = 20, CHART_HEIGHT = 14 };

static double chart_width(int64_t value, int64_t most)
{
    double width = (double)value * CHART_BAR / (double)most;
    return value && width < 1 ? 1 : width;
}

static void chart_append_bar(struct bl_buffer *out, const struct bl_chart_bar *bar, int64_t most, int y)
{
    char count[32];
    double x = CHART_LEFT;
    bl_buffer_printf(out, "<text class=\"e\" x=\"%d\" y=\"%d\">%s</text>", CHART_LEFT - 6, y + CHART_HEIGHT - 3,
                     bar->label);
    for (int i = 0; i < 2; i++) {
        double width = chart_width(bar->value[i], most);
        if (bar->value[i])
            bl_buffer_printf(out, "<rect class=\"v%d\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"/>", i, x, y,
                             width, CHART_HEIGHT);
        x += width;
    }
    bl_buffer_printf(out, "<text x=\"%.2f\" y=\"%d\">%s</text>\n", x + 4, y + CHART_HEIGHT - 3,
                     bl_text_count(count, bar->value[0] + bar->value[1]));
}

void bl_chart_append(struct bl_buffer *out, const char *id, const char *title, const char *what,
                     const struct bl_chart_bar *bar, int bars)
{
    char count[32];
    int64_t most = 1;
    for (int i = 0; i < bars; i++)
        most = bar[i].value[0] + bar[i].value[1] > most ? bar[i].value[0] + bar[i].value[1] : most;
    bl_buffer_printf(out,
                     "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s-title %s-desc\">\n"
                     "<title id=\"%s-title\">%s</title>\n<desc id=\"%s-desc\">%s:",
                     CHART_WIDTH, bars * CHART_ROW + 4, id, id, id, title, id, what);
    for (int i = 0; i < bars; i++)
        bl_buffer_printf(out, "%s %s: %s", i ? ";" : "", bar[i].label,
                         bl_text_count(count, bar[i].value[0] + bar[i].value[1]));
    bl_buffer_text(out, ".</desc>\n");
    for (int i = 0; i < bars; i++)
        chart_append_bar(out, &bar[i], most, i * CHART_ROW + 3);
    bl_buffer_text(out, "</svg>\n");
}
