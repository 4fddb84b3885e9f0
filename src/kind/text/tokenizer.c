/* The front of the tokenizers: finds the file, reads it, and has it read by the reader of its format. */
#include "kind/text/tokenizer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>
#include <xxhash.h>

#include "base/path.h"
#include "base/io.h"
#include "kind/text/model_cache.h"
#include "kind/text/special_names.h"
#include "kind/text/tokenizer_readers.h"

#define FILE_MAX ((size_t)1 << 28) /* bytes: ten times the largest known */

/* Adds data that the ids depend on to the digest. */
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

/* Of the two files of GPT-2, merges.txt lies beside vocab.json and has the same prefix: "gpt2-vocab.json". */
static int tokenizer_read_gpt2(struct bl_tokenizer *tokenizer, const json_t *vocab, const char *path,
                               struct bl_error *e)
{
    struct bl_buffer merges_path = {0}, merges = {0};
    if (!bl_path_has_suffix(path, "vocab.json"))
        return bl_error_set(e, BL_EFAIL, "%s is neither a tokenizer.json (it has no \"model\") nor named vocab.json",
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

/* Appends the text of a tokenizer.json without the elements of its list of merges. The list is most of the file, and
 * building a tree of it would take longer than all else, so it is read from the text. Its line breaks stay: messages
 * count lines. */
static int tokenizer_remove_merges(const struct bl_buffer *text, const struct bl_json_value *list,
                                   struct bl_buffer *rest, struct bl_error *e)
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

static int tokenizer_load_json(json_t **root, const struct bl_buffer *text, const char *path, struct bl_error *e)
{
    json_error_t error;
    if (bl_json_marks(text->data, text->size) > BL_JSON_VALUES_MAX)
        return bl_error_set(e, BL_EFAIL, "%s: more values than a tokenizer has (%zu)", path, BL_JSON_VALUES_MAX);
    *root = json_loadb(text->data, text->size, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
    if (*root)
        return BL_OK;
    if (json_error_code(&error) == json_error_out_of_memory)
        return bl_error_memory(e);
    return bl_error_set(e, BL_EFAIL, "%s:%d: %s", path, error.line, error.text);
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
    int code = tokenizer_remove_merges(text, &merges, &rest, e);
    if (code)
        goto out;
    code = tokenizer_load_json(&root, &rest, path, e);
    if (code)
        goto out;
    if (!found) {
        code = bl_error_set(e, BL_EFAIL, "%s: not JSON at byte %zu: %s", path, fault.at, fault.what);
        goto out;
    }
    /* In a vocab.json "model" is a token like others. */
    const json_t *model = json_object_get(root, "model");
    if (!model || (bl_path_has_suffix(path, "vocab.json") && !json_is_object(model)))
        code = tokenizer_read_gpt2(tokenizer, root, path, e);
    else
        code = bl_tokenizer_read_json(tokenizer, root, &merges, path, e);
out:
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

static int tokenizer_read_file(struct bl_tokenizer *tokenizer, const char *pattern, struct bl_error *e)
{
    struct bl_buffer text = {0};
    const char *path = tokenizer->path;
    bool tiktoken = bl_path_has_suffix(path, ".tiktoken"), model = bl_path_has_suffix(path, ".model");
    bool wordpiece = bl_path_has_suffix(path, "vocab.txt");
    if (!tiktoken && !model && !wordpiece && !bl_path_has_suffix(path, ".json"))
        return bl_error_set(e, BL_EUSAGE,
                            "%s is not a tokenizer: use a .json, .tiktoken or .model file, vocab.txt, or bytes", path);
    int code = tokenizer_slurp(tokenizer, path, &text, e);
    tiktoken = tiktoken || (!code && model && bl_tiktoken_detect(&text));
    if (!code && pattern && !tiktoken)
        code = bl_error_set(e, BL_EUSAGE, "--pattern is for a .tiktoken file; %s has its own pattern", path);
    if (!code && tokenizer->lowercase && !wordpiece)
        code = bl_error_set(e, BL_EUSAGE, "--lowercase is for a vocab.txt, which does not say it; %s does", path);
    if (code)
        goto out;
    if (tiktoken) {
        tokenizer_update_digest(tokenizer, pattern, pattern ? strlen(pattern) : 0);
        code = bl_tokenizer_read_tiktoken(tokenizer, &text, path, pattern, e);
    } else if (model) {
        code = tokenizer_read_sentencepiece(tokenizer, &text, path, e);
    } else if (wordpiece) {
        tokenizer_update_digest(tokenizer, &tokenizer->lowercase, tokenizer->lowercase ? 1 : 0);
        code = bl_tokenizer_read_wordpiece(tokenizer, &text, path, e);
    } else if (bl_tekken_detect(&text)) {
        code = bl_tokenizer_read_tekken(tokenizer, &text, path, e);
    } else {
        code = tokenizer_read_json(tokenizer, &text, path, e);
    }
out:
    bl_buffer_free(&text);
    return code;
}

/* Only a tokenizer.json has a post-processor. */
static int tokenizer_check_marks(const struct bl_tokenizer *tokenizer, struct bl_error *e)
{
    if (!tokenizer->post.wanted || tokenizer->post.found)
        return BL_OK;
    return bl_error_set(
        e, BL_EUSAGE,
        "--add-special-tokens: %s has no post-processor, which a tokenizer.json has: name the tokens by "
        "--bos and --eos",
        tokenizer->path);
}

/* The first of the known names in a folder. */
static int folder_find_tokenizer(const char *folder, struct bl_buffer *out, struct bl_error *e)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json", "vocab.txt"};
    struct stat status;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bl_buffer_clear(out);
        bl_buffer_printf(out, "%s%s%s", folder, bl_path_has_suffix(folder, "/") ? "" : "/", names[i]);
        if (bl_buffer_check(out, e))
            return BL_EFAIL;
        if (!stat(out->data, &status))
            return BL_OK;
    }
    return bl_error_set(e, BL_EUSAGE,
                        "tokenizer %s: the folder has no tokenizer.json, tokenizer.model, tekken.json, vocab.json or "
                        "vocab.txt: name the tokenizer's file",
                        folder);
}

/* The tokenizer's file: path, or one in the folder path, or in that of the repository path. */
static int tokenizer_find_file(const char *path, struct bl_buffer *out, struct bl_error *e)
{
    struct stat status;
    struct bl_buffer folder = {0};
    bool found = false;
    int code = BL_OK;
    if (stat(path, &status)) {
        int error = errno;
        code = bl_model_cache_find(path, &folder, &found, e);
        if (!code && !found)
            code = bl_error_set(e, BL_EUSAGE, "tokenizer %s: %s%s", path, strerror(error),
                                folder.size ? ", nor is it in Hugging Face's cache: nothing is downloaded here" : "");
    }
    if (!code && !found && !S_ISDIR(status.st_mode)) {
        bl_buffer_text(out, path);
        code = bl_buffer_check(out, e);
    } else if (!code) {
        code = folder_find_tokenizer(found ? folder.data : path, out, e);
    }
    bl_buffer_free(&folder);
    return code;
}

int bl_tokenizer_open(struct bl_tokenizer **out, const struct bl_tokenizer_options *options, struct bl_error *e)
{
    *out = NULL;
    struct bl_buffer path = {0};
    bool bytes = !strcmp(options->path, "bytes");
    if (bytes && options->add_special_tokens)
        return bl_error_set(e, BL_EUSAGE, "--add-special-tokens is for a tokenizer.json; bytes have none");
    if (bytes && (options->pattern || options->lowercase))
        return bl_error_set(e, BL_EUSAGE, "--%s; bytes have none",
                            options->pattern ? "pattern is for a .tiktoken file" : "lowercase is for a vocab.txt");
    struct bl_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    if (!tokenizer)
        return bl_error_memory(e);
    bl_added_init(&tokenizer->raw);
    bl_added_init(&tokenizer->normal);
    tokenizer->special = options->special;
    tokenizer->post.wanted = options->add_special_tokens;
    tokenizer->lowercase = options->lowercase;
    tokenizer_update_digest(tokenizer, &(uint8_t){options->special}, 1);
    if (bytes) {
        tokenizer->size = 256;
        *out = tokenizer;
        return BL_OK;
    }
    int code = tokenizer_find_file(options->path, &path, e);
    tokenizer->path = path.data;
    if (code)
        goto fail;
    code = tokenizer_read_file(tokenizer, options->pattern, e);
    if (code)
        goto fail;
    code = tokenizer_check_marks(tokenizer, e);
    if (code)
        goto fail;
    *out = tokenizer;
    return BL_OK;
fail:
    bl_tokenizer_close(tokenizer);
    return code;
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
    free(tokenizer->path);
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

int bl_tokenizer_find_named(const struct bl_tokenizer *tokenizer, const char *key, int32_t *id, struct bl_error *e)
{
    struct bl_buffer name = {0};
    bool found = false;
    *id = -1;
    int code = tokenizer->path ? bl_special_name_find(tokenizer->path, key, &name, &found, e) : BL_OK;
    if (!code && found)
        *id = bl_tokenizer_find(tokenizer, name.data);
    bl_buffer_free(&name);
    return code;
}

void bl_tokenizer_marks(const struct bl_tokenizer *tokenizer, struct bl_document_marks *begin,
                        struct bl_document_marks *end)
{
    *begin = tokenizer->post.begin;
    *end = tokenizer->post.end;
}

const char *bl_tokenizer_name(const struct bl_tokenizer *tokenizer)
{
    return tokenizer->path ? bl_path_name(tokenizer->path) : "bytes";
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
