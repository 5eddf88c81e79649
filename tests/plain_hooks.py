"""The oracle's own tool: a plain hook on a Hugging Face module."""

from contextlib import contextmanager


@contextmanager
def hooked(module, columns, change, *, before):
    """change(value) in the place of some columns of what a module reads (`before`), or of what it returns."""

    def changed(x):
        x = x.clone()
        x[..., columns] = change(x[..., columns])
        return x

    if before:
        handle = module.register_forward_pre_hook(lambda _, inputs: (changed(inputs[0]), *inputs[1:]))
    else:
        handle = module.register_forward_hook(lambda _, inputs, output: changed(output))
    try:
        yield
    finally:
        handle.remove()
