"""Logging: secrets masked."""

from echo_logger.masking import mask_own_records

__all__ = ["mask_own_records"]
