#include "export/format.h"

const struct bl_export_format *const bl_export_formats[] = {&bl_export_mds, &bl_export_webdataset, &bl_export_energon,
                                                            &bl_export_megatron};
const char *const bl_export_format_names[] = {"mds", "webdataset", "energon", "megatron", NULL};
