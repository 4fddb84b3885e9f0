/* Manifests. */
#include "fuzz.h"
#include "store/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_manifest manifest = {0};
    bool sound;
    struct bl_error e = {0};
    if (bl_manifest_parse(&manifest, (const char *)data, size, &sound, &e) == BL_OK)
        bl_manifest_free(&manifest);
    else if (!e.text[0])
        abort();
    return 0;
}
