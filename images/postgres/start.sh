#!/bin/sh
# Starts PostgreSQL, and makes its data first where there is none.
#   DATA           its folder, below a volume
#   PASSWORD_FILE  the password of the user `gateway`
set -eu

data=${DATA:-/var/lib/postgresql/data}
file=${PASSWORD_FILE:-/etc/postgres/password}
if [ ! -s "$file" ]; then
  echo "error: $file has no password" >&2
  exit 1
fi

# One statement for a server that nobody else can reach yet.
alone() {
  printf '%s\n' "$1" | postgres --single -D "$data" "${2:-postgres}" > /dev/null
}

if [ ! -s "$data/PG_VERSION" ]; then
  # Data that was not made to its end is made again.
  rm -rf "$data.making"
  initdb --pgdata "$data.making" --username=gateway --encoding=UTF8 --locale=C.UTF-8 \
    --auth=scram-sha-256 --pwfile="$file" --data-checksums > /dev/null
  mv "$data.making" "$data"
fi
# The password may be another one since, and the database may be missing after a first start that was cut off.
alone "ALTER ROLE gateway PASSWORD '$(sed "s/'/''/g" "$file")'"
if ! alone "SELECT 1" gateway 2> /dev/null; then
  alone "CREATE DATABASE gateway"
fi

exec postgres -D "$data" \
  -c listen_addresses='*' \
  -c unix_socket_directories=/tmp \
  -c hba_file=/opt/postgres/pg_hba.conf \
  -c max_connections=60 \
  -c shared_buffers=64MB \
  -c log_connections=off \
  -c timezone=UTC
