/** The calls of a query by version: whether a change has made it slower. */

import { linkTo } from '../../state/route.ts';
import { hubId } from '../../state/workspace.ts';
import { count } from '../../ui/format.ts';
import { Scrolling, TableHead } from '../../ui/table.tsx';
import { partOf, time, type VersionFigures } from './figures.ts';

export function VersionsTable({ queryId, versions }: { queryId: string; versions: VersionFigures[] }) {
  return (
    <Scrolling label="Calls by version">
      <table class="facts numbers folded">
        <TableHead names={['Version', 'Calls', 'Failed', 'p50', 'p95', 'p95 at the database']} />
        <tbody>
          {versions.toReversed().map(({ version, count: calls, failed, totalMs, databaseMs }) => (
            <tr key={version}>
              <th scope="row" data-name="Version">
                <a href={linkTo('hub', hubId.value ?? '', 'query', queryId, 'versions', String(version))}>
                  {version}
                </a>
              </th>
              <td>{count(calls)}</td>
              <td>{partOf(failed, calls)}</td>
              <td>{time(totalMs?.p50)}</td>
              <td>{time(totalMs?.p95)}</td>
              <td>{time(databaseMs?.p95)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}
