/* Opening a tokenizer: which file a name or folder gives, which format the file has, and what a tokenizer answers.
 *
 * A file is known by its name where names are fixed, otherwise by its content: Llama 3 has a .tiktoken under the name
 * tokenizer.model, and a cache has files that are named by hashes. The digest covers the bytes of each file that is
 * read and the options that change ids, in the order in which they are read. Example: "gpt2" is no path, so the cache
 * of Hugging Face gives a folder; its tokenizer.json comes before its vocab.json. */
#include "kind/text/tokenizer.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/fs.h"
#include "base/io.h"
#include "kind/text/tokenizer_readers.h"
#include "kind/text/tokenizer_tiktoken.h"
#include "kind/text/vocabulary.h"

/* Bytes of a file: ten times the largest known. It bounds the memory that a wrong path takes. */
#define FILE_MAX ((size_t)1 << 28)

/* Adds data that the ids depend on to the digest. The digest so far is the seed, so the order counts. */
static void tokenizer_update_digest(struct bl_tokenizer *tokenizer, const void *data, size_t size)
{
    tokenizer->digest = XXH3_64bits_withSeed(data, size, tokenizer->digest);
}

/* Reads a whole file, and adds it to the digest. The caller frees text, also after an error. */
static int tokenizer_slurp(struct bl_tokenizer *tokenizer, const char *path, struct bl_buffer *text, struct bl_error *e)
{
    BL_TRY(bl_io_read_file(path, FILE_MAX, text, e));
    tokenizer_update_digest(tokenizer, text->data, text->size);
    return BL_OK;
}

/* Reads the two files of GPT-2: merges.txt lies beside vocab.json and has the same prefix, as in "gpt2-vocab.json". */
static int tokenizer_read_gpt2(struct bl_tokenizer *tokenizer, const struct bl_buffer *vocab, const char *path,
                               struct bl_error *e)
{
    struct bl_buffer merges_path = {0}, merges = {0};
    if (!bl_path_has_suffix(path, "vocab.json"))
        return bl_error_set(e, BL_EFAIL, "%s is neither a tokenizer.json (it has no \"model\") nor named vocab.json",
                            path);
    /* Both names have the same prefix and folder. */
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

/* Appends the text of a tokenizer.json without the elements of its lists of merges and tokens. These are most of the
 * file, and a tree of JSON values of them would take longer than everything else, so they are read from the text. Their
 * line breaks stay: messages count lines. */
static int tokenizer_remove_lists(const struct bl_buffer *text, const struct bl_json_lists *lists,
                                  struct bl_buffer *rest, struct bl_error *e)
{
    const struct bl_json_value *list[2] = {&lists->merges, &lists->vocab};
    const char *at = text->data, *stop = text->data + text->size;
    /* The two lists are removed in the order of the text. */
    if (list[0]->text > list[1]->text) {
        list[0] = &lists->vocab;
        list[1] = &lists->merges;
    }
    for (int i = 0; i < 2; i++) {
        /* "model.vocab" may be an object, "model.merges" may not. Other values are left for the reader, which reports
         * them. */
        bool is_array = list[i]->type == BL_JSON_ARRAY;
        if (!is_array && (list[i]->type != BL_JSON_OBJECT || list[i] != &lists->vocab))
            continue;
        const char *end = list[i]->text + list[i]->size;
        bl_buffer_append(rest, at, (size_t)(list[i]->text - at));
        bl_buffer_byte(rest, is_array ? '[' : '{');
        /* One line break for each one that is removed. */
        for (at = list[i]->text; (at = memchr(at, '\n', (size_t)(end - at))); at++)
            bl_buffer_byte(rest, '\n');
        bl_buffer_byte(rest, is_array ? ']' : '}');
        at = end;
    }
    bl_buffer_append(rest, at, (size_t)(stop - at));
    return bl_buffer_check(rest, e);
}

/* Reads a tokenizer.json or a vocab.json: bl_json_scan finds the two long lists, jansson parses the rest. */
static int tokenizer_read_json(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                               struct bl_error *e)
{
    static const char merges[] = "model.merges", vocab[] = "model.vocab";
    /* The lists are found first, because their text is needed and the rest is to be parsed without them. */
    struct bl_json_key key[2];
    struct bl_json_value value[2] = {0};
    struct bl_json_lists lists = {0};
    struct bl_json_fault fault = {0};
    struct bl_buffer rest = {0};
    json_t *root = NULL;
    json_error_t error;
    /* The scan also checks the JSON of the lists, which jansson does not see. Its fault is reported only after that of
     * jansson, which has the line. */
    bool found = bl_json_key_parse(&key[0], merges, sizeof merges - 1) &&
                 bl_json_key_parse(&key[1], vocab, sizeof vocab - 1) &&
                 bl_json_scan(text->data, text->size, key, 2, value, &fault);
    if (found)
        lists = (struct bl_json_lists){value[0], value[1]};
    int code = tokenizer_remove_lists(text, &lists, &rest, e);
    if (code)
        goto out;
    /* The number of values is bounded first, because a tree of values takes much more memory than its text. */
    if (bl_json_marks(rest.data, rest.size) > BL_JSON_VALUES_MAX) {
        code = bl_error_set(e, BL_EFAIL, "%s: more values than a tokenizer has (%zu)", path, BL_JSON_VALUES_MAX);
        goto out;
    }
    root = json_loadb(rest.data, rest.size, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
    if (!root && json_error_code(&error) == json_error_out_of_memory)
        code = bl_error_memory(e);
    else if (!root)
        code = bl_error_set(e, BL_EFAIL, "%s:%d: %s", path, error.line, error.text);
    else if (!json_is_object(root))
        code = bl_error_set(e, BL_EFAIL, "%s is not a tokenizer: it has no JSON object", path);
    else if (!found)
        code = bl_error_set(e, BL_EFAIL, "%s: not JSON at byte %zu: %s", path, fault.at, fault.what);
    if (code)
        goto out;
    const json_t *model = json_object_get(root, "model");
    /* In a vocab.json "model" is a token like others. */
    if (!model || (bl_path_has_suffix(path, "vocab.json") && !json_is_object(model)))
        code = tokenizer_read_gpt2(tokenizer, text, path, e);
    else
        code = bl_tokenizer_read_json(tokenizer, root, &lists, path, e);
out:
    json_decref(root);
    bl_buffer_free(&rest);
    return code;
}

/* Reads the file by the reader of its format. Files are known by their names; those of caches have other names, and
 * their contents decide. BL_EUSAGE: an option is given that the format has no use for. */
static int tokenizer_read_file(struct bl_tokenizer *tokenizer, const char *pattern, struct bl_error *e)
{
    struct bl_buffer text = {0};
    size_t at = 0;
    const char *path = tokenizer->path;
    /* "gpt2-vocab.json" and "bert-vocab.txt" count as named, too: prefixes are common. */
    bool tiktoken = bl_path_has_suffix(path, ".tiktoken"), model = bl_path_has_suffix(path, ".model");
    bool wordpiece = bl_path_has_suffix(path, "vocab.txt");
    bool named = tiktoken || model || wordpiece || bl_path_has_suffix(path, ".json");
    int code = tokenizer_slurp(tokenizer, path, &text, e);
    /* Llama 3 and 4 name their .tiktoken file tokenizer.model, and a cache names it by a hash. */
    tiktoken = tiktoken || (!code && (model || !named) && bl_tiktoken_detect(&text));
    /* Whether the text begins as a JSON object. */
    while (at < text.size && strchr(" \t\r\n", text.data[at]))
        at++;
    bool object = at < text.size && text.data[at] == '{';
    if (!code && !named && !tiktoken && !object)
        code = bl_error_set(e, BL_EUSAGE,
                            "%s is not a tokenizer: use a .json, .tiktoken or .model file, vocab.txt, or bytes", path);
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
        code = bl_tokenizer_read_sentencepiece(tokenizer, &text, path, e);
    } else if (wordpiece) {
        /* The option changes ids, and it is stored nowhere else in the tokenizer's files. */
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

/* Sets out to the path of the first of the known names in a folder. BL_EUSAGE: it has none of them. */
static int folder_find_tokenizer(const char *folder, struct bl_buffer *out, struct bl_error *e)
{
    /* In the order of tokenizer.h: a tokenizer.json has all parts, and the others need conventions. */
    static const char *const names[] = {"tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json", "vocab.txt"};
    struct stat status;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bl_buffer_clear(out);
        bl_buffer_printf(out, "%s%s%s", folder, bl_path_has_suffix(folder, "/") ? "" : "/", names[i]);
        if (bl_buffer_check(out, e))
            return BL_EFAIL;
        if (!stat(out->data, &status))
            return BL_OK;
        /* A disk that fails must not look like a folder without a tokenizer. */
        if (bl_errno_is_system(errno))
            return bl_error_errno(e, BL_EFAIL, "cannot stat %s", out->data);
    }
    return bl_error_set(e, BL_EUSAGE,
                        "tokenizer %s: the folder has no tokenizer.json, tokenizer.model, tekken.json, vocab.json or "
                        "vocab.txt: name the tokenizer's file",
                        folder);
}

/* Sets the path of the tokenizer's file, and the name that messages and manifests use. given: a file, a folder with
 * one, or a name in a cache, where a path has precedence. */
static int tokenizer_find_file(struct bl_tokenizer *tokenizer, const char *given, struct bl_error *e)
{
    struct stat status;
    struct bl_buffer cached = {0}, path = {0};
    bool found = false;
    int code = BL_OK;
    if (stat(given, &status)) {
        /* The error of the path itself is the one to report if the cache has nothing either. */
        int error = errno;
        if (bl_errno_is_system(error))
            return bl_error_errno(e, BL_EFAIL, "cannot stat %s", given);
        /* No such path: it may be a name in a cache. */
        code = bl_model_cache_find(given, &cached, &found, e);
        if (!code && (!found || stat(cached.data, &status)))
            code =
                bl_error_set(e, BL_EUSAGE, "tokenizer %s: %s%s", given, strerror(error),
                             cached.size ? ", nor is it in the cache of its library: nothing is downloaded here" : "");
    }
    /* status is that of the cache's file or folder where the path itself does not exist. */
    bool is_folder = !code && S_ISDIR(status.st_mode);
    if (is_folder)
        code = folder_find_tokenizer(found ? cached.data : given, &path, e);
    else if (!code)
        bl_buffer_text(&path, found ? cached.data : given);
    if (!code)
        code = bl_buffer_check(&path, e);
    bl_buffer_free(&cached);
    /* The tokenizer owns the path also after an error, and bl_tokenizer_close frees it. */
    tokenizer->path = path.data;
    if (code)
        return code;
    tokenizer->name =
        strdup(bl_path_name(is_folder ? path.data : given)); /* a cache's own name of a file says nothing */
    return tokenizer->name ? BL_OK : bl_error_memory(e);
}

/* The options come first in the digest, then the bytes of the files. bytes needs no file, so it ends early. */
int bl_tokenizer_open(struct bl_tokenizer **out, const struct bl_tokenizer_options *options, struct bl_error *e)
{
    *out = NULL;
    bool bytes = !strcmp(options->path, "bytes");
    /* Options that change nothing are refused, since a user who sets them expects a change. */
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
        /* Ids are the bytes 0 to 255. */
        tokenizer->size = 256;
        *out = tokenizer;
        return BL_OK;
    }
    int code = tokenizer_find_file(tokenizer, options->path, e);
    if (code)
        goto out;
    code = tokenizer_read_file(tokenizer, options->pattern, e);
    if (code)
        goto out;
    /* Only a tokenizer.json has a post-processor. */
    if (tokenizer->post.wanted && !tokenizer->post.found)
        code = bl_error_set(e, BL_EUSAGE,
                            "--add-special-tokens: %s has no post-processor, which a tokenizer.json has: name the "
                            "tokens by --bos and --eos",
                            tokenizer->path);
out:
    if (code)
        bl_tokenizer_close(tokenizer);
    else
        *out = tokenizer;
    return code;
}

/* The model WordPiece refers to the vocabulary and owns nothing. */
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
    for (int i = 0; i < tokenizer->normalizers; i++)
        bl_normalizer_free(&tokenizer->normalizer[i]);
    bl_unigram_free(&tokenizer->unigram);
    free(tokenizer->warning);
    free(tokenizer->path);
    free(tokenizer->name);
    free(tokenizer);
}

int64_t bl_tokenizer_size(const struct bl_tokenizer *tokenizer)
{
    return tokenizer->size;
}

/* Added tokens come first, as they do when a text is encoded. A token of the model is found by its text as the file has
 * it, or, where tokens are bytes, by the text itself. */
int32_t bl_tokenizer_find(const struct bl_tokenizer *tokenizer, const char *text)
{
    if (tokenizer->model == BL_MODEL_BYTES)
        return text[0] && !text[1] ? (uint8_t)text[0] : -1;
    int32_t id = bl_added_find(&tokenizer->raw, text, strlen(text));
    if (id < 0)
        id = bl_added_find(&tokenizer->normal, text, strlen(text));
    if (id >= 0)
        return id;
    struct bl_buffer bytes = {0};
    /* The byte-level alphabet is not decoded: a user gives the text of a token, such as "\n", as it is in documents. */
    if (tokenizer->alphabet.kind == BL_ALPHABET_SPACES || *tokenizer->alphabet.suffix)
        bl_alphabet_decode(&tokenizer->alphabet, text, strlen(text), &bytes);
    else
        bl_buffer_text(&bytes, text);
    /* Unigram's pieces are in its trie alone. */
    if (!bytes.failed && bytes.size && tokenizer->model == BL_MODEL_UNIGRAM) {
        uint32_t piece = bl_trie_find(&tokenizer->unigram.trie, bytes.data, bytes.size);
        id = piece == BL_TRIE_NONE ? -1 : (int32_t)piece;
    } else if (!bytes.failed && bytes.size) {
        int64_t token = bl_vocabulary_find(&tokenizer->vocabulary, bytes.data, bytes.size);
        id = token < 0 ? -1 : tokenizer->vocabulary.token[token].id;
    }
    bl_buffer_free(&bytes);
    return id;
}

/* bytes has no file, and so no files beside it. */
int bl_tokenizer_find_named(const struct bl_tokenizer *tokenizer, const char *key, int32_t *id, struct bl_error *e)
{
    struct bl_buffer name = {0};
    bool found = false;
    *id = -1;
    /* The path is NULL for bytes. */
    int code = tokenizer->path ? bl_special_name_find(tokenizer->path, key, &name, &found, e) : BL_OK;
    if (!code && found)
        *id = bl_tokenizer_find(tokenizer, name.data);
    bl_buffer_free(&name);
    return code;
}

/* Only the begin and the end of a text are compared, so a loop over all added tokens is fast enough. Tokens that stay
 * plain text do not count. */
size_t bl_tokenizer_size_at(const struct bl_tokenizer *tokenizer, int32_t id, const char *text, size_t size,
                            bool at_end)
{
    /* Both lists: tokens of the original and of the normalized text. */
    const struct bl_added *added[] = {&tokenizer->raw, &tokenizer->normal};
    for (size_t a = 0; a < sizeof added / sizeof *added; a++) {
        for (size_t i = 0; i < added[a]->count; i++) {
            const struct bl_added_token *token = &added[a]->token[i];
            if (token->id == id && !token->plain && token->size <= size &&
                memcmp(added[a]->text.data + token->offset, at_end ? text + size - token->size : text, token->size) ==
                    0)
                return token->size;
        }
    }
    return 0;
}

void bl_tokenizer_marks(const struct bl_tokenizer *tokenizer, struct bl_document_marks *begin,
                        struct bl_document_marks *end)
{
    *begin = tokenizer->post.begin;
    *end = tokenizer->post.end;
}

const char *bl_tokenizer_name(const struct bl_tokenizer *tokenizer)
{
    return tokenizer->name ? tokenizer->name : "bytes";
}

uint64_t bl_tokenizer_digest(const struct bl_tokenizer *tokenizer)
{
    return tokenizer->digest;
}

const char *bl_tokenizer_warning(const struct bl_tokenizer *tokenizer)
{
    return tokenizer->warning;
}

/* Scanners of known grammars have fixed tables of Unicode; only PCRE2 can change with the machine. */
void bl_tokenizer_versions(const struct bl_tokenizer *tokenizer,
                           void (*emit)(void *sink, const char *name, const char *version), void *sink)
{
    char text[BL_REGEX_VERSION_MAX];
    if (bl_tokenizer_has_regex(tokenizer))
        emit(sink, "pcre2", bl_regex_version(text));
}

/* wanted: the tokens that the encoder searches for; the others are plain text. */
bool bl_tokenizer_leaves_plain(const struct bl_tokenizer *tokenizer)
{
    return tokenizer->raw.wanted < tokenizer->raw.count || tokenizer->normal.wanted < tokenizer->normal.count;
}

/* Each token is in one of the two lists. */
int64_t bl_tokenizer_count_plain(const struct bl_tokenizer *tokenizer, const char *text, size_t size)
{
    return bl_added_count_plain(&tokenizer->raw, (const uint8_t *)text, size) +
           bl_added_count_plain(&tokenizer->normal, (const uint8_t *)text, size);
}
