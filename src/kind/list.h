/* The inputs of counting: chunks of input, lists of inputs, and the clips that the lines of a list name. */
#ifndef BL_LIST_H
#define BL_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "base/meter.h"
#include "kind/env.h"
#include "kind/row.h"

/* --- chunks ------------------------------------------------------------------------------------------------------- */

/* A chunk of input is counted at once: one or more complete files, a part of a file, or some lines of a list. */

#define BL_LIST_LINE_MAX (4 << 20) /* bytes of a line */

/* A line of a list of inputs: of clips, in the form of enum bl_clip_value, or of a manifest of speech: JSON, and where
 * the manifests have further columns a newline and their values, each escaped and behind a tab. Not terminated by a
 * zero byte. */
struct bl_line {
    const char *text;
    size_t size;
    int64_t number; /* from 1 */
    bool unusable;  /* its format is wrong, and text has the reason */
};

struct bl_chunk {
    const struct bl_input *input;
    int inputs;
    int64_t begin, end; /* bytes of the only input: the sequences that begin there; 0 and INT64_MAX: all */
    const char *base;   /* directory that relative paths refer to, or NULL */
    bool list;          /* the only input is a list, and these are lines of it: */
    bool clips;         /* of clips */
    const struct bl_line *line;
    int lines;
    const char *fault;             /* the reason why the list ends early, after these lines; or NULL */
    bool again;                    /* the table has the rows already: count only stores what readers need */
    bool times;                    /* rows must report when their steps begin */
    const struct bl_row *followed; /* for a kind that follows: the row whose steps it follows; path can be opened */
    struct bl_meter *meter;        /* counts bytes of the inputs, or NULL */
    /* Results: */
    uint64_t receipt; /* set by count, for bl_kind_spool.add */
    uint64_t drained; /* set by count: the checksum of standard input, if that is an input */
};

/* Takes a row that count found in the chunk's input of that number. The scan sets id, path, kind, bytes and sampling;
 * count fills in the rest. For a line of a list, count may set id, and path with bytes. Rows come in the order of
 * inputs, then of their place in them. */
typedef int bl_row_emit(void *sink, int input, const struct bl_row *row, struct bl_error *e);

/* Emits the row of a chunk's only input, which was counted with this code: for BL_EDATA a skipped one with fault as the
 * reason. Any other error is copied to e. */
int bl_chunk_emit_row(bl_row_emit *emit, void *sink, struct bl_row *row, int code, const struct bl_error *fault,
                      struct bl_error *e);

/* The state of a worker that counts. A kind that needs one has a struct that begins with this one. */
struct bl_counter {
    void (*close)(struct bl_counter *counter);
};

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* Counting the lines of a list of inputs: each becomes a row, which is skipped where the line is unusable. */

/* Whether a file of this name is a list of clips: CSV, TSV, JSON lines or a .txt, plain or compressed. */
bool bl_list_has_name(const char *path);

/* Whether a file of this name is the list of a data folder of Kaldi's: "segments", or "wav.scp". Its lines are clips,
 * and their relative paths refer to chunk->base, as those of Kaldi's commands do. */
bool bl_list_is_kaldi(const char *path);

/* The path that a line names: as the table has it, and as open(2) takes it. Start from {0}. */
struct bl_list_path {
    struct bl_buffer path, open_path;
};

/* Sets both paths. A relative path refers to the list's folder with from_list, otherwise to chunk->base; all paths in a
 * list at a URL refer to its folder. URLs are what they are. */
int bl_list_path_set(struct bl_list_path *out, const struct bl_chunk *chunk, const char *path, bool from_list,
                     struct bl_error *e);
void bl_list_path_free(struct bl_list_path *path);

/* Takes the id that a line names, the path as rows have it, and the path to open. NULL: the line names none. */
typedef int bl_list_take(void *sink, const char *id, const char *path, const char *open_path, struct bl_error *e);

/* bl_kind_lists.names for clips. */
int bl_list_names_of_clip(const struct bl_chunk *chunk, const struct bl_line *line, bl_list_take *take, void *sink,
                          struct bl_error *e);

/* Takes a value of a manifest's line that becomes one of a column of this name. */
typedef int bl_list_value_take(void *sink, const char *name, const struct bl_json_value *value, struct bl_error *e);

/* bl_kind_lists.values: finds such values in a line, an object. */
typedef int bl_list_values(const struct bl_json_value *line, bl_list_value_take *take, void *sink, struct bl_error *e);

/* --- clips -------------------------------------------------------------------------------------------------------- */

/* A clip: a part of a file, from a line of a list.
 *
 * Lists reach the kinds in one form, whatever theirs is: the values below, then those of further columns, escaped as in
 * the table of sequences, with a tab between two. If the kind's lists choose channels (struct bl_kind_lists), and the
 * line does, a newline and the value of its column "channel" follow. */

enum bl_clip_value {
    BL_CLIP_PATH,
    BL_CLIP_START, /* a time: seconds, or [h:]mm:ss.s */
    BL_CLIP_END,
    BL_CLIP_START_FRAME, /* a number of frames; of sound, of samples at the file's own rate */
    BL_CLIP_END_FRAME,   /* "#" and the number in the name of the last image, or "#" alone: see struct bl_clip */
    BL_CLIP_ID,
    BL_CLIP_VALUES
};

/* Columns of the table of sequences for clips: [clip_begin, clip_end) are the frames or samples of the file that the
 * clip has; clip_seek is the kind's own, where to begin to decode. They come before those of the list. */
#define BL_CLIP_COLUMNS "\tclip_begin\tclip_end\tclip_seek"

#define BL_CLIP_CHANNEL "channel" /* the further column that chooses channels */

/* The names of the values: "path". */
extern const char *const bl_clip_value_name[BL_CLIP_VALUES];

struct bl_clip {
    const char *path;
    struct bl_buffer id;      /* the list's, or "path#start-end", with a choice of channels "path#start-end#ch0" */
    bool by_time;             /* start or end is a time */
    bool clock;               /* one of them is written with colons, as no number of a row is */
    double start, end;        /* seconds from the file's first frame; -1: the beginning or end of the file */
    int64_t first, behind;    /* frames; -1: the same */
    const char *channel;      /* the line's choice of channels, as the list has it; "": none */
    bool by_number;           /* first and behind are numbers in the names of images, and that of behind is included */
    struct bl_buffer further; /* the values of further columns, with a tab before each: as the table has them */
    struct bl_buffer scratch; /* the values, unescaped */
};

/* Parses a line. Start clip from {0}; it may be used again, and its texts live as long as line and clip. BL_EDATA: it
 * is no clip; id and further are set where the line has them. */
int bl_clip_parse(struct bl_clip *clip, const char *line, size_t size, struct bl_error *e);
void bl_clip_free(struct bl_clip *clip);

/* Parses a time: "83", "1:23.5", "0:01:23.5". Returns false if the text is no time, or negative. */
bool bl_clip_parse_time(const char *text, double *seconds);

/* Returns whether the clip is all of its file. */
bool bl_clip_is_whole(const struct bl_clip *clip);

/* --- counting lines ----------------------------------------------------------------------------------------------- */

/* A counter of lines, with which the counters of kinds that take lists begin. Start from {0}, with the functions set.
 */
struct bl_list_counter {
    struct bl_counter base;
    const struct bl_kind_env *env;

    /* Fills in the members of the row of `clip` that follow from the file at path.open_path, and seek, and appends the
     * values of the kind's columns to extra. BL_EDATA: the clip is unusable, and these columns have the text
     * `unusable`.
     */
    int (*fill_clip)(struct bl_list_counter *counter, struct bl_row *row, struct bl_error *e);
    const char *unusable;

    /* Fills in the row of a line that is no clip, and extra. BL_EDATA: the line is unusable; the known members of the
     * row are set nevertheless. NULL where the kind has no manifests. */
    int (*fill_entry)(struct bl_list_counter *counter, const struct bl_chunk *chunk, const struct bl_line *line,
                      struct bl_row *row, struct bl_error *e);

    struct bl_clip clip;
    struct bl_list_path path;
    struct bl_buffer extra, seek;
    char reason[2048]; /* of the row; empty before each */
};

/* Emits a row for every line of the chunk, and one for the fault that ends the list early. */
int bl_list_count(struct bl_list_counter *counter, const struct bl_chunk *chunk, bl_row_emit *emit, void *sink,
                  struct bl_error *e);

/* Frees the members of the counter, and not the counter itself. */
void bl_list_counter_free(struct bl_list_counter *counter);

/* Appends to the row's reason. */
#define BL_LIST_REASON(counter, ...) bl_row_append_reason((counter)->reason, sizeof(counter)->reason, __VA_ARGS__)

#endif
