/* manifest.json: the description of a dataset or a view. The file is written last: a directory without it is no
 * finished dataset and no view. */
#ifndef BL_MANIFEST_H
#define BL_MANIFEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/error.h"
#include "store/format.h"
#include "store/plan_info.h"

/* --- sources of a view -------------------------------------------------------------------------------------------- */

/* A source of a view: a finished dataset whose stored sequences make up the blocks of the view.
 *
 * The manifest of a view lists its sources. The view identifies a source by the checksums of its index, sequences.tsv
 * and shards.tsv, which the source's manifest lists. These files determine every byte of the blocks, while plans of
 * further epochs may be added or removed. */

enum bl_view_source_file {
    BL_VIEW_SOURCE_INDEX,
    BL_VIEW_SOURCE_SEQUENCES,
    BL_VIEW_SOURCE_SHARDS,
    BL_VIEW_SOURCE_FILES
};

struct bl_manifest;

struct bl_view_source {
    char *name;               /* unique among the sources of a view */
    char *path;               /* of its directory: relative to the directory of the view, or absolute */
    int64_t first_row, rows;  /* rows first_row to first_row + rows - 1 of the view are those of its sequences.tsv */
    int64_t blocks;           /* number of blocks in its shards */
    int64_t sequences, steps; /* number of its sequences and steps in the view's plan */
    double share;             /* its share of all steps in the plan, 0 to 1 */
    double weight;            /* the weight that the user gave; 0: none */
    uint64_t checksum[BL_VIEW_SOURCE_FILES];
};

/* Returns the name of a file whose checksum identifies a source. */
const char *bl_view_source_file_name(enum bl_view_source_file file);

/* Sets the number of blocks and the checksums of a source from its manifest. BL_EDATA: the manifest does not list one
 * of the files. */
int bl_view_source_identify(struct bl_view_source *source, const struct bl_manifest *manifest, struct bl_error *e);

/* Compares the manifest of the dataset in dir, which is the source's path, with the source. BL_EDATA: they differ; the
 * message names the file. */
int bl_view_source_compare(const struct bl_view_source *source, const struct bl_manifest *manifest, const char *dir,
                           struct bl_error *e);

/* Makes the path of the dataset in dir for the view in the directory `view`, which exists. The path is relative if both
 * share a directory below the root, and absolute otherwise; a URL stays as it is. The caller frees *path. BL_EFAIL: a
 * directory cannot be resolved. */
int bl_view_source_make_path(const char *view, const char *dir, char **path, struct bl_error *e);

/* Returns the source that has a row of the view, in O(log count). The rows of a view are numbered continuously, source
 * after source. count must be at least 1. */
const struct bl_view_source *bl_view_source_of_row(const struct bl_view_source *source, size_t count, int64_t row);

/* Returns the paths of sequences.tsv of all sources of the view in dir; NULL: memory ran out. The caller frees them
 * with bl_path_free_all. */
char **bl_view_source_tables(const struct bl_manifest *view, const char *dir);

/* --- manifest ----------------------------------------------------------------------------------------------------- */

#define BL_MANIFEST_FILE "manifest.json"
#define BL_MANIFEST_SIZE_MAX ((size_t)64 << 20)

/* A file of the dataset other than a shard. */
struct bl_manifest_file {
    char *name; /* relative to the dataset's directory */
    int64_t bytes;
    uint64_t checksum;
};

/* An option and its value, or a library and its version. */
struct bl_manifest_pair {
    char *name, *value;
};

struct bl_manifest_pairs {
    size_t count;
    struct bl_manifest_pair *pair;
};

/* Counts of pieces and blocks of text without a trained step, if a loss mask exists (bl_fields_have_mask). The loss of
 * such a block is a mean over no steps, and so NaN. */
struct bl_untrained {
    int64_t pieces, blocks;
    int64_t counted; /* number of blocks that were examined */
};

/* Appends "2 sequences, or parts of them, have no trained token, ..." if there are any. */
void bl_untrained_describe(const struct bl_untrained *untrained, struct bl_buffer *out);

/* The manifest owns its strings, which are not escaped. In the file, bytes that are not UTF-8 are escaped as in tables.
 * Set numbers directly, and strings and lists by the functions below. Free with bl_manifest_free. */
struct bl_manifest {
    char *tool; /* version of bload that made the dataset */
    char *simd; /* vector instructions that it used */
    struct bl_plan_info plan_info;
    int64_t skipped;                 /* number of unusable inputs */
    int64_t failed, failed_steps;    /* sequences that failed while packing, and the steps planned for them */
    struct bl_manifest_pairs counts; /* numbers that the kind of data counted over its sequences; may be empty */
    struct bl_untrained untrained;   /* valid only if all blocks of the dataset were examined */
    struct bl_format format;
    char *made[BL_FIELDS_MAX]; /* how each field was made, as text */
    struct bl_manifest_pairs libraries;
    struct bl_manifest_pairs configuration;
    int64_t align; /* alignment of all plans, in steps; 0: the option was not given, and the starts determine it */
    size_t notes;  /* number of notes about the run, which have no effect on the bytes of shards and tables */
    char **note;
    size_t sources; /* number of sources of a view; 0: a dataset, which has shards */
    struct bl_view_source *source;
    int64_t rows; /* sum over all sources of a view */
    size_t files;
    struct bl_manifest_file *file;
    char digest[BL_DIGEST_SIZE]; /* checksum of the file, computed with zeros in place of its digits; set by
                                    bl_manifest_write and bl_manifest_read */
};

/* Replaces *member, a string of the manifest, by a copy of text. */
int bl_manifest_text(char **member, const char *text, struct bl_error *e);
/* Adds a pair of copies of name and value. */
int bl_manifest_pair(struct bl_manifest_pairs *pairs, const char *name, const char *value, struct bl_error *e);

/* Adds lines of "name: value", as bl_options_identity writes them, to configuration. */
int bl_manifest_configure(struct bl_manifest *manifest, const char *lines, struct bl_error *e);

/* Adds a copy of text as a note. */
int bl_manifest_note(struct bl_manifest *manifest, const char *text, struct bl_error *e);

/* Returns the value of an option in configuration, or "" if it is missing. */
const char *bl_manifest_option(const struct bl_manifest *manifest, const char *name);

/* Sets the members that repeat values of options: align, and the format's padded_to and pad_repeat; plan_info is set.
 * bl_manifest_configure and the functions that read a manifest call it. */
void bl_manifest_set_recorded(struct bl_manifest *manifest);

/* Returns whether a text is a JSON object without duplicate names. */
bool bl_manifest_is_object(const char *text);

/* Returns the sample rate, in Hz, of a field whose steps are audio samples, or 0 for other fields. */
int64_t bl_manifest_sample_rate(const struct bl_manifest *manifest, int field);

/* Returns how many audio samples a step of the field holds, which is the first dimension of its shape; 1: steps of the
 * field are not chunks of audio. */
int64_t bl_manifest_step_samples(const struct bl_manifest *manifest, int field);

/* Returns true if the manifest describes a view. */
bool bl_manifest_is_view(const struct bl_manifest *manifest);

/* Returns true if the manifest describes a view whose sources have weights. */
bool bl_manifest_is_blend(const struct bl_manifest *manifest);

/* Returns the number of fields with block checksums in the index: all fields of a dataset, 0 for a view. */
int bl_manifest_index_fields(const struct bl_manifest *manifest);

/* Appends the paths of the sources, such as "../a, ../b". */
void bl_manifest_append_paths(const struct bl_manifest *manifest, struct bl_buffer *out);

/* Adds a source, all zero, and returns it; NULL: memory ran out. */
struct bl_view_source *bl_manifest_append_source(struct bl_manifest *manifest, struct bl_error *e);

/* Adds the file DIR/name with its size and checksum, for which the file is read. */
int bl_manifest_add_file(struct bl_manifest *manifest, const char *dir, const char *name, struct bl_error *e);

/* Adds a file of that name, with size and checksum 0, and returns it; NULL: memory ran out. */
struct bl_manifest_file *bl_manifest_append_file(struct bl_manifest *manifest, const char *name, struct bl_error *e);

/* Returns the listed file of that name, or NULL. */
struct bl_manifest_file *bl_manifest_find_file(const struct bl_manifest *manifest, const char *name);

/* Returns a manifest as JSON, with zeros for the digits of its checksum; NULL: memory ran out. is_draft: it is the
 * draft of a run, which only bload reads (bl_plan_info_to_json). */
json_t *bl_manifest_to_json(const struct bl_manifest *manifest, bool is_draft);

/* Appends the text of manifest.json, and sets digest. */
int bl_manifest_format(struct bl_manifest *manifest, bool is_draft, struct bl_buffer *text, struct bl_error *e);

/* Writes DIR/manifest.json atomically. */
int bl_manifest_write(struct bl_manifest *manifest, const char *dir, struct bl_error *e);

/* Reads DIR/manifest.json, and checks its checksum, and the type and range of every member. BL_EUSAGE: the file is
 * missing, so that DIR is not a finished dataset. BL_EDATA: it is damaged, or of a later format. On error *manifest is
 * empty. */
int bl_manifest_read(struct bl_manifest *manifest, const char *dir, struct bl_error *e);

/* Does the same as bl_manifest_read, but a wrong checksum is no error if all members are valid. *sound: the checksum is
 * right. */
int bl_manifest_inspect(struct bl_manifest *manifest, const char *dir, bool *sound, struct bl_error *e);

/* Does the same as bl_manifest_inspect for the text of a manifest in memory. */
int bl_manifest_parse(struct bl_manifest *manifest, const char *text, size_t size, bool *sound, struct bl_error *e);

void bl_manifest_free(struct bl_manifest *manifest);

#endif
