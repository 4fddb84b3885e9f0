/* The text kind: documents of JSONL or plain text, tokenized, or token ids as they are.
 *
 * A document passes through base/documents.c (bytes of a file), item_json.c (one line of JSON), item.c (its ids and
 * values), count.c (its row, and its steps in the spool), spool.c (the files of the spool), and read.c (the index of
 * the spool, and the reader). */
#ifndef BL_KIND_TEXT_TEXT_H
#define BL_KIND_TEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/kind.h"

/* --- kind --------------------------------------------------------------------------------------------------------- */

extern const struct bl_kind bl_kind_text;

/* --- counting ----------------------------------------------------------------------------------------------------- */

/* Counting text: turns documents into rows, and stores their steps in the spool. */

/* The callbacks of the scan, as in struct bl_kind_scan. */
bool bl_text_is_streamed(const void *config, const char *path);
int bl_text_divisible(const void *config, const struct bl_input *input, bool *divisible, struct bl_error *e);
bl_counter_open bl_text_counter_open;
bl_kind_count bl_text_count_chunk;

/* Returns whether the spool has the chunk, as in struct bl_kind_spool. */
bool bl_text_has_chunk(const void *config, const struct bl_kind_env *env, const struct bl_chunk *chunk);

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Reading text: gives the steps of documents from the spool or from flat files of ids. */

/* The callback that opens a reader, as in struct bl_kind_read. */
bl_reader_open bl_text_open;

#endif
