"""temp"""
import os, sys
def place() -> str:
    return f"{sys.executable} {os.getcwd()}"
def place_in_words() -> dict[str, str]:
    return {}
