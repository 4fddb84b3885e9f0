#include "store/shard_check.h"

#include <stdarg.h>
#include <stdio.h>

void bl_shard_check_report(struct bl_shard_check *w, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    w->faults++;
    w->fault(w->context, w->name, text);
}

int bl_shard_check_read(struct bl_shard_check *w, int64_t offset, int64_t size, void *out, const char *what,
                        struct bl_error *e)
{
    struct bl_error why = {0};
    if (bl_cancelled(w->verify->cancel))
        return BL_ECANCEL;
    int code = bl_shard_reader_read(&w->file, offset, size, out, &why);
    if (code == BL_EDATA || code == BL_EFAIL) {
        bl_shard_check_report(w, "%s: %s", what, why.text);
        return BL_EDATA;
    }
    return code ? bl_error_set(e, code, "%s", why.text) : BL_OK;
}

void bl_shard_check_add_region(struct bl_shard_check *w, uint64_t checksum)
{
    bl_checksum_add(&w->sum, &checksum, sizeof checksum);
}
