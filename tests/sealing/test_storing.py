import stat

import pytest

from kantor.errors import InputError
from kantor.sealing.storing import in_file, read_file


def test_a_state_is_kept_for_its_owner_alone(tmp_path):
    file = tmp_path / "state.json"
    store = in_file(file)
    for number in range(3):
        store({"number": number})
        assert read_file(file) == {"number": number}
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_the_old_state_stays_until_the_new_one_is_whole(tmp_path):
    file = tmp_path / "state.json"
    in_file(file)({"number": 1})
    (tmp_path / "state.json.new").write_text('{"numb')  # killed while it was written
    assert read_file(file) == {"number": 1}
    in_file(file)({"number": 2})
    assert read_file(file) == {"number": 2}


@pytest.mark.parametrize("content", ["", "{", '{"a": 1}'])
def test_a_broken_file_is_named(tmp_path, content):
    file = tmp_path / "state.json"
    file.write_text(content)
    with pytest.raises(InputError, match=r"state\.json"):
        read_file(file)
