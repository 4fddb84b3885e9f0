/* Tokenizer files: whatever is accepted encodes any text; whatever is refused has a message. The first byte tells which
 * file it is. */
#include <string.h>

#include "base/output.h"
#include "fuzz.h"
#include "kind/text/encoder.h"

static void check_ids(const struct bl_tokenizer *tokenizer, const int32_t *id, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        never(id[i] < 0 || id[i] >= bl_tokenizer_size(tokenizer));
    }
}

static void encode(const struct bl_tokenizer *tokenizer)
{
    static const char text[] = "It's 12345 \xc3\xa9t\xc3\xa9s,\r\n  \xe4\xb8\xad\xe6\x96\x87 <|endoftext|> "
                               "aaaaaaaaaaaaaaaaaaaaaaa\xf0\x9f\x98\x80 ";
    struct bl_encoder *encoder;
    struct bl_ids ids = {0};
    struct bl_error e = {0};
    never(bl_encoder_open(&encoder, tokenizer, &e));
    for (int i = 0; i < 3; i++) {
        bl_encoder_limit(encoder, i ? (size_t)1 << 20 : 64);
        never(bl_encoder_encode(encoder, text, sizeof text - 1, &ids, &e) && !e.text[0]);
    }
    struct bl_document_marks begin, end;
    bl_tokenizer_marks(tokenizer, &begin, &end);
    check_ids(tokenizer, begin.id, (size_t)begin.count);
    check_ids(tokenizer, end.id, (size_t)end.count);
    check_ids(tokenizer, ids.id, ids.count);
    bl_ids_free(&ids);
    bl_encoder_close(encoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"tokenizer.json", "t.tiktoken", "vocab.txt", "tekken.json", "tokenizer.model"};
    enum { NAMES = sizeof names / sizeof *names };
    char folder[] = "/dev/shm/bload-fuzz-XXXXXX", path[64];
    if (!size)
        return 0;
    const char *name = names[data[0] % NAMES];
    struct bl_error e = {0};
    struct bl_tokenizer *tokenizer;
    never(!mkdtemp(folder));
    snprintf(path, sizeof path, "%s/%s", folder, name);
    never(bl_output_replace(path, data + 1, size - 1, &e));
    struct bl_tokenizer_options options = {.path = path,
                                           .pattern = strstr(name, ".tik") ? "o200k" : NULL,
                                           .special = data[0] >= 128,
                                           .add_special_tokens = name == names[0] && (data[0] & 64)};
    if (bl_tokenizer_open(&tokenizer, &options, &e) == BL_OK) {
        encode(tokenizer);
        bl_tokenizer_close(tokenizer);
    } else if (!e.text[0]) {
        abort();
    }
    unlink(path);
    rmdir(folder);
    return 0;
}
