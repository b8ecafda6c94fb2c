"""Models as text: the grammar, apart from what the names stand for."""

import pytest

from noregret.spec import parse_call, parse_list, parse_spec, parse_value


def test_a_model_has_steps_a_name_and_settings():
    assert parse_spec("pa1") == ([], "pa1", {})
    assert parse_spec(" pa1 : C = 0.5, average=true") == ([], "pa1", {"C": "0.5", "average": "true"})
    assert parse_spec("scale>random_fourier(200,rbf(0.1)) > pa1:kernel=rbf(gamma=1,x=2)") == (
        ["scale", "random_fourier(200,rbf(0.1)) "],
        "pa1",
        {"kernel": "rbf(gamma=1,x=2)"},
    )


def test_values_in_brackets_stand_by_place_or_by_name():
    assert parse_call(" rbf ") == parse_call("rbf()") == ("rbf", [])
    assert parse_call("shrink(100, phi = 0.9)") == ("shrink", [("", "100"), ("phi", "0.9")])
    assert parse_call("nystroem(50, kernel=rbf(gamma=0.1, b=2))") == ("nystroem", [("", "50"), ("kernel", "rbf(gamma=0.1, b=2)")])
    assert parse_call("rbf(0.1") is parse_call("two words") is None


def test_several_models_have_commas_between_them():
    assert parse_list(["pa1:C=1,average=true, nag", "ogd"]) == ["pa1:C=1,average=true", "nag", "ogd"]
    assert parse_list([]) == []


def test_brackets_are_closed():
    for read in (lambda text: parse_list([text]), parse_spec):
        with pytest.raises(ValueError, match=r"a closing bracket for each opening one, got 'a\(\(b\)>pa1'"):
            read("a((b)>pa1")


@pytest.mark.parametrize(
    ("text", "value"), [("True", True), ("none", None), ("3", 3), ("0.5", 0.5), ("1e-3", 1e-3), ("log", "log")]
)
def test_values(text, value):
    found = parse_value(text)
    assert (type(found), found) == (type(value), value)
