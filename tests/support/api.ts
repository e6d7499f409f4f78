/** A client of the public API over fetch. */

export interface Answer<T = any> {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body, if it is JSON. */
  body: T;
}

export interface CallOptions {
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  /** A body that is sent as it is. */
  raw?: string | Uint8Array<ArrayBuffer>;
  key?: string | null;
}

export interface Api {
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  get(path: string, options?: CallOptions): Promise<Answer>;
  post(path: string, body?: unknown, options?: CallOptions): Promise<Answer>;
  put(path: string, body?: unknown, options?: CallOptions): Promise<Answer>;
  delete(path: string, options?: CallOptions): Promise<Answer>;
  /** Returns the body of a response, which must be a success. */
  ok(answer: Promise<Answer>): Promise<any>;
}

/** `check` receives each response before the caller. */
export function createApi(
  hub: { url: string; key: string },
  check?: (method: string, path: string, answer: Answer) => void,
): Api {
  const call: Api['call'] = async (method, path, options = {}) => {
    const { body } = options;
    const hasBody = body !== undefined || options.raw !== undefined;
    const key = options.key === undefined ? hub.key : options.key;
    const response = await fetch(hub.url + path, {
      method,
      headers: {
        ...(key === null ? {} : { 'x-service-api-key': key }),
        ...(hasBody ? { 'content-type': 'application/json' } : {}),
        ...options.headers,
      },
      ...(hasBody ? { body: options.raw ?? JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    const answer = { status: response.status, headers: response.headers, text, body: parse(text) };
    check?.(method, path, answer);
    return answer;
  };
  return {
    call,
    get: (path, options) => call('GET', path, options),
    post: (path, body, options) => call('POST', path, { ...options, body }),
    put: (path, body, options) => call('PUT', path, { ...options, body }),
    delete: (path, options) => call('DELETE', path, options),
    ok: async (answer) => {
      const { status, text, body } = await answer;
      if (status !== 200) throw new Error(`Expected a success, got ${status}: ${text}`);
      return body;
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
