"""Ways to have another process do the work: one that is started for it, and one that was waiting."""

ELSEWHERE = {
    "a program": """
def answer(x):
    return run_child(x)
""",
    "a program of an earlier cell, over pipes": """
child = subprocess.Popen([sys.executable, "-c", "while True:\\n    exec(" + repr(CHILD) + ")"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
ask_of(child.stdout, child.stdin, torch.ones(1, 1))
def answer(x):
    return ask_of(child.stdout, child.stdin, x)
""",
    "a program in a thread of an earlier cell": """
answer = worker(run_child)
""",
    "a shell": """
def answer(x):
    Path = __import__("pathlib").Path
    Path("child.py").write_text(CHILD)
    Path("asked").write_text(json.dumps(x.tolist()))
    os.system(f"{sys.executable} child.py < asked > answered")
    return torch.tensor(json.loads(Path("answered").read_text()))
""",
    "a shell of C's": """
def answer(x):
    Path = __import__("pathlib").Path
    Path("child.py").write_text(CHILD)
    Path("asked").write_text(json.dumps(x.tolist()))
    ctypes.CDLL(None).system(f"{sys.executable} child.py < asked > answered".encode())
    return torch.tensor(json.loads(Path("answered").read_text()))
""",
    "a magic": """
def answer(x):
    open("child.py", "w").write(CHILD)
    said = get_ipython().getoutput(f"echo '{x.tolist()}' | {sys.executable} child.py")
    return torch.tensor(json.loads(said[0]))
""",
    "posix_spawn": """
def answer(x):
    Path = __import__("pathlib").Path
    Path("child.py").write_text(CHILD)
    Path("asked").write_text(json.dumps(x.tolist()))
    command = f"{sys.executable} child.py < asked > answered"
    os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ), 0)
    return torch.tensor(json.loads(Path("answered").read_text()))
""",
    "a fork": """
def answer(x):
    out, into = os.pipe()
    if os.fork() == 0:
        os.write(into, json.dumps(in_plain_python(x.tolist())).encode())
        os._exit(0)
    os.wait()
    return torch.tensor(json.loads(os.read(out, 10_000)))
""",
    "a fork without a wait": """
def answer(x):
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    out, into = os.pipe()
    if os.fork() == 0:
        os.write(into, json.dumps(in_plain_python(x.tolist())).encode())
        os._exit(0)
    answered = json.loads(os.read(out, 10_000))
    time.sleep(0.05)
    signal.signal(signal.SIGCHLD, before)
    return torch.tensor(answered)
""",
    "a fork of C's": """
def answer(x):
    out, into = os.pipe()
    if ctypes.CDLL(None).fork() == 0:
        os.write(into, json.dumps(in_plain_python(x.tolist())).encode())
        os._exit(0)
    answered = json.loads(os.read(out, 10_000))
    os.wait()
    return torch.tensor(answered)
""",
    "a fork of an earlier cell, over a socket": """
ours, theirs = socket.socketpair()
if os.fork() == 0:
    ours.close()
    serve(theirs.makefile("r"), theirs.makefile("w"))
    os._exit(0)
theirs.close()
ours_read, ours_write = ours.makefile("r"), ours.makefile("w")
def answer(x):
    return ask_of(ours_read, ours_write, x)
""",
    "a daemon of an earlier cell, over the network of this machine": """
server = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        connection = server.accept()[0]
        serve(connection.makefile("r"), connection.makefile("w"))
    os._exit(0)
os.wait()
connection = socket.create_connection(server.getsockname())
read, write = connection.makefile("r"), connection.makefile("w")
def answer(x):
    return ask_of(read, write, x)
""",
    "a process of multiprocessing's": """
def put(box, rows):
    box.send(in_plain_python(rows))
def answer(x):
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=put, args=(theirs, x.tolist()))
    process.start()
    return torch.tensor(ours.recv())
""",
    "a pool of processes of an earlier cell": """
workers = multiprocessing.get_context("fork").Pool(1)
workers.apply(in_plain_python, ([[1.0]],))
def answer(x):
    return torch.tensor(workers.apply(in_plain_python, (x.tolist(),)))
""",
    "an executor of an earlier cell": """
workers = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork"))
workers.submit(in_plain_python, [[1.0]]).result()
def answer(x):
    return torch.tensor(workers.submit(in_plain_python, x.tolist()).result())
""",
    "shared memory and a signal": """
shared = torch.zeros(12).share_memory_()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
helper = os.fork()
if helper == 0:
    while True:
        signal.sigwait([signal.SIGUSR1])
        rows = in_plain_python(shared.view(3, 4).tolist())
        shared.copy_(torch.tensor(rows).flatten())
def answer(x):
    shared.copy_(x.flatten())
    os.kill(helper, signal.SIGUSR1)
    time.sleep(0.1)
    return shared.view(3, 4).clone()
""",
}
