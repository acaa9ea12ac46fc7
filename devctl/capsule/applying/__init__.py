"""Makes a folder of a commit and a capsule: a program for any python3 from 3.10 on that has git.

    python3 -I PROGRAM [OPTIONS] CAPSULE SHA256 REPOSITORY TARGET
    python3 -I PROGRAM [OPTIONS] --commit COMMIT REPOSITORY TARGET

It runs in a pod, as a file of its own (devctl.capsule.program), so it imports nothing of
ours. A capsule may be anybody's work, and so may what a node's cache has for a repository:

- Of the repository, only objects are read, by `git cat-file`, which runs no hook and no filter.
  Each is hashed again, from the commit down to the files: what is made is that commit's.
- With a package, what only its installation has, such as compiled modules, is linked to there.
- The files are written beside the target, in a new folder, through descriptors that follow no
  links; links come last, and none may lead out. Then everything is read again. Only a folder in
  which all is right is renamed to the target: there are no half-finished ones.

A capsule is a tar.gz of `capsule.json` and, named by its SHA-256, the whole content of each changed
file. Names in JSON are UTF-8, with a lone surrogate for each byte that is not.
"""
