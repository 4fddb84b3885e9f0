#!/bin/bash
# The words of every known grammar, and the matches of unknown patterns, are those of the released engines: on every code point in
# contexts, and a million random texts of every script for each. It takes half an hour.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
EVERY=1 "$root/tests/readers/run" -k grammars
