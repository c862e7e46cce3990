"""What is too long for one reply comes in pages, and what a session is doing behind a marker: over HTTP."""

import itertools
from typing import Any

import pytest

from tests.gateway.conftest import Client, Running
from tests.gateway.fake_session import (
    FakeSession,
    peer,
    text,
    tool_use,
    turn,
    turn_duration,
    user,
    words,
)


class TestPages:
    async def page_through(self, client: Client) -> list[str]:
        pages = []
        reply = await client.reply()
        while True:
            pages.append(reply["say"])
            if not reply["more"]:
                return pages
            reply = await client.ask("more")

    async def test_every_word_comes_once_over_the_pages(self, client: Client, session: FakeSession) -> None:
        given = " ".join(words(17, f"s{i}w") for i in range(20))
        session.write(*turn("a", given))
        pages = await self.page_through(client)
        assert len(pages) > 5 and all(len(page.split()) <= 60 for page in pages)
        said = " ".join(page.replace("Say more for the rest.", "") for page in pages).split()
        assert said == given.split()

    async def test_more_and_repeat_go_on_after_a_restart(
        self, running: Running, session: FakeSession
    ) -> None:
        client = await running.start()
        session.write(*turn("a", f"{words(50, 'a')} {words(50, 'b')}"))
        first = await client.reply()
        client = await running.restart()
        assert (await client.ask("repeat"))["say"] == first["say"]
        second = await client.ask("more")
        assert second["say"].startswith("b0") and not second["more"]
        client = await running.restart()
        assert (await client.ask("repeat"))["say"] == second["say"]
        assert (await client.ask("more"))["say"] == "That was all."
        assert session.frames == []

    async def test_nothing_new_does_not_take_the_place_of_what_can_be_repeated(
        self, client: Client, session: FakeSession
    ) -> None:
        session.write(*turn("a", "One."))
        await client.reply()
        await client.reply(wait=0)
        assert (await client.ask("repeat"))["say"] == "One."

    async def test_a_question_closes_the_first_page_and_is_not_said_again(
        self, client: Client, session: FakeSession
    ) -> None:
        long = " ".join(words(15, f"s{i}w") for i in range(8))
        session.write(
            *turn("a", f'{long}\n\n- Postgres\n- SQLite\n\nWhich `database` do you want for "prod"?')
        )
        pages = await self.page_through(client)
        assert pages[0].endswith(
            'Which database do you want for "prod"? Option one: Postgres. Option two: SQLite.'
        )
        assert "Say more for the rest." in pages[0]
        rest = " ".join(pages[1:])
        assert "Which" not in rest and "Postgres" not in rest
        said = " ".join(pages).split()
        assert all(said.count(word) == 1 for word in long.split())

    @pytest.mark.parametrize("limit", [20, 60])
    async def test_no_page_has_more_words_than_allowed_whatever_comes_together(
        self, running: Running, session: FakeSession, limit: int
    ) -> None:
        running.environ["CODRIVER_SPEECH_MAX_WORDS"] = str(limit)
        client = await running.start()
        await client.ask("first")
        session.write(*turn("typed", words(80, "old")))

        def mind(fake: FakeSession, content: str, frame: dict[str, Any]) -> None:
            options = "\n".join(f"- {words(9, f'o{i}w')}" for i in range(6))
            asks = f"{words(70, 'new')}\n\n{options}\n\nWhich of these many options do you want me to take?"
            fake.write(user("typed"), peer(frame), text(asks), turn_duration())

        session.mind = mind
        reply = await client.ask("second")
        assert reply["state"] == "needs_answer"
        pages = [reply["say"]]
        while reply["more"]:
            reply = await client.ask("more")
            pages.append(reply["say"])
        assert all(len(page.split()) <= limit for page in pages)
        said = " ".join(pages)
        assert all(f"new{i}" in said for i in range(70)) and all(
            f"o{i}w{j}" in said for i in range(6) for j in range(9)
        )
        assert "Which of these" in pages[0]

    async def test_a_long_form_is_paged_and_loses_no_option(
        self, running: Running, session: FakeSession
    ) -> None:
        running.environ["CODRIVER_SPEECH_MAX_WORDS"] = "20"
        client = await running.start()
        options = [{"label": f"choice{i} and some more words"} for i in range(9)]
        session.write(
            user("a"),
            tool_use("f", "AskUserQuestion", questions=[{"question": "Which?", "options": options}]),
        )
        session.set(status="waiting", waitingFor="input needed")
        pages = await self.page_through(client)
        assert all(len(page.split()) <= 20 for page in pages)
        assert all(" ".join(pages).count(f"choice{i}") == 1 for i in range(9))


class TestProgress:
    async def test_what_follows_the_marker_is_never_the_same_twice_in_a_row(
        self, client: Client, session: FakeSession
    ) -> None:
        session.write(user("a"), tool_use("t0", "Read"))
        session.set(status="busy")
        said = []
        for i in range(1, 8):
            said.append((await client.reply(wait=0))["say"])
            if i % 3 == 0:
                session.write(tool_use(f"t{i}", "Bash"))
        after = [say.removeprefix("Still working.").strip() for say in said]
        assert all(say.startswith("Still working.") for say in said)
        assert all(one != other or not one for one, other in itertools.pairwise(after))
        assert len({one for one in after if one}) >= 3
        assert not any(one and one == other for one, other in zip(after, after[2:], strict=False))

    async def test_with_progress_off_it_is_the_marker_alone(
        self, running: Running, session: FakeSession
    ) -> None:
        running.environ["CODRIVER_DIALOG_PROGRESS"] = "false"
        client = await running.start()
        session.write(user("a"), tool_use("t0", "Read"))
        session.set(status="busy")
        assert (await client.reply(wait=0))["say"] == "Still working."

    async def test_the_marker_stands_in_no_other_sentence(self, client: Client, session: FakeSession) -> None:
        said = "Still working was said by STILL  WORKING people, still\nworking."
        session.write(*turn("a", said))
        say = (await client.reply())["say"]
        assert "still working" not in say.casefold().replace("\u00a0", "_")
