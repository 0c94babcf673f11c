"""What several models of whole series are made of; none of it is a network by itself."""
