/* A text as an own field: a whole file, or the value of a column, is one document. Its ids are those that the text kind
 * makes of that document. */
#ifndef BL_OWN_TEXT_H
#define BL_OWN_TEXT_H

#include "kind/kind.h"

/* The kind of files with one text each: the counter and the reader of own fields. Its config is a struct
 * bl_text_config, prepared. A file without text has a usable row of length 0. */
extern const struct bl_kind bl_kind_own_text;

/* Counts the ids of a value with a counter of that kind. BL_EDATA: the text is unusable. */
int bl_own_text_count_value(struct bl_counter *counter, const char *text, size_t size, int64_t *steps,
                            struct bl_error *e);

/* Writes the ids of a value, with a reader of that kind. BL_EDATA: it has not so many ids, or is unusable. note: what
 * was repaired. */
int bl_own_text_read_value(struct bl_reader *reader, const char *text, size_t size, int64_t steps, uint8_t *out,
                           struct bl_note *note, struct bl_error *e);

#endif
