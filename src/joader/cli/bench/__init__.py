"""`joader bench`: is data the bottleneck of a training script, and what would joader give here?

Reading order: `bench` (each way, and what follows), `probe` (runs the script), `meter` (measures
one loader of it), `reading` (the script that reads a dataset), `verdict` (what follows).
"""
