"""The engine that comes with Motet, llama.cpp: what `local` names mean."""
