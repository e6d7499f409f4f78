/** Calls of the API, JSON with all its digits, and elements whose texts stay texts. */

let key = '';
/** In this variable alone: nothing is written where another page, a later visitor or a proxy's log could read it. */
export const holdKey = (text) => {
  key = text;
};

export const addressOf = (path) => new URL(path, document.baseURI).href;

/** Gives the response of a success, and throws an error with a `problem` otherwise. `body` is JSON text. */
export async function call(path, { body, accept = 'application/json', signal } = {}) {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await fetch(addressOf(path), {
    method: body === undefined ? 'GET' : 'POST',
    headers: { accept, 'x-service-api-key': key, ...type },
    body,
    signal,
    cache: 'no-store',
    credentials: 'omit',
    // Who redirects would be given the key.
    redirect: 'error',
  });
  if (response.ok) return response;
  const { status } = response;
  const problem = await response
    .json()
    .catch(() => ({ status, detail: `The answer is ${status}, in no words.` }));
  throw Object.assign(new Error(problem.detail), { problem });
}

export const callJson = async (path, options) => (await call(path, options)).json();

/** A number that JavaScript would write otherwise, rounded or without its last zeros, keeps its text where the browser can. */
const exactly = (_name, value, { source } = {}) =>
  typeof value === 'number' && source !== undefined && String(value) !== source && 'rawJSON' in JSON
    ? JSON.rawJSON(source)
    : value;
export const parseExact = (text) => JSON.parse(text, exactly);
export const toText = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

/** An element. Attributes that are undefined or false are left out; `onclick` and its like are listeners. */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (attribute.startsWith('on')) made.addEventListener(attribute.slice(2), value);
    else if (value !== undefined && value !== false)
      made.setAttribute(attribute, value === true ? '' : value);
  }
  // What is no node becomes a text, whatever it holds.
  made.append(...children.flat().filter((child) => child !== undefined));
  return made;
}

export function tableOf(heads, lines, label) {
  const body = lines.map((cells) => el('tr', {}, cells));
  const table = el('table', {}, el('thead', {}, el('tr', {}, heads)), el('tbody', {}, body));
  return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label }, table);
}

const advice = {
  KEY_INVALID: 'Is it whole? “npm run datahub -- keys create” makes a new one.',
  KEY_EXPIRED: '“npm run datahub -- keys create” makes a new one.',
  SCOPE_DENIED: 'Use another key, or ask whoever made this one.',
  SOURCE_GONE: 'Give the query another source: PUT /v1/queries/:queryId with config.source.sourceId.',
  SOURCE_UNREACHABLE:
    'Does that database run, and does DATAHUB_SOURCES_* allow it? Open its source to test it.',
  SOURCE_AUTH: 'Send new credentials: PUT /v1/sources/:sourceId.',
  NOT_TRAINED: 'Teach it: POST /v1/classifiers/:classifierId/train with a label and a context.',
  STATEMENT_TIMEOUT: 'Ask for less, or give it more time.',
};

/** A failure in words: the hub's, with what to do next, or the network's. */
export function explain({ message, problem }) {
  const away = { title: 'No whole answer came', detail: `${message}. Does the hub run? Then try again.` };
  const { title = 'It failed', detail, code, status, stage, sql, errors = [], requestId } = problem ?? away;
  const facts = [
    code && `${code} (${status})`,
    stage && `at the stage: ${stage}`,
    sql?.line && `line ${sql.line}, column ${sql.column}`,
    sql?.state && `state ${sql.state}`,
    requestId && `request ${requestId}`,
  ];
  const faults = errors.map((one) => el('li', {}, el('code', {}, one.pointer || '(body)'), ` ${one.detail}`));
  return el(
    'div',
    { class: 'problem', role: 'alert' },
    el(
      'p',
      {},
      el('strong', {}, detail.startsWith(title) ? '' : `${title}: `),
      `${detail} ${advice[code] ?? ''}`,
    ),
    el('ul', { hidden: faults.length === 0 }, faults),
    el('p', { class: 'hint' }, facts.filter(Boolean).join(' · ')),
  );
}

const turns = new WeakMap();
/** Puts what `work` gives into `place`, or its failure in words; of several, what was asked for last. */
export async function fill(place, work) {
  const turn = {};
  turns.set(place, turn);
  place.setAttribute('aria-busy', 'true');
  const made = await work().catch((err) => [explain(err)]);
  if (turns.get(place) !== turn) return;
  place.removeAttribute('aria-busy');
  place.replaceChildren(...made);
}

/** A line for a shell, with `$KEY` where the key belongs, and a button that copies it. */
export function curlLine(path, body) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const headers = [`-H "x-service-api-key: $KEY"`, "-H 'content-type: application/json'"];
  const text = [`curl -s ${quoted(addressOf(path))}`, ...headers, `-d ${quoted(body)}`].join(' \\\n  ');
  const line = el('pre', { tabindex: '0', class: 'curl' }, text);
  const said = el('small', { role: 'status' });
  const copy = async () => {
    // Without https and away from this machine browsers have no clipboard for pages.
    const copied = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    if (!copied) getSelection().selectAllChildren(line);
    said.textContent = copied ? 'Copied.' : 'Selected: press Ctrl+C.';
  };
  return el('div', {}, line, el('button', { type: 'button', onclick: copy }, 'Copy'), ' ', said);
}
