/** Says which executors the figures are of, and since when. */

import { counted, moment } from '../../ui/format.ts';
import { type Fleet, sinceOf } from './figures.ts';

export function FleetNote({ fleet }: { fleet: Fleet }) {
  const { executors, missing } = fleet;
  const since = sinceOf(fleet);
  return (
    <>
      {missing.length > 0 && (
        <p class="banner" role="status">
          {missing.join(' and ')} did not answer, so the calls that {missing.length === 1 ? 'it' : 'they'} ran
          are missing here.
        </p>
      )}
      {since !== undefined && (
        <p class="hint">
          {executors.length === 1
            ? `Counted since ${moment(since)}, when the hub started.`
            : `The sum over ${counted(executors.length, 'executor')}, which count since ${moment(since)} or earlier.`}{' '}
          The last hour is the last 55 to 60 minutes. Times are exact to about 6 %.
        </p>
      )}
    </>
  );
}
