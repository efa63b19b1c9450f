"""Figure 3 of the paper, top left, from its published curve: 50 trials, eight normal owners, all 255 coalitions."""

import json

import numpy as np
import pytest

import kantor as kt
from conftest import DATA
from kantor.valuation.coalitions import coalitions
from kantor.valuation.families import family_distance

TASKS = {
    "∆MAE": kt.tasks.median,
    "∆RMSE": kt.tasks.mean,
    "∆NV": kt.tasks.newsvendor(),
    "∆MPL90": kt.tasks.quantile(0.9),
    "∆MPL70": kt.tasks.quantile(0.7),
}


def populations():
    """Locations, then scales, from NumPy's legacy generator, as the published run drew them."""
    draws = np.random.RandomState(1345)
    return draws.uniform(10, 16, (50, 8)), draws.uniform(1, 3, (50, 8))


def coalition_parameters():
    members = coalitions(8)
    size = members.sum(axis=1)
    location, scale = populations()
    means = location @ members.T / size
    scales = np.sqrt(scale**2 @ members.T) / size
    return size, means, scales


@pytest.mark.parametrize("label", ["W", *TASKS])
def test_mean_excess_by_size(label):
    curves = json.loads((DATA / "published_curves.json").read_text())["loss_avg_st_norm_N_d_8_N_r_50"]["curves"]
    published = next(curve for curve in curves if curve["label"].strip() == label)
    size, means, scales = coalition_parameters()
    target = means[:, -1:], scales[:, -1:]
    if label == "W":
        values = family_distance("norm", means - target[0], scales - target[1])
    else:
        task = TASKS[label]
        values = task.of_normals(means, scales, *target) - task.of_normals(*target, *target)
        values = values / task.lipschitz
    ours = [values[:, size == n].mean() for n in range(1, 9)]
    assert ours == pytest.approx(published["y"], abs=1e-3)
