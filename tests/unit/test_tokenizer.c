#include "kind/text/encoder.h"
#include "base/output.h"
#include "base/text.h"
#include "kind/text/bpe.h"
#include "kind/text/grammar.h"
#include "unit.h"

UNIT_SCRATCH

/* All bytes as tokens of a .tiktoken, then the lines that follow. */
static void write_ranks(const char *path, const char *more)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    struct bl_error e = {0};
    for (int i = 0; i < 256; i++)
        bl_buffer_printf(&text, "%c%c== %d\n", digits[i >> 2], digits[(i & 3) << 4], i);
    bl_buffer_text(&text, more);
    ck_assert_int_eq(bl_output_replace(path, text.data, text.size, &e), BL_OK);
}

static void refused(const char *path, const char *pattern, int code, const char *message)
{
    struct bl_tokenizer *tokenizer;
    struct bl_error e = {0};
    struct bl_tokenizer_options options = {.path = path, .pattern = pattern};
    ck_assert_msg(bl_tokenizer_open(&tokenizer, &options, &e) == code, "\"%s\" for %s", e.text, message);
    ck_assert_ptr_null(tokenizer);
    ck_assert_msg(strstr(e.text, message), "\"%s\" where \"%s\" was to come", e.text, message);
}

UNIT_TEST(bad_ranks_are_refused_by_line)
{
    static const struct {
        const char *line, *message;
    } bad[] = {
        {"YWI= 12\n", "t.tiktoken: two tokens have the rank 12"},
        {"YWI= 16777216\n", "t.tiktoken:257: a token without a rank from 0 to 16777215"},
        {"YWI 256\n", "t.tiktoken:257: \"YWI\" is not a token in base64"},
        {"YW!= 256\n", "t.tiktoken:257: \"YW!=\" is not a token"},
        {"YWJ= 256\n", "t.tiktoken:257: \"YWJ=\" is not a token"},
        {"YWI= x\n", "t.tiktoken:257: a token without a rank"},
        {"YWI=\n", "t.tiktoken:257: a token without a rank"},
        {"YQ== 256\n", "t.tiktoken:257: the same token as rank 97"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        write_ranks("t.tiktoken", bad[i].line);
        refused("t.tiktoken", "r50k", BL_EFAIL, bad[i].message);
    }
    write_ranks("t.tiktoken", "");
    refused("t.tiktoken", NULL, BL_EUSAGE, "--pattern");
    refused("t.tiktoken", "p99", BL_EUSAGE, "--pattern 'p99' is unknown: use r50k, p50k,");
    refused("t.tiktoken", "(a", BL_EUSAGE, "--pattern: offset 2 of the pattern: PCRE2: missing closing parenthesis");
    refused("none.tiktoken", "r50k", BL_EUSAGE, "none.tiktoken");
    unit_write_text("t.tiktoken", "YQ== 0\n");
    refused("t.tiktoken", "r50k", BL_EFAIL, "the byte 0x00 has no token");
}

/* An empty token has a rank, and no part in anything: that of Whisper's file. Ranks may have gaps: those of p50k. */
UNIT_TEST(an_empty_token_takes_a_rank_alone)
{
    struct bl_tokenizer *tokenizer;
    struct bl_encoder *encoder;
    struct bl_ids ids = {0};
    struct bl_tokenizer_options options = {.path = "t.tiktoken", .pattern = "r50k"};
    write_ranks("t.tiktoken", "= 256\nYWI= 300\n");
    ck_assert_msg(bl_tokenizer_open(&tokenizer, &options, &e) == BL_OK, "%s", e.text);
    ck_assert_int_eq(bl_encoder_open(&encoder, tokenizer, &e), BL_OK);
    ck_assert_int_eq(bl_encoder_encode(encoder, "abc", 3, &ids, &e), BL_OK);
    ck_assert_uint_eq(ids.count, 2);
    ck_assert_int_eq(ids.id[0], 300);
    ck_assert_int_eq(bl_tokenizer_size(tokenizer), 301);
    ck_assert_int_eq(ids.id[1], 'c');
    bl_ids_free(&ids);
    bl_encoder_close(encoder);
    bl_tokenizer_close(tokenizer);
    write_ranks("t.tiktoken", "= 256\n= 257\n");
    refused("t.tiktoken", "r50k", BL_EFAIL, "t.tiktoken:258: the same token as rank 256");
}

/* Tokens of bytes by their base64, and one for "ab"; four special tokens. */
static void write_tekken(const char *config, const char *specials, const char *more)
{
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    bl_buffer_printf(&text, "{\"config\":{\"pattern\":\"[^a]+|a+b*\"%s},%s\"vocab\":[", config, specials);
    for (int i = 0; i < 256; i++) {
        bl_buffer_printf(&text, "{\"rank\":%d,\"token_bytes\":\"", i);
        bl_base64_append(&text, &(uint8_t){(uint8_t)i}, 1);
        bl_buffer_text(&text, "\",\"token_str\":null},\n");
    }
    bl_buffer_printf(&text, "%s]}", more);
    unit_write_text("tekken.json", text.data);
}

#define TEKKEN ",\"default_vocab_size\":261,\"default_num_special_tokens\":4"
#define TEKKEN_AB "{\"rank\":256,\"token_bytes\":\"YWI=\"}"

UNIT_TEST(tekken_files_have_special_tokens_first)
{
    static const struct {
        const char *config, *specials, *more, *message;
    } bad[] = {
        {"", "", TEKKEN_AB, "tekken.json: \"config\" has no default_vocab_size"},
        {",\"default_vocab_size\":3,\"default_num_special_tokens\":4", "", TEKKEN_AB, "\"config\" has no"},
        {TEKKEN, "", "{\"rank\":255,\"token_bytes\":\"YWI=\"}", "\"vocab\", entry 256: its \"rank\" is not 256"},
        {TEKKEN, "", "{\"rank\":256,\"token_bytes\":\"YW=\"}", "\"vocab\", entry 256: its \"token_bytes\""},
        {TEKKEN, "", "{\"rank\":256,\"token_bytes\":\"YQ==\"}",
         "\"vocab\", entry 256: it is the same token as entry 97"},
        {TEKKEN, "", "{\"rank\":256}", "\"vocab\", entry 256: its \"token_bytes\""},
        {",\"default_vocab_size\":999,\"default_num_special_tokens\":4", "", TEKKEN_AB,
         "\"vocab\" has 257 tokens, and the model 995"},
        {TEKKEN, "\"special_tokens\":[{\"rank\":4,\"token_str\":\"x\"}],", TEKKEN_AB,
         "\"special_tokens\", entry 0: its \"rank\" is not below 4"},
        {TEKKEN, "\"special_tokens\":[{\"rank\":0}],", TEKKEN_AB,
         "\"special_tokens\", entry 0: the special token 0 is empty"},
    };
    struct bl_tokenizer *tokenizer;
    struct bl_encoder *encoder;
    OWNED(bl_ids_free) struct bl_ids ids = {0};
    struct bl_tokenizer_options options = {.path = "tekken.json", .special = true};
    for (size_t i = 0; i < COUNT(bad); i++) {
        write_tekken(bad[i].config, bad[i].specials, bad[i].more);
        refused("tekken.json", NULL, BL_EFAIL, bad[i].message);
    }
    write_tekken(TEKKEN, "\"special_tokens\":[{\"rank\":0,\"token_str\":\"<s>\"}],", TEKKEN_AB);
    ck_assert_msg(bl_tokenizer_open(&tokenizer, &options, &e) == BL_OK, "%s", e.text);
    ck_assert_int_eq(bl_encoder_open(&encoder, tokenizer, &e), BL_OK);
    ck_assert_int_eq(bl_encoder_encode(encoder, "ab<s><SPECIAL_3>c", 17, &ids, &e), BL_OK);
    ck_assert_uint_eq(ids.count, 4);
    ck_assert_int_eq(ids.id[0], 260);
    ck_assert_int_eq(ids.id[1], 0);
    ck_assert_int_eq(ids.id[2], 3);
    ck_assert_int_eq(ids.id[3], 4 + 'c');
    ck_assert_int_eq(bl_tokenizer_find(tokenizer, "<SPECIAL_1>"), 1);
    ck_assert_int_eq(bl_tokenizer_size(tokenizer), 261);
    bl_encoder_close(encoder);
    bl_tokenizer_close(tokenizer);
}

UNIT_TEST(components_are_followed_or_refused)
{
#define BYTES "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"
#define MODEL(more) "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]" more "}"
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"{", "t.json:1:"},
        {"{\"model\":{}}", "\"model\": is not an object of tokens"},
        {"{\"model\":3," BYTES "}", "\"model\" is missing, or not an object"},
        {"{\"surprise\":1," MODEL("") "," BYTES "}", "not supported: \"surprise\" of the file"},
        {"{" MODEL(
             ",\"dropout\":0.1") ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"A\"},{\"type\":"
                                 "\"B\"}]},\"pre_tokenizer\":{\"type\":\"C\"}}",
         "not supported: the normalizer \"A\", the normalizer \"B\", the pre-tokenizer \"C\", \"dropout\" of the model "
         "BPE"},
        {"{" MODEL("") ",\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"x*\"},\"content\":\"\"}}",
         "a pattern that matches empty text"},
        {"{" MODEL("") ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"!\"}}", "is not base64"},
        {"{" MODEL("") ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAAAAAAAAA=\"}}",
         "is damaged"},
        {"{" MODEL("") ",\"pre_tokenizer\":{\"type\":\"Metaspace\"}}", "\"replacement\" is not one character"},
        {"{" MODEL("") ",\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"x\"}}",
         "\"prepend_scheme\" is not"},
        {"{" MODEL("") ",\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"fancy\":1}}", "\"fancy\""},
        {"{\"model\":{\"type\":\"Unigram\"}," BYTES "}", "\"model.vocab\" is not a list of pieces"},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}}", "entry 0, is not [piece, score]"},
        {"{\"model\":{\"vocab\":[[\"a\",0]],\"unk_id\":1}}", "\"model.unk_id\" is not the number of a piece"},
        {"{\"model\":{\"type\":\"Other\"}," BYTES "}", "not supported: the model \"Other\""},
        {"{" MODEL(",\"dropout\":0.1") "," BYTES "}", "\"dropout\""},
        {"{" MODEL(",\"continuing_subword_prefix\":\"#\"") "}", "\"continuing_subword_prefix\""},
        {"{\"model\":{\"vocab\":{\"<0x00>\":0},\"merges\":[],\"byte_fallback\":true}}", "without a token \"<0xF4>\""},
        {"{" MODEL(",\"ignore_merges\":7") "," BYTES "}", "\"ignore_merges\" is not true or false"},
        {"{\"model\":{\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}," BYTES "}",
         "the id 0 of \"b\" is also that of another token"},
        {"{\"model\":{\"vocab\":{\"a\":0,\"\\u0061\":1},\"merges\":[]}," BYTES "}", "\"a\" is there twice"},
        {"{\"model\":{\"vocab\":{\"a\":0,\"b\xff\":1},\"merges\":[]}," BYTES "}",
         "t.json: \"model.vocab\": entry 1: the token is not UTF-8"},
        {"{\"model\":{\"vocab\":{\"a\":0,\"b\":1e3},\"merges\":[]}," BYTES "}",
         "t.json: \"model.vocab\": the id of \"b\" is not an integer from 0 to"},
        {"{\"model\":{\"vocab\":{\"a\":0,\"a\":1},\"merges\":[]}," BYTES "}",
         "t.json: \"model.vocab\": \"a\" is there twice"},
        {"{\"model\":{\"vocab\":{\"a\":-1},\"merges\":[]}," BYTES "}", "the id of \"a\" is not an integer"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}," BYTES "}", "entry 0: \"b\" is not in the vocabulary"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"a a\"]}," BYTES "}", "\"aa\" is not in the vocabulary"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"aa\"]}," BYTES "}", "entry 0: \"aa\" is not a merge"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[[\"a\"]]}," BYTES "}", "entry 0: is not a merge"},
        {"{\"model\":{\"vocab\":{\"a</w>\":0,\"b\":1,\"a</"
         "w>b\":2,\"<unk>\":3},\"unk_token\":\"<unk>\",\"end_of_word_suffix\":"
         "\"</w>\",\"merges\":[\"a</w> b\"]}}",
         "entry 0: \"a</w>\" ends a word, and nothing can follow it"},
        {"{" MODEL("") ",\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(x\"},\"content\":\"\"},"
                       "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Punctuation\","
                       "\"behavior\":\"P\"},{\"type\":\"Metaspace\"},{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(y\"}"
                       ",\"behavior\":\"Q\"}]}}",
         "not supported: the pattern \"(x\" (offset 2 of the pattern: PCRE2: missing closing parenthesis), "
         "the behavior \"P\", the behavior \"Q\", the pattern \"(y\" (offset 2"},
        {"{\"a\":1}", "has no \"model\""},
        {"[]", "t.json is not a tokenizer: it has no JSON object"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        unit_write_text("t.json", bad[i].text);
        refused("t.json", NULL, BL_EFAIL, bad[i].message);
    }
    refused("t.json", "r50k", BL_EUSAGE, "--pattern is for a .tiktoken");
    refused("bytes", "r50k", BL_EUSAGE, "--pattern");
    struct bl_tokenizer *tokenizer;
    struct bl_tokenizer_options options = {.path = "t.json", .lowercase = BL_LOWERCASE_NO};
    FAILS_WITH(bl_tokenizer_open(&tokenizer, &options, &e), BL_EUSAGE, "--lowercase is for a vocab.txt");
}

/* A vocabulary of all bytes and tokens over a few letters, in an order that a training could have found, or in none. */
static void make_tokens(struct bl_vocabulary *v, unsigned seed, bool shuffled)
{
    struct bl_error e = {0};
    int64_t known;
    for (int i = 0; i < 256; i++)
        ck_assert_int_eq(bl_vocabulary_add(v, &(uint8_t){(uint8_t)i}, 1, i, &known, &e), BL_OK);
    srandom(seed);
    while (v->count < 256 + 60) {
        uint8_t bytes[16];
        size_t size = 0, parts = shuffled ? 3 : 2;
        for (size_t i = 0; i < parts; i++) {
            size_t count = shuffled ? 3 : 3 + (v->count - 256);
            size_t pick = (size_t)random() % count, token = pick < 3 ? 'a' + pick : 256 + pick - 3;
            if (size + v->token[token].size > sizeof bytes)
                continue;
            memcpy(bytes + size, bl_vocabulary_bytes(v, token), v->token[token].size);
            size += v->token[token].size;
        }
        if (shuffled)
            size = 2 + (size_t)random() % 2;
        ck_assert_int_eq(bl_vocabulary_add(v, bytes, size, (int32_t)v->count, &known, &e), BL_OK);
        if (shuffled && v->count > 256 + 20)
            break;
    }
}

/* What merging by ranks is, without any table. */
static size_t merge_plainly(const struct bl_vocabulary *v, const uint8_t *word, size_t size, int32_t *id)
{
    size_t start[64], n = size;
    int64_t token = bl_vocabulary_find(v, word, size);
    id[0] = (int32_t)token;
    if (token >= 0)
        return 1;
    for (size_t i = 0; i <= size; i++)
        start[i] = i;
    for (;;) {
        int64_t best = INT64_MAX;
        size_t at = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            int64_t both = bl_vocabulary_find(v, word + start[i], start[i + 2] - start[i]);
            at = both >= 0 && both < best ? i : at;
            best = both >= 0 && both < best ? both : best;
        }
        if (best == INT64_MAX)
            break;
        memmove(start + at + 1, start + at + 2, (n - at - 1) * sizeof *start);
        n--;
    }
    for (size_t i = 0; i < n; i++)
        id[i] = (int32_t)bl_vocabulary_find(v, word + start[i], start[i + 1] - start[i]);
    return n;
}

UNIT_TEST(lengths_that_a_file_asks_for_are_warned_of)
{
    struct bl_tokenizer *tokenizer = NULL;
    const struct bl_tokenizer_options options = {.path = "t.json"};
    unit_write_text("t.json", "{\"truncation\": {\"max_length\": 8}, \"padding\": null,"
                              " \"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"},"
                              " \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\","
                              " \"continuing_subword_prefix\": \"##\", \"max_input_chars_per_word\": 100,"
                              " \"vocab\": {\"[UNK]\": 0, \"a\": 1}}}");
    ck_assert_msg(bl_tokenizer_open(&tokenizer, &options, &e) == 0, "%s", e.text);
    ck_assert_str_eq(bl_tokenizer_warning(tokenizer), "t.json: its truncation not applied: see -T and --oversize");
    bl_tokenizer_close(tokenizer);
}

static void warned(const char *path, const char *text, const char *warning)
{
    struct bl_error e = {0};
    struct bl_tokenizer *tokenizer = NULL;
    const struct bl_tokenizer_options options = {.path = path};
    unit_write_text(path, text);
    ck_assert_msg(bl_tokenizer_open(&tokenizer, &options, &e) == 0, "%s", e.text);
    if (warning)
        ck_assert_str_eq(bl_tokenizer_warning(tokenizer), warning);
    else
        ck_assert_ptr_null(bl_tokenizer_warning(tokenizer));
    bl_tokenizer_close(tokenizer);
}

UNIT_TEST(ids_without_a_token_are_warned_of)
{
#define PIECES(vocab)                                                                                                  \
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"model\":{\"type\":\"WordPiece\",\"vocab\":{" vocab "}}"
#define LOWER " lower case, as no token has upper case: --lowercase no if it should not"
#define ADDED(id) "\"added_tokens\":[{\"id\":" id ",\"content\":\"[X]\"}],"
    warned("t.json", "{" PIECES("\"[UNK]\":0,\"a\":1") "}", NULL);
    warned("t.json", "{" ADDED("2") PIECES("\"[UNK]\":0,\"a\":1") "}", NULL);
    /* What an added token fills is no hole. */
    warned("t.json", "{" ADDED("2") PIECES("\"[UNK]\":0,\"a\":3") "}",
           "t.json: 1 of the ids up to 3 have no token, the first is 1");
    warned("t.json", "{" PIECES("\"[UNK]\":9,\"a\":3,\"b\":0") "}",
           "t.json: 7 of the ids up to 9 have no token, the first is 1");
    warned("vocab.txt", "[UNK]\na\n\nb\n\n\nc\n\n",
           "vocab.txt: text becomes" LOWER "; 3 of the ids up to 6 have no token, the first is 2");
    warned("vocab.txt", "[UNK]\na\n\n", "vocab.txt: text becomes" LOWER);
    warned("vocab.txt", "[UNK]\na\na\n<S>\n",
           "vocab.txt: text becomes" LOWER "; 1 of the ids up to 3 have no token, the first is 1");
    warned("vocab.txt", "[UNK]\nA\n",
           "vocab.txt: text does not become lower case, as tokens have upper case: --lowercase yes if it should");
    /* Of a vocab.json "model" is a token like others. */
    unit_write_text("vocab.json", "{\"model\":0}");
    refused("vocab.json", NULL, BL_EFAIL, "merges.txt");
}

UNIT_TEST(merging_is_what_it_is_defined_to_be)
{
    int in_order = 0;
    for (unsigned seed = 0; seed < 60; seed++) {
        OWNED(bl_vocabulary_free) struct bl_vocabulary v = {0};
        OWNED(bl_bpe_free) struct bl_bpe bpe = {0};
        OWNED(bl_bpe_scratch_free) struct bl_bpe_scratch scratch = {0};
        OWNED(bl_ids_free) struct bl_ids ids = {0};
        make_tokens(&v, seed, seed % 2);
        ck_assert_msg(bl_bpe_from_ranks(&bpe, &v, &e) == BL_OK, "%s", e.text);
        bool ordered = bpe.ordered;
        in_order += ordered;
        for (int i = 0; i < unit_times(2000); i++) {
            uint8_t word[60];
            int32_t expected[60];
            size_t size = 1 + (size_t)random() % sizeof word;
            for (size_t k = 0; k < size; k++)
                word[k] = (uint8_t)('a' + random() % 3);
            ids.count = 0;
            ck_assert_int_eq(bl_bpe_encode(&bpe, &scratch, word, size, &ids, &e), BL_OK);
            size_t n = merge_plainly(&v, word, size, expected);
            ck_assert_uint_eq(ids.count, n);
            ck_assert_int_eq(memcmp(ids.id, expected, n * sizeof *expected), 0);
            bpe.ordered = false; /* step by step, too */
            ids.count = 0;
            ck_assert_int_eq(bl_bpe_encode(&bpe, &scratch, word, size, &ids, &e), BL_OK);
            ck_assert_uint_eq(ids.count, n);
            ck_assert_int_eq(memcmp(ids.id, expected, n * sizeof *expected), 0);
            bpe.ordered = ordered;
        }
    }
    ck_assert(in_order > 10 && in_order < 60); /* both ways were gone */
}

/* Every way to make a token of two, by token, or in no order: then some tokens are made before those that they join. */
static size_t make_merges(const struct bl_vocabulary *v, bool shuffled, struct bl_merge *merge, size_t room)
{
    size_t count = 0;
    for (size_t i = 256; i < v->count; i++) {
        const uint8_t *bytes = bl_vocabulary_bytes(v, i);
        for (size_t k = 1; k < v->token[i].size; k++) {
            int64_t left = bl_vocabulary_find(v, bytes, k);
            int64_t right = bl_vocabulary_find(v, bytes + k, v->token[i].size - k);
            ck_assert_uint_lt(count, room);
            if (left >= 0 && right >= 0)
                merge[count++] = (struct bl_merge){(uint32_t)left, (uint32_t)right, (uint32_t)i};
        }
    }
    for (size_t i = count; shuffled && i > 1; i--) {
        size_t other = (size_t)random() % i;
        struct bl_merge one = merge[i - 1];
        merge[i - 1] = merge[other];
        merge[other] = one;
    }
    return count;
}

/* What merging by a list is: the first merge of the list, then the leftmost pair. */
static size_t merge_by_list(const struct bl_merge *merge, size_t merges, const uint8_t *word, size_t size, int32_t *id)
{
    for (size_t i = 0; i < size; i++)
        id[i] = word[i];
    for (;;) {
        size_t first = merges, at = 0;
        for (size_t i = 0; i + 1 < size; i++) {
            for (size_t m = 0; m < first; m++) {
                if (merge[m].left == (uint32_t)id[i] && merge[m].right == (uint32_t)id[i + 1]) {
                    first = m;
                    at = i;
                }
            }
        }
        if (first == merges)
            return size;
        id[at] = (int32_t)merge[first].token;
        size--;
        memmove(id + at + 1, id + at + 2, (size - at - 1) * sizeof *id);
    }
}

UNIT_TEST(merges_are_made_in_any_order)
{
    int in_order = 0;
    for (unsigned seed = 0; seed < 60; seed++) {
        OWNED(bl_vocabulary_free) struct bl_vocabulary v = {0};
        OWNED(bl_bpe_free) struct bl_bpe bpe = {0};
        OWNED(bl_bpe_scratch_free) struct bl_bpe_scratch scratch = {0};
        OWNED(bl_ids_free) struct bl_ids ids = {0};
        bl_error_clear(&e);
        struct bl_merge merge[1024];
        make_tokens(&v, seed, seed % 3 == 1);
        size_t count = make_merges(&v, seed % 2, merge, COUNT(merge));
        ck_assert_msg(bl_bpe_from_merges(&bpe, &v, merge, count, 0, false, &e) == BL_OK, "%s", e.text);
        in_order += bpe.ordered;
        for (int i = 0; i < 300; i++) {
            uint8_t word[60];
            int32_t expected[60];
            size_t size = 1 + (size_t)random() % sizeof word;
            for (size_t k = 0; k < size; k++)
                word[k] = (uint8_t)('a' + random() % 3);
            ids.count = 0;
            ck_assert_int_eq(bl_bpe_encode(&bpe, &scratch, word, size, &ids, &e), BL_OK);
            size_t n = merge_by_list(merge, count, word, size, expected);
            ck_assert_uint_eq(ids.count, n);
            ck_assert_int_eq(memcmp(ids.id, expected, n * sizeof *expected), 0);
        }
        bl_bpe_free(&bpe);
        merge[count] = merge[count / 2];
        FAILS_WITH(bl_bpe_from_merges(&bpe, &v, merge, count + 1, 0, false, &e), BL_EFAIL,
                   "has the same pair as merge");
    }
    ck_assert(in_order > 10 && in_order < 60); /* both ways were gone */
}

/* The words of a text, with a bar between them. */
static void split(enum bl_grammar grammar, const char *text, const char *expected)
{
    char found[256] = "";
    size_t at = 0, end[2], start = 0, size = strlen(text);
    while (at < size) {
        size_t n = bl_grammar_split(grammar, (const uint8_t *)text, size, &at, end, 2);
        for (size_t i = 0; i < n; start = end[i++]) {
            strncat(found, text + start, end[i] - start);
            strcat(found, end[i] < size ? "|" : "");
        }
    }
    ck_assert_str_eq(found, expected);
}

UNIT_TEST(grammars_split_as_their_patterns_say)
{
    split(BL_GRAMMAR_GPT2, "I'll go  to 2024!? \n", "I|'ll| go| | to| 2024|!?| \n");
    split(BL_GRAMMAR_GPT2, "it'S \t x", "it|'|S| \t| x");
    split(BL_GRAMMAR_LLAMA3, "it'S 12345 (a)\n\n  b", "it|'S| |123|45| (|a|)\n\n| | b");
    split(BL_GRAMMAR_LLAMA3, "a\n  ", "a|\n|  ");
    split(BL_GRAMMAR_CL100K, "a\n  ", "a|\n  ");
    split(BL_GRAMMAR_QWEN, "v12\xc5\xbf'\xc5\xbf", "v|1|2|\xc5\xbf|'\xc5\xbf");
    split(BL_GRAMMAR_O200K,
          "HTMLParser'S ABC/\n d\xcc\x81"
          "X",
          "HTMLParser'S| ABC|/\n| d\xcc\x81|X");
    split(BL_GRAMMAR_O200K,
          "\xe3\x81\x82"
          "AB c",
          "\xe3\x81\x82|AB| c");
    split(BL_GRAMMAR_TEKKEN, "aB'll 123//\n", "a|B|'ll| |1|2|3|//\n");
    split(BL_GRAMMAR_DIGITS, "ab12c", "ab|1|2|c");
    split(BL_GRAMMAR_DIGIT_RUNS, "ab12c", "ab|12|c");
}

/* All ends of words, asked for so many at a time. */
static size_t ends_of(enum bl_grammar grammar, const uint8_t *text, size_t size, size_t max, size_t *end)
{
    size_t at = 0, count = 0;
    while (at < size)
        count += bl_grammar_split(grammar, text, size, &at, end + count, max);
    return count;
}

/* Characters of a few neighbours in an alphabet. */
static size_t make_text(uint8_t *text, size_t size)
{
    static const char alphabet[] = "aabstSTlLveErRmdDX'''   \n\r\t//12(.-Z~\x0b\x1c\x7f\xc3";
    size_t count = sizeof alphabet - 1, first = (size_t)random() % count, kinds = 1 + (size_t)random() % count;
    size_t at = 0;
    while (at < size) {
        text[at] = (uint8_t)alphabet[(first + (size_t)random() % kinds) % count];
        if (text[at++] == 0xc3)
            text[at++] = 0xa9;
    }
    return at;
}

/* Asked for few words at a time the scanners go byte by byte, and else by masks over blocks. */
UNIT_TEST(words_by_blocks_are_those_by_bytes)
{
    static const enum bl_grammar grammars[] = {BL_GRAMMAR_GPT2, BL_GRAMMAR_LLAMA3, BL_GRAMMAR_CL100K,
                                               BL_GRAMMAR_QWEN, BL_GRAMMAR_O200K,  BL_GRAMMAR_TEKKEN};
    uint8_t text[301];
    size_t slow[301], fast[301];
    srandom(1);
    for (int i = 0; i < 40000; i++) {
        size_t size = make_text(text, 1 + (size_t)random() % 300);
        size_t n = ends_of(grammars[i % 5], text, size, 2, slow);
        ck_assert_uint_eq(ends_of(grammars[i % 5], text, size, 256, fast), n);
        ck_assert_mem_eq(fast, slow, n * sizeof *slow);
    }
}

/* A limit on what is made of a text holds for each step, for all parts between added tokens, and again without it. */
UNIT_TEST(what_a_step_makes_has_a_limit)
{
    static const struct {
        const char *normalizer, *text;
        size_t limit, wanted; /* 0: it has room; 1: more than the limit */
    } tries[] = {
        {"{\"type\":\"Prepend\",\"prepend\":\"aaaaaaaa\"}", "aa", 10, 0},
        {"{\"type\":\"Prepend\",\"prepend\":\"aaaaaaaa\"}", "aaa", 10, 11},
        {"{\"type\":\"Prepend\",\"prepend\":\"aaaaaaaa\"}", "a<X>", 10, 0},
        {"{\"type\":\"Prepend\",\"prepend\":\"aaaaaaaa\"}", "a<X>a", 10, 1},
        {"{\"type\":\"Replace\",\"pattern\":{\"String\":\"b\"},\"content\":\"aaaaaaaaaa\"}", "babb", 31, 0},
        {"{\"type\":\"Replace\",\"pattern\":{\"String\":\"b\"},\"content\":\"aaaaaaaaaa\"}", "babb", 30, 31},
        {"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"b\"},\"content\":\"aaaaaaaaaa\"}", "babb", 2, 31},
    };
    for (size_t i = 0; i < COUNT(tries); i++) {
        OWNED(bl_buffer_free) struct bl_buffer text = {0};
        struct bl_tokenizer *tokenizer;
        struct bl_encoder *encoder;
        OWNED(bl_ids_free) struct bl_ids ids = {0};
        bl_error_clear(&e);
        const struct bl_tokenizer_options options = {.path = "t.json", .special = true};
        bl_buffer_printf(&text,
                         "{\"normalizer\":%s,\"added_tokens\":[{\"id\":1,\"content\":\"<X>\",\"special\":true}],"
                         "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},"
                         "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}",
                         tries[i].normalizer);
        unit_write_text("t.json", text.data);
        ck_assert_msg(bl_tokenizer_open(&tokenizer, &options, &e) == BL_OK, "%s", e.text);
        ck_assert_int_eq(bl_encoder_open(&encoder, tokenizer, &e), BL_OK);
        for (int again = 0; again < 2; again++) {
            size_t wanted = tries[i].wanted == 1 ? tries[i].limit + 1 : tries[i].wanted;
            ids.count = 0;
            bl_encoder_limit(encoder, tries[i].limit);
            int code = bl_encoder_encode(encoder, tries[i].text, strlen(tries[i].text), &ids, &e);
            ck_assert_int_eq(code, wanted ? BL_EFAIL : BL_OK);
            ck_assert_uint_eq(bl_encoder_wanted(encoder), wanted);
            bl_error_clear(&e);
            ids.count = 0;
            bl_encoder_limit(encoder, 0);
            ck_assert_int_eq(bl_encoder_encode(encoder, tries[i].text, strlen(tries[i].text), &ids, &e), BL_OK);
            ck_assert_uint_eq(bl_encoder_wanted(encoder), 0);
        }
        bl_encoder_close(encoder);
        bl_tokenizer_close(tokenizer);
    }
}
