/** What the hub answered to a call that was tried. */

import { call, Failure, problemOf } from '../../../api/client.ts';
import { counted, duration } from '../../../ui/format.ts';
import { OtherResult } from '../../../ui/table.tsx';
import type { TryRequest } from './forms.ts';

export interface Answer {
  request: TryRequest;
  status: number;
  ms: number;
  headers: [string, string][];
  text: string;
  /** Undefined if the answer has no rows. */
  rows: number | undefined;
  /** True if the hub or its database failed after the first bytes. */
  brokeOff: boolean;
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
    const { text, brokeOff } = await readText(response);
    const headers = shownHeaders.flatMap((name): [string, string][] => {
      const value = response.headers.get(name);
      return value === null ? [] : [[name, value]];
    });
    const said = { ...readable(text), brokeOff, status: response.status, headers };
    return { ...frame, ...said, ms: performance.now() - begun };
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
      brokeOff: false,
    };
  }
}

/** What came of an answer. The hub closes the connection if the rows fail after the first of them was sent. */
async function readText(response: Response): Promise<{ text: string; brokeOff: boolean }> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  try {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
      text += part.value;
    return { text, brokeOff: false };
  } catch {
    return { text, brokeOff: true };
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

interface AnswerViewProps {
  answer: Answer | undefined;
  /** The call that the page shows now; undefined if it cannot be tried. */
  shown: TryRequest | undefined;
}

export function AnswerView({ answer, shown }: AnswerViewProps) {
  if (answer === undefined) {
    return (
      <section class="use-answer" aria-label="Answer">
        <p class="empty">Try sends the call from here, with the key of this tab. The answer appears here.</p>
      </section>
    );
  }
  const { request, status, ms, headers, text, rows, brokeOff, isNewKey } = answer;
  return (
    <section class="use-answer" aria-label="Answer">
      <p class="answer-line" role="status">
        <b class={status >= 200 && status < 300 ? 'good-text' : 'bad-text'}>{status || 'No answer'}</b>
        {rows !== undefined && <b>{counted(rows, 'row')}</b>}
        <span class="note">
          {duration(ms)}, with {isNewKey ? 'the new key' : 'the key of this tab'}
        </span>
      </p>
      {!isSame(request, shown) && <OtherResult>This is the answer to an earlier call.</OtherResult>}
      {brokeOff && (
        <p class="banner" role="alert">
          The answer broke off: the rows failed after these. Run the query to see the reason.
        </p>
      )}
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

const isSame = (one: TryRequest, other: TryRequest | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
