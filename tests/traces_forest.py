"""The printed test vectors of Mondrian forests, six decimals: compare with atol = 2e-6.

After each round every node: its cut and children or that it is a leaf, its split time, its box, what it counted, its loss and log
weight. `p` and `f` are the answers before the round.
"""

import re
from typing import NamedTuple

# Stream M, 2 trees, seed 1, three classes declared
LABELS = """\
t=1: none
 tree 0
  node 0: leaf  [1, 1] [0, 0]  n=(1, 0, 0)  L=0  lnW=0
 tree 1
  node 0: leaf  [1, 1] [0, 0]  n=(1, 0, 0)  L=0  lnW=0
t=2: p=(0.666667, 0.166667, 0.166667)
 tree 0
  node 0: x1<=0.875036 ? 1 : 2  tau=0.267991  [0, 1] [0, 1]  n=(1, 1, 0)  L=1.791759  lnW=-0.538997
  node 1: leaf  [1, 1] [0, 0]  n=(1, 0, 0)  L=0  lnW=0
  node 2: leaf  [0, 0] [1, 1]  n=(0, 1, 0)  L=0  lnW=0
 tree 1
  node 0: x0<=0.572558 ? 2 : 1  tau=0.437533  [0, 1] [0, 1]  n=(1, 1, 0)  L=1.791759  lnW=-0.538997
  node 1: leaf  [1, 1] [0, 0]  n=(1, 0, 0)  L=0  lnW=0
  node 2: leaf  [0, 0] [1, 1]  n=(0, 1, 0)  L=0  lnW=0
t=3: p=(0.420635, 0.420635, 0.15873)
 tree 0
  node 0: x1<=0.875036 ? 1 : 2  tau=0.267991  [-1, 1] [-0.5, 1]  n=(1, 1, 1)  L=3.988984  lnW=-1.200891
  node 1: x1<=-0.186446 ? 4 : 3  tau=1.163927  [-1, 1] [-0.5, 0]  n=(1, 0, 1)  L=1.791759  lnW=-0.538997
  node 2: leaf  [0, 0] [1, 1]  n=(0, 1, 0)  L=0  lnW=0
  node 3: leaf  [1, 1] [0, 0]  n=(1, 0, 0)  L=0  lnW=0
  node 4: leaf  [-1, -1] [-0.5, -0.5]  n=(0, 0, 1)  L=0  lnW=0
 tree 1
  node 0: x0<=0.572558 ? 2 : 1  tau=0.437533  [-1, 1] [-0.5, 1]  n=(1, 1, 1)  L=3.988984  lnW=-1.200891
  node 1: leaf  [1, 1] [0, 0]  n=(1, 0, 0)  L=0  lnW=0
  node 2: x1<=0.898571 ? 4 : 3  tau=1.258328  [-1, 0] [-0.5, 1]  n=(0, 1, 1)  L=1.791759  lnW=-0.538997
  node 3: leaf  [0, 0] [1, 1]  n=(0, 1, 0)  L=0  lnW=0
  node 4: leaf  [-1, -1] [-0.5, -0.5]  n=(0, 0, 1)  L=0  lnW=0
t=4: p=(0.641026, 0.167949, 0.191026)
 tree 0
  node 0: x1<=0.875036 ? 1 : 2  tau=0.267991  [-1, 1] [-0.5, 1]  n=(1, 1, 2)  L=5.087596  lnW=-1.787141
  node 1: x1<=0.107445 ? 5 : 6  tau=0.453084  [-1, 1] [-0.5, 0.5]  n=(1, 0, 2)  L=2.60269  lnW=-1.112599
  node 2: leaf  [0, 0] [1, 1]  n=(0, 1, 0)  L=0  lnW=0
  node 3: leaf  [1, 1] [0, 0]  n=(1, 0, 0)  L=0  lnW=0
  node 4: leaf  [-1, -1] [-0.5, -0.5]  n=(0, 0, 1)  L=0  lnW=0
  node 5: x1<=-0.186446 ? 4 : 3  tau=1.163927  [-1, 1] [-0.5, 0]  n=(1, 0, 1)  L=1.791759  lnW=-0.538997
  node 6: leaf  [1, 1] [0.5, 0.5]  n=(0, 0, 1)  L=0  lnW=0
 tree 1
  node 0: x0<=0.572558 ? 2 : 1  tau=0.437533  [-1, 1] [-0.5, 1]  n=(1, 1, 2)  L=5.087596  lnW=-1.753162
  node 1: x1<=0.496989 ? 5 : 6  tau=2.139124  [1, 1] [0, 0.5]  n=(1, 0, 1)  L=1.791759  lnW=-0.538997
  node 2: x1<=0.898571 ? 4 : 3  tau=1.258328  [-1, 0] [-0.5, 1]  n=(0, 1, 1)  L=1.791759  lnW=-0.538997
  node 3: leaf  [0, 0] [1, 1]  n=(0, 1, 0)  L=0  lnW=0
  node 4: leaf  [-1, -1] [-0.5, -0.5]  n=(0, 0, 1)  L=0  lnW=0
  node 5: leaf  [1, 1] [0, 0]  n=(1, 0, 0)  L=0  lnW=0
  node 6: leaf  [1, 1] [0.5, 0.5]  n=(0, 0, 1)  L=0  lnW=0
t=5: p=(0.191079, 0.179902, 0.629018)
 tree 0
  node 0: x1<=0.875036 ? 1 : 2  tau=0.267991  [-1, 1] [-1, 1]  n=(1, 2, 2)  L=6.409352  lnW=-2.556217
  node 1: x1<=0.107445 ? 5 : 6  tau=0.453084  [-1, 1] [-1, 0.5]  n=(1, 1, 2)  L=5.087596  lnW=-1.873733
  node 2: leaf  [0, 0] [1, 1]  n=(0, 1, 0)  L=0  lnW=0
  node 3: leaf  [1, 1] [0, 0]  n=(1, 0, 0)  L=0  lnW=0
  node 4: x1<=-0.611266 ? 8 : 7  tau=1.325134  [-1, 0.5] [-1, -0.5]  n=(0, 1, 1)  L=1.791759  lnW=-0.538997
  node 5: x1<=-0.186446 ? 4 : 3  tau=1.163927  [-1, 1] [-1, 0]  n=(1, 1, 1)  L=3.988984  lnW=-1.200891
  node 6: leaf  [1, 1] [0.5, 0.5]  n=(0, 0, 1)  L=0  lnW=0
  node 7: leaf  [-1, -1] [-0.5, -0.5]  n=(0, 0, 1)  L=0  lnW=0
  node 8: leaf  [0.5, 0.5] [-1, -1]  n=(0, 1, 0)  L=0  lnW=0
 tree 1
  node 0: x0<=0.572558 ? 2 : 1  tau=0.437533  [-1, 1] [-1, 1]  n=(1, 2, 2)  L=6.409352  lnW=-2.336194
  node 1: x1<=0.496989 ? 5 : 6  tau=2.139124  [1, 1] [0, 0.5]  n=(1, 0, 1)  L=1.791759  lnW=-0.538997
  node 2: x1<=0.898571 ? 4 : 3  tau=1.258328  [-1, 0.5] [-1, 1]  n=(0, 2, 1)  L=2.60269  lnW=-1.112599
  node 3: leaf  [0, 0] [1, 1]  n=(0, 1, 0)  L=0  lnW=0
  node 4: x0<=-0.791465 ? 7 : 8  tau=1.821146  [-1, 0.5] [-1, -0.5]  n=(0, 1, 1)  L=1.791759  lnW=-0.538997
  node 5: leaf  [1, 1] [0, 0]  n=(1, 0, 0)  L=0  lnW=0
  node 6: leaf  [1, 1] [0.5, 0.5]  n=(0, 0, 1)  L=0  lnW=0
  node 7: leaf  [-1, -1] [-0.5, -0.5]  n=(0, 0, 1)  L=0  lnW=0
  node 8: leaf  [0.5, 0.5] [-1, -1]  n=(0, 1, 0)  L=0  lnW=0
"""

# Stream P with its targets, 1 tree, seed 1; q as used in the round
TARGETS = """\
t=1: none  q=0
  node 0: leaf  [1, 1] [2, 2] [0, 0]  n=1 mean=1 M2=0  L=0  lnW=0
t=2: f=1  q=2.25
  node 0: x1<=1.625107 ? 2 : 1  tau=0.178661  [0.5, 1] [-1, 2] [0, 1]  n=2 mean=0.25 M2=1.125  L=1.125  lnW=-0.21907
  node 1: leaf  [1, 1] [2, 2] [0, 0]  n=1 mean=1 M2=0  L=0  lnW=0
  node 2: leaf  [0.5, 0.5] [-1, -1] [1, 1]  n=1 mean=-0.5 M2=0  L=0  lnW=0
t=3: f=-0.216844  q=2.25
  node 0: x1<=1.625107 ? 2 : 1  tau=0.178661  [-1, 1] [-1, 2] [0, 2]  n=3 mean=0.333333 M2=1.166667  L=1.15625  lnW=-0.28866
  node 1: leaf  [1, 1] [2, 2] [0, 0]  n=1 mean=1 M2=0  L=0  lnW=0
  node 2: x2<=1.627109 ? 3 : 4  tau=0.861279  [-1, 0.5] [-1, 0.5] [1, 2]  n=2 mean=0 M2=0.5  L=0.5  lnW=-0.104951
  node 3: leaf  [0.5, 0.5] [-1, -1] [1, 1]  n=1 mean=-0.5 M2=0  L=0  lnW=0
  node 4: leaf  [-1, -1] [0.5, 0.5] [2, 2]  n=1 mean=0.5 M2=0  L=0  lnW=0
t=4: f=-0.033774  q=2.25
  node 0: x1<=1.625107 ? 2 : 1  tau=0.178661  [-1, 2] [-1, 2] [-1, 2]  n=4 mean=0.75 M2=3.25  L=2.545139  lnW=-0.757755
  node 1: leaf  [1, 1] [2, 2] [0, 0]  n=1 mean=1 M2=0  L=0  lnW=0
  node 2: x0<=0.822335 ? 5 : 6  tau=0.224934  [-1, 2] [-1, 1] [-1, 2]  n=3 mean=0.666667 M2=3.166667  L=2.5  lnW=-0.486489
  node 3: leaf  [0.5, 0.5] [-1, -1] [1, 1]  n=1 mean=-0.5 M2=0  L=0  lnW=0
  node 4: leaf  [-1, -1] [0.5, 0.5] [2, 2]  n=1 mean=0.5 M2=0  L=0  lnW=0
  node 5: x2<=1.627109 ? 3 : 4  tau=0.861279  [-1, 0.5] [-1, 0.5] [1, 2]  n=2 mean=0 M2=0.5  L=0.5  lnW=-0.104951
  node 6: leaf  [2, 2] [1, 1] [-1, -1]  n=1 mean=2 M2=0  L=0  lnW=0
t=5: f=0.241853  q=2.25
  node 0: x1<=1.625107 ? 2 : 1  tau=0.178661  [-1, 2] [-1, 2] [-1, 2]  n=5 mean=0.8 M2=3.3  L=2.576389  lnW=-0.867622
  node 1: leaf  [1, 1] [2, 2] [0, 0]  n=1 mean=1 M2=0  L=0  lnW=0
  node 2: x0<=0.822335 ? 5 : 6  tau=0.224934  [-1, 2] [-1, 1] [-1, 2]  n=4 mean=0.75 M2=3.25  L=2.555556  lnW=-0.650675
  node 3: x1<=0.554935 ? 7 : 8  tau=1.022485  [0, 0.5] [-1, 1] [0.5, 1]  n=2 mean=0.25 M2=1.125  L=1.125  lnW=-0.21907
  node 4: leaf  [-1, -1] [0.5, 0.5] [2, 2]  n=1 mean=0.5 M2=0  L=0  lnW=0
  node 5: x2<=1.627109 ? 3 : 4  tau=0.861279  [-1, 0.5] [-1, 1] [0.5, 2]  n=3 mean=0.333333 M2=1.166667  L=1  lnW=-0.325422
  node 6: leaf  [2, 2] [1, 1] [-1, -1]  n=1 mean=2 M2=0  L=0  lnW=0
  node 7: leaf  [0.5, 0.5] [-1, -1] [1, 1]  n=1 mean=-0.5 M2=0  L=0  lnW=0
  node 8: leaf  [0, 0] [1, 1] [0.5, 0.5]  n=1 mean=1 M2=0  L=0  lnW=0
"""


class Round(NamedTuple):
    """What is printed of one round."""

    answer: list[float] | None
    noise: float | None
    nodes: list[dict]


def numbers(text):
    """The numbers in a text."""
    return [float(v) for v in re.findall(r"-?\d+(?:\.\d+)?", text)]


def rounds(text):
    """The rounds of a trace."""
    found = []
    for block in re.split(r"^t=\d+: ", text, flags=re.M)[1:]:
        head, *lines = block.strip("\n").splitlines()
        answer = None if head.startswith("none") else numbers(head.split("=")[1].split("q")[0])
        noise = float(head.split("q=")[1]) if "q=" in head else None
        tree, nodes = 0, []
        for line in lines:
            if line.strip().startswith("tree"):
                tree = int(line.split()[1])
            else:
                nodes.append({"tree": tree, **node(line)})
        found.append(Round(answer, noise, nodes))
    return found


def node(line):
    """One node, by the names of the fields of a model's state."""
    boxes = [numbers(box) for box in re.findall(r"\[(.*?)\]", line)]
    split = re.search(r"x(\d+)<=(\S+) \? (\d+) : (\d+)  tau=(\S+)", line)
    feature, cut, left, right, time = map(float, split.groups()) if split else (-1, 0, -1, -1, None)
    counted = re.search(r"n=\((.*?)\)", line)
    moments = re.search(r"n=(\S+) mean=(\S+) M2=(\S+)", line)
    statistics = numbers(counted[1]) if counted else [float(v) for v in moments.groups()[1:]]
    return {
        "feature": feature,
        "cut": cut,
        "left": left,
        "right": right,
        "time": time,
        "lower": [a for a, _ in boxes],
        "upper": [b for _, b in boxes],
        "rows": float(moments[1]) if moments else sum(statistics),
        "statistics": statistics,
        "loss": float(re.search(r"L=(\S+)", line)[1]),
        "log_weight": float(re.search(r"lnW=(\S+)", line)[1]),
    }
