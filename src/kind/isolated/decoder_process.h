/* The worker's side of a decoder process: starts it, sends it requests, opens files for it, watches it, and finds out
 * how it ended. */
#ifndef BL_DECODER_PROCESS_H
#define BL_DECODER_PROCESS_H

#include "base/input_file.h"
#include "pool/memory_budget.h"
#include "kind/isolated/decoder_loop.h"
#include "kind/isolated/messages.h"

/* --- names -------------------------------------------------------------------------------------------------------- */

/* The files and ids that the lines of a list name. The worker parses the lines itself, and opens no other files for its
 * decoder process: a process that a damaged file has taken over cannot read other files. */

/* What one line names. A line of a manifest may name one of two paths, and then has two entries. */
struct bl_isolated_name {
    int line;                   /* its index in the chunk */
    size_t id, path, open_path; /* offsets in `text`; 0: the line has none */
};

/* Initialize with {0}. */
struct bl_isolated_names {
    struct bl_buffer text;
    struct bl_isolated_name *name;
    int count;
    size_t capacity;
    int line; /* the index of the line whose names are being added */
};

/* Finds the names in the chunk's lines [first, end), by the kind's own parser of lists. */
int bl_isolated_names_find(struct bl_isolated_names *names, const struct bl_kind_scan *scan,
                           const struct bl_chunk *chunk, int first, int end, struct bl_error *e);
void bl_isolated_names_free(struct bl_isolated_names *names);

/* Returns the path to open for entry `number`, or NULL if there is none. */
const char *bl_isolated_names_path(const struct bl_isolated_names *names, int64_t number);

/* Returns whether the row's id and path are both named by the line, or not set. */
bool bl_isolated_names_allow(const struct bl_isolated_names *names, int line, const struct bl_row *row);

/* --- decoder process ---------------------------------------------------------------------------------------------- */

#define BL_DECODER_OBJECTS 4 /* that stay open for a process: more than a clip and its sound */

/* An object that a process reads. */
struct bl_decoder_object {
    char *path;   /* NULL: none */
    int64_t used; /* when it was last used, as a count of requests */
    struct bl_input_file file;
};

/* Initialize with BL_DECODER_PROCESS_NONE. The first call starts the process, and a call after its end starts it
 * again. */
struct bl_decoder_process {
    pid_t pid;                      /* 0: not started */
    int channel;                    /* a stream socket to the process */
    struct bl_shared_memory shared; /* the memory of the page */
    struct bl_progress_page *page;
    struct bl_message answer; /* the last message from the process */
    struct bl_buffer given;   /* the path of the last file whose descriptor was sent to it */
    int block;                /* the worker's descriptor of the block that the process has mapped; -1: none */
    bool reads;               /* its reader is open */
    struct bl_decoder_object object[BL_DECODER_OBJECTS];
    int64_t uses; /* of objects */
};

#define BL_DECODER_PROCESS_NONE                                                                                        \
    {                                                                                                                  \
        .channel = -1, .answer.fd = BL_MESSAGE_FDS_NONE, .block = -1                                                   \
    }

/* Counts the descriptors that all workers have open to send several in one request. */
struct bl_decoder_files {
    atomic_int open;
    int most; /* the limit; beyond it a process requests its files one by one */
};

/* Processor time of the processes that have ended, in nanoseconds. */
struct bl_decoder_times {
    atomic_llong run, queued;
    atomic_bool is_partly; /* as in bl_processor_time */
};

/* How processes are started and watched. */
struct bl_decoder_start {
    const struct bl_fork_server *server;
    struct bl_spawn spawn; /* but for fd */
    int64_t stall;         /* a process is killed after this many seconds of processor time without progress */
    struct bl_decoder_files *files;
    struct bl_decoder_times *times; /* or NULL */
};

/* A request to a process. */
struct bl_decoder_call {
    int type;                            /* enum bl_isolated_type */
    const struct bl_buffer *data;        /* the entire request; it begins with the meter's number */
    int memory;                          /* the descriptor of a block to send with the request, or -1 */
    const char *path[BL_ISOLATED_FILES]; /* [paths] the files, or folders of files, that it may request */
    int paths;
    const struct bl_isolated_names *names; /* for a list: the files that it may request instead; NULL: no list */
    size_t most;                           /* the largest size of a message from the process, in bytes */
    const struct bl_cancel *cancel;
    struct bl_reservation *reservation; /* or NULL */
    struct bl_meter *meter;             /* or NULL */
    int rows;                           /* rows that the process sends before its answer */
    /* The first returns whether the process may report this row for the request; the second stores the row. number
     * counts the rows from 0. Both may be NULL if the request has no rows. */
    bool (*allows)(const void *sink, int number, const struct bl_row *row);
    int (*row)(void *sink, int number, const struct bl_row *row, struct bl_error *e);
    /* Reads the result from the answer, and may mark the message as damaged; NULL if the request has no result. */
    void (*result)(void *sink, struct bl_message *message);
    void *sink; /* the first argument of the three functions */
};

/* How a process was lost. */
struct bl_decoder_loss {
    bool lost;
    bool stalled;   /* the worker killed it because it made no progress */
    bool killed;    /* something else killed it by SIGKILL, usually the kernel when memory runs out */
    int rows;       /* rows that arrived before */
    int item;       /* the input or line at fault, from 0 in this request; rows of earlier items may be missing */
    char how[64];   /* such as "SIGSEGV" or "exit status 1" */
    char path[256]; /* the last file that was opened for it */
};

/* Starts the process if it is not running. BL_EFAIL. */
int bl_decoder_process_start(struct bl_decoder_process *p, const struct bl_decoder_start *start, struct bl_error *e);

/* Sends the request and handles messages until the process answers or is lost. Returns the code and the error of the
 * answer. If the process crashes, stalls or sends an invalid message, it returns BL_OK, and *loss tells how the process
 * was lost. BL_EFAIL and BL_ECANCEL may also be the worker's own; either way the process is ended. */
int bl_decoder_process_call(struct bl_decoder_process *p, const struct bl_decoder_start *start,
                            const struct bl_decoder_call *call, struct bl_decoder_loss *loss, struct bl_error *e);

/* Ends an idle process by closing its channel, and waits for its end. Does nothing if the process is not running. */
void bl_decoder_process_end(struct bl_decoder_process *p, const struct bl_decoder_start *start);

/* Frees the memory of a process that has ended. */
void bl_decoder_process_free(struct bl_decoder_process *p);

#endif
