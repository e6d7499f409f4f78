/** The plan of the database for the statement in the editor, as a tree with times. */

import { useState } from 'preact/hooks';
import { callJson, part } from '../../../api/client.ts';
import { may } from '../../../state/permissions.ts';
import type { QueryEditor } from '../../../state/query-editor.ts';
import { StoredQueryEditor } from '../../../state/stored-query-editor.ts';
import { CopyBlock } from '../../../ui/copy-block.tsx';
import { count, duration } from '../../../ui/format.ts';
import { Icon } from '../../../ui/icons.tsx';
import { useLoad } from '../../../ui/load.tsx';
import { Loading } from '../../../ui/page.tsx';
import { ProblemBox } from '../../../ui/problem.tsx';
import { OtherResult, Scrolling } from '../../../ui/table.tsx';
import type { QueryStatistics } from '../../statistics/figures.ts';
import { VersionsTable } from '../../statistics/versions-table.tsx';
import { analyzeOf, misjudged, type PlanStep, readPlan, stepsOf } from './plan.ts';

/** Of a phone, in the script of details. */
const lineCharacters = 44;
/** Steps further down are indented as this one. */
const depthMax = 14;

/** MySQL measures only in a form that is no JSON. */
const measures = (engine: string): boolean => engine === 'postgres' || engine === 'mariadb';

/** The call that explains what the editor shows. The values keep their digits. */
function callOf(editor: QueryEditor): string {
  const { text = '', command, context, sourceId, session } = editor.draft.value ?? {};
  const draft = { sourceId, query: text, command, context, session };
  const options = { explain: true, analyze: measures(editor.engine.value) ? true : undefined };
  return `${JSON.stringify({ ...draft, options }).slice(0, -1)},"values":${editor.sent.value.context}}`;
}

async function explain(editor: QueryEditor, signal: AbortSignal): Promise<{ plan: unknown; of: string }> {
  const of = callOf(editor);
  return {
    of,
    plan: (await callJson<{ plan: unknown }>('v1/queries/try', { body: of, signal, reads: true })).plan,
  };
}

export function ExplainView({ editor }: { editor: QueryEditor }) {
  const loaded = useLoad((signal) => explain(editor, signal), [editor]);
  const { plan, of } = loaded.value ?? {};
  const tree = plan === undefined ? undefined : readPlan(plan);
  const engine = editor.engine.value;
  return (
    <div class="explain">
      <div class="explain-head">
        <p class="hint">
          {measures(engine)
            ? 'The hub runs the statement once, read-only and for at most 10 s, to measure its plan.'
            : 'The plan that the database would use. MySQL estimates it without running the statement.'}
        </p>
        <span class="spring" />
        <button type="button" onClick={loaded.refresh} disabled={loaded.loading}>
          <Icon name="refresh" /> Explain again
        </button>
      </div>
      {loaded.loading && <Loading what="the plan" />}
      {loaded.problem !== undefined && <ProblemBox problem={loaded.problem} />}
      {of !== undefined && of !== callOf(editor) && (
        <OtherResult>This is the plan of an earlier text or of other values. Explain again.</OtherResult>
      )}
      {tree !== undefined && <PlanTable tree={tree} engine={engine} text={editor.draft.value?.text ?? ''} />}
      {plan !== undefined && tree === undefined && (
        <CopyBlock label="Plan" text={JSON.stringify(plan, null, 2)} />
      )}
      {editor instanceof StoredQueryEditor && may('queries:read') && <Versions queryId={editor.queryId} />}
    </div>
  );
}

/** How long the calls of the published versions took. */
function Versions({ queryId }: { queryId: string }) {
  const { value } = useLoad(
    (signal) => callJson<QueryStatistics>(`v1/queries/${part(queryId)}/stats`, { signal }),
    [queryId],
  );
  if (value === undefined || value.versions.length === 0) return null;
  return (
    <>
      <h3>Calls by version, since the hub started</h3>
      <VersionsTable queryId={queryId} versions={value.versions} />
    </>
  );
}

interface Explained {
  engine: string;
  text: string;
}

function PlanTable({ tree, ...of }: Explained & { tree: PlanStep }) {
  const steps = [...stepsOf(tree)];
  const total = steps.reduce((sum, { step }) => sum + (step.ownMs ?? 0), 0);
  const slowest = steps.reduce(
    (most, { step }) => ((step.ownMs ?? 0) > (most.ownMs ?? 0) ? step : most),
    tree,
  );
  const measured = steps.some(({ step }) => step.ownMs !== undefined);
  return (
    <>
      <Scrolling label="Plan">
        <table class="facts plan">
          <thead>
            <tr>
              <th scope="col">Step</th>
              {measured && <th scope="col">Own time, of {duration(total)}</th>}
              <th scope="col" class="right">
                {measured ? 'Rows: expected → met' : 'Rows expected'}
              </th>
            </tr>
          </thead>
          <tbody>
            {steps.map(({ step, depth }, i) => (
              <tr
                key={i}
                data-slowest={measured && step === slowest}
                ref={(row) => row?.style.setProperty('--depth', String(Math.min(depth, depthMax)))}
              >
                <th scope="row">
                  {step.name}
                  <Detail text={step.detail} />
                </th>
                {measured && <OwnTime step={step} total={total} isSlowest={step === slowest} />}
                <td class="right">
                  {step.estimated === undefined ? '–' : count(Math.round(step.estimated))}
                  {step.actual !== undefined && ` → ${count(Math.round(step.actual))}`}
                  <Judgement step={step} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
      <Advice steps={steps.map(({ step }) => step)} slowest={slowest} {...of} />
    </>
  );
}

/** On a phone, a long text is cut to one line until it is opened. */
function Detail({ text }: { text: string }) {
  const [isOpen, setOpen] = useState(false);
  if (text === '') return null;
  return (
    <>
      {text.length > lineCharacters && (
        <button
          type="button"
          class="quiet plan-more"
          aria-expanded={isOpen}
          aria-label="Details"
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name="down" />
        </button>
      )}
      <span class="plan-detail" data-open={isOpen}>
        {text}
      </span>
    </>
  );
}

function OwnTime({ step, total, isSlowest }: { step: PlanStep; total: number; isSlowest: boolean }) {
  if (step.ownMs === undefined) return <td>–</td>;
  return (
    <td class="own-time">
      <meter
        class="share"
        min={0}
        max={Math.max(total, 0.001)}
        value={step.ownMs}
        aria-label="Share of the time"
      />{' '}
      {duration(step.ownMs)}
      {isSlowest && (
        <span class="plan-mark">{step.ownMs > total / 2 ? 'most of the time' : 'longest step'}</span>
      )}
    </td>
  );
}

function Judgement({ step }: { step: PlanStep }) {
  const wrong = misjudged(step);
  if (wrong === undefined) return null;
  return (
    <span class="plan-mark">
      {count(wrong.times)} × {wrong.more ? 'more' : 'fewer'}
    </span>
  );
}

/** One hint: what happened, and what to do. */
function Advice({ steps, slowest, ...of }: Explained & { steps: PlanStep[]; slowest: PlanStep }) {
  const wrong = steps.filter((step) => step.table !== undefined && misjudged(step)?.more === true);
  const step = wrong.includes(slowest) ? slowest : wrong[0];
  if (step?.table === undefined) return null;
  return (
    <div class="banner plan-advice">
      <p>
        <strong>
          The database expected {count(Math.round(step.estimated ?? 0))} rows of {step.table} and met{' '}
          {count(Math.round(step.actual ?? 0))}.
        </strong>{' '}
        Its figures about the table may be old, so it chose a plan that suits few rows. New figures change no
        data:
      </p>
      <CopyBlock label="Statement" text={analyzeOf(step.table, of)} />
    </div>
  );
}
