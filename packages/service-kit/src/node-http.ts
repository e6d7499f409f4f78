/**
 * What the hub uses of Node's `http`. An ESM import of `node:http` reads every export, and one of them, `WebSocket`, loads
 * undici: a twelfth of a start.
 */

const http = process.getBuiltinModule('node:http');
export const { createServer, IncomingMessage, request, STATUS_CODES } = http;
export type IncomingMessage = InstanceType<typeof IncomingMessage>;
