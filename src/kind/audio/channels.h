/* The channels of a file that a sequence takes: those of --channel, of a list's column "channel", or of a manifest's
 * line. */
#ifndef BL_CHANNELS_H
#define BL_CHANNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define BL_CHANNEL_LIST_MAX 64     /* of a choice; as many as BL_AUDIO_CHANNELS_MAX */
#define BL_CHANNEL_NUMBER_MAX 1000 /* of a channel in lists and manifests; files have at most BL_AUDIO_CHANNELS_MAX */
#define BL_CHANNEL_TEXT_MAX 400    /* bytes of a choice as text, and a NUL */

/* A choice of channels, in the order in which the sequence has them. */
struct bl_channel_list {
    int count;                            /* 0: there is no choice, and the sequence has all channels */
    uint16_t number[BL_CHANNEL_LIST_MAX]; /* of the file, from 0; no number occurs twice */
};

/* Parses numbers with commas between them, such as "0", "4,0" or "[4, 0]", each up to max. Blanks around a number do
 * not count, and 4.0 is 4, as pandas writes it. An empty text is no choice. Returns false if the text is anything else,
 * or has a number twice. */
bool bl_channel_list_parse(const char *text, size_t size, int max, struct bl_channel_list *channels);

/* Appends the numbers with commas between them: "4,0". */
void bl_channel_list_format(const struct bl_channel_list *channels, struct bl_buffer *out);

bool bl_channel_list_are_same(const struct bl_channel_list *a, const struct bl_channel_list *b);

/* Returns the highest number, or -1 if there is no choice. */
int bl_channel_list_highest(const struct bl_channel_list *channels);

#endif
