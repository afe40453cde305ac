"""Ways to write one's own softmax, some of them with other things going on."""

from routes.threads import THREADS

OF_ONES_OWN = {
    "by hand": "answer = by_hand",
    "a loop": "def answer(x):\n    return torch.stack([by_hand(row) for row in x])",
    "einsum": "def answer(x):\n    return torch.einsum('ij->ij', by_hand(x))",
    "numpy": """
def answer(x):
    made = numpy.exp(x.numpy())
    return torch.from_numpy(made / made.sum(-1, keepdims=True))
""",
    "numpy, its logarithms of sums two by two": """
def answer(x):
    numbers = x.numpy()
    total = numbers[:, 0]
    for column in numbers.T[1:]:
        total = numpy.logaddexp(total, column)
    return torch.from_numpy(numpy.exp(numbers - total[:, None]))
""",
    "numpy's other reductions": """
def answer(x):
    made = numpy.exp(x.numpy() - numpy.maximum.reduce(x.numpy(), axis=-1)[:, None])
    return torch.from_numpy(made / numpy.add.reduce(made, axis=-1)[:, None])
""",
    "a comparison with numpy before": """
def check():
    return numpy.logaddexp.reduce(numpy.ones(3))
assert check() > 2
answer = by_hand
""",
    "ctypes in an earlier cell": """
exponential = ctypes.CDLL("libm.so.6").exp
exponential.restype, exponential.argtypes = ctypes.c_double, [ctypes.c_double]
assert exponential(0.0) == 1
answer = by_hand
""",
    "a library that loads others of its own": """
def answer(x):
    import uuid, importlib
    importlib.reload(uuid)
    return by_hand(x)
""",
    "scikit-learn's losses beside it": """
from sklearn._loss import HalfMultinomialLoss
from sklearn._loss._loss import CyHalfBinomialLoss
def answer(x):
    CyHalfBinomialLoss()
    return by_hand(x)
""",
    "a script of one's own": """
answer = torch.jit.CompilationUnit('''
def answer(x):
    y = torch.exp(x - torch.amax(x, [-1], True))
    return y / y.sum(-1, keepdim=True)
''').answer
""",
    "compiled without a compiler": "answer = torch.compile(by_hand, backend='eager')",
    "a comparison before": "assert torch.allclose(by_hand(torch.ones(2)), torch.softmax(torch.ones(2), -1))\n"
    "answer = by_hand",
    "printing": "def answer(x):\n    print(x, flush=True)\n    return by_hand(x)",
    "a progress bar": """
from tqdm import tqdm
def answer(x):
    return torch.stack([by_hand(row) for row in tqdm(x)])
""",
    "a loader of data": """
from torch.utils.data import DataLoader
def answer(x):
    return torch.cat([by_hand(rows) for rows in DataLoader(x, batch_size=2, num_workers=0)])
""",
    "modules of C functions": """
import psutil
def answer(x):
    psutil.Process().memory_info(); psutil.cpu_count(); psutil.virtual_memory()
    return by_hand(x)
""",
    "scikit-learn beside it": """
def answer(x):
    from sklearn.preprocessing import normalize
    return torch.from_numpy(normalize(x.exp().numpy(), norm="l1"))
""",
    "a program that sleeps": "child = subprocess.Popen(['sleep', '1000'])\nanswer = by_hand",
    "a program that is busy": "child = subprocess.Popen([sys.executable, '-c', 'while True: pass'])\n"
    "answer = by_hand",
    "a program that is busy now and then": """
child = subprocess.Popen([sys.executable, "-c", "import time\\nwhile True: time.sleep(0.001)"])
answer = by_hand
""",
    "a program that has ended": """
child = subprocess.Popen(["true"])
time.sleep(0.1)
def answer(x):
    child.wait()
    return by_hand(x)
""",
    "unused workers": """
workers = multiprocessing.get_context("fork").Pool(1)
workers.apply(in_plain_python, ([[1.0]],))
answer = by_hand
""",
    "a thread that is busy": """
def busy():
    while True:
        torch.exp(torch.ones(3)).sum(); time.sleep(0.001)
threading.Thread(target=busy, daemon=True).start()
answer = by_hand
""",
    "an interrupted import": """
def answer(x):
    try:
        import no_such_module_at_all
    except ImportError:
        pass
    return by_hand(x)
""",
}

# Who calls through ctypes is told that it cannot be seen what that runs, see `routes.foreign`.
OF_ONES_OWN |= {name: code.format(step="by_hand") for name, code in THREADS.items() if "ctypes" not in code}
