#include "base/member.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"

#define MARK ".tar@"

/* Reads a number up to the character that ends it, and goes past that. */
static bool member_read_number(const char **at, char end, int64_t *number)
{
    size_t digits = strspn(*at, "0123456789");
    if (!digits || (*at)[digits] != end || !bl_text_to_int(*at, digits, 0, INT64_MAX / 2, number))
        return false;
    *at += digits + 1;
    return true;
}

bool bl_member_parse(const char *path, struct bl_member *member)
{
    for (const char *mark = path; (mark = strstr(mark, MARK)); mark++) {
        const char *at = mark + strlen(MARK);
        if (member_read_number(&at, '+', &member->begin) && member_read_number(&at, '/', &member->bytes) && *at) {
            member->tar = (size_t)(mark - path) + strlen(MARK) - 1;
            member->name = at;
            return true;
        }
    }
    return false;
}

const char *bl_member_file(const char *path, char buffer[PATH_MAX])
{
    struct bl_member member;
    if (!bl_member_parse(path, &member))
        return path;
    if (member.tar >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    memcpy(buffer, path, member.tar);
    buffer[member.tar] = '\0';
    return buffer;
}

void bl_member_append(struct bl_buffer *out, const char *tar, int64_t begin, int64_t bytes, const char *name)
{
    bl_buffer_printf(out, "%s@%" PRId64 "+%" PRId64 "/%s", tar, begin, bytes, name);
}

size_t bl_member_key(const char *name)
{
    const char *last = bl_path_name(name), *dot = strchr(last, '.');
    return dot && dot > last && dot[1] ? (size_t)(dot - name) : 0;
}
