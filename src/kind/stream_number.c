#include "kind/stream_number.h"

#include <string.h>

#include "base/text.h"

#define STREAMS_MAX 1000000

static bool stream_number_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    int64_t number = -1;
    bool best = strcmp(text, "best") == 0;
    if (!best && !bl_text_to_int(text, strlen(text), 0, STREAMS_MAX, &number))
        return false;
    *(int *)value = (int)number + 1;
    return true;
}

static void stream_number_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    int number = *(const int *)value;
    if (number)
        bl_buffer_printf(out, "%d", number - 1);
    else
        bl_buffer_text(out, "best");
}

const struct bl_option_type bl_option_stream_number = {"N|best", stream_number_parse, stream_number_format,
                                                       "best, or the number of a stream, from 0"};
