"""The estimators that users see, with the conventions of scikit-learn."""
