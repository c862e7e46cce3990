"""What survives a restart: clients, cursors, deliveries, pages."""

from gateway.store.database import StateUnusableError
from gateway.store.records import Claim, ClientState, Delivery, Heard, LastReply
from gateway.store.store import Store

__all__ = ["Claim", "ClientState", "Delivery", "Heard", "LastReply", "StateUnusableError", "Store"]
