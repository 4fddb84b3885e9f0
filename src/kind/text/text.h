/* The text kind: documents of JSONL or plain text, tokenized, or token ids as they are.
 *
 * The way of a document: documents (bytes of a file), json (one line of it), item (its ids and values), count (rows and
 * spool), spool_index (where the spool has it), read. */
#ifndef BL_TEXT_KIND_H
#define BL_TEXT_KIND_H

#include "kind/kind.h"

extern const struct bl_kind bl_kind_text;

#endif
