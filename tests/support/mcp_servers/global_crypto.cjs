// Node 18 keeps `crypto` to itself; the servers of the tests take it for granted. Later ones have it.
globalThis.crypto ??= require("node:crypto").webcrypto;
