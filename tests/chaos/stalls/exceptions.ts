/** What cannot hold the bounds, by the start of the name of the call, with its figures and the reason. */

interface Exception {
  ms?: number;
  mebibytes?: number;
  reason: string;
}

const older =
  'The default has 200,000 numbers that a double would change. An earlier release accepted it; a definition of today has at most 10,000 values.';

const document =
  'A document of 80,000 members as one value is parsed to be checked, and written as the parameter, in one turn.';

export const exceptions: Record<string, Exception> = {
  'POST /v1/queries/execute: members at /context': { ms: 75, reason: document },
  'POST /v1/queries/try: members at /values': { ms: 75, reason: document },
  'POST /mcp: members at /params/arguments': { ms: 75, reason: document },
  'POST /v1/queries/execute: decimals': { ms: 100, reason: older },
  'GET /v1/queries/:queryId/data: decimals': { ms: 100, reason: older },
  'GET /v1/hubs/:hubId/data/*: decimals': { ms: 100, reason: older },
  'POST /mcp: decimals': { ms: 100, reason: older },
  'PUT /v1/queries/:queryId: decimals': { ms: 75, reason: older },
  'POST /v1/sources/:sourceId/check: decimals': { ms: 150, mebibytes: 200, reason: older },
};
