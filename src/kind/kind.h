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
#include "kind/gpu_times.h"
#include "kind/list.h"
#include "kind/row.h"

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* A request: a piece of one sequence that a reader is to read. */

struct bl_request {
    struct bl_row row;    /* as the scan has made it; path can be opened */
    int64_t sequence;     /* the number of that row in the table */
    int64_t source_start; /* the first step to read */
    int64_t steps;        /* their number; source_start + steps <= row.length, or followed */
    uint8_t *const *out;  /* for each field: steps * bl_field_step_bytes bytes, all of them to be written */
    const int64_t *own;   /* [fields] of own fields, the steps to write instead: all of the sequence, or 0. NULL: there
                             are no own fields */
    double *times;        /* [steps], or NULL: when each step begins (bl_kind_read.times). Written by the kind whose
                             sequence it is, read by kinds that follow it */
    struct bl_meter *meter; /* counts steps that are read, or NULL */
    const struct bl_shared_memory
        *memory;      /* that out lies in, for processes of other kinds; or NULL: out is this process's */
    int64_t followed; /* for a kind that follows: steps of the sequence; row is that of its own file, if any */
};

/* A remark of a reader that is no failure: a reason that is stored with the sequence, which stays ok. */
struct bl_note {
    char text[256]; /* "" for none */
};

/* The state of a worker that reads: decoders, scalers, buffers. Each kind has a struct that begins with this one. */
struct bl_reader {
    /* Reads a piece. The result depends on the file alone. BL_EDATA: this input is at fault (e has the reason, with
     * both numbers if the scan's count differs); BL_EFAIL: the system is at fault (EIO, a file that vanished or changed
     * its size); BL_ECANCEL. */
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

/* Appends the names of the columns that follow all others of a table, a tab before each. */
typedef void bl_complete_columns(const void *config, struct bl_buffer *out);

/* The texts of a row that is completed: its columns, its reason and its form. */
struct bl_completion {
    struct bl_buffer extra, reason, form;
};

/* Appends the values of these columns to a row that has all others, those of attributes, too. A row that lacks what it
 * needs becomes a skipped one. texts: scratch, to which members of the row may point afterwards. counter: the worker's.
 * input: that in which the row was found. The row's form gets further formats of steps, "\tNAME F32 [3]". BL_EFAIL: the
 * system fails; BL_ECANCEL. */
typedef int bl_complete_row(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                            const struct bl_input *input, struct bl_row *row, struct bl_completion *texts,
                            struct bl_error *e);

/* Takes the name and the version of a library. */
typedef void bl_version_emit(void *sink, const char *name, const char *version);

/* Emits the versions of the libraries that make the bytes with this config. env: as for fields; NULL: the libraries are
 * those of this process, whatever is isolated. BL_EUSAGE, BL_EFAIL: the media module is missing, or fails. */
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
    bool zeros; /* a sequence without a file, or whose file has no such stream, gets zeros: for fields */
};

/* Options: a table over a config struct. After the options are checked and prepared, the struct is const, except for
 * the members that the spool adds to and that readers share. Kinds with the same table have one config. */
struct bl_kind_options {
    const struct bl_option *table;
    size_t config_size;
    const char *const *dtypes; /* values of --dtype, the default first, ended by NULL. NULL: none */
    bool has_streams;          /* files have several streams, of which --stream chooses one */
    bool has_zeros; /* bl_kind_config.zeros has an effect: count then makes an ok row of a missing stream, and
                       of a path that is empty. Of BL_KIND_SILENT such rows have 1, others 0 */

    /* Checks options against each other. BL_EUSAGE. May be NULL. */
    int (*check)(const void *config, struct bl_error *e);

    /* Checks --dtype against the other options, for inputs of this kind. BL_EUSAGE. May be NULL. */
    int (*check_dtype)(const void *config, struct bl_error *e);

    /* prepare loads the files that the options name, once, before everything below, and appends warnings for the user;
     * release frees them. Both may be NULL. */
    int (*prepare)(void *config, struct bl_buffer *warning, struct bl_error *e);
    void (*release)(void *config);

    /* Appends "name: value" lines for everything that decides bytes and is not in the text of the options, such as
     * digests of the files that they name. May be NULL. */
    void (*identify)(const void *config, struct bl_buffer *out);

    /* Returns the files that the options make inputs of this kind, or NULL. May be NULL itself. */
    const struct bl_kind_names *(*names)(const void *config);
};

#define BL_KIND_SILENT "silent" /* the column of a kind with has_zeros, if the config requests zeros */

/* A column of the kind that the summary adds up over the usable rows. With a value, it counts the rows that have the
 * value, also for the manifest. */
struct bl_total {
    const char *column;
    const char *text;  /* of the summary: "image numbers are missing" */
    const char *value; /* of the rows that are counted; "": any value; NULL: numbers are added up */
    const char *name;  /* of the count in the manifest; NULL: it is not there */
    bool cut;          /* only of sequences that a plan does not keep in one piece */
    bool tells_rows;   /* the summary also says how many rows have a number */
};

/* The columns that a scan makes on request, for the choice of a subset. */
struct bl_kind_wanted {
    const struct bl_same_text
        *same;    /* the text of documents that --dedup-by compares (kind/text/normal_form.h); or NULL */
    bool trained; /* how many steps are trained, in the column BL_TRAINED */
    int64_t
        head; /* trained steps are counted among this number of first steps; the others will be cut off. 0: among all */
};

/* A key of documents whose values become own fields. */
struct bl_kind_key {
    const char *name;
    bool is_column; /* the name is that of a column, which options may keep: its values become whole */
    bool is_text;   /* a value of another type makes the document unusable */
};

#define BL_TRAINED "trained"

#define BL_TOTALS_MAX 16 /* of a kind, composite ones too */

struct bl_totals {
    const struct bl_total *total; /* the kind's, or NULL */
    int64_t sum[BL_TOTALS_MAX];
    int64_t rows[BL_TOTALS_MAX]; /* with a number other than 0 */
};

/* Lists of inputs. Their lines are clips (kind/list.h), or JSON in a format of the kind (a manifest). */
struct bl_kind_lists {
    /* Returns whether an operand of this name is a list. Call bl_kind_is_list. */
    bool (*is_list)(const char *path);

    /* Finds the id and the path that a line names. count reports no others for the line and opens no other files. */
    int (*names)(const struct bl_chunk *chunk, const struct bl_line *line, bl_list_take *take, void *sink,
                 struct bl_error *e);

    bool channels; /* a column "channel" says which channels of a file a line takes */

    /* Files that make the folder in which they lie a list: of a folder with the first one. The list is the second one
     * if that exists, too, otherwise the first. NULL: no folder is a list. */
    const char *folder[2];

    bl_list_values *values; /* of a manifest's line, that become further columns. NULL: there are no manifests */
    bool numbers;           /* clips may have the column stop_frame: see struct bl_clip.by_number */
};

/* The lists of kinds that accept clips only. */
extern const struct bl_kind_lists bl_clip_lists;

/* Takes the name of a sequence in the file of that number; or, with name NULL, why there may be more of them. */
typedef int bl_expand_take(void *sink, size_t file, const char *name, const char *fault, struct bl_error *e);

/* Scanning: which sequences the inputs hold, and how long they are. */
struct bl_kind_scan {
    /* Bytes of input that are counted at once, at most: larger files are cut into parts if they are divisible, and
     * small ones are counted together. 0: each file is counted by itself and has one row. */
    int64_t chunk_bytes;
    int64_t chunk_bytes_least; /* the same near the end of the inputs, where smaller chunks keep all workers busy */

    /* The most inputs of a chunk where chunk_bytes is 0; count emits one row for each, in their order. 0: one input. */
    int inputs_max;

    /* Appends the options that decide lengths, in canonical form: the column sampling. */
    void (*sampling)(const void *config, struct bl_buffer *out);

    /* Steps per second, num / den, by the column sampling; false: no rate. Call bl_kind_rate. May be NULL: none. */
    bool (*rate)(const char *sampling, int64_t *num, int64_t *den);

    /* Appends the names of extra columns, a tab before each; manifests: some input is a manifest. Those of clips
     * follow: BL_CLIP_COLUMNS, and the list's own. May be NULL. */
    void (*columns)(const void *config, bool manifests, struct bl_buffer *out);
    const struct bl_total *totals; /* ended by one without a column; or NULL */

    /* Returns the name of the i-th extra column that has a number (F64) in each row with steps, which is an attribute.
     * NULL: there are fewer. May be NULL itself: there are none. */
    const char *(*number)(const void *config, int i);

    /* Adds the requested columns. Called once, after prepare. BL_EUSAGE: the options do not allow them. May be NULL:
     * the kind has none of them. */
    int (*want)(void *config, const struct bl_kind_wanted *wanted, struct bl_error *e);

    const struct bl_kind_lists *lists; /* NULL: no file is a list of inputs */

    /* Passes to take the names of the sequences in files that hold several, each of which becomes an input of the path
     * PATH#/NAME (bl_container_array). A file without names is an input itself. path: to open, count of them. Called
     * once, before the kind is isolated, and before there are threads. May be NULL: no file holds several. BL_EUSAGE:
     * a library is missing; BL_EFAIL, BL_ECANCEL. */
    int (*expand)(void *config, const char *const *path, size_t count, const struct bl_cancel *cancel,
                  bl_expand_take *take, void *sink, struct bl_error *e);

    /* For a kind whose inputs are folders of files with its extensions: their bytes, and the digest of their names and
     * contents. Such a kind is used on request only. BL_EDATA: no folder. NULL: inputs are files. */
    int (*stat_folder)(const char *path, int64_t *bytes, uint64_t *content, struct bl_error *e);

    /* Returns whether count reads the file from its beginning to its end; otherwise it reads places of it, by an index.
     * NULL: it does, for a kind with chunk_bytes. */
    bool (*is_streamed)(const void *config, const char *path);

    /* Sets whether a file may be counted in parts. May be NULL: no file may. */
    int (*is_divisible)(const void *config, const struct bl_input *input, bool *divisible, struct bl_error *e);

    bl_counter_open *open; /* NULL: count gets no counter */
    bl_kind_count *count;

    /* Has the scan keep the value of a key of each document, whole, in a column of that name, for whoever completes the
     * rows. Called before prepare; the key must outlive config. NULL: the inputs have no keys. */
    void (*take_key)(void *config, const struct bl_kind_key *key);

    /* Completes rows when all columns are known (kind/own). NULL: they are complete as count emits them. */
    bl_complete_columns *last_columns;
    bl_complete_row *complete;

    /* Compares the files that a row of a composite names in extra columns with the scan. BL_EDATA: a file has changed.
     * NULL for other kinds. */
    int (*verify)(const void *config, const struct bl_row *row, struct bl_error *e);
};

/* The meaning of bl_row.times and bl_request.times. */
enum bl_times {
    BL_TIMES_NONE,
    BL_TIMES_SECONDS, /* when a step begins, from the first step of the sequence */
    BL_TIMES_NUMBERS, /* the number of the step in the source of the sequence; some numbers may be missing */
};

/* Reading: the fields that the steps become, and their bytes. */
struct bl_kind_read {
    int64_t memory; /* bytes that a reader takes at most */
    enum bl_times times;
    bool first_file_decides; /* the first usable file decides the fields of the dataset, and files with other fields
                                are skipped. Otherwise nothing is packed if files differ */

    /* Sets the fields by config and, where config does not decide, by this row's file. row NULL: by config alone, and
     * BL_EDATA then means that each row decides. */
    int (*fields)(const void *config, const struct bl_kind_env *env, const struct bl_row *row, struct bl_fields *fields,
                  struct bl_error *e);

    bl_reader_open *open;

    /* Appends a short description of how the field is made, for the manifest. */
    void (*describe)(const void *config, const struct bl_field *field, struct bl_buffer *out);

    bl_kind_versions *versions; /* NULL: no library makes the bytes */
};

/* The knowledge about the steps of another kind that a kind needs to follow it. */
enum bl_follow_needs {
    BL_FOLLOW_STEPS,   /* their place in the sequence */
    BL_FOLLOW_TIMES,   /* when they begin, in seconds */
    BL_FOLLOW_NUMBERS, /* their numbers, if the other kind has numbers (BL_TIMES_NUMBERS); this kind has its own rate */
};

/* Following: the kind has no sequences, and adds a field to the steps of another kind (see kind/composite). The status
 * of its rows says whether it has data for a sequence. Their length is that of its file, if there is one, in its own
 * units. */
struct bl_kind_follow {
    /* NULL, or a kind of files of which each step gets a part. This kind has the name of that one, its config begins
     * with the config of that one, and its options continue those. If reading needs the times of steps, counting does,
     * too. */
    const struct bl_kind *per_step_of;
    enum bl_follow_needs (*needs)(const void *config);

    /* Gets the properties of the other kind before counting: num / den steps per second (den 0: unknown), and
     * tolerance, the number of steps that may be missing at the end (-1: not given). BL_EUSAGE: the kind cannot follow
     * that one. May be NULL. */
    int (*attach)(void *config, int64_t num, int64_t den, int64_t tolerance, struct bl_error *e);
};

/* Spooling: counting stores in bl_kind_env.spool what reading will need. */
struct bl_kind_spool {
    /* Remembers where the steps of a chunk lie, for readers. Called after count, in order, on one thread. */
    int (*add)(void *config, const struct bl_kind_env *env, const struct bl_chunk *chunk, struct bl_error *e);

    /* Returns whether an earlier scan has stored the chunk: then its inputs are not fetched ahead. It may still be that
     * they have changed since. May be NULL: no. */
    bool (*has)(const void *config, const struct bl_kind_env *env, const struct bl_chunk *chunk);

    /* Removes the files that counting has stored. */
    int (*remove)(void *config, const struct bl_kind_env *env, struct bl_error *e);

    /* Returns whether the spool holds no steps, because readers take them from the inputs. May be NULL: it holds them.
     */
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
    bool is_fallback; /* its files are no inputs in folders that have inputs of other kinds: a readme, a list */

    /* Returns the noun of the steps where options decide it. May be NULL. */
    const char *(*steps_of)(const void *config);

    /* Returns whether libraries decode its content on the processor with this config: then decoding can be isolated
     * (kind/isolated). The libraries are in the media module (kind/media/module.h). May be NULL: no library decodes. */
    bool (*decodes)(const void *config);

    /* Adds the times of the GPUs that decode with this config. May be NULL: none does. */
    void (*gpu_times)(const void *config, struct bl_gpu_times *times);

    /* For a kind without `decodes`, some files of which a library of its own decodes: returns whether this file is one.
     * Decoding it can be isolated, and the other files are read in the tool. path NULL: whether the inputs may have
     * such files. load loads that library, in a process that will not be able to open files. Both may be NULL. */
    bool (*decodes_file)(const void *config, const char *path);
    int (*load)(struct bl_error *e);

    struct bl_kind_options options;
    const struct bl_kind_scan *scan;
    const struct bl_kind_read *read;
    const struct bl_kind_follow *follow; /* NULL: it has sequences itself */
    const struct bl_kind_spool *spool;   /* NULL: it reads the inputs themselves */
};

/* Returns whether the kind takes files of this name, by its extension ("-": standard input). */
bool bl_kind_has_extension(const struct bl_kind *kind, const char *name);

/* Return whether a file of this name is a list of inputs for the kind, and whether its lists may be manifests. */
bool bl_kind_is_list(const struct bl_kind *kind, const char *path);
bool bl_kind_has_manifests(const struct bl_kind *kind);

/* bl_kind.decodes of kinds that libraries decode, whatever their options are. */
bool bl_kind_decodes(const void *config);

/* Returns the plural noun of the kind's steps with these options. */
const char *bl_kind_steps(const struct bl_kind *kind, const void *config);

/* Checks its options against each other. BL_EUSAGE. */
int bl_kind_check(const struct bl_kind *kind, const void *config, struct bl_error *e);

/* Returns the index of a value of --dtype, or -1. */
int bl_kind_dtype(const struct bl_kind *kind, const char *name);

/* Returns whether counting stores the steps in the spool. */
bool bl_kind_spools_steps(const struct bl_kind *kind, const void *config);

/* Sets the steps per second, num / den, of sequences with this value in the column sampling. False: they have no rate.
 */
bool bl_kind_rate(const struct bl_kind *kind, const char *sampling, int64_t *num, int64_t *den);

/* Adds a row's numbers to the sums. */
void bl_kind_add_totals(const struct bl_kind *kind, const struct bl_row *row, bool cut, struct bl_totals *totals);

/* Returns the time in seconds at which step i of a request or row begins; its first step has the number start. Without
 * a rate, times has the times. With a rate, they follow from the numbers of the steps, which times has if it is not
 * NULL. */
double bl_kind_step_time(const struct bl_rational *rate, const double *times, int64_t start, int64_t i);

#endif
