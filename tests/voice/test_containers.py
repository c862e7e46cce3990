import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voice import decoder_child
from voice.containers import Container, Decoder, Limits, sniff
from voice.errors import Busy, DecoderFailed, TooLarge, TooLong, Truncated, Unreadable, VoiceError

LINUX = pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="reads /proc")
TEXTS = {
    "empty": b"",
    "words": b"run the tests and push",
    "html": b"<html><body>502 Bad Gateway</body></html>",
    "json": b'{"message": "run the tests"}',
    "playlist": b"#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:2.6,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n",
    "ffconcat": b"ffconcat version 1.0\nfile '/etc/hostname'\n",
    "subtitles": b"1\n00:00:00,000 --> 00:00:02,000\nrun the tests\n",
    "webvtt": b"WEBVTT\n\n00:00.000 --> 00:02.000\nrun the tests\n",
    "ass": b"[Script Info]\nTitle: x\n",
    "sdp": b"v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\n",
    "dash": b'<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"></MPD>',
    "riff without wave": b"RIFF\x10\x00\x00\x00AVI LIST",
    "names of magics": b"ID3 tags, fLaC files, caffeine and OggS are only words here",
    "words around a box name": b"the moov box and the ftyp",
    "utf-16": "run the tests".encode("utf-16"),
    "raw samples": bytes(5_000),
    "tar": b"voice.wav" + bytes(248) + b"ustar",
}


def test_every_container_is_told_by_its_bytes(recordings: Any) -> None:
    expected = {"wav": "wav", "m4a": "mp4", "mp4": "mp4", "webm": "webm", "matroska": "webm", "ogg": "ogg"}
    for name in recordings.formats:
        kind = name.partition("_")[0]
        assert sniff(recordings.tone_in(name)) == expected.get(kind, kind), name
        assert sniff(recordings.tone_in(name)[:4096]) == expected.get(kind, kind), name
    assert sniff(recordings.amr()) == "amr"


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_never_taken_for_a_recording(name: str) -> None:
    assert sniff(TEXTS[name]) is None


@given(
    st.text(st.characters(min_codepoint=9, exclude_categories=("Cs",))),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
)
def test_no_text_in_any_encoding_is_taken_for_a_recording(text: str, encoding: str) -> None:
    assert sniff(text.encode(encoding)) is None


@given(st.binary(max_size=64))
def test_sniffing_takes_any_bytes(data: bytes) -> None:
    for magic in (b"", b"ID3\x04\0\0", b"\xff\xfb", b"\xff\xf1", b"\0\0\0\x18ftyp", b"RIFF"):
        sniff(magic + data)


def test_tag_ahead_of_another_container_is_looked_behind(recordings: Any) -> None:
    tag = b"ID3\x04\x00\x00\x00\x00\x00\x0a" + bytes(10)
    assert sniff(tag + recordings.tone_in("aac")) is Container.AAC
    assert sniff(tag + recordings.tone_in("flac")) is Container.FLAC
    assert sniff(tag) is Container.MP3


def test_each_container_has_a_demuxer() -> None:
    assert set(Container) == set(decoder_child.DEMUXERS)


async def test_every_container_decodes_to_its_length_and_level(recordings: Any, decoder: Decoder) -> None:
    for name in recordings.formats:
        decoded = await decoder.decode(recordings.tone_in(name))
        assert decoded.pcm.rate_hz == 16_000
        assert decoded.pcm.seconds == pytest.approx(2.0, abs=0.15), name
        assert not decoded.is_damaged, name
        middle = decoded.pcm.to_float32()[8_000:24_000]
        assert float(np.sqrt(np.mean(middle**2))) == pytest.approx(10_000 / 32_768 / 2**0.5, rel=0.1), name
        assert np.argmax(np.abs(np.fft.rfft(middle))) == pytest.approx(440, abs=2), name


async def test_amr_decodes_although_its_last_frame_is_broken(recordings: Any, decoder: Decoder) -> None:
    whole = await decoder.decode(recordings.amr(100))
    assert whole.pcm.seconds == pytest.approx(2.0, abs=0.1)
    cut = await decoder.decode(recordings.amr(100)[:-20])
    assert cut.pcm.seconds == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("name", TEXTS)
async def test_text_is_refused_before_any_demuxer_sees_it(name: str, decoder: Decoder) -> None:
    with pytest.raises(Unreadable):
        await decoder.decode(TEXTS[name])
    assert decoder.pids == ()


@pytest.mark.parametrize("size", [0, 0xFFFF_FFFF, 0xFFFF_FF00, 0x7FFF_FFFF])
async def test_streamed_wav_counts_its_bytes_not_its_header(
    size: int, recordings: Any, decoder: Decoder
) -> None:
    header = recordings.WavHeader(data_bytes=size)
    decoded = await decoder.decode(recordings.wav(recordings.tone().tobytes(), header))
    assert decoded.pcm.seconds == pytest.approx(2.0, abs=0.01)
    assert not decoded.is_damaged


async def test_wav_that_ends_inside_a_sample_decodes(recordings: Any, decoder: Decoder) -> None:
    decoded = await decoder.decode(recordings.wav(recordings.tone().tobytes())[:-1])
    assert decoded.pcm.seconds == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize(
    "lie",
    [{"rate_hz": 1}, {"rate_hz": 1_000_000_000}, {"channels": 65_535}, {"channels": 0}, {"bits": 0}],
    ids=str,
)
async def test_absurd_wav_header_is_unreadable(
    lie: dict[str, int], recordings: Any, decoder: Decoder
) -> None:
    header = recordings.WavHeader(**lie)
    with pytest.raises(Unreadable):
        await decoder.decode(recordings.wav(bytes(3_200), header))


@pytest.mark.parametrize("name", ["webm", "mp3", "wav", "ogg_opus", "mp4_fragmented", "aac", "flac"])
async def test_truncated_recording_keeps_what_came_before(
    name: str, recordings: Any, decoder: Decoder
) -> None:
    data = recordings.tone_in(name, 4.0)
    decoded = await decoder.decode(data[: len(data) * 6 // 10])
    assert 0.8 < decoded.pcm.seconds < 3.5


@pytest.mark.parametrize("keep", [9, 40, 60, 90])
async def test_recording_cut_before_its_index_is_truncated(
    keep: int, recordings: Any, decoder: Decoder
) -> None:
    data = recordings.tone_in("m4a")
    with pytest.raises(Truncated):
        await decoder.decode(data[: len(data) * keep // 100])


async def test_damaged_tail_keeps_the_rest(recordings: Any, decoder: Decoder) -> None:
    data = bytearray(recordings.tone_in("mp3", 4.0))
    data[-len(data) // 5 :] = bytes(len(data) // 5 + 1)
    assert (await decoder.decode(bytes(data))).pcm.seconds > 2.5


async def test_damaged_packets_in_the_middle_are_said_and_skipped(recordings: Any, decoder: Decoder) -> None:
    data = bytearray(recordings.tone_in("m4a", 4.0))
    start = data.index(b"mdat") + 4
    noise = np.random.default_rng(3).bytes(2_000)
    data[start + 6_000 : start + 8_000] = noise
    decoded = await decoder.decode(bytes(data))
    assert decoded.is_damaged
    assert decoded.pcm.seconds > 1.0


@pytest.mark.parametrize("name", ["m4a", "webm", "ogg_opus", "flac", "mp3", "wav", "aac", "caf", "3gp"])
async def test_any_damage_ends_in_sound_or_in_an_error_of_ours(
    name: str, recordings: Any, decoder: Decoder
) -> None:
    random = np.random.default_rng(5)
    good = recordings.tone_in(name, 1.0)
    for _ in range(12):
        data = bytearray(good)
        for at in random.integers(0, len(data), 20):
            data[at] = random.integers(256)
        try:
            await decoder.decode(bytes(data[: random.integers(len(data))]))
        except VoiceError:
            continue


async def test_joined_recordings_give_at_least_the_first(recordings: Any, decoder: Decoder) -> None:
    decoded = await decoder.decode(recordings.tone_in("ogg_opus") + recordings.tone_in("ogg_vorbis"))
    assert decoded.pcm.seconds >= 1.9


@pytest.mark.parametrize(("left", "right"), [(1, 0), (0, 1), (1, -1), (1, 1), (1, 0.001)], ids=str)
async def test_a_voice_on_any_channel_is_kept(
    left: float, right: float, recordings: Any, decoder: Decoder
) -> None:
    tone = recordings.tone()
    both = np.stack([tone * left, tone * right], axis=1).astype("<i2")
    header = recordings.WavHeader(channels=2)
    level = (await decoder.decode(recordings.wav(both.tobytes(), header))).pcm.to_float32().std()
    assert level == pytest.approx(tone.std() / 32_768, rel=0.05)


async def test_two_speakers_on_two_channels_are_both_kept(recordings: Any, decoder: Decoder) -> None:
    tones = np.stack([recordings.tone(hz=440.0), recordings.tone(hz=700.0)], axis=1)
    header = recordings.WavHeader(channels=2)
    pcm = (await decoder.decode(recordings.wav(tones.tobytes(), header))).pcm
    spectrum = np.abs(np.fft.rfft(pcm.to_float32()[:16_000]))
    assert min(spectrum[440], spectrum[700]) > 20 * np.median(spectrum)


def test_too_many_bytes_are_refused_unread(recordings: Any) -> None:
    decoder = Decoder(Limits(bytes=1_000))
    with pytest.raises(TooLarge):
        asyncio.run(decoder.decode(bytes(1_001)))
    assert decoder.pids == ()


async def test_length_is_counted_while_decoding(recordings: Any, decoder: Decoder) -> None:
    second = recordings.tone_in("aac", 1.0)
    hours = second * 7_200
    assert len(hours) < decoder.limits.bytes * 4
    with pytest.raises(TooLong):
        await decoder.decode(hours[: decoder.limits.bytes])
    with pytest.raises(TooLong):
        await decoder.decode(recordings.wav(bytes(2 * 16_000 * 121)))
    assert (await decoder.decode(recordings.wav(bytes(2 * 16_000 * 120)))).pcm.seconds == 120.0


@LINUX
async def test_a_small_file_of_hours_costs_little_memory(recordings: Any, decoder: Decoder) -> None:
    await decoder.warm()
    status = Path(f"/proc/{decoder.pids[0]}/status")
    with pytest.raises(TooLong):
        await decoder.decode(recordings.tone_in("aac", 1.0) * 1_000)
    peak_kb = next(
        int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")
    )
    assert peak_kb < 200_000


def _in_locked_process(code: str) -> str:
    prelude = "import _socket\nfrom voice import decoder_child as c\nc._warm_up()\nc.lock_down(1 << 28)\n"
    attempt = f"""
try:
    {code}
except BaseException as error:
    print(type(error).__name__)
else:
    print('done')
"""
    done = subprocess.run(
        [sys.executable, "-c", prelude + attempt], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/hostname')",
        "open('/dev/null', 'w')",
        "__import__('_socket').socket()",
        "__import__('os').dup(0)",
        "__import__('os').pipe()",
        "__import__('os').open('/etc/hostname', 0)",
        "__import__('os').posix_spawn('/bin/true', ['true'], {})"
        if os.geteuid()
        else "__import__('os').dup(1)",
        "bytearray(1 << 30)" if sys.platform == "linux" else "open('/etc/hostname')",
    ],
)
def test_decoding_process_can_open_and_grow_nothing(code: str) -> None:
    assert _in_locked_process(code) in {"OSError", "MemoryError", "ValueError", "PermissionError"}


def test_locked_process_still_decodes() -> None:
    assert _in_locked_process("c.answer(b'RIFF', {'container': 'wav', 'seconds': 1.0})") == "done"


@LINUX
async def test_decoding_process_knows_nothing_of_the_parents_environment(
    monkeypatch: pytest.MonkeyPatch, decoder: Decoder
) -> None:
    monkeypatch.setenv("CODRIVER_TOKEN", "planted-secret")
    await decoder.warm()
    assert b"planted-secret" not in Path(f"/proc/{decoder.pids[0]}/environ").read_bytes()
    assert Path(f"/proc/{decoder.pids[0]}/cwd").readlink() == Path("/")


async def test_crashed_process_is_replaced(recordings: Any, decoder: Decoder) -> None:
    await decoder.warm()
    first = decoder.pids
    os.kill(first[0], signal.SIGKILL)
    assert (await decoder.decode(recordings.tone_in("wav"))).pcm.seconds == pytest.approx(2.0)
    assert decoder.pids != first


async def test_stalled_process_is_given_up_and_replaced(recordings: Any) -> None:
    decoder = Decoder(Limits(wall_s=0.3))
    try:
        await decoder.warm()
        os.kill(decoder.pids[0], signal.SIGSTOP)
        with pytest.raises(DecoderFailed):
            await decoder.decode(recordings.tone_in("wav"))
        assert (await decoder.decode(recordings.tone_in("wav"))).pcm.seconds == pytest.approx(2.0)
    finally:
        await decoder.close()


async def test_worn_process_is_replaced(recordings: Any) -> None:
    decoder = Decoder(uses_per_worker=2)
    try:
        seen = set()
        for _ in range(4):
            await decoder.decode(recordings.tone_in("wav"))
            seen.update(decoder.pids)
        assert len(seen) == 2
    finally:
        await decoder.close()


async def test_cancelled_decoding_leaves_a_decoder_that_works(recordings: Any, decoder: Decoder) -> None:
    await decoder.warm()
    os.kill(decoder.pids[0], signal.SIGSTOP)
    task = asyncio.create_task(decoder.decode(recordings.tone_in("wav")))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await decoder.decode(recordings.tone_in("wav"))).pcm.seconds == pytest.approx(2.0)


async def test_waiting_for_a_process_has_an_end(recordings: Any) -> None:
    decoder = Decoder(Limits(wall_s=0.2), workers=1)
    try:
        await decoder.warm()
        os.kill(decoder.pids[0], signal.SIGSTOP)
        results = await asyncio.gather(
            *(decoder.decode(recordings.tone_in("wav")) for _ in range(6)), return_exceptions=True
        )
        assert any(isinstance(result, Busy | DecoderFailed) for result in results)
        assert all(not isinstance(result, TimeoutError) for result in results)
    finally:
        await decoder.close()


async def test_recordings_are_decoded_side_by_side(recordings: Any, decoder: Decoder) -> None:
    names = list(recordings.formats)
    results = await asyncio.gather(*(decoder.decode(recordings.tone_in(name)) for name in names))
    assert all(result.pcm.seconds == pytest.approx(2.0, abs=0.15) for result in results)
    assert 1 <= len(decoder.pids) <= 2


async def test_closed_decoder_leaves_no_process_and_refuses(recordings: Any) -> None:
    decoder = Decoder()
    await decoder.warm()
    pids = decoder.pids
    await decoder.close()
    await decoder.close()
    assert decoder.pids == ()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    with pytest.raises(DecoderFailed):
        await decoder.decode(recordings.tone_in("wav"))


async def test_errors_hold_no_path_and_no_bytes(decoder: Decoder, recordings: Any) -> None:
    makers: list[Callable[[], bytes]] = [lambda: TEXTS["playlist"], lambda: recordings.tone_in("m4a")[:200]]
    for make in makers:
        with pytest.raises(VoiceError) as caught:
            await decoder.decode(make())
        assert "/" not in str(caught.value)
        assert caught.value.code
