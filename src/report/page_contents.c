/* What is in it, and how to make it again. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "bload.h"
#include "report/chart.h"
#include "report/page.h"
#include "show/xml.h"

static const char *contents_what(const struct bl_report *r)
{
    if (r->is_table)
        return "table of sequences";
    return bl_manifest_is_view(&r->info.manifest) ? "view" : "dataset";
}

static void contents_append_fields(const struct bl_report *r, struct bl_buffer *out)
{
    const struct bl_manifest *m = &r->info.manifest;
    char encoding[BL_ENCODING_NAME_MAX];
    if (!m->format.fields.count)
        return;
    bl_page_begin_table(out, "Fields of a block", "name|type|shape|kind|stored as|made by");
    for (int f = 0; f < m->format.fields.count; f++) {
        const struct bl_field *field = &m->format.fields.field[f];
        bl_buffer_text(out, "<tr><th scope=\"row\">");
        bl_xml_append_text(out, field->name);
        bl_buffer_printf(out, "</th><td>%s</td><td>[%" PRId64, bl_dtype_name(field->dtype), m->format.T);
        for (int i = 0; i < field->rank; i++)
            bl_buffer_printf(out, ", %" PRId64, field->shape[i]);
        bl_buffer_text(out, "]</td><td>");
        bl_xml_append_text(out, field->kind);
        bl_buffer_printf(out, "</td><td>%s</td><td class=\"w\">", bl_encoding_name(&m->format.encoding[f], encoding));
        bl_xml_append_text(out, m->made[f]);
        bl_buffer_text(out, "</td></tr>\n");
    }
    bl_page_end_table(out);
}

static void contents_append_attributes(const struct bl_report *r, struct bl_buffer *out)
{
    const struct bl_format *format = &r->info.manifest.format;
    if (!format->attributes)
        return;
    bl_page_begin_table(out, "Attributes of a sequence", "name|type");
    for (int a = 0; a < format->attributes; a++) {
        bl_buffer_text(out, "<tr><th scope=\"row\">");
        bl_xml_append_text(out, format->attribute[a].name);
        bl_buffer_printf(out, "</th><td>%s</td></tr>\n", bl_dtype_name(format->attribute[a].dtype));
    }
    bl_page_end_table(out);
}

static void contents_append_lengths(const struct bl_info *info, struct bl_buffer *out)
{
    struct bl_chart_bar bar[BL_INFO_BARS] = {0};
    for (int i = 0; i < info->bars; i++) {
        char from[32], to[32];
        bl_text_count(from, i * info->bar_width + 1);
        bl_text_count(to, (i + 1) * info->bar_width);
        snprintf(bar[i].label, sizeof bar[i].label, info->bar_width > 1 ? "%s–%s" : "%s", from, to);
        if (strlen(from) + strlen(to) >= 17) /* there is no room for both */
            snprintf(bar[i].label, sizeof bar[i].label, "to %s", to);
        bar[i].value[0] = info->bar[i];
    }
    bl_buffer_text(out, "<h2>Lengths</h2>\n<p>Sequences by their number of steps.</p>\n");
    if (info->bars)
        bl_chart_append(out, "lengths", "Lengths", "Sequences by their number of steps", bar, info->bars);
}

void bl_page_contents(const struct bl_report *r, struct bl_buffer *out)
{
    const struct bl_info *info = &r->info;
    const struct bl_plan_info *w = &info->manifest.plan_info;
    char a[BL_PLURAL_SIZE], b[32];
    bl_buffer_text(out, "<h2>What is in it</h2>\n");
    bl_page_begin_table(out, "In all", "what|value");
    bl_page_fact(out, "what it is", "%s", contents_what(r));
    bl_page_fact(out, "sequences", "%s", bl_text_count(a, w->sequences));
    bl_page_fact(out, "steps", "%s", bl_text_count(a, w->steps));
    bl_page_fact(out, "longest", "%s", bl_text_plural(a, w->longest, "step"));
    if (info->hours > 0)
        bl_page_fact(out, "hours", "%.3f", info->hours);
    if (w->blocks && !r->is_table)
        bl_page_fact(out, "blocks", "%s of T = %s steps", bl_text_count(a, w->blocks), bl_text_count(b, w->T));
    bl_page_fact(out, "inputs", "%s", bl_text_plural(a, r->rows, "row"));
    if (r->files)
        bl_page_fact(out, "source files", "%s%s%s", bl_text_plural(a, r->files, "file"), r->file_bytes ? ", " : "",
                     r->file_bytes ? bl_text_size(b, r->file_bytes) : "");
    if (info->shards)
        bl_page_fact(out, "shards", "%s, %s", bl_text_plural(a, info->shards, "shard"), bl_text_size(b, info->bytes));
    bl_page_end_table(out);
    contents_append_fields(r, out);
    contents_append_attributes(r, out);
    contents_append_lengths(info, out);
}

static void origin_append_pairs(const struct bl_manifest_pairs *pairs, const char *separator, struct bl_buffer *out)
{
    for (size_t i = 0; i < pairs->count; i++) {
        bl_xml_append_text(out, pairs->pair[i].name);
        bl_buffer_text(out, separator);
        bl_xml_append_text(out, pairs->pair[i].value);
        bl_buffer_byte(out, '\n');
    }
}

void bl_page_origin(const struct bl_report *r, struct bl_buffer *out)
{
    const struct bl_manifest *m = &r->info.manifest;
    bl_buffer_text(out, "<h2>How to make it again</h2>\n");
    if (r->is_table) {
        bl_buffer_text(out,
                       "<p>A table does not say by which options it was made.</p>\n<p>This page: bload " BLOAD_VERSION
                       ".</p>\n");
        return;
    }
    bl_buffer_text(out, "<h3>Configuration</h3>\n<pre>");
    origin_append_pairs(&m->configuration, ": ", out);
    bl_buffer_text(out, "</pre>\n<h3>Versions</h3>\n<pre>bload ");
    bl_xml_append_text(out, m->tool);
    bl_buffer_text(out, "\nSIMD level ");
    bl_xml_append_text(out, m->simd);
    bl_buffer_byte(out, '\n');
    origin_append_pairs(&m->libraries, " ", out);
    bl_buffer_printf(out, "</pre>\n<p>Plan %s, manifest %s. This page: bload " BLOAD_VERSION ".</p>\n",
                     m->format.plan_digest, m->digest);
    if (m->notes)
        bl_buffer_text(out, "<h3>Notes of the run</h3>\n<ul>\n");
    for (size_t i = 0; i < m->notes; i++) {
        bl_buffer_text(out, "<li>");
        bl_xml_append_text(out, m->note[i]);
        bl_buffer_text(out, "</li>\n");
    }
    if (m->notes)
        bl_buffer_text(out, "</ul>\n");
}
