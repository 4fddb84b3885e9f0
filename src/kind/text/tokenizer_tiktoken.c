/* The readers of .tiktoken files and of the files of GPT-2, the table of published encodings, and the look-up in the
 * caches of other programs.
 *
 * A .tiktoken has the ranks alone; the pattern and the special tokens are in the source code of the package. They are
 * in tables here, under the digest of the ranks, so that a file is recognized under any name. A line of a file:
 *
 *     IHRoZQ== 262
 *
 * This is the token " the" of rank 262. */
#include "kind/text/tokenizer_tiktoken.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/io.h"
#include "base/text.h"
#include "kind/text/merges.h"
#include "kind/text/tokenizer_readers.h"

/* --- encodings ---------------------------------------------------------------------------------------------------- */

/* An entry for one token without a number in its text. */
#define ONE(text, id)                                                                                                  \
    {                                                                                                                  \
        text, NULL, id, 1, 0                                                                                           \
    }

/* Also those of p50k, whose ranks above 50256 are tokens of white space. */
static const struct bl_specials r50k[] = {ONE("<|endoftext|>", 50256), {0}};

static const struct bl_specials p50k_edit[] = {ONE("<|endoftext|>", 50256),
                                               ONE("<|fim_prefix|>", 50281),
                                               ONE("<|fim_middle|>", 50282),
                                               ONE("<|fim_suffix|>", 50283),
                                               {0}};

static const struct bl_specials cl100k[] = {ONE("<|endoftext|>", 100257),   ONE("<|fim_prefix|>", 100258),
                                            ONE("<|fim_middle|>", 100259),  ONE("<|fim_suffix|>", 100260),
                                            ONE("<|endofprompt|>", 100276), {0}};

static const struct bl_specials o200k[] = {ONE("<|endoftext|>", 199999), ONE("<|endofprompt|>", 200018), {0}};

/* In the order of the package. The id 200018 has two texts, <|endofprompt|> and <|reserved_200018|>, as in the package.
 */
static const struct bl_specials harmony[] = {ONE("<|startoftext|>", 199998),
                                             ONE("<|endoftext|>", 199999),
                                             {"<|reserved_", "|>", 200000, 2, 200000},
                                             ONE("<|return|>", 200002),
                                             ONE("<|constrain|>", 200003),
                                             ONE("<|reserved_200004|>", 200004),
                                             ONE("<|channel|>", 200005),
                                             ONE("<|start|>", 200006),
                                             ONE("<|end|>", 200007),
                                             ONE("<|message|>", 200008),
                                             {"<|reserved_", "|>", 200009, 3, 200009},
                                             ONE("<|call|>", 200012),
                                             ONE("<|endofprompt|>", 200018),
                                             {"<|reserved_", "|>", 200013, 1075, 200013},
                                             {0}};

/* The special tokens that do not depend on how many languages a model has. */
static const struct bl_specials whisper[] = {ONE("<|endoftext|>", 50257), ONE("<|startoftranscript|>", 50258), {0}};

static const struct bl_specials llama3[] = {ONE("<|begin_of_text|>", 128000),
                                            ONE("<|end_of_text|>", 128001),
                                            {"<|reserved_special_token_", "|>", 128002, 2, 0},
                                            ONE("<|finetune_right_pad_id|>", 128004),
                                            ONE("<|step_id|>", 128005),
                                            ONE("<|start_header_id|>", 128006),
                                            ONE("<|end_header_id|>", 128007),
                                            ONE("<|eom_id|>", 128008),
                                            ONE("<|eot_id|>", 128009),
                                            ONE("<|python_tag|>", 128010),
                                            ONE("<|image|>", 128011),
                                            {"<|reserved_special_token_", "|>", 128012, 244, 2},
                                            {0}};

static const struct bl_specials llama4[] = {ONE("<|begin_of_text|>", 200000),
                                            ONE("<|end_of_text|>", 200001),
                                            ONE("<|fim_prefix|>", 200002),
                                            ONE("<|fim_middle|>", 200003),
                                            ONE("<|fim_suffix|>", 200004),
                                            ONE("<|header_start|>", 200005),
                                            ONE("<|header_end|>", 200006),
                                            ONE("<|eom|>", 200007),
                                            ONE("<|eot|>", 200008),
                                            ONE("<|step|>", 200009),
                                            {"<|text_post_train_reserved_special_token_", "|>", 200010, 6, 0},
                                            ONE("<|python_start|>", 200016),
                                            ONE("<|python_end|>", 200017),
                                            ONE("<|finetune_right_pad|>", 200018),
                                            {"<|text_post_train_reserved_special_token_", "|>", 200019, 61, 8},
                                            ONE("<|image_start|>", 200080),
                                            ONE("<|image_end|>", 200081),
                                            {"<|vision_reserved_special_token_", "|>", 200082, 2, 0},
                                            ONE("<|tile_x_separator|>", 200084),
                                            ONE("<|tile_y_separator|>", 200085),
                                            {"<|vision_reserved_special_token_", "|>", 200086, 4, 2},
                                            ONE("<|image|>", 200090),
                                            ONE("<|vision_reserved_special_token_6|>", 200091),
                                            ONE("<|patch|>", 200092),
                                            {"<|vision_reserved_special_token_", "|>", 200093, 1041, 7},
                                            {"<|reasoning_reserved_special_token_", "|>", 201134, 8, 0},
                                            ONE("<|reasoning_thinking_start|>", 201142),
                                            ONE("<|reasoning_thinking_end|>", 201143),
                                            {"<|reserved_special_token_", "|>", 201144, 904, 0},
                                            {0}};

/* These are the tokens in the package of the first Qwen models, whose last 205 are <|extra_0|> to <|extra_204|>. */
static const struct bl_specials qwen[] = {ONE("<|endoftext|>", 151643),
                                          ONE("<|im_start|>", 151644),
                                          ONE("<|im_end|>", 151645),
                                          {"<|extra_", "|>", 151646, 205, 0},
                                          {0}};

/* If two encodings have the same ranks and no name is given, the first one is used: p50k_edit and o200k_harmony have
 * more special tokens, which the ranks do not show. */
static const struct bl_tiktoken_encoding encodings[] = {
    {"r50k", BL_GRAMMAR_GPT2, false, 0x38824f2c2063699b, r50k},
    {"p50k", BL_GRAMMAR_GPT2, false, 0x80a02f24d08aa6b8, r50k},
    {"p50k_edit", BL_GRAMMAR_GPT2, false, 0x80a02f24d08aa6b8, p50k_edit},
    {"cl100k", BL_GRAMMAR_CL100K, false, 0x6fb518802d59c138, cl100k},
    {"o200k", BL_GRAMMAR_O200K, false, 0xb44b3fb21bd7171c, o200k},
    {"o200k_harmony", BL_GRAMMAR_O200K, false, 0xb44b3fb21bd7171c, harmony},
    {"whisper", BL_GRAMMAR_GPT2, false, 0x069f8ee78b2e022e, whisper},
    {"llama3", BL_GRAMMAR_LLAMA3, false, 0x1c315dc09dc10f54, llama3},
    {"llama4", BL_GRAMMAR_O200K, false, 0x10ee959758ad68ed, llama4},
    {"qwen", BL_GRAMMAR_QWEN, true, 0x49430a6d499d3834, qwen},
};

#define ENCODINGS (sizeof encodings / sizeof *encodings)

/* Sets *digest to XXH3 of the tokens and their ranks, in the order of the file, so that line ends and empty lines do
 * not count. BL_EFAIL: out of memory. */
static int encoding_digest(const struct bl_vocabulary *ranks, uint64_t *digest, struct bl_error *e)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return bl_error_memory(e);
    XXH3_64bits_reset(state);
    for (size_t i = 0; i < ranks->count; i++) {
        const struct bl_token *token = &ranks->token[i];
        /* The size separates tokens, so that two lists of tokens never give the same bytes. */
        const uint32_t head[2] = {(uint32_t)token->id, token->size};
        XXH3_64bits_update(state, head, sizeof head);
        XXH3_64bits_update(state, bl_vocabulary_bytes(ranks, i), token->size);
    }
    *digest = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return BL_OK;
}

/* --- .tiktoken ---------------------------------------------------------------------------------------------------- */

/* .tiktoken: a line for each token, with its bytes in base64 and its rank, which is its id. The file has neither the
 * pattern nor the special tokens: both follow from the ranks where they are of a known encoding. */

/* The first line is enough: neither Protocol Buffers nor JSON begin with base64, a space and a number. */
bool bl_tiktoken_detect(const struct bl_buffer *text)
{
    const char *line;
    size_t at = 0, size;
    int64_t rank;
    if (!bl_text_next_line(text->data, text->size, &at, &line, &size))
        return false;
    const char *space = memchr(line, ' ', size);
    return space && space > line && bl_text_to_int(space + 1, size - (size_t)(space + 1 - line), 0, BL_ID_MAX, &rank);
}

/* Adds the token of a line of size bytes. bytes: memory for decoding. */
static int tiktoken_read_line(struct bl_tokenizer *tokenizer, const char *line, size_t size, struct bl_buffer *bytes,
                              struct bl_error *e)
{
    const char *space = memchr(line, ' ', size);
    size_t digits = space ? (size_t)(space - line) : size;
    int64_t rank, known;
    bl_buffer_clear(bytes);
    bl_buffer_append(bytes, line, digits);
    if (bl_buffer_check(bytes, e))
        return BL_EFAIL;
    /* "=" is an empty token, which no text has: Whisper's file ends with one. */
    bool empty = digits == 1 && *line == '=';
    /* An empty field is no token in base64: -1. */
    int64_t decoded = empty ? 0 : digits ? bl_base64_decode(bytes->data, bytes->size) : -1;
    if (decoded < 0)
        return bl_error_set(e, BL_EFAIL, "\"%.*s\" is not a token in base64", (int)(digits < 80 ? digits : 80), line);
    if (!space || !bl_text_to_int(space + 1, size - digits - 1, 0, BL_ID_MAX, &rank))
        return bl_error_set(e, BL_EFAIL, "a token without a rank from 0 to %d", BL_ID_MAX);
    BL_TRY(bl_vocabulary_add(&tokenizer->vocabulary, bytes->data, (size_t)decoded, (int32_t)rank, &known, e));
    if (known >= 0)
        return bl_error_set(e, BL_EFAIL, "the same token as rank %d", tokenizer->vocabulary.token[known].id);
    bl_tokenizer_count(tokenizer, (int32_t)rank);
    return BL_OK;
}

/* Adds the tokens of all lines, and checks that each rank is that of one token; ranks may have gaps. Messages have the
 * path and the number of the line, from 1. */
static int tiktoken_read_lines(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                               struct bl_error *e)
{
    const struct bl_vocabulary *v = &tokenizer->vocabulary;
    struct bl_buffer bytes = {0};
    const char *line;
    int code = BL_OK;
    size_t number = 1, at = 0, size;
    for (; !code && bl_text_next_line(text->data, text->size, &at, &line, &size); number++) {
        if (size)
            code = tiktoken_read_line(tokenizer, line, size, &bytes, e);
        if (code)
            bl_error_prefix(e, "%s:%zu", path, number);
    }
    bl_buffer_free(&bytes);
    if (code)
        return code;
    /* The size of the tokenizer is known only after all lines. */
    uint8_t *taken = calloc((size_t)tokenizer->size + 1, 1);
    code = taken ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < v->count && !code; i++) {
        int32_t rank = v->token[i].id;
        if (taken[rank]++)
            code = bl_error_set(e, BL_EFAIL, "%s: two tokens have the rank %d", path, rank);
    }
    free(taken);
    return code;
}

/* Returns BL_EUSAGE with the names of the encodings. */
static int tiktoken_refuse_pattern(const char *path, const char *pattern, struct bl_error *e)
{
    struct bl_buffer names = {0};
    /* "r50k, p50k ... or qwen". */
    for (size_t i = 0; i < ENCODINGS; i++)
        bl_buffer_printf(&names, "%s%s", i == 0 ? "" : i + 1 < ENCODINGS ? ", " : " or ", encodings[i].name);
    int code = bl_buffer_check(&names, e);
    if (!code && pattern)
        code = bl_error_set(e, BL_EUSAGE, "--pattern '%s' is unknown: use %s, or a regular expression", pattern,
                            names.data);
    else if (!code)
        code = bl_error_set(e, BL_EUSAGE,
                            "%s does not contain its pattern, and its ranks are of no known encoding: use --pattern "
                            "%s, or a regular expression",
                            path, names.data);
    bl_buffer_free(&names);
    return code;
}

/* Applies the pattern and normal form of the encoding. Its special tokens are added only where the file has the
 * encoding's ranks: otherwise their ids could be those of other tokens. */
static int tiktoken_apply(struct bl_tokenizer *tokenizer, const struct bl_tiktoken_encoding *encoding, uint64_t digest,
                          struct bl_error *e)
{
    struct bl_buffer text = {0};
    int code = BL_OK;
    tokenizer->split[tokenizer->splits++] = (struct bl_split){.grammar = encoding->grammar};
    /* NFC as of Unicode 16, whatever version the machine has. */
    if (encoding->nfc)
        tokenizer->normalizer[tokenizer->normalizers++].form = BL_NFC_16;
    if (encoding->digest != digest)
        return BL_OK;
    /* The list ends with an entry without a text. One entry has several tokens, such as <|reserved_200013|> to
     * <|reserved_201087|>. */
    for (const struct bl_specials *s = encoding->specials; s->begin && !code; s++) {
        for (int32_t i = 0; i < s->count && !code; i++) {
            /* A special token that is not searched for is still an added token, so that its name has an id. */
            struct bl_added_token token = {.id = s->id + i, .plain = !tokenizer->special};
            bl_buffer_clear(&text);
            bl_buffer_text(&text, s->begin);
            if (s->end)
                bl_buffer_printf(&text, "%d%s", s->first + i, s->end);
            code = bl_buffer_check(&text, e);
            if (!code)
                code = bl_added_add(&tokenizer->raw, text.data, text.size, &token, e);
            bl_tokenizer_count(tokenizer, token.id);
        }
    }
    bl_buffer_free(&text);
    return code;
}

/* The digest decides without --pattern. With the name of an encoding the file may have other ranks, as models that were
 * trained with its pattern have. Everything else is an expression. */
int bl_tokenizer_read_tiktoken(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                               const char *pattern, struct bl_error *e)
{
    uint64_t digest = 0;
    int code = tiktoken_read_lines(tokenizer, text, path, e);
    if (!code)
        code = encoding_digest(&tokenizer->vocabulary, &digest, e);
    if (code)
        return code;
    const struct bl_tiktoken_encoding *encoding = NULL;
    for (size_t i = 0; i < ENCODINGS && !encoding; i++) {
        if (pattern ? strcmp(encodings[i].name, pattern) == 0 : encodings[i].digest == digest)
            encoding = &encodings[i];
    }
    /* Without a pattern there are no words to merge in, so the user has to give one. A pattern that looks like the name
     * of an encoding is refused, too: a typing error in a name must not become an expression, which would match hardly
     * any text. */
    if (!encoding && (!pattern || strspn(pattern, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(pattern)))
        return tiktoken_refuse_pattern(path, pattern, e);
    tokenizer->model = BL_MODEL_BPE;
    code = bl_bpe_from_ranks(&tokenizer->bpe, &tokenizer->vocabulary, e);
    if (code) {
        bl_error_prefix(e, "%s", path);
        return code;
    }
    if (encoding)
        return tiktoken_apply(tokenizer, encoding, digest, e);
    code = bl_tokenizer_set_pattern(tokenizer, pattern, strlen(pattern), e);
    if (code != BL_EDATA)
        return code;
    bl_error_prefix(e, "--pattern");
    return BL_EUSAGE;
}

/* --- vocab.json and merges.txt ------------------------------------------------------------------------------------ */

/* The two files of GPT-2: vocab.json with the tokens and their ids, and merges.txt with a merge a line, in order. */

#define END_OF_TEXT "<|endoftext|>"

/* The files have no list of special tokens: <|endoftext|> is the only one, if the vocabulary has it. */
int bl_tokenizer_read_gpt2(struct bl_tokenizer *tokenizer, const struct bl_buffer *vocab, const char *vocab_path,
                           const struct bl_buffer *merges, const char *merges_path, struct bl_error *e)
{
    struct bl_vocabulary names = {0};
    struct bl_merges list = {0};
    const char *line;
    size_t at = 0, size;
    tokenizer->alphabet.kind = BL_ALPHABET_BYTES;
    tokenizer->model = BL_MODEL_BPE;
    tokenizer->split[tokenizer->splits++] = (struct bl_split){.grammar = BL_GRAMMAR_GPT2};
    /* The caller knows that the text is a JSON object. */
    struct bl_json_value object = {.type = BL_JSON_OBJECT, .text = memchr(vocab->data, '{', vocab->size)};
    object.size = (size_t)(vocab->data + vocab->size - object.text);
    int code = bl_names_read(&names, &object, e);
    /* The merges look up tokens by their names. */
    if (!code)
        code = bl_merges_open(&list, tokenizer, &names, e);
    if (code) {
        bl_error_prefix(e, "%s", vocab_path);
        goto out;
    }
    /* A merge is two tokens with a space between them. The first line may be "#version: 0.2". */
    for (size_t number = 1; !code && bl_text_next_line(merges->data, merges->size, &at, &line, &size); number++) {
        /* The place is the line number in messages. */
        list.place = number;
        if (number == 1 && size >= 8 && !memcmp(line, "#version", 8))
            continue;
        code = bl_merges_add_line(&list, line, size, e);
    }
    if (!code)
        code = bl_merges_finish(&list, e);
    if (code) {
        bl_error_prefix(e, "%s:%zu", merges_path, list.place);
        goto out;
    }
    code = bl_bpe_from_merges(&tokenizer->bpe, &tokenizer->vocabulary, list.merge, list.count, 0, false, e);
    if (code) {
        bl_error_prefix(e, "%s", merges_path);
        goto out;
    }
    code = bl_tokenizer_warn_missing_tokens(tokenizer, &names, NULL, e);
    /* A vocabulary of another model may not have it. */
    int64_t end = bl_names_find(&names, END_OF_TEXT, strlen(END_OF_TEXT));
    if (code || end < 0)
        goto out;
    struct bl_added_token token = {.id = (int32_t)end, .plain = !tokenizer->special};
    code = bl_added_add(&tokenizer->raw, END_OF_TEXT, strlen(END_OF_TEXT), &token, e);
out:
    bl_merges_free(&list);
    bl_vocabulary_free(&names);
    return code;
}

/* --- model cache -------------------------------------------------------------------------------------------------- */

/* huggingface_hub's layout: models--OWNER--NAME/refs/main has the name of a folder in snapshots/. tiktoken's: a file is
 * named by the SHA-1 of the address that it came from. */

/* Bytes of refs/main: a revision is a hash of 40 digits. */
#define REVISION_MAX 256

/* Whether the name is OWNER/NAME or NAME, of letters, digits and ._- alone. No part begins with a dot, so that no name
 * leads out of the cache. */
static bool name_is_repository(const char *name)
{
    static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *slash = strchr(name, '/');
    size_t first = strspn(name, known);
    if (!first || *name == '.' || (slash && (slash != name + first || !slash[1] || slash[1] == '.')))
        return false;
    return slash ? slash[1 + strspn(slash + 1, known)] == '\0' : name[first] == '\0';
}

/* Where a cache may be: the value of a variable, and a folder below it. */
struct cache_place {
    const char *variable, *below;
};

/* Appends the first place whose variable is set; false: none is. */
static bool cache_append_place(const struct cache_place *places, size_t count, struct bl_buffer *out)
{
    for (size_t i = 0; i < count; i++) {
        const char *value = getenv(places[i].variable);
        if (!value || !*value)
            continue;
        bl_buffer_printf(out, "%s%s", value, places[i].below);
        return true;
    }
    return false;
}

/* Finds the folder of a repository at the revision main. A cache without it is no error, but one whose refs/main is no
 * name of a revision is. folder has some path of the cache also if nothing is found, for messages. */
static int repository_find(const char *name, struct bl_buffer *folder, bool *found, struct bl_error *e)
{
    /* In the order of huggingface_hub. */
    static const struct cache_place places[] = {{"HF_HUB_CACHE", ""},
                                                {"HF_HOME", "/hub"},
                                                {"XDG_CACHE_HOME", "/huggingface/hub"},
                                                {"HOME", "/.cache/huggingface/hub"}};
    struct bl_buffer revision = {0};
    struct stat status;
    *found = false;
    bl_buffer_clear(folder);
    if (!name_is_repository(name) || !cache_append_place(places, sizeof places / sizeof *places, folder))
        return BL_OK;
    /* The folder of a repository: "models--OWNER--NAME". */
    bl_buffer_text(folder, "/models--");
    for (; *name; name++)
        bl_buffer_text(folder, *name == '/' ? "--" : (const char[]){*name, '\0'});
    /* The folder of the repository, to which refs/main and then snapshots/ are appended. */
    size_t size = folder->size;
    bl_buffer_text(folder, "/refs/main");
    BL_TRY(bl_buffer_check(folder, e));
    if (stat(folder->data, &status) != 0)
        return bl_errno_is_system(errno) ? bl_error_errno(e, BL_EFAIL, "cannot stat %s", folder->data) : BL_OK;
    int code = bl_io_read_file(folder->data, REVISION_MAX, &revision, e);
    if (code)
        goto out;
    /* The name must be one folder of the cache: a slash or a dot could lead to another place. */
    size_t end = strcspn(revision.data, " \r\n");
    if (end == 0 || memchr(revision.data, '/', end) || *revision.data == '.') {
        code = bl_error_set(e, BL_EFAIL, "%s has no name of a revision", folder->data);
        goto out;
    }
    folder->size = size;
    bl_buffer_printf(folder, "/snapshots/%.*s", (int)end, revision.data);
    code = bl_buffer_check(folder, e);
    *found = !code;
out:
    bl_buffer_free(&revision);
    return code;
}

/* Finds the file of an encoding by the SHA-1 of https://openaipublic.blob.core.windows.net/encodings/NAME.tiktoken, as
 * tiktoken names it. */
static int encoding_find(const char *name, struct bl_buffer *path, bool *found, struct bl_error *e)
{
    static const struct {
        const char *name, *file;
    } known[] = {{"r50k_base", "0ea1e91bbb3a60f729a8dc8f777fd2fc07cd8df4"},
                 {"p50k_base", "ec7223a39ce59f226a68acc30dc1af2788490e15"},
                 {"cl100k_base", "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"},
                 {"o200k_base", "fb374d419588a4632f3f557e76b4b70aebbca790"}};
    static const struct cache_place places[] = {
        {"TIKTOKEN_CACHE_DIR", ""}, {"DATA_GYM_CACHE_DIR", ""}, {"TMPDIR", "/data-gym-cache"}};
    struct stat status;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) != 0)
            continue;
        bl_buffer_clear(path);
        if (!cache_append_place(places, sizeof places / sizeof *places, path))
            /* As in tiktoken, which asks Python for the folder of temporary files. */
            bl_buffer_text(path, "/tmp/data-gym-cache");
        bl_buffer_printf(path, "/%s", known[i].file);
        BL_TRY(bl_buffer_check(path, e));
        *found = stat(path->data, &status) == 0;
        if (!*found && bl_errno_is_system(errno))
            return bl_error_errno(e, BL_EFAIL, "cannot stat %s", path->data);
        break;
    }
    return BL_OK;
}

/* The names of encodings are names of repositories, too, so repositories come first. */
int bl_model_cache_find(const char *name, struct bl_buffer *path, bool *found, struct bl_error *e)
{
    int code = repository_find(name, path, found, e);
    return code || *found ? code : encoding_find(name, path, found, e);
}
