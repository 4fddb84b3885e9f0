/* What a sequence can be: the one table of functions behind which every kind (video, audio, text...) stands.
 *
 * scan asks count for rows; run opens one reader per worker and has it read pieces. Nothing else in the tool knows
 * which kind it deals with. A kind's options are its own table over its own config struct, const once the command line
 * is read. */
#ifndef BL_KIND_H
#define BL_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/option.h"
#include "base/meter.h"
#include "kind/field.h"
#include "kind/input.h"
#include "kind/row.h"
#include "kind/simd.h"

/* What a run tells every kind. */
struct bl_kind_env {
    struct bl_cancel *cancel;
    enum bl_simd simd; /* the level that was applied */
    const char *spool; /* directory for what counting keeps for reading, or NULL: nothing will be read */
    bool shared;       /* other machines read what is in it, too, and write to it */
};

#define BL_LIST_LINE_MAX (4 << 20) /* bytes */

/* A line of a list of inputs, such as a manifest of speech. Not ended by a zero byte. */
struct bl_line {
    const char *text;
    size_t size;
    int64_t number; /* from 1 */
    bool too_long;  /* more than BL_LIST_LINE_MAX: no text */
};

/* What is counted at once: one or more whole files, a part of one, or some lines of a list. */
struct bl_chunk {
    const struct bl_input *input;
    int inputs;
    int64_t begin, end; /* of the only input, in bytes: the sequences that begin there; 0 and INT64_MAX: all of it */
    const char *base;   /* directory that relative paths count from, or NULL */
    bool list;          /* the only input is a list: these lines of it are wanted */
    const struct bl_line *line;
    int lines;
    const char *fault;             /* why the list ends behind them, though it should not; or NULL */
    bool again;                    /* the rows are in a table already: only what readers need is wanted */
    bool times;                    /* rows are to tell when their steps begin */
    const struct bl_row *followed; /* of a kind that follows: the row whose steps it takes up, its path openable */
    uint64_t receipt;              /* for bl_kind.keep: count may set it */
    struct bl_meter *pace;         /* to be told bytes of the inputs, or NULL */
    uint64_t drained;              /* count sets it: the checksum of standard input, all of it, if that is an input */
};

/* Takes a row that count found in the stretch's input of that number. id, path, kind, bytes and sampling are set by the
 * scan, which knows them: count fills in the rest; of a line of a list it may say id, and path with bytes. Rows come by
 * input, then by place in it. */
typedef int bl_row_emit(void *sink, int input, const struct bl_row *row, struct bl_error *e);

/* A stretch of one sequence to be read. */
struct bl_request {
    struct bl_row row;    /* as the scan left it; path is openable */
    int64_t source_start; /* first step wanted */
    int64_t steps;        /* how many; source_start + steps <= row.length, or followed */
    uint8_t *const *out;  /* per field: steps * bl_field_step_bytes bytes, to be filled wholly */
    double *times; /* [steps] when each begins, in seconds from the first of the sequence, or of a kind that numbers its
                      steps in those: filled in by that kind, where not NULL, and read by one that follows it */
    struct bl_meter *pace; /* to be told steps that are read, or NULL */
    int64_t followed;      /* of a kind that follows: how many steps the sequence has; row is of its own file, if any */
};

/* What reading a piece noticed without failing: a reason to be kept beside the sequence, which stays ok. */
struct bl_note {
    char text[256]; /* "" when there is nothing to tell */
};

/* What a kind that follows another must be told of its steps. */
enum bl_follow {
    BL_FOLLOW_STEPS,   /* nothing: their place in the sequence is enough */
    BL_FOLLOW_TIMES,   /* when they begin, in seconds */
    BL_FOLLOW_NUMBERS, /* it has a rate of its own: nothing but the numbers of a kind that numbers its steps */
};

struct bl_counter; /* each kind's own, of one worker that counts; may not exist */
struct bl_reader;  /* each kind's own: decoders, scalers, buffers of one worker that reads */

struct bl_kind {
    const char *name;
    const char *title;             /* of its options in --help: "Video" */
    const char *steps;             /* what its steps are called: "frames" */
    const char *const *extensions; /* without the dot, lower case, ended by NULL: what a folder's files are taken by */
    bool reads_stdin;              /* "-" is of this kind */
    const char *const *dtypes;     /* what --dtype may say, the default first; ended by NULL. NULL: nothing */
    size_t dtype;                  /* offset in config of an int: which of them */
    bool is_fallback;              /* its files in folders are no inputs where there are others: a readme, a list */
    bool first_file_decides;       /* the first usable file's fields are the dataset's: others that are unlike it are
                                 left out one by one. Else nothing is packed where they differ */
    bool has_times;                /* count fills in row.times, read request.times, in seconds */
    bool has_numbers;              /* the same, in steps of what they were taken from, of which some may be missing */
    bool count_needs_times;        /* of one that follows: count asks for times, as read does */
    /* Bytes of input that are counted at once: a larger file is cut into parts of this size if it is divisible, files
     * that are small are counted together. 0: each file by itself, which then has one row. */
    int64_t stretch;
    int64_t reader_memory;           /* bytes that a reader takes at most */
    const struct bl_option *options; /* kinds with the same table have one config, of which check says what is theirs */
    size_t config_size;

    /* What its steps are called where the options decide that. May be NULL. */
    const char *(*steps_of)(const void *config);

    /* Where not NULL the kind's inputs are folders that hold files of its extensions, and these are counted by no kind
     * unless it is asked for: how many bytes they have, and the digest of their names and contents. BL_EDATA: no
     * folder. */
    int (*measure)(const char *path, int64_t *bytes, uint64_t *content, struct bl_error *e);

    /* Checks options against each other. BL_EUSAGE. */
    int (*check)(const void *config, struct bl_error *e);

    /* Checks what --dtype said, for inputs of this kind, against the other options. May be NULL. BL_EUSAGE. */
    int (*check_dtype)(const void *config, struct bl_error *e);

    /* Where not NULL: makes ready what the options name, once, before all that follows, and gives it back. From then on
     * the config is const but for keep, and what readers share without locks. */
    int (*prepare)(void *config, struct bl_error *e);
    void (*release)(void *config);

    /* What there is to be warned of, or NULL. May be NULL itself. */
    const char *(*warning)(const void *config);

    /* "name: value" lines of what decides the bytes and is not in the options' own text: digests of the files that they
     * name. May be NULL. */
    void (*identify)(const void *config, struct bl_buffer *out);

    /* Whether a file of this name, named outright, is no input but a list of inputs, of JSON lines. May be NULL: none.
     */
    bool (*is_list)(const char *path);

    /* The names of further columns of the table, a tab before each; lists: there is one among the inputs. May be NULL.
     */
    void (*columns)(const void *config, bool lists, struct bl_buffer *out);

    /* Adds up what is told by the row's further columns, for a summary. May be NULL. */
    void (*remark)(const void *config, const struct bl_row *row, struct bl_remarks *remarks);

    /* The options that decide lengths, in canonical form, for the table's column of that name. */
    void (*sampling)(const void *config, struct bl_buffer *out);

    /* Steps a second, num / den, by the table's column sampling; false where they have no rate. May be NULL: never. To
     * be asked by bl_kind_rate. */
    bool (*rate)(const char *sampling, int64_t *num, int64_t *den);

    /* Of a kind that has no sequences of its own, but follows those of another (see kind/joined): what it must be told.
     * Its rows say by their status whether it has something for a sequence; their length is that of its file, if it has
     * any, in units of its own. Else NULL. */
    enum bl_follow (*follows)(const void *config);

    /* Of a kind that follows: told what it follows before anything is counted. num / den steps a second, or den 0: that
     * is not known; tolerance: steps by which it may fall short, or -1: not said. May be NULL. BL_EUSAGE: that cannot
     * be followed. */
    int (*follow)(void *config, int64_t num, int64_t den, int64_t tolerance, struct bl_error *e);

    /* The kind that it is, as a field of others, where every step has a stretch of it; NULL: there is none. It follows;
     * its config begins with this one's, and its options go on from this one's. */
    const struct bl_kind *per_step;

    /* Whether a file may be counted in parts. May be NULL: none. */
    int (*divisible)(const void *config, const struct bl_input *input, bool *divisible, struct bl_error *e);

    /* A counter for one worker; config and env outlive it. Both may be NULL. */
    int (*open_counter)(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                        struct bl_error *e);
    void (*close_counter)(struct bl_counter *counter);

    /* Emits a row for every sequence in the stretch. Content that is of no use is a row too (skipped, with the reason),
     * not an error; BL_EFAIL is for a failing system. Called by many workers at once. */
    int (*count)(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                 struct bl_chunk *stretch, bl_row_emit *emit, void *sink, struct bl_error *e);

    /* Follows count, in order, on one thread: remembers what readers need of the stretch where there is a spool. clear
     * takes what counting left there away again. Both NULL for a kind that reads the files themselves. */
    int (*keep)(void *config, const struct bl_kind_env *env, const struct bl_chunk *stretch, struct bl_error *e);
    int (*clear)(void *config, const struct bl_kind_env *env, struct bl_error *e);

    /* The fields that config and, where config does not say, this row's file give. row NULL: only what config decides;
     * BL_EDATA then means "ask for each row". */
    int (*fields)(const void *config, const struct bl_kind_env *env, const struct bl_row *row, struct bl_fields *fields,
                  struct bl_error *e);

    /* A reader for one worker; config, env and fields outlive it. */
    int (*open)(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                struct bl_reader **reader, struct bl_error *e);

    /* Reads a piece. BL_EDATA: this input is at fault (the reason in e, e.g. both numbers when the count disagrees);
     * BL_EFAIL: the system is (EIO, a file that vanished or changed its size); BL_ECANCEL. What it decides depends on
     * the file alone. */
    int (*read)(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note, struct bl_error *e);

    void (*close)(struct bl_reader *reader);

    /* Whether what a row names in further columns is as the scan found it: BL_EDATA for a file that is not. May be
     * NULL: they name nothing. */
    int (*compare)(const void *config, const struct bl_row *row, struct bl_error *e);

    /* How a field is made, in a few words for the manifest. */
    void (*describe)(const void *config, const struct bl_field *field, struct bl_buffer *out);

    /* The versions of the libraries that make the bytes with this config: one call of emit for each. */
    void (*versions)(const void *config, void (*emit)(void *sink, const char *name, const char *version), void *sink);
};

/* Every kind there is, ended by NULL. */
extern const struct bl_kind *const bl_kinds[];

/* Whether a file of this name is a list of inputs for the kind. */
bool bl_kind_is_list(const struct bl_kind *kind, const char *path);

/* What its steps are called with these options. */
const char *bl_kind_steps(const struct bl_kind *kind, const void *config);

/* By name, or NULL. */
const struct bl_kind *bl_kind_find(const char *name);

/* Its place in bl_kinds. */
int bl_kind_index(const struct bl_kind *kind);

/* Whether the kind takes files of this name, by its extension. */
bool bl_kind_has_extension(const struct bl_kind *kind, const char *name);

/* When step i of a request or row begins whose first is step number start, in seconds: as times say, or where a rate is
 * set by that and the steps' numbers, which are those that times say, if not NULL. */
double bl_kind_step_time(const struct bl_rational *rate, const double *times, int64_t start, int64_t i);

/* Steps a second, num / den, of sequences that were sampled so; false where they have no rate. */
bool bl_kind_rate(const struct bl_kind *kind, const char *sampling, int64_t *num, int64_t *den);

/* Which of the kind's types --dtype says by this name; -1: none of them. */
int bl_kind_dtype(const struct bl_kind *kind, const char *name);

/* The first kind that takes files of this name by its extension ("-": standard input), or NULL. */
const struct bl_kind *bl_kind_find_by_file(const char *name);

#endif
