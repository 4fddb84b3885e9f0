/* Mappings: what is accepted has every name once, each with its number, and is refused with a message otherwise. */
#include "fuzz.h"
#include "kind/labels/labels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = fuzz_file(data, size, path);
    struct bl_mapping mapping;
    struct bl_error e = {0};
    int code = bl_mapping_read(&mapping, path, &e);
    never(code ? code != BL_EUSAGE || !e.text[0] : !mapping.count);
    for (size_t i = 0; i < mapping.count && !code; i++) {
        const struct bl_label_name *label = &mapping.label[i];
        never(!*label->name || label->number < 0 || bl_mapping_find(&mapping, label->name) != label->number);
    }
    never(!code && bl_mapping_find(&mapping, "") != -1);
    bl_mapping_free(&mapping);
    close(fd);
    return 0;
}
