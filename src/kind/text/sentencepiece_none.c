/* What stands for sentencepiece.cc where libsentencepiece is not installed. */
#include "kind/text/sentencepiece.h"

const bool bl_sentencepiece_available = false;
const char *const bl_sentencepiece_version = "none";

int bl_sentencepiece_open(struct bl_sentencepiece **model, const void *data, size_t size, struct bl_error *e)
{
    (void)data;
    (void)size;
    *model = NULL;
    return bl_error_set(e, BL_EFAIL, "built without SentencePiece (install libsentencepiece-dev and build again)");
}

void bl_sentencepiece_close(struct bl_sentencepiece *model)
{
    (void)model;
}

int64_t bl_sentencepiece_size(const struct bl_sentencepiece *model)
{
    (void)model;
    return 0;
}

int32_t bl_sentencepiece_find(const struct bl_sentencepiece *model, const char *piece)
{
    (void)model;
    (void)piece;
    return -1;
}

int bl_sentencepiece_encode(const struct bl_sentencepiece *model, const char *text, size_t size, struct bl_ids *ids,
                            struct bl_error *e)
{
    (void)text;
    (void)size;
    (void)ids;
    return bl_sentencepiece_open(&(struct bl_sentencepiece *){NULL}, model, 0, e);
}
