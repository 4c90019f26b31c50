"""Ids as distinct types, so that mypy refuses a chat id where a message id belongs."""

from typing import NewType

UserId = NewType("UserId", str)
ChatId = NewType("ChatId", str)
MessageId = NewType("MessageId", str)
