"""The settings of Codriver: a file and the environment, checked once, then never changed.

`load` is the only place where the environment is read; everything else is handed a `Settings`.
"""

from gateway.settings.faults import BadSettings, Fault
from gateway.settings.loader import load
from gateway.settings.model import (
    Auth,
    Dialog,
    Log,
    LogLevel,
    Sections,
    Server,
    Sessions,
    Speech,
    State,
    Stt,
    SttEngine,
    Tts,
    TtsEngine,
)
from gateway.settings.places import Places
from gateway.settings.settings import Settings
from gateway.settings.shown import masked

__all__ = [
    "Auth",
    "BadSettings",
    "Dialog",
    "Fault",
    "Log",
    "LogLevel",
    "Places",
    "Sections",
    "Server",
    "Sessions",
    "Settings",
    "Speech",
    "State",
    "Stt",
    "SttEngine",
    "Tts",
    "TtsEngine",
    "load",
    "masked",
]
