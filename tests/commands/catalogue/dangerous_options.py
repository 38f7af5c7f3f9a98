"""Options of the programs in the catalogue that start programs, read or write other files, or change what is safe.

None of them is declared, so none of them exists. Long ones are written without their dashes.
"""

from __future__ import annotations

LONG = {
    "sort": "compress-program output files0-from temporary-directory random-source batch-size buffer-size parallel"
    " debug",
    "tar": "checkpoint-action to-command use-compress-program rsh-command rmt-command info-script new-volume-script"
    " index-file absolute-names files-from exclude-from remove-files recursive-unlink unlink-first overwrite"
    " listed-incremental null same-owner preserve-permissions dereference no-overwrite-dir transform volno-file"
    " use-compress-prog checkpoint append delete concatenate update diff test-label",
    "find": "",
    "grep": "file directories devices binary-files perl-regexp dereference-recursive exclude-from",
    "sed": "in-place file follow-symlinks expression debug posix unbuffered",
    "jq": "from-file slurpfile rawfile argfile args jsonargs arg argjson seq stream unbuffered library-path",
    "wc": "files0-from",
    "du": "files0-from exclude-from dereference one-file-system time-style",
    "date": "set file iso-8601",
    "file": "magic-file files-from compile uncompress uncompress-noreport no-sandbox parameter raw checking-printout",
    "diff": "from-file to-file exclude-from starting-file ifdef line-format old-group-format speed-large-files"
    " paginate",
    "cp": "target-directory backup suffix remove-destination force symbolic-link link attributes-only parents reflink"
    " sparse context",
    "mv": "target-directory backup suffix force strip-trailing-slashes context",
    "rm": "no-preserve-root interactive preserve-root one-file-system",
    "mkdir": "mode context",
    "ln": "target-directory backup suffix force directory logical physical no-dereference interactive",
    "chmod": "reference no-preserve-root",
    "touch": "reference time no-dereference",
    "truncate": "reference io-blocks",
    "tee": "output-error ignore-interrupts",
    "gzip": "force suffix recursive list test stdout synchronous rsyncable no-name name",
    "shuf": "output random-source echo zero-terminated",
    "sha256sum": "check status warn ignore-missing",
    "sha1sum": "check status",
    "sha512sum": "check status",
    "md5sum": "check status",
    "ls": "dired hyperlink color quoting-style time-style hide ignore",
    "stat": "printf file-system cached",
    "head": "zero-terminated",
    "tail": "follow retry pid sleep-interval",
    "realpath": "relative-base",
    "uptime": "version",
    "free": "seconds count",
    "strings": "encoding target radix unicode",
    "join": "header",
    "comm": "output-delimiter",
    "git": "exec-path git-dir work-tree config-env namespace super-prefix paginate html-path upload-pack receive-pack"
    " exec ext-diff textconv output open-files-in-pager no-index separate-git-dir bare template contents edit"
    " interactive file gpg-sign sign show-signature recurse-submodules pathspec-from-file exclude-from untracked"
    " verify-signatures edit-description set-upstream-to track shared submodule filters orphan merge-base"
    " recurse local-user reuse-message reedit-message fixup squash chmod refresh renormalize hard parseopt git-path"
    " git-common-dir sq-quote force delete move",
}
SHORT = {
    "sort": "oTSR",
    "tar": "IFPTXgGKLMNOSUVWZabhijlmnopsrtuwxAcd",
    "grep": "fPDduUZzRyI",
    "sed": "iflbu",
    "jq": "fLa",
    "du": "XLD0xtl",
    "date": "sfI",
    "file": "mfCzZsSPekNrpLlc0F",
    "xxd": "rEaioed",
    "diff": "XDSFILtTpcean",
    "cp": "tSfslibxZdHLPR",
    "mv": "tSfibZ",
    "rm": "iI",
    "mkdir": "mZ",
    "ln": "tSfbdFLPni",
    "touch": "rth",
    "truncate": "ro",
    "tee": "pi",
    "gzip": "fSrltcnNd",
    "shuf": "oez",
    "sha256sum": "cwz",
    "tail": "fFsz",
    "git": "COF",
}
WORDS = {
    "find": "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from -printf -ls -prune -quit"
    " -not -o -a -follow -L -H -P -D -O3 -xdev -inum -samefile -user -group -context -regextype",
    "xxd": "-revert -autoskip -include",
    "git": "-c -C -P --exec-path=/tmp",
}
"""Written whole, with their dashes."""
