/* Appends the parts of HTML pages and escapes text for XML.
 *
 * Pages have no scripts and load nothing, so that a report can be mailed as one file. All texts from outside pass
 * through bl_xml_append_text, which escapes control characters as the tables do, and then for XML, as in:
 *
 *     a<b.mp4  ->  a&lt;b.mp4 */
#include "show/html.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Each colour has a contrast of 3 or more to the light paper and to the dark one, the minimum of WCAG for graphics. */
#define BL_STYLE_BLUE "#2f6fb5"
#define BL_STYLE_BROWN "#a8521c"

/* --- text in XML -------------------------------------------------------------------------------------------------- */

/* Longer names lose their beginning, as the end of a path tells more than its first folders. */
enum { NAME_MAX_BYTES = 64 };

void bl_xml_append_plain(struct bl_buffer *out, const char *text, size_t size)
{
    /* All four are escaped everywhere, as the caller may write into an element or into an attribute. */
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == '&')
            bl_buffer_text(out, "&amp;");
        else if (c == '<')
            bl_buffer_text(out, "&lt;");
        else if (c == '>')
            bl_buffer_text(out, "&gt;");
        else if (c == '"')
            bl_buffer_text(out, "&quot;");
        else
            bl_buffer_byte(out, c);
    }
}

void bl_xml_append_text(struct bl_buffer *out, const char *text)
{
    /* Control characters are escaped as in the tables first; then other characters that nobody could see become "?". */
    struct bl_buffer escaped = {0}, masked = {0};
    bl_text_escape(&escaped, text, strlen(text));
    bl_text_append_masked(&masked, escaped.data && !escaped.failed ? escaped.data : "");
    out->failed |= escaped.failed || masked.failed;
    bl_xml_append_plain(out, masked.data, masked.size);
    bl_buffer_free(&escaped);
    bl_buffer_free(&masked);
}

void bl_xml_append_name(struct bl_buffer *out, const char *name)
{
    size_t size = strlen(name);
    if (size > NAME_MAX_BYTES) {
        bl_buffer_text(out, "…");
        name += size - NAME_MAX_BYTES;
        /* The cut falls in the middle of a UTF-8 character if the first byte left is a continuation byte, 10xxxxxx. */
        while ((*name & 0xc0) == 0x80)
            name++;
    }
    bl_xml_append_text(out, name);
}

/* Replaces what the buffer has from this position by its escaped form. The copy takes the NUL of the buffer, too. */
void bl_xml_escape_from(struct bl_buffer *out, size_t from)
{
    struct bl_buffer plain = {0};
    /* Nothing was appended, or the buffer has failed and must not be read. */
    if (out->failed || out->size == from)
        return;
    bl_buffer_append(&plain, out->data + from, out->size - from + 1);
    out->size = from;
    bl_xml_append_text(out, plain.failed ? "" : plain.data);
    bl_buffer_free_part(&plain, out);
}

/* --- colours ------------------------------------------------------------------------------------------------------ */

uint32_t bl_style_colour(uint64_t i)
{
    /* The colours of neighbouring numbers differ in hue, so that two pieces beside each other are easy to tell
     * apart. */
    static const uint32_t colour[BL_STYLE_COLOURS] = {BL_COLOUR_BLUE, 0xa8521c, 0x27784a, 0xa33b6e, 0x6a5fc4, 0x76681a,
                                                      0x177a86,       0xb83a3a, 0x4f7a1f, 0x9243a8, 0x8a5a35, 0x4a6a8f};
    return colour[i % BL_STYLE_COLOURS];
}

/* --- pages -------------------------------------------------------------------------------------------------------- */

/* The head has the titles of the columns with "|" between them. "#" before a title marks a column of numbers, which
 * is aligned to the right. The caption is also the label of the region, which can be scrolled by keyboard. */
void bl_page_begin_table(struct bl_buffer *out, const char *caption, const char *head)
{
    bl_buffer_printf(out,
                     "<div class=\"t\" role=\"region\" tabindex=\"0\" aria-label=\"%s\"><table><caption>%s</caption>\n"
                     "<thead><tr>",
                     caption, caption);
    /* The loop ends at the NUL; head moves over the "|" only if there is one. */
    while (*head) {
        size_t size = strcspn(head, "|");
        bool is_number = *head == '#';
        bl_buffer_printf(out, "<th scope=\"col\"%s>%.*s</th>", is_number ? " class=\"n\"" : "", (int)(size - is_number),
                         head + is_number);
        head += size + (head[size] == '|');
    }
    bl_buffer_text(out, "</tr></thead>\n<tbody>\n");
}

void bl_page_begin_facts(struct bl_buffer *out, const char *label)
{
    /* A table of facts has no head: each row is a name and a value. */
    bl_buffer_printf(out, "<div class=\"t\" role=\"region\" tabindex=\"0\" aria-label=\"%s\"><table><tbody>\n", label);
}

void bl_page_end_table(struct bl_buffer *out)
{
    bl_buffer_text(out, "</tbody></table></div>\n");
}

void bl_page_fact(struct bl_buffer *out, const char *name, const char *format, ...)
{
    /* Facts are short: a longer text is cut at 1023 bytes. */
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bl_buffer_printf(out, "<tr><th scope=\"row\">%s</th><td>", name);
    bl_xml_append_text(out, size < 0 ? "" : text);
    bl_buffer_text(out, "</td></tr>\n");
}

void bl_page_begin_row(struct bl_buffer *out, const char *name)
{
    bl_buffer_text(out, "<tr><th scope=\"row\">");
    bl_xml_append_text(out, name);
    bl_buffer_text(out, "</th>");
}

void bl_page_cell(struct bl_buffer *out, const char *text)
{
    bl_buffer_text(out, "<td class=\"w\">");
    bl_xml_append_text(out, text);
    bl_buffer_text(out, "</td>");
}

void bl_page_number(struct bl_buffer *out, int64_t value)
{
    char count[32];
    bl_page_number_text(out, "%s", bl_text_count(count, value));
}

void bl_page_number_text(struct bl_buffer *out, const char *format, ...)
{
    /* The text is a formatted number, so that it needs no escapes. */
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bl_buffer_printf(out, "<td class=\"n\">%s</td>", text);
}

/* Appends the style of all pages: two sets of colours for light and dark screens, and tables that scroll sideways on
 * a narrow screen. */
static void page_append_style(struct bl_buffer *out)
/* The colours are variables of CSS, so that only one rule differs between light and dark. Class t is a table that
 * scrolls, n a number, w a cell that may wrap, v0 and v1 the fills of bars, k a key of colours. */
{
    bl_buffer_text(
        out,
        ":root{color-scheme:light dark;--paper:" BL_STYLE_PAPER ";--ink:" BL_STYLE_INK ";--line:" BL_STYLE_LINE
        ";--shade:" BL_STYLE_SHADE "}\n"
        "@media (prefers-color-scheme:dark){:root{--paper:" BL_STYLE_DARK_PAPER ";--ink:" BL_STYLE_DARK_INK
        ";--line:" BL_STYLE_DARK_LINE ";--shade:" BL_STYLE_DARK_SHADE "}}\n"
        "body{margin:0 auto;padding:1rem;max-width:60rem;background:var(--paper);color:var(--ink);"
        "font:1rem/1.5 sans-serif;overflow-wrap:anywhere}\n"
        "h1{font-size:1.5rem}h2{font-size:1.2rem;border-top:1px solid var(--line);padding-top:1rem;margin-top:2rem}\n"
        ".t{overflow-x:auto;margin:1rem 0}table{border-collapse:collapse}caption{text-align:left;font-weight:bold}\n"
        "th,td{padding:.25rem .6rem .25rem 0;border-bottom:1px solid var(--line);text-align:left;"
        "vertical-align:top;overflow-wrap:normal}\n"
        "th:last-child,td:last-child{padding-right:0}tbody "
        "th{font-weight:normal}.n{text-align:right;white-space:nowrap}\n"
        ".w{overflow-wrap:anywhere;min-width:9rem}\n"
        "@media "
        "(max-width:44rem){table{font-size:.8rem}th,td{padding-right:.4rem}.w{min-width:5rem}.n{white-space:normal}}\n"
        "pre{overflow-x:auto;background:var(--shade);padding:.75rem;white-space:pre-wrap}\n"
        "svg{display:block;width:100%;max-width:36rem;height:auto;font:11px sans-serif}svg text{fill:var(--ink)}\n"
        ".e{text-anchor:end}.v0{fill:" BL_STYLE_BLUE "}.v1{fill:" BL_STYLE_BROWN "}\n"
        ".k{display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 .8em}.k0{background:" BL_STYLE_BLUE
        "}.k1{background:" BL_STYLE_BROWN "}\n");
}

void bl_page_begin(struct bl_buffer *out, const char *title, const char *what, const char *style)
{
    /* The viewport makes phones show the page at their own width. */
    bl_buffer_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    bl_xml_append_name(out, title);
    bl_buffer_printf(out, " - %s</title>\n<style>\n", what);
    page_append_style(out);
    bl_buffer_printf(out, "%s</style>\n</head>\n<body>\n<main>\n<h1>", style);
    bl_xml_append_text(out, title);
    bl_buffer_text(out, "</h1>\n");
}

void bl_page_end(struct bl_buffer *out)
{
    bl_buffer_text(out, "</main>\n</body>\n</html>\n");
}
