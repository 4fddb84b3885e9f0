#include "store/index_layout.h"

#include <stdio.h>

const struct bl_index_table_type bl_index_table_types[BL_INDEX_TABLES] = {
    [BL_INDEX_BLOCK_CHECKSUM] = {"block_checksum", BL_I64},
    [BL_INDEX_BLOCK_PTR] = {"block_ptr", BL_I64},
    [BL_INDEX_SEQUENCE] = {"sequence", BL_I64},
    [BL_INDEX_SOURCE_START] = {"source_start", BL_I64},
    [BL_INDEX_LENGTH] = {"length", BL_I32},
    [BL_INDEX_START] = {"start", BL_I32},
};

int bl_index_first_table(int fields)
{
    return fields ? BL_INDEX_BLOCK_CHECKSUM : BL_INDEX_BLOCK_PTR;
}

int bl_index_place(struct bl_tensor tensor[BL_INDEX_TABLES], int64_t blocks, int64_t pieces, int fields,
                   struct bl_error *e)
{
    struct bl_tensor *order[BL_INDEX_TABLES];
    for (int t = 0; t < BL_INDEX_TABLES; t++) {
        tensor[t] = (struct bl_tensor){.dtype = bl_index_table_types[t].dtype, .rank = 1, .shape = {pieces}};
        snprintf(tensor[t].name, sizeof tensor[t].name, "%s", bl_index_table_types[t].name);
        order[t] = &tensor[t];
    }
    tensor[BL_INDEX_BLOCK_PTR].shape[0] = blocks + 1;
    tensor[BL_INDEX_BLOCK_CHECKSUM].rank = 2;
    tensor[BL_INDEX_BLOCK_CHECKSUM].shape[0] = blocks;
    tensor[BL_INDEX_BLOCK_CHECKSUM].shape[1] = fields;
    int skip = bl_index_first_table(fields);
    return bl_safetensors_place(order + skip, BL_INDEX_TABLES - skip, e);
}
