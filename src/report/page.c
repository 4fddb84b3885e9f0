#include "report/page.h"

int bl_report_format(const struct bl_report *report, struct bl_buffer *out, struct bl_error *e)
{
    bl_page_begin(out, report->path, "bload report", "");
    bl_page_contents(report, out);
    bl_page_plan(report, out);
    bl_page_sources(report, out);
    bl_page_origin(report, out);
    bl_page_end(out);
    return bl_buffer_check(out, e);
}
