/* Reads the lines of NeMo's and lhotse's manifests: which file and which part of it a line names, and its further
 * values. */
#ifndef BL_MANIFEST_LINES_H
#define BL_MANIFEST_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/list.h"
#include "kind/row.h"

/* --- further values ----------------------------------------------------------------------------------------------- */

/* Values of a line that struct bl_entry does not have. They become columns of the table of sequences. */

/* bl_kind_lists.values. Of lhotse's supervisions each has its own: the same column comes several times. */
int bl_manifest_values(const struct bl_json_value *line, bl_list_value_take *take, void *sink, struct bl_error *e);

/* --- entries ------------------------------------------------------------------------------------------------------ */

/* A line of a manifest of speech.
 *
 * NeMo: {"audio_filepath": ..., "offset": ..., "duration": ..., "text": ...}; offset and duration may be missing.
 * lhotse: MonoCut (once called Cut), with the recording in it, and Recording. */

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

/* bl_kind_lists.names for lines of manifests and of lists of clips. */
int bl_entry_names(const struct bl_chunk *chunk, const struct bl_line *line, bl_list_take *take, void *sink,
                   struct bl_error *e);

/* --- cuts --------------------------------------------------------------------------------------------------------- */

/* The part of a recording that becomes a sequence, as a line of a manifest states it. */

/* Seconds by which a cut may end after its recording without being reported: durations in manifests are rounded, and
 * decoders differ at the end. lhotse allows as much. */
#define BL_CUT_TOLERANCE 0.025

struct bl_cut {
    double start;    /* seconds */
    double duration; /* seconds; negative: to the end */
    int channel;     /* of the file, from 0; -1: all of them, mixed */
    /* Of a clip, instead of the times: the samples [begin, end) of the recording; end 0: no clip, INT64_MAX: up to the
     * recording's end. */
    int64_t begin, end;
};

/* All of a file. */
extern const struct bl_cut bl_cut_whole;

/* Reads the row's clip, or start, duration and channel; without a start the cut is all of the file. False: invalid
 * values. */
bool bl_cut_parse(struct bl_cut *cut, const struct bl_row *row);

bool bl_cut_is_whole(const struct bl_cut *cut);

/* Samples in so many seconds, halves rounded up. Source: lhotse's compute_num_samples. */
int64_t bl_cut_samples(double seconds, int rate);

/* The samples [begin, end) of the cut, at the rate of the recording. end INT64_MAX: up to its end. */
void bl_cut_range(const struct bl_cut *cut, int rate, int64_t *begin, int64_t *end);

#endif
