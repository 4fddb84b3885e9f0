/* Clips that the ffmpeg command makes, once for all tests of a program, which run in their directory; and the shared
 * media. */
#ifndef BL_CLIPS_H
#define BL_CLIPS_H

#include <limits.h>

#include "unit.h"

static char clips[64];                 /* the directory; "" where there is no ffmpeg */
static char media_directory[PATH_MAX]; /* "" where there are no shared media */

static inline void shell(const char *command)
{
    ck_assert_msg(system(command) == 0, "%s", command);
}

/* Goes to a new directory for clips; false where there is no ffmpeg. */
static inline bool clips_enter(void)
{
    const char *shared = getenv("BLOAD_SHARED");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/data/media", shared ? shared : "../shared");
    if (!realpath(path, media_directory))
        *media_directory = 0;
    if (system("command -v ffmpeg >/dev/null 2>&1") != 0)
        return false;
    unit_enter(clips);
    return true;
}

static inline void clips_leave(void)
{
    if (*clips)
        unit_leave(clips);
}

/* A test of clips: it is skipped where there are none. */
#define CLIPS_TEST(name)                                                                                               \
    static void name##_of_clips(struct bl_error e);                                                                    \
    UNIT_TEST(name)                                                                                                    \
    {                                                                                                                  \
        if (*clips)                                                                                                    \
            name##_of_clips(e);                                                                                        \
        else                                                                                                           \
            unit_skip("no ffmpeg command");                                                                            \
    }                                                                                                                  \
    static void name##_of_clips(struct bl_error e CK_ATTRIBUTE_UNUSED)

#endif
