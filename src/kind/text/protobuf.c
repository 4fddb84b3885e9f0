#include "kind/text/protobuf.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static bool varint_read(struct bl_protobuf *m, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && m->at < m->end; shift += 7) {
        uint8_t byte = *m->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool fixed_read(struct bl_protobuf *m, size_t bytes, uint64_t *value)
{
    if ((size_t)(m->end - m->at) < bytes)
        return false;
    *value = 0;
    for (size_t i = 0; i < bytes; i++)
        *value |= (uint64_t)m->at[i] << 8 * i;
    m->at += bytes;
    return true;
}

static bool field_read(struct bl_protobuf *m, struct bl_protobuf_field *field)
{
    uint64_t tag, size;
    if (!varint_read(m, &tag) || tag >> 3 > UINT32_MAX || tag >> 3 == 0)
        return false;
    *field = (struct bl_protobuf_field){.number = (uint32_t)(tag >> 3)};
    switch (tag & 7) {
    case VARINT:
        return varint_read(m, &field->value);
    case FIXED64:
        return fixed_read(m, 8, &field->value);
    case FIXED32:
        return fixed_read(m, 4, &field->value);
    case BYTES:
        if (!varint_read(m, &size) || size > (uint64_t)(m->end - m->at))
            return false;
        field->data = m->at;
        field->size = (size_t)size;
        m->at += size;
        return true;
    default:
        return false;
    }
}

bool bl_protobuf_next(struct bl_protobuf *m, struct bl_protobuf_field *field, bool *damaged)
{
    *damaged = false;
    if (m->at == m->end)
        return false;
    *damaged = !field_read(m, field);
    return !*damaged;
}
