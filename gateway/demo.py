"""One spoken round trip through a running gateway, told step by step.

A sentence is spoken by the synthesizer, posted as a recording, recognised, delivered,
answered and spoken back. It went right only if the session received exactly what was
heard and the reply's audio decodes.
"""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO
from urllib.parse import unquote

import aiohttp

from gateway import notes
from gateway.service import Service
from voice.containers import Decoder
from voice.errors import VoiceError

CLIENT = "demo"
_POLLS = 20


class DemoFailure(Exception):
    """A step could not be made; the text is one sentence."""


@dataclass(frozen=True, slots=True)
class _Spoken:
    """A spoken reply as a client gets it."""

    state: str
    heard: str
    audio: bytes
    first_byte_s: float
    total_s: float


class RoundTrip:
    """Drives the gateway as a phone would."""

    def __init__(self, service: Service, url: str, reply_file: Path, out: TextIO) -> None:
        self._service = service
        self._url = url
        self._reply_file = reply_file
        self._out = out

    async def run(self, say: str) -> bool:
        """Make the trip; True if everything was as it should be."""
        await self._load()
        recording = await self._record(say)
        token = self._service.settings.auth.token.get_secret_value()
        headers = {"Authorization": f"Bearer {token}", "X-Codriver-Client": CLIENT, "Accept": "audio/mpeg"}
        async with aiohttp.ClientSession(headers=headers) as http:
            spoken = await self._post(http, "ask", recording)
            heard, received = spoken.heard, await self._received()
            self._tell("heard", f"“{heard}”")
            same = "word for word" if received == heard else "NOT what was heard"
            self._tell("received", f"“{received}” ({same})")
            is_right = bool(heard) and received == heard and await self._answer(spoken)
            for _ in range(_POLLS):
                if spoken.state != "working":
                    break
                spoken = await self._post(http, "reply", b"")
                is_right = await self._answer(spoken) and is_right
        self._tell("result", "right: received as heard, and the reply plays" if is_right else "WRONG")
        return is_right

    async def _load(self) -> None:
        begun = time.perf_counter()
        voice = self._service.voice
        await voice.load()
        problems = [problem for problem in (voice.hearing_problem, voice.speaking_problem) if problem]
        if problems:
            raise DemoFailure(f"No speech ({'; '.join(problems)}). Try: pip install 'codriver[embedded]'")
        self._tell("engines", "speech recognition and synthesis are loaded", time.perf_counter() - begun)

    async def _record(self, say: str) -> bytes:
        begun = time.perf_counter()
        mouth = self._service.voice.mouth
        if mouth is None:
            raise DemoFailure("No speech synthesis. Try: pip install 'codriver[embedded]'")
        data = b"".join([chunk async for chunk in mouth.speak([say], "audio/wav")])
        self._tell("said", f"“{say}” ({len(data)} bytes of WAV)", time.perf_counter() - begun)
        return data

    async def _post(self, http: aiohttp.ClientSession, path: str, body: bytes) -> _Spoken:
        begun = time.perf_counter()
        first_s, chunks = 0.0, []
        async with http.post(
            f"{self._url}/voice/{path}?session=rehearsal&format=audio", data=body
        ) as response:
            async for chunk in response.content.iter_any():
                first_s = first_s or time.perf_counter() - begun
                chunks.append(chunk)
            headers = response.headers
        if not headers.get("Content-Type", "").startswith("audio/"):
            raise DemoFailure(b"".join(chunks).decode(errors="replace"))
        return _Spoken(
            state=headers.get("X-Voice-State", ""),
            heard=unquote(headers.get("X-Voice-Heard", "")),
            audio=b"".join(chunks),
            first_byte_s=first_s,
            total_s=time.perf_counter() - begun,
        )

    async def _received(self) -> str:
        """What stands in the session's own transcript, without the relay note."""
        agent = self._service.agents[0]
        session = next(iter(await agent.list()))
        view = await agent.follow(session).view(None)
        prompts = [prompt for turn in view.turns for prompt in turn.prompts if prompt.nonces]
        return notes.words_of(prompts[-1].text) if prompts else ""

    async def _answer(self, spoken: _Spoken) -> bool:
        """Tell a spoken reply and save it; True if it decodes to sound."""
        last = await self._service.store.last_reply(CLIENT)
        said = last.said[0] if last is not None and spoken.state != "working" else "Still working."
        self._tell("answer", f"“{said}” ({spoken.state})", spoken.first_byte_s, spoken.total_s)
        await asyncio.to_thread(self._reply_file.write_bytes, spoken.audio)
        decoder = Decoder()
        try:
            seconds = (await decoder.decode(spoken.audio)).pcm.seconds
        except VoiceError:
            self._tell("audio", f"{self._reply_file}: does NOT decode")
            return False
        finally:
            await decoder.close()
        self._tell("audio", f"{self._reply_file}: {len(spoken.audio)} bytes, {seconds:.1f} s of speech")
        return seconds > 0

    def _tell(self, step: str, what: str, took_s: float | None = None, whole_s: float | None = None) -> None:
        timing = "" if took_s is None else f"{took_s * 1000:6.0f} ms"
        if whole_s is not None:
            timing += f" to the first byte, {whole_s * 1000:.0f} ms to the last"
        print(f"{step:<9} {what}  {timing}".rstrip(), file=self._out, flush=True)
