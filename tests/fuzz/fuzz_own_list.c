/* Lists of numbers in a column: what is measured is written, all of it and no more, and numbers stay in their range.
 * The first byte is the type. */
#include <string.h>

#include "fuzz.h"
#include "kind/own/own_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_own_list list, again;
    struct bl_error e = {0};
    if (!size)
        return 0;
    enum bl_dtype dtype = (enum bl_dtype)(data[0] % (BL_F64 + 1));
    const char *text = (const char *)data + 1;
    int code = bl_own_list_read(&list, text, size - 1, dtype, NULL, &e);
    never(code && (code != BL_EDATA || !e.text[0]));
    if (code)
        return 0;
    size_t bytes = bl_dtype_size(dtype) * (size_t)list.steps;
    for (int i = 0; i < list.rank; i++)
        bytes *= (size_t)list.shape[i];
    /* Each element has a digit or a letter at least. */
    never(list.rank < 0 || list.rank > BL_FIELD_RANK_MAX || bytes / bl_dtype_size(dtype) > size);
    uint8_t *out = malloc(bytes ? bytes : 1), *other = malloc(bytes ? bytes : 1);
    never(!out || !other);
    memset(out, 0x55, bytes);
    memset(other, 0xaa, bytes);
    never(bl_own_list_read(&again, text, size - 1, dtype, out, &e) || again.steps != list.steps ||
          again.rank != list.rank);
    never(bl_own_list_read(&again, text, size - 1, dtype, other, &e) || memcmp(out, other, bytes) != 0);
    for (size_t i = 0; i < bytes && dtype == BL_BOOL; i++)
        never(out[i] > 1);
    free(out);
    free(other);
    return 0;
}
