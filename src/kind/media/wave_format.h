/* What the header of a WAV file, or one like it in another container (W64, AVI, Matroska's ACM), says of samples, and
 * libavformat does not follow: it takes the number of valid bits for the size of a sample, and the order of bytes in
 * RIFX for that of RIFF. */
#ifndef BL_WAVE_FORMAT_H
#define BL_WAVE_FORMAT_H

#include <libavformat/avformat.h>

#include "base/error.h"
#include "kind/media/media_file.h"

/* Corrects the codecs of the streams, before anything is read of them. BL_EDATA: a codec of RIFX that is not read. */
int bl_wave_format_correct(const struct bl_media_file *file, AVFormatContext *format, struct bl_error *e);

/* Whether the file is RIFX: WAV with numbers in big-endian order. */
bool bl_wave_format_is_rifx(const struct bl_media_file *file);

/* Whether the stream is G.721, which libavformat takes for G.726: its decoder reads other bits. */
bool bl_wave_format_is_g721(const AVCodecParameters *codec);

#endif
