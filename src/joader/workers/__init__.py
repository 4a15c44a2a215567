"""Raw to prepared: the loop inside one worker process (`loop`), and the pool of them (`pool`)."""
