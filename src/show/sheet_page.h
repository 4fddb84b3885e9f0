/* A sheet as a page: the axis, the texts of tokens, and a table of the pieces for those who do not see pictures. */
#ifndef BL_SHEET_PAGE_H
#define BL_SHEET_PAGE_H

#include "base/buffer.h"
#include "show/sheet.h"

/* Appends the page. path: of the dataset, as it was named. */
int bl_sheet_append_page(const struct bl_sheet *sheet, const char *path, struct bl_buffer *out, struct bl_error *e);

/* Appends the sheet as a part of another page, which has bl_sheet_append_style. id: unique on the page. */
int bl_sheet_append_section(const struct bl_sheet *sheet, const char *id, struct bl_buffer *out, struct bl_error *e);

#endif
