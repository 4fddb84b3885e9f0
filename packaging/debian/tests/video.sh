# Two videos of known lengths, and the dataset of their frames; sourced, in the directory of the test.
cd "$AUTOPKGTEST_TMP"
mkdir videos
ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=64x48:rate=25 -frames:v 30 -c:v libx264 -pix_fmt yuv420p videos/a.mp4
ffmpeg -v error -nostdin -f lavfi -i testsrc2=size=64x48:rate=25 -frames:v 20 -c:v mpeg4 videos/b.avi
bload pack videos --size 32x32 -T 50 -o dataset
bload verify dataset
