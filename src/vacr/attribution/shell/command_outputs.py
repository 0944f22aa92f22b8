"""The files that commands write besides their output, as far as their options show it.

Most commands that only read have some option that writes, such as `sort -o FILE`. So for each of
them the options that only read are listed, and any other may write: new options, abbreviations
such as `--outp`, and options that run another command. Commands without a writing option are left
out here. The programs of `sed` and `awk` may write too.

    >>> from vacr.attribution.shell.command_outputs import find_output_files, find_written_files
    >>> find_written_files("sort -k 2 --reverse a.txt".split()) is None
    True
    >>> find_written_files("sort --outp=b.txt a.txt".split())
    ['b.txt', 'a.txt']
    >>> find_output_files("curl -fsSLO https://example.org/a.py".split())
    ['a.py']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from vacr.attribution.shell.stream_program import may_sed_program_write
from vacr.attribution.shell.words import CommandWords, is_file_like, saves_by_name

# The options of commands that only read: letters, then names. An option that ends in `=` takes a
# value, which may be the next word.
_READING_OPTIONS = {
    "actionlint": (
        "config-file= color debug format= ignore= no-color oneline pyflakes= shellcheck= "
        "stdin-filename= verbose version"
    ),
    "ast-grep": (
        "A= B= C= l= p= r= after= before= color= context= globs= heading= inline-rules= json "
        "kind= lang= no-ignore= pattern= report-style= selector= strictness= threads="
    ),
    "bat": (
        "A H= P f l= m= n p r= s S u color= decorations= diff diff-context= file-name= "
        "force-colorization highlight-line= italic-text= language= line-range= number paging= "
        "plain show-all squeeze-blank style= tabs= terminal-width= theme= wrap="
    ),
    "cloc": (
        "by-file by-file-by-lang by-percent= counted= csv diff exclude-dir= exclude-ext= "
        "exclude-lang= exclude-list-file= follow-links force-lang= fullpath git hide-rate "
        "include-ext= include-lang= json list-file= match-d= match-f= md not-match-d= "
        "not-match-f= progress-rate= quiet skip-uniqueness strip-str-comments sum-one timeout= "
        "vcs= xml yaml"
    ),
    "fd": (
        "0 1 a c= d= e= F g H i I j= l L o= p q s S= t= u E= absolute-path and= base-directory= "
        "case-sensitive changed-before= changed-within= color= exact-depth= exclude= extension= "
        "fixed-strings follow format= full-path glob hidden ignore-case ignore-file= list-details "
        "max-depth= max-results= min-depth= no-ignore no-ignore-parent no-ignore-vcs "
        "one-file-system owner= path-separator= print0 prune quiet regex relative-path "
        "search-path= show-errors size= strip-cwd-prefix threads= type= unrestricted"
    ),
    "file": (
        "0 b E h i k L n N p r s z Z e= f= F= m= P= apple brief dereference exclude= extension "
        "files-from= keep-going magic-file= mime mime-encoding mime-type no-dereference no-pad "
        "print0 separator= special-files uncompress"
    ),
    "fzf": (
        "0 1 d= e f= i m n= q= x ansi delimiter= exact exit-0 filter= height= layout= multi "
        "no-sort nth= print0 prompt= query= read0 reverse select-1 tac with-nth="
    ),
    "history": "",
    "journalctl": (
        "a b= e f k n= o= p= q r S= u= U= x all boot= catalog dmesg follow grep= identifier= "
        "lines= no-full no-hostname no-pager no-tail output= pager-end priority= quiet reverse "
        "since= system unit= until= user user-unit= utc"
    ),
    "jq": (
        "a c C e f= j L= M n r R s S arg= argjson= args ascii-output color-output compact-output "
        "exit-status from-file= indent= join-output jsonargs monochrome-output null-input "
        "rawfile= raw-input raw-output raw-output0 seq slurp slurpfile= sort-keys stream tab "
        "unbuffered"
    ),
    "less": (
        "b= c e E f F g G h= i I j= J K L m M n N p= P= q Q r R s S t= U V w W x= X y= z= "
        "LINE-NUMBERS QUIT-AT-EOF RAW-CONTROL-CHARS chop-long-lines ignore-case line-numbers "
        "no-init quit-if-one-screen raw-control-chars"
    ),
    "mdls": "n= name= nullMarker= raw",
    "objdump": (
        "C d D f g G h H i p r R s S t T w x j= M= all-headers demangle disassemble "
        "disassemble-all dynamic-syms file-headers full-contents line-numbers no-show-raw-insn "
        "private-headers reloc section= section-headers source start-address= stop-address= syms"
    ),
    "plutil": "lint s help p print type",
    "rg": (
        "0 a A= B= c C= d= D e= E= f= F g= H i I j= l L m= M= n N o p P q r= s S t= T= u U v w x "
        "z after-context= auto-hybrid-regex before-context= binary block-buffered byte-offset "
        "case-sensitive color= colors= column context= context-separator= count count-matches "
        "crlf debug dfa-size-limit= encoding= engine= field-context-separator= "
        "field-match-separator= file= files files-with-matches files-without-match fixed-strings "
        "follow generate= glob= glob-case-insensitive heading hidden hyperlink-format= iglob= "
        "ignore ignore-case ignore-file= include-zero invert-match json line-buffered line-number "
        "line-regexp max-columns= max-columns-preview max-count= max-depth= max-filesize= mmap "
        "multiline multiline-dotall no-config no-filename no-heading no-ignore no-ignore-dot "
        "no-ignore-exclude no-ignore-files no-ignore-global no-ignore-messages no-ignore-parent "
        "no-ignore-vcs no-line-number no-messages no-mmap no-unicode null null-data "
        "one-file-system only-matching passthru path-separator= pcre2 pcre2-version pre-glob= "
        "pretty quiet regex-size-limit= regexp= replace= search-zip smart-case sort= sortr= stats "
        "stop-on-nonmatch text threads= trace trim type= type-add= type-clear= type-list "
        "type-not= unrestricted vimgrep with-filename word-regexp"
    ),
    "scc": (
        "a c d f= i= l M= n= p s= u v w z by-file ci cocomo count-as= exclude-dir= exclude-ext= "
        "exclude-file= format= include-ext= no-cocomo no-complexity no-duplicates no-gen no-min "
        "no-size sort= wide"
    ),
    "sed": (
        "b E e= f= l= n r s u z debug expression= file= line-length= null-data posix quiet "
        "regexp-extended sandbox separate silent unbuffered"
    ),
    "sips": "g= getProperty= 1 oneLine help",
    "sort": (
        "b c C d f g h i k= m M n r R s S= t= T= u V z batch-size= buffer-size= check debug "
        "dictionary-order field-separator= files0-from= general-numeric-sort human-numeric-sort "
        "ignore-case ignore-leading-blanks ignore-nonprinting key= merge month-sort numeric-sort "
        "parallel= random-sort random-source= reverse sort= stable temporary-directory= unique "
        "version-sort zero-terminated"
    ),
    "ss": (
        "0 4 6 a A= b B e f= F= H i l m M n N= o O p r s S t T u w x Z all family= info listening "
        "memory no-header numeric options processes query= raw summary tcp udp unix"
    ),
    "tree": (
        "a A C d D f F g h H= i I= J l L= n N p P= q Q r s S t T= u U v x X charset= device "
        "dirsfirst du filelimit= filesfirst fromfile gitignore ignore-case inodes matchdirs "
        "metafirst noreport prune si sort= timefmt="
    ),
    "uniq": (
        "c d D f= i s= u w= z all-repeated check-chars= count group ignore-case repeated "
        "skip-chars= skip-fields= unique zero-terminated"
    ),
    "vale": (
        "config= ext= filter= glob= ignore-syntax minAlertLevel= no-exit no-global no-wrap "
        "output= path= relative"
    ),
    "xmllint": (
        "auto c14n c14n11 catalogs copy debug encode= exc-c14n format html huge maxmem= memory "
        "nocdata noblanks nocatalogs nodefdtd noent noenc nonet noout nowarning nowrap nsclean "
        "oldxml10 path= pattern= postvalid push quiet recover relaxng= repeat sax schema= "
        "schematron= stream timing valid walker xinclude xmlout xpath= dtdvalid="
    ),
    "xxd": (
        "a b C c= d e E g= h i l= n= o= p ps plain postscript r revert R= s= seek= u cols= len= "
        "include uppercase autoskip bits capitalize ebcdic groupsize= little-endian name= offset="
    ),
    "yq": (
        "0 C e I= M N n o= p= P r c colors exit-status front-matter= indent= input-format= "
        "no-colors no-doc null-input nul-output output-format= prettyPrint raw-output "
        "string-interpolation unwrapScalar xml-attribute-prefix= yaml-output"
    ),
}
_READING_OPTIONS |= dict.fromkeys(
    ["awk", "gawk", "mawk", "nawk"], "F= v= assign= field-separator= posix re-interval"
)
_READING_OPTIONS["gsed"] = _READING_OPTIONS["sed"]
_READING_OPTIONS["rga"] = _READING_OPTIONS["rg"]
_READING_OPTIONS["sg"] = _READING_OPTIONS["ast-grep"]
_HELP_OPTIONS = frozenset(["help", "version"])
# Of these commands, a word such as `-name` is one option.
_WORD_OPTION_COMMANDS = frozenset(["actionlint", "mdls", "plutil", "sips", "xmllint", "xxd"])
# The second file of these commands is their output.
_SECOND_FILE_IS_OUTPUT = frozenset(["uniq", "xxd"])
# A first word with which these commands write files of a project.
_WRITING_VERBS = {"ast-grep": "new", "sg": "new", "vale": "sync"}

_FIND_READING_NAMES = """
H L P O0 O1 O2 O3 D E X d f s x a amin and anewer atime cmin cnewer ctime daystart depth empty
executable false follow fstype gid group ilname iname inum ipath iregex iwholename links lname ls
maxdepth mindepth mmin mount mtime name newer newerac newerat newerBt newermt ngroup nouser
nogroup noleaf not o or path perm print print0 printf prune quit readable regex regextype samefile
size true type uid used user warn nowarn wholename writable xdev xtype exec execdir ok okdir
"""
_FIND_READING_OPTIONS = frozenset("-" + name for name in _FIND_READING_NAMES.split())
"""`find` options that only read; `unwrap_xargs_or_find` finds the commands that they run."""

_AWK_NAMES = frozenset(["awk", "gawk", "mawk", "nawk"])
_AWK_WRITING_TEXT = re.compile(r"[>|@]|system")
# Longer programs count as writing.
_MAX_AWK_PROGRAM = 4096
_AWK_TOKEN = re.compile(
    r"[ \t\r]++|\\\n|#[^\n]*+|\"(?:[^\"\\\n]|\\.)*+\"|[A-Za-z_]\w*+|[\d.]++"
    r"|\|\||\+\+|--|.",
    re.DOTALL | re.ASCII,
)
# Brackets with a slash, and with a nested bracket, are not the same in every awk.
_AWK_REGEX = re.compile(
    r"/(?:[^][/\\\n]|\\[^\n]|\[\^?+(?:[^][/\\\n]|\\[^\n]|\[:\w+:\])++\])++/", re.ASCII
)
# After these a slash begins a regex; after a known operand it divides.
_BEFORE_AWK_REGEX = frozenset(["", "\n", "||", *"(,;{}!~&|=<>*%^?:"])
_AWK_OPERAND = re.compile(
    r"(?!(?:case|do|else|exit|getline|in|printf?|return)\Z)[A-Za-z_]\w*|[\d.]+|\]|\".*",
    re.DOTALL | re.ASCII,
)
_SED_NAMES = frozenset(["gsed", "sed"])
_OUTPUT_OPTION = re.compile(r"-(?:[oO]|-ou\w*(?:-\w+)*)")
_GLUED_OUTPUT_OPTION = re.compile(r"-[oO](?P<file>[^-=].*)")
_PATH_NAME = re.compile(r"[^\s'\"`\\:=,;()<>|&{}\[\]$]+")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^?#]*/(?P<name>[^/?#]+)(?:[?#].*)?")
# The letters before `o` are options without a value.
_DOWNLOAD_OPTION = re.compile(r"-[#0-9acfgGiIjJkLlmnNpqrRsSvVZ]*[oO](?P<file>.*)")
_DOWNLOADERS = frozenset(["curl", "wget"])

PROGRAM_READERS = _SED_NAMES | _AWK_NAMES
"""Commands whose first operand is a program."""


def is_abbreviation(word: str, option: str) -> bool:
    """Return whether a word is a long option, perhaps abbreviated and with a value.

    GNU programs and git take `--in-p` for `--in-place`, if no other option begins like that.
    """
    name = word.partition("=")[0]
    return len(name) > len("--") and option.startswith(name)


# --- commands that usually only read ---


def find_written_files(words: CommandWords) -> list[str] | None:
    """Return words that may name files written by a command that usually only reads, as `sort -o`.

    Return `None` if it only reads. Which file an unknown option names is uncertain, so then all
    operands and all values of options count. The list is empty if only the shell knows the program
    of a `sed` or an `awk`.
    """
    name = words[0] or "" if words else ""
    arguments = words[1:]
    known = [word for word in arguments if word]
    if name == "find":
        writes = any(map(_is_unknown_find_option, _drop_exec_words(known)))
        return [word for word in known if not word.startswith("-")] if writes else None
    options = _READING_OPTIONS.get(name)
    if options is None:
        return find_output_files(words, long_only=True) or None
    parsed = _parse_arguments(
        _list_option_names(options), arguments, single_dash=name in _WORD_OPTION_COMMANDS
    )
    if name in _AWK_NAMES or name in _SED_NAMES:
        programs = _list_programs(parsed)
        may_write = may_awk_program_write if name in _AWK_NAMES else may_sed_program_write
        if programs is None or any(may_write(program) for program in programs if program):
            return _list_names_in_arguments(known)
        return [] if None in programs else None
    operands = [word for word in parsed.operands if word]
    writes = operands[:1] == [_WRITING_VERBS[name]] if name in _WRITING_VERBS else False
    if parsed.unknown or writes:
        unknown = list(filter(None, parsed.unknown))
        return unknown + [word for word in operands if word not in unknown]
    if name in _SECOND_FILE_IS_OUTPUT:
        return [word for word in parsed.operands[1:] if word] or None
    return find_output_files(words, long_only=True) or None


@dataclass(slots=True)
class _Arguments:
    """The arguments of a command, divided."""

    operands: list[str | None]
    values: dict[str, list[str | None]]
    """The values of known options."""
    unknown: list[str]
    """What may be the values of unknown options, with an empty text for one without a value."""


@cache
def _list_option_names(options: str) -> dict[str, bool]:
    """Return the known options of a command, and whether each takes a value."""
    return {name.removesuffix("="): name.endswith("=") for name in options.split()}


def _parse_arguments(
    known: dict[str, bool], arguments: CommandWords, *, single_dash: bool
) -> _Arguments:
    """Divide arguments into operands, values of known options, and values of unknown ones.

    A word that only the shell knows counts as an operand or a value. With `single_dash`, a word
    such as `-name` is one option, otherwise several letters.
    """
    found = _Arguments([], {}, [])
    remaining = iter(arguments)
    for word in remaining:
        if word == "--":
            found.operands += remaining
        elif word is None or word == "-" or not word.startswith("-"):
            found.operands.append(word)
        elif word.startswith("--") or (single_dash and word.lstrip("-").partition("=")[0] in known):
            name, sign, value = word.lstrip("-").partition("=")
            if name in _HELP_OPTIONS:
                continue
            if name not in known:
                found.unknown.append(value)
            elif known[name]:
                found.values.setdefault(name, []).append(value if sign else next(remaining, ""))
        else:
            for at, letter in enumerate(word[1:], 2):
                if letter not in known:
                    found.unknown.append(word[at:])
                    break
                if known[letter]:
                    rest = word[at:]
                    found.values.setdefault(letter, []).append(rest or next(remaining, ""))
                    break
    return found


def _drop_exec_words(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments of `find` without the commands after `-exec` and similar options."""
    remaining = iter(arguments)
    for word in remaining:
        yield word
        if word.startswith(("-exec", "-ok")):
            for inner in remaining:
                if inner in (";", "+"):
                    break


def _is_unknown_find_option(word: str) -> bool:
    """Return whether a word of `find` is an option that may write."""
    return (
        word.startswith("-")
        and len(word) > 1
        and not (word in _FIND_READING_OPTIONS or word[1:].isdigit() or word == "--")
        and word.lstrip("-") not in _HELP_OPTIONS
    )


def _list_programs(arguments: _Arguments) -> CommandWords | None:
    """Return the programs of a `sed` or an `awk`, `None` where only the shell knows one.

    Return `None` if it has an unknown option or a program in a file. Without `-e`, the first
    operand is the program.
    """
    if arguments.unknown or arguments.values.keys() & {"f", "file"}:
        return None
    programs = arguments.values.get("e", []) + arguments.values.get("expression", [])
    return programs or arguments.operands[:1]


def may_awk_program_write(program: str) -> bool:
    """Return whether a program of `awk` may write files or run commands.

    A `>` after `print` writes, elsewhere it compares. A program whose literals are not surely
    recognised may write.

        >>> may_awk_program_write("$1 > 5 { print $2 }")
        False
        >>> may_awk_program_write('{ print $2 > "a.txt" }')
        True
    """
    if not _AWK_WRITING_TEXT.search(program):
        return False
    if len(program) > _MAX_AWK_PROGRAM:
        return True
    at, depth, prints, before = 0, 0, False, ""
    while at < len(program):
        is_operand = bool(_AWK_OPERAND.fullmatch(before))
        if program[at] == "/" and not is_operand:
            found = _AWK_REGEX.match(program, at) if before in _BEFORE_AWK_REGEX else None
        else:
            found = _AWK_TOKEN.match(program, at)
        if found is None:
            return True
        at, symbol = found.end(), found[0]
        if symbol[0] in " \t\r#" or symbol == "\\\n":
            continue
        if symbol in ("print", "printf"):
            prints = True
            if depth:  # As in `for (print > "a.txt"; ...)`.
                return True
        elif symbol in (";", "{", "}"):
            prints = prints and depth > 0
        elif symbol in ("(", ")"):
            depth += 1 if symbol == "(" else -1
        is_write = symbol == ">" and prints and depth <= 0
        if is_write or depth < 0 or symbol in ("|", "@", "system", '"', "\\"):
            return True
        before = symbol if symbol[0] != "/" or is_operand else "0"
    return False


def _list_names_in_arguments(arguments: Sequence[str]) -> list[str]:
    """Return all words in arguments that may be names of files, also inside of programs."""
    paths = [path for word in arguments for path in _PATH_NAME.findall(word)]
    return paths + [name for path in paths if "/" in path for name in path.split("/")]


# --- any command ---


def find_output_files(words: CommandWords, *, long_only: bool = False) -> list[str]:
    """Return the files that options such as `-o FILE` and `--output=FILE` name.

    Also return the files that `curl -O` and `wget` name after a URL. With `long_only`, leave out
    short options.
    """
    files: list[str] = []
    if words and words[0] in _DOWNLOADERS:
        return list(_list_downloaded_files(words))
    for option, value in pairwise([*words, None]):
        name, sign, joined = (option or "").partition("=")
        glued = _GLUED_OUTPUT_OPTION.fullmatch(option or "")
        found: str | None = None
        if _OUTPUT_OPTION.fullmatch(name) and (name.startswith("--") or not long_only):
            found = joined if sign else value
        elif glued and not long_only:
            found = glued["file"]
        if found and is_file_like(found):
            files.append(found)
    return files


def has_unknown_output(words: CommandWords) -> bool:
    """Return whether an option such as `-o` names a file that only the shell knows."""
    return any(
        value is None and option is not None and _OUTPUT_OPTION.fullmatch(option)
        for option, value in pairwise(words)
    )


def _list_downloaded_files(words: CommandWords) -> Iterator[str]:
    """Yield the files that a download command may write, from its options and its URLs."""
    saves = words[0] != "curl" or any(saves_by_name(word or "") for word in words)
    for option, value in pairwise([*words, None]):
        url = _URL.fullmatch(option or "") if saves else None
        name, sign, joined = (option or "").partition("=")
        short = _DOWNLOAD_OPTION.fullmatch(option or "")
        found = None
        if url is not None:
            found = url["name"]
        elif short is not None:
            found = short["file"] or value
        elif _OUTPUT_OPTION.fullmatch(name):
            found = joined if sign else value
        if found and not found.startswith("-") and "://" not in found and found != "/dev/null":
            yield found
