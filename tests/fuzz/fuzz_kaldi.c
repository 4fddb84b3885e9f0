/* Data folders of Kaldi's, whose files are divided by zero bytes: each line is an utterance with a path, or has a
 * reason, and the lines of the list come before those of the other files. */
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "kind/audio/kaldi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[32], path[64];
    struct bl_kaldi *kaldi;
    struct bl_kaldi_utterance u;
    struct bl_error e = {0};
    bool found = true;
    snprintf(folder, sizeof folder, "/tmp/bload-fuzz-%d", getpid());
    never(mkdir(folder, 0700) != 0);
    for (int f = 0; bl_kaldi_file[f]; f++) {
        const uint8_t *end = size ? memchr(data, 0, size) : NULL;
        size_t bytes = end ? (size_t)(end - data) : size;
        snprintf(path, sizeof path, "%s/%s", folder, bl_kaldi_file[f]);
        FILE *file = fopen(path, "w");
        never(!file || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0);
        data += bytes + (end != NULL);
        size -= bytes + (end != NULL);
    }
    snprintf(path, sizeof path, "%s/segments", folder);
    int code = bl_kaldi_open(&kaldi, path, NULL, &e);
    never(code && (code != BL_EDATA || !e.text[0])); /* such as UTF-16 */
    found = !code;
    for (int64_t last = 0; found; last = u.line) {
        never(bl_kaldi_next(kaldi, &u, &found, &e) != BL_OK);
        if (!found)
            break;
        never(u.line <= last);
        never(u.reason ? !*u.reason : !u.id.size || !u.path.size || !u.start.size);
    }
    if (!code)
        bl_kaldi_close(kaldi);
    for (int f = 0; bl_kaldi_file[f]; f++) {
        snprintf(path, sizeof path, "%s/%s", folder, bl_kaldi_file[f]);
        never(unlink(path) != 0);
    }
    never(rmdir(folder) != 0);
    return 0;
}
