import pytest

pytest.register_assert_rewrite("tests.simulation.storage.worlds")
