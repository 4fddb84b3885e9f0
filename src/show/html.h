/* Pages in HTML, and the text and colours that pictures share with them.
 *
 * Pages have their style and pictures inline, and neither scripts nor requests. They suit light and dark displays. */
#ifndef BL_HTML_H
#define BL_HTML_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* --- text in XML -------------------------------------------------------------------------------------------------- */

/* Text of tables in XML and HTML: what pictures and pages show of names that others chose. */

/* Appends text escaped as in tables, and then for XML, in elements and in quoted attributes; what still would not be
 * seen is "?". */
void bl_xml_append_text(struct bl_buffer *out, const char *text);

/* Appends text, of which all can be seen, escaped for XML alone. */
void bl_xml_append_plain(struct bl_buffer *out, const char *text, size_t size);

/* As bl_xml_append_text for a name, and of a long name the end, which says more about a path. */
void bl_xml_append_name(struct bl_buffer *out, const char *name);

/* Escapes what was appended from that byte on, in the way of bl_xml_append_text. */
void bl_xml_escape_from(struct bl_buffer *out, size_t from);

/* --- colours ------------------------------------------------------------------------------------------------------ */

/* The colours of pictures and pages, on light and on dark. */

#define BL_STYLE_PAPER "#fff"
#define BL_STYLE_INK "#1f2328"
#define BL_STYLE_LINE "#d0d7de"
#define BL_STYLE_SHADE "#f6f8fa"
#define BL_STYLE_DARK_PAPER "#0d1117"
#define BL_STYLE_DARK_INK "#d7dde4"
#define BL_STYLE_DARK_LINE "#30363d"
#define BL_STYLE_DARK_SHADE "#161b22"

/* The same, of pixels: 0xRRGGBB. */
#define BL_COLOUR_PAPER 0xffffffU
#define BL_COLOUR_INK 0x1f2328U
#define BL_COLOUR_SHADE 0xf6f8faU
#define BL_COLOUR_GREY 0x8c959fU
#define BL_COLOUR_BLUE 0x2f6fb5U
#define BL_COLOUR_RED 0xb83a3aU
#define BL_COLOUR_PINK 0xf7e1e1U

#define BL_STYLE_COLOURS 12

/* A colour for the i-th of something, 0xRRGGBB, again from BL_STYLE_COLOURS on: fills that have a contrast of 3 and
 * more to both papers, and of 4.5 to white letters on them; neighbours in number differ in hue and lightness. */
uint32_t bl_style_colour(uint64_t i);

/* --- pages -------------------------------------------------------------------------------------------------------- */

/* Begins a page with its title, which is escaped. what: the command; style: further rules. */
void bl_page_begin(struct bl_buffer *out, const char *title, const char *what, const char *style);
void bl_page_end(struct bl_buffer *out);

/* Begins a table that can be scrolled sideways. head: names of the columns, with "|" between them; those after the
 * first that begin with "#" have numbers. */
void bl_page_begin_table(struct bl_buffer *out, const char *caption, const char *head);
/* Begins a table of facts (bl_page_fact) below a heading. label: for screen readers. */
void bl_page_begin_facts(struct bl_buffer *out, const char *label);
void bl_page_end_table(struct bl_buffer *out);

/* A row of a name and a value; the latter is made as by printf and escaped. */
void bl_page_fact(struct bl_buffer *out, const char *name, const char *format, ...) BL_PRINTF(3, 4);

/* Begins a row of several cells with its name, which is escaped. */
void bl_page_begin_row(struct bl_buffer *out, const char *name);

/* A cell with a text, which is escaped and may be broken anywhere. */
void bl_page_cell(struct bl_buffer *out, const char *text);

/* A cell with a number, or with the text of one, which is made as by printf. */
void bl_page_number(struct bl_buffer *out, int64_t value);
void bl_page_number_text(struct bl_buffer *out, const char *format, ...) BL_PRINTF(2, 3);

#endif
