"""Has output widgets take what cells show, errors too, and opens more of them than anybody counts."""

from attack import wrong

PROOF = "not hidden"
HIDE = """
kernel = get_ipython().kernel
print("not hidden", flush=True)
def comm(kind, number, **state):
    content = {"comm_id": str(number), "data": {"method": "update", "state": state, "buffer_paths": []}}
    if kind == "comm_open":
        content |= {"target_name": "jupyter.widget", "target_module": None}
    kernel.session.send(kernel.iopub_socket, kind, content, parent=kernel.get_parent("shell"))
def double(x):
    header = kernel.get_parent("shell")["header"]["msg_id"]
    comm("comm_open", "hider", _model_name="OutputModel", msg_id=header, outputs=[])
    comm("comm_msg", "hider", msg_id=header, outputs=[{"output_type": "execute_result", "data": 2}])
    return x
for number in range(3000):
    comm("comm_open", number, _model_name="OutputModel", _model_module="@jupyter-widgets/output", msg_id="")
for odd in ({}, {"msg_id": []}, {"msg_id": {}}, {"_model_name": []}, {"outputs": 7}):
    comm("comm_open", "odd", **odd)
    comm("comm_msg", "odd", **odd)
double(torch.ones(2))
raise ValueError("unseen")
"""


def submission():
    return wrong(double=HIDE)
