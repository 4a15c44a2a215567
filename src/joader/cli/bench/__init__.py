"""`joader bench`: is data the bottleneck of a training script, and what would joader give here?"""
