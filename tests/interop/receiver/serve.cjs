// Receives traces on a free port of this machine, keeps them in the folder that is named, and prints the port.
const http = require("node:http");
const { LocalFileLogStore, LocalFileTraceStore, startTelemetryServer } = require("@genkit-ai/telemetry-server");

const listen = http.Server.prototype.listen;
http.Server.prototype.listen = function (...given) {
  this.once("listening", () => console.log(`port ${this.address().port}`));
  return listen.apply(this, given);
};
const folder = { storeRoot: process.argv[2], indexRoot: process.argv[2] };
startTelemetryServer({ port: 0, host: "127.0.0.1", traceStore: new LocalFileTraceStore(folder), logStore: new LocalFileLogStore(folder) });
