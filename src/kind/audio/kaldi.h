/* Reads a data folder of Kaldi's: wav.scp, and beside it segments, text and utt2spk where they exist.
 *
 *     wav.scp    RECORDING FILE
 *     segments   UTTERANCE RECORDING START END   (seconds; without this file each recording is an utterance)
 *     text       UTTERANCE WORDS ...
 *     utt2spk    UTTERANCE SPEAKER */
#ifndef BL_KALDI_H
#define BL_KALDI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"

/* The names of these files, ended by NULL. The list of a folder is "segments", or "wav.scp" if there is none: see
 * bl_list_is_kaldi in kind/list.h. */
extern const char *const bl_kaldi_file[];

/* Returns the path of another file of the folder in which `list` lies. The caller frees it. NULL: out of memory. */
char *bl_kaldi_beside(const char *list, const char *name);

/* A part of a text, without a zero byte at its end. */
struct bl_kaldi_value {
    const char *text;
    size_t size;
};

/* The content of a line. Texts are valid until the next call. */
struct bl_kaldi_utterance {
    int64_t line;                               /* of the list; behind its last line for lines of other files */
    const char *reason;                         /* why the line is unusable; NULL: it is an utterance */
    struct bl_kaldi_value id, path, start, end; /* start and end are empty for a whole recording */
    struct bl_kaldi_value text, speaker;        /* empty where the folder has no such file */
};

struct bl_kaldi;

/* Reads the files of the folder in which `list` lies into memory. BL_EDATA: there is no wav.scp, or a file cannot be
 * read. */
int bl_kaldi_open(struct bl_kaldi **kaldi, const char *list, const struct bl_cancel *cancel, struct bl_error *e);
void bl_kaldi_close(struct bl_kaldi *kaldi);

/* Sets the utterances of the list in its order, then the lines of the files that no utterance uses, each with its
 * reason. *found: false at the end. */
int bl_kaldi_next(struct bl_kaldi *kaldi, struct bl_kaldi_utterance *utterance, bool *found, struct bl_error *e);

#endif
