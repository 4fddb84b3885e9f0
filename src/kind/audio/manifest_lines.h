/* Reads the lines of NeMo's and lhotse's manifests of speech: the file that a line names, the part of it, and the
 * line's further values. */
#ifndef BL_MANIFEST_LINES_H
#define BL_MANIFEST_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/audio/channels.h"
#include "kind/list.h"
#include "kind/row.h"

/* --- further values ----------------------------------------------------------------------------------------------- */

/* Further values are those that struct bl_entry does not have, such as "speaker" or "emotion". They become columns of
 * the table of sequences. */

/* Implements bl_kind_lists.values. Each of lhotse's supervisions has values of its own, so that `take` may get the same
 * column several times. */
int bl_manifest_values(const struct bl_json_value *line, bl_list_value_take *take, void *sink, struct bl_error *e);

/* --- entries ------------------------------------------------------------------------------------------------------ */

/* An entry is a line of a manifest of speech.
 *
 * NeMo has lines such as {"audio_filepath": "a.wav", "offset": 0.5, "duration": 2.25, "text": "good morning"}; offset
 * and duration may be missing. lhotse has lines of the types MonoCut (once called Cut), with the recording in it, and
 * Recording. */

#define BL_ENTRY_TEXT_MAX ((size_t)1 << 16) /* bytes; longer texts are truncated, as a row must stay readable */
#define BL_ENTRY_NUMBER_MAX 40              /* bytes of a number as it is written, and a NUL */

struct bl_entry {
    struct bl_buffer id;                /* lhotse's; "" where the line has none */
    struct bl_buffer path;              /* as the line has it */
    bool relative;                      /* the path may be relative to the manifest's folder */
    char start[BL_ENTRY_NUMBER_MAX];    /* seconds, as the line has them */
    char duration[BL_ENTRY_NUMBER_MAX]; /* the same; "": to the end */
    char channel[BL_CHANNEL_TEXT_MAX];  /* of the file, from 0, such as "0" or "4,0"; "": all channels */
    struct bl_buffer text;              /* the spoken words; of several supervisions, joined with spaces */
    bool text_truncated;                /* the text was longer than BL_ENTRY_TEXT_MAX */
    const char *further;                /* the values of further columns, as the table has them; points into the line */
    size_t further_size;                /* bytes */
    struct bl_buffer scratch;           /* room for values in messages */
};

/* Parses a line. Initialize entry with zeros; it may be used again for the next line. BL_EDATA: the line is unusable (e
 * has the reason); entry->id is set if the line has an id. */
int bl_entry_parse(struct bl_entry *entry, const char *line, size_t size, struct bl_error *e);
void bl_entry_free(struct bl_entry *entry);

/* Returns whether the path of an entry may be relative to the folder of the chunk's manifest. */
bool bl_entry_is_relative(const struct bl_entry *entry, const struct bl_chunk *chunk);

/* Implements bl_kind_lists.names for lines of manifests and of lists of clips. */
int bl_entry_names(const struct bl_chunk *chunk, const struct bl_line *line, bl_list_take *take, void *sink,
                   struct bl_error *e);

/* --- cuts --------------------------------------------------------------------------------------------------------- */

/* A cut is the part of a recording that becomes a sequence, as a line of a manifest or of a list of clips states it. */

/* Seconds by which a cut may end after its recording without being reported: durations in manifests are rounded, and
 * decoders differ at the end. lhotse allows as much. */
#define BL_CUT_TOLERANCE 0.025

struct bl_cut {
    double start;                    /* seconds */
    double duration;                 /* seconds; negative: to the end */
    struct bl_channel_list channels; /* of the file; no choice: all, mixed */
    /* A clip has no times but samples [begin, end) of the recording. end 0: the cut is no clip; INT64_MAX: to the
     * recording's end. */
    int64_t begin, end;
};

/* All of a file. */
extern const struct bl_cut bl_cut_whole;

/* Parses the row's column channel, and its clip, or its columns start and duration; without a start the cut is all of
 * the file. Returns false if the values are invalid. */
bool bl_cut_parse(struct bl_cut *cut, const struct bl_row *row);

/* Returns whether the cut is all of the file, in any channels. */
bool bl_cut_is_whole(const struct bl_cut *cut);

/* Returns the number of samples in so many seconds, halves rounded up. Source: lhotse's compute_num_samples. */
int64_t bl_cut_samples(double seconds, int rate);

/* Computes the samples [begin, end) of the cut, at its rate in Hz. *end INT64_MAX: to the recording's end. */
void bl_cut_range(const struct bl_cut *cut, int rate, int64_t *begin, int64_t *end);

#endif
