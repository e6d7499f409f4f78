/** What the hub answered to a call that was tried. */

import { call, Failure, problemOf } from '../../../api/client.ts';
import { counted, duration } from '../../../ui/format.ts';
import type { TryRequest } from './forms.ts';

export interface Answer {
  request: TryRequest;
  status: number;
  ms: number;
  headers: [string, string][];
  text: string;
  /** Undefined if the answer has no rows. */
  rows: number | undefined;
  /** True if it was sent with the key that was created here. */
  isNewKey: boolean;
}

const shownHeaders = ['etag', 'cache-control', 'cache-status', 'age', 'x-request-id'];
const shownLettersMax = 60_000;

export async function tryCall(request: TryRequest, withKey: string | undefined): Promise<Answer> {
  const { method, path, accept, body } = request;
  const begun = performance.now();
  const frame = { request, isNewKey: withKey !== undefined };
  const options = { method, accept, body, ...(withKey === undefined ? {} : { withKey }) };
  try {
    const response = await call(path, options);
    const text = await response.text();
    const headers = shownHeaders.flatMap((name): [string, string][] => {
      const value = response.headers.get(name);
      return value === null ? [] : [[name, value]];
    });
    return { ...frame, ...readable(text), status: response.status, ms: performance.now() - begun, headers };
  } catch (err) {
    if (!(err instanceof Failure)) throw err;
    const problem = problemOf(err);
    const text = JSON.stringify(problem, undefined, 2);
    return {
      ...frame,
      status: problem.status,
      ms: performance.now() - begun,
      headers: [],
      text,
      rows: undefined,
    };
  }
}

/** One row in a line. The text of the hub stays, so that no digit is lost. */
function readable(text: string): { text: string; rows: number | undefined } {
  const rows = rowsIn(text);
  const shown = text
    .replace(/^\{"data":\[\{/, '{"data":[\n{')
    .replaceAll('},{', '},\n{')
    .replace(/\}\](,"truncated":true)?\}\s*$/, '}\n]$1}');
  const isCut = shown.length > shownLettersMax;
  return { text: isCut ? `${shown.slice(0, shownLettersMax)}\n… and more` : shown, rows };
}

function rowsIn(text: string): number | undefined {
  try {
    const { data } = JSON.parse(text) as { data?: unknown };
    return Array.isArray(data) ? data.length : undefined;
  } catch {
    return undefined;
  }
}

export function AnswerView({ answer }: { answer: Answer | undefined }) {
  if (answer === undefined) {
    return (
      <section class="use-answer" aria-label="Answer">
        <p class="empty">Try sends the call from here, with the key of this tab. The answer appears here.</p>
      </section>
    );
  }
  const { request, status, ms, headers, text, rows, isNewKey } = answer;
  return (
    <section class="use-answer" aria-label="Answer">
      <p class="answer-line" role="status">
        <b class={status >= 200 && status < 300 ? 'good-text' : 'bad-text'}>{status || 'No answer'}</b>
        {rows !== undefined && <b>{counted(rows, 'row')}</b>}
        <span class="note">
          {duration(ms)}, with {isNewKey ? 'the new key' : 'the key of this tab'}
        </span>
      </p>
      <div class="answer-head">
        <div>
          {request.method} /{request.path}
        </div>
        {headers.map(([name, value]) => (
          <div key={name}>
            {name}: <b>{value}</b>
          </div>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it. */}
      <pre tabIndex={0} role="region" aria-label="Body of the answer">
        {text}
      </pre>
    </section>
  );
}
