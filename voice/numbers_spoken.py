"""Numbers as they are said: money, percent, units, versions, ranges and approximations."""

import re
from collections.abc import Mapping
from types import MappingProxyType

NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
# No run of digits is started in its middle: that keeps every pattern here linear.
_START = r"(?<![\w.,])"

_CURRENCIES: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "$": ("dollar", "dollars", "cents"),
        "€": ("euro", "euros", "cents"),
        "£": ("pound", "pounds", "pence"),
        "¥": ("yen", "yen", ""),
        "₹": ("rupee", "rupees", "paise"),
    }
)
_SCALES: Mapping[str, str] = MappingProxyType(
    {"k": "thousand", "K": "thousand", "M": "million", "B": "billion", "bn": "billion", "T": "trillion"}
)
_UNITS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("ms", "msec"), ("millisecond", "milliseconds")),
        **dict.fromkeys(("us", "µs", "μs"), ("microsecond", "microseconds")),
        "ns": ("nanosecond", "nanoseconds"),
        **dict.fromkeys(("s", "sec", "secs"), ("second", "seconds")),
        **dict.fromkeys(("min", "mins"), ("minute", "minutes")),
        **dict.fromkeys(("h", "hr", "hrs"), ("hour", "hours")),
        "d": ("day", "days"),
        "KB": ("kilobyte", "kilobytes"),
        "kB": ("kilobyte", "kilobytes"),
        "MB": ("megabyte", "megabytes"),
        "GB": ("gigabyte", "gigabytes"),
        "TB": ("terabyte", "terabytes"),
        "KiB": ("kibibyte", "kibibytes"),
        "MiB": ("mebibyte", "mebibytes"),
        "GiB": ("gibibyte", "gibibytes"),
        "TiB": ("tebibyte", "tebibytes"),
        **dict.fromkeys(("kbit", "Kbit", "kb", "Kb"), ("kilobit", "kilobits")),
        **dict.fromkeys(("Mbit", "Mb"), ("megabit", "megabits")),
        **dict.fromkeys(("Gbit", "Gb"), ("gigabit", "gigabits")),
        "kbps": ("kilobit per second", "kilobits per second"),
        "Mbps": ("megabit per second", "megabits per second"),
        "Gbps": ("gigabit per second", "gigabits per second"),
        "Hz": ("hertz", "hertz"),
        "kHz": ("kilohertz", "kilohertz"),
        "MHz": ("megahertz", "megahertz"),
        "GHz": ("gigahertz", "gigahertz"),
        "px": ("pixel", "pixels"),
        "fps": ("frame per second", "frames per second"),
        "rpm": ("request per minute", "requests per minute"),
        "rps": ("request per second", "requests per second"),
        "qps": ("query per second", "queries per second"),
        "km": ("kilometre", "kilometres"),
        "cm": ("centimetre", "centimetres"),
        "mm": ("millimetre", "millimetres"),
        "kg": ("kilogram", "kilograms"),
        "kW": ("kilowatt", "kilowatts"),
        "dB": ("decibel", "decibels"),
        "pp": ("percentage point", "percentage points"),
        "LOC": ("line of code", "lines of code"),
        "°C": ("degree Celsius", "degrees Celsius"),
        "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
        "°": ("degree", "degrees"),
    }
)
_ONLY_GLUED = frozenset({"d", "us", "kb", "Kb", "Mb", "Gb", "rpm", "°"})
_PER: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("s", "sec", "second"), "second"),
        **dict.fromkeys(("min", "minute"), "minute"),
        **dict.fromkeys(("h", "hr", "hour"), "hour"),
        **dict.fromkeys(("d", "day"), "day"),
        **dict.fromkeys(("mo", "mon", "month"), "month"),
        **dict.fromkeys(("y", "yr", "year"), "year"),
        **{
            key: key
            for key in ("week", "user", "seat", "run", "call", "token", "item", "row", "file", "core")
        },
        "req": "request",
    }
)
_COUNTED: Mapping[str, str] = MappingProxyType(
    {
        "req": "requests",
        "reqs": "requests",
        "tok": "tokens",
        "ops": "operations",
        "msg": "messages",
        "msgs": "messages",
    }
)
_NAMED_VERSIONS = (
    "version|release|python|node|ruby|php|go|java|rust|swift|kotlin|django|rails|postgres|postgresql|mysql|redis|"
    "ubuntu|debian|kernel|macos|ios|android|npm|pip|typescript|kubernetes"
)
_STAGES: Mapping[str, str] = MappingProxyType(
    {"rc": "release candidate", "pre": "preview", "dev": "development"}
)
_SYMBOLS = "".join(map(re.escape, _CURRENCIES))

_MONEY = re.compile(
    rf"(?<![\w$])(?:US|CA|AU)?([{_SYMBOLS}]) ?({NUMBER})(?:(?: ?[-–] ?)[{_SYMBOLS}]?({NUMBER}))?"
    r"( ?(?:k|K|M|bn|B|T)\b| (?:thousand|million|billion|trillion)\b)?(?:/([A-Za-z]{1,9})\b)?(?![\w])"
)
_MONEY_AFTER = re.compile(rf"{_START}({NUMBER}) ?([{_SYMBOLS}])(?!\w)")
_PERCENT = re.compile(r"(?<=\d) ?%(?!\w)")
_DURATION = re.compile(
    r"(?<![\w.])(?:(\d{1,4})d ?)?(?:(\d{1,4})h ?)?(?:(\d{1,4})m ?)?(?:(\d{1,4}(?:\.\d{1,6})?)s)?(?![\w])"
)
_QUANTITY = re.compile(rf"{_START}({NUMBER})( ?)([A-Za-zµμ°]{{1,5}})(?:/([A-Za-z]{{1,9}}))?(?![\w/])")
_RATE = re.compile(
    r"(?<![\w/.-])([A-Za-z]{2,20})/(s|sec|second|min|minute|h|hr|hour|day|week|month|mo|yr|year)(?![\w/.])"
)
_DECADE = re.compile(
    r"\d{3}0s|(?<=\bthe )\d0s|(?<=\bhis )\d0s|(?<=\bher )\d0s|(?<=\btheir )\d0s|(?<=\bmy )\d0s"
)
_TIMES = re.compile(rf"{_START}({NUMBER}) ?[x×](?![\w])")
_BY = re.compile(r"(?<![\w.])(\d{1,5}) ?[x×] ?(\d{1,5})(?![\w])")
_ABOUT = re.compile(rf"(?:\babout )?(?<![\w~/])[~≈∼] ?(?=[\d{_SYMBOLS}])")
_RANGE = re.compile(r"(?<=\d)–(?=\d)")
_MINUS = re.compile(rf"(?<![\w.)\]%{_SYMBOLS}-])[-−](?=[\d{_SYMBOLS}])")
_FRACTION = re.compile(r"(?<![\w./,-])(\d{1,6})/(\d{1,6})(?![\w/]|\.\d)")
_HEX = re.compile(r"(?<!\w)0[xX]([0-9A-Fa-f]{1,64})(?!\w)")
_VERSION = re.compile(
    r"(?<![\w.])((?:version|release) )?([vV]?)(\d{1,9}(?:\.\d{1,9}){1,5})"
    r"(?:-?(rc|alpha|beta|pre|preview|dev|canary|next|nightly|[ab](?=\d))[.-]?(\d{1,9})?)?(?![\w])(?!\.\d)",
    re.IGNORECASE,
)
_NETWORK = re.compile(r"(?<![\w.])(\d{1,3}(?:\.\d{1,3}){3})/(\d{1,2})(?![\w.])")
_DOTTED_DATE = re.compile(r"[0-3]?\d\.[01]?\d\.(?:19|20)\d\d")
_NAMED = re.compile(rf"(?<!\w)({_NAMED_VERSIONS}) (\d{{1,4}}\.\d{{1,4}})(?!\w|[.,]\d)", re.IGNORECASE)


def spoken_numbers(text: str) -> str:
    """The text with everything that belongs to a number written as it is said; plain numbers stay."""
    if not any(char.isdigit() for char in text):
        return _RATE.sub(_rate, text)
    text = _HEX.sub(lambda match: f"hex {' '.join(match[1][:8].upper())}", text)
    text = _MONEY.sub(_money, text)
    text = _MONEY_AFTER.sub(lambda match: _amount(match[1], match[2]), text)
    text = _NETWORK.sub(lambda match: f"{match[1].replace('.', ' dot ')} slash {match[2]}", text)
    text = _NAMED.sub(lambda match: f"{match[1]} {match[2].replace('.', ' point ')}", text)
    text = _VERSION.sub(_version, text)
    text = _ABOUT.sub("about ", text)
    text = _MINUS.sub("minus ", text)
    text = _PERCENT.sub(" percent", text)
    text = _RANGE.sub(" to ", text)
    text = _BY.sub(r"\1 by \2", text)
    text = _TIMES.sub(lambda match: f"{match[1]} {'time' if match[1] == '1' else 'times'}", text)
    text = _FRACTION.sub(lambda match: "24 7" if match[0] == "24/7" else f"{match[1]} of {match[2]}", text)
    text = _spoken_durations(text)
    return _RATE.sub(_rate, text)


def _spoken_durations(text: str) -> str:
    text = _DURATION.sub(_duration, text)
    decades = {match.start() for match in _DECADE.finditer(text)}
    return _QUANTITY.sub(lambda match: match[0] if match.start() in decades else _quantity(match), text)


def _money(match: re.Match[str]) -> str:
    symbol, number, upper, scale, per = match.groups()
    if upper:
        number = f"{_plain(number)} to {_plain(upper)}"
    scale = (scale or "").strip()
    said = (
        f"{_plain(number)} {_SCALES.get(scale, scale)} {_CURRENCIES[symbol][1]}"
        if scale
        else _amount(number, symbol)
    )
    return f"{said} per {_PER.get(per, per)}" if per else said


def _amount(number: str, symbol: str) -> str:
    one, many, hundredths = _CURRENCIES[symbol]
    number = _plain(number)
    whole, _, fraction = number.partition(".")
    if " " in number or not hundredths or len(fraction) not in {0, 2}:
        return f"{number} {many}"
    if whole == "0" and fraction not in {"", "00"}:
        return f"{int(fraction)} {hundredths}"
    unit = one if whole == "1" else many
    return f"{whole} {unit}" if fraction in {"", "00"} else f"{whole} {unit} {int(fraction)}"


def _plain(number: str) -> str:
    return number.replace(",", "")


def _quantity(match: re.Match[str]) -> str:
    number, blank, unit, per = match.groups()
    scale = _SCALES.get(unit)
    if scale and not blank and (unit != "T" or per):
        return f"{number} {scale}" + (f" per {_PER.get(per, per)}" if per else "")
    names = _UNITS.get(unit)
    if names is None or (blank and unit in _ONLY_GLUED) or (per is not None and per not in _PER):
        return match[0]
    said = f"{_plain(number)} {names[number != '1']}"
    return f"{said} per {_PER[per]}" if per else said


def _duration(match: re.Match[str]) -> str:
    parts = [
        f"{value} {names[value != '1']}"
        for value, names in zip(
            match.groups(), (_UNITS["d"], _UNITS["h"], _UNITS["min"], _UNITS["s"]), strict=True
        )
        if value
    ]
    # A lone "5m" may be minutes, metres or millions: it stays as it is.
    if len(parts) < 2:
        return match[0]
    return " ".join(parts) + (" " if match[0].endswith(" ") else "")


def _rate(match: re.Match[str]) -> str:
    return f"{_COUNTED.get(match[1], match[1])} per {_PER.get(match[2], match[2])}"


def _version(match: re.Match[str]) -> str:
    named, letter, numbers, stage, stage_number = match.groups()
    parts = numbers.split(".")
    if len(parts) == 2 and not (named or letter or stage):
        return match[0]
    if _DOTTED_DATE.fullmatch(match[0]):
        return match[0]
    if len(parts) == 4 and not (named or letter) and all(int(part) < 256 for part in parts):
        return " dot ".join(parts)
    said = " point ".join(parts)
    if named or letter:
        said = f"{named or 'version '}{said}"
    if stage:
        name = {"a": "alpha", "b": "beta"}.get(stage.lower(), stage.lower())
        said = f"{said} {_STAGES.get(name, name)}"
    return f"{said} {stage_number}" if stage_number else said
