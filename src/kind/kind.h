/* The interface between the tool and the kinds of sequences (video, audio, text...): the request for a piece, and the
 * tables in which a kind lists what it can do. docs/adding-a-kind.md shows a small kind. */
#ifndef BL_KIND_H
#define BL_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "pool/memory_budget.h"
#include "base/meter.h"
#include "base/option.h"
#include "kind/env.h"
#include "kind/list.h"
#include "kind/row.h"

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* A request: a piece of one sequence that a reader is to read. */

struct bl_request {
    struct bl_row row;      /* as the scan left it; path is openable */
    int64_t sequence;       /* the number of that row in the table */
    int64_t source_start;   /* first step wanted */
    int64_t steps;          /* how many; source_start + steps <= row.length, or followed */
    uint8_t *const *out;    /* for each field: steps * bl_field_step_bytes bytes, all of them to be written */
    double *times;          /* [steps], or NULL: when each step begins (bl_kind_read.times). Written by the kind whose
                               sequence it is, read by kinds that follow it */
    struct bl_meter *meter; /* counts steps that are read, or NULL */
    const struct bl_shared_memory
        *memory;      /* that out lies in, for processes of other kinds; or NULL: out is this process's */
    int64_t followed; /* for a kind that follows: steps of the sequence; row is that of its own file, if any */
};

/* What reading a piece noticed without failing: a reason that is stored beside the sequence, which stays ok. */
struct bl_note {
    char text[256]; /* "" for none */
};

/* The state of a worker that reads: decoders, scalers, buffers. Each kind has a struct of its own that begins with
 * this one. */
struct bl_reader {
    /* Reads a piece. What it decides depends on the file alone. BL_EDATA: this input is at fault (the reason in e, with
     * both numbers when the scan's count differs); BL_EFAIL: the system is (EIO, a file that vanished or changed size);
     * BL_ECANCEL. */
    int (*piece)(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note, struct bl_error *e);
    void (*close)(struct bl_reader *reader);
};

/* --- kinds -------------------------------------------------------------------------------------------------------- */

/* A kind of sequence: its identity, its options, and tables of what it can do.
 *
 * The scan has the kind count sequences. The run opens one reader for each worker, and has it read pieces. Nothing else
 * in the tool knows which kind it deals with. A table or a function that is NULL is not supported; those without such a
 * remark are required. */

/* Types of functions that each kind has, and many files declare. */

/* Opens a counter for one worker; config and env outlive it. */
typedef int bl_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                            struct bl_error *e);

/* Emits a row for every sequence of the chunk. Unusable content is a row too (skipped, with the reason), not an error;
 * BL_EFAIL: the system fails; BL_ECANCEL. Called by many workers at once. */
typedef int bl_kind_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                          struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e);

/* Opens a reader for one worker; config, env and fields outlive it. */
typedef int bl_reader_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                           struct bl_reader **reader, struct bl_error *e);

/* Takes the name and the version of a library. */
typedef void bl_version_emit(void *sink, const char *name, const char *version);

/* Emits the versions of the libraries that make the bytes with this config. env: as for fields, or NULL: this process
 * is asked, whatever is isolated. BL_EUSAGE, BL_EFAIL: what has the libraries is not there, or fails. */
typedef int bl_kind_versions(const void *config, const struct bl_kind_env *env, bl_version_emit *emit, void *sink,
                             struct bl_error *e);

/* Files that options of a kind make its inputs, instead of those of its extensions. */
struct bl_kind_names {
    const char *const *extensions; /* of files in a folder */
    const char *pair[2]; /* a file that is named with the first suffix, or without any, means the one with the second */
};

/* The options of every source that each kind takes in its own way. The config of a kind that has types or streams
 * begins with it. */
struct bl_kind_config {
    int dtype;  /* the index of the value of --dtype */
    int stream; /* as of bl_option_stream_number */
};

/* Options: a table over a config struct, which is const once the options are checked and prepared, but for what the
 * spool adds and what readers share. Kinds with the same table have one config. */
struct bl_kind_options {
    const struct bl_option *table;
    size_t config_size;
    const char *const *dtypes; /* values of --dtype, the default first, ended by NULL. NULL: none */
    bool has_streams;          /* files have several, of which --stream chooses one */

    /* Checks options against each other. BL_EUSAGE. May be NULL. */
    int (*check)(const void *config, struct bl_error *e);

    /* Checks --dtype against the other options, for inputs of this kind. BL_EUSAGE. May be NULL. */
    int (*check_dtype)(const void *config, struct bl_error *e);

    /* Loads what the options name, once, before everything below, and appends what the user should know of it to
     * warning; and frees it. Both may be NULL. */
    int (*prepare)(void *config, struct bl_buffer *warning, struct bl_error *e);
    void (*release)(void *config);

    /* Appends "name: value" lines of what decides the bytes and is not in the text of the options: digests of the files
     * that they name. May be NULL. */
    void (*identify)(const void *config, struct bl_buffer *out);

    /* What the options make inputs; the sources are of this kind then. NULL: nothing. May be NULL itself. */
    const struct bl_kind_names *(*names)(const void *config);
};

/* A column of the kind's own whose numbers are added up over the usable rows for the summary; or whose rows with a
 * value are counted, for the manifest too. */
struct bl_total {
    const char *column;
    const char *text;  /* what the sum says: "image numbers are missing" */
    const char *value; /* of the rows that are counted, "" any but an empty one; NULL: numbers are added up */
    const char *name;  /* of the count in the manifest; NULL: it is not there */
    bool cut;          /* only of sequences that a plan does not keep in one piece */
    bool tells_rows;   /* how many rows have any matters, too */
};

/* What the choice of a subset compares that a scan finds in columns made on request. */
struct bl_kind_wanted {
    const struct bl_same_text
        *same;    /* the text of documents that --dedup-by compares (kind/text/normal_form.h); or NULL */
    bool trained; /* how many steps are trained, in the column BL_TRAINED */
    int64_t head; /* of the first so many steps alone, as the others will be cut off; 0: of all */
};

#define BL_TRAINED "trained"

#define BL_TOTALS_MAX 16 /* of a kind, composite ones too */

struct bl_totals {
    const struct bl_total *total; /* the kind's, or NULL */
    int64_t sum[BL_TOTALS_MAX];
    int64_t rows[BL_TOTALS_MAX]; /* with a number other than 0 */
};

/* Lists of inputs: their lines are clips (kind/list.h), or else JSON of the kind's own, a manifest. */
struct bl_kind_lists {
    /* Whether a file of this name, given as an operand, is a list. Call bl_kind_is_list. */
    bool (*is_list)(const char *path);

    /* Finds what a line names, which is all that count may say of it, and all that it opens for it. */
    int (*names)(const struct bl_chunk *chunk, const struct bl_line *line, bl_list_take *take, void *sink,
                 struct bl_error *e);

    bl_list_values *values; /* of a manifest's line, that become further columns. NULL: there are no manifests */
};

/* The lists of kinds that take clips alone. */
extern const struct bl_kind_lists bl_clip_lists;

/* Scanning: which sequences the inputs hold, and how long they are. */
struct bl_kind_scan {
    /* Bytes of input that are counted at once, at most: larger files are cut into parts if they are divisible, small
     * ones are counted together. 0: each file by itself; it then has one row. */
    int64_t chunk_bytes;
    int64_t chunk_bytes_least; /* near the end of the inputs, where chunks become smaller */

    /* Inputs that count takes nevertheless, at most, where chunk_bytes is 0: its rows come in their order, one for
     * each. 0: one. */
    int inputs_max;

    /* Appends the options that decide lengths, in canonical form: the column sampling. */
    void (*sampling)(const void *config, struct bl_buffer *out);

    /* Steps per second, num / den, by the column sampling; false: no rate. Call bl_kind_rate. May be NULL: none. */
    bool (*rate)(const char *sampling, int64_t *num, int64_t *den);

    /* Appends the names of extra columns, a tab before each; manifests: some input is a manifest. Those of clips
     * follow: BL_CLIP_COLUMNS, and the list's own. May be NULL. */
    void (*columns)(const void *config, bool manifests, struct bl_buffer *out);
    const struct bl_total *totals; /* ended by one without a column; or NULL */

    /* The name of extra column i of those that have a number, F64, wherever a row has steps: an attribute. NULL: there
     * are not so many. May be NULL itself: there are none. */
    const char *(*number)(const void *config, int i);

    /* Adds the columns that are wanted. Called once, after prepare. BL_EUSAGE: the options do not suit. May be NULL:
     * the kind has none of them. */
    int (*want)(void *config, const struct bl_kind_wanted *wanted, struct bl_error *e);

    const struct bl_kind_lists *lists; /* NULL: no file is a list of inputs */

    /* For a kind whose inputs are folders of files with its extensions: their bytes, and the digest of their names and
     * contents. Such a kind is used on request only. BL_EDATA: no folder. NULL: inputs are files. */
    int (*stat_folder)(const char *path, int64_t *bytes, uint64_t *content, struct bl_error *e);

    /* Whether a file may be counted in parts. May be NULL: none. */
    int (*is_divisible)(const void *config, const struct bl_input *input, bool *divisible, struct bl_error *e);

    bl_counter_open *open; /* NULL: count is given none */
    bl_kind_count *count;

    /* Compares the files that a row of a composite names in extra columns with the scan. BL_EDATA: a file has changed.
     * NULL for other kinds. */
    int (*verify)(const void *config, const struct bl_row *row, struct bl_error *e);
};

/* What count reports in bl_row.times, and reading in bl_request.times. */
enum bl_times {
    BL_TIMES_NONE,
    BL_TIMES_SECONDS, /* when a step begins, from the first step of the sequence */
    BL_TIMES_NUMBERS, /* the step's number in what the sequence was taken from, some of which may be missing */
};

/* Reading: which arrays the steps become, and their bytes. */
struct bl_kind_read {
    int64_t memory; /* bytes that a reader takes at most */
    enum bl_times times;
    bool first_file_decides; /* the first usable file's fields are the dataset's, and files with others are skipped.
                                Else nothing is packed where they differ */

    /* The fields by config and, where that does not decide, by this row's file. row NULL: by config alone; BL_EDATA
     * then means "ask for each row". */
    int (*fields)(const void *config, const struct bl_kind_env *env, const struct bl_row *row, struct bl_fields *fields,
                  struct bl_error *e);

    bl_reader_open *open;

    /* Appends how a field is made, in a few words for the manifest. */
    void (*describe)(const void *config, const struct bl_field *field, struct bl_buffer *out);

    bl_kind_versions *versions; /* NULL: no library makes the bytes */
};

/* What a kind that follows another needs to know of its steps. */
enum bl_follow_needs {
    BL_FOLLOW_STEPS,   /* their place in the sequence */
    BL_FOLLOW_TIMES,   /* when they begin, in seconds */
    BL_FOLLOW_NUMBERS, /* their numbers, if the other kind has such (BL_TIMES_NUMBERS): it has a rate of its own */
};

/* Following: the kind has no sequences of its own, but a field on the steps of another (see kind/composite). Its rows
 * say by their status whether it has something for a sequence; their length is that of its file, if it has any, in
 * units of its own. */
struct bl_kind_follow {
    /* The kind of whose files each step gets a part: its name is the same, its config begins with that kind's, and its
     * options go on from that one's. Counting needs the times of steps, too, if reading does. NULL: none. */
    const struct bl_kind *per_step_of;
    enum bl_follow_needs (*needs)(const void *config);

    /* Is given what it follows, before counting: num / den steps per second, or den 0: unknown; tolerance: steps by
     * which it may fall short, or -1: not given. BL_EUSAGE: it cannot follow that. May be NULL. */
    int (*attach)(void *config, int64_t num, int64_t den, int64_t tolerance, struct bl_error *e);
};

/* Spooling: what counting makes is stored for reading, in bl_kind_env.spool. */
struct bl_kind_spool {
    /* Remembers what readers need of a chunk. Called after count, in order, on one thread. */
    int (*add)(void *config, const struct bl_kind_env *env, const struct bl_chunk *chunk, struct bl_error *e);

    /* Removes what counting stored. */
    int (*remove)(void *config, const struct bl_kind_env *env, struct bl_error *e);

    /* Whether it holds no steps, since readers take them from the inputs. May be NULL: it does. */
    bool (*is_rows_alone)(const void *config);
};

struct bl_kind {
    const char *name;                    /* of --kind and the column kind: "video" */
    const char *title;                   /* heading of its options in --help: "Video" */
    const char *steps;                   /* plural noun of its steps, "frames"; call bl_kind_steps */
    const char *const *extensions;       /* lower case, without the dot, ended by NULL: its files in folders */
    const char *const *asked_extensions; /* the same: its files, too, in folders for which --kind names it; or NULL */
    const char *implied_by;              /* an option: where it is given, files that are named and whose names show no
                                            kind are of this one; or NULL */
    bool reads_stdin;                    /* "-" is of this kind */
    bool is_fallback; /* its files in folders are no inputs beside those of others: a readme, a list */

    /* The same where options decide it. May be NULL. */
    const char *(*steps_of)(const void *config);

    /* Whether libraries decode its content, on the processor, with this config: then it can be isolated
     * (kind/isolated). Those libraries are in the media module (kind/media/module.h). May be NULL: none do. */
    bool (*decodes)(const void *config);

    struct bl_kind_options options;
    const struct bl_kind_scan *scan;
    const struct bl_kind_read *read;
    const struct bl_kind_follow *follow; /* NULL: it has sequences of its own */
    const struct bl_kind_spool *spool;   /* NULL: it reads the inputs themselves */
};

/* Whether the kind takes files of this name, by its extension ("-": standard input). */
bool bl_kind_has_extension(const struct bl_kind *kind, const char *name);

/* Whether a file of this name is a list of inputs for the kind; and whether lists may be manifests. */
bool bl_kind_is_list(const struct bl_kind *kind, const char *path);
bool bl_kind_has_manifests(const struct bl_kind *kind);

/* bl_kind.decodes of kinds that libraries decode, whatever their options are. */
bool bl_kind_decodes(const void *config);

/* The noun of its steps with these options. */
const char *bl_kind_steps(const struct bl_kind *kind, const void *config);

/* Checks its options against each other. BL_EUSAGE. */
int bl_kind_check(const struct bl_kind *kind, const void *config, struct bl_error *e);

/* The index of a value of --dtype, or -1. */
int bl_kind_dtype(const struct bl_kind *kind, const char *name);

/* Whether counting stores the steps in the spool. */
bool bl_kind_spools_steps(const struct bl_kind *kind, const void *config);

/* Steps per second, num / den, of sequences with this value in the column sampling; false: they have no rate. */
bool bl_kind_rate(const struct bl_kind *kind, const char *sampling, int64_t *num, int64_t *den);

/* Adds a row's numbers to the sums. */
void bl_kind_add_totals(const struct bl_kind *kind, const struct bl_row *row, bool cut, struct bl_totals *totals);

/* When step i of a request or row begins, in seconds, where the first has the number start. Without a rate, times has
 * it; with one, the steps' numbers do, which are those of times if that is not NULL. */
double bl_kind_step_time(const struct bl_rational *rate, const double *times, int64_t start, int64_t i);

#endif
