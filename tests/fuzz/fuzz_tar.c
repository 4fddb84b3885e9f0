/* Headers of tars: members lie in the file, one after the other, and reading ends. Checksums are made right first, as
 * no mutation would hit them. */
#include <string.h>

#include "fuzz.h"
#include "scan/tar_reader.h"

static void block_seal(uint8_t *block)
{
    unsigned sum = 0;
    char digits[8];
    memset(block + 148, ' ', 8);
    for (int i = 0; i < BL_TAR_BLOCK; i++)
        sum += block[i];
    snprintf(digits, sizeof digits, "%06o", sum);
    memcpy(block + 148, digits, 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    uint8_t *copy = malloc(size + 1);
    never(!copy);
    memcpy(copy, data, size);
    for (size_t at = 0; at + BL_TAR_BLOCK <= size; at += BL_TAR_BLOCK) {
        if (memcmp(copy + at + 257, "ustar", 5) == 0)
            block_seal(copy + at);
    }
    int fd = fuzz_file(copy, size, path);
    free(copy);
    struct bl_input_file file = {.fd = fd};
    struct bl_tar_reader r = {.file = &file, .bytes = (int64_t)size, .path = path};
    struct bl_tar_member member;
    struct bl_error e = {0};
    bool found = true;
    int code = BL_OK;
    for (int64_t before = 0; !code && found; before = r.at) {
        code = bl_tar_reader_next(&r, &member, &found, &e);
        if (code || !found)
            break;
        never(r.at <= before || member.begin <= before || member.bytes < 0 || !member.name);
        never(!member.unusable &&
              (member.begin + member.bytes > (int64_t)size || !*member.name || *member.name == '/'));
    }
    never(code ? code != BL_EDATA || !e.text[0] : e.text[0] != 0);
    bl_tar_reader_free(&r);
    close(fd);
    return 0;
}
