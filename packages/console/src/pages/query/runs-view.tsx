/** The runs of this tab, whose values can be used again, and those that the hub keeps: of other tabs, persons and programs. */

import { useState } from 'preact/hooks';
import { callPage, part } from '../../api/client.ts';
import type { Answer } from '../../api/types.ts';
import type { PastRun } from '../../state/run.ts';
import type { StoredQueryEditor } from '../../state/stored-query-editor.ts';
import { ownOf, type Values, valuesFrom } from '../../state/variables.ts';
import { Tick } from '../../ui/field.tsx';
import { count, duration, exactMoment } from '../../ui/format.ts';
import { Shown } from '../../ui/listed.tsx';
import { useLoad } from '../../ui/load.tsx';
import { OffsetPager } from '../../ui/pager.tsx';
import { CardTable } from '../../ui/table.tsx';

const words: Record<PastRun['status'], string> = {
  idle: '',
  running: 'running',
  done: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
};

type KeptRun = Answer<'GET /v1/queries/{queryId}/runs'>[number];
type SentValues = NonNullable<KeptRun['values']>;

/** What called, in words. */
const callers: Record<KeptRun['form'], string> = {
  execute: 'program',
  data: 'program, reading',
  rows: 'program, records in bulk',
  transaction: 'program, in a transaction',
  tool: 'agent',
  watch: 'watch',
  job: 'training',
  console: 'console',
};

interface RunsViewProps {
  editor: StoredQueryEditor;
  queryId: string;
  onReuse(values: Values): void;
}

export function RunsView({ editor, queryId, onReuse }: RunsViewProps) {
  const runs = editor.runner.past.value;
  return (
    <div class="page">
      {runs.length > 0 && (
        <section>
          <h2>Of this tab</h2>
          <OwnRuns runs={runs} onReuse={onReuse} />
        </section>
      )}
      <KeptRuns
        queryId={queryId}
        latest={runs[0]?.id}
        keepsValues={editor.stored.value?.config.keepValues === true}
        onReuse={(sent) => onReuse(reused(editor, sent))}
      />
    </div>
  );
}

/** Secret values are not kept, so those of the form stay. */
function reused(editor: StoredQueryEditor, sent: SentValues): Values {
  const fields = editor.fields.value;
  const secrets = fields
    .filter(({ secret }) => secret)
    .map(({ key }) => [key, ownOf(editor.values.value, key)]);
  return { ...Object.fromEntries(secrets), ...valuesFrom(sent, fields) };
}

function OwnRuns({ runs, onReuse }: { runs: PastRun[]; onReuse(values: Values): void }) {
  return (
    <CardTable
      label="Runs of this tab"
      names={['At', 'Result']}
      numbers={['Rows', 'Took']}
      heads={<ValuesHead />}
    >
      {runs.map((run) => (
        <tr key={run.id}>
          <td>{exactMoment(run.at)}</td>
          <td>
            {words[run.status]}
            {run.isDraft && ', draft'}
            {run.dryRun && ', dry run'}
            {run.code !== undefined && `: ${run.code}`}
          </td>
          <td class="right" data-name="Rows">
            {count(run.rows)}
          </td>
          <td class="right" data-name="Took">
            {duration(run.totalMs)}
          </td>
          <td class="mono cut-text" data-name="Values" title={run.shown}>
            {run.shown}
          </td>
          <td class="right">
            <button type="button" onClick={() => onReuse(run.values)}>
              Use these values
            </button>
          </td>
        </tr>
      ))}
    </CardTable>
  );
}

const ValuesHead = () => (
  <>
    <th scope="col">Values</th>
    <th scope="col">
      <span class="sr-only">Action</span>
    </th>
  </>
);

const pageSize = 50;

interface KeptRunsProps {
  queryId: string;
  /** Names the last run of this tab, so that the list is read again after it. */
  latest: number | undefined;
  keepsValues: boolean;
  onReuse(sent: SentValues): void;
}

function KeptRuns({ queryId, latest, keepsValues, onReuse }: KeptRunsProps) {
  const [onlyFailed, setOnlyFailed] = useState(false);
  const [offset, setOffset] = useState(0);
  const filter = onlyFailed ? '?outcome=failed' : '';
  const kept = useLoad(
    (signal) =>
      callPage<KeptRun>(`v1/queries/${part(queryId)}/runs${filter}`, { offset, limit: pageSize, signal }),
    [queryId, onlyFailed, offset, latest],
  );
  const select = (failed: boolean) => {
    setOnlyFailed(failed);
    setOffset(0);
  };
  return (
    <section>
      <header class="runs-head">
        <h2>Kept by the hub</h2>
        <Tick label="Only failed" checked={onlyFailed} onChange={select} />
        <button type="button" onClick={kept.refresh}>
          Refresh
        </button>
      </header>
      <p class="hint">
        Of all tabs, persons and programs that this key may see, for 30 days unless the operator set
        otherwise. A run is listed a second after its end.{' '}
        {keepsValues
          ? 'Values of secret and pinned variables are not kept, nor those that are longer than 4 kB.'
          : 'Their values are not kept; the contract of the query can change that.'}
      </p>
      <Shown of={kept} what="the runs">
        {(page) =>
          page.total === 0 ? (
            <p class="empty">{onlyFailed ? 'None failed.' : 'No runs yet.'}</p>
          ) : (
            <>
              <KeptTable runs={page.items} keepsValues={keepsValues} onReuse={onReuse} />
              <OffsetPager page={page} size={pageSize} onChange={setOffset} />
            </>
          )
        }
      </Shown>
    </section>
  );
}

interface KeptTableProps extends Pick<KeptRunsProps, 'keepsValues' | 'onReuse'> {
  runs: KeptRun[];
}

const KeptTable = ({ runs, keepsValues, onReuse }: KeptTableProps) => (
  <CardTable
    label="Kept runs"
    names={['At', 'By', 'From', 'Outcome']}
    numbers={['Version', 'Rows', 'Queue', 'Database', 'Took']}
    heads={keepsValues && <ValuesHead />}
  >
    {runs.map((run) => (
      <tr key={run.runId}>
        <td class="when">{exactMoment(run.at)}</td>
        <td
          class="cut-text beside"
          data-name="By"
          title={`${run.keyName ?? run.keyId}${run.user === null ? '' : `, ${run.user}`}`}
        >
          {run.keyName ?? <code>{run.keyId}</code>}
          {run.user !== null && <div class="note">{run.user}</div>}
        </td>
        <td class="beside" data-name="From">
          {callers[run.form]}
        </td>
        <td>
          {run.outcome === 'ok' ? 'ok' : <span class="failed-text">failed: {run.code}</span>}
          {run.cached && <span class="note"> from the cache</span>}
          {run.dryRun && <span class="note"> dry run: undone</span>}
        </td>
        <td class="right" data-name="Version">
          {run.version}
        </td>
        <td class="right" data-name="Rows">
          {count(run.rows)}
        </td>
        <Time name="Queue" ms={run.queueMs} />
        <Time name="Database" ms={run.databaseMs} />
        <Time name="Took" ms={run.totalMs} />
        {keepsValues && <KeptValues run={run} onReuse={onReuse} />}
      </tr>
    ))}
  </CardTable>
);

function KeptValues({ run: { values }, onReuse }: { run: KeptRun } & Pick<KeptRunsProps, 'onReuse'>) {
  if (values === null)
    return (
      <>
        <td class="note" data-name="Values">
          not kept
        </td>
        <td />
      </>
    );
  const shown = JSON.stringify(values);
  return (
    <>
      <td class="mono cut-text" data-name="Values" title={shown}>
        {shown}
      </td>
      <td class="right">
        <button type="button" onClick={() => onReuse(values)}>
          Use these values
        </button>
      </td>
    </>
  );
}

const Time = ({ name, ms }: { name: string; ms: number | null }) => (
  <td class={`when right ${ms === null ? 'unmeasured' : ''}`} data-name={name}>
    {ms === null ? <span class="note">not measured</span> : duration(ms)}
  </td>
);
