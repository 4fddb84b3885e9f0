/* Text of tables in XML and HTML: what pictures and pages show of names that others chose. */
#ifndef BL_XML_H
#define BL_XML_H

#include <stddef.h>

#include "base/buffer.h"

/* Appends text escaped as in tables, and then for XML, in elements and in quoted attributes; what still would not be
 * seen is "?". */
void bl_xml_append_text(struct bl_buffer *out, const char *text);

/* Appends text, of which all can be seen, escaped for XML alone. */
void bl_xml_append_plain(struct bl_buffer *out, const char *text, size_t size);

/* As bl_xml_append_text for a name, of a long one its end, which tells more of a path. */
void bl_xml_append_name(struct bl_buffer *out, const char *name);

#endif
