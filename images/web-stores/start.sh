#!/bin/sh
# Starts the web server as the git server or as the model store.
# usage: start.sh git|models
set -eu

# The server has no standard output of its own, to which the log of requests goes.
exec lighttpd -D -f "/opt/web-stores/$1.conf" 3>&1
