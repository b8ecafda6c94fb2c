"""Numbers as people read them."""

import pytest

from noregret.text import amount, duration, even


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        (1234.0, "1,234"),
        (0.012344, "0.01234"),
        (545_924.3, "545,924"),
        (12_357_944.25, "12,357,944"),
        (18_169_107_694_672.3, "1.817e13"),
        (-7.0273691796e10 - 0.5, "-7.027e10"),
        (18_169_107_694_672, "1.817e13"),
        (123_456_789_012, "123,456,789,012"),
        (1e-9 / 3, "3.333e-10"),
        (float("inf"), "inf"),
        (None, "-"),
    ],
)
def test_amounts(x, shown):
    assert amount(x) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.00849, "8.5 ms"), (0.0962, "96 ms"), (0.5678, "0.57 s"), (12.34, "12.3 s"), (125.0, "2 min 5 s"), (7384.0, "2 h 3 min")],
)
def test_durations(seconds, shown):
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([0.005383, 0.1227, 1.578], ["0.0054", "0.1227", "1.5780"]),
        ([6.663, 17.742, 336.71, 2.1e15], ["6.66", "17.74", "336.71", "2.1e15"]),
        ([12, 3, 4000], ["12", "3", "4,000"]),
        ([1.5, None, 2], ["1.5", "-", "2.0"]),
        ([1.234e-7, 2e-5], ["1.234e-7", "2e-5"]),
        ([0.123456], ["0.1235"]),
        ([-6549.3, 3469.1, 12.0], ["-6,549", "3,469", "12"]),
    ],
)
def test_a_column_of_numbers_has_even_decimals(values, shown):
    assert [even(values)(v) for v in values] == shown
