/* The parts of the page of a report. */
#ifndef BL_PAGE_H
#define BL_PAGE_H

#include "base/error.h"
#include "report/report.h"

/* Begins a table that can be scrolled sideways. head: names of the columns, with "|" between them; those after the
 * first that begin with "#" have numbers. */
void bl_page_begin_table(struct bl_buffer *out, const char *caption, const char *head);
void bl_page_end_table(struct bl_buffer *out);

/* A row of a name and a value; the latter is made as by printf and escaped. */
void bl_page_fact(struct bl_buffer *out, const char *name, const char *format, ...) BL_PRINTF(3, 4);

/* A cell with a number, or the text of one. */
void bl_page_number(struct bl_buffer *out, int64_t value);
void bl_page_number_text(struct bl_buffer *out, const char *text);

/* The sections: what is in it and how to make it again; the plan; sources and what is wrong with them. */
void bl_page_contents(const struct bl_report *report, struct bl_buffer *out);
void bl_page_origin(const struct bl_report *report, struct bl_buffer *out);
void bl_page_plan(const struct bl_report *report, struct bl_buffer *out);
void bl_page_sources(const struct bl_report *report, struct bl_buffer *out);

#endif
