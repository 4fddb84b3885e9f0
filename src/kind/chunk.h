/* A chunk of input: what is counted at once. One or more whole files, a part of one, or some lines of a list. */
#ifndef BL_CHUNK_H
#define BL_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/meter.h"
#include "kind/input.h"
#include "kind/row.h"

#define BL_LIST_LINE_MAX (4 << 20) /* bytes */

/* A line of a list of inputs: of clips, in the form of kind/clip.h, or of a manifest of speech: JSON, and where
 * the manifests have further columns a newline and their values, each escaped and behind a tab. Not terminated by a
 * zero byte. */
struct bl_line {
    const char *text;
    size_t size;
    int64_t number; /* from 1 */
    bool unusable;  /* it has no such form: text says why */
};

struct bl_chunk {
    const struct bl_input *input;
    int inputs;
    int64_t begin, end; /* of the only input, in bytes: the sequences that begin there; 0 and INT64_MAX: all of it */
    const char *base;   /* directory that relative paths refer to, or NULL */
    bool list;          /* the only input is a list, and these are lines of it: */
    bool clips;         /* of clips */
    const struct bl_line *line;
    int lines;
    const char *fault;             /* why the list ends after these lines, though it is not complete; or NULL */
    bool again;                    /* the rows are in a table already: only what readers need is wanted */
    bool times;                    /* rows must report when their steps begin */
    const struct bl_row *followed; /* for a kind that follows: the row whose steps it takes up, its path openable */
    struct bl_meter *meter;        /* counts bytes of the inputs, or NULL */
    /* Results: */
    uint64_t receipt; /* set by count, for bl_kind_spool.add */
    uint64_t drained; /* set by count: the checksum of all of standard input, if that is an input */
};

/* Takes a row that count found in the chunk's input of that number. The scan sets id, path, kind, bytes and sampling;
 * count fills in the rest. For a line of a list, count may set id, and path with bytes. Rows come in the order of
 * inputs, then of their place in them. */
typedef int bl_row_emit(void *sink, int input, const struct bl_row *row, struct bl_error *e);

/* Emits the row of a chunk's only input, which was counted with this code: for BL_EDATA a skipped one with fault as the
 * reason. Any other error is copied to e. */
int bl_chunk_emit_row(bl_row_emit *emit, void *sink, struct bl_row *row, int code, const struct bl_error *fault,
                      struct bl_error *e);

#endif
