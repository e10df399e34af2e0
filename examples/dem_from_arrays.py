"""A DEM from two arrays and two RPC cameras in memory, then a picture of it where matplotlib is installed.

The images show a made-up place of hills on the equator, from straight above and from the side.
"""
# %%
# SPDX-License-Identifier: Apache-2.0
import numpy as np

import stereodem

# %% two views of hills between 92 and 108 m, 320 x 320 pixels of 1 m
SIZE, SLOPE = 320, 0.5  # pixels; columns by which a metre of height shifts the right view
rows, cols = np.mgrid[0:SIZE, 0:SIZE].astype(float)
noise = np.random.default_rng(1).uniform(200.0, 1200.0, (SIZE + 1, SIZE + 41))


def texture(columns):
    """The ground, seen at these columns of every row."""
    first = np.floor(columns).astype(int)
    part = columns - first
    line = rows.astype(int)
    return noise[line, first + 20] * (1.0 - part) + noise[line, first + 21] * part


def relief(columns):
    return 8.0 * np.sin(columns / 37.0) * np.cos(rows / 51.0)


seen = cols.copy()  # the left column that the right view shows
for _ in range(20):
    seen = cols - SLOPE * relief(seen)


def camera(slope):
    half = SIZE / 2.0
    line, column, one = np.zeros(20), np.zeros(20), np.eye(20)[0]
    line[2], column[1], column[3] = -1.0, 1.0, slope * 100.0 / half
    return stereodem.RPC(line_off=half, samp_off=half, lat_off=0.0, long_off=15.0, height_off=100.0, line_scale=half,
                         samp_scale=half, lat_scale=half / 110574.0, long_scale=half / 111320.0, height_scale=100.0,
                         line_num=line, line_den=one, samp_num=column, samp_den=one)


left = stereodem.Image(texture(cols).astype(np.uint16), rpc=camera(0.0))
right = stereodem.Image(texture(seen).astype(np.uint16), rpc=camera(SLOPE))

# %% the DEM, with its progress
dem = stereodem.run(left, right, tr=2, progress=lambda done, stage, what: print("%3.0f %%  %s" % (100.0 * done, what)))
print("%d x %d cells, heights %.1f to %.1f m" % (*dem.height.shape, np.nanmin(dem.height), np.nanmax(dem.height)))

# %% a picture
try:
    import matplotlib.pyplot as plt
except ImportError:
    print("no matplotlib: no picture")
else:
    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    axes[0].imshow(dem.ortho, cmap="gray")
    shown = axes[1].imshow(dem.height, cmap="terrain")
    figure.colorbar(shown, ax=axes[1], label="height, m")
    figure.savefig("dem_from_arrays.png", dpi=100)
