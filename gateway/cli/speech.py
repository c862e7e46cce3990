"""`codriver transcribe` and `say`: the voice parts by themselves."""

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from gateway.cli.failure import CommandFailure
from gateway.errors import GatewayError
from gateway.hearing import translated
from gateway.phrases import Phrases
from gateway.service import Voice, make_voice
from gateway.settings import Settings, load
from voice.errors import VoiceError
from voice.speakable import speakable

_TYPES = {
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".m4a": "audio/mp4",
    ".mp4": "audio/mp4",
} | dict.fromkeys((".ogg", ".opus", ".oga"), "audio/ogg")


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add both commands."""
    transcribe = subparsers.add_parser(
        "transcribe", help="print the words of recordings", description="Print the words of recordings."
    )
    transcribe.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a recording, any container")
    transcribe.add_argument(
        "--json", action="store_true", help="print JSON, with timings and what was left out"
    )
    say = subparsers.add_parser(
        "say",
        help="speak a text into a file",
        description="Speak a text (Markdown is made speakable first) into a file: .wav, .mp3, .m4a or .ogg.",
    )
    say.add_argument("words", nargs="+", metavar="TEXT", help="what to say")
    say.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="codriver.wav",
        help="default codriver.wav; - is standard output (WAV)",
    )
    for parser in (transcribe, say):
        parser.add_argument("--config", type=Path, metavar="F", help="this settings file")


def run(args: argparse.Namespace, environ: Mapping[str, str], out: TextIO, err: TextIO) -> int:
    """Carry one of them out."""
    settings = load(args.config, environ)
    phrases = Phrases.load(settings.speech.language)
    if args.command == "say":
        return asyncio.run(_say(settings, phrases, args, out))
    return asyncio.run(_transcribe(settings, phrases, args, out, err))


async def _transcribe(
    settings: Settings, phrases: Phrases, args: argparse.Namespace, out: TextIO, err: TextIO
) -> int:
    voice = make_voice(settings)
    try:
        ears = voice.ears
        if ears is None:
            raise CommandFailure("The speech engines are not installed: pip install 'codriver[embedded]'")
        await ears.load()
        rows = [await _row(voice, settings, phrases, file) for file in args.files]
    except VoiceError as error:
        raise CommandFailure(f"Speech recognition cannot be loaded: {error}") from error
    finally:
        await voice.close()
    if args.json:
        print(json.dumps(rows, ensure_ascii=False, indent=2), file=out)
    for row in [] if args.json else rows:
        prefix = f"{row['file']}: " if len(rows) > 1 else ""
        print(f"{prefix}{row['error'] or row['text']}", file=err if row["error"] else out)
    return 1 if any(row["error"] for row in rows) else 0


async def _row(voice: Voice, settings: Settings, phrases: Phrases, file: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"file": str(file), "text": "", "error": ""}
    limit = settings.server.body_limit_bytes
    try:
        with file.open("rb") as recording:
            data = recording.read(limit + 1)
    except OSError as error:
        return row | {"error": f"It cannot be read ({error.strerror})."}
    try:
        assert voice.ears is not None
        heard = await voice.ears.hear(data)
    except VoiceError as error:
        return row | {"error": _sentence(translated(error, settings), phrases)}
    row |= {"text": heard.text, "verdict": str(heard.verdict), "dropped": list(heard.dropped)}
    row |= {"container": heard.container, "audio_s": round(heard.audio_s, 3), "timings": dict(heard.timings)}
    return row if heard.text else row | {"error": phrases.say("nothing_heard")}


def _sentence(error: GatewayError, phrases: Phrases) -> str:
    return phrases.say(error.code, turn=0, **error.fields)


async def _say(settings: Settings, phrases: Phrases, args: argparse.Namespace, out: TextIO) -> int:
    is_piped = args.output == "-"
    target = Path(args.output)
    kind = "audio/wav" if is_piped else _TYPES.get(target.suffix.lower())
    if kind is None:
        raise CommandFailure("The file's name must end in .wav, .mp3, .m4a or .ogg.")
    sentences = speakable(" ".join(args.words), phrases.notices)
    voice = make_voice(settings)
    try:
        if voice.mouth is None:
            raise CommandFailure("The speech engines are not installed: pip install 'codriver[embedded]'")
        await voice.mouth.load()
        data = b"".join([chunk async for chunk in voice.mouth.speak(sentences, kind)])
    except VoiceError as error:
        raise CommandFailure(f"It cannot be spoken: {error}") from error
    finally:
        await voice.close()
    if is_piped:
        sys.stdout.buffer.write(data)
        return 0
    await asyncio.to_thread(target.write_bytes, data)
    print(f"{target}: {len(data)} bytes, {kind}", file=out)
    return 0
