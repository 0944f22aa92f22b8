"""The metrics of a service, also while its database fails."""

import pytest

from tests.log.postgresql import PostgreSQL, binaries
from tests.log.running import Running
from tests.log.statements import statement
from vacr.log.folder import create_log
from vacr.log.registration import MetricSample, ServiceMetrics


def read_metrics(service):
    status, headers, body = service.get("/metrics")
    assert (status, headers["content-type"].partition(";")[0]) == (200, "text/plain")
    lines = [line for line in body.decode().splitlines() if not line.startswith("#")]
    return {name: value for name, _, value in (line.rpartition(" ") for line in lines)}


@pytest.fixture
def server():
    if binaries() is None:
        pytest.skip(
            "NO POSTGRESQL HERE: a database that fails under a service is not tested; apt-get "
            "install postgresql"
        )
    found = PostgreSQL()
    yield found
    found.stop()


def test_numbers_are_exact():
    text = ServiceMetrics().format_text(
        [
            MetricSample("log_size", "Entries.", 12_345_678),
            MetricSample("x_total", "All.", 2**60 + 1),
        ]
    )
    assert "\nvacr_log_size 12345678\n" in text
    assert "# TYPE vacr_log_size gauge" in text
    assert "# TYPE vacr_x_total counter" in text
    assert text.endswith(f"\nvacr_x_total {2**60 + 1}\n")


def test_metrics_survive_a_database_outage(server, tmp_path):
    log = create_log(str(tmp_path / "log"), database=server.database("log"))
    with Running(log.path) as service:
        assert service.post(statement())[0] == 201
        found = read_metrics(service)
        assert (found["vacr_log_up"], found["vacr_log_size"]) == ("1", "2")
        server.kill()
        found = read_metrics(service)
        assert int(found["vacr_storage_failures_total"]) > 0
        assert (found["vacr_log_up"], found['vacr_responses_total{status="201"}']) == ("0", "1")
        assert "vacr_log_size" not in found
        server.start()
        while service.post(statement())[0] != 201:
            pass
        found = read_metrics(service)
        assert (found["vacr_log_up"], found["vacr_log_size"]) == ("1", "3")


def test_recovery_is_reported(server, tmp_path):
    log = create_log(str(tmp_path / "log"), database=server.database("log"))
    with Running(log.path) as service:
        assert service.post(statement())[0] == 201
        assert read_metrics(service)["vacr_storage_failures_total"] == "0"
        server.kill()
        server.start()
        assert service.post(statement())[0] == 201
        assert service.get("/entries/1")[0] == 200
        assert int(read_metrics(service)["vacr_storage_failures_total"]) > 0
        code, complaints = service.stop()
    assert code == 0
    assert "vacr: the database failed and was reopened; all entries are safe" in complaints
