#!/bin/sh
# Starts Redis with two accounts: the plugin's has a password, the default one can do what the tool does.
# usage: start.sh [ARGUMENT OF redis-server]...
set -eu

password=$(cat "${PASSWORD_FILE:-/etc/redis/password}")
if [ -z "$password" ]; then
  echo "the plugin's password is empty" >&2
  exit 1
fi
hash=$(printf %s "$password" | sha256sum)
accounts=${ACCOUNTS_FILE:-/run/accounts/users.acl}
umask 077
# -@dangerous last: it takes away what other categories contain, such as FLUSHALL and CONFIG. KEYS is the tool's.
cat >"$accounts" <<EOF
user default on nopass resetchannels ~canhazgpu:* -@all +@read +@write +@connection +@transaction +eval +evalsha +script|load -@dangerous +keys
user canhazgpu-kubeletplugin on #${hash%% *} resetchannels ~canhazgpu:* -@all +ping +watch +unwatch +multi +exec +discard +exists +mget +set +zadd +expire
EOF
exec redis-server "${CONFIG_FILE:-/opt/redis/redis.conf}" --dir "${DATA:-/var/lib/redis}" --aclfile "$accounts" "$@"
