#!/bin/sh
# Writes the whole database to a file, and checks that it can be read; or takes the database back to such a file.
#   PGHOST, PGUSER, PGDATABASE, PGPASSWORD  the database
#   BACKUPS  the folder of backups
#   KEEP     how many are kept
#   RESTORE  the name of the one to restore; empty to make one
set -eu

folder=${BACKUPS:-/backups}
keep=${KEEP:-14}

backups() {
  find "$folder" -maxdepth 1 -name 'gateway-*.dump' | sort
}

if [ -z "${RESTORE:-}" ]; then
  file="$folder/gateway-$(date -u +%Y%m%dT%H%M%SZ).dump"
  rm -f "$folder"/*.making
  pg_dump --format=custom --file="$file.making"
  pg_restore --file=/dev/null "$file.making"
  mv "$file.making" "$file"
  backups | head -n -"$keep" | while read -r old; do
    rm "$old"
  done
  echo "made $(basename "$file"): $(stat -c %s "$file") bytes"
  exit
fi

file="$folder/$(basename "$RESTORE")"
if [ ! -f "$file" ]; then
  echo "error: there is no backup $(basename "$file")" >&2
  echo "  fix: name one of: $(backups | sed 's|.*/||' | tr '\n' ' ')" >&2
  exit 1
fi
# All or nothing, and nothing of a newer schema stays.
statements="$folder/restore.making"
trap 'rm -f "$statements"' EXIT
pg_restore --no-owner --no-privileges --file="$statements" "$file"
psql --no-psqlrc --quiet --output=/dev/null --single-transaction --set=ON_ERROR_STOP=1 \
  --command="DROP SCHEMA public CASCADE; CREATE SCHEMA public" --file="$statements"
echo "restored $(basename "$file")"
