/* Which media are read: the allowed containers and codecs, the usual decoders, and corrections where libavformat
 * misreads the headers of WAV files. */
#ifndef BL_ALLOWLIST_H
#define BL_ALLOWLIST_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "base/error.h"
#include "kind/media/media_file.h"

/* --- usual decoders ----------------------------------------------------------------------------------------------- */

/* The decoders of the codecs that training data usually has. */

/* Finds codec i, from 0 ("H.264"), and the decoder that is used for it; decoder NULL: FFmpeg has none, or only one that
 * needs a GPU. False: there is no codec i. */
bool bl_usual_decoder(int i, const char **codec, const char **decoder);

/* --- allow-lists -------------------------------------------------------------------------------------------------- */

/* The containers and codecs of media that are read, an allow-list for each kind. FFmpeg knows hundreds more, among them
 * playlists, scripts, games' own formats, and decoders that have hardly been tested with bad data. docs/media.md has
 * the same lists for users; a test compares them. */

/* Names separated by commas, as libav takes lists. */
struct bl_allowlist {
    const char *containers; /* demuxers; some have several names */
    const char *decoders;   /* of the streams that the kind wants */
};

extern const struct bl_allowlist bl_allowlist_video, bl_allowlist_audio;

/* All decoders: libav probes the other streams, too. */
extern const char *const bl_allowlist_decoders;

/* Whether a name, or one of several separated by commas, is in a list. */
bool bl_allowlist_has(const char *list, const char *name);

/* --- formats of WAV files ----------------------------------------------------------------------------------------- */

/* libavformat does not follow all that the header of a WAV file, or one like it in another container (W64, AVI,
 * Matroska's ACM), says of samples: it takes the number of valid bits for the size of a sample, and the order of bytes
 * in RIFX for that of RIFF. */

/* Corrects the codecs of the streams, before anything is read of them. BL_EDATA: a codec of RIFX that is not read. */
int bl_wave_format_correct(const struct bl_media_file *file, AVFormatContext *format, struct bl_error *e);

/* Whether the file is RIFX: WAV with numbers in big-endian order. */
bool bl_wave_format_is_rifx(const struct bl_media_file *file);

/* Whether the stream is G.721, which libavformat takes for G.726: its decoder reads other bits. */
bool bl_wave_format_is_g721(const AVCodecParameters *codec);

#endif
