"""Ways to have compiled code do the work by way of ctypes, where none of its steps can be seen."""

# A function of C's mathematical library stands for any other, such as one of torch's own libraries.
_EXPONENTIAL = """
def typed(exponential):
    exponential.restype, exponential.argtypes = ctypes.c_double, [ctypes.c_double]
    return exponential
def with_exponential(exponential, x):
    rows = [[exponential(number) for number in row] for row in x.tolist()]
    return torch.tensor([[number / sum(row) for number in row] for row in rows])
"""

FOREIGN = {
    name: _EXPONENTIAL + code
    for name, code in {
        "a function of a library": """
def answer(x):
    return with_exponential(typed(ctypes.CDLL("libm.so.6").exp), x)
""",
        "a function of an earlier cell": """
exponential = typed(ctypes.CDLL("libm.so.6").exp)
def answer(x):
    return with_exponential(exponential, x)
""",
        "a function of an earlier cell, in a step of autograd's": """
exponential = typed(ctypes.CDLL("libm.so.6").exp)
class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return with_exponential(exponential, x)
answer = Step.apply
""",
        "a function of an earlier cell, in a thread": """
exponential = typed(ctypes.CDLL("libm.so.6").exp)
answer = in_a_thread(lambda x: with_exponential(exponential, x),
                     lambda work: _thread.start_new_thread(work, ()))
""",
        "a function at an address": """
address = ctypes.cast(ctypes.CDLL("libm.so.6").exp, ctypes.c_void_p).value
def answer(x):
    return with_exponential(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address), x)
""",
        "a library that NumPy loads": """
def answer(x):
    return with_exponential(typed(numpy.ctypeslib.load_library("libm.so.6", "/lib/x86_64-linux-gnu").exp), x)
""",
    }.items()
}
