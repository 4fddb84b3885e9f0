#include "report/page.h"

#include "show/sheet_svg.h"

int bl_report_format(struct bl_report *report, const struct bl_cancel *cancel, struct bl_buffer *out,
                     struct bl_error *e)
{
    struct bl_buffer style = {0};
    bl_sheet_append_style(&style);
    int code = bl_buffer_check(&style, e);
    if (!code)
        bl_page_begin(out, report->path, "bload report", style.data);
    bl_buffer_free(&style);
    if (code)
        return code;
    bl_page_contents(report, out);
    bl_page_plan(report, out);
    code = bl_page_blocks(report, cancel, out, e);
    if (code)
        return code;
    bl_page_sources(report, out);
    bl_page_origin(report, out);
    bl_page_end(out);
    return bl_buffer_check(out, e);
}
