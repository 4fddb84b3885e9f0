/* Messages between processes: what is put is what is got, whatever it is; a damaged one is noticed. */
#include "kind/isolated/messages.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "unit.h"

static struct bl_message received(int socket)
{
    struct bl_message m = {.fd = BL_MESSAGE_FDS_NONE};
    ck_assert_int_eq(bl_message_receive(socket, &m), BL_RECEIVED);
    return m;
}

UNIT_TEST(items_come_back_in_order)
{
    int ends[2];
    size_t size;
    struct bl_buffer data = {0};
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    bl_message_put_int(&data, -7);
    bl_message_put_text(&data, "a text");
    bl_message_put_text(&data, NULL);
    bl_message_put_text(&data, "");
    bl_message_put_double(&data, 0.1);
    bl_message_put_bytes(&data, "\0\1\2", 3);
    bl_message_put_bytes(&data, NULL, 0);
    ck_assert(bl_message_send(ends[0], 5, &data, NULL));
    ck_assert(bl_message_send(ends[0], 6, NULL, NULL));
    OWNED(bl_message_free) struct bl_message m = received(ends[1]);
    ck_assert_int_eq(m.type, 5);
    ck_assert_int_eq(bl_message_get_int(&m), -7);
    ck_assert_str_eq(bl_message_get_text(&m), "a text");
    ck_assert_ptr_null(bl_message_get_text(&m));
    ck_assert_str_eq(bl_message_get_text(&m), "");
    ck_assert(bl_message_get_double(&m) == 0.1);
    const char *bytes = bl_message_get_bytes(&m, &size);
    ck_assert_uint_eq(size, 3);
    ck_assert_int_eq(memcmp(bytes, "\0\1\2", 3), 0);
    ck_assert_uint_eq((uintptr_t)bytes % 8, 0);
    (void)bl_message_get_bytes(&m, &size);
    ck_assert_uint_eq(size, 0);
    ck_assert(!m.damaged);
    (void)bl_message_get_int(&m);
    ck_assert(m.damaged);
    ck_assert_int_eq(bl_message_receive(ends[1], &m), BL_RECEIVED);
    ck_assert_int_eq(m.type, 6);
    ck_assert_uint_eq(m.end, m.at);
    bl_message_free(&m);
    bl_buffer_free(&data);
    close(ends[0]);
    ck_assert_int_eq(bl_message_receive(ends[1], &m), BL_RECEIVED_END);
    close(ends[1]);
}

UNIT_TEST(descriptors_travel_at_their_places)
{
    int ends[2], pipe_ends[2];
    char byte = 0;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert_int_eq(pipe(pipe_ends), 0);
    int one[BL_MESSAGE_FDS] = BL_MESSAGE_FDS_NONE, two[BL_MESSAGE_FDS] = BL_MESSAGE_FDS_NONE;
    one[1] = two[BL_MESSAGE_FDS - 1] = pipe_ends[1];
    two[0] = pipe_ends[0];
    ck_assert(bl_message_send(ends[0], 1, NULL, one));
    ck_assert(bl_message_send(ends[0], 2, NULL, two));
    struct bl_message m = received(ends[1]);
    ck_assert_int_eq(m.fd[0], -1);
    ck_assert_int_eq(fcntl(m.fd[1], F_GETFD), FD_CLOEXEC);
    ck_assert_int_eq(write(m.fd[1], "x", 1), 1);
    ck_assert_int_eq(read(pipe_ends[0], &byte, 1), 1);
    ck_assert_int_eq(byte, 'x');
    int first = m.fd[1];
    ck_assert_int_eq(bl_message_receive(ends[1], &m), BL_RECEIVED); /* closes what was not taken */
    ck_assert_int_ge(m.fd[0], 0);
    ck_assert_int_ge(m.fd[BL_MESSAGE_FDS - 1], 0);
    ck_assert(m.fd[0] == first || fcntl(first, F_GETFD) < 0 || m.fd[BL_MESSAGE_FDS - 1] == first);
    bl_message_free(&m);
    for (int i = 0; i < 2; i++) {
        close(ends[i]);
        close(pipe_ends[i]);
    }
}

/* More than a socket holds, while the other side reads. */
UNIT_TEST(large_messages_arrive_whole)
{
    enum { SIZE = 5 << 20 };
    int ends[2];
    size_t size;
    OWNED(bl_buffer_free) struct bl_buffer data = {0};
    FREED uint8_t *bytes = malloc(SIZE);
    ck_assert_ptr_nonnull(bytes);
    for (int i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    bl_message_put_bytes(&data, bytes, SIZE);
    pid_t pid = fork();
    if (pid == 0)
        _exit(bl_message_send(ends[0], 3, &data, NULL) ? 0 : 1);
    OWNED(bl_message_free) struct bl_message m = received(ends[1]);
    const void *got = bl_message_get_bytes(&m, &size);
    ck_assert_uint_eq(size, SIZE);
    ck_assert_int_eq(memcmp(got, bytes, SIZE), 0);
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    close(ends[0]);
    close(ends[1]);
}

/* Whatever bytes a taken-over process sends: nothing outside the message is read. */
UNIT_TEST(damaged_messages_are_noticed)
{
    for (int cut = 0; cut < 64; cut++) {
        OWNED(bl_message_free) struct bl_message m = {.fd = BL_MESSAGE_FDS_NONE};
        size_t size;
        bl_message_put_int(&m.data, cut % 3 ? cut : -cut);
        bl_message_put_text(&m.data, "0123456789");
        m.end = m.data.size < (size_t)cut ? m.data.size : m.data.size - (size_t)cut;
        const void *bytes = bl_message_get_bytes(&m, &size);
        ck_assert(bytes ? size <= m.data.size : size == 0);
        (void)bl_message_get_text(&m);
        (void)bl_message_get_text(&m);
        ck_assert(m.damaged || cut == 0);
    }
    OWNED(bl_message_free) struct bl_message m = {.fd = BL_MESSAGE_FDS_NONE};
    bl_message_put_bytes(&m.data, "no end", 6); /* of the text */
    m.end = m.data.size;
    ck_assert_ptr_null(bl_message_get_text(&m));
    ck_assert(m.damaged);
}

/* Several in one call, and one in several calls, between which nothing is lost. */
UNIT_TEST(messages_come_together_or_in_parts)
{
    int ends[2];
    OWNED(bl_buffer_free) struct bl_buffer data = {0}, queue = {0};
    OWNED(bl_message_free) struct bl_message m = {.fd = BL_MESSAGE_FDS_NONE};
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    for (int i = 0; i < 3; i++) {
        bl_buffer_clear(&data);
        bl_message_put_int(&data, i);
        bl_message_append(&queue, i, &data);
    }
    for (size_t at = 0; at < queue.size; at += 7) {
        ck_assert_int_eq(bl_message_receive(ends[1], &m), BL_RECEIVED_NOTHING);
        ck_assert_int_gt(write(ends[0], queue.data + at, at + 7 < 24 ? 7 : queue.size - at), 0);
        if (at + 7 >= 24)
            break;
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(bl_message_receive(ends[1], &m), BL_RECEIVED);
        ck_assert_int_eq(m.type, i);
        ck_assert_int_eq(bl_message_get_int(&m), i);
        ck_assert(!m.damaged);
    }
    ck_assert_int_eq(bl_message_receive(ends[1], &m), BL_RECEIVED_NOTHING);
    ck_assert(bl_message_flush(ends[0], &queue));
    ck_assert_uint_eq(queue.size, 0);
    ck_assert_int_eq(bl_message_receive(ends[1], &m), BL_RECEIVED);
    ck_assert_int_eq(m.type, 0);
    close(ends[0]);
    close(ends[1]);
}

UNIT_TEST(a_receiver_that_is_gone_is_an_error)
{
    int ends[2];
    OWNED(bl_buffer_free) struct bl_buffer data = {0};
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    close(ends[1]);
    bl_message_put_int(&data, 1);
    ck_assert(!bl_message_send(ends[0], 1, &data, NULL));
    ck_assert_int_eq(errno, EPIPE);
    close(ends[0]);
}
