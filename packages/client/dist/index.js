// src/problem.ts
var ProblemError = class extends Error {
  name = "ProblemError";
  problem;
  retryAfterMs;
  constructor(problem, options = {}) {
    super(problem.detail ?? problem.title ?? `HTTP ${problem.status}`, { cause: options.cause });
    this.problem = problem;
    this.retryAfterMs = options.retryAfterMs;
  }
  get status() {
    return this.problem.status;
  }
  get code() {
    return this.problem.code;
  }
  get requestId() {
    return this.problem.requestId;
  }
};
async function toProblemError(response) {
  const { status, headers } = response;
  if (response.type === "opaqueredirect") return new ProblemError(hiddenRedirect);
  const body = await response.json().catch(() => void 0);
  const problem = typeof body === "object" && body !== null ? body : {};
  return new ProblemError({ ...problem, status }, { retryAfterMs: readRetryAfter(headers) });
}
var hiddenRedirect = {
  status: 0,
  code: "NO_ANSWER",
  detail: "The client follows no redirects.",
  retryable: false
};
function readRetryAfter(headers) {
  const text = headers.get("retry-after");
  if (text === null) return void 0;
  const ms = /^\d+$/.test(text) ? Number(text) * 1e3 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? void 0 : Math.max(0, ms);
}

// src/values.ts
var { isRawJSON } = JSON;
var given = (members) => Object.entries(members).filter((member) => member[1] !== void 0);
function toJson(value, name = "") {
  if (typeof value === "bigint") return `${value}`;
  const written = value;
  const plain = written?.toJSON ? written.toJSON(name) : value;
  if (Array.isArray(plain)) return `[${Array.from(plain, (member) => toJson(member, name))}]`;
  if (typeof plain === "object" && plain !== null && !isRawJSON?.(plain)) {
    return `{${given(plain).map(([key, member]) => `${JSON.stringify(key)}:${toJson(member, key)}`)}}`;
  }
  const text = JSON.stringify(plain) ?? "null";
  if (text === "null" && value !== null) throw new TypeError(`${name}: ${value} is no value.`);
  return text;
}
function toForm(values) {
  const form = new URLSearchParams();
  for (const [name, value] of given(values)) {
    const list = Array.isArray(value) ? value : [value];
    if (list.length === 0 || list.includes(null)) {
      throw new TypeError(`${name}: a URL holds neither null nor an empty list. Use execute.`);
    }
    for (const member of list) {
      const text = toJson(member, name);
      form.append(name, text[0] === '"' ? JSON.parse(text) : text);
    }
  }
  return form.size === 0 ? "" : `?${form}`;
}

// src/exchange.ts
function exchange(settings, request, read) {
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
var open = (settings, request) => withRetries(settings, request, () => openOnce(settings, request));
async function withRetries({ retries, retryWaitMaxMs }, { repeatable, signal }, attempt) {
  for (let tried = 0; ; tried++) {
    try {
      return await attempt();
    } catch (err) {
      if (!repeatable || tried >= retries || !(err instanceof ProblemError) || !mayPass(err)) throw err;
      const waitMs = err.retryAfterMs ?? 100 * 2 ** tried * (0.5 + Math.random());
      if (waitMs > retryWaitMaxMs) throw err;
      await sleep(waitMs, signal);
    }
  }
}
var mayPass = ({ problem: { retryable, status } }) => retryable ?? [429, 502, 503, 504].includes(status);
async function openOnce(settings, request) {
  const { timeoutMs } = settings;
  const { signal, repeatable: isRepeatable } = request;
  signal?.throwIfAborted();
  const controller = new AbortController();
  const timeout = new ProblemError({
    status: 0,
    code: "TIMEOUT",
    detail: `The hub sent nothing for ${timeoutMs} ms.`,
    retryable: false
  });
  let timer;
  const pause = () => clearTimeout(timer);
  const wait = () => {
    pause();
    timer = setTimeout(() => controller.abort(timeout), timeoutMs);
  };
  const onAbort = () => controller.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort);
  const close = () => {
    pause();
    signal?.removeEventListener("abort", onAbort);
    controller.abort();
  };
  const toError = (err) => err instanceof ProblemError ? err : reasonOf(err, { controller, isRepeatable });
  wait();
  try {
    let response = await send(settings, request, controller.signal);
    if (response.status === 401 && settings.token !== void 0) {
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
async function send(settings, { method, path, headers, body }, signal) {
  const { base, key, token, headers: ofAll } = settings;
  const authorization = token === void 0 ? void 0 : `Bearer ${await ask(token, signal)}`;
  return settings.fetch(new URL(path, base), {
    method,
    headers: Object.fromEntries(
      given({
        ...ofAll,
        accept: "application/json",
        ...headers,
        authorization,
        "x-service-api-key": key,
        "content-type": body && "application/json"
      })
    ),
    body: body ?? null,
    signal,
    redirect: "manual"
  });
}
async function ask(token, signal) {
  try {
    return await unlessAborted(Promise.resolve().then(token), signal);
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    const detail = "The function `token` failed.";
    throw new ProblemError({ status: 0, code: "TOKEN_FAILED", detail, retryable: false }, { cause });
  }
}
async function unlessAborted(awaited, signal) {
  let onAbort = () => {
  };
  const aborted = new Promise((_, reject) => {
    onAbort = () => reject(signal?.reason);
    signal?.addEventListener("abort", onAbort);
  });
  try {
    return await Promise.race([awaited, aborted]);
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}
var unsent = /* @__PURE__ */ new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);
function reasonOf(cause, { controller: { signal }, isRepeatable }) {
  if (signal.aborted) return signal.reason;
  const detail = "The hub did not answer, or the answer broke off.";
  const { code } = Object(cause?.cause);
  const retryable = isRepeatable || unsent.has(code);
  return new ProblemError({ status: 0, code: "NO_ANSWER", detail, retryable }, { cause });
}
async function sleep(ms, signal) {
  let timer;
  const over = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await unlessAborted(over, signal).finally(() => clearTimeout(timer));
}

// src/rows.ts
var lastLine = '{"truncated":true}';
var endingMark = "";
function createRows(open2) {
  const rows = {
    truncated: false,
    async *[Symbol.asyncIterator]() {
      rows.truncated = false;
      const opened = await open2();
      let isEnded = false;
      try {
        for await (const lines of readLines(opened)) {
          for (const line of lines) {
            if (line === lastLine) rows.truncated = true;
            else if (!line.includes(endingMark)) yield parse(line, opened);
            else {
              isEnded = true;
              failIfBroken(line, opened);
            }
          }
        }
        if (!isEnded) throw cutShort(opened);
      } finally {
        opened.close();
      }
    }
  };
  return rows;
}
async function* readLines(opened) {
  const { response, toError } = opened;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (; ; ) {
    opened.await();
    const { done, value } = await reader.read().catch((err) => {
      const error = toError(err);
      throw error instanceof ProblemError && error.code === "NO_ANSWER" ? cutShort(opened, err) : error;
    });
    opened.pause();
    if (done) break;
    const text = decoder.decode(value, { stream: true });
    const end = text.lastIndexOf("\n");
    if (end === -1) {
      rest += text;
      continue;
    }
    yield (rest + text.slice(0, end)).split("\n");
    rest = text.slice(end + 1);
  }
  if (rest !== "") throw cutShort(opened);
}
function parse(line, opened) {
  try {
    return JSON.parse(line);
  } catch (err) {
    throw cutShort(opened, err);
  }
}
function failIfBroken(line, opened) {
  const { problem } = parse(line.slice(line.indexOf(endingMark) + 1), opened);
  if (problem !== void 0) throw cutShort(opened, new ProblemError(problem));
}
function cutShort({ isRepeatable: retryable }, cause) {
  const detail = "The result broke off before its last row.";
  return new ProblemError({ status: 0, code: "CUT_SHORT", detail, retryable }, { cause });
}

// src/client.ts
var reading = /\/(check|data|predict|summarize)$/;
function createClient(options) {
  const base = new URL(options.url);
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  const settings = {
    base,
    key: options.key,
    token: options.token,
    headers: options.headers ?? {},
    fetch: options.fetch ?? ((...args) => fetch(...args)),
    timeoutMs: options.timeoutMs ?? 6e4,
    retries: options.retries ?? 2,
    retryWaitMaxMs: options.retryWaitMaxMs ?? 1e4
  };
  return {
    execute: (query, ...[values, given2]) => exchange(settings, toExecution(query, values, given2), readJson),
    results: (query, ...[values, given2]) => exchange(settings, toExecution(query, values, { ...given2, results: "all" }), readJson),
    data: (query, ...[values, { signal, ...rest } = {}]) => {
      const options2 = Object.entries(rest).map(([name, value]) => [`options.${name}`, value]);
      const form = toForm({ ...values, ...Object.fromEntries(options2) });
      const path = `v1/${toDataPath(query)}${form}`;
      return exchange(settings, { method: "GET", path, signal, repeatable: true }, readJson);
    },
    rows: (query, ...[values, given2]) => {
      const request = toExecution(query, values, { ...given2, ending: true });
      const headers = { ...request.headers, accept: "application/x-ndjson" };
      return createRows(() => open(settings, { ...request, headers }));
    },
    call: (route, ...[input = {}]) => {
      const { onResponse } = input;
      return exchange(settings, toCall(route, input), (response) => {
        onResponse?.(response);
        return readJson(response);
      });
    }
  };
}
function toDataPath(query) {
  if (typeof query === "string") return `queries/${segment(query)}/data`;
  if (query.queryId !== void 0) return `queries/${segment(query.queryId)}/data`;
  return `hubs/${segment(query.hubId)}/data/${query.path.split("/").map(segment).join("/")}`;
}
function toNames(query) {
  if (typeof query === "string") return { queryId: query };
  return query.queryId === void 0 ? { hubId: query.hubId, path: query.path } : { queryId: query.queryId };
}
function segment(id) {
  if (/^\.{0,2}$/.test(id)) throw new TypeError(`${JSON.stringify(id)} is no id.`);
  return encodeURIComponent(id);
}
var readJson = (response) => response.json();
function toExecution(query, context, { signal, idempotencyKey, ...options } = {}) {
  const reads = typeof query === "string" ? void 0 : query.reads;
  return {
    method: "POST",
    path: "v1/queries/execute",
    headers: { "idempotency-key": idempotencyKey },
    body: toJson({ ...toNames(query), context, options: { ...options, reads } }),
    signal,
    repeatable: reads || idempotencyKey !== void 0
  };
}
function toCall(route, input) {
  const {
    path = {},
    query,
    body,
    signal,
    idempotencyKey,
    ifMatch
  } = input;
  const [method = "", template = ""] = route.split(" ");
  const filled = template.slice(1).replace(/\{(\w+)\}/g, (_, name) => segment(path[name] ?? ""));
  return {
    method,
    path: filled + toForm(query ?? {}),
    headers: { "idempotency-key": idempotencyKey, "if-match": ifMatch },
    body: body && toJson(body),
    signal,
    repeatable: method === "GET" || reading.test(route) || idempotencyKey !== void 0
  };
}
export {
  ProblemError,
  createClient
};
