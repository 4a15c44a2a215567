"""Steps of the project."""


def double(value):
    return 2 * value
