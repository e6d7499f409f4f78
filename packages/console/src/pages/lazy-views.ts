/** The views that the console loads after its first page. */

/** Differs if the hub was updated since the first page was loaded: the code would not fit. */
export const build = BUILD;
export const styles = LATER_STYLES;

export { TreeDialog } from '../ui/tree/tree-dialogs.tsx';
export { BoardsPage } from './board/boards-page.tsx';
export { NewClassifier } from './classifier/classifier-dialogs.tsx';
export { ClassifierPage } from './classifier/classifier-page.tsx';
export { AuditPage } from './hub/audit-page.tsx';
export { HubsPage } from './hub/hubs-page.tsx';
export { KeysPage } from './key/keys-page.tsx';
export { ShownKeyDialog } from './key/shown-key.tsx';
export { KeysHelp } from './keys-help.tsx';
export { AgentsPage } from './people/agents-page.tsx';
export { PeoplePage } from './people/people-page.tsx';
export { PersonMenu } from './people/person-menu.tsx';
export { NewQuery } from './query/new-query.tsx';
export { QueryPage } from './query/query-page.tsx';
export { RunById } from './query/run-by-id.tsx';
export { ShortLink } from './query/short-link.tsx';
export { Search } from './search.tsx';
export { NewSource } from './source/new-source.tsx';
export { SourcePage } from './source/source-page.tsx';
export { StatisticsPage } from './statistics/statistics-page.tsx';
export { SummaryPage } from './summary/summary-page.tsx';
export { WatchesPage } from './watches/watches-page.tsx';
