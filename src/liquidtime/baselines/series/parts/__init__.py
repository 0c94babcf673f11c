"""Parts that several models of whole series share; none of them is a network by itself."""
