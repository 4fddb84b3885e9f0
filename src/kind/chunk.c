#include "kind/chunk.h"

int bl_chunk_emit_row(bl_row_emit *emit, void *sink, struct bl_row *row, int code, const struct bl_error *fault,
                      struct bl_error *e)
{
    if (code && code != BL_EDATA)
        return bl_error_set(e, code, "%s", fault->text);
    if (code) {
        row->status = BL_ROW_SKIPPED;
        row->length = 0;
        row->reason = fault->text;
        row->extra = NULL;
        row->form = NULL;
        row->times = NULL;
    }
    return emit(sink, 0, row, e);
}
