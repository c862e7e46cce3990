"""Addresses as they are said: URLs, paths with line numbers, e-mail, mentions, issue numbers."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from voice.identifiers_spoken import is_file, split_name, spoken_file
from voice.notices import Notices

_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]{1,20}://|www\.)([^/?#\s]*)([^\s]*)", re.DOTALL)
_SCP = re.compile(r"[\w.-]{1,40}@([\w.-]{1,120}):[\w./~-]+\.git")
_FORGE = re.compile(r"/[^/\s]{1,120}/[^/\s]{1,120}/(?:-/)?(pull|issues|merge_requests|discussions)/(\d{1,9})")
_FORGE_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "pull": "pull request",
        "issues": "issue",
        "merge_requests": "merge request",
        "discussions": "discussion",
    }
)
_EMAIL = re.compile(r"([\w.+-]{1,64})@([\w-]{1,63}(?:\.[\w-]{1,63}){1,8})")
_LOCATION = re.compile(
    r"(?::(\d{1,7})(?:[-–](\d{1,7}))?(?::\d{1,7})?|#L(\d{1,7})(?:C\d+)?(?:-L?(\d{1,7}))?|\((\d{1,7})(?:[,:]\d{1,7})?\))$"
)
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]")
_BLOB = re.compile(r"data:[\w/+.-]{0,80}[;,]")
_SLASH_WORDS = re.compile(r"[^\W\d_][\w.'-]*(?:/[^\W\d_][\w.'-]*){1,2}")
_ACRONYMS = re.compile(r"[A-Z]{1,5}(?:/[A-Z]{1,5})+")
_REFERENCE = re.compile(
    r"(?<![\w/])(?:(PRs?|pull requests?)|(MRs?|merge requests?)|([Ii]ssues?|[Tt]icket|[Bb]ug|[Nn]umber))"
    r"[ :]{1,3}[#!](\d{1,9})(?!\w)"
)
_NUMBER_SIGN = re.compile(r"(?<![\w#&/])#(\d{1,9})(?!\w)")
_MERGE_REQUEST = re.compile(r"(?<!\S)!(\d{1,9})(?!\w)")
_PULL_REQUEST = re.compile(r"(?<![\w/])PR (\d{1,9})(?!\w)")


def spoken_references(text: str) -> str:
    """Issue and change numbers in words: `#42` as "number 42", `PR #7` as "pull request 7"."""
    text = _REFERENCE.sub(_reference, text)
    text = _PULL_REQUEST.sub(r"pull request \1", text)
    text = _NUMBER_SIGN.sub(r"number \1", text)
    return _MERGE_REQUEST.sub(r"merge request \1", text)


def _reference(match: re.Match[str]) -> str:
    name = "pull request" if match[1] else "merge request" if match[2] else match[3]
    return f"{name} {match[4]}"


def spoken_url(core: str, notices: Notices) -> str | None:
    """A URL as a link to its host, or as the issue or change it names; None for anything else."""
    if _BLOB.match(core):
        return notices.long_token
    if core.startswith("mailto:"):
        return spoken_email(core.removeprefix("mailto:").partition("?")[0]) or notices.a_link
    scp = _SCP.fullmatch(core)
    if scp:
        return notices.link_to.format(host=scp[1])
    match = _URL.match(core)
    if match is None:
        return None
    forge = _FORGE.match(match[2])
    if forge:
        return f"{_FORGE_WORDS[forge[1]]} {forge[2]}"
    host = _spoken_host(core.removeprefix("www.") if core.startswith("www.") else match[1], core)
    return notices.link_to.format(host=host) if host else notices.a_link


def _spoken_host(authority: str, core: str) -> str:
    if core.startswith("www."):
        authority = re.split(r"[/?#]", authority, maxsplit=1)[0]
    authority = authority.rpartition("@")[2].removeprefix("www.").rstrip(".,;")
    host, _, port = authority.partition(":")
    if not re.fullmatch(r"[\w-]{1,63}(?:\.[\w-]{1,63}){0,5}", host) or len(host) > 80:
        return ""
    return f"{host} port {port}" if port.isdigit() else host


def spoken_email(core: str) -> str | None:
    """An e-mail address with its sign in words; None for anything else."""
    match = _EMAIL.fullmatch(core)
    return f"{match[1]} at {match[2]}" if match else None


def spoken_mention(core: str) -> str | None:
    """`@dev-bot` and `@scope/name` without the sign; None for anything else."""
    if len(core) < 2 or core[0] != "@" or not (core[1].isalnum() or core[1] == "_"):
        return None
    return core[1:]


def spoken_path(core: str, *, in_code: bool) -> str | None:
    """A path by its last part and line, as "middleware dot py line 42"; None where it is not one.

    Folders and routes keep their last two parts. `read/write` and other words with a slash keep all.
    """
    bare, place = _located(core)
    if "/" not in bare and "\\" not in bare:
        return f"{spoken_file(bare)}{place}" if is_file(bare) else None
    windows = _WINDOWS.match(bare) is not None
    parts = [
        part for part in re.split(r"[/\\]+" if windows else r"/+", bare) if part not in {"", ".", "..", "~"}
    ]
    if not parts:
        return "home" if bare.startswith("~") else None
    if all(part.isdigit() for part in parts):
        return None
    if is_file(parts[-1]):
        return f"{spoken_file(parts[-1])}{place}"
    if _ACRONYMS.fullmatch(bare):
        return " ".join(parts)
    rooted = windows or bare[0] in "/.~"
    if not rooted and not in_code and _SLASH_WORDS.fullmatch(bare):
        return " slash ".join(_spoken_part(part) for part in parts) + place
    if rooted and len(parts) == 1:
        said = _spoken_part(parts[0])
        return (f"slash {said}" if bare.startswith("/") and not bare.endswith("/") else said) + place
    if not rooted and len(parts) == 1 and not bare.endswith("/"):
        return None
    return " slash ".join(_spoken_part(part) for part in parts[-2:]) + place


def _spoken_part(part: str) -> str:
    if is_file(part):
        return spoken_file(part)
    if part and set(part) <= {"*"}:
        return "star"
    return split_name(" ".join(re.findall(r"[\w.'-]+", part))).strip() or "star"


def _located(core: str) -> tuple[str, str]:
    match = _LOCATION.search(core[-40:])
    if match is None:
        return core, ""
    first = match[1] or match[3] or match[5]
    last = match[2] or match[4]
    bare = core[: len(core) - len(match[0])]
    return bare, f" lines {first} to {last}" if last else f" line {first}"
