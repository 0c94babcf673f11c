"""The network around the recurrent layer, its inputs, and the training of ensemble members."""
