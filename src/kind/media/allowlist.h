/* Lists the containers and codecs that bload reads, and corrects what libavformat misreads in headers of WAV files. */
#ifndef BL_ALLOWLIST_H
#define BL_ALLOWLIST_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "base/error.h"
#include "kind/media/media_file.h"

/* --- usual decoders ----------------------------------------------------------------------------------------------- */

/* Finds the name of codec i of those that training data usually has, counted from 0 ("H.264"), and the name of its
 * decoder. *decoder is NULL if FFmpeg has no decoder for it, or only one that needs a GPU. Returns false if there is no
 * codec i. */
bool bl_usual_decoder(int i, const char **codec, const char **decoder);

/* --- allow-lists -------------------------------------------------------------------------------------------------- */

/* Each kind has an allow-list of containers and codecs. FFmpeg supports hundreds more, among them playlists, scripts,
 * formats of single games, and decoders that have hardly been tested with bad data. docs/media.md has the same lists
 * for users, and a test compares them. */

/* Both lists have FFmpeg's names, separated by commas. */
struct bl_allowlist {
    const char *containers; /* names of demuxers, some of which have several */
    const char *decoders;   /* names of decoders for the streams of the kind */
};

extern const struct bl_allowlist bl_allowlist_video, bl_allowlist_audio;

/* The decoders of all kinds: libav also probes the streams that are not read. */
extern const char *const bl_allowlist_decoders;

/* Returns whether the list has the name, or one of the names if `name` has several separated by commas. */
bool bl_allowlist_has(const char *list, const char *name);

/* --- formats of WAV files ----------------------------------------------------------------------------------------- */

/* libavformat misreads two things in the header of a WAV file, and in the same header inside W64, AVI and Matroska. It
 * takes the number of valid bits for the size of a sample, so 20 valid bits in samples of 32 bits become samples of 24
 * bits. And it reads the samples of RIFX, which are big-endian, as little-endian. */

/* Corrects the codecs of the streams. Call it before the first packet is read. BL_EDATA: bload does not read this codec
 * in RIFX. */
int bl_wave_format_correct(const struct bl_media_file *file, AVFormatContext *format, struct bl_error *e);

/* Returns whether the file is RIFX: WAV with big-endian numbers. */
bool bl_wave_format_is_rifx(const struct bl_media_file *file);

/* Returns whether the stream is G.721. libavformat takes it for G.726, whose decoder reads the bits in another way. */
bool bl_wave_format_is_g721(const AVCodecParameters *codec);

#endif
