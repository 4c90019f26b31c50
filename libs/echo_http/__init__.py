"""HTTP/2 streaming for many users over one pool an event loop and origin."""
