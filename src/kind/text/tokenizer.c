#include "kind/text/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>
#include <xxhash.h>

#include "base/io.h"
#include "kind/text/tokenizer_readers.h"

#define FILE_MAX ((size_t)1 << 28) /* bytes: ten times the largest there is */

/* Adds what decides the ids to the digest. */
static void tokenizer_update_digest(struct bl_tokenizer *tokenizer, const void *data, size_t size)
{
    tokenizer->digest = XXH3_64bits_withSeed(data, size, tokenizer->digest);
}

static int tokenizer_slurp(struct bl_tokenizer *tokenizer, const char *path, struct bl_buffer *text, struct bl_error *e)
{
    int code = bl_io_read_file(path, FILE_MAX, text, e);
    if (code)
        return code;
    tokenizer_update_digest(tokenizer, text->data, text->size);
    return BL_OK;
}

static bool path_ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);
    return size >= end_size && !strcmp(text + size - end_size, end);
}

/* GPT-2's merges.txt lies beside its vocab.json and is named like it. */
static int tokenizer_read_gpt2(struct bl_tokenizer *tokenizer, const json_t *vocab, const char *path,
                               struct bl_error *e)
{
    struct bl_buffer merges_path = {0}, merges = {0};
    if (!path_ends_with(path, "vocab.json"))
        return bl_error_set(e, BL_EFAIL, "%s has no \"model\" as a tokenizer.json has, and is not named vocab.json",
                            path);
    bl_buffer_append(&merges_path, path, strlen(path) - strlen("vocab.json"));
    bl_buffer_text(&merges_path, "merges.txt");
    int code = bl_buffer_check(&merges_path, e);
    if (code)
        goto out;
    code = tokenizer_slurp(tokenizer, merges_path.data, &merges, e);
    if (code)
        goto out;
    code = bl_tokenizer_read_gpt2(tokenizer, vocab, path, &merges, merges_path.data, e);
out:
    bl_buffer_free(&merges_path);
    bl_buffer_free(&merges);
    return code;
}

/* The list of merges is most of a file: a tree of it would take longer than all else, so it is read from the text. The
 * rest is the text without what is in the list but line breaks, which messages count. */
static int tokenizer_leave_out(const struct bl_buffer *text, const struct bl_json_value *list, struct bl_buffer *rest,
                               struct bl_error *e)
{
    const char *at = text->data, *stop = text->data + text->size;
    if (list->type == BL_JSON_ARRAY) {
        const char *end = list->text + list->size;
        bl_buffer_append(rest, at, (size_t)(list->text - at));
        bl_buffer_byte(rest, '[');
        for (at = list->text; (at = memchr(at, '\n', (size_t)(end - at))); at++)
            bl_buffer_byte(rest, '\n');
        bl_buffer_byte(rest, ']');
        at = end;
    }
    bl_buffer_append(rest, at, (size_t)(stop - at));
    return bl_buffer_check(rest, e);
}

static json_t *tokenizer_load_json(const struct bl_buffer *text, const char *path, struct bl_error *e)
{
    json_error_t error;
    json_t *root = json_loadb(text->data, text->size, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
    if (!root && json_error_code(&error) == json_error_out_of_memory)
        bl_error_memory(e);
    else if (!root)
        bl_error_set(e, BL_EFAIL, "%s:%d: %s", path, error.line, error.text);
    return root;
}

static int tokenizer_read_json(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                               struct bl_error *e)
{
    static const char name[] = "model.merges";
    struct bl_json_key key;
    struct bl_json_value merges = {0};
    struct bl_json_fault fault = {0};
    struct bl_buffer rest = {0};
    json_t *root = NULL;
    bool found = bl_json_key_parse(&key, name, sizeof name - 1) &&
                 bl_json_scan(text->data, text->size, &key, 1, &merges, &fault);
    if (!found)
        merges.type = BL_JSON_NONE;
    int code = tokenizer_leave_out(text, &merges, &rest, e);
    if (!code)
        code = (root = tokenizer_load_json(&rest, path, e)) ? BL_OK : BL_EFAIL;
    if (!code && !found)
        code = bl_error_set(e, BL_EFAIL, "%s: not JSON at byte %zu: %s", path, fault.at, fault.what);
    /* Of a vocab.json, "model" is a token like others. */
    const json_t *model = json_object_get(root, "model");
    bool is_vocabulary = !model || (path_ends_with(path, "vocab.json") && !json_is_object(model));
    if (!code)
        code = is_vocabulary ? tokenizer_read_gpt2(tokenizer, root, path, e)
                             : bl_tokenizer_read_json(tokenizer, root, &merges, path, e);
    json_decref(root);
    bl_buffer_free(&rest);
    return code;
}

static int tokenizer_read_sentencepiece(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                                        struct bl_error *e)
{
    int code = bl_sentencepiece_open(&tokenizer->sentencepiece, text->data, text->size, e);
    if (code) {
        bl_error_prefix(e, "%s", path);
        return code;
    }
    tokenizer->model = BL_MODEL_SENTENCEPIECE;
    tokenizer->size = bl_sentencepiece_size(tokenizer->sentencepiece);
    return BL_OK;
}

static int tokenizer_read_file(struct bl_tokenizer *tokenizer, const struct bl_tokenizer_options *options,
                               struct bl_error *e)
{
    struct bl_buffer text = {0};
    const char *path = options->path;
    bool tiktoken = path_ends_with(path, ".tiktoken"), sentencepiece = path_ends_with(path, ".model");
    bool wordpiece = path_ends_with(path, "vocab.txt");
    if (options->pattern && !tiktoken)
        return bl_error_set(e, BL_EUSAGE, "--pattern is for a .tiktoken file; %s says its own", path);
    if (!tiktoken && !sentencepiece && !wordpiece && !path_ends_with(path, ".json"))
        return bl_error_set(e, BL_EUSAGE, "%s is no tokenizer: bytes, a .json, .tiktoken, .model or vocab.txt", path);
    int code = tokenizer_slurp(tokenizer, path, &text, e);
    if (code)
        goto out;
    if (tiktoken) {
        tokenizer_update_digest(tokenizer, options->pattern, options->pattern ? strlen(options->pattern) : 0);
        code = bl_tokenizer_read_tiktoken(tokenizer, &text, path, options->pattern, e);
    } else if (sentencepiece) {
        code = tokenizer_read_sentencepiece(tokenizer, &text, path, e);
    } else if (wordpiece) {
        code = bl_tokenizer_read_wordpiece(tokenizer, &text, path, e);
    } else {
        code = tokenizer_read_json(tokenizer, &text, path, e);
    }
out:
    bl_buffer_free(&text);
    return code;
}

int bl_tokenizer_open(struct bl_tokenizer **out, const struct bl_tokenizer_options *options, struct bl_error *e)
{
    *out = NULL;
    bool bytes = !strcmp(options->path, "bytes");
    struct stat status;
    if (bytes && options->pattern)
        return bl_error_set(e, BL_EUSAGE, "--pattern is for a .tiktoken file; bytes have none");
    if (!bytes && stat(options->path, &status))
        return bl_error_errno(e, BL_EUSAGE, "tokenizer %s", options->path);
    struct bl_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    if (!tokenizer)
        return bl_error_memory(e);
    bl_added_init(&tokenizer->raw);
    bl_added_init(&tokenizer->normal);
    tokenizer->path = options->path;
    tokenizer->special = options->special;
    tokenizer_update_digest(tokenizer, &(uint8_t){options->special}, 1);
    tokenizer->size = bytes ? 256 : 0;
    int code = bytes ? BL_OK : tokenizer_read_file(tokenizer, options, e);
    if (code) {
        bl_tokenizer_close(tokenizer);
        return code;
    }
    tokenizer->path = NULL; /* the caller's */
    *out = tokenizer;
    return BL_OK;
}

void bl_tokenizer_close(struct bl_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    bl_added_free(&tokenizer->raw);
    bl_added_free(&tokenizer->normal);
    bl_vocabulary_free(&tokenizer->vocabulary);
    bl_bpe_free(&tokenizer->bpe);
    for (int i = 0; i < tokenizer->splits; i++)
        bl_regex_close(tokenizer->split[i].regex);
    bl_sentencepiece_close(tokenizer->sentencepiece);
    free(tokenizer->warning);
    free(tokenizer);
}

int64_t bl_tokenizer_size(const struct bl_tokenizer *tokenizer)
{
    return tokenizer->size;
}

int32_t bl_tokenizer_find(const struct bl_tokenizer *tokenizer, const char *text)
{
    if (tokenizer->model == BL_MODEL_BYTES)
        return text[0] && !text[1] ? (uint8_t)text[0] : -1;
    if (tokenizer->model == BL_MODEL_SENTENCEPIECE)
        return bl_sentencepiece_find(tokenizer->sentencepiece, text);
    int32_t id = bl_added_find(&tokenizer->raw, text, strlen(text));
    if (id < 0)
        id = bl_added_find(&tokenizer->normal, text, strlen(text));
    int64_t token = id < 0 ? bl_vocabulary_find(&tokenizer->vocabulary, text, strlen(text)) : -1;
    return token < 0 ? id : tokenizer->vocabulary.token[token].id;
}

uint64_t bl_tokenizer_digest(const struct bl_tokenizer *tokenizer)
{
    return tokenizer->digest;
}

const char *bl_tokenizer_warning(const struct bl_tokenizer *tokenizer)
{
    return tokenizer->warning;
}

void bl_tokenizer_versions(const struct bl_tokenizer *tokenizer,
                           void (*emit)(void *sink, const char *name, const char *version), void *sink)
{
    char text[BL_REGEX_VERSION_MAX];
    for (int i = 0; i < tokenizer->splits; i++) {
        if (!tokenizer->split[i].regex)
            continue;
        emit(sink, "pcre2", bl_regex_version(text));
        break;
    }
    if (tokenizer->model == BL_MODEL_SENTENCEPIECE)
        emit(sink, "sentencepiece", bl_sentencepiece_version);
}
