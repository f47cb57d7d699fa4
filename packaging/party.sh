# To be sourced: a mix of its own on loopback, for checks that need one that runs.

# A port of loopback that nobody listens on.
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# write_party THRONG DIR PORT: identities, a collection and the configuration mix.toml of its first
# mix.
write_party() {
    local throng=$1 dir=$2 port=$3 name
    local -A id
    mkdir -p "$dir"
    for name in north south counter; do
        id[$name]=$("$throng" keygen --json --out "$dir/$name.key" | sed -n 's/.*"identity": "\(.*\)".*/\1/p')
    done
    "$throng" collection new "$dir/crashes.toml" --mechanism bit-sum --text "Did it crash today?" \
        --n 200 --epsilon 1 --delta 1e-6 --epochs 3 --every 1h --grace 1m \
        --mix "north=http://127.0.0.1:$port=${id[north]}" \
        --mix "south=http://127.0.0.1:1=${id[south]}" \
        --analyzer "counter=http://127.0.0.1:2=${id[counter]}" >/dev/null
    printf 'listen = "127.0.0.1:%s"\nidentity = "north.key"\ndata = "data"\ncollections = ["crashes.toml"]\n' \
        "$port" >"$dir/mix.toml"
}

# await URL [SECONDS] [CURL OPTIONS]: waits until the address answers 200.
await() {
    local url=$1 seconds=${2:-30} try
    shift $(($# < 2 ? $# : 2))
    for ((try = 0; try < seconds * 5; try++)); do
        curl --silent --fail --output /dev/null --max-time 5 "$@" "$url" && return
        sleep 0.2
    done
    echo "no answer from $url within $seconds s" >&2
    return 1
}

# stop PID: asks a process to stop, and waits for it.
stop() {
    kill "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
}
