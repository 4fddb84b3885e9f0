#include "show/xml.h"

#include <string.h>

#include "base/text.h"

enum { NAME_MAX_BYTES = 64 };

void bl_xml_append_plain(struct bl_buffer *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == '&')
            bl_buffer_text(out, "&amp;");
        else if (c == '<')
            bl_buffer_text(out, "&lt;");
        else if (c == '>')
            bl_buffer_text(out, "&gt;");
        else if (c == '"')
            bl_buffer_text(out, "&quot;");
        else
            bl_buffer_byte(out, c);
    }
}

void bl_xml_append_text(struct bl_buffer *out, const char *text)
{
    struct bl_buffer escaped = {0}, masked = {0};
    bl_text_escape(&escaped, text, strlen(text));
    bl_text_append_masked(&masked, escaped.data && !escaped.failed ? escaped.data : "");
    out->failed |= escaped.failed || masked.failed;
    bl_xml_append_plain(out, masked.data, masked.size);
    bl_buffer_free(&escaped);
    bl_buffer_free(&masked);
}

void bl_xml_append_name(struct bl_buffer *out, const char *name)
{
    size_t size = strlen(name);
    if (size > NAME_MAX_BYTES) {
        bl_buffer_text(out, "…");
        name += size - NAME_MAX_BYTES;
        while ((*name & 0xc0) == 0x80)
            name++;
    }
    bl_xml_append_text(out, name);
}
