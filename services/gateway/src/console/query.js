/** One stored query: its text, its variables as a form, its rows. */

import { call, curlLine, el, explain, parseExact, tableOf, toText } from './api.js';

/** How many are asked for and shown in the table; the rest is what the file is for. */
const rowsShownMax = 500;
const charactersShownMax = 2_000;

/** Of the query that is shown: ends what it is doing when another is chosen. */
let shown = new AbortController();
export function leaveQuery() {
  shown.abort();
  shown = new AbortController();
}

/** The elements of a query; of one that the key may only run, a form without its text. */
export async function queryView(queryId) {
  const { signal } = shown;
  const path = `v1/queries/${encodeURIComponent(queryId)}?signature=1`;
  try {
    const query = parseExact(await (await call(path, { signal })).text());
    return showQuery(queryId, { ...query, signal });
  } catch (err) {
    if (err.problem?.code !== 'SCOPE_DENIED') throw err;
    const note = `Its text stays hidden: ${err.problem.detail} It may still be run.`;
    return showQuery(queryId, { note, signal });
  }
}

function showQuery(queryId, { meta = {}, config, signature, note, signal }) {
  const view = document.getElementById('query-view').content.cloneNode(true);
  const part = Object.fromEntries(
    [...view.querySelectorAll('[data-part]')].map((one) => [one.dataset.part, one]),
  );
  const { command = '', query } = config ?? {};
  const reads = /^(SELECT|WITH|VALUES|TABLE|SHOW|EXPLAIN|DESC|DESCRIBE)?$/.test(command);
  const columns = signature?.columns.map(({ name, type }) => `${name} ${type}`).join(', ');
  const mark = (sql) => query && markPlace(part.text, query.query, sql);
  part.label.append(meta.label ?? 'A query');
  part.facts.append([queryId, meta.engine, command].filter(Boolean).join(' · '));
  part.text.hidden = query === undefined;
  mark(signature?.problem?.sql);
  part.notes.append(
    el('p', {}, note ?? ''),
    el('p', { class: 'hint', hidden: !columns }, `Columns: ${columns}`),
    el('p', { class: 'writes', hidden: reads }, `It writes: each run is carried out (${command}).`),
  );
  const refusal = { title: 'Its source refuses it', status: 422, ...signature?.problem };
  if (signature?.problem) part.notes.append(explain({ problem: refusal }));
  const fields = config ? variablesOf(config, signature).map(variableField) : [contextField()];
  part.variables.append(...fields.map(({ element }) => element));
  wireForm(part, { queryId, fields, mark, left: signal, name: meta.label ?? 'rows' });
  return [view];
}

/** The text in lines, the faulty place marked. Lines and columns count from 1, columns in characters. */
function markPlace(pre, text, { line, column = 1 } = {}) {
  const lines = text.split('\n').map((content, i) => {
    if (i + 1 !== line) return el('span', {}, `${content}\n`);
    const before = [...content].slice(0, column - 1).join('');
    const [word = ''] = /^([\w.]+|.)/u.exec(content.slice(before.length)) ?? [];
    const after = content.slice(before.length + word.length);
    return el('span', { class: 'bad' }, before, el('mark', {}, word || ' '), `${after}\n`);
  });
  pre.replaceChildren(...lines);
}

const placeholder = /(?<![:\w]):([A-Za-z_]\w*)|\{\{\s*(\w+)\s*\}\}/g;
/** What the source says of them, else a rough look at the text, and what is declared. */
function variablesOf({ context, query }, signature) {
  const found = [...query.query.matchAll(placeholder)].map(([, name, braced]) => ({ key: name ?? braced }));
  const fields = new Map();
  for (const one of [...(signature?.variables ?? found), ...(context ?? [])])
    fields.set(one.key, { ...fields.get(one.key), ...one });
  return [...fields.values()];
}

const isNumeric = (type) =>
  /^(integer|int\d?|bigint|smallint|number|decimal|numeric|real|double|float)/.test(type);
const isJson = (type) => /json|\[\]$/.test(type);
const isNumber = (text) => /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i.test(text);

/** A field, and how what stands in it is written as JSON; undefined where nothing does. */
function variableField({ key, type = '', required, value, enum: allowed, description }) {
  const id = `variable-${key}`;
  const common = { id, autocomplete: 'off', 'aria-describedby': `${id}-hint` };
  const choices = allowed ?? (type === 'boolean' ? [true, false] : undefined);
  const options = choices?.map((one) => el('option', { value: JSON.stringify(one) }, toText(one)));
  const json = el('input', { type: 'checkbox', id: `${id}-json`, checked: isJson(type) });
  const fallback = value === undefined ? 'no default' : `default ${JSON.stringify(value)}`;
  const facts = [type || 'any type', required && 'required', fallback, description].filter(Boolean);
  const input = choices
    ? el('select', common, el('option', { value: '' }, '(not sent)'), options)
    : el(isJson(type) ? 'textarea' : 'input', common);
  const read = () => {
    const text = input.value.trim();
    input.setCustomValidity('');
    if (input.value === '') return undefined;
    if (choices || (!json.checked && isNumeric(type) && isNumber(text))) return text;
    if (!json.checked) return JSON.stringify(input.value);
    if (!isJsonText(text)) input.setCustomValidity('No JSON: write null, "a text", 12, [1, 2] or {"a": 1}.');
    return text;
  };
  const tick = el(
    'small',
    { hidden: choices },
    json,
    el('label', { for: json.id }, ' as JSON: null, "", [1, 2]'),
  );
  const hint = el('small', { id: `${id}-hint` }, facts.join(' · '));
  return { key, read, element: el('div', {}, el('label', { for: id }, key), input, hint, tick) };
}

/** Where the definition is not known, all variables in one field. */
function contextField() {
  const input = el('textarea', { id: 'context', rows: 3, placeholder: '{"region": "north"}' });
  const read = () => {
    const text = input.value.trim() || '{}';
    const fits = text.startsWith('{') && isJsonText(text);
    input.setCustomValidity(fits ? '' : 'No JSON object: write {"region": "north"}.');
    return text;
  };
  return {
    read,
    element: el('div', {}, el('label', { for: 'context' }, 'Variables, as a JSON object'), input),
  };
}

function isJsonText(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function wireForm(part, { queryId, fields, mark, left, name }) {
  const { form, rows } = part;
  const path = 'v1/queries/execute';
  const optionsOf = () => {
    const { timeoutMs, maxRows, dryRun } = form.elements;
    const given = [timeoutMs, maxRows].filter(({ value }) => value !== '');
    const numbers = given.map(({ id, value }) => [id, Number(value)]);
    return { ...Object.fromEntries(numbers), ...(dryRun.checked ? { dryRun: true } : {}) };
  };
  /** Put together as text, so that numbers are sent digit by digit. */
  const bodyWith = (more) => {
    const values = fields.map(({ key, read }) => [key, read()]).filter(([, json]) => json !== undefined);
    const members = values.map(([key, json]) =>
      key === undefined ? json : `${JSON.stringify(key)}:${json}`,
    );
    const context = fields[0]?.key === undefined && values.length > 0 ? members[0] : `{${members.join(',')}}`;
    const options = JSON.stringify({ ...optionsOf(), ...more });
    const tail = options === '{}' ? '' : `,"options":${options}`;
    return `{"queryId":${JSON.stringify(queryId)},"context":${context}${tail}}`;
  };
  const showCurl = () => part.curl.replaceChildren(curlLine(path, bodyWith({})));
  const showRows = async (signal) => {
    const maxRows = Math.min(optionsOf().maxRows ?? rowsShownMax, rowsShownMax);
    const response = await call(path, { body: bodyWith({ maxRows, meta: true }), signal });
    const { data, meta, truncated } = parseExact(await response.text());
    rows.replaceChildren(rowsTable(data, meta.columns));
    const count = `${data.length} row${data.length === 1 ? '' : 's'}`;
    const first = truncated ? `The first ${count}; there are more, for a CSV file` : count;
    return (took) => `${first}: ${took}, ${Math.round(meta.durationMs)} ms of it at the source.`;
  };
  const saveCsv = async (signal) => {
    const file = await (await call(path, { body: bodyWith({}), accept: 'text/csv', signal })).blob();
    const href = URL.createObjectURL(file);
    el('a', { href, download: `${name.replaceAll(/[^\p{L}\p{N}._-]+/gu, '-')}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
    return (took) => `A file of ${file.size} bytes: ${took}.`;
  };
  form.addEventListener('input', showCurl);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    showCurl();
    const work = event.submitter?.value === 'csv' ? saveCsv : showRows;
    if (form.reportValidity()) carryOut(part, { work, mark, left });
  });
  showCurl();
}

/** Does `work`, which gives what to say of it, until it is cancelled or left. */
async function carryOut({ state, rows, start, cancel, progress }, { work, mark, left }) {
  const stop = new AbortController();
  const startedAt = performance.now();
  const took = () => `${((performance.now() - startedAt) / 1_000).toFixed(2)} s`;
  const busy = (on) => {
    const hadFocus = (on ? start : cancel).contains(document.activeElement);
    start.disabled = on;
    progress.hidden = cancel.hidden = !on;
    if (hadFocus) (on ? cancel : start.firstElementChild).focus();
  };
  cancel.onclick = () => stop.abort();
  busy(true);
  mark();
  rows.replaceChildren();
  state.textContent = 'Running …';
  try {
    state.textContent = (await work(AbortSignal.any([left, stop.signal])))(took());
  } catch (err) {
    const words = stop.signal.aborted ? ['Cancelled', ': the hub stops it at the source.'] : ['Failed', '.'];
    state.textContent = words.join(` after ${took()}`);
    if (!stop.signal.aborted) rows.replaceChildren(explain(err));
    mark(err.problem?.sql);
  }
  busy(false);
}

/** `columns` are as the hub tells them; documents may have others. */
function rowsTable(rows, columns = []) {
  const types = new Map(columns.map(({ name, type }) => [name, type]));
  const names = [...new Set([...types.keys(), ...rows.flatMap(Object.keys)])];
  if (rows.length === 0) return el('p', {}, 'No row: it ran, and found none. Other values may find some.');
  const heads = names.map((name) => el('th', { scope: 'col' }, name, el('small', {}, types.get(name) ?? '')));
  const line = (row) => names.map((name) => cell(Object.hasOwn(row, name) ? row[name] : undefined));
  return tableOf(heads, rows.map(line), 'Rows');
}

function cell(value) {
  if (value === undefined) return el('td');
  if (value === null) return el('td', {}, el('em', {}, 'null'));
  if (value === '') return el('td', {}, el('em', {}, 'empty text'));
  const text = toText(value);
  const { length } = text;
  if (length > charactersShownMax)
    return el('td', {}, `${text.slice(0, charactersShownMax)} … (${length} characters)`);
  // Numbers with many digits come as texts, so that nothing is rounded; all line up to the right.
  return el('td', { class: isNumber(text) && 'number' }, text);
}
