"""Driving in closed loop: a head and a recurrent network, trained together, that steer a car from its camera."""
