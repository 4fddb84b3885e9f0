/* The functions of an isolated kind: they have a decoder process call the functions of the kind for which it stands.
 *
 * Each counter and each reader has a client, which has a decoder process and uses it for file after file. Fields and
 * versions are requested now and then, by processes that stay idle in between. A request at which the process is lost
 * is repeated once in a new process, because another cause than the file is possible; the second loss is reported. A
 * row or a piece that arrives goes to the callbacks and the memory of the caller, after a check that it belongs there.
 */
#include "kind/isolated/isolated_kind.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

/* --- clients ------------------------------------------------------------------------------------------------------ */

/* A counter's or a reader's connection to its decoder process. */
struct client {
    const struct bl_isolation *isolation;
    int part; /* index of the kind in isolation->decoder */
    const struct bl_kind_env *env;
    struct bl_decoder_process process;
    struct bl_decoder_process *idle; /* the pool's object from which it was copied (client_take) */
    struct bl_buffer data;           /* the request that is being made */
};

struct isolated_counter {
    struct bl_counter base;
    struct client client;
    struct bl_counter *here;        /* of the kind itself, for files that are counted in this process; or NULL */
    struct bl_isolated_names names; /* named by the lines of the current request */
};

struct isolated_reader {
    struct bl_reader base;
    struct client client;
    struct bl_reader *here;  /* of the kind itself, for files that are read in this process; or NULL */
    struct bl_fields fields; /* the first request to a process has them */
};

#define ANSWER_TEXTS ((size_t)1 << 16) /* bytes of an answer's numbers and texts at most */

/* Initializes the client. It finds the part by the address of its config, which no two parts share. */
static void client_init(struct client *c, const void *config, const struct bl_kind_env *env)
{
    *c = (struct client){.isolation = env->isolation, .env = env, .process = BL_DECODER_PROCESS_NONE};
    while (c->isolation->decoder[c->part].config != config)
        c->part++;
}

/* Returns the kind that the client's processes call, with its options. */
static const struct bl_decoder_part *client_part(const struct client *c)
{
    return &c->isolation->decoder[c->part];
}

/* Returns whether a file needs no decoder process. */
static bool client_reads_here(const struct client *c, const char *path)
{
    const struct bl_decoder_part *part = client_part(c);
    return part->kind->decodes_file && !part->kind->decodes_file(part->config, path);
}

/* Returns how to start a process of the client's part. */
static struct bl_decoder_start client_start(const struct client *c)
{
    return (struct bl_decoder_start){.server = &c->isolation->server,
                                     .spawn.number = {[BL_DECODER_PART] = c->part,
                                                      [BL_DECODER_SIMD] = c->env->simd,
                                                      [BL_DECODER_MEMORY] = c->env->decoder_memory},
                                     .stall = c->isolation->options.stall,
                                     .files = &c->env->isolation->files,
                                     .times = &c->env->isolation->times};
}

/* Ends the client's process, and frees its memory. */
static void client_free(struct client *c)
{
    struct bl_decoder_start start = client_start(c);
    bl_decoder_process_end(&c->process, &start);
    bl_decoder_process_free(&c->process);
    bl_buffer_free(&c->data);
}

/* Makes the request in c->data. The process is started if it does not run. *loss: whether it was lost, and how. */
static int client_call(struct client *c, struct bl_decoder_call *call, struct bl_decoder_loss *loss, struct bl_error *e)
{
    struct bl_decoder_start start = client_start(c);
    call->data = &c->data;
    call->cancel = c->env->cancel;
    call->reservation = c->env->reservation;
    BL_TRY(bl_buffer_check(&c->data, e));
    return bl_decoder_process_call(&c->process, &start, call, loss, e);
}

/* Reports a request at which the process was lost twice. A crash is BL_EDATA, because only the file can be its cause. A
 * stall or a SIGKILL may have other causes, and is BL_EFAIL. */
static int client_report_loss(const struct client *c, const struct bl_decoder_loss *loss, const char *id,
                              struct bl_error *e)
{
    if (loss->stalled)
        return bl_error_set(e, BL_EFAIL,
                            "%s: its decoder read no packet or frame in %" PRId64 " s of processor time, twice "
                            "(--stall); to go on without it: --exclude '%s', and another -o",
                            loss->path, c->isolation->options.stall, id);
    if (loss->killed)
        return bl_error_set(e, BL_EFAIL,
                            "%s: its decoder process was killed (SIGKILL), most likely because memory ran out",
                            loss->path);
    return bl_error_set(e, BL_EDATA, "the decoder crashed (%s)", loss->how);
}

/* Begins a request: every request starts with the meter's number, or 0. */
static void client_begin_data(struct client *c, const struct bl_meter *meter)
{
    bl_buffer_clear(&c->data);
    bl_message_put_int(&c->data, meter ? meter->whole : 0);
}

/* --- counting ----------------------------------------------------------------------------------------------------- */

static void isolated_counter_close(struct bl_counter *counter)
{
    struct isolated_counter *c = (struct isolated_counter *)counter;
    if (c->here)
        c->here->close(c->here);
    client_free(&c->client);
    bl_isolated_names_free(&c->names);
    free(c);
}

/* Makes a counter. Its process starts at the first chunk. */
static int isolated_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                                 struct bl_error *e)
{
    struct isolated_counter *c = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    c->base.close = isolated_counter_close;
    client_init(&c->client, config, env);
    *counter = &c->base;
    return BL_OK;
}

/* The state of counting a chunk. Its items are its inputs, or the lines of a list; each gives one row. */
struct isolated_counting {
    struct isolated_counter *counter;
    struct bl_chunk *chunk;
    bl_row_emit *emit;
    void *sink;
    int items;
    int done;    /* items that have their row */
    int suspect; /* the item at which the process was lost last; less than done: no open item is suspected */
};

/* Returns whether the process may report this row. It may report what it found, but only for the file of the request or
 * for a name in the line. A process that a file has taken over could otherwise write rows for other files. */
static bool counting_allows(const void *sink, int number, const struct bl_row *row)
{
    const struct isolated_counting *c = sink;
    const struct bl_chunk *chunk = c->chunk;
    int line = c->done + number;
    /* A line break in the extra columns could hide another row. */
    if ((row->extra && strpbrk(row->extra, "\n\r")) || row->kind || row->sampling)
        return false;
    if (!chunk->list)
        return !row->id && !row->path && row->offset == -1;
    if (line >= c->items) /* the fault after the last line */
        return !row->id && !row->path && row->offset == -1 && row->status == BL_ROW_SKIPPED;
    return row->offset == chunk->line[line].number && bl_isolated_names_allow(&c->counter->names, line, row);
}

/* The callback for a row of the process. */
static int counting_emit(void *sink, int number, const struct bl_row *row, struct bl_error *e)
{
    const struct isolated_counting *c = sink;
    return c->emit(c->sink, c->chunk->list ? 0 : c->done + number, row, e);
}

#define ROW_TEXTS ((size_t)4 << 20) /* bytes of a row's texts at most, including the marks of a long recording */
#define LIST_TIMES                                                                                                     \
    ((size_t)256 << 20) /* bytes of times at most, for a file that a line names and whose size is not known */

/* Returns the largest size of a message from the process in bytes. A row has its texts and, if times are requested, 8
 * bytes for each step; a step takes at least one byte of its file. */
static size_t counting_most(const struct isolated_counting *c, int items)
{
    size_t most = ROW_TEXTS;
    int64_t largest = 0;
    if (c->chunk->list)
        return most + BL_LIST_LINE_MAX * 2 + (c->chunk->times ? LIST_TIMES : 0);
    for (int i = 0; i < items; i++) {
        int64_t bytes = c->chunk->input[c->done + i].bytes;
        largest = bytes > largest ? bytes : largest;
    }
    bool fits = largest < (int64_t)(BL_MESSAGE_MAX / sizeof(double) - most);
    return c->chunk->times ? most + (fits ? (size_t)largest * sizeof(double) : BL_MESSAGE_MAX - most) : most;
}

/* Has the process count the next `items` items; with 0, the fault after the last line of a list. Advances c->done by
 * the rows that came, and sets c->suspect if the process is lost. */
static int counting_call(struct isolated_counting *c, int items, struct bl_decoder_loss *loss, struct bl_error *e)
{
    const struct bl_chunk *chunk = c->chunk;
    struct client *client = &c->counter->client;
    struct bl_decoder_call call = {.type = BL_ISOLATED_COUNT,
                                   .memory = -1,
                                   .path = {chunk->input->path},
                                   .paths = chunk->list ? 1 : items,
                                   .names = chunk->list ? &c->counter->names : NULL,
                                   .most = counting_most(c, items),
                                   .meter = chunk->meter,
                                   .rows = items ? items : 1,
                                   .allows = counting_allows,
                                   .row = counting_emit,
                                   .sink = c};
    for (int i = 0; i < items && !chunk->list; i++)
        call.path[i] = chunk->input[c->done + i].path;
    client_begin_data(client, chunk->meter);
    bl_isolated_put_chunk(&client->data, chunk, c->done, items);
    if (chunk->list) { /* the process may open the files that the lines name */
        struct bl_isolated_names *names = &c->counter->names;
        const struct bl_kind_scan *scan = client_part(client)->kind->scan;
        BL_TRY(bl_isolated_names_find(names, scan, chunk, c->done, c->done + items, e));
        bl_message_put_int(&client->data, names->count);
        for (int i = 0; i < names->count; i++)
            bl_message_put_text(&client->data, bl_isolated_names_path(names, i));
    }
    int code = client_call(client, &call, loss, e);
    if (loss->lost)
        c->suspect = c->done + (loss->item < items ? loss->item : items - 1);
    c->done += loss->rows;
    return code;
}

/* Emits a row with the status skipped for an item at which the decoder crashed. */
static int counting_emit_loss(struct isolated_counting *c, const struct bl_decoder_loss *loss, struct bl_error *e)
{
    const struct bl_chunk *chunk = c->chunk;
    const struct bl_input *input = &chunk->input[chunk->list ? 0 : c->done];
    struct bl_error fault = {0};
    struct bl_row row = {
        .status = BL_ROW_SKIPPED, .stream = -1, .offset = -1, .bytes = input->bytes, .reason = fault.text};
    int code = client_report_loss(&c->counter->client, loss, input->id, &fault);
    if (code != BL_EDATA)
        return bl_error_pass(e, code, &fault);
    if (chunk->list) {
        row.offset = chunk->line[c->done].number;
        bl_error_prefix(&fault, "%s", loss->path);
    }
    code = counting_emit(c, 0, &row, e);
    c->done++;
    return code;
}

/* Returns whether all files of a chunk can be counted in this process; of a list, those that its lines name. */
static bool counting_is_here(struct isolated_counter *counter, const struct bl_chunk *chunk)
{
    const struct client *client = &counter->client;
    struct bl_error ignored = {0};
    bool here = client_part(client)->kind->decodes_file != NULL;
    for (int i = 0; i < chunk->inputs && here && !chunk->list; i++)
        here = client_reads_here(client, chunk->input[i].path);
    if (!here || !chunk->list)
        return here;
    if (bl_isolated_names_find(&counter->names, client_part(client)->kind->scan, chunk, 0, chunk->lines, &ignored))
        return false;
    for (int i = 0; i < counter->names.count && here; i++) {
        const char *path = bl_isolated_names_path(&counter->names, i);
        here = !path || client_reads_here(client, path);
    }
    return here;
}

/* Counts a chunk in this process. */
static int counting_do_here(struct isolated_counter *c, const struct bl_kind_env *env, struct bl_chunk *chunk,
                            bl_row_emit *emit, void *sink, struct bl_error *e)
{
    const struct bl_decoder_part *part = client_part(&c->client);
    if (part->kind->scan->open && !c->here)
        BL_TRY(part->kind->scan->open(part->config, env, &c->here, e));
    return part->kind->scan->count(part->config, env, c->here, chunk, emit, sink, e);
}

/* Counts the items of a chunk. After a loss it first repeats the items before the suspect, then tries the suspect once
 * more alone, and then continues with the others. So a crash costs one item, not the chunk: of the items 0 to 9,
 * with a crash at 4, the requests are 0-9, 0-3 as far as their rows are missing, 4, and 5-9. */
static int isolated_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                          struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    (void)config;
    if (counting_is_here((struct isolated_counter *)counter, chunk))
        return counting_do_here((struct isolated_counter *)counter, env, chunk, emit, sink, e);
    struct isolated_counting c = {.counter = (struct isolated_counter *)counter,
                                  .chunk = chunk,
                                  .emit = emit,
                                  .sink = sink,
                                  .items = chunk->list ? chunk->lines : chunk->inputs,
                                  .suspect = -1};
    while (c.done < c.items) {
        struct bl_decoder_loss loss;
        bool alone = c.suspect == c.done;
        int end = c.suspect < c.done ? c.items : alone ? c.done + 1 : c.suspect;
        BL_TRY(counting_call(&c, end - c.done, &loss, e));
        if (alone && loss.lost && !loss.rows)
            BL_TRY(counting_emit_loss(&c, &loss, e));
    }
    if (!chunk->fault)
        return BL_OK;
    /* The fault after the last line of a list tells why the list ends early. */
    struct bl_decoder_loss loss = {.lost = true};
    for (int tries = 0; tries < 2 && loss.lost && !loss.rows; tries++)
        BL_TRY(counting_call(&c, 0, &loss, e));
    return loss.lost && !loss.rows ? client_report_loss(&c.counter->client, &loss, chunk->input->id, e) : BL_OK;
}

/* --- idle processes ----------------------------------------------------------------------------------------------- */

/* Puts a process back, or ends it if all slots are occupied. Lock-free, because many workers call it. */
static void process_put(struct bl_isolated_part *part, struct bl_decoder_process *process,
                        const struct bl_decoder_start *start)
{
    for (int i = 0; i < BL_ISOLATION_IDLE_MAX; i++) {
        struct bl_decoder_process *none = NULL;
        if (atomic_compare_exchange_strong(&part->idle[i], &none, process))
            return;
    }
    bl_decoder_process_end(process, start);
    bl_decoder_process_free(process);
    free(process);
}

/* Lends the client an idle process, or one that is not started yet. client_put takes it back, and frees the memory of
 * the client. BL_EFAIL: out of memory. */
static int client_take(struct client *c, struct bl_error *e)
{
    struct bl_isolated_part *part = &c->env->isolation->part[c->part];
    c->idle = NULL;
    for (int i = 0; i < BL_ISOLATION_IDLE_MAX && !c->idle; i++)
        c->idle = atomic_exchange(&part->idle[i], NULL);
    if (!c->idle && (c->idle = malloc(sizeof *c->idle)))
        *c->idle = (struct bl_decoder_process)BL_DECODER_PROCESS_NONE;
    if (!c->idle)
        return bl_error_memory(e);
    c->process = *c->idle;
    return BL_OK;
}

static void client_put(struct client *c)
{
    const struct bl_decoder_start start = client_start(c);
    *c->idle = c->process;
    process_put(&c->env->isolation->part[c->part], c->idle, &start);
    bl_buffer_free(&c->data);
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

/* The callback for the answer with fields. */
static void fields_take(void *sink, struct bl_message *m)
{
    bl_isolated_get_fields(m, sink);
}

/* Has a process find the fields of a file. Without a row the options alone determine the fields, so no process is
 * needed. */
static int isolated_fields(const void *config, const struct bl_kind_env *env, const struct bl_row *row,
                           struct bl_fields *fields, struct bl_error *e)
{
    struct client c;
    client_init(&c, config, env);
    if (!row || client_reads_here(&c, row->path))
        return client_part(&c)->kind->read->fields(config, env, row, fields, e);
    struct bl_decoder_call call = {.type = BL_ISOLATED_FIELDS,
                                   .memory = -1,
                                   .path = {row->path},
                                   .paths = 1,
                                   .result = fields_take,
                                   .most = ANSWER_TEXTS + sizeof *fields,
                                   .sink = fields};
    struct bl_decoder_loss loss = {.lost = true};
    int code = BL_OK;
    BL_TRY(client_take(&c, e));
    client_begin_data(&c, NULL);
    bl_isolated_put_row(&c.data, row);
    for (int tries = 0; tries < 2 && loss.lost && !code; tries++)
        code = client_call(&c, &call, &loss, e);
    if (!code && loss.lost)
        code = client_report_loss(&c, &loss, row->id, e);
    client_put(&c);
    return code;
}

/* --- versions ----------------------------------------------------------------------------------------------------- */

/* Who takes the versions. */
struct versions {
    bl_version_emit *emit;
    void *sink;
};

/* Reads pairs of a name and a version, up to an empty name. */
static void versions_take(void *sink, struct bl_message *m)
{
    const struct versions *versions = sink;
    const char *name, *version;
    while ((name = bl_message_get_text(m)) && *name && (version = bl_message_get_text(m)))
        versions->emit(versions->sink, name, version);
    m->damaged |= !name || *name;
}

/* Asks a decoder process for the versions of its libraries. Without a fork server, as in a dry run of a repair, it
 * calls the kind in this process. */
static int isolated_versions(const void *config, const struct bl_kind_env *env, bl_version_emit *emit, void *sink,
                             struct bl_error *e)
{
    struct client c;
    struct versions versions = {emit, sink};
    client_init(&c, config, env);
    if (!c.isolation->server.pid || client_part(&c)->kind->decodes_file)
        return client_part(&c)->kind->read->versions(config, NULL, emit, sink, e);
    struct bl_decoder_call call = {.type = BL_ISOLATED_VERSIONS,
                                   .memory = -1,
                                   .most = ANSWER_TEXTS,
                                   .path = {""},
                                   .result = versions_take,
                                   .sink = &versions};
    struct bl_decoder_loss loss;
    BL_TRY(client_take(&c, e));
    client_begin_data(&c, NULL);
    int code = client_call(&c, &call, &loss, e);
    if (!code && loss.lost)
        code = bl_error_set(e, BL_EFAIL, "a decoder process ended (%s) when it was asked for versions", loss.how);
    client_put(&c);
    return code;
}

void bl_isolated_kind_release(const struct bl_isolation *isolation, struct bl_isolated_part *part)
{
    const struct bl_decoder_start start = {.server = &isolation->server};
    for (int i = 0; i < BL_ISOLATION_IDLE_MAX; i++) {
        struct bl_decoder_process *process = atomic_exchange(&part->idle[i], NULL);
        if (!process)
            continue;
        bl_decoder_process_end(process, &start);
        bl_decoder_process_free(process);
        free(process);
    }
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Returns the size of a field's steps in an answer: rounded up to a multiple of 64 bytes. */
static size_t steps_align(size_t size)
{
    return (size + 63) / 64 * 64;
}

/* Returns the offset of the steps in the shared block, or -1 if they are elsewhere and must travel with the answer. */
static int64_t request_offset(const struct bl_request *request, const uint8_t *out, size_t size)
{
    const struct bl_shared_memory *memory = request->memory;
    uintptr_t at = (uintptr_t)out, begin = memory ? (uintptr_t)memory->data : 0;
    if (!memory || at < begin || at - begin > memory->size || size > memory->size - (at - begin))
        return -1;
    return (int64_t)(at - begin);
}

/* Encodes a request for a piece. decoder_piece in decoder_loop.c reads the items in the same order. fd is the
 * descriptor of a block that the process has not mapped yet, or -1. */
static void reader_put_request(struct isolated_reader *r, const struct bl_request *request, int fd)
{
    struct bl_buffer *data = &r->client.data;
    bool reads = r->client.process.reads;
    client_begin_data(&r->client, request->meter);
    bl_isolated_put_row(data, &request->row);
    bl_message_put_int(data, request->source_start);
    bl_message_put_int(data, request->steps);
    bl_message_put_int(data, request->followed);
    bl_message_put_int(data, !reads);
    if (!reads)
        bl_isolated_put_fields(data, &r->fields);
    bl_message_put_int(data, fd < 0 ? 0 : (int64_t)request->memory->size);
    bl_message_put_int(data, request->times != NULL);
    if (request->times)
        bl_message_put_bytes(data, request->times, (size_t)request->steps * sizeof *request->times);
    for (int f = 0; f < r->fields.count; f++) {
        size_t size = (size_t)request->steps * bl_field_step_bytes(&r->fields.field[f]);
        bl_message_put_int(data, request_offset(request, request->out[f], size));
    }
}

/* The destinations of the answer to a request for a piece. */
struct piece_answer {
    const struct bl_fields *fields;
    const struct bl_request *request;
    struct bl_note *note;
};

/* Reads the answer: the note, the times, and the steps that are not in shared memory. */
static void piece_take(void *sink, struct bl_message *m)
{
    const struct piece_answer *piece = sink;
    const struct bl_request *request = piece->request;
    const char *text = bl_message_get_text(m);
    size_t times, beside, at = 0;
    const void *time = bl_message_get_bytes(m, &times);
    const uint8_t *bytes = bl_message_get_bytes(m, &beside);
    snprintf(piece->note->text, sizeof piece->note->text, "%s", text ? text : "");
    m->damaged |= request->times && times != (size_t)request->steps * sizeof *request->times;
    for (int f = 0; f < piece->fields->count && !m->damaged; f++) {
        size_t size = (size_t)request->steps * bl_field_step_bytes(&piece->fields->field[f]);
        if (request_offset(request, request->out[f], size) >= 0)
            continue;
        m->damaged = at > beside || size > beside - at;
        if (!m->damaged && size)
            memcpy(request->out[f], bytes + at, size);
        at += steps_align(size);
    }
    if (request->times && !m->damaged && times)
        memcpy(request->times, time, times);
}

/* Sends the request for a piece. The process is started first, because a new one needs the fields and the block again.
 * The answer may have the times and the steps that are not in shared memory, and nothing larger. */
static int reader_call(struct isolated_reader *r, const struct bl_request *request, struct bl_note *note,
                       struct bl_decoder_loss *loss, struct bl_error *e)
{
    struct piece_answer piece = {.fields = &r->fields, .request = request, .note = note};
    struct client *c = &r->client;
    struct bl_decoder_start start = client_start(c);
    BL_TRY(bl_decoder_process_start(&c->process, &start, e));
    bool is_new = request->memory && c->process.block != request->memory->fd;
    size_t most = ANSWER_TEXTS + (request->times ? (size_t)request->steps * sizeof *request->times : 0);
    for (int f = 0; f < r->fields.count; f++) {
        size_t size = (size_t)request->steps * bl_field_step_bytes(&r->fields.field[f]);
        most += request_offset(request, request->out[f], size) < 0 ? steps_align(size) : 0;
    }
    struct bl_decoder_call call = {.type = BL_ISOLATED_PIECE,
                                   .memory = is_new ? request->memory->fd : -1,
                                   .path = {request->row.path},
                                   .paths = 1,
                                   .meter = request->meter,
                                   .result = piece_take,
                                   .most = most < BL_MESSAGE_MAX ? most : BL_MESSAGE_MAX,
                                   .sink = &piece};
    reader_put_request(r, request, call.memory);
    c->process.reads = true;
    if (is_new)
        c->process.block = request->memory->fd;
    return client_call(c, &call, loss, e);
}

/* Reads a piece, in a second process if the first one is lost. */
static int isolated_reader_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                                 struct bl_error *e)
{
    struct isolated_reader *r = (struct isolated_reader *)reader;
    const struct bl_decoder_part *part = client_part(&r->client);
    struct bl_decoder_loss loss = {.lost = true};
    if (client_reads_here(&r->client, request->row.path)) {
        if (!r->here)
            BL_TRY(part->kind->read->open(part->config, r->client.env, &r->fields, &r->here, e));
        return r->here->piece(r->here, request, note, e);
    }
    for (int tries = 0; tries < 2 && loss.lost; tries++)
        BL_TRY(reader_call(r, request, note, &loss, e));
    return loss.lost ? client_report_loss(&r->client, &loss, request->row.id, e) : BL_OK;
}

static void isolated_reader_close(struct bl_reader *reader)
{
    struct isolated_reader *r = (struct isolated_reader *)reader;
    if (r->here)
        r->here->close(r->here);
    client_free(&r->client);
    free(r);
}

/* Makes a reader. Its process starts at the first piece, and opens the kind's own reader. */
static int isolated_reader_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                                struct bl_reader **reader, struct bl_error *e)
{
    struct isolated_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    r->base = (struct bl_reader){isolated_reader_piece, isolated_reader_close};
    client_init(&r->client, config, env);
    r->fields = *fields;
    *reader = &r->base;
    return BL_OK;
}

/* --- kind --------------------------------------------------------------------------------------------------------- */

/* The replacement has the names and options of the kind, but its functions call a process. */

void bl_isolated_kind_make(struct bl_isolated_part *part, const struct bl_kind *kind)
{
    part->kind = *kind;
    part->scan = *kind->scan;
    part->scan.open = isolated_counter_open;
    part->scan.count = isolated_count;
    /* A kind that reads some files in this process gets each by itself. */
    part->scan.inputs_max = kind->scan->chunk_bytes || kind->decodes_file ? 0 : BL_ISOLATED_FILES;
    part->read = *kind->read;
    part->read.fields = isolated_fields;
    part->read.open = isolated_reader_open;
    part->read.versions = isolated_versions;
    part->kind.scan = &part->scan;
    part->kind.read = &part->read;
}
