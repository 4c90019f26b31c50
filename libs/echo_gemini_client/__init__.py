"""The Gemini API and Code Assist behind one port."""
