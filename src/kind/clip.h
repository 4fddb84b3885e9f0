/* A clip: a part of a file, from a line of a list.
 *
 * Lists reach the kinds in one form, whatever theirs is: the values below, then those of further columns, escaped as in
 * the table of sequences, with a tab between two. */
#ifndef BL_CLIP_H
#define BL_CLIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/row.h"

enum bl_clip_value {
    BL_CLIP_PATH,
    BL_CLIP_START, /* a time: seconds, or [h:]mm:ss.s */
    BL_CLIP_END,
    BL_CLIP_START_FRAME, /* a number of frames; of sound, of samples at the file's own rate */
    BL_CLIP_END_FRAME,
    BL_CLIP_ID,
    BL_CLIP_VALUES
};

/* Columns of the table of sequences for clips: [clip_begin, clip_end) are the frames or samples of the file that the
 * clip has; clip_seek is the kind's own, where to begin to decode. They come before those of the list. */
#define BL_CLIP_COLUMNS "\tclip_begin\tclip_end\tclip_seek"

/* The names of the values: "path". */
extern const char *const bl_clip_value_name[BL_CLIP_VALUES];

struct bl_clip {
    const char *path;
    struct bl_buffer id;      /* the list's, or "path#start-end" */
    bool by_time;             /* start or end is a time */
    double start, end;        /* seconds from the file's first frame; -1: its own beginning or end */
    int64_t first, behind;    /* frames; -1: the same */
    struct bl_buffer further; /* the values of further columns, with a tab before each: as the table has them */
    struct bl_buffer scratch; /* the values, unescaped */
};

/* Parses a line. Start clip from {0}; it may be used again, and its texts live as long as line and clip. BL_EDATA: it
 * is no clip; id and further are set where the line has them. */
int bl_clip_parse(struct bl_clip *clip, const char *line, size_t size, struct bl_error *e);
void bl_clip_free(struct bl_clip *clip);

/* Parses a time: "83", "1:23.5", "0:01:23.5". False: it is none, or negative. */
bool bl_clip_parse_time(const char *text, double *seconds);

/* Whether the clip is all of its file. */
bool bl_clip_is_whole(const struct bl_clip *clip);

/* Appends the values of BL_CLIP_COLUMNS, with a tab before each; end 0: not known, of an unusable clip. */
void bl_clip_append_columns(struct bl_buffer *out, int64_t begin, int64_t end, const char *seek);

#endif
