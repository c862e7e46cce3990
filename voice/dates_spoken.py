"""Dates, clock times and ordinals as they are said."""

# Word lists read better as words than as literals.
# ruff: noqa: SIM905
import re

_MONTHS = ("January February March April May June July August September October November December").split()
_UNITS = "zeroth first second third fourth fifth sixth seventh eighth ninth".split()
_TEENS = (
    "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()

_CLOCK = r"([01]?\d|2[0-4]):([0-5]\d)(?::[0-5]\d(?:[.,]\d{1,9})?)?"
_ZONE = r"(Z|(?: ?UTC)?[+-]\d{2}:?\d{2})?"
_DATE = re.compile(
    r"(?<![\w./-])(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
    rf"(?:(?:T| (?=\d{{1,2}}:\d\d)){_CLOCK}{_ZONE})?(?![\w-])"
)
_TIME = re.compile(rf"(?<![\w:.]){_CLOCK} ?(Z|[aApP][mM])(?!\w)")
_HOUR = re.compile(r"(?<![\w:.])(1[0-2]|[1-9])([aApP])[mM](?!\w)")
_ORDINAL = re.compile(r"(?<![\w.,-])(\d{1,2})(?:st|nd|rd|th)(?!\w)")


def spoken_dates(text: str) -> str:
    """The text with ISO dates, marked clock times and ordinals up to 99 in words; `14:05` stays."""
    if not any(char.isdigit() for char in text):
        return text
    text = _DATE.sub(_date, text)
    text = _TIME.sub(_time, text)
    text = _HOUR.sub(lambda match: f"{match[1]} {match[2].upper()}M", text)
    return _ORDINAL.sub(lambda match: ordinal(int(match[1])), text)


def ordinal(number: int) -> str:
    """The ordinal of 0 … 99 in words."""
    if number < 10:
        return _UNITS[number]
    if number < 20:
        return _TEENS[number - 10]
    ten, unit = divmod(number, 10)
    if not unit:
        return _TENS[ten - 2].removesuffix("y") + "ieth"
    return f"{_TENS[ten - 2]}-{_UNITS[unit]}"


def _date(match: re.Match[str]) -> str:
    year, month, day, hour, minute, zone = match.groups()
    said = f"{_MONTHS[int(month) - 1]} {ordinal(int(day))} {year}"
    if hour is None:
        return said
    return f"{said} at {hour}:{minute}{_zone(zone)}"


def _zone(zone: str | None) -> str:
    if not zone:
        return ""
    sign = re.search(r"([+-])(\d\d):?(\d\d)", zone)
    if sign is None or int(sign[2] + sign[3]) == 0:
        return " UTC"
    minutes = f" {int(sign[3])}" if int(sign[3]) else ""
    return f" UTC {'plus' if sign[1] == '+' else 'minus'} {int(sign[2])}{minutes}"


def _time(match: re.Match[str]) -> str:
    hour, minute, suffix = match.groups()
    if suffix == "Z":
        return f"{hour}:{minute} UTC"
    half = f"{suffix[0].upper()}M"
    return f"{int(hour)} {half}" if minute == "00" else f"{int(hour)}:{minute} {half}"
