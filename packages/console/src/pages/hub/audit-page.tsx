/** Who did what in the account, newest first. */

import { useState } from 'preact/hooks';
import { callJson, callPage, isAborted, part } from '../../api/client.ts';
import type { AuditEntry } from '../../api/types.ts';
import { keyNames } from '../../state/key-names.ts';
import { linkTo, route } from '../../state/route.ts';
import { classifiers, findNode, hubId, hubs } from '../../state/workspace.ts';
import { count, counted, moment } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { Shown } from '../../ui/listed.tsx';
import { useLoad } from '../../ui/load.tsx';
import { PageHead } from '../../ui/page.tsx';
import { OffsetPager } from '../../ui/pager.tsx';
import { Scrolling, TableHead } from '../../ui/table.tsx';

const pageSize = 100;

/** Names of query parameters, with what they select. */
type Filter = Record<'action' | 'day' | 'keyId' | 'personId' | 'resourceId', string>;

async function readPage(filter: Filter, offset: number, signal: AbortSignal) {
  const wanted = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ''));
  const [page, names] = await Promise.all([
    callPage<AuditEntry>(`v1/audit?${wanted}`, { offset, limit: pageSize, signal }),
    keyNames(signal),
  ]);
  const labels = await labelsOf([filter.resourceId, ...page.items.map((one) => one.resourceId)], signal);
  return { ...page, names: new Map([...names, ...labels]) };
}

/** Labels that were read, by id; undefined for what was deleted or this key may not read. */
const knownLabels = new Map<string, string | undefined>();
/** More of a page stay ids, because each is a request. */
const labelsReadMax = 20;

/** The labels of the boards and watches among these, and of queries of other hubs: the tree does not show them. */
async function labelsOf(ids: readonly string[], signal: AbortSignal) {
  const shown = [...new Set(ids)].filter((id) => nounOf(id) !== undefined && findNode(id) === undefined);
  const unknown = shown.filter((id) => !knownLabels.has(id)).slice(0, labelsReadMax);
  await Promise.all(
    unknown.map(async (id) => {
      const read = callJson<Labelled>(`v1/${nounOf(id)}/${part(id)}`, { signal });
      const label = await read.then(
        (one) => one.meta?.label ?? one.label,
        (err) => {
          if (isAborted(err)) throw err;
          return undefined;
        },
      );
      knownLabels.set(id, label);
    }),
  );
  return shown.map((id) => [id, knownLabels.get(id) ?? id] as const);
}

/** A query has its label in `meta`. */
interface Labelled {
  label?: string;
  meta?: { label: string };
}

const nounOf = (id: string): string | undefined =>
  ({ brd: 'boards', wtch: 'watches', q: 'queries' })[id.split('.').at(-2) ?? ''];

/** The name of a thing of the account or of this hub, else its id. */
function nameOf(id: string, names: Map<string, string>): string {
  const classifier = classifiers.value.find(({ classifierId }) => classifierId === id);
  const hub = hubs.value?.find(({ hubId }) => hubId === id);
  return findNode(id)?.node.label ?? hub?.label ?? classifier?.name ?? names.get(id) ?? id;
}

/** `audit`, `audit/key/<keyId>` or `audit/what/<id of a resource>`. */
export function AuditPage() {
  const [, , , by, id] = route.value;
  return <Audit key={`${by} ${id}`} by={by} id={id} />;
}

function Audit({ by, id }: { by: string | undefined; id: string | undefined }) {
  const [action, setAction] = useState('');
  const [day, setDay] = useState('');
  const [offset, setOffset] = useState(0);
  const of = (kind: string) => (by === kind ? (id ?? '') : '');
  const filter = { action, day, keyId: of('key'), personId: of('person'), resourceId: of('what') };
  const loaded = useLoad((signal) => readPage(filter, offset, signal), [action, day, offset]);
  const { items: entries = [], names = new Map(), total } = loaded.value ?? {};
  return (
    <div class="page">
      <PageHead title="Audit" tags={[total === undefined ? undefined : counted(total, 'entry', 'entries')]}>
        <select
          class="audit-action"
          aria-label="Action"
          value={action}
          onChange={({ currentTarget }) => {
            setAction(currentTarget.value);
            setOffset(0);
          }}
        >
          <option value="">All actions</option>
          {auditActions.map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
        <input
          type="date"
          class="audit-day"
          aria-label="Day (UTC)"
          title="Day (UTC)"
          value={day}
          onChange={({ currentTarget }) => {
            setDay(currentTarget.value);
            setOffset(0);
          }}
        />
        <button type="button" onClick={loaded.refresh}>
          <Icon name="refresh" /> Refresh
        </button>
      </PageHead>
      {id !== undefined && (
        <p class="hint">
          Only {by === 'what' ? 'entries of' : `what the ${by}`}{' '}
          <strong>{(by === 'person' && entries[0]?.person?.name) || nameOf(id, names)}</strong>
          {by !== 'what' && ' did'}. <a href={linkTo('hub', hubId.value ?? '', 'audit')}>Show all</a>
        </p>
      )}
      <Shown of={loaded} what="the audit">
        {(page) => (
          <>
            {page.items.length > 0 && <AuditTable entries={page.items} names={page.names} />}
            {page.total === 0 && <p class="empty">There are no such entries.</p>}
            {page.total > 0 && <OffsetPager page={page} size={pageSize} onChange={setOffset} />}
          </>
        )}
      </Shown>
    </div>
  );
}

/** Frequent actions are counted from the start of an hour or a day. */
const isCounted = ({ at }: AuditEntry): boolean => at.endsWith(':00:00.000Z');
const countedFor = 'Counted for the hour, or for the day (UTC) once it is two days old, that began then';

function AuditTable({ entries, names }: { entries: AuditEntry[]; names: Map<string, string> }) {
  return (
    <Scrolling label="Changes">
      <table class="facts audit stacked">
        <TableHead names={['At', 'Action', 'What', 'Who']} numbers={['Count', 'Failed']} />
        <tbody>
          {entries.map((entry) => (
            <tr key={entry.entryId}>
              <td class="when" title={isCounted(entry) ? countedFor : undefined}>
                {isCounted(entry) && <span class="note">from </span>}
                {moment(entry.at)}
              </td>
              <td class="when" title={entry.action}>
                {auditWords(entry.action)}
              </td>
              <td class="cut-text" data-name="What" title={entry.resourceId}>
                <Filter by="what" id={entry.resourceId} name={nameOf(entry.resourceId, names)} />
              </td>
              <td class="cut-text beside" data-name="Who" title={entry.keyId}>
                <By of={entry} names={names} />
              </td>
              <td class="right" data-name="Count">
                {count(entry.count)}
              </td>
              <td class="right" data-name="Failed">
                {entry.failed > 0 ? count(entry.failed) : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}

/** The person, and the key if it was not a session. */
function By({ of: { keyId, person }, names }: { of: AuditEntry; names: Map<string, string> }) {
  const byKey = <Filter by="key" id={keyId} name={names.get(keyId) ?? keyId} />;
  if (person === undefined) return byKey;
  return (
    <>
      <Filter by="person" id={person.personId} name={person.name ?? person.personId} />
      {keyId !== person.personId && <div class="note">with {byKey}</div>}
    </>
  );
}

/** A link to the entries of this one. What nobody asked for has no key. */
const Filter = ({ by, id, name }: { by: 'what' | 'key' | 'person'; id: string; name: string }) =>
  id === '' ? null : <a href={linkTo('hub', hubId.value ?? '', 'audit', by, id)}>{name}</a>;

const words: Record<string, string> = {
  'query.execute': 'Executed a query',
  'query.console': 'Ran a query in the console',
  'query.try': 'Tried drafts at a source',
  'query.transaction': 'Executed a transaction',
  'query.create': 'Created a query',
  'query.update': 'Changed a query',
  'query.delete': 'Deleted a query',
  'query.restore': 'Restored a version of a query',
  'query.break': 'A query broke: its database rejects it',
  'query.mend': 'A broken query works again',
  'board.create': 'Created a board',
  'board.update': 'Changed a board',
  'board.delete': 'Deleted a board',
  'watch.create': 'Created a watch',
  'watch.update': 'Changed a watch',
  'watch.delete': 'Deleted a watch',
  'watch.run': 'Ran a watch',
  'watch.pause': 'The hub paused a watch',
  'destination.create': 'Created a destination',
  'destination.update': 'Changed a destination',
  'destination.delete': 'Deleted a destination',
  'destination.rotate': 'Replaced the secret of a destination',
  'destination.test': 'Tested a destination',
  'source.create': 'Created a source',
  'source.update': 'Changed a source',
  'source.delete': 'Deleted a source',
  'source.refuse': 'A database refused the log-in of a source',
  'folder.create': 'Created a folder',
  'folder.update': 'Changed a folder',
  'folder.delete': 'Deleted a folder',
  'hub.create': 'Created a hub',
  'hub.update': 'Changed a hub',
  'hub.delete': 'Deleted a hub',
  'key.create': 'Created a key',
  'key.update': 'Changed a key',
  'key.rotate': 'Rotated a key',
  'key.revoke': 'Revoked a key',
  'key.gainQuery': 'A key gained a query by a change of names',
  'key.loseQuery': 'A key lost a query by a change of names',
  'person.signIn': 'Signed in',
  'person.signOut': 'Signed out',
  'person.update': 'Disabled or enabled a person',
  'person.delete': 'Removed a person',
  'client.create': 'Registered a client',
  'client.delete': 'Deleted a client',
  'agent.connect': 'Connected an agent',
  'agent.disconnect': 'Disconnected an agent',
  'agent.refuse': 'Refused an agent',
  'grant.create': 'Gave a role',
  'grant.delete': 'Took a role away',
  'classifier.create': 'Created a classifier',
  'classifier.update': 'Changed a classifier',
  'classifier.delete': 'Deleted a classifier',
  'classifier.train': 'Trained a classifier',
  'classifier.predict': 'Classified texts',
  'text.summarize': 'Summarized texts',
  'job.delete': 'Stopped a training',
};

const auditWords = (action: string): string => words[action] ?? action;
const auditActions: readonly (readonly [string, string])[] = Object.entries(words);
