"""Whether at all: stops calling what fails, and finds out when it works again."""
