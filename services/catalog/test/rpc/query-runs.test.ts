import { openCatalogStore } from '../../src/store.ts';
import { describeQueryRuns } from './query-runs-cases.ts';

describeQueryRuns('SQLite', () => openCatalogStore('sqlite::memory:'));
