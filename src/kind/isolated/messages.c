/* Messages over a socket, and the encoding of the structs that they carry.
 *
 * A message is a header of 16 bytes and its items, each of which has a multiple of 8 bytes: a number has 8 bytes, and
 * bytes have their size, themselves, and zeros. The text "ab", for example, is the size 3 in 8 bytes, and "ab\0" with
 * five zeros. Both ends run the same program, so that numbers have the byte order and structs the layout of this
 * machine. */
#include "kind/isolated/messages.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- items -------------------------------------------------------------------------------------------------------- */

#define ALIGN 8 /* bytes: every item has a multiple, so that a number or an array can be used where it lies */

/* The beginning of a message; the items follow. */
struct header {
    int32_t type;
    int32_t fds;   /* bit i: fd[i] is sent */
    uint64_t size; /* bytes of the items */
};

/* Room for the descriptors of a message, aligned as the kernel needs it. */
union control {
    struct cmsghdr header;
    char space[CMSG_SPACE(BL_MESSAGE_FDS * sizeof(int))];
};

void bl_message_put_int(struct bl_buffer *out, int64_t value)
{
    bl_buffer_append(out, &value, sizeof value);
}

void bl_message_put_double(struct bl_buffer *out, double value)
{
    bl_buffer_append(out, &value, sizeof value);
}

/* The size comes first, then the bytes, then zeros up to the next multiple of ALIGN. */
void bl_message_put_bytes(struct bl_buffer *out, const void *data, size_t size)
{
    static const char zeros[ALIGN];
    bl_message_put_int(out, (int64_t)size);
    if (size)
        bl_buffer_append(out, data, size);
    bl_buffer_append(out, zeros, (ALIGN - size % ALIGN) % ALIGN);
}

/* Includes the zero byte, so that the receiver can use the text in place. NULL has no bytes. */
void bl_message_put_text(struct bl_buffer *out, const char *text)
{
    bl_message_put_bytes(out, text, text ? strlen(text) + 1 : 0);
}

/* Returns the next size bytes, and skips them with their padding. Returns NULL, and marks the message as damaged, if
 * the message is shorter. */
static const void *message_take(struct bl_message *m, size_t size)
{
    size_t whole = size + (ALIGN - size % ALIGN) % ALIGN;
    m->damaged |= whole < size || whole > m->end - m->at;
    if (m->damaged)
        return NULL;
    const void *item = m->data.data + m->at;
    m->at += whole;
    return item;
}

int64_t bl_message_get_int(struct bl_message *m)
{
    int64_t value = 0;
    const void *item = message_take(m, sizeof value);
    if (item)
        memcpy(&value, item, sizeof value);
    return value;
}

double bl_message_get_double(struct bl_message *m)
{
    double value = 0;
    const void *item = message_take(m, sizeof value);
    if (item)
        memcpy(&value, item, sizeof value);
    return value;
}

const void *bl_message_get_bytes(struct bl_message *m, size_t *size)
{
    *size = (size_t)bl_message_get_int(m);
    const void *item = *size ? message_take(m, *size) : NULL;
    if (!item)
        *size = 0;
    return item;
}

/* The text must end with its zero byte, or the caller would read beyond the message. */
const char *bl_message_get_text(struct bl_message *m)
{
    size_t size;
    const char *text = bl_message_get_bytes(m, &size);
    if (text && text[size - 1] != '\0') {
        m->damaged = true;
        text = NULL;
    }
    return text;
}

/* Closes the descriptors that are there, and sets all to -1. */
static void fds_close(int *fd, int count)
{
    for (int i = 0; i < count; i++) {
        if (fd[i] >= 0)
            close(fd[i]);
        fd[i] = -1;
    }
}

void bl_message_reset(struct bl_message *m)
{
    fds_close(m->fd, BL_MESSAGE_FDS);
    bl_buffer_clear(&m->data);
    m->at = m->end = 0;
}

void bl_message_free(struct bl_message *m)
{
    bl_message_reset(m);
    bl_buffer_free(&m->data);
}

/* --- sending ------------------------------------------------------------------------------------------------------ */

/* Sends all bytes, in as many calls as it takes. Returns false, with errno, if the receiver is gone. */
static bool message_send_rest(int socket, const char *data, size_t size)
{
    while (size) {
        ssize_t sent = send(socket, data, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return false;
        if (sent > 0) {
            data += sent;
            size -= (size_t)sent;
        }
    }
    return true;
}

/* Attaches the descriptors to *m, and returns the bits of header.fds. control must stay valid until *m is sent. */
static int32_t message_attach(struct msghdr *m, union control *control, const int *fd)
{
    int list[BL_MESSAGE_FDS], count = 0;
    int32_t which = 0;
    for (int i = 0; fd && i < BL_MESSAGE_FDS; i++) {
        if (fd[i] < 0)
            continue;
        list[count++] = fd[i];
        which |= 1 << i;
    }
    if (!count)
        return 0;
    *control = (union control){0};
    m->msg_control = control;
    m->msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(m);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    memcpy(CMSG_DATA(header), list, (size_t)count * sizeof(int));
    return which;
}

/* Header and items go out in one call in most cases. The descriptors go with the first byte, so the rest of a message
 * that did not fit has none. */
bool bl_message_send(int socket, int type, const struct bl_buffer *data, const int *fd)
{
    struct header header = {.type = type, .size = data ? data->size : 0};
    struct iovec part[2] = {{&header, sizeof header}, {data ? data->data : NULL, header.size}};
    struct msghdr m = {.msg_iov = part, .msg_iovlen = header.size ? 2 : 1};
    union control control;
    ssize_t sent;
    header.fds = message_attach(&m, &control, fd);
    do
        sent = sendmsg(socket, &m, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return false;
    size_t done = (size_t)sent;
    if (done < sizeof header) {
        if (!message_send_rest(socket, (const char *)&header + done, sizeof header - done))
            return false;
        done = sizeof header;
    }
    done -= sizeof header;
    return done == header.size || message_send_rest(socket, data->data + done, header.size - done);
}

/* The queue has the same bytes as the messages would have on the socket. It can carry no descriptors. */
void bl_message_append(struct bl_buffer *queue, int type, const struct bl_buffer *data)
{
    struct header header = {.type = type, .size = data->size};
    queue->failed |= data->failed;
    bl_buffer_append(queue, &header, sizeof header);
    bl_buffer_append(queue, data->data, data->size);
}

bool bl_message_flush(int socket, struct bl_buffer *queue)
{
    bool sent = !queue->failed && message_send_rest(socket, queue->data, queue->size);
    bl_buffer_clear(queue);
    return sent;
}

/* --- receiving ---------------------------------------------------------------------------------------------------- */

#define AHEAD ((size_t)4096)   /* the least number of bytes to receive at once: most messages need one call */
#define STEP ((size_t)1 << 20) /* the largest: memory grows with the bytes that arrive, not with the claimed size */

/* Receives up to max(missing, AHEAD) bytes, but no more than STEP, and the descriptors that come with them. */
static enum bl_received message_receive_some(int socket, struct bl_message *message, size_t missing)
{
    struct bl_buffer *data = &message->data;
    union control control;
    struct iovec part = {.iov_len = missing > STEP ? STEP : missing > AHEAD ? missing : AHEAD};
    /* CMSG_SPACE may have room for one more descriptor than fd; the length has not, so the kernel delivers no more. */
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = CMSG_LEN(BL_MESSAGE_FDS * sizeof(int))};
    if (!bl_buffer_reserve(data, part.iov_len)) {
        errno = ENOMEM;
        return BL_RECEIVED_FAILED;
    }
    part.iov_base = data->data + data->size;
    ssize_t got = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return BL_RECEIVED_NOTHING;
    if (got == 0 || (got < 0 && errno == ECONNRESET))
        return BL_RECEIVED_END;
    if (got < 0)
        return BL_RECEIVED_FAILED;
    data->size += (size_t)got;
    /* The descriptors that came with these bytes belong to the current message, because a sender that passes
     * descriptors waits for the answer before it sends the next message. */
    struct cmsghdr *header = CMSG_FIRSTHDR(&m);
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
        return BL_RECEIVED;
    int count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    fds_close(message->fd, count);
    memcpy(message->fd, CMSG_DATA(header), (size_t)count * sizeof(int));
    return m.msg_flags & MSG_CTRUNC ? BL_RECEIVED_DAMAGED : BL_RECEIVED; /* cut: some descriptors had no room */
}

enum bl_received bl_message_receive(int socket, struct bl_message *message)
{
    struct header header;
    struct bl_buffer *data = &message->data;
    if (message->end) { /* drop the previous message, and keep the bytes of later ones that arrived with it */
        fds_close(message->fd, BL_MESSAGE_FDS);
        memmove(data->data, data->data + message->end, data->size - message->end);
    }
    data->size -= message->end;
    message->at = message->end = 0;
    message->damaged = false;
    for (size_t missing = sizeof header;;) {
        if (data->size >= sizeof header) {
            memcpy(&header, data->data, sizeof header);
            if (header.size > (message->most ? message->most : BL_MESSAGE_MAX))
                return BL_RECEIVED_DAMAGED;
            missing = sizeof header + header.size > data->size ? sizeof header + header.size - data->size : 0;
        }
        if (!missing)
            break;
        enum bl_received received = message_receive_some(socket, message, missing);
        if (received != BL_RECEIVED)
            return received;
    }
    message->type = header.type;
    message->at = sizeof header;
    message->end = sizeof header + header.size;
    /* The received descriptors are the first ones of fd. They move to the places that the bits of header.fds name;
     * those that it does not name are closed. */
    int list[BL_MESSAGE_FDS], taken = 0;
    memcpy(list, message->fd, sizeof list);
    for (int i = 0; i < BL_MESSAGE_FDS; i++)
        message->fd[i] = header.fds >> i & 1 ? list[taken++] : -1;
    fds_close(list + taken, BL_MESSAGE_FDS - taken);
    return BL_RECEIVED;
}

/* --- requests and answers ----------------------------------------------------------------------------------------- */

#define STEP_BYTES_MAX (INT64_C(1) << 40) /* as in kind/row.h */

void bl_isolated_put_row(struct bl_buffer *out, const struct bl_row *row)
{
    const char *text[] = {row->id,    row->kind,     row->path,    row->reason, row->sampling, row->form,
                          row->start, row->duration, row->channel, row->extra,  row->columns,  row->clip_seek};
    const int64_t number[] = {row->length, row->bytes,  (int64_t)row->content, row->status,
                              row->stream, row->offset, row->clip_begin,       row->clip_end};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        bl_message_put_text(out, text[i]);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        bl_message_put_int(out, number[i]);
    bl_message_put_double(out, row->origin);
    bl_message_put_bytes(out, row->times, row->times ? (size_t)row->length * sizeof *row->times : 0);
}

/* Texts and times stay in the message. A row with an impossible length, status or number of times is damage. */
void bl_isolated_get_row(struct bl_message *m, struct bl_row *row)
{
    const char **text[] = {&row->id,    &row->kind,     &row->path,    &row->reason, &row->sampling, &row->form,
                           &row->start, &row->duration, &row->channel, &row->extra,  &row->columns,  &row->clip_seek};
    size_t times;
    *row = (struct bl_row){0};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        *text[i] = bl_message_get_text(m);
    row->length = bl_message_get_int(m);
    row->bytes = bl_message_get_int(m);
    row->content = (uint64_t)bl_message_get_int(m);
    row->status = (enum bl_row_status)bl_message_get_int(m);
    row->stream = (int)bl_message_get_int(m);
    row->offset = bl_message_get_int(m);
    row->clip_begin = bl_message_get_int(m);
    row->clip_end = bl_message_get_int(m);
    row->origin = bl_message_get_double(m);
    row->times = bl_message_get_bytes(m, &times);
    m->damaged |= row->length < 0 || row->status > BL_ROW_FAILED;
    m->damaged |= times % sizeof *row->times != 0 || (times && times / sizeof *row->times != (size_t)row->length);
}

/* Encodes an input of a chunk. The process gets the path for messages; it cannot open the file by it. */
static void chunk_put_input(struct bl_buffer *out, const struct bl_input *input)
{
    bl_message_put_text(out, input->path);
    bl_message_put_text(out, input->name);
    bl_message_put_text(out, input->id);
    bl_message_put_int(out, input->bytes);
    bl_message_put_int(out, input->modified);
    bl_message_put_int(out, (int64_t)input->content);
}

static void chunk_put_line(struct bl_buffer *out, const struct bl_line *line)
{
    bl_message_put_int(out, line->number);
    bl_message_put_int(out, line->unusable);
    bl_message_put_bytes(out, line->text, line->size);
}

/* The order of the items is that of bl_isolated_get_chunk. */
void bl_isolated_put_chunk(struct bl_buffer *out, const struct bl_chunk *chunk, int first, int count)
{
    bl_message_put_text(out, chunk->base);
    bl_message_put_int(out, chunk->begin);
    bl_message_put_int(out, chunk->end);
    bl_message_put_int(out, chunk->times);
    bl_message_put_int(out, chunk->followed != NULL);
    if (chunk->followed)
        bl_isolated_put_row(out, chunk->followed);
    bl_message_put_int(out, chunk->list);
    bl_message_put_int(out, chunk->clips);
    bl_message_put_text(out, count ? NULL : chunk->fault);
    bl_message_put_int(out, count);
    if (chunk->list)
        chunk_put_input(out, chunk->input);
    for (int i = first; i < first + count; i++) {
        if (chunk->list)
            chunk_put_line(out, &chunk->line[i]);
        else
            chunk_put_input(out, &chunk->input[i]);
    }
}

/* Decodes an input. An input without a path is damage. */
static void chunk_get_input(struct bl_message *m, struct bl_input *input)
{
    *input = (struct bl_input){.path = bl_message_get_text(m)};
    input->name = bl_message_get_text(m);
    input->id = bl_message_get_text(m);
    input->bytes = bl_message_get_int(m);
    input->modified = bl_message_get_int(m);
    input->content = (uint64_t)bl_message_get_int(m);
    m->damaged |= !input->path;
}

/* Decodes the lines of a list. Their texts stay in the message. BL_EFAIL: out of memory. */
static int chunk_get_lines(struct bl_message *m, struct bl_isolated_chunk *out, int64_t lines, struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESERVE(out->line, out->capacity, (size_t)lines + 1, e));
    for (int64_t i = 0; i < lines && !m->damaged; i++) {
        struct bl_line *line = &out->line[i];
        line->number = bl_message_get_int(m);
        line->unusable = bl_message_get_int(m) != 0;
        const char *text = bl_message_get_bytes(m, &line->size);
        line->text = text ? text : "";
    }
    out->chunk.line = out->line;
    out->chunk.lines = (int)lines;
    return BL_OK;
}

/* A list has one input, the list itself, and any number of lines. */
int bl_isolated_get_chunk(struct bl_message *m, struct bl_isolated_chunk *out, struct bl_error *e)
{
    struct bl_chunk *chunk = &out->chunk;
    *chunk = (struct bl_chunk){.input = out->input, .inputs = 1, .base = bl_message_get_text(m)};
    chunk->begin = bl_message_get_int(m);
    chunk->end = bl_message_get_int(m);
    chunk->times = bl_message_get_int(m) != 0;
    if (bl_message_get_int(m)) {
        bl_isolated_get_row(m, &out->followed);
        chunk->followed = &out->followed;
    }
    chunk->list = bl_message_get_int(m) != 0;
    chunk->clips = bl_message_get_int(m) != 0;
    chunk->fault = bl_message_get_text(m);
    int64_t count = bl_message_get_int(m);
    m->damaged |= count < !chunk->list || count > (chunk->list ? INT32_MAX : BL_ISOLATED_FILES);
    if (m->damaged)
        return BL_OK;
    chunk->inputs = chunk->list ? 1 : (int)count;
    for (int i = 0; i < chunk->inputs; i++)
        chunk_get_input(m, &out->input[i]);
    return chunk->list && !m->damaged ? chunk_get_lines(m, out, count, e) : BL_OK;
}

void bl_isolated_put_fields(struct bl_buffer *out, const struct bl_fields *fields)
{
    bl_message_put_bytes(out, fields, sizeof *fields);
}

/* Returns whether the size of a step is positive and does not overflow. */
static bool field_has_size(const struct bl_field *field)
{
    int64_t bytes = (int64_t)bl_dtype_size(field->dtype);
    for (int i = 0; i < field->rank; i++) {
        if (field->shape[i] < 1 || field->shape[i] > STEP_BYTES_MAX / bytes)
            return false;
        bytes *= field->shape[i];
    }
    return true;
}

/* The struct travels as its bytes, since both ends are the same program; every member is checked before it is used. */
void bl_isolated_get_fields(struct bl_message *m, struct bl_fields *fields)
{
    size_t size;
    const void *bytes = bl_message_get_bytes(m, &size);
    m->damaged |= size != sizeof *fields;
    *fields = (struct bl_fields){0};
    if (m->damaged)
        return;
    memcpy(fields, bytes, sizeof *fields);
    m->damaged |= fields->count < 0 || fields->count > BL_FIELDS_MAX;
    for (int f = 0; f < fields->count && !m->damaged; f++) {
        struct bl_field *field = &fields->field[f];
        m->damaged |= field->rank < 0 || field->rank > BL_FIELD_RANK_MAX || field->dtype > BL_F64;
        m->damaged |= !m->damaged && !field_has_size(field);
        field->name[sizeof field->name - 1] = field->kind[sizeof field->kind - 1] = '\0';
        field->own = field->flat = false; /* own fields are read in this process */
        field->capacity = 0;
    }
}
