"""Lane keeping: from images to steering, with a convolutional head that all recurrent networks share."""
