/* A decoder process, as its worker sees it. */
#ifndef BL_DECODER_PROCESS_H
#define BL_DECODER_PROCESS_H

#include "pool/memory_budget.h"
#include "kind/isolated/decoder_loop.h"
#include "kind/isolated/messages.h"

/* --- names -------------------------------------------------------------------------------------------------------- */

/* The files and ids that the lines of a list name. The worker finds them itself, and allows its decoder process no
 * others. */

/* A name in one line. A line of a manifest may name one of two paths, and has two such entries. The members are offsets
 * in text; 0: none. */
struct bl_isolated_name {
    int line; /* of the chunk */
    size_t id, path, open_path;
};

/* Start from {0}. */
struct bl_isolated_names {
    struct bl_buffer text;
    struct bl_isolated_name *name;
    int count;
    size_t capacity;
    int line; /* of the names that are being added */
};

/* Finds the names of the chunk's lines [first, end), of a kind with this table. */
int bl_isolated_names_find(struct bl_isolated_names *names, const struct bl_kind_scan *scan,
                           const struct bl_chunk *chunk, int first, int end, struct bl_error *e);
void bl_isolated_names_free(struct bl_isolated_names *names);

/* A path to open, or NULL. */
const char *bl_isolated_names_path(const struct bl_isolated_names *names, int64_t number);

/* Whether the row of a line has only an id and a path that the line names. */
bool bl_isolated_names_allow(const struct bl_isolated_names *names, int line, const struct bl_row *row);

/* --- decoder process ---------------------------------------------------------------------------------------------- */

/* Initialize with BL_DECODER_PROCESS_NONE. It starts with the first call, and again after its end. */
struct bl_decoder_process {
    pid_t pid; /* 0: none */
    int channel;
    struct bl_shared_memory shared; /* the page */
    struct bl_progress_page *page;
    struct bl_message answer;
    struct bl_buffer given; /* path of the file that it was given last */
    int block;              /* descriptor of the block that it has mapped; -1: none */
    bool reads;             /* its reader is open */
};

#define BL_DECODER_PROCESS_NONE                                                                                        \
    {                                                                                                                  \
        .channel = -1, .answer.fd = BL_MESSAGE_FDS_NONE, .block = -1                                                   \
    }

/* Files that workers have open at the moment, to send them together. */
struct bl_decoder_files {
    atomic_int open;
    int most;
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
    int64_t stall;         /* seconds of processor time without progress that are its end */
    struct bl_decoder_files *files;
    struct bl_decoder_times *times; /* or NULL */
};

/* What a process is asked to do. */
struct bl_decoder_call {
    int type;                     /* enum bl_isolated_type */
    const struct bl_buffer *data; /* without the meter's number, which comes first */
    int memory;                   /* a descriptor for it, or -1 */
    const char
        *path[BL_ISOLATED_FILES]; /* the files that it may want to be opened; files in them, if they are folders */
    int paths;
    const struct bl_isolated_names *names; /* of a list: what it may want instead, as above; NULL: no list */
    size_t most;                           /* bytes of a message from the process */
    const struct bl_cancel *cancel;
    struct bl_reservation *reservation; /* or NULL */
    struct bl_meter *meter;             /* or NULL */
    int rows;                           /* that come before its answer */
    /* Whether this may be a row of what was asked for; and takes it. Both may be NULL if there are none. number: from
     * 0. */
    bool (*allows)(const void *sink, int number, const struct bl_row *row);
    int (*row)(void *sink, int number, const struct bl_row *row, struct bl_error *e);
    /* Takes what the work results in; it may find the message damaged. NULL: nothing. */
    void (*result)(void *sink, struct bl_message *message);
    void *sink; /* of both */
};

/* How a process was lost. */
struct bl_decoder_loss {
    bool lost;
    bool stalled;   /* it made no progress and was ended */
    bool killed;    /* by SIGKILL, which is somebody else's: the system's, where memory runs out */
    int rows;       /* that came before */
    int item;       /* the input or line at fault, of those that were asked for: some before it may lack their rows */
    char how[64];   /* "SIGSEGV", "exit status 1" */
    char path[256]; /* of the file that it opened last */
};

/* Starts the process if there is none. BL_EFAIL. */
int bl_decoder_process_start(struct bl_decoder_process *p, const struct bl_decoder_start *start, struct bl_error *e);

/* Has the process do the work. Returns its code, with its error. If the process is lost, or does not answer what it
 * should, the code is BL_OK, and loss tells how. BL_EFAIL, BL_ECANCEL: also its worker's own; then the process is
 * ended. */
int bl_decoder_process_call(struct bl_decoder_process *p, const struct bl_decoder_start *start,
                            const struct bl_decoder_call *call, struct bl_decoder_loss *loss, struct bl_error *e);

/* Ends the process, which does nothing at the moment. */
void bl_decoder_process_end(struct bl_decoder_process *p, const struct bl_decoder_start *start);

/* Frees what is left; the process has ended. */
void bl_decoder_process_free(struct bl_decoder_process *p);

#endif
