"""Tables, frames, arrays and files into sets of series."""
