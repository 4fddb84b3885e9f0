/* Pages: HTML with inline style and pictures, without scripts and requests, on light and on dark. */
#ifndef BL_HTML_H
#define BL_HTML_H

#include <stdint.h>

#include "base/buffer.h"

/* Begins a page with its title, which is escaped. what: the command; style: further rules. */
void bl_page_begin(struct bl_buffer *out, const char *title, const char *what, const char *style);
void bl_page_end(struct bl_buffer *out);

/* Begins a table that can be scrolled sideways. head: names of the columns, with "|" between them; those after the
 * first that begin with "#" have numbers. */
void bl_page_begin_table(struct bl_buffer *out, const char *caption, const char *head);
void bl_page_end_table(struct bl_buffer *out);

/* A row of a name and a value; the latter is made as by printf and escaped. */
void bl_page_fact(struct bl_buffer *out, const char *name, const char *format, ...) BL_PRINTF(3, 4);

/* A cell with a number, or the text of one. */
void bl_page_number(struct bl_buffer *out, int64_t value);
void bl_page_number_text(struct bl_buffer *out, const char *text);

#endif
