/* Headers of tars: members lie in the file, one after the other, and reading ends. */
#include <string.h>

#include "fuzz.h"
#include "scan/tar_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = fuzz_file(data, size, path);
    struct bl_tar_reader r = {.fd = fd, .bytes = (int64_t)size, .path = path};
    struct bl_tar_member member;
    struct bl_error e = {0};
    bool found = true;
    int code = BL_OK;
    for (int64_t before = 0; !code && found; before = r.at) {
        code = bl_tar_reader_next(&r, &member, &found, &e);
        if (code || !found)
            break;
        if (r.at <= before || member.begin <= before || member.bytes < 0 || !member.name)
            abort();
        if (!member.unusable && (member.begin + member.bytes > (int64_t)size || !*member.name || *member.name == '/'))
            abort();
    }
    if (code ? code != BL_EDATA || !e.text[0] : e.text[0] != 0)
        abort();
    bl_tar_reader_free(&r);
    close(fd);
    return 0;
}
