#include "kind/media/allowlist.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

#include "unit.h"

#define TEXT_MAX 65536

/* Sets text to the section or subsection of the manual page under a heading: ".Sh VIDEO CODECS". */
static void section(const char *heading, char text[TEXT_MAX])
{
    static char page[TEXT_MAX];
    FILE *file = fopen("man/bload-media.7", "r");
    ck_assert_ptr_nonnull(file);
    size_t size = fread(page, 1, sizeof page - 1, file);
    fclose(file);
    ck_assert_uint_lt(size, sizeof page - 1);
    page[size] = '\0';
    char *begin = strstr(page, heading);
    ck_assert_msg(begin, "man/bload-media.7 lacks %s", heading);
    char *end = strstr(begin + 1, "\n.S");
    snprintf(text, TEXT_MAX, "%.*s", end ? (int)(end - begin) : (int)strlen(begin), begin);
}

/* Appends the words of the section's lines ".Cm a , b" and ".It Cm a , b" to a list: "a,b". */
static void named(const char *heading, char list[TEXT_MAX])
{
    char text[TEXT_MAX], *rest = text;
    section(heading, text);
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *words = strncmp(line, ".Cm ", 4) == 0 ? line + 4 : strncmp(line, ".It Cm ", 7) == 0 ? line + 7 : NULL;
        for (char *word; words && (word = strsep(&words, " "));) {
            if (strcmp(word, ",") == 0)
                continue;
            ck_assert_uint_lt(strlen(list) + strlen(word) + 2, TEXT_MAX);
            strcat(list, *list ? "," : "");
            strcat(list, word);
        }
    }
}

/* That every name of one list is in the other, once. */
static void assert_within(const char *what, const char *list, const char *other)
{
    char copy[TEXT_MAX], *rest = copy;
    snprintf(copy, sizeof copy, "%s", list);
    for (char *name; (name = strsep(&rest, ","));) {
        ck_assert_msg(bl_allowlist_has(other, name), "%s: %s", what, name);
        ck_assert_msg(!rest || !bl_allowlist_has(rest, name), "twice: %s", name);
    }
}

UNIT_TEST(the_page_has_the_same_lists)
{
    const struct {
        const char *heading[2], *list;
    } lists[] = {{{".Ss Videos and sounds\n", ".Ss Videos\n"}, bl_allowlist_video.containers},
                 {{".Ss Videos and sounds\n", ".Ss Sounds\n"}, bl_allowlist_audio.containers},
                 {{".Sh VIDEO CODECS\n"}, bl_allowlist_video.decoders},
                 {{".Sh AUDIO CODECS\n"}, bl_allowlist_audio.decoders}};
    for (size_t i = 0; i < COUNT(lists); i++) {
        char page[TEXT_MAX] = "";
        for (int k = 0; k < 2 && lists[i].heading[k]; k++)
            named(lists[i].heading[k], page);
        assert_within("not read, but on the page", page, lists[i].list);
        assert_within("read, but not on the page", lists[i].list, page);
    }
}

/* Decoders that a later FFmpeg has no more. */
static bool is_gone(const char *name)
{
    static const struct {
        const char *name;
        unsigned major;
    } gone[] = {{"ayuv", 61}, {"v308", 63}, {"v408", 63}, {"v410", 63}};
    for (size_t i = 0; i < COUNT(gone); i++) {
        if (strcmp(name, gone[i].name) == 0)
            return avcodec_version() >> 16 >= gone[i].major;
    }
    return false;
}

/* FFmpeg would take a name that is spelled wrong for one that never comes. */
UNIT_TEST(every_name_is_ffmpegs)
{
    const struct bl_allowlist *const of[] = {&bl_allowlist_video, &bl_allowlist_audio};
    for (int k = 0; k < 2; k++) {
        char copy[TEXT_MAX], *rest = copy;
        snprintf(copy, sizeof copy, "%s", of[k]->containers);
        for (char *name; (name = strsep(&rest, ","));)
            ck_assert_msg(av_find_input_format(name), "no container %s", name);
        snprintf(copy, sizeof copy, "%s", of[k]->decoders);
        rest = copy;
        for (char *name; (name = strsep(&rest, ","));) {
            const AVCodec *decoder = avcodec_find_decoder_by_name(name);
            if (!decoder && is_gone(name))
                continue;
            ck_assert_msg(decoder, "no decoder %s", name);
            ck_assert_msg(decoder->type == (k ? AVMEDIA_TYPE_AUDIO : AVMEDIA_TYPE_VIDEO), "%s is of another kind",
                          name);
        }
    }
}

/* Those that open other files, by whatever way. */
UNIT_TEST(what_opens_files_is_not_there)
{
    static const char *const names[] = {"vobsub", "concat", "hls",  "dash", "imf",   "image2", "image2pipe",
                                        "sdp",    "rtsp",   "rtp",  "sap",  "mlv",   "lavfi",  "webm_dash_manifest",
                                        "tty",    "libgme", "data", "srt",  "webvtt"};
    for (size_t i = 0; i < COUNT(names); i++) {
        ck_assert(!bl_allowlist_has(bl_allowlist_video.containers, names[i]));
        ck_assert(!bl_allowlist_has(bl_allowlist_audio.containers, names[i]));
    }
    ck_assert(!bl_allowlist_has(bl_allowlist_decoders, "librsvg"));
    ck_assert(!bl_allowlist_has(bl_allowlist_decoders, "srt"));
    ck_assert(bl_allowlist_has(bl_allowlist_video.containers, "mov,mp4,m4a,3gp,3g2,mj2"));
    ck_assert(!bl_allowlist_has(bl_allowlist_video.containers, "mo"));
}
