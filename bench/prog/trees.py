# trees.py -- JSON, trees, strings
# SPDX-License-Identifier: BSD-2-Clause
import json
import random

random.seed(1)
rows = [{"id": i, "name": "n%d" % i, "tags": ["a%d" % (i % 7), "b%d" % (i % 11)],
         "v": [random.random() for _ in range(5)]} for i in range(20000)]
for _ in range(4):
    text = json.dumps(rows)
    back = json.loads(text)


class Node:
    __slots__ = ("left", "right", "key")

    def __init__(self, key):
        self.key = key
        self.left = self.right = None


def insert(node, key):
    while True:
        side = "left" if key < node.key else "right"
        child = getattr(node, side)
        if child is None:
            setattr(node, side, Node(key))
            return
        node = child


root = Node(5000.5)
for _ in range(60000):
    insert(root, random.random() * 1e4)
table = {}
for i in range(300000):
    table[str(i % 5000)] = [i, str(i)]
print(len(text), len(table))
