/* Data folders of Kaldi's: which utterances they have, and what is said of the other lines. */

#include "kind/audio/kaldi.h"

#include <inttypes.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "unit.h"

UNIT_SCRATCH

/* Appends "LINE id|path|start-end|text|speaker;" of each utterance, or "LINE !reason;". */
static void folder_print(const char *list, struct bl_buffer *out)
{
    struct bl_kaldi *kaldi;
    struct bl_kaldi_utterance u;
    struct bl_error e = {0};
    bool found;
    ck_assert_msg(bl_kaldi_open(&kaldi, list, NULL, &e) == BL_OK, "%s", e.text);
    for (;;) {
        ck_assert_int_eq(bl_kaldi_next(kaldi, &u, &found, &e), BL_OK);
        if (!found)
            break;
        if (u.reason)
            bl_buffer_printf(out, "%" PRId64 " !%s;", u.line, u.reason);
        else
            bl_buffer_printf(out, "%" PRId64 " %.*s|%.*s|%.*s-%.*s|%.*s|%.*s;", u.line, (int)u.id.size, u.id.text,
                             (int)u.path.size, u.path.text, (int)u.start.size, u.start.text, (int)u.end.size,
                             u.end.text, (int)u.text.size, u.text.text, (int)u.speaker.size, u.speaker.text);
    }
    bl_buffer_text(out, "");
    bl_kaldi_close(kaldi);
}

/* The files of a folder, NULL for none, and what is read of it. */
static const struct {
    const char *wav, *segments, *text, *speakers, *read;
} folders[] = {
    {"a x.wav\n", NULL, NULL, NULL, "1 a|x.wav|-||;"},
    {"\n b\ty z.wav \r\na x.wav", NULL, NULL, NULL, "2 b|y z.wav|-||;3 a|x.wav|-||;"},
    {"a x.wav\n", NULL, "a  B  C \n", "a s\n", "1 a|x.wav|-|B  C|s;"},
    {"a x.wav\n", "u a 0 1\nv a 1.5 -1\nw a 2 -1.00\n", NULL, NULL, "1 u|x.wav|0-1||;2 v|x.wav|1.5-||;3 w|x.wav|2-||;"},
    {"a x.wav\n", "u a 1 -1.5\nv a 1 -10\nw a 1 -\n", NULL, NULL,
     "1 u|x.wav|1--1.5||;2 v|x.wav|1--10||;3 w|x.wav|1--||;"},
    {"a x.wav\nb y.wav\n", "u a 0 1\n", "u T\nb X\n", NULL,
     "1 u|x.wav|0-1|T|;2 !wav.scp:2: the recording \"b\" is not in segments;"
     "3 !text:2: the utterance \"b\" is not in segments;"},
    {"a |cat x\nb cat y|\nc x.ark:7\nd .ark:7\ne x.ark:\n", NULL, NULL, NULL,
     "1 !wav.scp:1: a command with a pipe (\"|cat x\"), where only a file can be read: write its sound to a file, as "
     "bload-audio(7) shows;"
     "2 !wav.scp:2: a command with a pipe (\"cat y|\"), where only a file can be read: write its sound to a file, as "
     "bload-audio(7) shows;"
     "3 !wav.scp:3: a place in an archive (\"x.ark:7\"), where only a file can be read: write its sound to a file, as "
     "bload-audio(7) shows;"
     "4 d|.ark:7|-||;5 e|x.ark:|-||;"},
    {"a\n", "\n", NULL, NULL, "1 !wav.scp:1: nothing follows \"a\", where wav.scp has its file;"},
    {"a x.wav\n", NULL, "", "a\n",
     "1 !the utterance \"a\" has no usable line in text;2 !utt2spk:1: nothing follows \"a\", where utt2spk has its "
     "speaker;"},
    {"", NULL, NULL, NULL, ""},
};

UNIT_LOOP(files_of_a_folder, COUNT(folders))
{
    const char *const text[] = {folders[_i].wav, folders[_i].segments, folders[_i].text, folders[_i].speakers};
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    for (int f = 0; f < 4; f++) {
        if (text[f])
            unit_write_text(bl_kaldi_file[f], text[f]);
    }
    folder_print(text[1] ? "segments" : "wav.scp", &out);
    ck_assert_str_eq(out.data, folders[_i].read);
}

UNIT_TEST(a_folder_without_recordings)
{
    struct bl_kaldi *kaldi;
    FAILS_WITH(bl_kaldi_open(&kaldi, "segments", NULL, &e), BL_EDATA, "no wav.scp beside it");
    unit_write_text("segments", "u a 0 1\n");
    FAILS_WITH(bl_kaldi_open(&kaldi, "./segments", NULL, &e), BL_EDATA, "no wav.scp beside it");
}
