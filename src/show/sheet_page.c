#include "show/sheet_page.h"

#include <inttypes.h>

#include "base/text.h"
#include "bload.h"
#include "show/html.h"
#include "show/sheet_svg.h"

static void page_append_label(const struct bl_sheet *s, size_t i, struct bl_buffer *out)
{
    struct bl_buffer label = {0};
    bl_sheet_append_label(s, &s->piece[i], &label);
    bl_xml_append_text(out, label.data ? label.data : "");
    out->failed |= label.failed;
    bl_buffer_free(&label);
}

/* The text of a piece; what the mask has is in <mark>. */
static void page_append_text(const struct bl_passages *p, size_t *run, size_t piece, struct bl_buffer *out)
{
    bl_buffer_text(out, "<p class=\"text\">");
    for (; *run < p->runs && p->run[*run].piece <= piece; (*run)++) {
        const struct bl_passage_run *r = &p->run[*run];
        size_t from = *run ? r[-1].end : 0;
        bl_buffer_text(out, r->is_shaded ? "<mark>" : "");
        bl_xml_append_plain(out, p->text.data + from, r->end - from);
        bl_buffer_text(out, r->is_shaded ? "</mark>" : "");
    }
    bl_buffer_text(out, "</p>\n");
}

static void page_append_passages(const struct bl_sheet *s, const struct bl_passages *p, struct bl_buffer *out)
{
    size_t run = 0;
    bl_buffer_text(out, "<h2>");
    bl_xml_append_text(out, s->view->manifest.format.fields.field[p->field].name);
    bl_buffer_printf(out, "</h2>\n%s", p->is_text ? "" : "<p>Ids: name their tokenizer to see the text.</p>\n");
    for (size_t i = 0; i < s->pieces; i++) {
        bl_buffer_printf(out, "<section style=\"border-color:#%06" PRIx32 "\"><h3>", bl_style_colour(i));
        page_append_label(s, i, out);
        bl_buffer_printf(out, ", from step %" PRId64 "</h3>\n", s->piece[i].start);
        if (s->piece[i].failed || p->damaged[i])
            bl_buffer_printf(out, "<p><strong>%s</strong></p>\n",
                             p->damaged[i] ? "Damaged: not shown." : "Failed while packing.");
        else
            page_append_text(p, &run, i, out);
        bl_buffer_text(out, "</section>\n");
    }
}

static const char *piece_state(const struct bl_sheet *s, size_t i)
{
    bool is_damaged = false;
    for (int l = 0; l < s->lanes; l++)
        is_damaged |= s->lane[l].damaged[i];
    return s->piece[i].failed ? "failed while packing" : is_damaged ? "damaged" : "ok";
}

static void page_append_pieces(const struct bl_sheet *s, struct bl_buffer *out)
{
    bl_page_begin_table(out, "Pieces", "sequence|#start|#steps|#from its step|#of|#block|state");
    for (size_t i = 0; i < s->pieces; i++) {
        const struct bl_sheet_piece *p = &s->piece[i];
        bl_buffer_text(out, "<tr><th scope=\"row\" class=\"w\">");
        bl_xml_append_text(out, p->id);
        bl_buffer_text(out, "</th>");
        bl_page_number(out, p->start);
        bl_page_number(out, p->end - p->start);
        bl_page_number(out, p->source_start);
        bl_page_number(out, p->length);
        bl_page_number(out, p->block);
        bl_buffer_printf(out, "<td>%s</td></tr>\n", piece_state(s, i));
    }
    bl_page_end_table(out);
}

static void page_append_lanes(const struct bl_sheet *s, struct bl_buffer *out)
{
    static const char *const what[] = {[BL_LANE_PICTURES] = "pictures",
                                       [BL_LANE_CURVE] = "least and greatest values",
                                       [BL_LANE_SPECTRUM] = "spectrum, 80 dB",
                                       [BL_LANE_MAP] = "values of each step",
                                       [BL_LANE_STRIP] = "a colour for each integer"};
    char steps[BL_PLURAL_SIZE];
    bl_page_begin_table(out, "Lanes", "field|drawn|range|made by");
    for (int l = 0; l < s->lanes; l++) {
        const struct bl_lane *lane = &s->lane[l];
        bl_buffer_text(out, "<tr><th scope=\"row\">");
        bl_xml_append_text(out, bl_sheet_field(s, lane)->name);
        bl_buffer_printf(out, "</th><td>%s", what[lane->form]);
        if (lane->form == BL_LANE_PICTURES && s->cell_steps > 1)
            bl_buffer_printf(out, ", one of %s", bl_text_plural(steps, s->cell_steps, "step"));
        bl_buffer_printf(out, "</td><td>%s", lane->note);
        if (lane->strange)
            bl_buffer_printf(out, ", %s not finite", bl_text_plural(steps, lane->strange, "value"));
        bl_buffer_text(out, "</td><td class=\"w\">");
        bl_xml_append_text(out, s->view->manifest.made[lane->field]);
        bl_buffer_text(out, "</td></tr>\n");
    }
    bl_page_end_table(out);
}

int bl_sheet_append_section(const struct bl_sheet *s, const char *id, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_buffer summary = {0};
    bl_sheet_append_summary(s, &summary);
    bl_buffer_text(out, "<p>");
    bl_xml_append_text(out, summary.data ? summary.data : "");
    bl_buffer_text(out, ".</p>\n");
    if (s->damage.code) {
        bl_buffer_text(out, "<p><strong>");
        bl_xml_append_text(out, s->damage.text);
        bl_buffer_text(out, "</strong></p>\n");
    }
    bl_buffer_text(out, "<div class=\"t\">\n");
    int code = bl_sheet_append_axis(s, id, out, e);
    bl_buffer_text(out, "</div>\n");
    for (int i = 0; i < s->texts && !code; i++)
        page_append_passages(s, &s->passages[i], out);
    out->failed |= summary.failed;
    bl_buffer_free(&summary);
    return code;
}

int bl_sheet_append_page(const struct bl_sheet *s, const char *path, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_buffer style = {0}, title = {0};
    bl_sheet_append_style(&style);
    bl_buffer_text(&style, "section{border-left:6px solid;padding-left:.75rem;margin:1rem 0}h3{font-size:1rem}\n"
                           ".text{white-space:pre-wrap;font-family:monospace}\n"
                           "mark{background:#fde68a;color:" BL_STYLE_INK "}\n");
    bl_buffer_printf(&title, "%s, ", path);
    bl_sheet_append_title(s, &title);
    int code = bl_buffer_check(&style, e);
    if (!code)
        code = bl_buffer_check(&title, e);
    if (!code) {
        bl_page_begin(out, title.data, "bload show", style.data);
        code = bl_sheet_append_section(s, "sheet", out, e);
        bl_buffer_text(out, "<h2>Tables</h2>\n");
        page_append_pieces(s, out);
        page_append_lanes(s, out);
        bl_buffer_printf(out, "<p>Manifest %s. This page: bload " BLOAD_VERSION ".</p>\n", s->view->manifest.digest);
        bl_page_end(out);
    }
    bl_buffer_free(&style);
    bl_buffer_free(&title);
    return code ? code : bl_buffer_check(out, e);
}
