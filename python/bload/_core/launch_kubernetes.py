"""The manifest of the Jobs that run tasks on Kubernetes. With an output on a volume: one that counts and plans, an indexed one whose pods are
the tasks, one that finishes. With an output in a store, where pods take the tasks from: a single one."""
from __future__ import annotations

import json
import os
import re
import shlex
from typing import Any, List, Tuple

from .errors import OptionError
from .launch_words import Known, carry, is_url, known, text_of_file

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
{account}      containers:
        - name: bload
          image: {image}
{place}          command: [sh, -c, {command}]
{environment}          resources:
            requests: {{cpu: "{cpus}"{requests}}}
{limits}          volumeMounts:
{mounts}
      volumes:
{volumes}
"""
INDEXED = """  suspend: {suspend}
  completionMode: Indexed
  completions: {tasks}
  parallelism: {tasks}
  backoffLimitPerIndex: {retries}
"""
CLAIMING = """  parallelism: {tasks} # completions are not set: a pod that ends well has seen the dataset finished
  backoffLimit: {failures}
"""
POLICY = """  podFailurePolicy:
    rules:
      - action: FailJob # running a wrong command again does not help
        onExitCodes: {containerName: bload, operator: In, values: [2]}
      - action: Ignore # the task did not fail if its node was drained
        onPodConditions: [{type: DisruptionTarget, status: "True"}]
"""
CONFIGURATION = """---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
data:
  dataset.yaml: |2+
{text}
"""
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?")   # with an ending it is the name of a pod, of 63 characters
DOTTED = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")
URL = re.compile(r"(s3|gs)://[^/]+/+[^/].*")
CONFIGURATION_MAX = 1 << 20     # bytes of a ConfigMap
CONFIGURATION_FILE = "/configuration/dataset.yaml"
KEPT = "{ s=$?; [ $s = 3 ] || exit $s; }"       # a status that is no failure, or the end


def manifest(arguments: Any, words: List[str]) -> str:
    """Return the manifest; raise OptionError if it cannot be made of these options."""
    given = known(words[1:])
    check(arguments, words, given)
    output = str(given.output)
    if is_url(output):
        return in_store(arguments, words[1:], given)
    threads = f"-j {arguments.cpus}"
    steps = []
    if given.config and given.is_all:
        file, at = shlex.quote(given.config), shlex.quote(output)
        store = "".join(f" {shlex.quote(word)}" for word in given.store)
        parents = " --parents" * given.parents
        steps.append(("plan", "", "bload scan -q {0} -c {1} -o {2}{3}{4} --task 0/1 || [ $? = 3 ] || exit 1; bload plan -q -c {1} {2}{4} || [ $? = 3 ]"
                      .format(threads, file, at, parents, store)))
    steps.append(("pack", "pack", f"bload pack -q {threads} {shlex.join(words[1:])} --task auto/{arguments.tasks} || {KEPT}"))
    steps.append(("finish", "", f"bload finish {shlex.quote(output)} || [ $? = 3 ]"))
    names = [f"{arguments.name}-{name}" for name, _, _ in steps]
    volumes = [("data", arguments.mount, f"persistentVolumeClaim: {{claimName: {arguments.claim}}}")]
    jobs = []
    for number, (name, kind, command) in enumerate(steps):
        suspend = str(number > 0).lower()
        fields = INDEXED.format(suspend=suspend, tasks=arguments.tasks, retries=arguments.retries) + POLICY if kind else \
            f"  suspend: {suspend}\n  backoffLimit: {arguments.retries}\n"
        jobs.append(job(arguments, f"{arguments.name}-{name}", fields, command, volumes, bool(kind)))
    return comment(names) + "".join(jobs)


def check(arguments: Any, words: List[str], given: Known) -> None:
    """Raise OptionError if no manifest can be made of these options."""
    if not arguments.image:
        raise OptionError("kubernetes needs --image")
    for name in "name", "claim":
        if getattr(arguments, name) and not LABEL.fullmatch(getattr(arguments, name)):
            raise OptionError(f"--{name} {getattr(arguments, name)}: not a name of Kubernetes: small letters, digits and hyphens, 52 at most")
    for name in "secret", "service_account":
        if getattr(arguments, name) and not DOTTED.fullmatch(getattr(arguments, name)):
            raise OptionError(f"--{name.replace('_', '-')} {getattr(arguments, name)}: not a name of Kubernetes: small letters, digits, hyphens and dots")
    if not arguments.mount.startswith("/"):
        raise OptionError(f"--mount {arguments.mount}: not an absolute path")
    if words[0] != "pack":
        raise OptionError("on Kubernetes, the Jobs that pack count and plan before: give bload pack")
    if given.output is None:
        raise OptionError("the output is missing: give -o DIR or -o s3://BUCKET/NAME behind --")
    far = is_url(given.output)
    if far and not URL.fullmatch(given.output):
        raise OptionError(f"{given.output}: not s3://BUCKET/NAME or gs://BUCKET/NAME")
    if not far and not arguments.claim:
        raise OptionError(f"kubernetes needs --claim: {given.output} is a directory, so pods must share a volume; or give -o s3://BUCKET/NAME")
    if not far and arguments.scratch_size:
        raise OptionError(f"--scratch-size is for a URL as output: {given.output} is a directory")


def in_store(arguments: Any, words: List[str], given: Known) -> str:
    """Return the manifest where the output is in a store: one Job, whose pods need no volume of yours."""
    output, steps, configuration = str(given.output), [], ""
    volumes = [("scratch", "/scratch", f"emptyDir: {{sizeLimit: \"{arguments.scratch_size}\"}}" if arguments.scratch_size else "emptyDir: {}")]
    if arguments.claim:
        volumes.append(("data", arguments.mount, f"persistentVolumeClaim: {{claimName: {arguments.claim}}}"))
    elif given.config:
        configuration = CONFIGURATION.format(name=arguments.name, text=configuration_of(given.config))
        volumes.append(("configuration", os.path.dirname(CONFIGURATION_FILE), f"configMap: {{name: {arguments.name}}}"))
        words = carry(words, given.config, CONFIGURATION_FILE)
        given = given._replace(config=CONFIGURATION_FILE)
    task = ["-q", "-j", str(arguments.cpus), *words, "--task", f"auto/{arguments.tasks}"]
    store = [word for word in given.store if not word.startswith("--lease=")]      # which is for tasks
    if given.config and given.is_all:
        steps = [["scan", *task], ["plan", "-q", "-c", given.config, output, *store]]
    steps += [["pack", *task], ["finish", output, *store]]
    command = f"run() {{ bload \"$@\" || {KEPT}; }}; " + "; ".join(f"run {shlex.join(step)}" for step in steps)
    fields = CLAIMING.format(tasks=arguments.tasks, failures=arguments.retries * arguments.tasks) + POLICY
    lines = ["kubectl apply -f FILE, then:", f"kubectl wait --for=condition=complete --timeout=240h job/{arguments.name}"]
    return "".join(f"# {line}\n" for line in lines) + configuration + job(arguments, arguments.name, fields, command, volumes, True)


def configuration_of(path: str) -> str:
    """Return the lines of the file of options, for a ConfigMap: pods have no volume on which it could be."""
    text = text_of_file(path)
    if len(text.encode()) > CONFIGURATION_MAX:
        raise OptionError(f"-c {path}: more than a ConfigMap takes (1 MiB): put the file on a volume, and give --claim")
    return "\n".join(f"    {line}" if line else "" for line in text.removesuffix("\n").split("\n"))


def comment(names: List[str]) -> str:
    """Return how the Jobs are run, one after the other."""
    lines = ["kubectl apply -f FILE, then:"]
    for name, following in zip(names, names[1:]):
        lines += [f"kubectl wait --for=condition=complete --timeout=240h job/{name}",
                  f"kubectl patch job {following} -p '{{\"spec\":{{\"suspend\":false}}}}'"]
    return "".join(f"# {line}\n" for line in lines)


def job(arguments: Any, name: str, fields: str, command: str, volumes: List[Tuple[str, str, str]], is_task: bool) -> str:
    """Return the document of a Job. volumes: each one's name, where it is mounted, and its source."""
    command = command.replace("$(", "$$(")      # which Kubernetes would take for one of its variables
    memory = f", memory: \"{arguments.memory}\"" if arguments.memory else ""
    disk = f", ephemeral-storage: \"{arguments.scratch_size}\"" if arguments.scratch_size else ""
    limited = [memory[2:]] * bool(memory) + [f"nvidia.com/gpu: {arguments.gpus}"] * bool(arguments.gpus and is_task)
    limits = f"            limits: {{{', '.join(limited)}}}\n" if limited else ""
    environment = "          env: [{name: TMPDIR, value: /scratch}]\n" * (volumes[0][0] == "scratch")
    if arguments.secret:
        environment += f"          envFrom: [{{secretRef: {{name: {arguments.secret}}}}}]\n"
    place = f"          workingDir: {json.dumps(arguments.mount)}\n" if arguments.claim else ""
    account = f"      serviceAccountName: {arguments.service_account}\n" if arguments.service_account else ""
    mounts = "\n".join(f"            - {{name: {one}, mountPath: {json.dumps(at)}}}" for one, at, _ in volumes)
    sources = "\n".join(f"        - {{name: {one}, {source}}}" for one, _, source in volumes)
    return JOB.format(name=name, fields=fields, account=account, image=json.dumps(arguments.image), place=place, command=json.dumps(command),
                      environment=environment, cpus=arguments.cpus, requests=memory + disk, limits=limits, mounts=mounts, volumes=sources)
