#!/bin/sh
# Draws assets/zoom.gif: a zoom from a whole generated trace to one of its requests. Takes the program, and needs
# ImageMagick; each frame is a picture of `longspan render`.
#
#   assets/zoom.sh target/release/longspan assets/zoom.gif
set -eu
longspan=$1
gif=$2
frames=44
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trace=$folder/demo.longspan
cache=$folder/cache

"$longspan" synth -o "$trace" --spans 2000000
# A short span in the middle of the trace gives the time that stays in the picture.
"$longspan" spans "$trace" --cache "$cache" --filter 'dur>10us dur<60us' --from +400ms --limit 1 | tail -n 1 > "$folder/span"
start=$(cut -d, -f1 "$folder/span")
dur=$(cut -d, -f2 "$folder/span")
"$longspan" info "$trace" --cache "$cache" --json > "$folder/info"
first=$(sed -n 's/.*"start_ns": *\([-0-9]*\).*/\1/p' "$folder/info" | head -n 1)
last=$(sed -n 's/.*"end_ns": *\([-0-9]*\).*/\1/p' "$folder/info" | head -n 1)

frame=0
while [ "$frame" -lt "$frames" ]; do
    # Both edges move by the same factor from frame to frame, so the zoom has an even speed.
    range=$(awk -v frame="$frame" -v frames="$frames" -v first="$first" -v last="$last" -v start="$start" -v dur="$dur" '
        BEGIN {
            part = frame / (frames - 1)
            before = exp(log(start - first) * (1 - part) + log(dur * 0.6) * part)
            after = exp(log(last - start) * (1 - part) + log(dur * 1.6) * part)
            printf "%.0f %.0f", start - before, start + after
        }')
    "$longspan" render "$trace" --cache "$cache" --size 960x540 --from "${range% *}" --to "${range#* }" \
        -o "$folder/$(printf %03d "$frame").png" --progress never
    frame=$((frame + 1))
done
# The last picture stays for two seconds.
last_png=$folder/$(printf %03d $((frames - 1))).png
convert -delay 8 "$folder"/0*.png -delay 200 "$last_png" -loop 0 -layers OptimizeTransparency +dither -colors 96 "$gif"
