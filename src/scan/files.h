/* Lists the files of a scan, finds them in folders, and weighs them, to measure the progress of the scan. */
#ifndef BL_FILES_H
#define BL_FILES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/archive.h"
#include "base/buffer.h"
#include "base/error.h"
#include "kind/kind.h"
#include "scan/clip_columns.h"

/* --- files -------------------------------------------------------------------------------------------------------- */

/* The files that a scan takes as inputs. */

struct bl_file {
    char *path;        /* as given, with what was found below it; owned, with the texts below */
    const char *id;    /* path, or its part below the source folder; of a sample, that of its tar and its key */
    const char *fault; /* why the file is already known to be unusable; or NULL */
    const struct bl_kind *kind; /* by its name; NULL, while the sources are listed: unknown */
    int line;                   /* of the @list that names it; 0: none does */
    unsigned source : 29;       /* number of the source that has it */
    unsigned folder : 1;        /* the input is a folder, for a kind whose inputs are folders */
    unsigned tar : 1;           /* while the sources are listed: a tar, whose samples are the inputs (scan/samples.h) */
    unsigned found : 1;         /* in a folder, by its extension */
};

struct bl_ignored {
    char extension[16]; /* "txt"; "hidden", "no extension" */
    int64_t count;
};

#define BL_IGNORED_MAX 32

/* The inputs of a run. */
struct bl_files {
    struct bl_file *file;
    size_t count, capacity;
    const struct bl_kind *kind;                /* of all of them */
    struct bl_ignored ignored[BL_IGNORED_MAX]; /* files in folders that are not inputs, by extension */
    int ignored_count;
    char *empty_folder;             /* the first source folder without any input; or NULL */
    int64_t empty_folders;          /* how many there are */
    struct bl_clip_columns clips;   /* of the lists among them */
    struct bl_member_index members; /* of tars, beside the inputs: those that fields or columns were to be made of */
    int64_t tars;                   /* whose samples are among them */
};

/* Adds count to the ignored files with the extension of name. If the table is full, they count as "others". */
void bl_files_ignore(struct bl_files *files, const char *name, int64_t count);

/* Returns whether a file of that name is a tar with samples, for the kind if that is not NULL. */
bool bl_files_is_tar(const struct bl_kind *kind, const char *name);

/* Adds a file. Its path is copied; its id begins at id_offset of it. Errors: BL_EFAIL, no memory. */
int bl_files_add(struct bl_files *files, const char *path, size_t id_offset, const struct bl_kind *kind, bool found,
                 struct bl_error *e);

/* The same with an id and a fault (or NULL), which are copied. */
int bl_files_add_named(struct bl_files *files, const char *path, const char *id, const struct bl_kind *kind,
                       const char *fault, struct bl_error *e);

/* Removes the files of lower ranks that a source folder added, from index first on, and counts them as ignored: those
 * before belong to other sources. Each source folder is judged by itself. Documents stay beside other fallback kinds,
 * so that the message about several kinds shows both. */
void bl_files_drop_secondary(struct bl_files *files, size_t first);

/* Gives the file a fault, which is copied. */
int bl_files_set_fault(struct bl_files *files, size_t number, const char *fault, struct bl_error *e);

/* Reads the columns of the lists among them. base: directory that relative paths count from, or NULL; renames: of
 * --columns, or NULL, which must outlive files. Errors as bl_clip_columns_add's, and BL_EUSAGE: a rename of a column
 * that no list has. */
int bl_files_read_lists(struct bl_files *files, const struct bl_kind *kind, const char *base, const char *renames,
                        const struct bl_cancel *cancel, struct bl_error *e);

/* Appends the names of the extra columns of a scan, a tab before each. */
void bl_files_columns(const struct bl_files *files, const struct bl_kind *kind, const void *config,
                      struct bl_buffer *out);

/* Returns whether the file is a list of inputs. */
bool bl_file_is_list(const struct bl_file *file, const struct bl_kind *kind);

/* Returns whether one of the files is a list of inputs. */
bool bl_files_have_list(const struct bl_files *files, const struct bl_kind *kind);
void bl_files_free(struct bl_files *files);

/* --- walk through a folder ---------------------------------------------------------------------------------------- */

/* The walk through a source folder: every file below it that is an input. Links are followed. */

struct bl_walk {
    struct bl_files *files;            /* inputs are added, ignored files counted */
    const char *base;                  /* directory that relative paths count from, or NULL */
    const struct bl_kind *kind;        /* --kind, or NULL: by extension */
    const struct bl_kind_names *names; /* in place of the kind's extensions, or NULL */
    bool whole_ids;                    /* ids are whole paths, not what is below the folder */
};

/* Walks through the folder. A folder below it that cannot be read, or whose path is too long, is added as an input,
 * which the scan will skip. BL_EUSAGE: links that lead in circles, or to the same folders over and over. */
int bl_walk_folder(const struct bl_walk *walk, const char *path, struct bl_error *e);

/* Adds a file that was found by its name below a folder or prefix, if it is an input, and counts it as ignored
 * otherwise. Its id begins at id_offset of the path. *is_part: it belongs to its folder, which is the input, and
 * nothing was done. */
int bl_walk_add_found(const struct bl_walk *walk, const char *path, size_t id_offset, bool *is_part,
                      struct bl_error *e);

/* Appends the path of the folder, as it was given, and those of all below it that are not hidden, each with a zero byte
 * behind it. Errors, and folders that cannot be read, as above. */
int bl_walk_list_folders(const struct bl_walk *walk, const char *path, struct bl_buffer *folders, struct bl_error *e);

/* Reads the names in a folder: appends the type of each (DT_DIR and so on), then the name and a zero byte, and counts
 * them. *opened: if not, errno says why. */
int bl_walk_read_names(const struct bl_walk *walk, const char *path, struct bl_buffer *names, int64_t *count,
                       bool *opened, struct bl_error *e);

/* Calls stat(2). *there is false if it fails because of the path; then errno says why. BL_EFAIL: the system fails
 * (memory, disk). */
int bl_walk_stat(const struct bl_walk *walk, const char *path, struct stat *status, bool *there, struct bl_error *e);

/* --- weights of files --------------------------------------------------------------------------------------------- */

/* The weight of a file is the share of the scan that it is expected to take. The progress of a scan is the sum of
 * finished weights: with counts of files, one large file would seem to stop it. A file weighs its bytes plus a constant
 * for opening it. If sizes are not known beforehand, all files weigh the same. */

struct bl_weights {
    int64_t files;     /* number of files of the scan */
    double expected;   /* sum of all weights, estimated from a sample of the sizes; 0: all weigh the same */
    atomic_llong sum;  /* sum of the weights of files that were begun, */
    atomic_llong seen; /* and number of these files */
};

/* Looks at the sizes of files number first, first + every, ..., of all of them, or of a sample if that takes long. */
void bl_weights_init(struct bl_weights *weights, const struct bl_files *files, const struct bl_kind *kind,
                     const char *base, int64_t first, int64_t every);

/* Returns the weight of bytes of files. opens: how many files they begin, 0 for a part that is not the first of its
 * file. */
int64_t bl_weights_of(const struct bl_weights *weights, int64_t bytes, int64_t opens);

/* Counts files with this weight as begun. Many threads may call it at once. */
void bl_weights_begin(struct bl_weights *weights, int64_t weight, int64_t files);

/* Returns the finished weight in thousandths of files: 1000 times the number of files when all are finished. */
int64_t bl_weights_parts(const struct bl_weights *weights, int64_t finished);

#endif
