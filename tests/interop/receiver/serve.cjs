// Receive traces on a free local port, store them in the folder of the first argument, and print the port.
const http = require("node:http");
const { LocalFileLogStore, LocalFileTraceStore, startTelemetryServer } = require("@genkit-ai/telemetry-server");

const listen = http.Server.prototype.listen;
http.Server.prototype.listen = function (...options) {
  this.once("listening", () => console.log(`port ${this.address().port}`));
  return listen.apply(this, options);
};
const folder = { storeRoot: process.argv[2], indexRoot: process.argv[2] };
startTelemetryServer({ port: 0, host: "127.0.0.1", traceStore: new LocalFileTraceStore(folder), logStore: new LocalFileLogStore(folder) });
