#include "store/fault.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/path.h"

void bl_fault_report(const struct bl_fault_sink *sink, const char *file, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sink->fault(sink->context, file, text);
}

bool bl_fault_check_file(const struct bl_fault_sink *sink, const char *dir, const struct bl_manifest_file *file)
{
    struct bl_error e = {0};
    int64_t bytes = 0;
    uint64_t checksum = 0;
    char *path = bl_path_join(dir, file->name);
    int code = path ? bl_checksum_file(path, &bytes, &checksum, &e) : bl_error_memory(&e);
    if (code)
        bl_fault_report(sink, file->name, "%s", e.text);
    else if (bytes != file->bytes)
        bl_fault_report(sink, file->name, "has %" PRId64 " bytes, the manifest says %" PRId64, bytes, file->bytes);
    else if (checksum != file->checksum)
        bl_fault_report(sink, file->name, "checksum %016" PRIx64 ", the manifest says %016" PRIx64, checksum,
                        file->checksum);
    free(path);
    return !code && bytes >= file->bytes;
}
