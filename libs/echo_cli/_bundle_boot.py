"""Puts the libraries that came inside a bundle on Python's path. Its text goes into every bundled function.

Standard library only, and nothing of ECHO: it runs where ECHO is not installed. Names begin with `echo_boot` or
`_EchoBoot`, because they share a namespace with the function that follows. The wheel itself travels in one function
only; the others find it unpacked, or say what to do.
"""

import base64
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import lzma
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from types import ModuleType

ECHO_BOOT_MISSING = (
    "ECHO {version}: its libraries are not unpacked yet. Administrator: import the bundle's function echo_lifecycle "
    "and switch it on, then restart Open WebUI. / ECHO {version} : ses bibliothèques ne sont pas encore dépliées. "
    "Administrateur : importez la fonction echo_lifecycle du lot et activez-la, puis redémarrez Open WebUI."
)
ECHO_BOOT_DAMAGED = (
    "ECHO {version}: the unpacked libraries in {place} are damaged. Administrator: delete that folder and restart Open "
    "WebUI. / ECHO {version} : les bibliothèques dépliées dans {place} sont abîmées. Administrateur : supprimez ce "
    "dossier et redémarrez Open WebUI."
)
ECHO_BOOT_RESTART = (
    "ECHO {version} is imported, but Open WebUI still runs ECHO {loaded}. Administrator: restart Open WebUI. / ECHO "
    "{version} est importé, mais Open WebUI fait encore tourner ECHO {loaded}. Administrateur : redémarrez Open WebUI."
)
ECHO_BOOT_UNWRITABLE = (
    "ECHO {version}: its libraries cannot be unpacked into {place} ({error}). Administrator: give Open WebUI the right "
    "to write there, or set ECHO_DATA_DIR. / ECHO {version} : impossible de déplier ses bibliothèques dans {place} "
    "({error}). Administrateur : donnez à Open WebUI le droit d'y écrire, ou définissez ECHO_DATA_DIR."
)
ECHO_BOOT_PACKAGES = (
    "ECHO {version} needs {packages}, and Open WebUI does not install packages here (OFFLINE_MODE, or "
    "ENABLE_PIP_INSTALL_FRONTMATTER_REQUIREMENTS=false). Administrator: install the wheel "
    "echo_owui-{version}-py3-none-any.whl with pip, or use the image echo-open-webui:{version}. / ECHO {version} a "
    "besoin de {packages}, et Open WebUI n'installe pas de paquets ici (OFFLINE_MODE, ou "
    "ENABLE_PIP_INSTALL_FRONTMATTER_REQUIREMENTS=false). Administrateur : installez la roue "
    "echo_owui-{version}-py3-none-any.whl avec pip, ou utilisez l'image echo-open-webui:{version}."
)


def echo_boot_place(data_dir: str | Path, version: str, wheel_sha256: str) -> Path:
    """Where the wheel of this bundle is unpacked."""
    root = Path(os.environ.get("ECHO_DATA_DIR") or Path(data_dir) / "echo")
    return root / "wheels" / f"{version}-{wheel_sha256[:12]}"


def echo_boot_is_whole(place: Path, record_sha256: str) -> bool:
    """Whether every file that the wheel's RECORD lists is there with its content.

    Source: https://packaging.python.org/en/latest/specifications/recording-installed-packages/ (the RECORD file).
    """
    records = sorted(place.glob("*.dist-info/RECORD"))
    if len(records) != 1 or hashlib.sha256(records[0].read_bytes()).hexdigest() != record_sha256:
        return False
    for line in records[0].read_text(encoding="utf-8").splitlines():
        name, digest, _ = line.rsplit(",", 2)
        if not digest:
            continue
        path = place / name
        wanted = digest.removeprefix("sha256=")
        if not path.is_file():
            return False
        found = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).decode().rstrip("=")
        if found != wanted:
            return False
    return True


def echo_boot_unpack(place: Path, packed: str, wheel_sha256: str, record_sha256: str) -> None:
    """Unpack the wheel beside its place, then give it its name in one step; safe with several processes at once.

    Raises:
        ValueError: the text in the function is not the wheel that was built.
        OSError: the folder cannot be written.
    """
    wheel = lzma.decompress(base64.b64decode(packed))
    if hashlib.sha256(wheel).hexdigest() != wheel_sha256:
        raise ValueError("the wheel in this function is not the one that was built")
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    try:
        with zipfile.ZipFile(BytesIO(wheel)) as archive:
            archive.extractall(fresh)
        if place.exists() and not echo_boot_is_whole(place, record_sha256):
            place.rename(fresh.with_name(fresh.name + ".old"))
        try:
            fresh.rename(place)
        except OSError:
            if not place.is_dir():  # else another process was quicker, and its copy is as good as ours
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(fresh.with_name(fresh.name + ".old"), ignore_errors=True)


class _EchoBootFinder(importlib.abc.MetaPathFinder):
    """Answers an import of ECHO's libraries with the reason why they are not there; looks again each time."""

    def __init__(self, place: Path, record_sha256: str, reason: str) -> None:
        self.place = place
        self.record_sha256 = record_sha256
        self.reason = reason

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """As `MetaPathFinder`: None for what is not ECHO's, and once the libraries have come.

        Raises:
            ModuleNotFoundError: they are still missing; the text says what to do.
        """
        if path is not None or not fullname.startswith("echo_"):
            return None
        if echo_boot_is_whole(self.place, self.record_sha256):
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
            echo_boot_add(self.place)
            return importlib.machinery.PathFinder.find_spec(fullname, [str(self.place)])
        raise ModuleNotFoundError(self.reason, name=fullname)


def echo_boot_add(place: Path) -> None:
    """Put the folder first on the path, once."""
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))
    importlib.invalidate_caches()


def echo_boot_lacking(packages: Sequence[str]) -> list[str]:
    """Those of the modules that cannot be found."""
    return [name for name in packages if importlib.util.find_spec(name) is None]


def echo_boot(
    data_dir: str | Path,
    *,
    version: str,
    wheel_sha256: str,
    record_sha256: str,
    packages: Sequence[str] = (),
    packed: str = "",
) -> str:
    """Make ECHO's libraries importable.

    Args:
        data_dir: Open WebUI's data folder.
        version: of the bundle.
        wheel_sha256: of the wheel file.
        record_sha256: of the RECORD inside it.
        packages: modules of third parties that the bundle asked pip for.
        packed: base64 of the LZMA-compressed wheel; "" in the functions that do not carry it.

    Returns:
        What is wrong and what to do, in English and French; "" when all is well.
    """
    place = echo_boot_place(data_dir, version, wheel_sha256)
    loaded = sys.modules.get("echo_constants")
    if loaded is not None and not str(loaded.__file__).startswith(str(place)):
        # Code that is loaded stays. An installed package of this version serves as well; else only a restart helps.
        running = str(getattr(loaded, "ECHO_VERSION", "?"))
        from_bundle = str(loaded.__file__).startswith(str(place.parent))
        if running == version and not from_bundle:
            return ""
        return ECHO_BOOT_RESTART.format(version=version, loaded=running)
    if loaded is None and not echo_boot_is_whole(place, record_sha256):
        reason = ECHO_BOOT_DAMAGED if place.exists() else ECHO_BOOT_MISSING
        problem = reason.format(version=version, place=place)
        if packed:
            try:
                echo_boot_unpack(place, packed, wheel_sha256, record_sha256)
                problem = "" if echo_boot_is_whole(place, record_sha256) else problem
            except (OSError, ValueError) as error:
                problem = ECHO_BOOT_UNWRITABLE.format(version=version, place=place, error=error)
        if problem:
            sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "_EchoBootFinder"]
            sys.meta_path.insert(0, _EchoBootFinder(place, record_sha256, problem))
            return problem
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "_EchoBootFinder"]
    echo_boot_add(place)
    lacking = echo_boot_lacking(packages)
    return ECHO_BOOT_PACKAGES.format(version=version, packages=", ".join(lacking)) if lacking else ""
