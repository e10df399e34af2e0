#!/usr/bin/python3
"""compare_figures.py THEIRS.json OURS.json NAME: every figure of theirs is in ours, within 1 % or 0.02 m."""
import json
import sys

SHARES = {'cells', 'n', 'coverage', 'filled', 'over30'}  # not metres: 1 % of it, or one in 10,000


def figures(value, name=''):
    if isinstance(value, dict):
        for key in value:
            yield from figures(value[key], f'{name}.{key}' if name else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from figures(item, f'{name}[{index}]')
    else:
        yield name, value


theirs, ours = (dict(figures(json.load(open(path)))) for path in sys.argv[1:3])
worst, worst_name, bad = 0.0, 'none', 0
for name, value in theirs.items():
    other = ours.get(name)
    if other is None:
        print(f'  {name}: missing')
        bad += 1
        continue
    absolute = 1e-4 if name.split('.')[-1] in SHARES else 0.02
    used = abs(value - other) / max(0.01 * abs(value), absolute)
    if used > worst:
        worst, worst_name = used, f'{name} {value:.6g} {other:.6g}'
    if not used <= 1:
        print(f'  {name}: {value} expected, {other} found')
        bad += 1
print(f'{sys.argv[3]}: {len(theirs)} figures, largest difference {100 * worst:.3f} % of the tolerance ({worst_name})')
sys.exit(1 if bad or not theirs else 0)
