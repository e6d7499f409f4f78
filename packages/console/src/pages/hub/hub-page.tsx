/** An overview of a hub. For a new hub, the four steps from a source to a snippet. */

import type { ComponentChildren } from 'preact';
import { may } from '../../state/permissions.ts';
import { linkTo } from '../../state/route.ts';
import { hasRun } from '../../state/stored-query-editor.ts';
import { nodeLink } from '../../state/tree-actions.ts';
import { category, hub, hubId, hubs, nodesIn, tree, treeProblem } from '../../state/workspace.ts';
import { counted } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { Loading, PageHead } from '../../ui/page.tsx';
import { PageProblem } from '../../ui/page-problem.tsx';
import { Drafts } from './drafts.tsx';
import { Home } from './home.tsx';

export function HubPage() {
  if (treeProblem.value !== undefined) return <PageProblem problem={treeProblem.value} />;
  if (tree.value === undefined) return <Loading what="the hub" />;
  const queries = nodesIn(category('queries'), 'query');
  const id = hubId.value ?? '';
  const ran = queries.some(({ nodeId }) => hasRun(nodeId));
  // The tree lists them for every key, also for one that may not read sources.
  const sources = nodesIn(category('sources'), 'source').length;
  const steps = <Steps sources={sources} queries={queries.map(nodeLink)} ran={ran} />;
  return (
    <div class="page">
      <PageHead
        title={hub.value?.label ?? tree.value.label}
        tags={[counted(sources, 'source'), counted(queries.length, 'query', 'queries')]}
      >
        {may('sources:write') && (
          <a class="button" href={linkTo('hub', id, 'new-source')}>
            New source
          </a>
        )}
        {may('queries:write') && (
          <a class="button primary" href={linkTo('hub', id, 'new-query')}>
            New query
          </a>
        )}
      </PageHead>
      {queries.length === 0 ? (
        <>
          <Drafts hubId={id} />
          {steps}
        </>
      ) : (
        <Home hubId={id}>{!ran && steps}</Home>
      )}
    </div>
  );
}

function Steps({ sources: count, queries, ran }: { sources: number; queries: string[]; ran: boolean }) {
  const id = hubId.value ?? '';
  const [first] = queries;
  const demo = (hubs.value ?? []).find(({ label, hubId: other }) => label === 'Demo' && other !== id);
  const to = (label: string, href: string | undefined) =>
    href === undefined ? label : <a href={href}>{label}</a>;
  return (
    <ol class="steps" aria-label="From a source to an API">
      <Step
        done={count > 0}
        title={to('Connect a source', may('sources:write') ? linkTo('hub', id, 'new-source') : undefined)}
      >
        PostgreSQL, MySQL, MariaDB or MongoDB. The connection is tested before it is saved.
      </Step>
      <Step
        done={queries.length > 0}
        title={to(
          'Write a query',
          count > 0 && may('queries:write') ? linkTo('hub', id, 'new-query') : undefined,
        )}
      >
        One statement, with <code>:variables</code> in place of values.
      </Step>
      <Step done={ran} title={to('Run it', first)}>
        Rows arrive as a stream. Cancelling stops the statement at the database.
      </Step>
      <Step done={false} title={to('Use it', first && `${first}/use`)}>
        As a link, from curl, TypeScript, Python, a page with a browser key, or an agent.
      </Step>
      {demo !== undefined && count === 0 && (
        <li class="step-note">
          For an example to look at and copy, see <a href={linkTo('hub', demo.hubId)}>the demo hub</a>.
        </li>
      )}
    </ol>
  );
}

function Step({
  done,
  title,
  children,
}: {
  done: boolean;
  title: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <li class="step" data-done={done}>
      <span class="step-mark" aria-hidden="true">
        {done && <Icon name="check" />}
      </span>
      <strong>{title}</strong>
      {done && <span class="sr-only">, done</span>}
      <p class="hint">{children}</p>
    </li>
  );
}
