"""Charts as SVG text with the same figures as a table: for the page, for embeds, and for whoever sees no pictures."""

from echo_visuals.charts import Chart, Series, draw
from echo_visuals.chat_charts import chat_charts

__all__ = ["Chart", "Series", "chat_charts", "draw"]
