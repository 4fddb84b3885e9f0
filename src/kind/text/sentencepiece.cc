/* The one file in C++: libsentencepiece has no other interface. Nothing of C++ leaves it: exceptions, which can only
 * tell of memory, become errors here. */
extern "C" {
#include "kind/text/sentencepiece.h"
}

#include <sentencepiece_processor.h>

#include <climits>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#define QUOTED(text) #text
#define IN_QUOTES(text) QUOTED(text) /* of what text stands for */

struct bl_sentencepiece {
    sentencepiece::SentencePieceProcessor processor;
};

/* It counts bytes of normalised text in an int, and a character of three bytes can become 33. */
static const size_t LIMIT = INT_MAX / 12;

extern "C" {

const bool bl_sentencepiece_available = true;
const char *const bl_sentencepiece_version = IN_QUOTES(SENTENCEPIECE_VERSION);

/* A message of the library, of which only the words are wanted. */
static int fail(const sentencepiece::util::Status &status, const char *what, struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL, "%s: SentencePiece says: %.400s", what, status.ToString().c_str());
}

int bl_sentencepiece_open(struct bl_sentencepiece **model, const void *data, size_t size, struct bl_error *e)
{
    *model = nullptr;
    try {
        auto opened = std::make_unique<bl_sentencepiece>();
        const auto status = opened->processor.LoadFromSerializedProto({static_cast<const char *>(data), size});
        if (!status.ok())
            return fail(status, "not a SentencePiece model", e);
        *model = opened.release();
        return 0;
    } catch (...) {
        return bl_error_memory(e);
    }
}

void bl_sentencepiece_close(struct bl_sentencepiece *model)
{
    delete model;
}

int64_t bl_sentencepiece_size(const struct bl_sentencepiece *model)
{
    return model->processor.GetPieceSize();
}

int32_t bl_sentencepiece_find(const struct bl_sentencepiece *model, const char *piece)
{
    /* What it does not know is the unknown piece, too. */
    const int id = model->processor.PieceToId(piece);
    return model->processor.IdToPiece(id) == piece ? id : -1;
}

int bl_sentencepiece_encode(const struct bl_sentencepiece *model, const char *text, size_t size, struct bl_ids *ids,
                            struct bl_error *e)
{
    if (size > LIMIT)
        return bl_error_set(e, BL_EDATA, "a document of %zu bytes is too large for SentencePiece: at most %zu", size,
                            LIMIT);
    try {
        std::vector<int> found;
        const auto status = model->processor.Encode(std::string_view(text, size), &found);
        if (!status.ok())
            return fail(status, "cannot encode", e);
        if (bl_ids_reserve(ids, found.size(), e))
            return BL_EFAIL;
        if (!found.empty())
            std::memcpy(ids->id + ids->count, found.data(), found.size() * sizeof(int));
        ids->count += found.size();
        return 0;
    } catch (...) {
        return bl_error_memory(e);
    }
}
}
