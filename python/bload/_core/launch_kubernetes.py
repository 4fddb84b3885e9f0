"""The manifest of the Jobs that run tasks on Kubernetes: one that counts and plans, an indexed one whose pods are the tasks, one that finishes."""
from __future__ import annotations

import json
import re
import shlex
from typing import Any, List, Optional

from .errors import OptionError
from .launch_words import configured

JOB = """---
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
{fields}  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 5 # nothing is lost when it is stopped
      containers:
        - name: bload
          image: {image}
          workingDir: {mount}
          command: [sh, -c, {command}]
          resources:
            requests: {{cpu: "{cpus}"{memory}}}
{limits}          volumeMounts:
            - {{name: data, mountPath: {mount}}}
      volumes:
        - {{name: data, persistentVolumeClaim: {{claimName: {claim}}}}}
"""
TASKS = """  suspend: {suspend}
  completionMode: Indexed
  completions: {tasks}
  parallelism: {tasks}
  backoffLimitPerIndex: {retries}
  podFailurePolicy:
    rules:
      - action: FailJob # running a wrong command again does not help
        onExitCodes: {{containerName: bload, operator: In, values: [2]}}
      - action: Ignore # the task did not fail if its node was drained
        onPodConditions: [{{type: DisruptionTarget, status: "True"}}]
"""
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?")   # with an ending it is the name of a pod, of 63 characters


def manifest(arguments: Any, words: List[str]) -> str:
    """Return the manifest; raise OptionError if it cannot be made of these options."""
    for name in "image", "claim":
        if not getattr(arguments, name):
            raise OptionError(f"kubernetes needs --{name}")
    for name in "name", "claim":
        if not LABEL.fullmatch(getattr(arguments, name)):
            raise OptionError(f"--{name} {getattr(arguments, name)}: not a name of Kubernetes: small letters, digits and hyphens, 52 at most")
    if not arguments.mount.startswith("/"):
        raise OptionError(f"--mount {arguments.mount}: not an absolute path")
    if words[0] != "pack":
        raise OptionError("on Kubernetes, a Job counts and plans before the tasks pack: give bload pack")
    output = output_of(words)
    if output is None:
        raise OptionError("the output directory is missing: give -o DIR behind --")
    given = configured(words[1:])
    threads = f"-j {arguments.cpus}"
    steps = []
    if given and given.config:
        file, at = shlex.quote(given.config), shlex.quote(output)
        parents = " --parents" * given.parents
        steps.append(("plan", "", "bload scan -q {0} -c {1} -o {2}{3} --task 0/1 || [ $? = 3 ] || exit 1; bload plan -q -c {1} {2} || [ $? = 3 ]"
                      .format(threads, file, at, parents)))
    steps.append(("pack", "pack", f"bload pack -q {threads} {shlex.join(words[1:])} --task auto/{arguments.tasks} "
                  "|| { s=$?; [ $s = 3 ] || exit $s; }"))
    steps.append(("finish", "", f"bload finish {shlex.quote(output)} || [ $? = 3 ]"))
    names = [f"{arguments.name}-{name}" for name, _, _ in steps]
    return comment(names) + "".join(job(arguments, f"{arguments.name}-{name}", bool(kind), at > 0, command)
                                    for at, (name, kind, command) in enumerate(steps))


def comment(names: List[str]) -> str:
    """Return how the Jobs are run, one after the other."""
    lines = ["kubectl apply -f FILE, then:"]
    for name, following in zip(names, names[1:]):
        lines += [f"kubectl wait --for=condition=complete --timeout=240h job/{name}",
                  f"kubectl patch job {following} -p '{{\"spec\":{{\"suspend\":false}}}}'"]
    return "".join(f"# {line}\n" for line in lines)


def job(arguments: Any, name: str, is_indexed: bool, is_suspended: bool, command: str) -> str:
    """Return the document of a Job."""
    command = command.replace("$(", "$$(")      # which Kubernetes would take for one of its variables
    suspend = str(is_suspended).lower()
    if is_indexed:
        fields = TASKS.format(suspend=suspend, tasks=arguments.tasks, retries=arguments.retries)
    else:
        fields = f"  suspend: {suspend}\n  backoffLimit: {arguments.retries}\n"
    memory = f", memory: \"{arguments.memory}\"" if arguments.memory else ""
    limited = [memory[2:]] * bool(memory) + [f"nvidia.com/gpu: {arguments.gpus}"] * bool(arguments.gpus and is_indexed)
    limits = f"            limits: {{{', '.join(limited)}}}\n" if limited else ""
    return JOB.format(name=name, fields=fields, image=json.dumps(arguments.image), mount=json.dumps(arguments.mount), command=json.dumps(command),
                      cpus=arguments.cpus, memory=memory, limits=limits, claim=arguments.claim)


def output_of(words: List[str]) -> Optional[str]:
    """Return the last output directory among the words. The file of the options may not be on this machine."""
    found = None
    for at, word in enumerate(words):
        if word in ("-o", "--output") and at + 1 < len(words):
            found = words[at + 1]
        elif word.startswith("--output="):
            found = word[9:]
        elif word.startswith("-o") and len(word) > 2:
            found = word[2:]
    return found
