from pathlib import Path

import pytest

from echo_paths import NetworkFileSystemError, network_file_system, require_local_file_system

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
nas:/vol /srv nfs4 rw 0 0
/dev/sdb1 /srv/local xfs rw 0 0
//box/share /mnt/my\\040share cifs rw 0 0
host: /remote fuse.sshfs rw 0 0
tmpfs /remote tmpfs rw 0 0
broken line
"""


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    table = tmp_path / "mounts"
    table.write_text(MOUNTS)
    return table


@pytest.mark.parametrize(
    ("path", "fs_type"),
    [
        ("/srv/echo/identity.db", "nfs4"),
        ("/srv/local/echo", None),
        ("/srvx/echo", None),
        ("/mnt/my share/echo", "cifs"),
        ("/remote/echo", None),
        ("/home/echo", None),
    ],
)
def test_the_innermost_mount_decides(mounts: Path, path: str, fs_type: str | None) -> None:
    assert network_file_system(Path(path), mounts) == fs_type


def test_a_link_to_a_network_disk_is_followed(mounts: Path, tmp_path: Path) -> None:
    link = tmp_path / "data"
    link.symlink_to("/srv/echo")
    assert network_file_system(link, mounts) == "nfs4"


def test_without_a_mount_table_nothing_is_refused(tmp_path: Path) -> None:
    assert network_file_system(Path("/srv"), tmp_path / "absent") is None


def test_the_refusal_names_the_type_in_both_languages(mounts: Path) -> None:
    with pytest.raises(NetworkFileSystemError) as refusal:
        require_local_file_system(Path("/srv/echo"), mounts)
    assert "nfs4" in refusal.value.user_message("en")
    assert "nfs4" in refusal.value.user_message("fr")
    require_local_file_system(Path("/home/echo"), mounts)


def test_this_machine_s_temporary_folder_is_local(tmp_path: Path) -> None:
    assert network_file_system(tmp_path) is None
