"""The compiled part: vectors, small products and threads in C++, and the door to them."""
