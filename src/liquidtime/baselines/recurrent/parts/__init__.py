"""Parts that several comparison cells share; none of them is a network by itself."""
