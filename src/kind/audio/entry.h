/* Lines of a manifest of speech, NeMo's or lhotse's.
 *
 * NeMo: {"audio_filepath": ..., "offset": ..., "duration": ..., "text": ...}; offset and duration may be missing.
 * lhotse: MonoCut (once called Cut), with the recording in it, and Recording. */
#ifndef BL_ENTRY_H
#define BL_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/chunk.h"
#include "kind/list.h"

#define BL_ENTRY_TEXT_MAX ((size_t)1 << 16) /* bytes; longer ones are truncated, as a row must stay readable */
#define BL_ENTRY_NUMBER_MAX 40

struct bl_entry {
    struct bl_buffer id;                /* lhotse's; "" where the line has none */
    struct bl_buffer path;              /* as the line has it */
    bool relative;                      /* the path may be relative to the manifest's folder */
    char start[BL_ENTRY_NUMBER_MAX];    /* seconds, as they are written there */
    char duration[BL_ENTRY_NUMBER_MAX]; /* "": to the end */
    char channel[BL_ENTRY_NUMBER_MAX];  /* of the file, from 0; "": all of them */
    struct bl_buffer text;
    bool text_truncated; /* it was longer than BL_ENTRY_TEXT_MAX */
    const char *further; /* of the line: the values of further columns, as the table has them */
    size_t further_size;
    struct bl_buffer scratch;
};

/* Parses a line. Start entry from {0}; it may be used again. BL_EDATA: an unusable line; id is set where it has one. */
int bl_entry_parse(struct bl_entry *entry, const char *line, size_t size, struct bl_error *e);
void bl_entry_free(struct bl_entry *entry);

/* Whether the path of an entry may be relative to the folder of the chunk's manifest. */
bool bl_entry_is_relative(const struct bl_entry *entry, const struct bl_chunk *chunk);

/* bl_kind_scan.names for lines of manifests and of lists of clips. */
int bl_entry_names(const struct bl_chunk *chunk, const struct bl_line *line, bl_list_take *take, void *sink,
                   struct bl_error *e);

#endif
