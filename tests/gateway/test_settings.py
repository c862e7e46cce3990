"""Settings: what wins, what is refused, and that every fault is told at once without its value."""

import stat
from pathlib import Path

import pytest
from pydantic import ValidationError

from gateway.settings import BadSettings, Fault, LogLevel, Settings, load, masked
from gateway.settings.environment import NOT_SETTINGS, SHORT
from gateway.settings.keys import all_keys

SECRET = "hunter2-is-secret"


def write(tmp_path: Path, text: str | bytes, name: str = "codriver.yaml") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def settings(tmp_path: Path, text: str = "", **environ: str) -> Settings:
    return load(write(tmp_path, text), {"HOME": str(tmp_path), **environ})


def faults(tmp_path: Path, text: str | bytes = "", **environ: str) -> list[Fault]:
    with pytest.raises(BadSettings) as caught:
        load(write(tmp_path, text), {"HOME": str(tmp_path), **environ})
    return list(caught.value.errors)


def only(tmp_path: Path, text: str | bytes = "", **environ: str) -> Fault:
    found = faults(tmp_path, text, **environ)
    assert len(found) == 1, found
    return found[0]


def test_without_file_and_environment_the_defaults_hold(tmp_path: Path) -> None:
    found = load(None, {"HOME": str(tmp_path)})
    assert (found.server.host, found.server.port) == ("127.0.0.1", 8787)
    assert found.auth.token.get_secret_value() == ""
    assert found.log.level is LogLevel.INFO
    assert found.origins == {}
    assert found.places.config_file is None


@pytest.mark.parametrize(
    "text", ["", "# nothing yet\n", "server:\n  # port: 1\nauth:\n", "---\n", "\ufeffserver: {}"]
)
def test_an_empty_file_or_section_keeps_the_defaults(tmp_path: Path, text: str) -> None:
    assert settings(tmp_path, text).server.port == 8787


def test_environment_beats_file_and_command_line_beats_both(tmp_path: Path) -> None:
    path = write(tmp_path, "server: {port: 1, host: a.example}\nlog: {level: debug}")
    environ = {"HOME": str(tmp_path), "CODRIVER_PORT": "2", "CODRIVER_HOST": "b.example"}
    found = load(path, environ, {"server.port": 3})
    assert (found.server.port, found.server.host, found.log.level) == (3, "b.example", LogLevel.DEBUG)
    shown = masked(found)
    assert shown["server"]["port"] == {"value": 3, "from": "command line"}
    assert shown["server"]["host"]["from"] == "environment CODRIVER_HOST"
    assert shown["log"]["level"] == {"value": "debug", "from": f"{path}:2"}
    assert shown["tts"]["queue"] == {"value": 4, "from": "default"}


@pytest.mark.parametrize("key", all_keys(), ids=lambda key: key.name)
def test_every_key_can_be_set_from_the_environment(tmp_path: Path, key) -> None:
    texts = {
        "server.host": "::1",
        "server.allowed_hosts": '["a.example"]',
        "server.allowed_origins": '["https://a.example:444"]',
        "auth.token": SECRET,
        "state.dir": "/somewhere",
        "sessions.default_session": "web",
        "sessions.aliases": '{"pay": "payments"}',
        "sessions.allow": '["a", "/srv/b c"]',
        "sessions.deny": '["c"]',
        "stt.model": "base.en",
        "stt.language": "de",
        "tts.model": "/voices/x.onnx",
        "log.level": "error",
        "tts.length_scale": "1.5",
        "speech.max_words": "40",
        "server.body_limit_bytes": "100000",
    }
    own = {bool: str(not key.default), int: "8", float: "2.5", str: str(key.default)}
    text = texts.get(key.name) or own.get(key.kind) or str(key.default)
    found = settings(tmp_path, **{key.variable: text})
    assert found.origins == {key.name: f"environment {key.variable}"}
    value = getattr(getattr(found, key.section), key.key)
    if key.name not in ("speech.language", "stt.engine", "tts.engine"):
        assert value != key.default


def test_short_names_work_like_their_long_ones(tmp_path: Path) -> None:
    environ = {
        "CODRIVER_TOKEN": SECRET,
        "CODRIVER_HOST": "box",
        "CODRIVER_PORT": "0",
        "CODRIVER_STATE_DIR": "/s",
        "CODRIVER_READONLY": "1",
        "CODRIVER_ALLOW": "web, the api,",
        "CODRIVER_DENY": "prod",
        "CODRIVER_ALLOW_SELF": "1",
    }
    found = settings(tmp_path, **environ)
    assert found.auth.token.get_secret_value() == SECRET
    assert (found.server.host, found.server.port, found.state_dir) == ("box", 0, Path("/s"))
    assert (found.sessions.allow, found.sessions.deny) == (("web", "the api"), ("prod",))
    assert found.sessions.readonly and found.sessions.allow_self


def test_long_and_short_name_may_agree_but_not_differ(tmp_path: Path) -> None:
    assert settings(tmp_path, CODRIVER_PORT="80", CODRIVER_SERVER_PORT="080").server.port == 80
    fault = only(tmp_path, CODRIVER_PORT="80", CODRIVER_SERVER_PORT="81")
    assert "CODRIVER_PORT" in f"{fault.key} {fault.expected}"
    assert "CODRIVER_SERVER_PORT" in f"{fault.key} {fault.expected}"


@pytest.mark.parametrize("name", NOT_SETTINGS)
def test_names_that_others_read_are_no_faults(tmp_path: Path, name: str) -> None:
    value = str(write(tmp_path, "", "other.yaml")) if name == "CODRIVER_CONFIG" else "x"
    assert settings(tmp_path, **{name: value}).origins == {}


def test_unknown_variable_is_a_fault_with_the_nearest_name(tmp_path: Path) -> None:
    fault = only(tmp_path, CODRIVER_TOKKEN=SECRET)
    assert (fault.source, fault.line, fault.key) == ("environment", None, "CODRIVER_TOKKEN")
    assert "did you mean CODRIVER_TOKEN?" in fault.expected


@pytest.mark.parametrize(
    ("text", "line", "key", "expected"),
    [
        ("sever:\n  port: 1", 1, "sever", "did you mean server?"),
        ("server:\n  prot: 1", 2, "server.prot", "did you mean server.port?"),
        ("\nport: 1", 2, "port", "did you mean server.port?"),
        ("stt:\n  token: x", 2, "stt.token", "did you mean auth.token?"),
        ("server: 8787", 1, "server", "a section with its keys"),
        ("server:\n- port: 1", 1, "server", "a section with its keys"),
        ("server: {port: 65536}", 1, "server.port", "a whole number from 0 to 65535"),
        ("server: {port: '80'}", 1, "server.port", "a whole number"),
        ("server: {port: true}", 1, "server.port", "a whole number"),
        ("server: {port: 80.5}", 1, "server.port", "a whole number"),
        ("server: {port: }", 1, "server.port", "a whole number"),
        ("server: {host: 'a b'}", 1, "server.host", "a host name"),
        ("server: {host: ''}", 1, "server.host", "a host name"),
        ("server: {allowed_hosts: a.example}", 1, "server.allowed_hosts", "a list"),
        ("server: {allowed_hosts: ['https://a.example']}", 1, "server.allowed_hosts", "a list of host names"),
        ("server: {allowed_origins: ['https://a.example/']}", 1, "server.allowed_origins", "no path"),
        ("auth: {token: 123456}", 1, "auth.token", "visible ASCII"),
        ("auth: {token: 'a b'}", 1, "auth.token", "visible ASCII"),
        ("auth: {token: 'sha256:12ab'}", 1, "auth.token", "64 hex digits"),
        ("auth: {path_token: 'no'}", 1, "auth.path_token", "true or false"),
        ("state: {dir: 5}", 1, "state.dir", "a directory"),
        ("sessions: {allow: [yes]}", 1, "sessions.allow", "a list of names"),
        ("sessions: {allow: ['']}", 1, "sessions.allow", "a list of names"),
        ("sessions: {aliases: [a]}", 1, "sessions.aliases", "a map"),
        ("sessions: {aliases: {a: 1}}", 1, "sessions.aliases", "a map"),
        ("dialog: {ask_wait_s: 46}", 1, "dialog.ask_wait_s", "a number from 0 to 45"),
        ("dialog: {ask_wait_s: .nan}", 1, "dialog.ask_wait_s", "a number"),
        ("dialog: {ask_wait_s: true}", 1, "dialog.ask_wait_s", "a number"),
        ("speech: {max_words: 19}", 1, "speech.max_words", "from 20 to 200"),
        ("speech: {language: ../../etc/passwd}", 1, "speech.language", "phrases file"),
        ("tts: {length_scale: 0.4}", 1, "tts.length_scale", "from 0.5 to 2"),
        ("stt: {engine: Whisper}", 1, "stt.engine", "one of whisper"),
        ("log:\n  level: loud", 2, "log.level", "one of debug, info, warning, error"),
        ("server:\n  port: 1\n  port: 2", 3, "server.port", "line 2"),
        ("log: {}\nserver: {}\nlog: {}", 3, "log", "line 1"),
        ("sessions:\n  aliases:\n    a: b\n    a: c", 4, "sessions.aliases.a", "line 3"),
        ("server:\n\tport: 1", 2, "", "valid YAML"),
        ("server: {port: 1", 1, "", "valid YAML"),
        ("log: {level: info}\n---\nlog: {}", 2, "", "one document"),
        ("just words", 1, "", "keys and values"),
        ("- server", 1, "", "keys and values"),
        ("log: {}\nserver: {host: \x07}", 2, "", "control characters"),
        ("state: {dir: !!python/name:os.system x}", 1, "state.dir", "without a `!tag`"),
        ("state: {dir: !!int abc}", 1, "state.dir", "a plain value"),
        ("state: {dir: !!bool abc}", 1, "state.dir", "a plain value"),
        ("state: {dir: !!timestamp abc}", 1, "state.dir", "a plain value"),
        ("state: {dir: 2026-13-45}", 1, "state.dir", "a plain value"),
        ("state: {dir: !!binary é}", 1, "state.dir", "quotes"),
        ("state: {dir: !!omap x}", 1, "state.dir", "quotes"),
        ("sessions: {allow: &a [*a]}", 1, "sessions.allow", "a plain value"),
        (b"log:\n  level: inf\xf6", 2, "", "UTF-8"),
        ("log: {}".encode("utf-16"), 1, "", "UTF-8"),
    ],
)
def test_each_kind_of_fault_is_told_with_line_key_and_what_was_expected(
    tmp_path: Path, text: str | bytes, line: int, key: str, expected: str
) -> None:
    fault = only(tmp_path, text)
    assert (fault.source, fault.line, fault.key) == (str(tmp_path / "codriver.yaml"), line, key)
    assert expected in fault.expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("CODRIVER_PORT", "", "a whole number from 0 to 65535"),
        ("CODRIVER_PORT", "8_787", "a whole number"),
        ("CODRIVER_PORT", "٣", "a whole number"),
        ("CODRIVER_READONLY", "maybe", "true or false"),
        ("CODRIVER_READONLY", "", "true or false"),
        ("CODRIVER_ALLOW", "", "separated by commas"),
        ("CODRIVER_ALLOW", " , ", "separated by commas"),
        ("CODRIVER_SESSIONS_ALLOW", "a,b", "as JSON"),
        ("CODRIVER_SESSIONS_ALLOW", "[1]", "as JSON"),
        ("CODRIVER_SESSIONS_ALLOW", "[" * 100_000, "as JSON"),
        ("CODRIVER_SESSIONS_ALIASES", '{"a": "b", "a": "c"}', "as JSON"),
        ("CODRIVER_SESSIONS_ALIASES", '["a"]', "as JSON"),
        ("CODRIVER_DIALOG_JOIN_S", "inf", "a number from 0 to 300"),
        ("CODRIVER_LOG_LEVEL", "LOUD", "one of"),
        ("CODRIVER_TOKEN", "a\nb", "visible ASCII"),
    ],
)
def test_each_kind_of_wrong_variable_is_told(tmp_path: Path, name: str, value: str, expected: str) -> None:
    fault = only(tmp_path, **{name: value})
    assert (fault.source, fault.line, fault.key) == ("environment", None, name)
    assert expected in fault.expected


def test_all_faults_of_file_and_environment_are_told_at_once(tmp_path: Path) -> None:
    text = "server:\n  port: x\n  hots: y\nsever: {}\nserver: {}\ntts: {length_scale: 9, queue: 0}"
    found = faults(
        tmp_path,
        text,
        CODRIVER_LOG_LEVEL="loud",
        CODRIVER_NOPE="1",
        CODRIVER_PORT="2",
        CODRIVER_SERVER_PORT="3",
    )
    keys = [fault.key for fault in found]
    assert keys == [
        *("server.port", "server.hots", "sever", "server", "tts.length_scale", "tts.queue"),
        *("CODRIVER_LOG_LEVEL", "CODRIVER_NOPE", "CODRIVER_SERVER_PORT"),
    ]
    lines = str(BadSettings(found)).splitlines()
    assert len(lines) == len(found)
    assert lines[0] == f"{tmp_path}/codriver.yaml:2: server.port: expected a whole number from 0 to 65535"


@pytest.mark.parametrize(
    "text",
    [
        f"auth: {{token: {SECRET} with blanks}}",
        f"auth: {{token:{SECRET}}}",
        f"auth:\n  token:{SECRET}",
        f"auth: token:{SECRET}",
        f"auth: {{token: [{SECRET}]}}",
        f"auth: {{token: {{{SECRET}: 1}}}}",
        f"auth: {{token: !{SECRET}}}",
        f"auth: {{token: !{SECRET} x}}",
        f"auth: {{token: !x!{SECRET} x}}",
        f"auth: {{token: *{SECRET}}}",
        f"auth: {{token: &{SECRET} &b x}}",
        f"auth: {{token: '{SECRET}}}",
        f"auth: {{token: 'sha256:{SECRET}'}}",
        f"auth: {{token: !!int {SECRET}}}",
        f"auth: {{token: !!timestamp {SECRET}}}",
        f"auth: {{token: {SECRET}: x}}",
        f"auth:\n  token: {SECRET} : x: y",
        f"token={SECRET}",
        f"auth: {SECRET}",
        f"%{SECRET}",
        f"%YAML {SECRET}\n--- {{}}",
        f"%TAG !{SECRET} x\n--- {{}}",
    ],
)
def test_no_fault_tells_the_secret(tmp_path: Path, text: str) -> None:
    told = "\n".join(
        str(fault)
        for fault in faults(tmp_path, text, CODRIVER_AUTH_TOKEN=f"{SECRET} x", CODRIVER_TOKEN=f"{SECRET}y")
    )
    assert SECRET not in told
    assert "hunter2" not in told


def test_a_secret_shows_neither_masked_nor_printed(tmp_path: Path) -> None:
    found = settings(tmp_path, CODRIVER_TOKEN=SECRET)
    assert masked(found)["auth"]["token"]["value"] == "********"
    assert SECRET not in repr(found) + str(found) + repr(masked(found))
    assert masked(settings(tmp_path))["auth"]["token"]["value"] == ""


def test_a_hashed_token_is_taken_in_either_case(tmp_path: Path) -> None:
    found = settings(tmp_path, CODRIVER_TOKEN="sha256:" + "AB" * 32)
    assert found.auth.token.get_secret_value() == "sha256:" + "ab" * 32


def test_settings_cannot_be_changed(tmp_path: Path) -> None:
    found = settings(tmp_path)
    with pytest.raises(ValidationError):
        found.server.port = 1
    with pytest.raises(ValidationError):
        found.server = found.server
    with pytest.raises(AttributeError):
        found.places.state_dir = tmp_path


def test_a_named_file_must_be_there_the_default_one_need_not(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    for config, environ in ((tmp_path / "no.yaml", home), (None, {**home, "CODRIVER_CONFIG": "~/no.yaml"})):
        with pytest.raises(BadSettings) as caught:
            load(config, environ)
        assert [(fault.source, fault.key) for fault in caught.value.errors] == [
            (str(tmp_path / "no.yaml"), "")
        ]


def test_a_directory_or_a_huge_file_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="expected a readable file"):
        load(tmp_path, {"HOME": str(tmp_path)})
    assert "at most" in only(tmp_path, "#" * (1 << 21)).expected


@pytest.mark.parametrize(
    ("platform", "environ", "folder"),
    [
        ("linux", {}, ".config"),
        ("linux", {"XDG_CONFIG_HOME": "{home}/conf"}, "conf"),
        ("linux", {"XDG_CONFIG_HOME": "relative"}, ".config"),
        ("darwin", {"XDG_CONFIG_HOME": "{home}/conf"}, "Library/Application Support"),
    ],
)
def test_the_platforms_own_file_is_found(tmp_path: Path, platform: str, environ: dict, folder: str) -> None:
    (tmp_path / folder / "codriver").mkdir(parents=True)
    path = write(tmp_path / folder / "codriver", "server: {port: 9}")
    environ = {name: value.format(home=tmp_path) for name, value in environ.items()}
    found = load(None, {"HOME": str(tmp_path), **environ}, platform=platform)
    assert (found.server.port, found.places.config_file) == (9, path)


def test_codriver_config_comes_before_the_platforms_file_and_after_config(tmp_path: Path) -> None:
    (tmp_path / ".config/codriver").mkdir(parents=True)
    write(tmp_path / ".config/codriver", "server: {port: 1}")
    write(tmp_path, "server: {port: 2}", "two.yaml")
    three = write(tmp_path, "server: {port: 3}", "three.yaml")
    environ = {"HOME": str(tmp_path), "CODRIVER_CONFIG": "~/two.yaml"}
    assert load(None, environ).server.port == 2
    assert load(three, environ).server.port == 3
    assert load(None, {**environ, "CODRIVER_CONFIG": ""}).server.port == 1


def test_places_follow_the_environment(tmp_path: Path) -> None:
    found = settings(tmp_path)
    assert found.claude_config_dir == tmp_path / ".claude"
    assert found.state_dir == tmp_path / ".local/state/codriver"
    assert found.runtime_dir is None
    found = settings(
        tmp_path,
        CLAUDE_CONFIG_DIR="/c",
        XDG_RUNTIME_DIR="/run/user/1",
        XDG_STATE_HOME="/st",
        CODRIVER_URL="https://gw.example",
        CODRIVER_CLIENT="desk",
    )
    assert found.claude_config_dir == Path("/c")
    assert (found.state_dir, found.runtime_dir) == (Path("/st/codriver"), Path("/run/user/1"))
    assert (found.places.gateway_url, found.places.client_name) == ("https://gw.example", "desk")
    mac = load(None, {"HOME": str(tmp_path)}, platform="darwin")
    assert mac.state_dir == tmp_path / "Library/Application Support/codriver"


def test_a_relative_state_directory_begins_where_it_was_written(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir("/")
    assert settings(tmp_path, "state: {dir: here}").state_dir == tmp_path / "here"
    assert settings(tmp_path, CODRIVER_STATE_DIR="here").state_dir == Path("/here")
    assert settings(tmp_path, "state: {dir: ~/here}").state_dir == tmp_path / "here"


def test_without_home_the_user_database_says_where_home_is() -> None:
    assert load(None, {"CODRIVER_CONFIG": "/dev/null"}).claude_config_dir.is_absolute()


def test_loading_writes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    path.chmod(stat.S_IRUSR)
    load(path, {"HOME": str(tmp_path)})
    assert list(tmp_path.iterdir()) == [path]


def test_every_short_name_belongs_to_a_key() -> None:
    assert set(SHORT.values()) <= {key.name for key in all_keys()}
