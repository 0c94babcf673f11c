"""The numbers that the paper prints, with their sources. Tables show ours next to them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperRow:
    """One line of a table of the paper.

    Attributes:
        model: name in the paper.
        value: mean accuracy in per cent, AUC, or mean squared error.
        deviation: standard deviation (ddof 0); None if none is given.
        minutes: minutes per epoch; None if the table has no such column.
        quoted: work that it is quoted from; None if the paper ran it.

    """

    model: str
    value: float
    deviation: float | None
    minutes: float | None = None
    quoted: str | None = None


ODE_LSTM, LATENT_ODE, MTAN = "Lechner & Hasani 2020", "Rubanova et al. 2019", "Shukla & Marlin 2021"
HIPPO, CORNN = "Gu et al. 2020", "Rusch & Mishra 2021"

XOR_DENSE = (
    PaperRow("Augmented LSTM", 100.00, 0.00, 0.62, ODE_LSTM),
    PaperRow("CT-GRU", 100.00, 0.00, 0.80, ODE_LSTM),
    PaperRow("RNN Decay", 60.28, 19.87, 0.90, ODE_LSTM),
    PaperRow("Bi-directional RNN", 100.00, 0.00, 1.82, ODE_LSTM),
    PaperRow("GRU-D", 100.00, 0.00, 0.58, ODE_LSTM),
    PaperRow("PhasedLSTM", 50.99, 0.76, 1.22, ODE_LSTM),
    PaperRow("CT-LSTM", 97.73, 0.08, 0.86, ODE_LSTM),
    PaperRow("coRNN", 100.00, 0.00, 0.57),
    PaperRow("Lipschitz RNN", 100.00, 0.00, 0.63),
    PaperRow("ODE-RNN", 50.47, 0.06, 4.11, ODE_LSTM),
    PaperRow("CT-RNN", 50.42, 0.12, 4.83, ODE_LSTM),
    PaperRow("GRU-ODE", 50.41, 0.40, 1.55, ODE_LSTM),
    PaperRow("ODE-LSTM", 100.00, 0.00, 1.18, ODE_LSTM),
    PaperRow("LTC", 100.00, 0.00, 2.67),
    PaperRow("Cf-S", 100.00, 0.00, 0.36),
    PaperRow("CfC-noGate", 100.00, 0.00, 0.78),
    PaperRow("CfC", 100.00, 0.00, 0.75),
    PaperRow("CfC-mmRNN", 100.00, 0.00, 1.26),
)
XOR_EVENT = (
    PaperRow("Augmented LSTM", 89.71, 3.48, 0.62, ODE_LSTM),
    PaperRow("CT-GRU", 61.36, 4.87, 0.80, ODE_LSTM),
    PaperRow("RNN Decay", 75.53, 5.28, 0.90, ODE_LSTM),
    PaperRow("Bi-directional RNN", 90.17, 0.69, 1.82, ODE_LSTM),
    PaperRow("GRU-D", 97.90, 1.71, 0.58, ODE_LSTM),
    PaperRow("PhasedLSTM", 80.29, 0.99, 1.22, ODE_LSTM),
    PaperRow("CT-LSTM", 95.09, 0.30, 0.86, ODE_LSTM),
    PaperRow("coRNN", 52.89, 1.25, 0.57),
    PaperRow("Lipschitz RNN", 52.84, 3.25, 0.63),
    PaperRow("ODE-RNN", 51.21, 0.37, 4.11, ODE_LSTM),
    PaperRow("CT-RNN", 50.79, 0.34, 4.83, ODE_LSTM),
    PaperRow("GRU-ODE", 52.52, 0.35, 1.55, ODE_LSTM),
    PaperRow("ODE-LSTM", 98.89, 0.26, 1.18, ODE_LSTM),
    PaperRow("LTC", 49.11, 0.00, 2.67),
    PaperRow("Cf-S", 85.42, 2.84, 0.36),
    PaperRow("CfC-noGate", 96.29, 1.61, 0.78),
    PaperRow("CfC", 99.42, 0.42, 0.75),
    PaperRow("CfC-mmRNN", 99.72, 0.08, 1.26),
)
PHYSIONET = (
    PaperRow("RNN-Impute", 0.764, 0.016, 0.5, LATENT_ODE),
    PaperRow("RNN-delta-t", 0.787, 0.014, 0.5, LATENT_ODE),
    PaperRow("RNN-Decay", 0.807, 0.003, 0.7, LATENT_ODE),
    PaperRow("GRU-D", 0.818, 0.008, 0.7, LATENT_ODE),
    PaperRow("Phased-LSTM", 0.836, 0.003, 0.3, LATENT_ODE),
    PaperRow("IP-Nets", 0.819, 0.006, 1.3, MTAN),
    PaperRow("SeFT", 0.795, 0.015, 0.5, MTAN),
    PaperRow("RNN-VAE", 0.515, 0.040, 2.0, LATENT_ODE),
    PaperRow("ODE-RNN", 0.833, 0.009, 16.5, LATENT_ODE),
    PaperRow("Latent-ODE-RNN", 0.781, 0.018, 6.7, LATENT_ODE),
    PaperRow("Latent-ODE-ODE", 0.829, 0.004, 22.0, LATENT_ODE),
    PaperRow("LTC", 0.6477, 0.010, 0.5),
    PaperRow("Cf-S", 0.643, 0.018, 0.1),
    PaperRow("CfC-noGate", 0.840, 0.003, 0.1),
    PaperRow("CfC", 0.839, 0.002, 0.1),
    PaperRow("CfC-mmRNN", 0.834, 0.006, 0.2),
)
IMDB = (
    PaperRow("HiPPO-LagT", 88.0, 0.2, None, HIPPO),
    PaperRow("HiPPO-LegS", 88.0, 0.2, None, HIPPO),
    PaperRow("LMU", 87.7, 0.1, None, HIPPO),
    PaperRow("LSTM", 87.3, 0.4, None, HIPPO),
    PaperRow("GRU", 86.2, None, None, HIPPO),
    PaperRow("ReLU GRU", 84.8, None, None, CORNN),
    PaperRow("Skip LSTM", 86.6, None, None, CORNN),
    PaperRow("expRNN", 84.3, 0.3, None, HIPPO),
    PaperRow("Vanilla RNN", 67.4, 7.7, None, HIPPO),
    PaperRow("coRNN", 86.7, 0.3, None, CORNN),
    PaperRow("LTC", 61.8, 6.1),
    PaperRow("Cf-S", 81.7, 0.5),
    PaperRow("CfC-noGate", 87.5, 0.1),
    PaperRow("CfC", 85.9, 0.9),
    PaperRow("CfC-mmRNN", 88.3, 0.1),
)
WALKER2D = (
    PaperRow("ODE-RNN", 1.904, 0.061, 0.79, ODE_LSTM),
    PaperRow("CT-RNN", 1.198, 0.004, 0.91, ODE_LSTM),
    PaperRow("Augmented LSTM", 1.065, 0.006, 0.10, ODE_LSTM),
    PaperRow("CT-GRU", 1.172, 0.011, 0.18, ODE_LSTM),
    PaperRow("RNN-Decay", 1.406, 0.005, 0.16, ODE_LSTM),
    PaperRow("Bi-directional RNN", 1.071, 0.009, 0.39, ODE_LSTM),
    PaperRow("GRU-D", 1.090, 0.034, 0.11, ODE_LSTM),
    PaperRow("PhasedLSTM", 1.063, 0.010, 0.25, ODE_LSTM),
    PaperRow("GRU-ODE", 1.051, 0.018, 0.56, ODE_LSTM),
    PaperRow("CT-LSTM", 1.014, 0.014, 0.31, ODE_LSTM),
    PaperRow("ODE-LSTM", 0.883, 0.014, 0.29, ODE_LSTM),
    PaperRow("coRNN", 3.241, 0.215, 0.18),
    PaperRow("Lipschitz RNN", 1.781, 0.013, 0.17),
    PaperRow("LTC", 0.662, 0.013, 0.78),
    PaperRow("Transformer", 0.761, 0.032, 0.8),
    PaperRow("Cf-S", 0.948, 0.009, 0.12),
    PaperRow("CfC-noGate", 0.650, 0.008, 0.21),
    PaperRow("CfC", 0.643, 0.006, 0.08),
    PaperRow("CfC-mmRNN", 0.617, 0.006, 0.34),
)


@dataclass(frozen=True)
class WeightRow:
    """One line of the paper's table of lane-keeping networks.

    Attributes:
        model: name in the paper.
        total: number of weights of head and recurrent part.
        recurrent: number of weights of the recurrent part; None for the plain network.

    """

    model: str
    total: int
    recurrent: int | None


LANE_WEIGHTS = (
    WeightRow("CNN", 2_124_901, None),
    WeightRow("LSTM", 259_733, 33_089),
    WeightRow("NCP", 233_139, 6_495),
    WeightRow("Cf-S", 227_728, 1_084),
    WeightRow("CfC", 230_828, 4_184),
    WeightRow("CfC-NoGate", 230_828, 4_184),
    WeightRow("CfC-mmRNN", 235_052, 8_408),
)


@dataclass(frozen=True)
class ComplexityRow:
    """One line of the paper's two tables of complexity.

    Attributes:
        model: name in the paper.
        first: cost of K solver steps, or of a sequence.
        second: local error, or cost of one time step.

    """

    model: str
    first: str
    second: str


SOLVER_STEPS = (
    ComplexityRow("p-th order solver", "O(K·p)", "O(ε^(p+1))"),
    ComplexityRow("adaptive-step solver", "–", "O(ε̃^(p+1))"),
    ComplexityRow("Euler hypersolver", "O(K)", "O(δε²)"),
    ComplexityRow("p-th order hypersolver", "O(K·p)", "O(δε^(p+1))"),
    ComplexityRow("CfC", "O(K̃)", "not relevant"),
)
PREDICTION = (
    ComplexityRow("RNN", "O(nk)", "O(k)"),
    ComplexityRow("ODE-RNN", "O(nkp)", "O(kp)"),
    ComplexityRow("Transformer", "O(n²k)", "O(nk)"),
    ComplexityRow("CfC", "O(nk)", "O(k)"),
)
"""n samples, k hidden units, p the order of the solver."""
