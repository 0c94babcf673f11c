from __future__ import annotations

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime.baselines.series.model import SequenceModel
from liquidtime.baselines.series.parts.batch import SeriesBatch
from liquidtime.layers.time import reverse, reverse_intervals


class BidirectionalRNN(SequenceModel):
    """Two LSTMs, one forward and one backward in time, each with its own interval as an additional input.

        y_k = [ →h_k ; ←h_k ] with `per_step`, otherwise [ →h_T ; ←h_1 ] at every sample

    The "Bi-directional RNN" of the paper's tables is another network: `baselines.recurrent.BidirectionalRNNCell`.

    Args:
        input_size: D.
        hidden_size: H of each direction; the output has width 2H.
        per_step: whether outputs are those of both directions at each sample, or only their final outputs.

    Reference: Schuster & Paliwal, Bidirectional Recurrent Neural Networks, IEEE Transactions on Signal Processing 1997.

    """

    @named_arguments
    def __init__(self, input_size: int, hidden_size: int, *, per_step: bool = False) -> None:
        H = check_size("hidden_size", hidden_size)
        super().__init__(input_size, 2 * H)
        self.per_step = bool(per_step)
        self.forwards = nn.LSTM(self.input_size + 1, H, batch_first=True)
        self.backwards = nn.LSTM(self.input_size + 1, H, batch_first=True)

    def run(self, batch: SeriesBatch, with_loss: bool) -> tuple[Tensor, Tensor | None]:
        """Return (B, T, 2H)."""
        x, dt, lengths = batch.x, batch.dt, batch.lengths
        ahead, _ = self.forwards(torch.cat([x, dt.unsqueeze(-1)], dim=-1))
        turned = torch.cat([reverse(x, lengths), reverse_intervals(dt, lengths).unsqueeze(-1)], dim=-1)
        back, _ = self.backwards(turned)
        if self.per_step:
            return torch.cat([ahead, reverse(back, lengths)], dim=-1), None
        ends = torch.cat([batch.last(ahead), batch.last(back)], dim=-1)
        return ends.unsqueeze(1).expand(-1, x.shape[1], -1), None
