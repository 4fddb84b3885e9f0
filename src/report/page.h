/* The parts of the page of a report. */
#ifndef BL_PAGE_H
#define BL_PAGE_H

#include "base/error.h"
#include "report/report.h"
#include "show/html.h"

/* The sections: what is in it and how to make it again; the plan; sources and what is wrong with them. */
void bl_page_contents(const struct bl_report *report, struct bl_buffer *out);
void bl_page_origin(const struct bl_report *report, struct bl_buffer *out);
void bl_page_plan(const struct bl_report *report, struct bl_buffer *out);
void bl_page_sources(const struct bl_report *report, struct bl_buffer *out);

/* Some blocks, evenly spread, as pictures. */
int bl_page_blocks(struct bl_report *report, const struct bl_cancel *cancel, struct bl_buffer *out, struct bl_error *e);

#endif
