"""The check of the vectors that takes seconds, for ./check.

Files of the protocol are made anew and compared byte by byte; of every table the first rows of each
part are computed anew and must be in the file. Packages that are missing are installed into an
environment of this folder, which git ignores. To compare whole tables, run each program with
`--check`; README.md lists them.

    python3 vectors/check.py
"""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE / ".venv"


def has_packages():
    """Whether this Python has what requirements.txt asks for."""
    try:
        import mpmath  # noqa: F401
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if sys.version_info < (3, 11):
            import tomli  # noqa: F401
    except ImportError:
        return False
    return hasattr(Ed25519PublicKey, "public_bytes_raw")


def environment():
    """The Python of an environment that has the packages."""
    python = ENVIRONMENT / "bin" / "python"
    try:
        venv.create(ENVIRONMENT, with_pip=True)
    except subprocess.CalledProcessError:
        # Some distributions have the module in a package of its own.
        if not shutil.which("apt-get"):
            raise
        for command in (["update", "-q"], ["install", "-qy", "python3-venv"]):
            subprocess.run(["apt-get", *command], check=True)
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
    requirements = ["--requirement", str(HERE / "requirements.txt")]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
    return python


def main():
    """Compares every file, in this Python or in that of the environment."""
    if not has_packages():
        if Path(sys.prefix) == ENVIRONMENT:
            sys.exit("the packages of vectors/requirements.txt do not work here")
        python = environment()
        os.execv(python, [python, __file__])
    import accountant
    import amplification
    import batch
    import bulletin
    import bursts
    import collection
    import composition
    import directory
    import envelope
    import files
    import hpke
    import mechanism
    import messages
    import published

    modules = [hpke, envelope, batch, directory, bulletin, collection, accountant, composition,
               amplification, published, messages, bursts, mechanism]
    every = [file for module in modules for file in module.FILES]
    unmade = sorted({path.stem for path in HERE.glob("*.json")} - {file.name for file in every})
    if unmade:
        sys.exit(f"no program makes {', '.join(unmade)}")
    sys.exit(0 if files.run(every, "sample") else 1)


if __name__ == "__main__":
    main()
