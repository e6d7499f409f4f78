/** All hubs of the account: create, rename, archive, delete. */

import { useEffect, useState } from 'preact/hooks';
import { call, callJson, part, problemOf } from '../../api/client.ts';
import type { Hub } from '../../api/types.ts';
import { needs } from '../../state/permissions.ts';
import { go, linkTo } from '../../state/route.ts';
import { hubs, hubsProblem, loadHubs } from '../../state/workspace.ts';
import { useChangedForm } from '../../ui/changed-form.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { moment } from '../../ui/format.ts';
import { Menu } from '../../ui/menu.tsx';
import { notify } from '../../ui/notice.tsx';
import { Loading, PageHead } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';

type PendingDialog = { action: 'create' } | { action: 'rename' | 'delete'; hub: Hub };

async function archive(hub: Hub): Promise<void> {
  const action = hub.archived ? 'unarchive' : 'archive';
  try {
    await call(`v1/hubs/${part(hub.hubId)}/${action}`, { method: 'POST' });
    notify(
      hub.archived ? `Unarchived “${hub.label}”.` : `Archived “${hub.label}”. Its queries can still be run.`,
    );
  } catch (err) {
    notify(problemOf(err).detail ?? 'It failed.');
  }
  await loadHubs();
}

export function HubsPage() {
  const [asked, setAsked] = useState<PendingDialog>();
  useEffect(() => void loadHubs(), []);
  const all = hubs.value;
  if (hubsProblem.value !== undefined) return <ProblemBox problem={hubsProblem.value} />;
  if (all === undefined) return <Loading what="hubs" />;
  const [active, archived] = [all.filter((hub) => !hub.archived), all.filter((hub) => hub.archived)];
  const row = (hub: Hub) => (
    <li key={hub.hubId} class="item">
      <a href={linkTo('hub', hub.hubId)}>{hub.label}</a>
      <span class="note">created {moment(hub.createdAt)}</span>
      <span class="spring" />
      <Menu
        label={`Actions for ${hub.label}`}
        items={[
          { label: 'Rename', needs: 'hubs:write', run: () => setAsked({ action: 'rename', hub }) },
          {
            label: hub.archived ? 'Bring back' : 'Archive',
            needs: 'hubs:write',
            run: () => void archive(hub),
          },
          {
            label: 'Delete',
            danger: true,
            needs: 'hubs:write',
            run: () => setAsked({ action: 'delete', hub }),
          },
        ]}
      />
    </li>
  );
  return (
    <div class="page narrow">
      <PageHead title="Hubs">
        <button
          type="button"
          class="primary"
          onClick={() => setAsked({ action: 'create' })}
          {...needs('hubs:write')}
        >
          New hub
        </button>
      </PageHead>
      {active.length === 0 && (
        <p class="empty">
          A hub holds sources and the queries on them, for a project or a team. Create the first one.
        </p>
      )}
      <ul class="items">{active.map(row)}</ul>
      {archived.length > 0 && (
        <details class="more">
          <summary>Archived ({archived.length})</summary>
          <ul class="items">{archived.map(row)}</ul>
        </details>
      )}
      {asked !== undefined && <HubDialog asked={asked} onClose={() => setAsked(undefined)} />}
    </div>
  );
}

function HubDialog({ asked, onClose }: { asked: PendingDialog; onClose(): void }) {
  const changed = useChangedForm<Hub, { label: string }>({
    path: asked.action === 'create' ? '' : `v1/hubs/${part(asked.hub.hubId)}`,
    first: { label: asked.action === 'rename' ? asked.hub.label : '' },
    formOf: ({ label }) => ({ label }),
    names: { label: 'Name' },
  });
  const { label } = changed.form;
  if (asked.action === 'delete') return <DeleteHub hub={asked.hub} onClose={onClose} />;
  const submit = async () => {
    if (asked.action === 'rename') {
      await changed.save(() => ({ label: label.trim() }));
      return loadHubs();
    }
    const { hubId } = await callJson<Hub>('v1/hubs', { body: { label: label.trim() } });
    await loadHubs();
    go('hub', hubId);
  };
  const renames = asked.action === 'rename';
  return (
    <FormDialog
      title={renames ? 'Rename hub' : 'New hub'}
      action={renames ? 'Rename' : 'Create hub'}
      disabled={label.trim() === ''}
      onClose={onClose}
      onSubmit={submit}
      onTheirs={changed.takeTheirs}
    >
      <Field
        label="Name"
        value={label}
        onInput={(next) => changed.set({ label: next })}
        required
        autofocus
        placeholder="Shop"
      />
    </FormDialog>
  );
}

function DeleteHub({ hub, onClose }: { hub: Hub; onClose(): void }) {
  const [typed, setTyped] = useState('');
  const submit = async () => {
    await call(`v1/hubs/${part(hub.hubId)}?recursive=true`, { method: 'DELETE' });
    notify(`Deleted “${hub.label}”.`);
    await loadHubs();
  };
  return (
    <FormDialog
      title={`Delete “${hub.label}”?`}
      action="Delete hub and everything in it"
      danger
      disabled={typed !== hub.label}
      onClose={onClose}
      onSubmit={submit}
    >
      <p>
        This deletes all its folders, sources, queries, boards and watches. Programs that run one of the
        queries get an error.
      </p>
      <Field label={`Type “${hub.label}” to confirm`} value={typed} onInput={setTyped} autofocus />
    </FormDialog>
  );
}
