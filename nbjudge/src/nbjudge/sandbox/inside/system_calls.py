"""Which system calls student code may not make, by name, and their numbers on each machine.

Names as in the manual's second section and in <asm/unistd.h>. What is not listed is allowed, up to
the newest call that has been reviewed.
"""

import errno

# The machines that are known: how seccomp calls them (<linux/audit.h>).
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# Calls that Linux has gained since are refused as if it had not: file_setattr is the newest known here.
NEWEST_KNOWN = 469

# Refused with "function not implemented": programs that can do without fall back to something else.
# name: (number on x86_64, number on aarch64); None where a machine has no such call.
NOT_IMPLEMENTED = {
    # Memory that belongs to no process and no folder, so that it cannot be counted.
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "vmsplice": (278, 75),  # a byte of each huge page in a pipe keeps all of them
    # What one notebook could leave for the next.
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # What a whole machine or a user has a fixed number of.
    "io_setup": (206, 0),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    # Wide interfaces to the kernel that nothing in a notebook needs.
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    # Its flags lie in memory, where a filter cannot read them: libraries fall back to clone.
    "clone3": (435, 435),
}
# Refused with "operation not permitted".
NOT_PERMITTED = {
    # Namespaces, mounts and roots of one's own.
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "statmount": (457, 457),
    "listmount": (458, 458),
    # Files past their folders, devices, quotas.
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "mknod": (133, None),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    # Waiting for all disks of the machine, which everybody else then waits for, too.
    "sync": (162, 81),
    "syncfs": (306, 267),
    # The processor that a kernel was given.
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    # Other processes' memory and descriptors.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # The machine itself: its log, modules, clock, name, memory on disk, ports.
    "syslog": (103, 116),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
}
# Allowed or not as their arguments say.
JUDGED_BY_ARGUMENTS = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "setsockopt": (54, 208),
    "mmap": (9, 222),
    "fcntl": (72, 25),
    "clone": (56, 220),
    "mknodat": (259, 33),
    "prctl": (157, 167),
}
REFUSED = dict.fromkeys(NOT_IMPLEMENTED, errno.ENOSYS) | dict.fromkeys(NOT_PERMITTED, errno.EPERM)


def number_of(call: str, machine: str) -> int | None:
    """A call's number on a machine; None where it has none."""
    for table in (NOT_IMPLEMENTED, NOT_PERMITTED, JUDGED_BY_ARGUMENTS):
        if call in table:
            return table[call][list(MACHINES).index(machine)]
    raise KeyError(call)
