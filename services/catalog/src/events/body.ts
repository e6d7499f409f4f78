/** The body of a delivery: the form of Standard Webhooks, or that of a chat product's incoming webhooks. */

interface Told {
  type: string;
  at: number;
  dataJson: string;
}

export function bodyOf(template: 'slack' | undefined, { type, at, dataJson }: Told): string {
  if (template === 'slack') return JSON.stringify({ text: textOf(type, JSON.parse(dataJson)) });
  // The data stays as it is written, so that no digit of a number is lost.
  const head = JSON.stringify({ type, timestamp: new Date(at).toISOString() });
  return `${head.slice(0, -1)},"data":${dataJson}}`;
}

interface Data {
  label?: string;
  /** Of a key. */
  name?: string;
  /** Of a job. */
  state?: string;
  code?: string;
  detail?: string;
  new?: number;
  changed?: number;
  gone?: number;
}

const words: Record<string, string> = {
  'watch.rows': 'found rows',
  'watch.firing': 'is firing',
  'watch.resolved': 'is resolved',
  'watch.failed': 'failed',
  'watch.paused': 'was paused',
  'destination.disabled': 'was disabled',
  'query.broken': 'is broken',
  'query.mended': 'works again',
  'query.drifted': 'returns other columns',
  'query.published': 'was published',
  'source.unreachable': 'cannot be reached',
  'source.reachable': 'can be reached again',
  'key.expiring': 'expires soon',
};

/** Chat products read `&`, `<` and `>` as markup. */
const plain = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function textOf(type: string, { name, label = name, state, code, detail, ...counts }: Data): string {
  const changes = (['new', 'changed', 'gone'] as const).flatMap((name) =>
    counts[name] ? [`${counts[name]} ${name}`] : [],
  );
  const why = detail ?? code;
  const parts = [label === undefined ? type : `${label} ${words[type] ?? type}`];
  if (changes.length > 0) parts.push(changes.join(', '));
  if (state !== undefined) parts.push(state);
  if (why !== undefined) parts.push(why);
  return plain(parts.join(': '));
}
