"""The house rules as functions from source text to a list of violations; tests/contract runs them."""
