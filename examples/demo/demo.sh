#!/bin/sh
# What `make demo` shows: demo.sh CLOZE MODEL
set -eu
cloze="$1" model="$2"
here=$(dirname "$0")

echo
echo "== Twelve sentences, and how alike they are (100 = the same meaning, 0 = nothing in common) =="
echo
"$cloze" encode -m "$model" --similarity <"$here/sentences.txt"
echo
echo "== Search: ten passages, ranked by meaning, not by words =="
echo
for query in "My parcel came far too late. Do I get my money back?" "how much is postage"; do
    "$cloze" encode -m "$model" --query "$query" --top 3 <"$here/passages.txt"
    echo
done
echo "== Your own texts =="
echo
echo "  $cloze encode -m $model --query 'can I send it back' --top 3 < $here/passages.txt"
echo "  $cloze encode -m $model --json 'a text'          # the vector itself"
echo "  $cloze --help"
