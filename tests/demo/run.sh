#!/bin/sh
# Runs the demo against the stand-in server, as scripts/demo does, and looks at the table that it ends with.
#
# usage: run.sh STANDIN DEMO
set -eu
work=$(mktemp -d)
mkfifo "$work/said"
"$1" >"$work/said" &
server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
exec 3<"$work/said"
read -r said <&3  # "listening on http://127.0.0.1:PORT/v1"

OPENAI_BASE_URL=${said#listening on } "$2" >"$work/table"
cat "$work/table"
# verb, target, agents, returned after (2 words), the server saw the last close (5 words), tokens after, settled (3 words)
row='[0-9.]+ (us|ms) +[0-9.]+ (us|ms) after the call +0 +'
grep -Eq "^stop scout +3 +${row}3 of 3\$" "$work/table"
grep -Eq "^terminate writer +3 +${row}3 of 3\$" "$work/table"
grep -Eq "^abort planner +1 +${row}1 of 1\$" "$work/table"
