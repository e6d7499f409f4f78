/** The page of a source: the test of its connection, its tables, its settings. */

import { useEffect, useState } from 'preact/hooks';
import { callJson, part, problemOf } from '../../api/client.ts';
import type { Problem, Source } from '../../api/types.ts';
import { may, needs } from '../../state/permissions.ts';
import { go, linkTo, route } from '../../state/route.ts';
import { askChange } from '../../state/tree-actions.ts';
import { findNode, hubId, loadTree } from '../../state/workspace.ts';
import { SaveProblem, useChangedForm } from '../../ui/changed-form.tsx';
import { duration, engineName } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { useLoad } from '../../ui/load.tsx';
import { Menu } from '../../ui/menu.tsx';
import { notify } from '../../ui/notice.tsx';
import { Loading, PageHead, Tabs } from '../../ui/page.tsx';
import { PageProblem } from '../../ui/page-problem.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { SessionFacts } from '../../ui/session-facts.tsx';
import { faultsOfProblem } from './form-faults.ts';
import { SchemaBrowser } from './schema-browser.tsx';
import {
  changeOf,
  fieldNames,
  formOf,
  type SourceForm,
  setPooling,
  sourcePath,
  type Tested,
  testSource,
} from './settings.ts';
import { SourceFields } from './source-form.tsx';
import { useSourceForm } from './use-source-form.ts';

const tabs = [
  ['schema', 'Schema'],
  ['settings', 'Settings'],
] as const;

export function SourcePage({ sourceId }: { sourceId: string }) {
  const loaded = useLoad(
    (signal) => callJson<Source>(`v1/sources/${part(sourceId)}`, { signal }),
    [sourceId],
  );
  const [refusal, setRefusal] = useState<Problem>();
  const source = loaded.value;
  if (loaded.problem !== undefined) return <PageProblem problem={loaded.problem} />;
  if (source === undefined) return <Loading what="the source" />;
  const tab = tabs.find(([name]) => name === route.value[4])?.[0] ?? 'schema';
  const node = findNode(sourceId)?.node;
  const { host, port, database } = source.connectionSettings;
  const menu = (['rename', 'move', 'delete'] as const).map((action) => ({
    label: `${action[0]?.toUpperCase()}${action.slice(1)}`,
    danger: action === 'delete',
    needs: 'sources:write' as const,
    run: () => {
      if (node !== undefined) askChange(action, node);
    },
  }));
  return (
    <div class="source-page">
      <PageHead
        title={node?.label ?? source.label}
        tags={[engineName(source.engine), `${host}:${port}/${database}`]}
      >
        {node !== undefined && <Menu label="More actions" items={menu} />}
        {may('queries:write') && (
          <a class="button" href={linkTo('hub', hubId.value ?? '', 'new-query', 'on', sourceId)}>
            New query
          </a>
        )}
      </PageHead>
      <Tabs
        label="Parts of the source"
        tabs={tabs}
        value={tab}
        onChange={(name) => go('hub', hubId.value ?? '', 'source', sourceId, name)}
      />
      <div class="page">
        <Connection
          sourceId={sourceId}
          key={source.updatedAt ?? ''}
          onChanged={loaded.refresh}
          onTested={setRefusal}
        />
        {tab === 'schema' && (
          <SchemaBrowser sourceId={sourceId} engine={source.engine} first={route.value[5] ?? ''} />
        )}
        {tab === 'settings' && <SourceSettings source={source} refusal={refusal} onSaved={loaded.refresh} />}
      </div>
    </div>
  );
}

interface ConnectionProps {
  sourceId: string;
  onChanged(): void;
  /** Called with the problem of a test, or with undefined. */
  onTested(problem: Problem | undefined): void;
}

function Connection({ sourceId, onChanged, onTested }: ConnectionProps) {
  const tested = useLoad<Tested>((signal) => testSource(sourceId, signal), [sourceId]);
  useEffect(() => onTested(tested.problem), [tested.problem]);
  return (
    <div class="connection">
      {tested.loading && <span role="status">Testing the connection …</span>}
      {!tested.loading && tested.value !== undefined && (
        <span role="status">
          <span class="dot good" aria-hidden="true" /> Connected in {duration(tested.value.latencyMs)} ·{' '}
          {tested.value.serverVersion}
        </span>
      )}
      {!tested.loading && tested.problem !== undefined && <ProblemBox problem={tested.problem} />}
      <button type="button" class="quiet" disabled={tested.loading} onClick={tested.refresh}>
        <Icon name="refresh" /> Test the connection
      </button>
      {!tested.loading && tested.value?.suggestedPooling !== undefined && (
        <SuggestedPooling sourceId={sourceId} pooling={tested.value.suggestedPooling} onChanged={onChanged} />
      )}
    </div>
  );
}

const poolingFacts: Partial<Record<string, string>> = {
  transaction: 'This server is a pooler in transaction mode.',
  session: 'This server gives each connection its own session.',
};

function SuggestedPooling({
  sourceId,
  pooling,
  onChanged,
}: {
  sourceId: string;
  pooling: string;
  onChanged(): void;
}) {
  const use = () =>
    setPooling(sourceId, pooling).then(
      () => {
        notify(`Pooling was set to “${pooling}”.`);
        onChanged();
      },
      (err) => notify(problemOf(err).detail ?? 'It could not be changed.'),
    );
  return (
    <p class="banner" role="status">
      {poolingFacts[pooling]}{' '}
      <button type="button" onClick={() => void use()} {...needs('sources:write')}>
        Use {pooling} pooling
      </button>
    </p>
  );
}

interface SourceSettingsProps {
  source: Source;
  /** Why the database cannot be reached with the stored settings. */
  refusal: Problem | undefined;
  onSaved(): void;
}

function SourceSettings({ source, refusal, onSaved }: SourceSettingsProps) {
  const changed = useChangedForm<Source, SourceForm>({
    path: sourcePath(source.sourceId),
    first: formOf(source),
    formOf,
    names: fieldNames,
  });
  const { form, isEdited: dirty } = changed;
  const { faults, busy, problem, change, attempt, forget } = useSourceForm(changed);
  useEffect(() => changed.follow(formOf(source)), [source]);
  const loadTheirs = () => {
    changed.takeTheirs();
    forget();
  };
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    void attempt(event.currentTarget, async () => {
      await changed.save((now) => changeOf(form, now));
      notify('Saved.');
      onSaved();
      await loadTree();
    });
  };
  return (
    <form class="form card narrow" onSubmit={submit}>
      <fieldset class="bare" disabled={!may('sources:write')}>
        <SourceFields
          form={form}
          faults={dirty ? faults : { ...faultsOfProblem(refusal, form), ...faults }}
          onChange={change}
          existing
        >
          <p class="hint">
            Another engine, server, TLS mode or authentication mechanism needs user and password again: they
            are encrypted for one address.
          </p>
          <SessionFacts session={source.connectionSettings.session} />
          {problem !== undefined && <SaveProblem problem={problem} onTheirs={loadTheirs} />}
          <div class="actions">
            <button type="submit" class="primary" {...needs('sources:write', busy || !dirty)}>
              Save and test
            </button>
          </div>
        </SourceFields>
      </fieldset>
    </form>
  );
}
