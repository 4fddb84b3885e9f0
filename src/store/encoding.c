#include "store/encoding.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define SIDE_MAX 65535 /* of a JPEG: sizes are 16-bit numbers */

char *bl_encoding_name(const struct bl_encoding *encoding, char out[BL_ENCODING_NAME_MAX])
{
    static const char *const names[] = {
        [BL_ENCODING_RAW] = "raw", [BL_ENCODING_JPEG] = "jpeg", [BL_ENCODING_DELTA] = "delta"};
    if (encoding->kind == BL_ENCODING_JPEG)
        snprintf(out, BL_ENCODING_NAME_MAX, "jpeg:%d%s", encoding->quality, encoding->full_chroma ? ":444" : "");
    else
        snprintf(out, BL_ENCODING_NAME_MAX, "%s", names[encoding->kind]);
    return out;
}

bool bl_encoding_parse(const char *name, struct bl_encoding *encoding)
{
    int64_t quality = BL_ENCODING_QUALITY;
    *encoding = (struct bl_encoding){.kind = BL_ENCODING_RAW};
    if (strcmp(name, "raw") == 0)
        return true;
    if (strcmp(name, "delta") == 0) {
        encoding->kind = BL_ENCODING_DELTA;
        return true;
    }
    if (strncmp(name, "jpeg", 4) != 0)
        return false;
    const char *rest = name + 4;
    size_t digits = *rest == ':' ? strcspn(rest + 1, ":") : 0;
    if (*rest && !bl_text_to_int(rest + 1, digits, 1, 100, &quality))
        return false;
    rest += *rest ? digits + 1 : 0;
    if (*rest && strcmp(rest, ":444") != 0)
        return false;
    *encoding = (struct bl_encoding){BL_ENCODING_JPEG, (int)quality, .full_chroma = *rest};
    return true;
}

bool bl_encoding_takes(enum bl_encoding_kind kind, const struct bl_field *field)
{
    if (kind == BL_ENCODING_RAW)
        return true;
    bool frames = strcmp(field->kind, "video") == 0 || strcmp(field->kind, "frames") == 0;
    if (field->dtype != BL_U8 || field->rank != 3 || field->pad)
        return false;
    if (field->shape[2] != 3 && (field->shape[2] != 1 || !frames))
        return false;
    return kind == BL_ENCODING_DELTA || (field->shape[0] <= SIDE_MAX && field->shape[1] <= SIDE_MAX);
}
