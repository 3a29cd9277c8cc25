import json

import numpy as np
import pytest

from spacy_termlink.training.schedule import Schedule, generator


def walk(schedule, steps, sizes):
    """Tasks of the next steps, with texts counted as `sizes` says."""
    tasks = []
    for _ in range(steps):
        tasks.append(schedule.next_task())
        schedule.take(tasks[-1], 100, 10)
        schedule.count(tasks[-1], sizes[tasks[-1]])
    return tasks


def test_texts_are_shared_out_by_weight():
    schedule = Schedule({"a": 1.0, "b": 0.5, "c": 0.1}, seed=0)
    walk(schedule, 400, {"a": 20, "b": 7, "c": 31})
    texts = np.array([schedule.places[name].texts for name in "abc"])
    assert np.allclose(texts / texts.sum(), np.array([1.0, 0.5, 0.1]) / 1.6, atol=0.01)


def test_a_pass_takes_each_record_once_and_the_next_in_another_order():
    schedule = Schedule({"a": 1.0}, seed=0)
    first = np.concatenate([schedule.take("a", 12, 4) for _ in range(3)])
    second = np.concatenate([schedule.take("a", 12, 4) for _ in range(3)])
    assert sorted(first) == sorted(second) == list(range(12))
    assert not np.array_equal(first, second)
    other = Schedule({"a": 1.0}, seed=1)
    assert not np.array_equal(first, np.concatenate([other.take("a", 12, 4) for _ in range(3)]))


def test_a_small_rest_is_left_out_and_a_small_task_is_taken_whole():
    schedule = Schedule({"a": 1.0}, seed=0)
    assert [len(schedule.take("a", 10, 4)) for _ in range(4)] == [4, 4, 4, 4]
    assert sorted(schedule.take("a", 3, 8)) == [0, 1, 2]


@pytest.mark.parametrize("done", [1, 7, 30])
def test_restored_schedule_goes_on_as_the_other(done):
    sizes = {"a": 20, "b": 7}
    whole = Schedule({"a": 1.0, "b": 0.5}, seed=3)
    walk(whole, done, sizes)
    restored = Schedule({"a": 1.0, "b": 0.5}, seed=3)
    restored.restore(json.loads(json.dumps(whole.state())))
    for _ in range(30):
        task = whole.next_task()
        assert restored.next_task() == task
        assert np.array_equal(whole.take(task, 50, 8), restored.take(task, 50, 8))
        whole.count(task, sizes[task])
        restored.count(task, sizes[task])


def test_a_key_gives_the_same_numbers_on_every_machine():
    assert generator(0, "order", "a").integers(0, 1000, 3).tolist() == PINNED
    assert generator(1, "order", "a").integers(0, 1000, 3).tolist() != PINNED


PINNED = [123, 537, 185]
