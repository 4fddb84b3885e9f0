/* Where the sequences come from, and what is wrong with which of them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "packing/fault_counts.h"
#include "report/page.h"
#include "show/xml.h"

enum { SOURCES_SHOWN = 25, REASONS_SHOWN = 50 };

static void sources_append_rest(const struct bl_tally *t, size_t shown, const char *noun, struct bl_buffer *out)
{
    char a[BL_PLURAL_SIZE], b[BL_PLURAL_SIZE];
    int64_t rows = t->rest.rows;
    for (size_t i = shown; i < t->count; i++)
        rows += t->entry[i].rows;
    if (rows)
        bl_buffer_printf(out, "<p>%s%s more, with %s, not shown.</p>\n", t->rest.rows ? "At least " : "",
                         bl_text_plural(a, (int64_t)(t->count - shown) + (t->rest.rows > 0), noun),
                         bl_text_plural(b, rows, "row"));
}

static void sources_append_entry(const struct bl_tally_entry *entry, struct bl_buffer *out)
{
    char size[32];
    bl_page_number(out, entry->rows);
    bl_page_number(out, entry->steps);
    bl_page_number_text(out, entry->bytes ? bl_text_size(size, entry->bytes) : "-"); /* a table may lack them */
    bl_buffer_text(out, "</tr>\n");
}

/* Folders or files. Where there are too many, those with most steps are known of the first ones only. */
static void sources_append_places(const struct bl_tally *t, const char *noun, struct bl_buffer *out)
{
    size_t shown = t->count < SOURCES_SHOWN ? t->count : SOURCES_SHOWN;
    char caption[96], head[64], first[32] = "", many[BL_PLURAL_SIZE];
    if (!shown)
        return;
    if (t->rest.rows)
        bl_text_count(first, (int64_t)t->count);
    bl_text_plural(many, 2, noun);
    snprintf(caption, sizeof caption, "Most steps by %s%s%s%s%s", noun, *first ? ", of the first " : "", first,
             *first ? " " : "", *first ? strchr(many, ' ') + 1 : "");
    snprintf(head, sizeof head, "%s|#rows|#steps|#bytes", noun);
    bl_page_begin_table(out, caption, head);
    for (size_t i = 0; i < shown; i++) {
        bl_buffer_text(out, "<tr><th scope=\"row\" class=\"w\">");
        bl_xml_append_name(out, t->entry[i].key);
        bl_buffer_text(out, "</th>");
        sources_append_entry(&t->entry[i], out);
    }
    bl_page_end_table(out);
    sources_append_rest(t, shown, noun, out);
}

/* Rows by "kind TAB sampling TAB decoder". */
static void sources_append_made(const struct bl_tally *t, struct bl_buffer *out)
{
    size_t shown = t->count < SOURCES_SHOWN ? t->count : SOURCES_SHOWN;
    if (!shown)
        return;
    bl_page_begin_table(out, "How steps were taken", "kind|sampling|decoder|#rows|#steps|#bytes");
    for (size_t i = 0; i < shown; i++) {
        const char *sampling = strchr(t->entry[i].key, '\t') + 1, *decoder = strrchr(t->entry[i].key, '\t') + 1;
        struct bl_buffer text = {0};
        bl_buffer_append(&text, t->entry[i].key, (size_t)(sampling - 1 - t->entry[i].key));
        bl_buffer_byte(&text, '\0');
        size_t at = text.size;
        bl_buffer_append(&text, sampling, decoder > sampling ? (size_t)(decoder - 1 - sampling) : 0);
        bl_buffer_text(out, "<tr><th scope=\"row\">");
        bl_xml_append_name(out, text.failed ? "" : text.data);
        bl_buffer_text(out, "</th><td class=\"w\">");
        bl_xml_append_name(out, text.failed ? "" : text.data + at);
        bl_buffer_text(out, "</td><td>");
        bl_xml_append_name(out, *decoder ? decoder : "-");
        bl_buffer_text(out, "</td>");
        sources_append_entry(&t->entry[i], out);
        out->failed |= text.failed;
        bl_buffer_free(&text);
    }
    bl_page_end_table(out);
    sources_append_rest(t, shown, "way|ways", out);
}

static void sources_append_view(const struct bl_manifest *m, struct bl_buffer *out)
{
    char share[32];
    if (!m->sources)
        return;
    bl_page_begin_table(out, "Datasets of the view", "name|path|#sequences|#steps|#of the plan|#weight");
    for (size_t s = 0; s < m->sources; s++) {
        const struct bl_view_source *source = &m->source[s];
        bl_buffer_text(out, "<tr><th scope=\"row\">");
        bl_xml_append_text(out, source->name);
        bl_buffer_text(out, "</th><td class=\"w\">");
        bl_xml_append_text(out, source->path);
        bl_buffer_text(out, "</td>");
        bl_page_number(out, source->sequences);
        bl_page_number(out, source->steps);
        snprintf(share, sizeof share, "%.2f %%", 100 * source->share);
        bl_page_number_text(out, share);
        snprintf(share, sizeof share, source->weight > 0 ? "%.10g" : "-", source->weight);
        bl_page_number_text(out, share);
        bl_buffer_text(out, "</tr>\n");
    }
    bl_page_end_table(out);
}

static void sources_append_reasons(const struct bl_tally *t, struct bl_buffer *out)
{
    size_t shown = t->count < REASONS_SHOWN ? t->count : REASONS_SHOWN;
    if (!shown)
        return;
    bl_page_begin_table(out, "Reasons, with N for numbers", "what|reason|#rows|first of them");
    for (size_t i = 0; i < shown; i++) {
        const struct bl_tally_entry *entry = &t->entry[i];
        size_t status = strcspn(entry->key, "\t");
        bl_buffer_printf(out, "<tr><th scope=\"row\">%.*s</th><td class=\"w\">", (int)status, entry->key);
        bl_xml_append_text(out, entry->key[status + 1] ? entry->key + status + 1 : "no reason given");
        bl_buffer_text(out, "</td>");
        bl_page_number(out, entry->rows);
        bl_buffer_text(out, "<td class=\"w\">");
        for (int k = 0; k < entry->examples; k++) {
            bl_buffer_text(out, k ? "<br>" : "");
            bl_xml_append_text(out, entry->example[k]);
        }
        bl_buffer_text(out, "</td></tr>\n");
    }
    bl_page_end_table(out);
    sources_append_rest(t, shown, "reason", out);
}

void bl_page_sources(const struct bl_report *r, struct bl_buffer *out)
{
    const struct bl_info *info = &r->info;
    struct bl_buffer faults = {0};
    bl_buffer_text(out, "<h2>Sources</h2>\n");
    sources_append_view(&info->manifest, out);
    sources_append_places(&r->folders, "folder", out);
    sources_append_places(&r->sources, "file", out);
    sources_append_made(&r->made, out);
    bl_buffer_text(out, "<h2>What was left out</h2>\n<p>");
    if (info->fault_count)
        bl_fault_counts_append(&faults, &(struct bl_fault_counts){.skipped = info->manifest.skipped,
                                                                  .failed = info->manifest.failed,
                                                                  .damaged = info->damaged,
                                                                  .failed_steps = info->manifest.failed_steps});
    else
        bl_buffer_text(&faults, "No faults");
    bl_buffer_text(out, faults.data ? faults.data : "");
    out->failed |= faults.failed;
    bl_buffer_free(&faults);
    bl_buffer_printf(out, "; %" PRId64 " dropped by request, %" PRId64 " empty.</p>\n", info->dropped, r->empty);
    if (info->manifest.untrained.pieces || info->manifest.untrained.blocks) {
        bl_buffer_text(out, "<p>");
        bl_untrained_describe(&info->manifest.untrained, out);
        bl_buffer_text(out, ".</p>\n");
    }
    sources_append_reasons(&r->reasons, out);
}
