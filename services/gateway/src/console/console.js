/** The page: is the hub ready, which key, what is in the hub, texts, routes. */

import { call, callJson, curlLine, el, explain, fill, holdKey, tableOf, toText } from './api.js';
import { leaveQuery, queryView } from './query.js';

const byId = (id) => document.getElementById(id);
const [work, detail, tree, hubList, filter] = ['work', 'detail', 'tree', 'hub', 'filter'].map(byId);
const p = (text) => el('p', {}, text);
const at = encodeURIComponent;
const options = (list) => list.map(([value, label]) => el('option', { value }, label));

const readyEveryMs = 10_000;
async function lookWhetherReady() {
  if (document.visibilityState === 'hidden') return;
  const ask = fetch('readyz', { cache: 'no-store', signal: AbortSignal.timeout(5_000) });
  const [state, text] = await ask
    .then((response) => response.json())
    .then(({ status, missing = [] }) => {
      if (status !== 'ready') return ['away', `is not ready: it waits for ${missing.join(', ')}`];
      return missing.length === 0
        ? ['ready', 'is ready']
        : ['parts', `is ready, without ${missing.join(', ')}`];
    })
    .catch(() => ['away', 'does not answer: does it run?']);
  const place = byId('ready');
  place.dataset.state = state;
  // Said aloud when it changes, and only then.
  if (place.textContent !== text) place.textContent = text;
}
setInterval(lookWhetherReady, readyEveryMs);
document.addEventListener('visibilitychange', lookWhetherReady);
lookWhetherReady();

/** The tree of the chosen hub. */
let root;
const hubsShownMax = 200;

async function listHubs() {
  const hubs = [];
  for (let total = 1; hubs.length < Math.min(total, hubsShownMax); ) {
    const response = await call(`v1/hubs?limit=20&offset=${hubs.length}`);
    const page = await response.json();
    hubs.push(...page);
    total = page.length === 0 ? 0 : Number(response.headers.get('x-total-count'));
  }
  const { value } = hubList;
  hubList.replaceChildren(...options(hubs.map(({ hubId, label }) => [hubId, label])));
  if (hubs.some(({ hubId }) => hubId === value)) hubList.value = value;
}

/** What to make where there is nothing. */
const settings = { host: '127.0.0.1', port: 5432, database: '…', user: '…', password: '…' };
const firsts = {
  hubs: { label: 'My hub' },
  sources: { label: 'My database', engine: 'postgres', connectionSettings: settings },
  queries: { label: 'My query', sourceId: 'dh.src.…', query: 'SELECT 1 AS one' },
  classifiers: { name: 'Mail' },
};
function emptiness(kind, more) {
  if (firsts[kind] === undefined) return [p('Nothing is in it.')];
  const body = JSON.stringify({ ...more, ...firsts[kind] });
  return [p(`There are no ${kind} yet. Make one, then look again:`), curlLine(`v1/${kind}`, body)];
}

const showTree = () =>
  fill(tree, async () => {
    root = undefined;
    if (hubList.value === '') return emptiness('hubs');
    root = await callJson(`v1/hubs/${at(hubList.value)}/contents`);
    return nodes();
  });

const leavesShownMax = 1_000;
/** The tree as lists; with a filter, the leaves whose label has it. */
function nodes() {
  const wanted = filter.value.trim().toLowerCase();
  let left = leavesShownMax;
  const item = ({ hubId, nodeType, nodeId, label, children, nodeSubType }) => {
    if (nodeType === 'source' || nodeType === 'query') {
      if (!label.toLowerCase().includes(wanted) || left-- <= 0) return undefined;
      const onclick = ({ currentTarget }) => choose(nodeType, nodeId, currentTarget);
      return el('li', {}, el('button', { type: 'button', class: nodeType, onclick }, label));
    }
    const items = children.map(item).filter(Boolean);
    if (items.length === 0 && wanted !== '') return undefined;
    const kind = nodeType === 'category' && nodeSubType;
    const inside = items.length > 0 ? el('ul', {}, items) : emptiness(kind, { hubId });
    return el('li', {}, el('details', { open: true }, el('summary', {}, label), inside));
  };
  const items = root.children.map(item).filter(Boolean);
  if (items.length === 0) return [p('No label has this in it: shorten the filter.')];
  const more = left < 0 ? `${leavesShownMax} are shown, and not ${-left} more: filter by label.` : '';
  return [el('ul', {}, items), p(more)];
}

async function choose(type, id, button) {
  leaveQuery();
  tree.querySelector('[aria-current]')?.removeAttribute('aria-current');
  button?.setAttribute('aria-current', 'true');
  // What was shown before can no more be run.
  detail.inert = true;
  await fill(detail, () => (type === 'query' ? queryView(id) : sourceView(id)));
  detail.inert = detail.hasAttribute('aria-busy');
}

async function sourceView(sourceId) {
  const path = `v1/sources/${at(sourceId)}`;
  const { label, engine, connectionSettings, createdAt, updatedAt } = await callJson(path);
  const facts = Object.entries({ sourceId, engine, ...connectionSettings, createdAt, updatedAt });
  const text = (value) => el('dd', { class: 'mono' }, toText(value ?? '–'));
  const lines = facts.map(([name, value]) => [el('dt', {}, name), text(value)]);
  const answer = el('div', { role: 'status' });
  const test = async () => {
    answer.textContent = 'Connecting …';
    const { latencyMs, serverVersion } = await callJson(`${path}/test`, { body: '{}' });
    return [p(`It answers after ${latencyMs} ms: ${serverVersion}`)];
  };
  const onclick = () => fill(answer, test);
  const button = el('button', { type: 'button', class: 'main', onclick }, 'Test the connection');
  return [el('h2', {}, label), el('dl', {}, lines.flat()), button, answer];
}

const classifiersShownMax = 200;
const listClassifiers = () =>
  fill(byId('classifiers'), async () => {
    byId('classifier').replaceChildren();
    const found = await callJson(`v1/classifiers?limit=${classifiersShownMax}`);
    byId('classifier').append(...options(found.map(({ classifierId, name }) => [classifierId, name])));
    if (found.length === 0) return emptiness('classifiers');
    return found.length < classifiersShownMax ? [] : [p(`The first ${found.length} are listed.`)];
  });

const scoresShownMax = 20;
async function predict(context) {
  const id = byId('classifier').value;
  if (id === '') return [p('There is no classifier to ask.')];
  const body = JSON.stringify({ context });
  const { scores } = await callJson(`v1/classifiers/${at(id)}/predict`, { body });
  const lines = scores.slice(0, scoresShownMax).map(({ label, confidence }) => {
    const bar = el('meter', { value: confidence, 'aria-label': label });
    return [el('dt', {}, label), el('dd', {}, bar, ` ${(confidence * 100).toFixed(1)} %`)];
  });
  return [el('dl', {}, lines.flat())];
}

async function summarise(text) {
  const { generated } = await callJson('v1/ai/summarize', { body: JSON.stringify({ context: [[text]] }) });
  return [p(generated)];
}

async function listRoutes() {
  const { paths } = await (await fetch('openapi.json')).json();
  const lines = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { description, summary }]) => {
      const scope = /`([^`]+)`/.exec(description)?.[1] ?? '';
      return [method.toUpperCase(), path, scope, summary].map((text) => el('td', {}, text));
    }),
  );
  const heads = ['method', 'path', 'scope', 'what it does'].map((text) => el('th', { scope: 'col' }, text));
  return [tableOf(heads, lines, 'Routes')];
}

/** Shows what the key may see. With a key that is refused nothing more is asked, since refusals are counted. */
async function look() {
  const err = await listHubs().catch((reason) => reason);
  const limited = err?.problem?.code === 'SCOPE_DENIED';
  work.hidden = err !== undefined && !limited;
  byId('key-problem').replaceChildren(...(work.hidden ? [explain(err)] : []));
  if (work.hidden) return;
  const instead = p('With the id of a query this key may still run it: put it in below.');
  if (limited) tree.replaceChildren(explain(err), instead);
  else showTree();
  listClassifiers();
}

function forget() {
  holdKey('');
  leaveQuery();
  root = undefined;
  work.hidden = byId('forget').hidden = true;
  for (const place of [tree, detail, hubList, byId('text-answer')]) fill(place, async () => []);
  byId('key').placeholder = '';
  byId('key').focus();
}

const onSubmit = (id, act) =>
  byId(id).addEventListener('submit', (event) => {
    event.preventDefault();
    act(event);
  });
onSubmit('key-form', () => {
  const field = byId('key');
  const text = field.value.trim();
  field.setCustomValidity(/^[\w-]+$/.test(text) ? '' : 'A key is one word of letters, digits, _ and -.');
  if (!field.reportValidity()) return;
  forget();
  holdKey(text);
  field.value = '';
  field.placeholder = 'A key is in use.';
  byId('forget').hidden = false;
  fill(detail, async () => [p('Choose a query or a source.')]);
  look();
});
byId('key').addEventListener('input', () => byId('key').setCustomValidity(''));
byId('forget').addEventListener('click', forget);
byId('again').addEventListener('click', look);
hubList.addEventListener('change', showTree);
filter.addEventListener('input', () => root && fill(tree, async () => nodes()));
onSubmit('by-id', () => {
  const id = byId('query-id').value.trim();
  if (id !== '') choose('query', id);
});
onSubmit('text-form', ({ submitter }) => {
  const text = byId('text').value;
  fill(byId('text-answer'), () => (submitter?.value === 'summarise' ? summarise(text) : predict(text)));
});
byId('routes').addEventListener('toggle', () => fill(byId('route-list'), listRoutes), { once: true });

// A page that is kept for the way back keeps its memory: it is emptied, and loaded anew.
addEventListener('pagehide', forget);
addEventListener('pageshow', ({ persisted }) => persisted && location.reload());
