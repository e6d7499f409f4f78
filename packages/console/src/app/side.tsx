/** The side bar: the hub, its tree, classifiers and access. */

import type { Scope } from '@datahub/contract/scopes';
import type { TreeNode } from '../api/types.ts';
import { Later } from '../pages/lazy.tsx';
import { may } from '../state/permissions.ts';
import { go, linkTo, route } from '../state/route.ts';
import { askChange, askedChange } from '../state/tree-actions.ts';
import { category, classifiers, findNode, hub, hubId, hubs, tree, treeProblem } from '../state/workspace.ts';
import { Icon, type IconName } from '../ui/icons.tsx';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { ProblemBox } from '../ui/problem.tsx';
import { Tree } from '../ui/tree/tree.tsx';

export function Side() {
  const asked = askedChange.value;
  return (
    <nav class="side" id="side" aria-label="Contents of the hub">
      <HubSwitcher />
      {treeProblem.value !== undefined && <ProblemBox problem={treeProblem.value} />}
      {hubId.value !== undefined && tree.value !== undefined && (
        <>
          <Branch
            kind="queries"
            label="Queries"
            action="New query"
            to="new-query"
            needs="queries:write"
            empty="No queries yet."
          />
          <Branch
            kind="sources"
            label="Sources"
            action="New source"
            to="new-source"
            needs="sources:write"
            empty="No sources yet."
          />
        </>
      )}
      {hubId.value !== undefined && (
        <div class="links-below">
          <OtherLinks hub={hubId.value} />
        </div>
      )}
      {asked !== undefined && <Later>{({ TreeDialog }) => <TreeDialog change={asked} />}</Later>}
    </nav>
  );
}

const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The links to what belongs to the hub beside its tree, and to the account. */
function OtherLinks({ hub }: { hub: string }) {
  return (
    <>
      <div class="section">
        <span>Hub</span>
      </div>
      <ul class="links">
        {may('queries:read') && <SideLink to={['boards']} icon="table" label="Boards" />}
        {may('watches:read') && <SideLink to={['watches']} icon="refresh" label="Watches" />}
      </ul>
      <div class="section">
        <span>Text</span>
        <Menu
          label="Add to Text"
          icon="plus"
          items={[
            {
              label: 'New classifier',
              needs: 'classifiers:write',
              run: () => go('hub', hub, 'new-classifier'),
            },
          ]}
        />
      </div>
      <ul class="links classifiers">
        {classifiers.value.map(({ classifierId, name }) => (
          <SideLink
            key={classifierId}
            to={['classifier', classifierId]}
            icon="classifier"
            label={name || classifierId}
          />
        ))}
      </ul>
      <ul class="links">
        {may('ai:summarize') && <SideLink to={['summary']} icon="summary" label="Summaries" />}
      </ul>
      <div class="section">
        <span>Account</span>
      </div>
      <ul class="links">
        {may('queries:read') && <SideLink to={['statistics']} icon="statistics" label="Statistics" />}
        {may('keys:admin') && <SideLink to={['keys']} icon="key" label="Keys" />}
        {may('keys:admin') && <SideLink to={['people']} icon="people" label="People" />}
        <SideLink to={['agents']} icon="pin" label="Agents" />
        {may('keys:admin') && <SideLink to={['audit']} icon="audit" label="Audit" />}
      </ul>
      <p class="zone note" title="The time zone of this browser. Values of rows keep their own.">
        Times are in {zone}.
      </p>
    </>
  );
}

interface BranchProps {
  kind: 'queries' | 'sources';
  label: string;
  action: string;
  to: string;
  needs: Scope;
  empty: string;
}

function Branch({ kind, label, action, to, needs, empty }: BranchProps) {
  const root = category(kind);
  if (root === undefined) return null;
  const chosen = findNode(route.value[3])?.node;
  const inBranch = chosen !== undefined && findNode(chosen.nodeId)?.path[0]?.nodeId === root.nodeId;
  const items: MenuItem[] = [
    { label: action, needs, run: () => go('hub', hubId.value ?? '', to) },
    {
      label: 'New folder',
      needs: 'hubs:write',
      run: () => askChange('folder', folderOf(chosen, inBranch) ?? root),
    },
  ];
  return (
    <div class={`branch ${kind}`}>
      <div class="section">
        <span>{label}</span>
        <Menu label={`Add to ${label}`} icon="plus" items={items} />
      </div>
      <Tree root={root} label={label} empty={empty} />
    </div>
  );
}

/** Returns the folder that contains the selected node, for a new folder beside the node. */
function folderOf(chosen: TreeNode | undefined, inBranch: boolean): TreeNode | undefined {
  return inBranch ? findNode(chosen?.parentNodeId ?? '')?.node : undefined;
}

function SideLink({ to, icon, label }: { to: string[]; icon: IconName; label: string }) {
  const isChosen = route.value.slice(2, 2 + to.length).join('/') === to.join('/');
  return (
    <li>
      <a
        class="row"
        href={linkTo('hub', hubId.value ?? '', ...to)}
        aria-current={isChosen ? 'page' : undefined}
        title={label}
      >
        <span class="twist">
          <Icon name={icon} />
        </span>
        <span class="row-label">{label}</span>
      </a>
    </li>
  );
}

function HubSwitcher() {
  const active = (hubs.value ?? []).filter(({ archived }) => !archived);
  const items = active.map(({ hubId: id, label }) => ({ label, run: () => go('hub', id) }));
  return (
    <div class="hub-switcher">
      <a
        class="hub-name"
        href={hubId.value === undefined ? linkTo('hubs') : linkTo('hub', hubId.value)}
        title="Overview of this hub"
      >
        <Icon name="hub" />
        <span class="row-label">
          {hub.value?.label ?? (hubId.value === undefined ? 'All hubs' : hubId.value)}
        </span>
      </a>
      <Menu
        label="Switch hub"
        icon="down"
        items={[...items.slice(0, 30), { label: 'All hubs …', run: () => go('hubs') }]}
      />
    </div>
  );
}
