/* Ids of texts from the tool's own tokenizers: documents on stdin, ids on stdout.
 *
 *     encode_text TOKENIZER [pattern=NAME] [special=parse] [lowercase=yes|no] [documents=file|line|length]
 * [print=ids|count] < text > ids
 *
 * Documents are the whole of stdin, its lines (each without its newline), or texts that each follow their size as
 * little-endian u32. Printed are the ids as little-endian u32, after every document that came by length their number
 * first; or, for benches, "tokens bytes seconds" of the processor in encoding alone. Exit status as the tool's. */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "kind/text/encoder.h"

struct job {
    struct bl_tokenizer_options options;
    const char *documents;
    bool count;
    struct bl_encoder *encoder;
    struct bl_ids ids;
    int64_t tokens;
};

static int option_parse(struct job *job, const char *text, struct bl_error *e)
{
    if (!strncmp(text, "pattern=", 8))
        job->options.pattern = text + 8;
    else if (!strcmp(text, "special=parse"))
        job->options.special = true;
    else if (!strcmp(text, "lowercase=yes") || !strcmp(text, "lowercase=no"))
        job->options.lowercase = text[10] == 'y' ? BL_LOWERCASE_YES : BL_LOWERCASE_NO;
    else if (!strncmp(text, "documents=", 10))
        job->documents = text + 10;
    else if (!strcmp(text, "print=count"))
        job->count = true;
    else if (strcmp(text, "print=ids") != 0)
        return bl_error_set(e, BL_EUSAGE, "cannot make anything of %s", text);
    return BL_OK;
}

static int words_write(const uint32_t *word, size_t count, struct bl_error *e)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t little = htole32(word[i]);
        if (fwrite(&little, sizeof little, 1, stdout) != 1)
            return bl_error_errno(e, BL_EFAIL, "cannot write");
    }
    return BL_OK;
}

/* One document. */
static int encode(struct job *job, const char *text, size_t size, struct bl_error *e)
{
    job->ids.count = 0;
    int code = bl_encoder_encode(job->encoder, text, size, &job->ids, e);
    job->tokens += (int64_t)job->ids.count;
    if (code || job->count)
        return code;
    uint32_t count = (uint32_t)job->ids.count;
    if (!strcmp(job->documents, "length"))
        code = words_write(&count, 1, e);
    return code ? code : words_write((const uint32_t *)job->ids.id, job->ids.count, e);
}

/* The document at *at, and where the next one begins. False: there is none. */
static bool next_document(const struct job *job, const struct bl_buffer *input, size_t *at, const char **text,
                          size_t *size)
{
    size_t left = input->size - *at;
    *text = input->data + *at;
    if (!left)
        return false;
    if (!strcmp(job->documents, "length")) {
        uint32_t little = 0;
        if (left < sizeof little)
            return false;
        memcpy(&little, *text, sizeof little);
        *text += sizeof little;
        *size = le32toh(little);
        *at += sizeof little + *size;
        return *at <= input->size;
    }
    const char *newline = !strcmp(job->documents, "line") ? memchr(*text, '\n', left) : NULL;
    *size = newline ? (size_t)(newline - *text) : left;
    *at += *size + (newline != NULL);
    return true;
}

static int encode_all(struct job *job, const struct bl_buffer *input, struct bl_error *e)
{
    struct timespec begin, end;
    const char *text;
    size_t at = 0, size = 0;
    int code = BL_OK;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    while (!code && next_document(job, input, &at, &text, &size))
        code = encode(job, text, size, e);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    if (!code && job->count)
        printf("%lld %zu %.6f\n", (long long)job->tokens, input->size,
               (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
    return code;
}

static int read_input(struct bl_buffer *input, struct bl_error *e)
{
    for (;;) {
        if (!bl_buffer_reserve(input, 1 << 20))
            return bl_error_memory(e);
        size_t got = fread(input->data + input->size, 1, 1 << 20, stdin);
        input->size += got;
        if (ferror(stdin))
            return bl_error_errno(e, BL_EFAIL, "cannot read");
        if (!got)
            return BL_OK;
    }
}

static int run(struct job *job, int argc, char **argv, struct bl_error *e)
{
    struct bl_tokenizer *tokenizer = NULL;
    struct bl_buffer input = {0};
    int code = argc < 2 ? bl_error_set(e, BL_EUSAGE, "usage: encode_text TOKENIZER [name=value...]") : BL_OK;
    for (int i = 2; i < argc && !code; i++)
        code = option_parse(job, argv[i], e);
    job->options.path = argv[1];
    if (!code)
        code = bl_tokenizer_open(&tokenizer, &job->options, e);
    if (!code && bl_tokenizer_warning(tokenizer))
        fprintf(stderr, "encode_text: %s\n", bl_tokenizer_warning(tokenizer));
    if (!code)
        code = bl_encoder_open(&job->encoder, tokenizer, e);
    if (!code)
        code = read_input(&input, e);
    if (!code)
        code = encode_all(job, &input, e);
    bl_encoder_close(job->encoder);
    bl_tokenizer_close(tokenizer);
    bl_buffer_free(&input);
    bl_ids_free(&job->ids);
    return code;
}

int main(int argc, char **argv)
{
    struct bl_error e = {0};
    struct job job = {.documents = "file"};
    int code = run(&job, argc, argv, &e);
    if (!code && fflush(stdout))
        code = bl_error_errno(&e, BL_EFAIL, "cannot write");
    if (code)
        fprintf(stderr, "encode_text: %s\n", e.text);
    return -code;
}
