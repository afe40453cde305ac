"""A Jupyter kernel provisioner: kernels are forked from a warm interpreter inside bubblewrap.

Registered as the entry point `attention-lab-sandbox` of `jupyter_client.kernel_provisioners`.
"""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase
from traitlets import Dict, List, Unicode

from attention_lab.grading.sandbox.forked_kernel import Kernel, SandboxError
from attention_lab.grading.sandbox.warm_interpreter import warm_interpreter

NAME = "attention-lab-sandbox"
BETWEEN_LOOKS = 0.01  # seconds


class SandboxProvisioner(KernelProvisionerBase):
    """Starts each kernel as a fork of this process's warm interpreter, over `ipc` sockets."""

    limits = Dict(help="What a kernel may take: the fields of attention_lab.grading.limits.Limits.")
    modules = List(Unicode(), help="What the interpreter has imported.")

    kernel: Kernel | None = None
    report = ""

    @property
    def has_process(self) -> bool:
        return self.kernel is not None

    @property
    def pid(self) -> int | None:
        return None if self.kernel is None else self.kernel.pid

    async def poll(self) -> int | None:
        return None if self.kernel is not None and self.kernel.is_alive() else 0

    async def wait(self) -> int | None:
        while self.kernel is not None and self.kernel.is_alive():
            await asyncio.sleep(BETWEEN_LOOKS)
        self._let_go()
        return 0

    async def send_signal(self, signum: int) -> None:
        if self.kernel is not None:
            self.kernel.send_signal(signum)

    async def kill(self, restart: bool = False) -> None:
        self._let_go()

    async def terminate(self, restart: bool = False) -> None:
        self._let_go()

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        return await super().pre_launch(cmd=[], **kwargs)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Fork a kernel. Raises SandboxError where none can be had."""
        files = _content(Path(kwargs.get("cwd") or os.devnull))
        warm = warm_interpreter(self.modules)
        self.kernel = warm.fork(dict(self.limits), files, patience=self.limits["startup"])
        connection: Any = self.kernel.connection | {"key": self.kernel.connection["key"].encode()}
        # Not beside the sockets: the folder of those is the kernel's to see.
        manager: Any = self.parent
        manager.connection_file = f"{self.kernel.sockets}.json"
        self.connection_info = connection
        return self.connection_info

    async def cleanup(self, restart: bool = False) -> None:
        self._let_go()

    def _let_go(self) -> None:
        if self.kernel is not None:
            self.kernel.close()
            self.report, self.kernel = self.kernel.report, None


class SandboxSpecs(KernelSpecManager):
    """The installed kernel specs, to be started by the sandbox instead of by their own command."""

    limits = Dict()
    modules = List(Unicode())

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        spec = super().get_kernel_spec(kernel_name)
        if spec.language.lower() != "python":
            raise SandboxError(
                f"The kernel {kernel_name!r} runs {spec.language}: the sandbox grades Python notebooks only."
            )
        config = {"limits": dict(self.limits), "modules": list(self.modules)}
        spec.metadata = spec.metadata | {
            "kernel_provisioner": {"provisioner_name": NAME, "config": config},
        }
        return spec


def _content(folder: Path) -> dict[str, str]:
    """A work folder's files, to be written into the kernel's private one."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file()) if folder.is_dir() else ()
    return {str(path.relative_to(folder)): base64.b64encode(path.read_bytes()).decode() for path in files}
