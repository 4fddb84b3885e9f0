/* Headers of safetensors files: tensors that are accepted lie within the file. */
#include "fuzz.h"
#include "store/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_safetensors parsed = {0};
    struct bl_error e = {0};
    if (bl_safetensors_parse((const char *)data, size, (int64_t)size + 4096, &parsed, &e) == BL_OK)
        bl_safetensors_free(&parsed);
    else if (!e.text[0])
        abort();
    return 0;
}
