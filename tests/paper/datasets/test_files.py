"""Where files are looked for, and the way from the original archives to them."""

import functools
import hashlib
import http.server
import io
import sys
import tarfile
import threading
import zipfile

import numpy as np
import polars as pl
import pytest

from liquidtime.paper.datasets import DATASETS, DataNotFound, imdb, physionet2012, walker2d
from liquidtime.paper.datasets.download import Download, fetch
from liquidtime.paper.datasets.files import Origin, cache_folder, locate
from liquidtime.paper.datasets.prepare import driving as prepare_driving
from liquidtime.paper.datasets.prepare import imdb as prepare_imdb
from liquidtime.paper.datasets.prepare import physionet2012 as prepare_physionet2012
from liquidtime.paper.datasets.prepare import walker2d as prepare_walker2d
from small_data import driving_run, jpeg, write_all


@pytest.fixture(autouse=True)
def _no_data(monkeypatch, tmp_path):
    monkeypatch.delenv("LIQUIDTIME_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "platform", "linux")


@pytest.fixture
def served(tmp_path):
    """A folder and the address of a server of it on this machine."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def origin_at(address, content, prepare):
    return Origin("thing", ("made.txt",), (Download(f"{address}/raw.txt", "raw.txt", content),), prepare)


def double(raw, into):
    (into / "made.txt").write_text((raw / "raw.txt").read_text() * 2)


def test_order_of_the_places(tmp_path, monkeypatch):
    origin = origin_at("http://127.0.0.1:9", None, double)
    for place in ("given", "environment"):
        (tmp_path / place / "thing").mkdir(parents=True)
        (tmp_path / place / "thing" / "made.txt").touch()
    (cache_folder() / "thing").mkdir(parents=True)
    (cache_folder() / "thing" / "made.txt").touch()
    assert locate(origin) == cache_folder() / "thing"
    monkeypatch.setenv("LIQUIDTIME_DATA", str(tmp_path / "environment"))
    assert locate(origin) == tmp_path / "environment" / "thing"
    assert locate(origin, tmp_path / "given") == tmp_path / "given" / "thing"
    assert locate(origin, tmp_path / "elsewhere") == tmp_path / "environment" / "thing"


def test_downloaded_once_checked_prepared_and_cached(served):
    folder, address = served
    (folder / "raw.txt").write_text("ab")
    origin = origin_at(address, hashlib.sha256(b"ab").hexdigest(), double)
    assert (locate(origin) / "made.txt").read_text() == "abab"
    (folder / "raw.txt").unlink()
    assert (locate(origin) / "made.txt").read_text() == "abab"
    assert sorted(path.name for path in cache_folder().iterdir()) == ["downloads", "thing"]
    assert not list((cache_folder() / "downloads").iterdir())


def test_another_checksum_or_a_failed_preparation_leaves_nothing(served):
    folder, address = served
    (folder / "raw.txt").write_text("ab")
    with pytest.raises(DataNotFound, match="SHA256 hash of downloaded file"):
        locate(origin_at(address, "0" * 64, double))

    def spoilt(raw, into):
        (into / "made.txt").touch()
        raise ValueError("the contents are not those")

    with pytest.raises(DataNotFound, match="the contents are not those"):
        locate(origin_at(address, None, spoilt))
    assert [path.name for path in cache_folder().iterdir()] == ["downloads"]


@pytest.mark.parametrize("name", [name for name in DATASETS if name not in ("xor", "recall")])
def test_without_files_and_network_the_text_says_what_to_do(name, monkeypatch, tmp_path):
    def refuse(*args, **options):
        raise ConnectionError("no network")

    monkeypatch.setattr("pooch.retrieve", refuse)
    with pytest.raises(DataNotFound, match=f"{tmp_path}.*https://.*no network.*LIQUIDTIME_DATA.*liquidtime.paper"):
        DATASETS[name](tmp_path)


def test_without_pooch(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install 'liquidtime\[paper\]'"):
        fetch(Download("https://example.org/x", "x", None), tmp_path)


def add(archive, name, data):
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def test_physionet_from_its_archives(tmp_path):
    raw, made = tmp_path / "raw", tmp_path / "data" / "physionet2012"
    raw.mkdir()
    made.mkdir(parents=True)
    head = "RecordID,SAPS-I,SOFA,Length_of_stay,Survival,In-hospital_death\n"
    for name, first in (("a", 20), ("b", 60)):
        with tarfile.open(raw / f"set-{name}.tar.gz", "w:gz") as archive:
            for stay in reversed(range(first, first + 10)):
                lines = f"Time,Parameter,Value\n00:00,RecordID,{stay}\n00:00,Age,54\n00:07,HR,{stay}\n47:59,HR,80\n"
                add(archive, f"set-{name}/{stay}.txt", f"{lines}48:00,,-1\n".encode())
        rows = "".join(f"{stay},6,1,5,-1,{stay % 2}\n" for stay in range(first, first + 10))
        (raw / f"Outcomes-{name}.txt").write_text(head + rows)
    prepare_physionet2012.prepare(raw, made)
    records = pl.read_parquet(made / "records-a.parquet")
    assert records["record_id"].to_list() == [stay for stay in range(20, 30) for _ in range(3)]
    assert records["minutes"].head(3).to_list() == [0, 7, 2879]
    test = physionet2012(tmp_path / "data", test_set="b").test
    assert test.y.tolist() == [0, 1] * 5
    assert test.dt[0].tolist() == pytest.approx([0, 7 / 60, 2872 / 60])
    (raw / "Outcomes-b.txt").write_text(head + "60,6,1,5,-1,0\n")
    with pytest.raises(ValueError, match="set b has 10 stays and outcomes of 1"):
        prepare_physionet2012.prepare(raw, made)


def test_imdb_from_its_archive(tmp_path):
    made = tmp_path / "data" / "imdb"
    made.mkdir(parents=True)
    with tarfile.open(tmp_path / "aclImdb_v1.tar.gz", "w:gz") as archive:
        for part in ("train", "test"):
            for number in range(20):
                add(archive, f"aclImdb/{part}/neg/{number}_2.txt", f"bad {part} {number}".encode())
                add(archive, f"aclImdb/{part}/pos/{number}_9.txt", f"good {part} {number}".encode())
            add(archive, f"aclImdb/{part}/labeledBow.feat", b"1 2:3")
        add(archive, "aclImdb/train/unsup/0_0.txt", b"unread")
    prepare_imdb.prepare(tmp_path, made)
    train = pl.read_parquet(made / "train.parquet")
    assert train["id"].head(4).to_list() == [0, 0, 1, 1]
    assert train["text"].head(2).to_list() == ["good train 0", "bad train 0"]
    assert imdb(tmp_path / "data", protocol="published").test.y.tolist() == [1, 0] * 20


def test_walker2d_from_its_archive(tmp_path):
    made = tmp_path / "data" / "walker2d"
    made.mkdir(parents=True)
    rollouts = [np.random.default_rng(i).normal(size=(90, 17)) for i in range(20)]
    with zipfile.ZipFile(tmp_path / "CfC.zip", "w") as archive:
        for number, rollout in enumerate(rollouts):
            kept = io.BytesIO()
            np.save(kept, rollout)
            archive.writestr(f"CfC-59f6/data/walker/rollout_{number:03}.npy", kept.getvalue())
    with pytest.raises(ValueError, match=r"the rollouts have sha256 .*, not 2c49c81"):
        prepare_walker2d.prepare(tmp_path, made)
    stacked = np.concatenate(rollouts).astype(np.float32)
    content = prepare_walker2d.digest(stacked, np.full(20, 90, np.int32))
    prepare_walker2d.prepare(tmp_path, made, content)
    split = walker2d(tmp_path / "data")
    assert [len(part.ids.unique()) for part in split.parts().values()] == [15, 2, 3]


def test_driving_from_its_archive(tmp_path):
    made = tmp_path / "data" / "driving_udacity_sim"
    made.mkdir(parents=True)
    rng = np.random.default_rng(0)
    lines = ["center,left,right,steering,throttle,brake,speed"]
    picture = jpeg(rng, 320, 160)
    with zipfile.ZipFile(tmp_path / "driving.zip", "w") as archive:
        for minute, count in ((10, 130), (20, 100), (30, 140)):  # the second is too short to be a run
            for frame in range(count):
                name = f"center_2016_12_26_22_{minute}_{frame // 10:02}_{frame % 10 * 100:03}.jpg"
                lines.append(f"IMG/{name}, IMG/l.jpg, IMG/r.jpg, {frame / 1000}, 1, 0, 20")
                archive.writestr(f"P3-bb08/IMG/{name}", picture)
        archive.writestr("P3-bb08/driving_log.csv", "\n".join(lines))
    with pytest.raises(ValueError, match="the recording has sha256"):
        prepare_driving.prepare(tmp_path, made)
    content = prepare_driving.digest(prepare_driving.runs_of("\n".join(lines)))
    prepare_driving.prepare(tmp_path, made, content)
    assert [int(driving_run(tmp_path / "data", run).lengths) for run in (0, 1)] == [130, 140]
    run = driving_run(tmp_path / "data", 1)
    assert float(run.dt[0, 1:].mean()) == pytest.approx(0.1)
    assert float(run.y[0, 139, 0]) == pytest.approx(0.139)


def test_a_folder_with_some_of_the_files_is_not_taken(tmp_path, monkeypatch):
    write_all(tmp_path)
    (tmp_path / "imdb" / "test.parquet").unlink()
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataNotFound, match=r"train\.parquet, test\.parquet"):
        imdb(tmp_path)
