"""Anyone who else may run a step: threads of every kind, and what Python and torch call back."""

# `{step}` is what is run: a ready-made softmax, or one's own.
THREADS = {
    "a pool made for it": "def answer(x):\n    return ThreadPoolExecutor(1).submit({step}, x).result()",
    "a pool of an earlier cell": """
pool = ThreadPoolExecutor(1); pool.submit(print).result()
def answer(x):
    return pool.submit({step}, x).result()
""",
    "multiprocessing's pool of threads": """
pool = ThreadPool(1)
def answer(x):
    return pool.apply({step}, (x,))
""",
    "a thread of an earlier cell that waits": "answer = worker({step})",
    "a thread": "answer = in_a_thread({step}, lambda work: threading.Thread(target=work).start())",
    "a low-level thread": "answer = in_a_thread({step}, lambda work: _thread.start_new_thread(work, ()))",
    "a timer": "answer = in_a_thread({step}, lambda work: threading.Timer(0, work).start())",
    "an event loop's thread": """
def answer(x):
    return ThreadPoolExecutor(1).submit(lambda: asyncio.run(asyncio.to_thread({step}, x))).result()
""",
    "a signal": """
def answer(x):
    box = []
    signal.signal(signal.SIGALRM, lambda *_: box.append({step}(x)))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    while not box:
        time.sleep(0.01)
    return box[0]
""",
    "a finalizer": """
def answer(x):
    box = []
    class Thing:
        def __del__(self):
            box.append({step}(x))
    Thing()
    return box[0]
""",
    "a C library's callback": """
def answer(x):
    box = []
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
        lambda *_: box.append({step}(x)) or 0)
    ctypes.CDLL(None).qsort(ctypes.create_string_buffer(2), 2, 1, compare)
    return box[0]
""",
    "a backward pass of torch's": """
def answer(x):
    box = []
    class Step(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()
        @staticmethod
        def backward(ctx, gradient):
            box.append({step}(x.detach()))
            return gradient
    Step.apply(x.detach().requires_grad_()).sum().backward()
    return box[0]
""",
}
