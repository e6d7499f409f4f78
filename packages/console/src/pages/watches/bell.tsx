/** The bell in the bar: the last events of the hub, and how many the person has not seen. */

import { type EventFacts, eventParts } from '@datahub/contract/watches';
import { useEffect, useState } from 'preact/hooks';
import { callJson, part } from '../../api/client.ts';
import type { Answer } from '../../api/types.ts';
import { currentKey, may } from '../../state/permissions.ts';
import { linkTo } from '../../state/route.ts';
import { classifiers, hubId } from '../../state/workspace.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { count, counted, moment } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { Listed } from '../../ui/listed.tsx';
import { useLoad } from '../../ui/load.tsx';
import { markSeen, seenEvent } from './seen-event.ts';

type HubEvent = Answer<'GET /v1/events'>['events'][number];

const pollMs = 60_000;
const shownMax = 50;

export function Bell() {
  const id = hubId.value;
  const isAllowed = currentKey.value !== undefined && may('watches:read');
  return id === undefined || !isAllowed ? null : <HubBell key={id} of={id} />;
}

function HubBell({ of: id }: { of: string }) {
  const loaded = useLoad(
    (signal) =>
      callJson<{ events: HubEvent[] }>(`v1/events?newest=1&limit=${shownMax}&hubId=${part(id)}`, { signal }),
    [id],
  );
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const look = () => document.visibilityState === 'visible' && loaded.refresh();
    const timer = setInterval(look, pollMs);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [loaded.refresh]);
  const events = loaded.value?.events ?? [];
  const unseen = events.filter(({ eventId }) => eventId > seenEvent(id)).length;
  // A key that is limited to queries may not read events.
  if (loaded.problem?.status === 403) return null;
  const label = `Events: ${unseen === shownMax ? `${shownMax} or more` : count(unseen)} new`;
  const close = () => {
    setOpen(false);
    const [newest] = events;
    if (newest !== undefined) markSeen(id, newest.eventId);
  };
  const show = () => {
    loaded.refresh();
    setOpen(true);
  };
  return (
    <>
      <button type="button" class="quiet icon-only bell" aria-label={label} title={label} onClick={show}>
        <Icon name="bell" />
        {unseen > 0 && <span class="bell-count">{unseen === shownMax ? `${shownMax}+` : unseen}</span>}
      </button>
      {open && (
        <Dialog title="Events of the hub" onClose={close}>
          <Listed
            of={{ ...loaded, value: loaded.value?.events }}
            what="the events"
            empty="Nothing has happened yet."
          >
            {(shown) => (
              <ul class="events" aria-label="Events">
                {groupsOf(shown).map(([event, ...before]) => (
                  <EventLine
                    key={event.eventId}
                    event={event}
                    times={before.length + 1}
                    hub={id}
                    onLeave={close}
                  />
                ))}
              </ul>
            )}
          </Listed>
          {events.length === shownMax && (
            <p class="hint">These are the last {counted(shownMax, 'event')}. All are at /v1/events.</p>
          )}
        </Dialog>
      )}
    </>
  );
}

/** Events that say the same of the same thing are one line, at the place of the newest. */
function groupsOf(events: readonly HubEvent[]): [HubEvent, ...HubEvent[]][] {
  const groups = new Map<string, [HubEvent, ...HubEvent[]]>();
  for (const event of events) {
    const name = `${event.type} ${placeOf(event.data as EventData)[1]}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [event]);
    else group.push(event);
  }
  return [...groups.values()];
}

/** Events that somebody should look into. */
const isBad = (type: string): boolean =>
  ['watch.firing', 'watch.failed', 'watch.paused', 'destination.disabled', 'query.broken'].includes(type) ||
  type === 'source.unreachable';

interface EventData extends EventFacts {
  watchId?: string;
  runId?: string;
  queryId?: string;
  sourceId?: string;
  classifierId?: string;
}

interface EventLineProps {
  event: HubEvent;
  /** How often it happened lately. */
  times: number;
  hub: string;
  onLeave(): void;
}

function EventLine({ event: { eventId, type, at, data }, times, hub, onLeave }: EventLineProps) {
  const [what, ...more] = partsOf(type, data as EventData);
  const isNew = eventId > seenEvent(hub);
  return (
    <li data-bad={isBad(type)} data-new={isNew}>
      <a href={linkTo('hub', hub, ...placeOf(data as EventData))} onClick={onLeave}>
        {what}
      </a>
      {isNew && <span class="sr-only">, new</span>}
      <span class="note">
        {moment(at)}
        {times > 1 && `, ${count(times)} times`}
      </span>
      {more.length > 0 && <p>{more.join(': ')}</p>}
    </li>
  );
}

/** A job has no name, but its classifier has. */
function partsOf(type: string, data: EventData): string[] {
  const [what, ...more] = eventParts(type, data);
  const classifier = classifiers.value.find(({ classifierId }) => classifierId === data.classifierId);
  return [classifier?.name ? `${what}: ${classifier.name}` : (what ?? type), ...more];
}

/** The page of what an event is about. */
function placeOf({ watchId, runId, queryId, sourceId, classifierId }: EventData): string[] {
  if (watchId !== undefined) return ['watches', watchId, ...(runId === undefined ? [] : [runId])];
  if (classifierId !== undefined) return ['classifier', classifierId, 'train'];
  if (queryId !== undefined) return ['query', queryId];
  if (sourceId !== undefined) return ['source', sourceId];
  return ['watches'];
}
