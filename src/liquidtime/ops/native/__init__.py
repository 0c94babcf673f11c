"""The compiled library, with vectors, small products and threads in C++, and its Python interface."""
