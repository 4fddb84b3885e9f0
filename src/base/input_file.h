/* Reading inputs: opens files and folders, reads a file or a member of a tar, reads numbers at given places, and copies
 * pipes so that they can be read again. */
#ifndef BL_INPUT_FILE_H
#define BL_INPUT_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"

/* --- opener ------------------------------------------------------------------------------------------------------- */

/* Opens the files and folders of inputs for reading; for a member of a tar (base/archive.h) it opens the tar. A process
 * that may not open files sets an opener that asks another process. */

/* Opens a file as open(2) does with these flags. Returns the descriptor, or -1 with errno. */
typedef int bl_opener(void *context, const char *path, int flags);

/* Sets the opener of this process, once, before the process has threads. Without one, open(2) is used. */
void bl_opener_set(bl_opener *opener, void *context);

/* Opens a file by open(2), whatever the opener is. */
int bl_opener_open(const char *path, int flags);

/* Opens a file for reading, without waiting for a pipe's writer. Returns the descriptor, or -1 with errno. */
int bl_opener_file(const char *path);

/* Records that an input cannot be opened or described: why is in errno, or was said by the store of a URL. what:
 * "cannot open". Returns code, or what the store's failure is. */
int bl_opener_fail(const char *what, const char *path, int code, struct bl_error *e);

/* --- inputs from afar --------------------------------------------------------------------------------------------- */

/* An object that is open for reading by ranges, by one thread at a time. */
struct bl_far;

/* A copy of an object, which may still grow. */
struct bl_far_copy;

/* Inputs whose paths are URLs: a table of functions, which the process sets once, before it has threads. */
struct bl_far_files {
    /* Returns a descriptor of a copy of the object, whose position is its beginning, or a code. */
    int (*open)(void *context, const char *url, struct bl_error *e);
    /* Sets the object's size, and a number that stands for its content. *missing: there is no such object (BL_EUSAGE).
     */
    int (*identify)(void *context, const char *url, int64_t *bytes, uint64_t *content, bool *missing,
                    struct bl_error *e);
    /* Opens an object for reading by ranges, from byte begin on mostly, and sets its size. */
    int (*open_ranges)(void *context, const char *url, int64_t begin, struct bl_far **far, int64_t *bytes,
                       struct bl_error *e);
    /* Reads bytes of the object. They lie between begin and end, which are those of the input. */
    int (*read)(struct bl_far *far, void *data, size_t size, int64_t offset, int64_t begin, int64_t end,
                struct bl_error *e);
    void (*close)(struct bl_far *far);
    /* Appends the files of a folder, those whose URLs have one more name: of each the size, a space, the name, and a
     * NUL. There may be none. */
    int (*list)(void *context, const char *url, struct bl_buffer *files, struct bl_error *e);
    /* Returns whether a URL is one of an object, for a process that may not look whether there is a file of that name;
     * or NULL. Its functions take members of tars as well, and there is no open. */
    bool (*is)(void *context, const char *url);
    void *context;
    /* These five have the comments of the functions below that call them. */
    void (*announce)(void *context, const char *url, int64_t begin, int64_t end);
    void (*release)(void *context, const char *url);
    int (*follow)(void *context, const char *url, struct bl_far_copy **copy, struct bl_error *e);
    int (*wait)(struct bl_far_copy *copy, int64_t offset, int64_t *ready, struct bl_error *e);
    void (*leave)(struct bl_far_copy *copy);
};

/* NULL: URLs are names of files, as any others. The table must outlive its use. */
void bl_far_set(const struct bl_far_files *files);
const struct bl_far_files *bl_far_get(void);

/* Whether the path is a URL, or names a member of a tar at one, that the functions above open. */
bool bl_far_is(const char *path);

/* Sets the size and content of such an input; a member has a content of its own, by its place. Errors as those of
 * identify. */
int bl_far_identify(const char *path, int64_t *bytes, uint64_t *content, struct bl_error *e);

/* Returns BL_OK, or why the last call of this thread that asked a store failed: then nothing is known of the object, so
 * that it is not damaged. BL_EUSAGE: the user may not, or the server cannot do it. That bl_input_file_exists has not
 * found an object is no failure. */
int bl_far_failed(void);

/* Forgets that failure: the caller has found out that there is no such object. */
void bl_far_forgive(void);

/* Announces that the bytes from begin to end of an input will be read soon: those of an object are fetched in the
 * background, and its copy is kept until bl_far_release, once for each announcement. Other inputs: nothing. */
void bl_far_announce(const char *path, int64_t begin, int64_t end);
void bl_far_release(const char *path);

/* Opens a copy of an object before its bytes are there. Returns a descriptor, whose position is the beginning, or -1
 * with errno, as bl_opener_open does. The caller closes the descriptor, and then leaves the copy. */
int bl_far_follow(const char *path, struct bl_far_copy **copy);

/* Waits until there are bytes at an offset of the copy, and sets how many follow it there; 0: the object ends before.
 * Nothing else of the file is valid. BL_EFAIL: they could not be fetched. */
int bl_far_wait(struct bl_far_copy *copy, int64_t offset, int64_t *ready, struct bl_error *e);
void bl_far_leave(struct bl_far_copy *copy);

/* --- input files -------------------------------------------------------------------------------------------------- */

/* An input, open for reading: a file, or a member of a tar (base/archive.h), which lies within one. An object has no
 * descriptor: read by the functions below alone. */

struct bl_input_file {
    int fd;             /* -1: not open, or an object */
    struct bl_far *far; /* an object; or NULL */
    int64_t begin;      /* offset of the input's first byte in the file */
    struct stat status; /* of the file; st_size is that of the member, or less if the tar ends within it */
};

/* Opens the input without waiting for a pipe's writer. Returns 0, or -1 with errno and fd -1. */
int bl_input_file_open(struct bl_input_file *file, const char *path);

/* Opens the input for a reader that needs a descriptor: of an object, that of a copy. */
int bl_input_file_open_whole(struct bl_input_file *file, const char *path);

/* Closes the input, if it is open. A close of a file that was only read loses nothing. */
void bl_input_file_close(struct bl_input_file *file);

/* Reads as pread(2) does, at an offset from the input's first byte. Fewer bytes than size come only at the end: short
 * reads and signals are handled. Returns the bytes, or -1 with errno. */
ssize_t bl_input_file_pread(const struct bl_input_file *file, void *data, size_t size, int64_t offset);

/* Reads exactly size bytes at an offset from the input's first byte. BL_EFAIL, with path: also where the file ends
 * before them. */
int bl_input_file_get(const struct bl_input_file *file, void *data, size_t size, int64_t offset, const char *path,
                      struct bl_error *e);

/* Records what has failed ("cannot be read"): why is in errno, or was said by the store of a URL. Returns BL_EFAIL or
 * BL_ECANCEL. */
int bl_input_file_fail(const char *path, const char *what, struct bl_error *e);

/* Sets the present status of an open file, as fstat(2) does; the size of a member is what it was. */
int bl_input_file_restat(const struct bl_input_file *file, struct stat *status);

/* Sets the status that bl_input_file_open would set. Returns 0, or -1 with errno. */
int bl_input_file_stat(const char *path, struct stat *status);

/* bl_fs_exists for inputs. */
int bl_input_file_exists(const char *path, bool *exists, struct bl_error *e);

/* --- input folders ------------------------------------------------------------------------------------------------ */

/* A folder of inputs, open for reading the names in it: of the disk, or of a store. */
struct bl_input_folder {
    DIR *directory;         /* or NULL */
    struct bl_buffer files; /* of a store, as bl_far_files.list gives them */
    size_t at;              /* in the files: of the next one */
    const char *name;       /* of the present file */
};

/* Returns 0, or -1 with errno. ENOENT: there is no such folder, or it is one of a store without files. */
int bl_input_folder_open(struct bl_input_folder *folder, const char *path);
void bl_input_folder_close(struct bl_input_folder *folder);

/* Sets folder->name to the next name, valid until the next call, or NULL at the end. Returns 0, or -1 with errno. */
int bl_input_folder_next(struct bl_input_folder *folder);

/* Sets the status of the present name as stat(2) does. Returns 0, or -1 with errno. */
int bl_input_folder_stat(const struct bl_input_folder *folder, struct stat *status);

/* Returns whether the path is a URL, so that a folder there is one of a store. */
bool bl_input_folder_is_far(const char *path);

/* --- window ------------------------------------------------------------------------------------------------------- */

/* Numbers at known places of a file, read through a window that holds the bytes read last. */

#define BL_WINDOW_SIZE 4096

/* Set the first four members; the others begin as 0. */
struct bl_window {
    const struct bl_input_file *file;
    const char *path;
    int64_t size; /* of the file */
    struct bl_error *e;
    int code;   /* BL_EFAIL after a failed read; all numbers are then 0 */
    bool ended; /* a number beyond the end was requested; it is 0 */
    int64_t from, to;
    uint8_t data[BL_WINDOW_SIZE]; /* bytes from `from` to `to` of the file */
};

/* Returns the number in `size` bytes, at most 8, at an offset of the file. */
uint64_t bl_window_number(struct bl_window *window, int64_t at, int size, bool big_endian);

/* --- copies of pipes ---------------------------------------------------------------------------------------------- */

/* Copies of inputs that can be read only once, such as standard input or a pipe, so that they can be read repeatedly
 * like a file. */

/* {.fd = -1}: nothing is copied. */
struct bl_pipe_copy {
    int fd;           /* an unnamed file with all that was read, or -1 */
    const char *name; /* of the source, for messages; owned by the caller */
    char path[32];    /* opens the copy */
};

/* Copies path if it is "-" or a pipe; does nothing for a file. BL_EUSAGE: path does not exist. */
int bl_pipe_copy_open(struct bl_pipe_copy *held, const char *path, struct bl_error *e);

/* Returns the path to open in place of path. */
const char *bl_pipe_copy_path(const struct bl_pipe_copy *held, const char *path);

/* Replaces the copy's path at the start of a message with the source's name. */
void bl_pipe_copy_fix_error(const struct bl_pipe_copy *held, struct bl_error *e);
void bl_pipe_copy_close(struct bl_pipe_copy *held);

#endif
