"""`joader top`: what runs, live, in a terminal."""
