"""Names from code as words: snake_case, camelCase, file names, flags, hashes, language names."""

# Word lists read better as words than as literals.
# ruff: noqa: SIM905
import re
from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType

_EXTENSIONS = frozenset(
    """
    bak bash bat bin bz2 c cc cfg cjs clj cmake conf cpp cs csproj css csv cts cu cue dart db diff dll
    dockerfile docx ejs elm env erl ex exe exs fish flac gif go gql gradle graphql groovy gz h hbs hcl
    hpp hs html ico ini ipynb java jar jpeg jpg js json json5 jsonc jsonl jsx key kt kts less lock log
    lua m4a map md mdx mjs mk ml mov mp3 mp4 mts nix ogg onnx orig parquet patch pdf pem php pl plist
    png proto ps1 psd1 py pyc pyi pyproj pyx r rb rs rst sass scala scss service sh sln so sol sql
    sqlite sqlite3 svelte svg swift tar tex tf tfvars tgz toml tpl ts tsv tsx ttf txt vim vue wasm wav
    webm webp whl woff woff2 xlsx xml xsd yaml yml zig zip zsh
    """.split()
)
_NAMED: Mapping[str, str] = MappingProxyType(
    {
        "c#": "C sharp",
        "f#": "F sharp",
        ".net": "dot net",
        "asp.net": "ASP dot net",
        "vb.net": "VB dot net",
        "ml.net": "ML dot net",
        "n/a": "not applicable",
        "w/o": "without",
        "w/": "with",
        "and/or": "and or",
        "b/c": "because",
        "e.g": "for example",
        "i.e": "that is",
    }
)
_FILE = re.compile(r"\.?[\w@+*~\[\]$()-]+(?:\.[\w+*-]+)*\.([A-Za-z][A-Za-z0-9]{0,10})")
_DOTFILE = re.compile(r"\.[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)*")
_SPLIT_SNAKE = re.compile(r"(?<=[A-Za-z0-9])_+(?=[A-Za-z0-9])")
_LOWER_CAMEL = re.compile(r"[a-z]{2,}[a-z0-9]*(?:[A-Z]+[a-z0-9]*)*[A-Z][a-z]+[A-Za-z0-9]*")
_PASCAL = re.compile(
    r"(?:[A-Z][a-z0-9]+){3,}|(?:[A-Z][a-z0-9]+)+[A-Z]{2,}(?:[A-Z][a-z0-9]+)+|[A-Z]{2,}[a-z]{2,}(?:[A-Z][a-z0-9]+)+"
)
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FLAG = re.compile(r"(--?)([A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)
_SHORT_FLAG = re.compile(r"-[A-Za-z]{1,3}\d{0,3}")
_UUID = re.compile(r"([0-9a-fA-F]{4})[0-9a-fA-F]{4}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HASH = re.compile(
    r"(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,64}|(?=[0-9A-F]*[A-F])(?=[0-9A-F]*\d)[0-9A-F]{10,64}|[0-9a-f]{32,64}"
)
_DIGEST = re.compile(r"(sha\d{1,3}|md5)[:-]([0-9A-Za-z+/=]{16,128})", re.IGNORECASE)
_HASH_CHARS = 4
_TOKEN_CHARS = 60
_RANDOM_CHARS = 20


def is_file(name: str) -> bool:
    """Whether this is the name of a file as it is written in prose."""
    match = _FILE.fullmatch(name)
    if match and match[1].lower() in _EXTENSIONS:
        # "e.g." and "a.m." end in what could be an extension.
        return len(name) > 3
    return bool(_DOTFILE.fullmatch(name)) and name.lower() not in _NAMED


def spoken_file(name: str) -> str:
    """`auth_refactor.py` as "auth refactor dot py"; dunders, globs and brackets lose their marks."""
    parts = [part for part in name.split(".") if part]
    said = " dot ".join(_spoken_stem(part) for part in parts)
    return f"dot {said}" if name.startswith(".") else said


def _spoken_stem(stem: str) -> str:
    if stem and set(stem) == {"*"}:
        return "star"
    stem = stem.replace("*", " star ")
    words = " ".join(re.findall(r"[^\W_]+", stem))
    return " ".join(split_name(word) for word in words.split()) or stem


def split_name(name: str, *, in_code: bool = True) -> str:
    """snake_case and camelCase as words; outside code only what no product name looks like."""
    if "_" in name:
        name = _SPLIT_SNAKE.sub(" ", name).strip("_")
    return " ".join(_split_camel(word, in_code) for word in name.split(" "))


def _split_camel(word: str, in_code: bool) -> str:
    if not word.isascii() or not word.isalnum() or word.islower() or word.isupper():
        return word
    if _LOWER_CAMEL.fullmatch(word):
        return " ".join(hump if hump.isupper() else hump.lower() for hump in _HUMP.findall(word))
    if in_code and _PASCAL.fullmatch(word):
        return " ".join(_HUMP.findall(word))
    return word


def spoken_name(core: str) -> str | None:
    """A language, runtime or abbreviation that has a spoken form of its own, else None."""
    said = _NAMED.get(core.lower())
    if said is not None:
        return said
    if core.endswith("++") and core[:-2].isalnum():
        return f"{core[:-2].upper() if len(core) <= 3 and core[0] in 'cg' else core[:-2]} plus plus"
    return None


def spoken_flag(core: str, *, in_code: bool) -> str | None:
    """`--no-verify` as "dash dash no verify", so that a flag is heard as one; None for other words."""
    match = _FLAG.fullmatch(core)
    if match is None or (match[1] == "-" and not in_code and not _SHORT_FLAG.fullmatch(core)):
        return None
    words = re.sub(r"[-_]+", " ", match[2])
    said = f"{'dash dash' if match[1] == '--' else 'dash'} {words}".strip()
    return f"{said} equals {match[3]}" if match[3] else said


def spoken_hash(core: str) -> str | None:
    """The first four characters of a commit hash, digest or UUID, spaced; None for other words."""
    if len(core) < 7:
        return None
    digest = _DIGEST.fullmatch(core)
    if digest:
        return f"{digest[1]} {' '.join(digest[2][:_HASH_CHARS])}"
    uuid = _UUID.fullmatch(core)
    if uuid:
        return " ".join(uuid[1])
    return " ".join(core[:_HASH_CHARS]) if _HASH.fullmatch(core) else None


def is_long_token(core: str) -> bool:
    """Whether this is a key, a blob or another run of characters that nobody wants to hear."""
    if len(core) > _TOKEN_CHARS:
        return True
    if len(core) < _RANDOM_CHARS or not core.isascii():
        return False
    changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(core) if a.isalnum() and b.isalnum())
    return changes >= 5 and "/" not in core
