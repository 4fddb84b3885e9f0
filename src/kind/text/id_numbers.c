#include "kind/text/id_numbers.h"

int64_t bl_id_number_read(const struct bl_id_number *type, const uint8_t *at)
{
    uint64_t value = 0;
    for (size_t i = 0; i < type->size; i++)
        value |= (uint64_t)at[type->is_big_endian ? type->size - 1 - i : i] << (8 * i);
    size_t unused = 64 - 8 * type->size;
    if (!type->is_signed)
        return value > INT64_MAX ? INT64_MAX : (int64_t)value; /* refused: no id is so large */
    return (int64_t)(value << unused) >> unused;
}

int bl_id_numbers_add(struct bl_item *item, const struct bl_id_number *type, const uint8_t *data, size_t count,
                      struct bl_error *e)
{
    for (size_t i = 0; i < count; i++) {
        int code = bl_item_add_id(item, bl_id_number_read(type, data + i * type->size), e);
        if (code)
            return code;
    }
    return BL_OK;
}

int bl_id_numbers_end(struct bl_item *item, struct bl_error *e)
{
    bl_item_set_content(item);
    int code = item->ids.count ? bl_item_end_ids(item, e) : BL_OK;
    if (code)
        return code;
    return bl_item_finish(item, e);
}
