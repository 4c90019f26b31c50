"""SQLite stores: one session.db a chat, one identity.db for the instance."""
