/* Counting text: documents to rows, and to steps in the spool. */
#ifndef BL_TEXT_COUNT_H
#define BL_TEXT_COUNT_H

#include "kind/kind.h"

/* As in struct bl_kind. */
int bl_text_divisible(const void *config, const struct bl_input *input, bool *divisible, struct bl_error *e);
int bl_text_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                         struct bl_error *e);
void bl_text_counter_close(struct bl_counter *counter);
int bl_text_count_chunk(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                        struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e);

#endif
