"""Messages to one session keep their distance; other sessions do not wait for them."""

from gateway.agents.pacing import BURST, PER_MESSAGE_S, Pacing


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return 0.0


def test_a_few_go_at_once_then_one_every_two_seconds() -> None:
    pacing = Pacing(Clock())
    delays = [pacing.delay_s("a") for _ in range(BURST + 3)]
    assert delays == [0.0] * BURST + [PER_MESSAGE_S, 2 * PER_MESSAGE_S, 3 * PER_MESSAGE_S]


def test_a_pause_gives_the_burst_back() -> None:
    clock = Clock()
    pacing = Pacing(clock)
    for _ in range(BURST):
        pacing.delay_s("a")
    clock.now += PER_MESSAGE_S
    assert [pacing.delay_s("a"), pacing.delay_s("a")] == [0.0, PER_MESSAGE_S]
    clock.now += 3600
    assert [pacing.delay_s("a") for _ in range(BURST + 1)] == [0.0] * BURST + [PER_MESSAGE_S]


def test_over_a_minute_the_inbox_limit_is_never_near() -> None:
    clock = Clock()
    pacing = Pacing(clock)
    due = sorted(clock.now + pacing.delay_s("a") for _ in range(40))
    assert max(sum(start <= at < start + 60 for at in due) for start in due) <= 30 + BURST


def test_sessions_do_not_wait_for_each_other() -> None:
    pacing = Pacing(Clock())
    for _ in range(10):
        pacing.delay_s("a")
    assert pacing.delay_s("b") == 0.0


def test_sessions_that_are_quiet_are_forgotten() -> None:
    clock = Clock()
    pacing = Pacing(clock)
    for i in range(100):
        pacing.delay_s(f"{i}")
    clock.now += 3600
    pacing.delay_s("last")
    assert len(pacing._free_at) == 1
