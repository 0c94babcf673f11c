"""The paper's experiments: settings, models, runs and tables. The only place that knows both data sets and models."""
