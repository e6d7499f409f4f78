/** One request and its repeats: deadlines, aborts, retries. */

import { ProblemError, toProblemError } from './problem.ts';
import { given } from './values.ts';

export interface Settings {
  /** Ends in a slash. */
  base: URL;
  key: string;
  token: (() => string | Promise<string>) | undefined;
  headers: Readonly<Record<string, string>>;
  fetch: typeof fetch;
  timeoutMs: number;
  retries: number;
  retryWaitMaxMs: number;
}

export interface Request {
  method: string;
  /** Relative to the hub, with the query string. */
  path: string;
  headers?: Record<string, string | undefined>;
  /** JSON text. */
  body?: string | undefined;
  signal?: AbortSignal | undefined;
  /** A repeat changes nothing that the first request did not. */
  repeatable: boolean;
}

/** A successful response whose body is still to be read. */
export interface Opened {
  response: Response;
  /** What a failed read of the body means. */
  toError(err: unknown): unknown;
  isRepeatable: boolean;
  /** Begins the deadline anew before a part of the body is awaited, and ends it while the caller is at work. */
  await(): void;
  pause(): void;
  /** Cancels what was not read. Called once, always. */
  close(): void;
}

/** Sends a request, again if that is safe, and reads the answer within the deadline of each attempt. */
export function exchange<T>(
  settings: Settings,
  request: Request,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  return withRetries(settings, request, async () => {
    const opened = await openOnce(settings, request);
    try {
      return await read(opened.response);
    } catch (err) {
      throw opened.toError(err);
    } finally {
      opened.close();
    }
  });
}

/** The same up to the body, which the caller streams. */
export const open = (settings: Settings, request: Request): Promise<Opened> =>
  withRetries(settings, request, () => openOnce(settings, request));

async function withRetries<T>(
  { retries, retryWaitMaxMs }: Settings,
  { repeatable, signal }: Request,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let tried = 0; ; tried++) {
    try {
      return await attempt();
    } catch (err) {
      if (!repeatable || tried >= retries || !(err instanceof ProblemError) || !mayPass(err)) throw err;
      // Random, so that clients that failed together do not come back together.
      const waitMs = err.retryAfterMs ?? 100 * 2 ** tried * (0.5 + Math.random());
      if (waitMs > retryWaitMaxMs) throw err;
      await sleep(waitMs, signal);
    }
  }
}

/** The hub says so itself; a proxy in front of it only has a status. */
const mayPass = ({ problem: { retryable, status } }: ProblemError): boolean =>
  retryable ?? [429, 502, 503, 504].includes(status);

async function openOnce(settings: Settings, request: Request): Promise<Opened> {
  const { timeoutMs } = settings;
  const { signal, repeatable: isRepeatable } = request;
  signal?.throwIfAborted();
  const controller = new AbortController();
  const timeout = new ProblemError({
    status: 0,
    code: 'TIMEOUT',
    detail: `The hub sent nothing for ${timeoutMs} ms.`,
    retryable: false,
  });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const pause = () => clearTimeout(timer);
  const wait = () => {
    pause();
    timer = setTimeout(() => controller.abort(timeout), timeoutMs);
  };
  const onAbort = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort);
  const close = () => {
    pause();
    signal?.removeEventListener('abort', onAbort);
    controller.abort();
  };
  const toError = (err: unknown) =>
    err instanceof ProblemError ? err : reasonOf(err, { controller, isRepeatable });
  wait();
  try {
    let response = await send(settings, request, controller.signal);
    // The hub has done nothing yet, so a repeat with a fresh token is safe for each request.
    if (response.status === 401 && settings.token !== undefined) {
      await response.body?.cancel();
      response = await send(settings, request, controller.signal);
    }
    if (!response.ok) throw await toProblemError(response);
    return { response, toError, isRepeatable, await: wait, pause, close };
  } catch (err) {
    const error = toError(err);
    close();
    throw error;
  }
}

async function send(
  settings: Settings,
  { method, path, headers, body }: Request,
  signal: AbortSignal,
): Promise<Response> {
  const { base, key, token, headers: ofAll } = settings;
  const authorization = token === undefined ? undefined : `Bearer ${await ask(token, signal)}`;
  // Following a redirect would send the key to another address.
  return settings.fetch(new URL(path, base), {
    method,
    headers: Object.fromEntries(
      given({
        ...ofAll,
        accept: 'application/json',
        ...headers,
        authorization,
        'x-service-api-key': key,
        'content-type': body && 'application/json',
      }),
    ),
    body: body ?? null,
    signal,
    redirect: 'manual',
  });
}

async function ask(token: () => string | Promise<string>, signal: AbortSignal): Promise<string> {
  try {
    return await unlessAborted(Promise.resolve().then(token), signal);
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    const detail = 'The function `token` failed.';
    throw new ProblemError({ status: 0, code: 'TOKEN_FAILED', detail, retryable: false }, { cause });
  }
}

/** What is awaited, or the reason of the signal if that comes before. */
async function unlessAborted<T>(awaited: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal?.reason);
    signal?.addEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([awaited, aborted]);
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

/** Of connections that Node did not make, so that nothing was sent. */
const unsent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);

/** `fetch` and streams fail with various errors, some of which name no cause. */
function reasonOf(
  cause: unknown,
  { controller: { signal }, isRepeatable }: { controller: AbortController; isRepeatable: boolean },
): unknown {
  if (signal.aborted) return signal.reason;
  const detail = 'The hub did not answer, or the answer broke off.';
  const { code } = Object((cause as Error | undefined)?.cause);
  // A write whose answer was lost may have been carried out.
  const retryable = isRepeatable || unsent.has(code);
  return new ProblemError({ status: 0, code: 'NO_ANSWER', detail, retryable }, { cause });
}

async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await unlessAborted(over, signal).finally(() => clearTimeout(timer));
}
