#include "kind/text/encodings.h"

#include <string.h>
#include <xxhash.h>

#define ONE(text, id)                                                                                                  \
    {                                                                                                                  \
        text, NULL, id, 1, 0                                                                                           \
    }

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

/* Those that do not depend on how many languages a model has. */
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

static const struct bl_specials qwen[] = {ONE("<|endoftext|>", 151643),
                                          ONE("<|im_start|>", 151644),
                                          ONE("<|im_end|>", 151645),
                                          {"<|extra_", "|>", 151646, 205, 0},
                                          {0}};

/* Of two with the same ranks the first is meant where no name is given. */
static const struct bl_encoding encodings[] = {
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

int bl_encoding_digest(const struct bl_vocabulary *ranks, uint64_t *digest, struct bl_error *e)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return bl_error_memory(e);
    XXH3_64bits_reset(state);
    for (size_t i = 0; i < ranks->count; i++) {
        const struct bl_token *token = &ranks->token[i];
        const uint32_t head[2] = {(uint32_t)token->id, token->size};
        XXH3_64bits_update(state, head, sizeof head);
        XXH3_64bits_update(state, bl_vocabulary_bytes(ranks, i), token->size);
    }
    *digest = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return BL_OK;
}

const struct bl_encoding *bl_encoding_by_name(const char *name)
{
    for (size_t i = 0; i < ENCODINGS; i++) {
        if (strcmp(encodings[i].name, name) == 0)
            return &encodings[i];
    }
    return NULL;
}

const struct bl_encoding *bl_encoding_by_digest(uint64_t digest)
{
    for (size_t i = 0; i < ENCODINGS; i++) {
        if (encodings[i].digest == digest)
            return &encodings[i];
    }
    return NULL;
}

void bl_encoding_list_names(struct bl_buffer *out)
{
    for (size_t i = 0; i < ENCODINGS; i++)
        bl_buffer_printf(out, "%s%s", i == 0 ? "" : i + 1 < ENCODINGS ? ", " : " or ", encodings[i].name);
}
