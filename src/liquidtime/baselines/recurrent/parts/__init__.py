"""What several comparison cells are made of; none of it is a network by itself."""
