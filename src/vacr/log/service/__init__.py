"""The service: a log over HTTP, by SCRAPI and C2SP. Step: register."""
