/* What is in some of the blocks. */
#include <inttypes.h>
#include <stdio.h>

#include "report/page.h"
#include "show/sheet_page.h"

static int blocks_append(struct bl_report *r, struct bl_view *view, int64_t b, const struct bl_cancel *cancel,
                         struct bl_buffer *out, struct bl_error *e)
{
    static const struct bl_sheet_look look = {
        .width = 960, .cell = 80, .pictures = 48, .lines = 2, .curve = 48, .map = 64, .strip = 16};
    const struct bl_sheet_subject subject = {.block = b, .field = -1, .without_texts = true, .cancel = cancel};
    struct bl_sheet sheet;
    char id[48];
    snprintf(id, sizeof id, "block-%" PRId64, b);
    int code = bl_sheet_make(&sheet, view, &subject, &look, e);
    if (!code) {
        bl_buffer_printf(out, "<h3>Block %" PRId64 "</h3>\n", b);
        code = bl_sheet_append_section(&sheet, id, out, e);
    }
    if (!code && sheet.damage.code && !r->damage.code)
        r->damage = sheet.damage;
    bl_sheet_free(&sheet);
    return code;
}

int bl_page_blocks(struct bl_report *r, const struct bl_cancel *cancel, struct bl_buffer *out, struct bl_error *e)
{
    const int64_t blocks = r->info.manifest.format.blocks, shown = r->sheets < blocks ? r->sheets : blocks;
    struct bl_view view;
    if (r->is_table || shown < 1)
        return BL_OK;
    int code = bl_view_open(&view, r->path, e);
    if (code)
        return code;
    bl_buffer_text(out, "<h2>Blocks</h2>\n<p>Some of them, as <code>bload show</code> draws them.</p>\n");
    for (int64_t i = 0; i < shown && !code; i++)
        code = blocks_append(r, &view, (int64_t)((double)blocks / (double)shown * (double)i), cancel, out, e);
    bl_view_close(&view);
    return code;
}
