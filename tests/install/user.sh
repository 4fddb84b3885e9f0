#!/bin/sh
# What a plain user does in a bare system, in the folder with videos, documents.jsonl and the line that installs: sh user.sh
set -eu
cd "$HOME"
now() { date +%s.%N; }
began=$(now)
python3 -m venv env
. env/bin/activate
sh -e install.sh
installed=$(now)

version=$(bload --version | head -n 1)
echo "$version, $(du -sh env/lib/python3*/site-packages/bload* | awk '{ printf "%s%s", separator, $1; separator = " + " }')"
[ "$(python -m bload --version)" = "$version
media module: built in" ]
for file in share/man/man1/bload-pack.1 share/man/man1/bload-show.1 share/bash-completion/completions/bload include/bload.h lib/libbload.so.2 lib/pkgconfig/bload.pc; do
    [ -s "env/$file" ]
done
[ "$(bload pack -h | head -c 5)" != "" ]
bload pack -q videos --size 64x64 -T longest -o frames
bload pack -q documents.jsonl --tokenizer bytes -T 2048 -o tokens
bload verify -q frames
bload verify -q tokens
bload show frames -o frames.html
bload show tokens --tokenizer bytes -o tokens.html
grep -q 'data:image/' frames.html
grep -q 'Document 1' tokens.html
bload doctor
python read.py "${version#bload }"
python -c "print(f'pip: {$installed - $began:.1f} s by the clock, packing and reading: {$(now) - $installed:.1f} s')"
times >spent
python -c '
import re
minutes = re.findall(r"(\d+)m([\d.]+)s", open("spent").read())
print(f"seconds {sum(60 * int(m) + float(s) for m, s in minutes):.1f}")'
echo "all done"
