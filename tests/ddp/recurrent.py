"""A small recurrent model, whose state is reset where a sequence begins, and what it is trained for: to tell how bright the next
frame will be.
"""
import torch


def begins(cu_seqlens, steps):
    """Bool [n, steps] of I32 [n, S+1]: whether a sequence begins at the step. Behind the last sequence padding begins like one."""
    marks = torch.zeros(len(cu_seqlens), steps + 1, dtype=torch.bool)
    return marks.scatter(1, cu_seqlens.long(), True)[:, :-1]


def brightness(frames):
    """F32 [n, T, 16] from 0 to 1 of frames U8 [n, T, 16, W, 3]: of each line."""
    return frames.float().mean((3, 4)) / 255


class Recurrent(torch.nn.Module):
    def __init__(self, inputs=16, hidden=24):
        super().__init__()
        self.cell = torch.nn.GRUCell(inputs, hidden)
        self.head = torch.nn.Linear(hidden, 1)

    def forward(self, inputs, reset):
        """F32 [n, T] of inputs F32 [n, T, inputs]; the state is zero before every step that reset, Bool [n, T], marks."""
        state = inputs.new_zeros(len(inputs), self.cell.hidden_size)
        out = []
        for step in range(inputs.shape[1]):
            state = self.cell(inputs[:, step], state * ~reset[:, step, None])
            out.append(self.head(state)[:, 0])
        return torch.stack(out, 1)


def loss_of(model, inputs, reset, ends):
    """The mean squared error over the steps that another of the same sequence follows; ends I64 [n]: where padding begins."""
    guess = model(inputs, reset)[:, :-1]
    counted = ~reset[:, 1:] & (torch.arange(1, inputs.shape[1]) < ends[:, None])
    return ((guess - inputs[:, 1:].mean(2)) ** 2 * counted).sum() / counted.sum().clamp(min=1)
